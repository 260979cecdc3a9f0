// Two models: what both found, and what only one of them did.

import { offsets } from "../blocks.js";
import { link } from "../router.js";
import { comparisonOverview } from "../views/comparison.js";
import { onlyView } from "../views/only.js";
import { pairPage, pairsView } from "../views/pairs.js";
import { twoStatesView } from "../views/two_states.js";
import { twoTimesView } from "../views/two_times.js";

class Comparison {
  constructor(main) {
    const { only, ...rest } = main;
    Object.assign(this, rest);
    this.left = only; // the numbers without a pair, of each side
    this.isTopics = main.of === "topics";
    this.noun = this.isTopics ? "topic" : "state";
    this.sides = main.models.map((own) => (this.isTopics ? new TopicSide(own) : new StateSide(own)));
    const { first, second, similarities } = main.pairs;
    this.matched = [...first].map((own, k) => ({ k, numbers: [own, second[k]], similarity: similarities[k] }));
    this.least = this.isTopics ? 0.2 : 0.1;
  }

  /** Return what a side found alone: what was left over, and pairs that hardly resemble each other. */
  only(side) {
    const { left: unmatched, nearest } = this;
    const left = [...unmatched[side]].map((number, k) => ({ number, other: nearest[side].number[k], similarity: nearest[side].similarity[k], k: null }));
    const weak = this.matched
      .filter(({ similarity }) => similarity < this.least)
      .map(({ k, numbers, similarity }) => ({ number: numbers[side], other: numbers[1 - side], similarity, k }));
    const { shares } = this.sides[side];
    return [...left, ...weak].sort((a, b) => shares[b.number] - shares[a.number]);
  }

  href(pair) {
    return link("pairs", pair);
  }
}

class Side {
  constructor(own) {
    Object.assign(this, own);
    this.n = own.names.length;
  }
}

class TopicSide extends Side {
  constructor(own) {
    super(own);
    this.starts = offsets(own.words.lengths);
  }

  /** Return the most probable words of a topic: [{text, probability}]. */
  topWords(topic, n = 12) {
    const { words, probabilities, texts } = this.words;
    const end = Math.min(this.starts[topic + 1], this.starts[topic] + n);
    return Array.from({ length: Math.max(0, end - this.starts[topic]) }, (_, i) => {
      const k = this.starts[topic] + i;
      return { text: texts[words[k]], probability: probabilities[k] };
    });
  }

  label(topic, n = 3) {
    return this.names[topic] ?? this.topWords(topic, n).map(({ text }) => text).join(" ");
  }
}

class StateSide extends Side {
  label(state) {
    return this.names[state] ?? `State ${state}`;
  }
}

export const comparisonKind = {
  model: (main) => new Comparison(main),
  views: [comparisonOverview, pairsView, pairPage, onlyView, twoStatesView, twoTimesView],
};
