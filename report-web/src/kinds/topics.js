// Topic models: what their views share, and the list of their views.

import { offsets, row } from "../blocks.js";
import { Documents } from "./documents.js";
import { Names } from "./names.js";
import { overview } from "../views/overview.js";
import { topicList } from "../views/topics.js";
import { topicPage } from "../views/topic.js";
import { documentList, documentPage } from "../views/documents.js";
import { timeView } from "../views/time.js";
import { columnPage, columnsView } from "../views/columns.js";
import { wordPage, wordsView } from "../views/words.js";

class TopicModel {
  constructor(main, block) {
    Object.assign(this, main);
    this.main = main;
    this.n = main.topics.shares.length;
    this.names = new Names(main, main.topics.names, "Topic");
    this.lambda = 1;
    this.starts = offsets(main.words.lengths);
    this.bySize = [...main.topics.shares.keys()].sort((a, b) => main.topics.shares[b] - main.topics.shares[a]);
    this.block = block;
  }

  /** Return the documents of the page; they are read when first asked for. */
  documents() {
    this.reading ??= this.block("documents").then((own) => new Documents(own, this));
    return this.reading;
  }

  /** Return the most relevant words of a topic: [{word, probability, relevance}]. */
  topWords(topic, n = 10, lambda = this.lambda) {
    const { words, probabilities, counts, n_tokens } = this.words;
    const found = [];
    for (let k = this.starts[topic]; k < this.starts[topic + 1]; k++) {
      const probability = probabilities[k];
      const lift = (probability * n_tokens) / counts[words[k]];
      const relevance = lambda * Math.log(probability) + (1 - lambda) * Math.log(lift);
      found.push({ word: words[k], probability, lift, relevance });
    }
    return found.sort((a, b) => b.relevance - a.relevance).slice(0, n);
  }

  /** Return a word as text. */
  word(number) {
    return this.words.texts[number];
  }

  /** Return the name of a topic or, without one, its most probable words. */
  label(topic, n = 3) {
    return this.names.of(topic) ?? this.firstWords(topic).slice(0, n).join(" ");
  }

  /** Return the words of a topic as text, the most probable first. */
  firstWords(topic) {
    this.listed ??= [];
    this.listed[topic] ??= this.topWords(topic, 50, 1).map((own) => this.word(own.word));
    return this.listed[topic];
  }

  /** The topics that are not hidden, the largest first. */
  get shown() {
    return this.bySize.filter((topic) => !this.names.isHidden(topic));
  }

  similarTopics(topic) {
    const { similar, similarities } = this.topics;
    const values = row(similarities, topic);
    return [...row(similar, topic)].map((other, k) => ({ topic: other, similarity: values[k] }));
  }

  /** Return the topics that have a word among theirs, with their expected share of its tokens. */
  topicsOf(word) {
    const { words, probabilities, counts, n_tokens } = this.words;
    const found = [];
    for (let topic = 0; topic < this.n; topic++) {
      for (let k = this.starts[topic]; k < this.starts[topic + 1]; k++) {
        if (words[k] !== word) continue;
        const share = (probabilities[k] * this.topics.shares[topic] * n_tokens) / counts[word];
        found.push({ topic, share: Math.min(share, 1), probability: probabilities[k] });
      }
    }
    return found.sort((a, b) => b.share - a.share);
  }

  /** What the certainty of a token is, in a sentence. */
  get certaintyText() {
    return this.topics.certainty_of === "paths"
      ? `the share of the ${this.topics.n_paths} paths that agree on a token\u2019s topic, given the topics`
      : "the probability of a token\u2019s topic, given the topics and the rest of its document";
  }
}

export const topicKind = {
  model: (main, block) => new TopicModel(main, block),
  views: [
    overview,
    topicList,
    topicPage,
    documentList,
    documentPage,
    timeView,
    columnsView,
    columnPage,
    wordsView,
    wordPage,
  ],
};
