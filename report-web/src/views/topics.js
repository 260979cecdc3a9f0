// All topics: a list that can be searched and sorted, and a map.

import { debounced, fill, h, user } from "../dom.js";
import { count, decimal, percent } from "../format.js";
import { link } from "../router.js";
import { bar } from "../charts/bars.js";
import { mapChart } from "../charts/map.js";
import { responsive } from "../charts/responsive.js";
import { lambdaSlider, searchBox } from "./parts.js";

const WORDS = 8;
const ROWS = 200;

const COLUMNS = [
  { key: "number", label: "No.", value: (model, t) => t, first: 1 },
  { key: "words", label: "Topic", value: (model, t) => model.label(t).toLowerCase(), first: 1 },
  { key: "size", label: "Size", value: (model, t) => model.topics.shares[t], first: -1 },
  { key: "coherence", label: "Coherence", value: (model, t) => model.topics.coherence[t], first: -1 },
  { key: "certainty", label: "Certainty", value: (model, t) => model.topics.certainty[t], first: -1 },
];

// What the reader chose stays when they come back to the list.
const chosen = { query: "", key: "size", direction: -1, showHidden: false };

export const topicList = {
  path: "topics",
  label: "Topics",
  render(model) {
    const body = h("tbody");
    const status = h("p", { class: "note", role: "status" });
    const head = h("tr");
    const rows = new Map();
    const more = h("button", { onclick: () => update(model.n) });
    let map = null;
    const readout = h("p", { class: "readout" });
    const hover = (topic) => {
      map?.mark(topic);
      for (const row of body.querySelectorAll(".marked")) row.classList.remove("marked");
      if (topic === null) fill(readout, "Point at a topic to see its words; click it to open it.");
      else {
        rows.get(topic)?.classList.add("marked");
        fill(readout, h("strong", {}, topic), " ", words(model, topic, 12));
      }
    };
    const update = (most = ROWS) => {
      const order = visibleTopics(model);
      fill(head, COLUMNS.map((column) => header(column, () => update())));
      rows.clear();
      for (const topic of order.slice(0, most)) rows.set(topic, topicRow(model, topic, hover));
      fill(body, ...rows.values());
      fill(more, `All ${count(order.length)} topics`);
      more.hidden = order.length <= most;
      const all = `${count(order.length)} of ${count(model.n)} topics`;
      fill(status, chosen.query || order.length < model.n ? all : `${count(model.n)} topics`);
    };
    const search = searchBox(chosen, "Search topics", "Search words, names, numbers", () => {
      update();
      redrawMap();
    });
    const mapBox = responsive((width) => {
      map = drawMap(model, width, hover);
      return map.svg;
    });
    const redrawMap = () => {
      const width = mapBox.clientWidth;
      if (!width) return;
      map = drawMap(model, width, hover);
      fill(mapBox, map.svg);
    };
    const hidden = h("input", {
      type: "checkbox",
      checked: chosen.showHidden,
      onchange: () => {
        chosen.showHidden = hidden.checked;
        update();
        redrawMap();
      },
    });
    update();
    hover(null);
    return {
      title: "Topics",
      node: [
        h("h1", {}, "Topics"),
        h(
          "div",
          { class: "controls" },
          search,
          lambdaSlider(model, debounced(() => update(), 40)),
          model.names.hidden.size ? h("label", {}, hidden, ` show ${count(model.names.hidden.size)} hidden`) : null,
          model.names.hasChanges ? h("button", { onclick: () => model.names.download() }, "Save names") : null,
        ),
        h(
          "div",
          { class: "split" },
          h(
            "div",
            {},
            status,
            h("table", { class: "topics" }, h("thead", {}, head), body),
            more,
            h(
              "p",
              { class: "note" },
              "Size: share of all words. Coherence: NPMI of the ten first words. Certainty: mean of ",
              `${model.certaintyText}; not the stability between runs.`,
            ),
          ),
          h(
            "figure",
            { class: "sticky" },
            mapBox,
            readout,
            h(
              "figcaption",
              { class: "note" },
              "Topics that share words are near each other: classical scaling of the Hellinger distances, of which ",
              "two dimensions show a part. The area of a circle is the size of the topic.",
            ),
          ),
        ),
      ],
    };
  },
};

function visibleTopics(model) {
  const { query, key, direction, showHidden } = chosen;
  const wanted = query.toLowerCase().split(/\s+/).filter(Boolean);
  const { value } = COLUMNS.find((column) => column.key === key);
  return [...Array(model.n).keys()]
    .filter((t) => showHidden || !model.names.isHidden(t))
    .filter((t) => wanted.every((word) => described(model, t).some((own) => own.startsWith(word))))
    .sort((a, b) => compare(value(model, a), value(model, b), direction) || a - b);
}

function compare(a, b, direction) {
  if (a === b) return 0;
  if (a !== a) return 1; // what is missing comes last
  if (b !== b) return -1;
  return a < b ? -direction : direction;
}

/** Return what a search finds a topic by: its number, its name, and all of its words. */
function described(model, topic) {
  const name = (model.names.of(topic) ?? "").toLowerCase();
  const own = model.firstWords(topic).map((word) => word.toLowerCase());
  return [String(topic), name, ...name.split(/\s+/), ...own];
}

function header(column, update) {
  const isCurrent = chosen.key === column.key;
  const sort = !isCurrent ? null : chosen.direction > 0 ? "ascending" : "descending";
  const press = () => {
    chosen.direction = isCurrent ? -chosen.direction : column.first;
    chosen.key = column.key;
    update();
    document.getElementById(`sort-${column.key}`)?.focus();
  };
  return h(
    "th",
    { scope: "col", class: `${column.key} ${column.first < 0 ? "value" : ""}`, "aria-sort": sort },
    h("button", { class: "sort", id: `sort-${column.key}`, onclick: press }, column.label),
  );
}

function topicRow(model, topic, hover) {
  const { shares, coherence, certainty } = model.topics;
  const most = shares[model.bySize[0]];
  const name = model.names.of(topic);
  return h(
    "tr",
    {
      class: model.names.isHidden(topic) ? "hidden-topic" : null,
      onpointerenter: () => hover(topic),
      onpointerleave: () => hover(null),
    },
    h("td", { class: "number" }, topic),
    h(
      "td",
      { class: "words" },
      h("a", { href: link("topics", topic) }, name ? h("strong", {}, user(name), " ") : null, words(model, topic, WORDS)),
    ),
    h("td", { class: "value size" }, bar(shares[topic] / most), percent(shares[topic])),
    h("td", { class: "value coherence" }, decimal(coherence[topic])),
    h("td", { class: "value certainty" }, percent(certainty[topic])),
  );
}

function words(model, topic, n) {
  return h("span", { class: "words" }, model.topWords(topic, n).map(({ word }, k) => [k ? " " : "", user(model.word(word))]));
}

function drawMap(model, width, onhover) {
  const found = new Set(visibleTopics(model));
  const points = model.bySize
    .filter((t) => chosen.showHidden || !model.names.isHidden(t))
    .map((t) => ({
      id: t,
      x: model.topics.map[2 * t],
      y: model.topics.map[2 * t + 1],
      size: model.topics.shares[t],
      label: `Topic ${t}: ${model.label(t, 5)}`,
      text: String(t),
      href: link("topics", t),
      faint: !found.has(t),
    }));
  return mapChart({ points, width, height: Math.min(width, 560), label: "Map of topics", onhover });
}
