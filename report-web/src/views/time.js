// Topics over time: all together, one by one, and how concentrated they are.

import { row } from "../blocks.js";
import { fill, h, user } from "../dom.js";
import { count, decimal, percent, wholePercent } from "../format.js";
import { link } from "../router.js";
import { periodChart } from "../charts/lines.js";
import { responsive } from "../charts/responsive.js";
import { notes, section, table, topicLink } from "./parts.js";
import { sharesOf } from "./topic.js";

const LAYERS = 8;
const SMALL = 24;

export const timeView = {
  path: "time",
  label: "Time",
  when: (model) => model.time !== null,
  render(model) {
    const { time } = model;
    return {
      title: "Topics over time",
      node: [
        h("h1", {}, "Topics over time"),
        h("p", { class: "lead" }, `By ${time.by}, ${time.periods[0]} to ${time.periods.at(-1)}.`),
        notes(time.notes),
        stacked(model),
        multiples(model),
        time.years ? [entropy(time.years), concentration(model)] : null,
      ],
    };
  },
};

function stacked(model) {
  const { time } = model;
  // The topics that are largest somewhere say more about time than those that are large everywhere.
  const spread = (topic) => {
    const values = sharesOf(time, topic).filter(Number.isFinite);
    const mean = values.reduce((sum, v) => sum + v, 0) / values.length;
    return Math.sqrt(values.reduce((sum, v) => sum + (v - mean) ** 2, 0) / values.length);
  };
  const topics = model.shown
    .map((topic) => ({ topic, spread: spread(topic) }))
    .sort((a, b) => b.spread - a.spread)
    .slice(0, LAYERS)
    .map(({ topic }) => topic);
  const series = topics.map((topic, k) => ({ values: sharesOf(time, topic), class: `topic-${k}`, label: `${topic} ${model.label(topic)}` }));
  const readout = h("p", { class: "readout" });
  const show = (p) => {
    if (p === null) fill(readout, `The ${topics.length} topics whose shares vary most.`);
    else {
      const order = topics.map((topic, k) => ({ topic, value: series[k].values[p] })).sort((a, b) => b.value - a.value);
      fill(readout, h("strong", {}, time.periods[p]), order.slice(0, 3).map(({ topic, value }) => [" \u00b7 ", user(model.label(topic)), ` ${percent(value)}`]));
    }
  };
  show(null);
  return section(
    "Together",
    null,
    responsive((width) =>
      periodChart({ periods: time.periods, series, kind: "stack", width, height: 320, format: wholePercent, limit: 1, label: `Shares of ${topics.length} topics by ${time.by}, stacked`, onpoint: show }),
    ),
    readout,
    h("ul", { class: "legend" }, topics.map((topic, k) => h("li", { class: `topic-${k}` }, h("span", { class: "swatch", "aria-hidden": "true" }), topicLink(model, topic)))),
  );
}

function multiples(model) {
  const { time } = model;
  const topics = model.shown;
  const list = h("ul", { class: "multiples" });
  let n = SMALL;
  const draw = () =>
    fill(
      list,
      topics.slice(0, n).map((topic) =>
        h(
          "li",
          {},
          h("a", { href: link("topics", topic) }, h("span", { class: "number" }, topic), " ", user(model.label(topic))),
          small(sharesOf(time, topic), `Share of topic ${topic} by ${time.by}`),
        ),
      ),
      n < topics.length ? h("li", { class: "more" }, h("button", { onclick: () => ((n += 4 * SMALL), draw()) }, "More topics")) : null,
    );
  draw();
  return section("One by one", `The largest first. Each has its own scale, up to the share that is given.`, list);
}

/** Return a small picture of values, drawn on a canvas, since there may be hundreds. */
function small(values, label, width = 200, height = 44) {
  const canvas = h("canvas", { role: "img", "aria-label": label });
  const most = Math.max(...values.filter(Number.isFinite), 1e-9);
  const scale = Math.min(2, window.devicePixelRatio || 1);
  canvas.width = width * scale;
  canvas.height = height * scale;
  const draw = canvas.getContext("2d");
  // The colour is that of the style of the page, which a canvas does not take over by itself.
  requestAnimationFrame(() => {
    draw.fillStyle = getComputedStyle(canvas).color;
    const step = canvas.width / values.length;
    values.forEach((value, p) => {
      if (!Number.isFinite(value)) return;
      const size = (value / most) * canvas.height;
      draw.fillRect(p * step, canvas.height - size, Math.max(step * 0.92, 0.5), size);
    });
  });
  return [canvas, h("span", { class: "soft" }, percent(most))];
}

function entropy(years) {
  const periods = [...years.entropies.keys()].map((k) => String(years.first + k));
  const readout = h("p", { class: "readout" });
  const show = (p) => {
    if (p === null) fill(readout, "High: a year\u2019s documents are spread over many topics. Low: few topics dominate.");
    else fill(readout, h("strong", {}, periods[p]), ` ${decimal(years.entropies[p])} nats, as many as ${decimal(Math.exp(years.entropies[p]), 1)} equal topics`);
  };
  show(null);
  return section(
    "Entropy of each year",
    null,
    responsive((width) =>
      periodChart({
        periods,
        series: [{ values: years.entropies, class: "accent" }],
        width,
        height: 190,
        format: (v) => decimal(v, 1),
        label: "Entropy of the topics of each year",
        onpoint: show,
        from: Math.max(0, Math.floor(2 * Math.min(...years.entropies.filter(Number.isFinite))) / 2 - 0.5),
      }),
    ),
    readout,
  );
}

function concentration(model) {
  const { years } = model.time;
  const rows = model.shown
    .map((topic) => {
      const edges = row(years.edges, topic);
      const lengths = [...edges.slice(1)].map((edge, k) => edge - edges[k]);
      const k = lengths.indexOf(Math.min(...lengths));
      const sorted = [...lengths].sort((a, b) => a - b);
      const half = sorted.slice(0, sorted.length / 2);
      return { topic, from: years.first + edges[k], shortest: lengths[k], half: half.reduce((sum, v) => sum + v, 0) / half.length };
    })
    .filter(({ half }) => Number.isFinite(half))
    .sort((a, b) => a.half - b.half);
  const body = (n) =>
    table(
      ["Topic", "Shorter half", "Shortest", "from"],
      rows.slice(0, n).map(({ topic, from, shortest, half }) => [topicLink(model, topic), decimal(half, 1), decimal(shortest, 1), String(Math.floor(from))]),
      { class: "topic-bars" },
    );
  const box = h("div", {}, body(12));
  const more = h("button", { onclick: () => (fill(box, body(rows.length)), more.remove()) }, `All ${count(rows.length)} topics`);
  return section(
    "Concentration in time",
    `The years are cut, for each topic, into stretches that hold ${wholePercent(years.gamma)} of its weight each. Their lengths in years: the mean of the shorter half, and the shortest. The most concentrated topics first.`,
    box,
    rows.length > 12 ? h("p", {}, more) : null,
  );
}
