// Parts that the views of two models share.

import { h, user } from "../dom.js";

/** Return the mean of what is known. */
export function mean(values) {
  const known = [...values].filter(Number.isFinite);
  return known.reduce((sum, value) => sum + value, 0) / known.length;
}

export function similarityNote({ isTopics }) {
  return isTopics
    ? "Similarity: 1 minus the Hellinger distance of the two distributions of words, over the words that both models know."
    : "Similarity: of the observations that one of the two states has in Viterbi\u2019s paths, the share that both have.";
}

export function certaintyNote({ certainty_of: kind }) {
  return kind === "paths"
    ? "Certainty: the share of the paths that agree on the topic of a word, given the topics. It is not the stability between runs."
    : "Certainty: the probability of a word\u2019s topic, given the topics and the rest of its document, in the first path of each model.";
}

/** Return a topic or a state of one side: its number and, if it has one, its name. */
export function shown(side, number) {
  const name = side.names[number];
  return h("span", { class: "topic-link" }, h("span", { class: "number" }, number), name ? [" ", user(name, { class: "label named" })] : null);
}

/** Return the same with the words of a topic; those that are not among `common` are marked. */
export function shownWords(side, topic, common, n = 12) {
  const words = side.topWords(topic, n).map(({ text }) => [" ", common.has(text) ? user(text) : user(text, { class: "apart" })]);
  return [shown(side, topic), h("span", { class: "words" }, words)];
}

/** Return the words that are among the first of both topics. */
export function commonWords(sides, numbers, n = 20) {
  const [own, other] = sides.map((side, k) => new Set(side.topWords(numbers[k], n).map(({ text }) => text)));
  return new Set([...own].filter((text) => other.has(text)));
}
