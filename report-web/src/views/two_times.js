// Two topic models over time: the entropy of years, and how concentrated topics are.

import { extent } from "d3-array";
import { scaleLinear } from "d3-scale";
import { line } from "d3-shape";
import { h, s, user } from "../dom.js";
import { decimal, number, wholePercent } from "../format.js";
import { axes, within } from "../charts/axes.js";
import { periodChart } from "../charts/lines.js";
import { responsive } from "../charts/responsive.js";
import { section } from "./parts.js";
import { mean } from "./two_parts.js";

const MARGIN = { top: 26, right: 12, bottom: 36, left: 54 };

export const twoTimesView = {
  path: "time",
  label: "Time",
  when: (model) => model.isTopics && model.sides.every(({ years }) => years),
  render(model) {
    return {
      title: "Time",
      node: [h("h1", {}, "Topics over time"), legend(model), entropies(model), lengths(model), spreads(model)],
    };
  },
};

const colour = (k) => `topic-${k}`;

function legend(model) {
  return h("ul", { class: "legend" }, model.sides.map(({ title }, k) => h("li", {}, h("span", { class: `swatch ${colour(k)}` }), user(title))));
}

function entropies(model) {
  const first = Math.min(...model.sides.map(({ years }) => years.first));
  const last = Math.max(...model.sides.map(({ years }) => years.first + years.entropies.length));
  const values = ({ years }) => Array.from({ length: last - first }, (_, k) => years.entropies[k + first - years.first] ?? NaN);
  const all = model.sides.flatMap((side) => values(side).filter(Number.isFinite));
  return section(
    "Entropy of a year\u2019s topics",
    `Low where few topics dominate a year. On average: ${model.sides.map(({ years }) => decimal(mean(years.entropies), 3)).join(" and ")}.`,
    responsive((width) =>
      periodChart({
        periods: Array.from({ length: last - first }, (_, k) => String(first + k)),
        series: model.sides.map((side, k) => ({ values: values(side), class: colour(k), label: null })),
        from: Math.floor(Math.min(...all) * 2) / 2,
        width,
        height: 240,
        format: (value) => decimal(value, 1),
        label: "Entropy of the topics of each year in the two models",
      }),
    ),
  );
}

/** Return the lengths of all stretches that hold equal shares of a topic, as curves of quantiles. */
function lengths(model) {
  return section(
    "Concentration in time",
    `For each topic, time is cut into stretches that hold ${wholePercent(model.gamma)} of its weight each. The curves show the share of all stretches that are shorter than so many years: the higher, the more concentrated. The mean length is the same for all topics.`,
    responsive((width) => {
      const height = 280;
      const [wide, tall] = within(width, height, MARGIN);
      const longest = Math.max(...model.sides.map(({ years }) => years.lengths[Math.floor(0.98 * (years.lengths.length - 1))]));
      const x = scaleLinear([0, longest], [0, wide]).nice();
      const y = scaleLinear([0, 1], [tall, 0]);
      const { svg, plot } = axes({ x, y, width, height, margin: MARGIN, xTitle: "years", yTitle: "share of the stretches", label: "How long stretches are in the two models" });
      model.sides.forEach(({ years }, k) => {
        const own = years.lengths;
        const end = x.domain()[1];
        const draw = line((value) => x(Math.min(value, end)), (_, i) => y((i + 1) / own.length));
        plot.append(s("path", { class: `line ${colour(k)}`, d: draw([...own].filter((value) => value <= end)) }));
      });
      return svg;
    }),
  );
}

/** Return the spreads of matched topics against each other. */
function spreads(model) {
  const [own, other] = model.sides.map(({ years }) => years.spread);
  const points = model.matched.map(({ k, numbers }) => ({ k, at: [own[numbers[0]], other[numbers[1]]], numbers })).filter(({ at }) => at.every(Number.isFinite));
  return section(
    "Spread of matched topics",
    "Each circle is a pair. The spread is the exponential of the entropy of a topic\u2019s weights over the years: k for a topic with equal weight in k years. Below the diagonal, the topic of the second model is in fewer years.",
    responsive((width) => {
      const size = Math.min(width, 520);
      const [wide, tall] = within(size, size, MARGIN);
      const x = scaleLinear(extent(points.flatMap(({ at }) => at)), [0, wide]).nice();
      const y = scaleLinear(x.domain(), [tall, 0]);
      const { svg, plot } = axes({ x, y, width: size, height: size, margin: MARGIN, xTitle: "years, first model", yTitle: "years, second model", label: "Spread of matched topics in both models" });
      const [start, end] = x.domain();
      plot.append(s("line", { class: "stage", x1: x(start), y1: y(start), x2: x(end), y2: y(end) }));
      for (const { k, at, numbers } of points) {
        const text = `${model.sides[0].label(numbers[0])}: ${number(at[0])} and ${number(at[1])} years`;
        plot.append(s("a", { href: model.href(k), "aria-label": text }, s("circle", { class: "pair-dot", cx: x(at[0]), cy: y(at[1]), r: 4.5 }), s("title", {}, text)));
      }
      svg.setAttribute("role", "group");
      return svg;
    }),
  );
}
