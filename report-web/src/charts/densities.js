// A histogram of observations, and over it the density of each state.

import { max } from "d3-array";
import { scaleLinear } from "d3-scale";
import { line } from "d3-shape";
import { row } from "../blocks.js";
import { s } from "../dom.js";
import { axes, within } from "./axes.js";

const MARGIN = { top: 10, right: 8, bottom: 36, left: 44 };

/**
 * Return the picture of a feature, as `plait.report.emissions` has it, as an SVG element.
 *   shares   of the states: densities are scaled by them
 *   states   those that are drawn
 *   own      a state whose observations are shown in its colour, or null
 *   colour   (state) => the class of its colour
 */
export function densityChart({ histogram, shares, states, own, colour, name, label, width, height = 210 }) {
  const { edges, counts, x: points, densities, whole } = histogram;
  const [inner, tall] = within(width, height, MARGIN);
  const n = edges.length - 1;
  const all = new Float64Array(n);
  for (let state = 0; state < shares.length; state++) row(counts, state).forEach((value, b) => (all[b] += value));
  const total = all.reduce((sum, value) => sum + value, 0) + histogram.outside || 1;
  const density = (values) => Array.from(values, (value, b) => value / total / (edges[b + 1] - edges[b]));
  const curves = densities
    ? states.map((state) => ({ state, values: Array.from(row(densities, state), (value) => value * shares[state]) }))
    : [];
  const bars = density(all);
  // A very narrow state must not flatten the others: its peak may leave the picture.
  const top = Math.min(max([...bars, ...curves.flatMap(({ values }) => values)]), 3 * max(bars));
  const x = scaleLinear([edges[0], edges[n]], [0, inner]);
  const y = scaleLinear([0, top || 1], [tall, 0]);
  const xTicks = whole ? x.ticks(Math.max(2, inner / 60)).filter(Number.isInteger) : undefined;
  const { svg, plot } = axes({ x, y, width, height, margin: MARGIN, xTitle: name, xTicks, yTicks: [], label });
  const draw = (values, klass) =>
    values.forEach((value, b) => {
      if (!value) return;
      const [left, right] = [x(edges[b]), x(edges[b + 1])];
      const gap = right - left > 4 ? 1 : 0;
      plot.append(s("rect", { class: klass, x: left, width: Math.max(0.5, right - left - gap), y: y(Math.min(value, top)), height: tall - y(Math.min(value, top)) }));
    });
  draw(bars, "all-observations");
  if (own !== null) draw(density(row(counts, own)), `own-observations ${colour(own)}`);
  const path = line((_, p) => x(points[p]), (value) => y(Math.min(value, 1.02 * top)));
  for (const { state, values } of curves) {
    plot.append(s("path", { class: `line density ${colour(state)}`, d: path(values) }));
    if (whole && n < 40) values.forEach((value, p) => plot.append(s("circle", { class: `dot ${colour(state)}`, cx: x(points[p]), cy: y(Math.min(value, top)), r: 2.2 })));
  }
  plot.append(s("line", { class: "base", x1: 0, x2: inner, y1: tall, y2: tall }));
  return svg;
}
