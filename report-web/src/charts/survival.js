// The share of stays in each state that are longer than n, on a logarithmic scale.

import { scaleLinear, scaleLog } from "d3-scale";
import { curveStepAfter, line } from "d3-shape";
import { s } from "../dom.js";
import { number } from "../format.js";
import { axes, within } from "./axes.js";

const MARGIN = { top: 24, right: 12, bottom: 36, left: 54 };

/** Return the picture: solid lines of decoded paths, dashed ones of what the transitions imply. */
export function survivalChart({ durations, states, colour, label, width, height = 260 }) {
  const [wide, tall] = within(width, height, MARGIN);
  const longest = Math.max(2, ...states.map((state) => durations[state].longest));
  const smallest = Math.min(0.1, ...states.flatMap((state) => [...durations[state].longer].filter((share) => share > 0)));
  const x = scaleLinear([0, longest], [0, wide]);
  const y = scaleLog([smallest / 1.5, 1], [tall, 0]);
  const ticks = [1, 0.1, 0.01, 0.001, 0.0001].filter((value) => value >= smallest / 1.5);
  const { svg, plot } = axes({ x, y, width, height, margin: MARGIN, xTitle: "n observations", yTitle: "stays longer than n", yTicks: ticks, format: number, label });
  const observed = line(([n]) => x(n), ([, share]) => y(share)).curve(curveStepAfter);
  for (const state of states) {
    const { lengths, longer, longest: last, stay } = durations[state];
    const found = [...lengths].map((n, k) => [n, longer[k]]).filter(([, share]) => share > 0);
    if (found.length && last > found.at(-1)[0]) found.push([last, found.at(-1)[1]]);
    if (durations[state].stays) plot.append(s("path", { class: `line ${colour(state)}`, d: observed(found) }));
    if (stay > 0) {
      // stay^n is a straight line here: it ends where it leaves the picture.
      const end = stay < 1 ? Math.min(longest, Math.log(smallest / 1.5) / Math.log(stay)) : longest;
      plot.append(s("line", { class: `line implied ${colour(state)}`, x1: x(0), y1: y(1), x2: x(end), y2: y(Math.max(stay ** end, smallest / 1.5)) }));
    }
  }
  return svg;
}
