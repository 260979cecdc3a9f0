// The documents in the page, and what is computed from them.

import { offsets } from "../blocks.js";
import { visibleLines } from "../dom.js";

export class Documents {
  constructor(block, model) {
    Object.assign(this, block);
    this.n = block.lengths.length;
    this.starts = offsets(block.lengths);
    this.mixtureStarts = offsets(block.mixture_lengths);
    this.numbers = new Uint32Array(this.n);
    let number = 0;
    block.gaps.forEach((gap, k) => (this.numbers[k] = number += gap));
    this.places = new Map([...this.numbers].map((own, k) => [own, k]));
    this.model = model;
  }

  /** Return the place in the page of the document with a number of the model; undefined if it is not here. */
  place(number) {
    return this.places.get(number);
  }

  name(k) {
    return this.names?.[k] ?? `Document ${this.numbers[k]}`;
  }

  /** Return the date and the columns of a document: [{name, value}]. */
  facts(k) {
    const date = this.dates?.[k] ? [{ name: "date", value: this.dates[k] }] : [];
    const columns = this.columns.map(({ name, values, codes }) => ({ name, value: values[codes[k]] }));
    return [...date, ...columns.filter(({ value }) => value)];
  }

  /** Return the topics of a document, the largest first: [{topic, share}]. */
  mixture(k) {
    const found = [];
    for (let i = this.mixtureStarts[k]; i < this.mixtureStarts[k + 1]; i++) {
      found.push({ topic: this.mixture_topics[i], share: this.mixture_shares[i] / 100 });
    }
    return found;
  }

  /** Return a document in pieces: [{text, topic, certainty}]; text between tokens has the topic -1. */
  pieces(k) {
    const found = [];
    const start = this.starts[k];
    const end = this.starts[k + 1];
    const token = (i, text) => found.push({ text: visibleLines(text), topic: this.topics[i], certainty: this.certainty[i] / 15 });
    const between = (text) => text && found.push({ text: visibleLines(text), topic: -1, certainty: 0 });
    if (!this.texts) {
      for (let i = start; i < end; i++) {
        if (i > start) between(" ");
        token(i, this.vocabulary[this.words[i]]);
      }
      return found;
    }
    const text = this.texts[k];
    let at = 0;
    for (let i = start; i < end; i++) {
      const from = this.text_starts[i];
      if (!this.text_lengths[i] || from < at) continue;
      between(text.slice(at, from));
      at = from + this.text_lengths[i];
      token(i, text.slice(from, at));
    }
    between(text.slice(at));
    return found;
  }

  /** Return the passage of a document with most tokens of a topic, in pieces, of about so many characters. */
  excerpt(k, topic, width = 240) {
    const pieces = this.pieces(k).map((piece) => ({ ...piece, text: piece.text.replace(/\s+/g, " ") }));
    let [best, most, first, length, own] = [0, -1, 0, 0, 0];
    for (let last = 0; last < pieces.length; last++) {
      length += pieces[last].text.length;
      own += pieces[last].topic === topic;
      while (length > width && first < last) {
        length -= pieces[first].text.length;
        own -= pieces[first].topic === topic;
        first++;
      }
      if (own > most) [best, most] = [first, own];
    }
    const found = [];
    for (let i = best, left = width; i < pieces.length && left > 0; i++) {
      const text = pieces[i].text.slice(0, Math.max(left, 40));
      found.push({ ...pieces[i], text });
      left -= text.length;
      if (text.length < pieces[i].text.length || left <= 0) break;
    }
    const isCut = best + found.length < pieces.length || found.at(-1)?.text.length < pieces.at(-1)?.text.length;
    return { pieces: found, before: best > 0, after: isCut };
  }

  /** Return the documents with topics most like those of one: 1 - H of the topics that are listed with them. */
  similar(k, n = 8) {
    const own = new Float64Array(this.model.n);
    for (const { topic, share } of this.mixture(k)) own[topic] = Math.sqrt(share);
    const found = [];
    for (let other = 0; other < this.n; other++) {
      if (other === k || !this.lengths[other]) continue;
      let affinity = 0;
      for (let i = this.mixtureStarts[other]; i < this.mixtureStarts[other + 1]; i++) {
        affinity += own[this.mixture_topics[i]] * Math.sqrt(this.mixture_shares[i] / 100);
      }
      found.push({ document: other, similarity: 1 - Math.sqrt(Math.max(0, 1 - affinity)) });
    }
    return found.sort((a, b) => b.similarity - a.similarity).slice(0, n);
  }

  /** Return the documents whose name, date or columns have all words of a query, or whose text has it. */
  search(query) {
    const wanted = query.toLowerCase().split(/\s+/).filter(Boolean);
    if (!wanted.length) return [...this.lengths.keys()];
    const isNumber = /^\d+$/.test(query.trim()) && this.places.has(Number(query));
    const found = isNumber ? [this.place(Number(query))] : [];
    for (let k = 0; k < this.n; k++) {
      if (wanted.every((word) => this.described(k).includes(word)) && !found.includes(k)) found.push(k);
    }
    const inText = this.texts
      ? (k) => this.texts[k].toLowerCase().includes(query.toLowerCase().trim())
      : this.hasTokens(wanted);
    const known = new Set(found);
    for (let k = 0; k < this.n; k++) if (!known.has(k) && inText(k)) found.push(k);
    return found;
  }

  described(k) {
    this.descriptions ??= Array.from({ length: this.n }, (_, own) =>
      [this.name(own), ...this.facts(own).map(({ value }) => value)].join(" ").toLowerCase(),
    );
    return this.descriptions[k];
  }

  hasTokens(wanted) {
    const sets = wanted.map((word) => {
      const numbers = new Set();
      this.vocabulary.forEach((own, w) => own.toLowerCase().includes(word) && numbers.add(w));
      return numbers;
    });
    return (k) => sets.every((set) => this.words.subarray(this.starts[k], this.starts[k + 1]).some((w) => set.has(w)));
  }
}
