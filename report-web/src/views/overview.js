// The overview: what was fitted to what, how it went, and the largest topics.

import { h, user } from "../dom.js";
import { count, decimal, duration, percent, plural } from "../format.js";
import { link } from "../router.js";
import { convergence } from "./convergence.js";
import { notes, section } from "./parts.js";

export const overview = {
  path: "",
  label: "Overview",
  render(model) {
    const { about } = model;
    const { data, progress } = about;
    return {
      title: "",
      node: [
        h("h1", {}, user(model.title)),
        h(
          "p",
          { class: "lead" },
          `${plural(model.n, "topic")} in ${plural(data.documents, "document")}, fitted by `,
          `${plural(progress.sweeps, "sweep")} in ${duration(progress.seconds)}.`,
        ),
        figures(model),
        notes(model.notes),
        section(
          "Largest topics",
          null,
          h("ol", { class: "cards" }, model.shown.slice(0, 12).map((topic) => h("li", {}, card(model, topic)))),
          h("p", {}, h("a", { href: link("topics") }, `All ${count(model.n)} topics`)),
        ),
        convergence(about, [
          "A run that has settled may still be in one of many local optima: only fits with other seeds tell, and ",
          h("code", {}, "plait evaluate"),
          " compares them.",
        ]),
        section("Corpus and settings", null, facts(model)),
      ],
    };
  },
};

function figures(model) {
  const { about, held_out: heldOut, topics } = model;
  const mean = (values) => {
    const known = [...values].filter(Number.isFinite);
    return known.reduce((sum, v) => sum + v, 0) / known.length;
  };
  const shown = [
    ["Documents", count(about.data.documents)],
    ["Words in them", count(about.data.tokens)],
    ["Vocabulary", count(about.data.words)],
    ["Coherence", decimal(mean(topics.coherence)), "NPMI of the ten first words in the documents that were fitted, mean over topics; from \u22121 to 1"],
    ["Certainty", percent(mean(topics.certainty)), `Mean over topics of ${model.certaintyText}. It is not the stability between runs`],
    heldOut && ["Held-out perplexity", count(Math.round(heldOut.perplexity)), `${decimal(heldOut.per_token, 3)} nats per word`],
  ];
  return h(
    "dl",
    { class: "figures" },
    shown.filter(Boolean).map(([name, value, hint]) => h("div", {}, h("dt", {}, name), h("dd", {}, value), hint ? h("dd", { class: "hint" }, hint) : null)),
  );
}

function card(model, topic) {
  const named = model.names.of(topic);
  const words = model.topWords(topic, 8).map(({ word }) => model.word(word));
  return h(
    "a",
    { href: link("topics", topic), class: "card" },
    h("span", { class: "number" }, topic),
    h("span", { class: "size" }, percent(model.topics.shares[topic])),
    named ? h("strong", {}, user(named)) : null,
    h("span", { class: "words" }, words.map((word, k) => [k ? " " : "", user(word)])),
  );
}

function facts(model) {
  const { data, model: own, settings } = model.about;
  const recipe = data.recipe ?? {};
  const rows = [
    ["Documents", `${count(data.documents)}${data.empty_documents ? `, ${count(data.empty_documents)} of them empty` : ""}`],
    ["Dates", data.dates ? user(data.dates.join(" to ")) : null],
    ["Columns", data.columns.length ? data.columns.map((name, k) => [k ? ", " : "", user(name)]) : null],
    ["Language", recipe.language && user(recipe.language)],
    ["Stems", recipe.stem ? user(recipe.stem) : null],
    ["Paths at the end", settings.paths],
    ["Seed", settings.seed],
    own.priors && ["Prior of topics, \u03b1", `${decimal(own.priors.alpha.least, 4)} to ${decimal(own.priors.alpha.most, 4)}${own.priors.learnt.includes("alpha") ? ", learnt" : ""}`],
    own.priors && ["Prior of words, \u03b7", `${decimal(own.priors.eta.mean, 4)}${own.priors.learnt.includes("eta") ? ", learnt" : ""}`],
    ["plait", model.about.version],
  ];
  return h(
    "dl",
    { class: "facts" },
    rows.filter((row) => row && row[1] !== null && row[1] !== undefined).map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]),
  );
}

