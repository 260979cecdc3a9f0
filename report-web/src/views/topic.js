// One topic: its words, its neighbours, when and where it occurs, and its most typical documents.

import { row } from "../blocks.js";
import { debounced, fill, h, user, visible } from "../dom.js";
import { count, decimal, percent, wholePercent } from "../format.js";
import { link } from "../router.js";
import { bar } from "../charts/bars.js";
import { bucketChart } from "../charts/buckets.js";
import { periodChart } from "../charts/lines.js";
import { responsive } from "../charts/responsive.js";
import { nameForm } from "./naming.js";
import { documentLink, lambdaSlider, section, topicBars } from "./parts.js";

const WORDS = 24;
const TYPICAL = 8;
const VALUES = 12;

export const topicPage = {
  path: "topics/:topic",
  async render(model, { topic: text }) {
    const topic = Number(text);
    if (!/^\d+$/.test(text) || topic >= model.n) {
      return { title: "No such topic", node: [h("h1", {}, "No such topic"), h("p", {}, `Topics are numbered from 0 to ${model.n - 1}.`)] };
    }
    return {
      title: `Topic ${topic}`,
      node: [
        heading(model, topic),
        h("div", { class: "two" }, wordSection(model, topic), similarSection(model, topic)),
        model.time ? timeSection(model, topic) : null,
        model.columns.some((column) => column.periods) ? columnSection(model, topic) : null,
        typicalSection(model, topic),
      ],
    };
  },
};

function heading(model, topic) {
  const { shares, coherence, certainty } = model.topics;
  const at = model.bySize.indexOf(topic);
  const neighbour = (k, label, text) =>
    model.bySize[k] === undefined ? null : h("a", { href: link("topics", model.bySize[k]), rel: label }, text);
  const title = h("h1", { class: "numbered" });
  const showTitle = () => fill(title, h("span", { class: "number" }, topic), " ", user(model.label(topic, 4)));
  showTitle();
  return h(
    "div",
    { class: "heading" },
    h("p", { class: "crumbs" }, h("a", { href: link("topics") }, "All topics"), neighbour(at - 1, "prev", "Larger"), neighbour(at + 1, "next", "Smaller")),
    title,
    h(
      "p",
      { class: "lead" },
      `${percent(shares[topic])} of all words, no.\u202f${at + 1} by size. Coherence ${decimal(coherence[topic])}, certainty ${percent(certainty[topic])}.`,
    ),
    nameForm(model.names, topic, "topic", showTitle, { canHide: true }),
  );
}

function wordSection(model, topic) {
  const body = h("tbody");
  const update = () => {
    const found = model.topWords(topic, WORDS);
    const expected = ({ probability }) => probability * model.topics.shares[topic] * model.words.n_tokens;
    const most = Math.max(...found.map(({ word }) => model.words.counts[word]), 1);
    fill(
      body,
      found.map((own) =>
        h(
          "tr",
          {},
          h("td", {}, h("a", { href: link("words", model.word(own.word)), class: "word" }, user(model.word(own.word)))),
          h("td", { class: "barcell" }, bar(expected(own) / most, model.words.counts[own.word] / most)),
          h("td", { class: "value" }, percent(own.probability)),
          h("td", { class: "value wide" }, `\u00d7${own.lift >= 100 ? count(Math.round(own.lift)) : decimal(own.lift, 1)}`),
        ),
      ),
    );
  };
  update();
  return section(
    "Words",
    "Strong: tokens of the word in this topic. Pale: in all documents. Lift: how many times as probable it is as in all.",
    lambdaSlider(model, debounced(update, 20)),
    h(
      "table",
      { class: "bars" },
      h("thead", {}, h("tr", {}, ["Word", "Tokens", "Probability", "Lift"].map((name, k) => h("th", { scope: "col", class: k > 1 ? `value ${k > 2 ? "wide" : ""}` : null }, name)))),
      body,
    ),
  );
}

function similarSection(model, topic) {
  const rows = model.similarTopics(topic).map(({ topic: other, similarity }) => ({ topic: other, share: similarity }));
  return section(
    "Similar topics",
    "By their words: 1 minus the Hellinger distance.",
    topicBars(model, rows, "Similarity", decimal),
  );
}

/** Return the shares of a topic in all periods of a timeline. */
export function sharesOf(timeline, topic) {
  return Array.from({ length: timeline.periods.length }, (_, p) => row(timeline.shares, p)[topic]);
}

