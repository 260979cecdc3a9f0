// Numbers as dots on a line, such as the likelihoods of restarts.

import { extent } from "d3-array";
import { scaleLinear } from "d3-scale";
import { s } from "../dom.js";
import { number } from "../format.js";

const MARGIN = 28;

/** Return the picture, with values relative to the largest; `best` is marked, `titles` tell what each dot is. */
export function dotChart({ values, best, titles, label, width, height = 74 }) {
  const top = values[best];
  const known = values.filter(Number.isFinite).map((value) => value - top);
  const [low, high] = extent(known);
  const x = scaleLinear(low === high ? [low - 1, high + 1] : [low, high], [MARGIN, width - MARGIN]);
  const svg = s("svg", { width, height, role: "img", "aria-label": label }, s("line", { class: "base", x1: 0, x2: width, y1: 36, y2: 36 }));
  for (const value of low === high ? [low] : x.ticks(Math.max(2, width / 140))) {
    svg.append(s("text", { class: "tick", x: x(value), y: height - 12, "text-anchor": "middle" }, number(value)));
  }
  values.forEach((value, k) => {
    if (Number.isFinite(value)) svg.append(s("circle", { class: k === best ? "restart best" : "restart", cx: x(value - top), cy: 36, r: k === best ? 7 : 5 }, s("title", {}, titles[k])));
  });
  return svg;
}
