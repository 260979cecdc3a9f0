// Names that are given in the page, and topics that are hidden in it. They can be saved to a file, which
// `plait name MODEL --from FILE` and `plait report MODEL --names FILE` read.

export class Names {
  /** `given` are the names that the model has, `noun` is what they name, such as "Topic". */
  constructor(main, given, noun) {
    this.given = given;
    this.noun = noun;
    this.changed = new Map();
    this.hidden = new Set(main.hidden ?? []);
    this.key = `plait ${main.fingerprint}`;
    this.restore();
  }

  /** Return the name of a topic, or null. */
  of(topic) {
    return this.changed.has(topic) ? this.changed.get(topic) : (this.given[topic] ?? null);
  }

  isHidden(topic) {
    return this.hidden.has(topic);
  }

  /** Name a topic; blank text removes its name. Return what is wrong with the name, or "". */
  rename(topic, text) {
    const name = text.trim().slice(0, 1000) || null;
    const other = name === null ? -1 : this.given.findIndex((_, t) => t !== topic && this.of(t) === name);
    if (other >= 0) return `${this.noun} ${other} has this name already.`;
    if (name === (this.given[topic] ?? null)) this.changed.delete(topic);
    else this.changed.set(topic, name);
    this.keep();
    return "";
  }

  hide(topic, isHidden) {
    if (isHidden) this.hidden.add(topic);
    else this.hidden.delete(topic);
    this.keep();
  }

  get hasChanges() {
    return this.changed.size > 0 || this.hidden.size > 0;
  }

  /** Return the text of the file: all names by number, null where one was removed, and what is hidden. */
  toJson() {
    const names = {};
    for (let topic = 0; topic < this.given.length; topic++) {
      const name = this.of(topic);
      if (name !== null || this.changed.has(topic)) names[topic] = name;
    }
    return `${JSON.stringify({ names, hidden: [...this.hidden].sort((a, b) => a - b) }, null, 1)}\n`;
  }

  download() {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([this.toJson()], { type: "application/json" }));
    link.download = "names.json";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  // Names survive a reload where the browser allows a page from a file to keep anything.
  keep() {
    try {
      localStorage.setItem(this.key, JSON.stringify([[...this.changed], [...this.hidden]]));
    } catch {
      // Then they last as long as the page is open.
    }
  }

  restore() {
    try {
      const [changed, hidden] = JSON.parse(localStorage.getItem(this.key) ?? "[[], null]");
      this.changed = new Map(changed);
      if (hidden) this.hidden = new Set(hidden);
    } catch {
      this.changed = new Map();
    }
  }
}
