// Observations of two features as dots, and the states as ellipses over them.

import { extent } from "d3-array";
import { scaleLinear } from "d3-scale";
import { h, s } from "../dom.js";
import { axes, within } from "./axes.js";
import { canvasOf } from "./canvas.js";

const MARGIN = { top: 26, right: 10, bottom: 38, left: 48 };
const RADIUS = 2; // in standard deviations

/** Return the picture of two features of the plane that `plait.report.emissions` describes. */
export function planeChart({ plane, first, second, names, states, colour, variable, texts, label, width, height = 380 }) {
  const { means, covariances, points, states: owners } = plane;
  const [n, d] = points.shape;
  const [wide, tall] = within(width, height, MARGIN);
  const values = (k) => Array.from({ length: n }, (_, i) => points[i * d + k]);
  const reach = (k) =>
    states.flatMap((state) => {
      const far = RADIUS * Math.sqrt(covariances[(state * d + k) * d + k]);
      return [means[state * d + k] - far, means[state * d + k] + far];
    });
  const x = scaleLinear(extent([...values(first), ...reach(first)]), [0, wide]).nice();
  const y = scaleLinear(extent([...values(second), ...reach(second)]), [tall, 0]).nice();
  const dots = canvasOf(wide, tall, (context, variableOf) => {
    context.globalAlpha = 0.4;
    for (let i = 0; i < n; i++) {
      context.fillStyle = variableOf(variable(owners[i]));
      context.fillRect(x(points[i * d + first]) - 1.25, y(points[i * d + second]) - 1.25, 2.5, 2.5);
    }
  }, { "aria-hidden": "true", role: null });
  const { svg, plot } = axes({ x, y, width, height, margin: MARGIN, xTitle: names[first], yTitle: names[second], label });
  for (const state of states) {
    const at = (j, k) => covariances[(state * d + j) * d + k];
    const outline = ellipse(at(first, first), at(first, second), at(second, second));
    const [cx, cy] = [means[state * d + first], means[state * d + second]];
    const path = outline.map(([u, v], k) => `${k ? "L" : "M"}${x(cx + u).toFixed(1)},${y(cy + v).toFixed(1)}`);
    plot.append(
      s("path", { class: `line ellipse ${colour(state)}`, d: `${path.join("")}Z` }, s("title", {}, texts[state])),
      s("text", { class: "state-label", x: x(cx), y: y(cy), dy: "0.35em", "text-anchor": "middle" }, texts[state]),
    );
  }
  const place = { position: "absolute", left: `${MARGIN.left}px`, top: `${MARGIN.top}px` };
  for (const [name, value] of Object.entries(place)) dots.style.setProperty(name, value);
  return h("div", { class: "plane" }, dots, svg);
}

/** Return the points at a distance of RADIUS standard deviations from the mean. */
function ellipse(a, b, c) {
  // The Cholesky factor of [[a, b], [b, c]] maps a circle to it.
  const l = Math.sqrt(Math.max(a, 0));
  const m = l ? b / l : 0;
  const r = Math.sqrt(Math.max(c - m * m, 0));
  return Array.from({ length: 64 }, (_, k) => {
    const [u, v] = [Math.cos((k * Math.PI) / 32), Math.sin((k * Math.PI) / 32)];
    return [RADIUS * l * u, RADIUS * (m * u + r * v)];
  });
}
