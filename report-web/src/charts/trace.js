// The log-likelihood of every path along a run.

import { extent } from "d3-array";
import { scaleLinear } from "d3-scale";
import { line } from "d3-shape";
import { row } from "../blocks.js";
import { s } from "../dom.js";

const MARGIN = { top: 26, right: 12, bottom: 34, left: 58 };

/** Return the picture of a trace, as `plait.report.common.trace` has it, as an SVG element. */
export function traceChart(trace, siteName, width, height = 240) {
  const { sweep, log_joint: values, stages } = trace;
  const [m, n] = values.shape;
  const inner = { width: width - MARGIN.left - MARGIN.right, height: height - MARGIN.top - MARGIN.bottom };
  const last = Math.max(sweep[n - 1] ?? 1, 1);
  const x = scaleLinear([0, last], [0, inner.width]);
  // The first steep rise would hide what follows: the axis starts below all but the first twentieth.
  const later = [];
  for (let j = 0; j < m; j++) {
    row(values, j).forEach((v, k) => Number.isFinite(v) && (k >= n / 20 || n < 20) && later.push(v));
  }
  const [low, high] = extent(later);
  const y = scaleLinear([low, high === low ? low + 1 : high], [inner.height, 0]).nice(4);
  const plot = s("g", { transform: `translate(${MARGIN.left},${MARGIN.top})` });
  const digits = Math.max(0, -Math.floor(Math.log10((high - low) / 4 || 1)));
  for (const value of y.ticks(4)) {
    plot.append(
      s("line", { class: "grid", x1: 0, x2: inner.width, y1: y(value), y2: y(value) }),
      s("text", { class: "tick", x: -8, y: y(value), dy: "0.32em", "text-anchor": "end" }, value.toFixed(digits).replace("-", "\u2212")),
    );
  }
  for (const value of x.ticks(Math.max(2, inner.width / 90))) {
    plot.append(s("text", { class: "tick", x: x(value), y: inner.height + 16, "text-anchor": "middle" }, value));
  }
  plot.append(
    s("text", { class: "axis", x: inner.width, y: inner.height + 31, "text-anchor": "end" }, "sweep"),
    s("text", { class: "axis", x: -MARGIN.left + 4, y: -14 }, `log P(path, data | parameters) per ${siteName}`),
  );
  let before = 0;
  stages.forEach(({ end }, k) => {
    if (k) plot.append(s("line", { class: "stage", x1: x(before), x2: x(before), y1: -6, y2: inner.height }));
    const middle = (x(before) + x(Math.min(end, last))) / 2;
    if (stages.length > 1 && before < last && x(Math.min(end, last)) - x(before) > 18) {
      plot.append(s("text", { class: "tick", x: middle, y: inner.height - 6, "text-anchor": "middle" }, k + 1));
    }
    before = end;
  });
  const draw = line((_, k) => x(sweep[k]), (v) => Math.min(y(v), inner.height)).defined((v) => Number.isFinite(v));
  for (let j = 0; j < m; j++) {
    plot.append(s("path", { class: "line path", d: draw(row(values, j)) ?? "" }));
  }
  const label = `Log-likelihood per ${siteName} of ${m} path${m === 1 ? "" : "s"} over ${last} sweeps`;
  return s("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label }, plot);
}
