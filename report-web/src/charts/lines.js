// Lines and areas over periods, with a rule that follows the pointer.

import { max } from "d3-array";
import { scaleLinear } from "d3-scale";
import { area, line, stack } from "d3-shape";
import { s } from "../dom.js";

const MARGIN = { top: 8, right: 10, bottom: 24, left: 46 };

/**
 * Return a chart of series over periods, as an SVG element.
 *   periods   their names
 *   series    [{values, class, label}]; a value that is not a number is a gap
 *   kind      "line", "area" or "stack"
 *   format    of values
 *   limit     the largest value that there can be
 *   onpoint   called with the number of the period under the pointer, or null
 */
export function periodChart({ periods, series, kind = "line", width, height, format, label, onpoint, from = 0, limit = Infinity }) {
  const inner = { width: width - MARGIN.left - MARGIN.right, height: height - MARGIN.top - MARGIN.bottom };
  const stacked = kind === "stack" ? layers(series, periods.length) : null;
  const most = stacked ? max(stacked.at(-1), (d) => d[1]) : max(series, (own) => max(own.values, (v) => (v === v ? v : 0)));
  const x = scaleLinear([0, Math.max(1, periods.length - 1)], [0, inner.width]);
  const y = scaleLinear([from, most || 1], [inner.height, 0]).nice(4);
  y.domain([from, Math.min(y.domain()[1], Math.max(limit, most))]);
  const plot = s("g", { transform: `translate(${MARGIN.left},${MARGIN.top})` });
  for (const value of y.ticks(4)) {
    plot.append(
      s("line", { class: "grid", x1: 0, x2: inner.width, y1: y(value), y2: y(value) }),
      s("text", { class: "tick", x: -8, y: y(value), dy: "0.32em", "text-anchor": "end" }, format(value)),
    );
  }
  for (const p of tickPeriods(periods, inner.width)) {
    const anchor = p === periods.length - 1 ? "end" : "middle";
    plot.append(s("text", { class: "tick", x: x(p), y: inner.height + 17, "text-anchor": anchor }, periods[p]));
  }
  const drawLine = line((v) => v === v).x((_, p) => x(p)).y((v) => y(v)).defined((v) => v === v);
  const drawArea = area().x((_, p) => x(p)).y0(y(from)).y1((v) => y(v)).defined((v) => v === v);
  const drawLayer = area().x((_, p) => x(p)).y0((d) => y(d[0])).y1((d) => y(d[1])).defined((d) => d[1] === d[1]);
  (stacked ?? series).forEach((own, k) => {
    const { class: name, label: text } = series[k];
    const title = text ? s("title", {}, text) : null;
    if (stacked) {
      plot.append(s("path", { class: `layer ${name}`, d: drawLayer(own) }, title));
      for (const p of points(series[k].values)) {
        plot.append(s("line", { class: `line ${name}`, x1: x(p), x2: x(p), y1: y(own[p][0]), y2: y(own[p][1]) }));
      }
    } else {
      if (kind === "area") plot.append(s("path", { class: `area ${name}`, d: drawArea(own.values) }));
      plot.append(s("path", { class: `line ${name}`, d: drawLine(own.values) }, title));
      for (const p of points(own.values)) plot.append(s("circle", { class: `dot ${name}`, cx: x(p), cy: y(own.values[p]), r: 2.5 }));
    }
  });
  const svg = s("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label }, plot);
  if (onpoint) follow(svg, plot, x, periods.length, inner.height, onpoint);
  return svg;
}

/** Return the periods that have a value while their neighbours have none: a line would not show them. */
function points(values) {
  const has = (p) => values[p] === values[p] && values[p] !== undefined;
  return [...values.keys()].filter((p) => has(p) && !has(p - 1) && !has(p + 1));
}

function layers(series, n) {
  const rows = Array.from({ length: n }, (_, p) => series.map((own) => own.values[p]));
  return stack().keys(series.keys()).value((values, k) => values[k])(rows);
}

/** Return the periods that are named on the axis: as many as there is room for. */
function tickPeriods(periods, width) {
  const room = Math.max(2, Math.floor(width / (9 * Math.max(...periods.map((name) => name.length)) + 10)));
  const years = periods.every((name) => /^\d{4}$/.test(name));
  const steps = years ? [1, 2, 5, 10, 20, 25, 50, 100, 200, 500, 1000] : [1, 2, 3, 6, 12, 24, 60, 120];
  const step = steps.find((own) => periods.length / own <= room) ?? Math.ceil(periods.length / room);
  const isTick = (p) => (years ? Number(periods[p]) % step === 0 : p % step === 0);
  return [...periods.keys()].filter(isTick);
}

function follow(svg, plot, x, n, height, onpoint) {
  const rule = s("line", { class: "rule", y1: 0, y2: height, visibility: "hidden" });
  plot.append(rule);
  let last = null;
  const show = (p) => {
    if (p === last) return;
    last = p;
    rule.setAttribute("visibility", p === null ? "hidden" : "visible");
    if (p !== null) for (const name of ["x1", "x2"]) rule.setAttribute(name, x(p));
    onpoint(p);
  };
  svg.addEventListener("pointermove", (event) => {
    const at = event.clientX - svg.getBoundingClientRect().left - MARGIN.left;
    show(Math.min(n - 1, Math.max(0, Math.round(x.invert(at)))));
  });
  svg.addEventListener("pointerleave", () => show(null));
}
