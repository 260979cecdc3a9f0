// One number along iterations.

import { extent } from "d3-array";
import { scaleLinear } from "d3-scale";
import { line } from "d3-shape";
import { s } from "../dom.js";
import { axes, within } from "./axes.js";

const MARGIN = { top: 26, right: 12, bottom: 36, left: 84 };

/** Return the picture of values over their positions, counted from 1. */
export function lineChart({ values, xTitle, yTitle, label, width, height = 200 }) {
  const [wide, tall] = within(width, height, MARGIN);
  const [low, high] = extent(values);
  const x = scaleLinear([1, Math.max(2, values.length)], [0, wide]);
  const y = scaleLinear([low, high === low ? low + 1 : high], [tall, 0]).nice(4);
  const digits = Math.max(0, 1 - Math.floor(Math.log10((high - low) / 4 || 1)));
  const format = (value) => value.toFixed(Math.min(digits, 8)).replace("-", "\u2212");
  const xTicks = x.ticks(Math.max(2, wide / 90)).filter(Number.isInteger);
  const { svg, plot } = axes({ x, y, width, height, margin: MARGIN, xTitle, yTitle, label, xTicks, format });
  plot.append(s("path", { class: "line", d: line((_, k) => x(k + 1), (value) => y(value))(values) }));
  return svg;
}
