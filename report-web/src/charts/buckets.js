// The buckets of a topic: stretches of years that hold equal shares of its weight, alternately dark and light.

import { s } from "../dom.js";

const MARGIN = { left: 46, right: 10 };

/** Return the buckets between edges, in years since the first, as an SVG element; they line up with a chart above. */
export function bucketChart(edges, first, width, height = 22) {
  const n = edges[edges.length - 1];
  const x = (edge) => MARGIN.left + (edge / n) * (width - MARGIN.left - MARGIN.right);
  const svg = s("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Years that hold equal shares of the topic, from ${first}` });
  for (let k = 1; k < edges.length; k++) {
    const from = (first + edges[k - 1]).toFixed(1);
    svg.append(
      s(
        "rect",
        { class: k % 2 ? "bucket" : "bucket other", x: x(edges[k - 1]), width: Math.max(0.5, x(edges[k]) - x(edges[k - 1])), y: 2, height: height - 6 },
        s("title", {}, `from ${from}: ${(edges[k] - edges[k - 1]).toFixed(1)} years`),
      ),
    );
  }
  return svg;
}
