// The overview of two models: what they are, and how they differ as a whole.

import { h, user } from "../dom.js";
import { count, decimal, duration, number, percent, plural } from "../format.js";
import { link } from "../router.js";
import { responsive } from "../charts/responsive.js";
import { traceChart } from "../charts/trace.js";
import { section } from "./parts.js";
import { certaintyNote, mean, similarityNote } from "./two_parts.js";

export const comparisonOverview = {
  path: "",
  label: "Overview",
  render(model) {
    const { sides, matched, isTopics } = model;
    const close = matched.filter(({ similarity }) => similarity >= 0.5).length;
    const lead = isTopics
      ? `${plural(matched.length, "pair")} of topics are matched one to one, ${count(close)} of them with a similarity of at least 0.5. ${count(model.shared_words)} words are in both vocabularies.`
      : `${plural(matched.length, "pair")} of states are matched one to one. Both models give ${percent(model.agreement)} of the observations matched states.`;
    return {
      title: "",
      node: [
        h("h1", {}, user(model.title)),
        h("p", { class: "lead" }, lead),
        isTopics || model.same_data ? null : h("p", { class: "notice" }, "The models were fitted to different data. Both are compared on the data of the first."),
        h(
          "table",
          { class: "twofold" },
          h("thead", {}, h("tr", {}, h("td", {}), sides.map(({ title }) => h("th", { scope: "col", class: "value" }, user(title))))),
          h("tbody", {}, rows(model).map(([name, values]) => h("tr", {}, h("th", { scope: "row" }, name), values.map((value) => h("td", { class: "value" }, value))))),
        ),
        h("p", { class: "note" }, similarityNote(model), isTopics ? ` ${certaintyNote(model)}` : ""),
        h("p", {}, h("a", { href: link("pairs") }, "All pairs"), " \u00b7 ", h("a", { href: link("only") }, "What only one of them found")),
        sides.map(({ title, about }) =>
          section(
            ["Did ", user(title), " converge?"],
            null,
            h("p", { class: about.verdict.state === "settled" ? "verdict settled" : "verdict" }, `${about.verdict.text}.`),
            about.trace.sweep.length ? responsive((width) => traceChart(about.trace, about.site_name, width, 200)) : null,
          ),
        ),
      ],
    };
  },
};

function rows(model) {
  const { sides, isTopics } = model;
  const each = (value) => sides.map(value);
  const common = [
    ["Sweeps", each(({ about }) => count(about.progress.sweeps))],
    ["Paths at the end", each(({ about }) => about.settings.paths)],
    ["Time", each(({ about }) => duration(about.progress.seconds))],
  ];
  if (!isTopics) {
    return [
      ["States", each(({ n }) => count(n))],
      ["Emissions", each(({ kind }) => kind)],
      ["Log-likelihood per observation", model.log_likelihoods.map((value) => decimal(value, 4))],
      ["Without a counterpart", [0, 1].map((side) => count(model.only(side).length))],
      ...common,
    ];
  }
  const years = sides.every((own) => own.years);
  return [
    ["Topics", each(({ n }) => count(n))],
    ["Documents", each(({ about }) => count(about.data.documents))],
    ["Vocabulary", model.vocabularies.map(count)],
    ["Without a counterpart", [0, 1].map((side) => count(model.only(side).length))],
    ["Certainty, mean of all words", each((own) => percent(own.mean_certainty))],
    years && ["Spread of a topic in years, mean", each((own) => number(mean(own.years.spread)))],
    years && ["Topics in fewer years than their counterpart", [0, 1].map((side) => percent(narrower(model, side)))],
    years && ["Entropy of a year\u2019s topics, mean", each((own) => decimal(mean(own.years.entropies), 3))],
    ...common,
  ].filter(Boolean);
}

/** Return the share of the pairs in which the topic of one side is spread over fewer years. */
function narrower({ matched, sides }, side) {
  const spread = (own, k) => sides[own].years.spread[k];
  const known = matched.filter(({ numbers }) => Number.isFinite(spread(0, numbers[0])) && Number.isFinite(spread(1, numbers[1])));
  return known.filter(({ numbers }) => spread(side, numbers[side]) < spread(1 - side, numbers[1 - side])).length / known.length;
}
