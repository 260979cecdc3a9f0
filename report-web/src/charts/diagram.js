// States as circles, and their transitions as arrows whose width is the probability.

import { s } from "../dom.js";

const LABELLED = 6; // with more states, only probable arrows have a number
const WORTH_A_LABEL = 0.1;

/**
 * Return the diagram as an SVG element.
 *   at       (from, to) => probability
 *   states   those that are drawn
 *   least    the least probability of an arrow
 *   texts    what stands in the circles, by state
 *   titles   their full names
 *   href     (state) => address
 */
export function diagram({ at, states, least, texts, titles, colour, href, width, label }) {
  const n = states.length;
  const size = Math.min(width, 560);
  const centre = size / 2;
  const radius = Math.max(9, Math.min(30, (0.30 * size * Math.PI) / Math.max(n, 3) / 1.7));
  const ring = n > 1 ? centre - 3.1 * radius - 6 : 0;
  const angle = (k) => (2 * Math.PI * k) / n - Math.PI / 2;
  const out = states.map((_, k) => [Math.cos(angle(k)), Math.sin(angle(k))]);
  const place = out.map(([u, v]) => [centre + ring * u, centre + ring * v]);
  const arrows = s("g", { class: "arrows" });
  const numbers = s("g", { class: "arrow-labels" });
  const circles = s("g");
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < n; j++) {
      const p = at(states[i], states[j]);
      if (!(p >= least) || p <= 0) continue;
      const title = s("title", {}, `${titles[states[i]]} to ${titles[states[j]]}: ${p.toFixed(3)}`);
      const hasNumber = n <= LABELLED || p >= WORTH_A_LABEL;
      const thick = 0.8 + 4.5 * p;
      if (i === j) {
        const [u, v] = out[i];
        const loop = [place[i][0] + 1.45 * radius * u, place[i][1] + 1.45 * radius * v];
        arrows.append(s("circle", { class: "arrow", cx: loop[0], cy: loop[1], r: 0.75 * radius, "stroke-width": thick }, title));
        if (hasNumber) numbers.append(text(place[i][0] + 2.75 * radius * u, place[i][1] + 2.75 * radius * v, p));
        continue;
      }
      const [dx, dy] = [place[j][0] - place[i][0], place[j][1] - place[i][1]];
      const far = Math.hypot(dx, dy);
      const [ux, uy] = [dx / far, dy / far];
      // Arrows bend to their left, so that there and back do not lie on each other.
      const bend = 0.16 * far;
      const middle = [(place[i][0] + place[j][0]) / 2 + uy * bend, (place[i][1] + place[j][1]) / 2 - ux * bend];
      const from = towards(place[i], middle, radius + 2);
      const head = 5 + 1.3 * thick;
      const to = towards(place[j], middle, radius + 3);
      const neck = towards(place[j], middle, radius + 3 + head);
      const [hx, hy] = [(to[0] - neck[0]) / head, (to[1] - neck[1]) / head];
      const half = head * 0.48;
      arrows.append(
        s("path", { class: "arrow", d: `M${point(from)}Q${point(middle)} ${point(neck)}`, "stroke-width": thick }, title),
        s("path", { class: "arrow-head", d: `M${point(to)}L${point([neck[0] - hy * half, neck[1] + hx * half])}L${point([neck[0] + hy * half, neck[1] - hx * half])}Z` }),
      );
      if (hasNumber) {
        // Nearer to the start, so that the numbers of arrows that cross do not meet in the middle.
        const t = 0.36;
        const curve = (a, b, c) => (1 - t) ** 2 * a + 2 * t * (1 - t) * b + t ** 2 * c;
        numbers.append(text(curve(from[0], middle[0], to[0]), curve(from[1], middle[1], to[1]), p));
      }
    }
    const circle = s("circle", { class: `node ${colour(states[i])}`, cx: place[i][0], cy: place[i][1], r: radius });
    const name = s("text", { class: "node-label", x: place[i][0], y: place[i][1], dy: "0.35em", "text-anchor": "middle" }, texts[states[i]]);
    circles.append(s("a", { href: href(states[i]) }, circle, name, s("title", {}, titles[states[i]])));
  }
  const heights = place.flatMap(([, y], k) => [y - radius, y + radius, y + 3.1 * radius * out[k][1]]);
  const [top, bottom] = [Math.min(...heights) - 10, Math.max(...heights) + 10];
  const frame = { width: size, height: bottom - top, viewBox: `0 ${top} ${size} ${bottom - top}` };
  return s("svg", { ...frame, class: "diagram", role: "group", "aria-label": label }, arrows, numbers, circles);
}

const point = ([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`;

function towards([x, y], [u, v], distance) {
  const far = Math.hypot(u - x, v - y) || 1;
  return [x + ((u - x) * distance) / far, y + ((v - y) * distance) / far];
}

function text(x, y, p) {
  return s("text", { x, y, dy: "0.35em", "text-anchor": "middle" }, p >= 0.995 && p < 1 ? ">.99" : p.toFixed(2).replace(/^0/, ""));
}