function timeSection(model, topic) {
  const { time } = model;
  const values = sharesOf(time, topic);
  const readout = h("p", { class: "readout" });
  const show = (p) => {
    if (p === null) fill(readout, `Share of the words of each ${time.by}.`);
    else fill(readout, h("strong", {}, time.periods[p]), ` ${percent(values[p])} of ${count(time.n_tokens[p])} words`);
  };
  show(null);
  return section(
    "Over time",
    null,
    responsive((width) =>
      periodChart({
        periods: time.periods,
        series: [{ values, class: "accent" }],
        kind: "area",
        width,
        height: 200,
        format: wholePercent,
        limit: 1,
        label: `Share of topic ${topic} by ${time.by}`,
        onpoint: show,
      }),
    ),
    readout,
    time.years ? buckets(time.years, topic) : null,
  );
}

function buckets(years, topic) {
  const edges = row(years.edges, topic);
  if (!Number.isFinite(edges[0])) return null;
  const lengths = [...edges.slice(1)].map((edge, k) => edge - edges[k]).sort((a, b) => a - b);
  const half = lengths.slice(0, lengths.length / 2);
  const mean = half.reduce((sum, n) => sum + n, 0) / half.length;
  return [
    responsive((width) => bucketChart(edges, years.first, width)),
    h(
      "p",
      { class: "note" },
      `Each stretch holds ${wholePercent(years.gamma)} of the topic\u2019s weight, all documents of a year together counting as much as `,
      `those of another. Short ones are years in which it is concentrated: the shorter half lasts ${decimal(mean, 1)} years on average.`,
    ),
  ];
}

function columnSection(model, topic) {
  // A column with few values says most at a glance.
  const columns = model.columns.filter((column) => column.periods).sort((a, b) => a.periods.length - b.periods.length);
  const box = h("div");
  const choice = h(
    "select",
    { "aria-label": "Column", onchange: () => draw(columns[choice.selectedIndex]) },
    columns.map(({ name }) => h("option", {}, visible(name))),
  );
  const draw = (column, n = VALUES) => {
    const values = sharesOf(column, topic);
    const most = Math.max(...values.filter(Number.isFinite), 1e-9);
    const order = [...values.keys()].sort((a, b) => (values[b] || 0) - (values[a] || 0) || a - b);
    const rows = order.slice(0, n).map((p) =>
      h(
        "tr",
        {},
        h("td", {}, user(column.periods[p])),
        h("td", { class: "barcell" }, bar(values[p] / most)),
        h("td", { class: "value" }, percent(values[p])),
        h("td", { class: "value wide" }, count(column.n_documents[p])),
      ),
    );
    const head = [h("th", { scope: "col" }, user(column.name)), h("th", { scope: "col", colspan: 2 }, "Share of the words"), h("th", { scope: "col", class: "value wide" }, "Documents")];
    fill(
      box,
      h("table", { class: "bars" }, h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows)),
      n < order.length ? h("p", {}, h("button", { onclick: () => draw(column, order.length) }, `All ${count(order.length)} values`)) : null,
    );
  };
  draw(columns[0]);
  return section("By column", null, h("p", { class: "controls" }, choice), box);
}

function typicalSection(model, topic) {
  const list = h("ol", { class: "excerpts" }, h("li", { class: "soft" }, "Reading the documents \u2026"));
  const numbers = row(model.typical.documents, topic);
  const shares = row(model.typical.shares, topic);
  model.documents().then((documents) => {
    let n = Math.min(TYPICAL, numbers.length);
    const draw = () => {
      fill(
        list,
        [...numbers.slice(0, n)].map((number, k) => h("li", {}, typical(documents, number, shares[k], topic))),
        n < numbers.length ? h("li", { class: "more" }, h("button", { onclick: () => ((n = numbers.length), draw()) }, "More documents")) : null,
      );
    };
    draw();
  });
  return section("Most typical documents", "The words of this topic are marked.", list);
}

function typical(documents, number, share, topic) {
  const k = documents.place(number);
  if (k === undefined) return [`Document ${number} `, h("span", { class: "soft" }, `${percent(share)}; it is not in this file`)];
  const { pieces, before, after } = documents.excerpt(k, topic);
  const shown = pieces.map(({ text, topic: own }) => (own === topic ? h("mark", {}, text) : text));
  return [
    h("p", { class: "excerpt-head" }, documentLink(documents, k), h("span", { class: "soft" }, ` ${percent(share)}`)),
    h("p", { class: "excerpt", dir: "auto" }, before ? "\u2026 " : "", shown, after ? " \u2026" : ""),
  ];
}
