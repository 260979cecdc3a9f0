// A plane with two scales, their ticks and the names of what they measure.

import { s } from "../dom.js";
import { number } from "../format.js";

/**
 * Return {svg, plot}: a picture, and the group in which things are drawn.
 *   x, y        scales of d3, of the inner width and height
 *   margin      {top, right, bottom, left}
 *   xTitle, yTitle, label
 *   xTicks, yTicks  values with a tick; by default a few
 *   format      of the ticks of y
 */
export function axes({ x, y, width, height, margin, xTitle, yTitle, label, xTicks, yTicks, format = number }) {
  const inner = { width: width - margin.left - margin.right, height: height - margin.top - margin.bottom };
  const plot = s("g", { transform: `translate(${margin.left},${margin.top})` });
  for (const value of yTicks ?? y.ticks(4)) {
    plot.append(
      s("line", { class: "grid", x1: 0, x2: inner.width, y1: y(value), y2: y(value) }),
      s("text", { class: "tick", x: -8, y: y(value), dy: "0.32em", "text-anchor": "end" }, format(value)),
    );
  }
  for (const value of xTicks ?? x.ticks(Math.max(2, inner.width / 90))) {
    plot.append(s("text", { class: "tick", x: x(value), y: inner.height + 16, "text-anchor": "middle" }, number(value)));
  }
  if (xTitle) plot.append(s("text", { class: "axis", x: inner.width, y: inner.height + 31, "text-anchor": "end" }, xTitle));
  if (yTitle) plot.append(s("text", { class: "axis", x: 4 - margin.left, y: -10 }, yTitle));
  const svg = s("svg", { width, height, role: "img", "aria-label": label }, plot);
  return { svg, plot };
}

/** Return the width and height within the margins. */
export function within(width, height, margin) {
  return [width - margin.left - margin.right, height - margin.top - margin.bottom];
}
