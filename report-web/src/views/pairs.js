// Matched topics or states side by side.

import { fill, h, user } from "../dom.js";
import { count, decimal, number, percent } from "../format.js";
import { link } from "../router.js";
import { bar } from "../charts/bars.js";
import { searchBox, section } from "./parts.js";
import { certaintyNote, commonWords, shown, shownWords, similarityNote } from "./two_parts.js";

const SHOWN = 100;

const chosen = { query: "", order: 0 };

const ORDERS = [
  { name: "most similar first", value: ({ similarity }) => similarity },
  { name: "least similar first", value: ({ similarity }) => -similarity },
  { name: "largest first", value: ({ numbers }, { sides }) => sides[0].shares[numbers[0]] + sides[1].shares[numbers[1]] },
  { name: "largest gain in certainty", value: ({ numbers }, { sides }) => sides[1].certainty[numbers[1]] - sides[0].certainty[numbers[0]], topics: true },
  { name: "largest gain in concentration", value: ({ numbers }, { sides }) => sides[0].years.spread[numbers[0]] - sides[1].years.spread[numbers[1]], years: true },
];

const orders = (model) => ORDERS.filter(({ topics, years }) => (!topics || model.isTopics) && (!years || model.sides.every((side) => side.years)));

export const pairsView = {
  path: "pairs",
  label: "Pairs",
  render(model) {
    const body = h("tbody");
    const status = h("p", { class: "note", role: "status" });
    const more = h("p");
    let limit = SHOWN;
    const update = () => {
      const found = search(model);
      fill(body, found.slice(0, limit).map((pair) => pairRow(model, pair)));
      fill(status, `${count(found.length)} of ${count(model.matched.length)} pairs`);
      fill(more, limit < found.length ? h("button", { onclick: () => ((limit += 5 * SHOWN), update()) }, "More pairs") : null);
    };
    const query = searchBox(chosen, "Search pairs", model.isTopics ? "Search words, names, numbers" : "Search names and numbers", update);
    const order = h(
      "select",
      { "aria-label": "Order", onchange: () => ((chosen.order = order.selectedIndex), update()) },
      orders(model).map(({ name }, k) => h("option", { selected: k === chosen.order }, name)),
    );
    update();
    const heads = model.isTopics ? ["Size", "Certainty", model.sides.every((side) => side.years) ? "Spread in years" : null] : ["Share", "Stay"];
    return {
      title: "Pairs",
      node: [
        h("h1", {}, "Pairs"),
        h("div", { class: "controls" }, query, order),
        status,
        h(
          "table",
          { class: "pairs" },
          h(
            "thead",
            {},
            h(
              "tr",
              {},
              h("th", { scope: "col", class: "size" }, "Similarity"),
              model.sides.map(({ title }) => h("th", { scope: "col" }, user(title))),
              heads.filter(Boolean).map((name) => h("th", { scope: "col", class: "value wide" }, name)),
            ),
          ),
          body,
        ),
        more,
        h("p", { class: "note" }, similarityNote(model), model.isTopics ? ` ${certaintyNote(model)} Numbers are those of the first and the second model. Underlined: words that are not among the first 20 of the other topic.` : " Numbers are those of the first and the second model."),
      ],
    };
  },
};

function search(model) {
  const wanted = chosen.query.toLowerCase().split(/\s+/).filter(Boolean);
  const texts = ({ numbers }) =>
    numbers.flatMap((own, k) => [String(own), ...(model.sides[k].names[own] ?? "").toLowerCase().split(/\s+/), ...(model.isTopics ? model.sides[k].topWords(own, 30).map(({ text }) => text.toLowerCase()) : [])]);
  const found = model.matched.filter((pair) => !wanted.length || wanted.every((word) => texts(pair).some((own) => own.startsWith(word))));
  const { value } = orders(model)[chosen.order] ?? ORDERS[0];
  const known = (pair) => (Number.isFinite(value(pair, model)) ? value(pair, model) : -Infinity);
  return [...found].sort((a, b) => known(b) - known(a) || a.k - b.k);
}

const both = (values, format) => values.map((value, k) => [k ? " \u2192 " : "", format(value)]);

function pairRow(model, { k, numbers, similarity }) {
  const { sides, isTopics } = model;
  const common = isTopics ? commonWords(sides, numbers) : null;
  const of = (part) => sides.map((side, i) => part(side)[numbers[i]]);
  const cell = (side, own) => (isTopics ? shownWords(side, own, common) : shown(side, own));
  return h(
    "tr",
    {},
    h("td", { class: "size" }, h("a", { href: model.href(k), "aria-label": `Pair ${k}, similarity ${decimal(similarity)}` }, bar(similarity), decimal(similarity))),
    sides.map((side, i) => h("td", {}, cell(side, numbers[i]))),
    h("td", { class: "value wide" }, both(of((side) => side.shares), percent)),
    isTopics ? h("td", { class: "value wide" }, both(of((side) => side.certainty), percent)) : h("td", { class: "value wide" }, both(of((side) => side.stay), (value) => decimal(value))),
    isTopics && sides.every((side) => side.years) ? h("td", { class: "value wide" }, both(of((side) => side.years.spread), number)) : null,
  );
}

