// Topics by the values of a column.

import { row } from "../blocks.js";
import { fill, h, setStyle, user } from "../dom.js";
import { count, decimal, percent } from "../format.js";
import { link } from "../router.js";
import { notes, section, topicLink } from "./parts.js";

const SPECIAL = 4;
const ROWS = 30;

const some = (model) => model.columns.filter((column) => column.periods);

export const columnsView = {
  path: "columns",
  label: "Columns",
  when: (model) => model.columns.length > 0,
  render(model) {
    return { title: "Columns", node: [h("h1", {}, "Topics by column"), ...listOfColumns(model, null)] };
  },
};

export const columnPage = {
  path: "columns/:column",
  when: (model) => some(model).length > 0,
  render(model, { column: text }) {
    const column = some(model)[Number(text)];
    if (!column) return columnsView.render(model);
    return {
      title: `By ${column.name}`,
      node: [
        h("h1", {}, "Topics by ", user(column.name)),
        ...listOfColumns(model, column),
        notes(column.notes),
        special(model, column),
        matrix(model, column),
      ],
    };
  },
};

function listOfColumns(model, current) {
  const left = model.columns.filter((column) => column.reason);
  return [
    h(
      "ul",
      { class: "tabs" },
      some(model).map((column, k) =>
        h("li", {}, h("a", { href: link("columns", k), "aria-current": column === current ? "true" : null }, user(column.name), h("span", { class: "soft" }, ` ${count(column.periods.length)}`))),
      ),
    ),
    current || !left.length
      ? null
      : section("Not compared", null, h("ul", {}, left.map(({ name, reason }) => h("li", {}, user(name), `: ${reason}.`)))),
  ];
}

/** Return, for each value, the topics that are most special to it. */
function special(model, column) {
  const { shares } = model.topics;
  const rows = column.periods.map((name, p) => {
    const own = row(column.shares, p);
    const lifts = model.shown
      .filter((topic) => own[topic] >= 0.005)
      .map((topic) => ({ topic, lift: own[topic] / shares[topic], gain: own[topic] * Math.log(own[topic] / shares[topic]) }))
      .filter(({ lift }) => lift > 1)
      .sort((a, b) => b.gain - a.gain)
      .slice(0, SPECIAL);
    return h(
      "tr",
      {},
      h("th", { scope: "row" }, user(name)),
      h("td", { class: "value wide" }, count(column.n_documents[p])),
      h("td", {}, lifts.map(({ topic, lift }) => h("span", { class: "special" }, topicLink(model, topic), h("span", { class: "soft" }, ` \u00d7${decimal(lift, 1)}`)))),
    );
  });
  return section(
    "What is special",
    "The topics that distinguish each value most from all documents, and how many times as large they are in it.",
    h(
      "table",
      { class: "specials" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, user(column.name)), h("th", { scope: "col", class: "value wide" }, "Documents"), h("th", { scope: "col" }, "Topics"))),
      h("tbody", {}, rows),
    ),
  );
}

/** Return a table of topics by values, shaded by the share. */
function matrix(model, column) {
  const topics = model.shown;
  const box = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Topics by value" });
  const draw = (n) => {
    const chosen = topics.slice(0, n);
    const most = Math.max(...chosen.flatMap((topic) => column.periods.map((_, p) => row(column.shares, p)[topic] || 0)), 1e-9);
    fill(
      box,
      h(
        "table",
        { class: "matrix" },
        h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Topic"), column.periods.map((name) => h("th", { scope: "col", class: "value" }, user(name))))),
        h(
          "tbody",
          {},
          chosen.map((topic) =>
            h(
              "tr",
              {},
              h("th", { scope: "row" }, topicLink(model, topic)),
              column.periods.map((_, p) => {
                const share = row(column.shares, p)[topic];
                const cell = h("td", { class: "value" }, percent(share));
                setStyle(cell, { "--shade": `${Math.round(60 * Math.sqrt((share || 0) / most))}%` });
                return cell;
              }),
            ),
          ),
        ),
      ),
    );
  };
  draw(ROWS);
  const more = h("button", { onclick: () => (draw(topics.length), more.remove()) }, `All ${count(topics.length)} topics`);
  return section("Shares", "The share of the words of each value that a topic has, the largest topics first.", box, topics.length > ROWS ? h("p", {}, more) : null);
}
