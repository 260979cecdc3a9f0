// The sequences in the page.

import { offsets } from "../blocks.js";

export class Sequences {
  constructor(block) {
    Object.assign(this, block);
    this.n = block.lengths.length;
    this.starts = offsets(block.lengths);
    this.places = new Map([...this.numbers].map((own, k) => [own, k]));
    this.isSymbols = !block.features.length && block.labels !== undefined && !(block.values[0] instanceof Float32Array);
    this.width = block.probabilities.shape[1];
    // Of several chains, each site has a state in each.
    this.nChains = block.states.shape[1] ?? 0;
  }

  place(number) {
    return this.places.get(number);
  }

  name(k) {
    return this.names?.[k] ?? `Sequence ${this.numbers[k]}`;
  }

  /** Return the state of an observation, or of one of its chains. */
  state(i, chain = 0) {
    return this.nChains ? this.states[i * this.nChains + chain] : this.states[i];
  }

  /** Return the probability of a state or, of several chains, how certain the state of a chain is. */
  probability(i, k) {
    return this.probabilities[i * this.width + k] / 255;
  }

  isMissing(i) {
    if (this.isSymbols) return this.values[0][i] === 0;
    return this.features.length > 0 && this.values.every((own) => Number.isNaN(own[i]));
  }

  /** Return what was observed, as text: one for each feature. */
  observed(i, format) {
    if (this.isSymbols) {
      const symbol = this.values[0][i] - 1;
      return [symbol < 0 ? "missing" : (this.labels?.[symbol] ?? String(symbol))];
    }
    return this.features.map((_, d) => (Number.isNaN(this.values[d][i]) ? "missing" : format(this.values[d][i])));
  }

  /** Return the rows of a picture of the observations: [{name, values}], symbols by number. */
  rows() {
    if (this.isSymbols) return [{ name: "symbol", values: this.values[0], isSymbols: true }];
    return this.features.map((name, d) => ({ name, values: this.values[d], isSymbols: false }));
  }

  search(query) {
    const wanted = query.toLowerCase().split(/\s+/).filter(Boolean);
    const found = [...this.lengths.keys()].filter((k) => {
      const text = this.name(k).toLowerCase();
      return wanted.every((word) => text.includes(word));
    });
    const exact = /^\d+$/.test(query.trim()) ? this.place(Number(query)) : undefined;
    return exact === undefined ? found : [exact, ...found.filter((k) => k !== exact)];
  }
}