export const pairPage = {
  path: "pairs/:pair",
  render(model, { pair: text }) {
    const pair = /^\d+$/.test(text) ? model.matched[Number(text)] : undefined;
    if (!pair) return { title: "No such pair", node: [h("h1", {}, "No such pair"), h("p", {}, `Pairs are numbered from 0 to ${model.matched.length - 1}.`)] };
    const { k, numbers, similarity } = pair;
    const neighbour = (other, rel, name) => (model.matched[other] ? h("a", { href: model.href(other), rel }, name) : null);
    return {
      title: `Pair ${k}`,
      node: [
        h("p", { class: "crumbs" }, h("a", { href: link("pairs") }, "All pairs"), neighbour(k - 1, "prev", "More similar"), neighbour(k + 1, "next", "Less similar")),
        h("h1", {}, model.sides.map((side, i) => [i ? " and " : "", h("span", { class: "number" }, numbers[i]), model.isTopics || side.names[numbers[i]] ? [" ", user(side.label(numbers[i]))] : null])),
        h("p", { class: "lead" }, `Similarity ${decimal(similarity)}.`),
        facts(model, numbers),
        model.isTopics ? words(model, numbers) : states(model, numbers),
      ],
    };
  },
};

function facts(model, numbers) {
  const row = (name, part, format) => h("tr", {}, h("th", { scope: "row" }, name), model.sides.map((side, i) => h("td", { class: "value" }, format(part(side)[numbers[i]]))));
  const years = model.isTopics && model.sides.every((side) => side.years);
  return h(
    "table",
    { class: "twofold" },
    h("thead", {}, h("tr", {}, h("td", {}), model.sides.map(({ title }) => h("th", { scope: "col", class: "value" }, user(title))))),
    h(
      "tbody",
      {},
      row(model.isTopics ? "Size" : "Share", (side) => side.shares, percent),
      model.isTopics ? row("Certainty", (side) => side.certainty, percent) : row("Stay", (side) => side.stay, (value) => decimal(value, 3)),
      years ? row("Spread in years", (side) => side.years.spread, number) : null,
      years ? row("Mean length of its shorter stretches, in years", (side) => side.years.shortest, number) : null,
    ),
  );
}

function words(model, numbers) {
  const lists = model.sides.map((side, k) => new Map(side.topWords(numbers[k], 30).map(({ text, probability }) => [text, probability])));
  const all = [...new Set(lists.flatMap((own) => [...own.keys()]))];
  const most = Math.max(...lists.flatMap((own) => [...own.values()]), 1e-9);
  const value = (text, k) => lists[k].get(text) ?? 0;
  const table = (texts) =>
    h(
      "table",
      { class: "bars mirrored" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Word"), model.sides.map(({ title }) => h("th", { scope: "col", colspan: 2 }, user(title))))),
      h(
        "tbody",
        {},
        texts.map((text) =>
          h("tr", {}, h("td", { class: "word" }, user(text)), [0, 1].map((k) => [h("td", { class: "barcell" }, value(text, k) ? bar(value(text, k) / most) : null), h("td", { class: "value" }, value(text, k) ? percent(value(text, k)) : "\u2013")])),
        ),
      ),
    );
  const sum = (text) => value(text, 0) + value(text, 1);
  const byProbability = (texts) => texts.sort((a, b) => sum(b) - sum(a)).slice(0, 24);
  const inBoth = byProbability(all.filter((text) => lists[0].has(text) && lists[1].has(text)));
  return [
    inBoth.length ? section("Words in both", "Among the words that the report has of both topics: the most probable 30 or more.", table(inBoth)) : null,
    [0, 1].map((k) => {
      const own = byProbability(all.filter((text) => !lists[1 - k].has(text))).slice(0, 12);
      return own.length ? section(["Only in ", user(model.sides[k].title)], "Not among these words of the other topic, or unknown to its model.", table(own)) : null;
    }),
  ];
}

function states(model, numbers) {
  const { sides } = model;
  const all = sides.flatMap((side, k) => side.tables.map(({ name, values }) => ({ name, k, values: [...values.subarray(numbers[k] * values.shape[1], (numbers[k] + 1) * values.shape[1])] })));
  const names = [...new Set(all.map(({ name }) => name))];
  if (sides.every(({ symbols }) => symbols)) return symbols(model, numbers);
  return section(
    "Parameters",
    null,
    names.map((name) => {
      const rows = all.filter((own) => own.name === name);
      const heads = sides[rows[0].k].features.length === rows[0].values.length ? sides[rows[0].k].features : rows[0].values.map((_, d) => String(d));
      return h(
        "div",
        { class: "scroll", tabindex: "0", role: "group", "aria-label": name },
        h(
          "table",
          { class: "matrix" },
          h("caption", {}, name),
          h("thead", {}, h("tr", {}, h("td", {}), heads.map((own) => h("th", { scope: "col", class: "value" }, user(own))))),
          h("tbody", {}, rows.map(({ k, values }) => h("tr", {}, h("th", { scope: "row" }, user(sides[k].title)), values.map((value) => h("td", { class: "value" }, number(value)))))),
        ),
      );
    }),
  );
}

function symbols(model, numbers) {
  const maps = model.sides.map(({ symbols: own }, k) => new Map(own.names.map((name, w) => [name, own.probabilities[numbers[k] * own.names.length + w]])));
  const names = [...new Set(maps.flatMap((own) => [...own.keys()]))].sort((a, b) => (maps[0].get(b) ?? 0) + (maps[1].get(b) ?? 0) - (maps[0].get(a) ?? 0) - (maps[1].get(a) ?? 0)).slice(0, 40);
  const most = Math.max(...maps.flatMap((own) => [...own.values()]), 1e-9);
  return section(
    "Symbols",
    null,
    h(
      "table",
      { class: "bars mirrored" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Symbol"), model.sides.map(({ title }) => h("th", { scope: "col", colspan: 2 }, user(title))))),
      h("tbody", {}, names.map((name) => h("tr", {}, h("td", { class: "word" }, user(name)), maps.map((own) => [h("td", { class: "barcell" }, bar((own.get(name) ?? 0) / most)), h("td", { class: "value" }, own.has(name) ? percent(own.get(name)) : "\u2013")])))),
    ),
  );
}
