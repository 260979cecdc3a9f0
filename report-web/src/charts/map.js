// Topics as circles on a plane: the nearer two are, the more words they share.

import { extent } from "d3-array";
import { scaleLinear } from "d3-scale";
import { s } from "../dom.js";

const MARGIN = 14;

/**
 * Return a map as an SVG element, and a function that marks one of its circles.
 *   points    [{id, x, y, size, label, text, href, faint}], the largest first
 *   onhover   called with the id of the circle under the pointer or with the focus, or null
 *
 * One circle is in the order of the tab key; the arrow keys move among them, by size.
 */
export function mapChart({ points, width, height, label, onhover }) {
  const largest = Math.max(...points.map((own) => own.size), 1e-9);
  const most = Math.min(width, height) / Math.max(8, 2.2 * Math.sqrt(points.length));
  const radius = (own) => Math.max(2.5, most * Math.sqrt(own.size / largest));
  const edge = MARGIN + most;
  const x = scaleLinear(padded(extent(points, (own) => own.x)), [edge, width - edge]);
  const y = scaleLinear(padded(extent(points, (own) => own.y)), [height - edge, edge]);
  const circles = new Map();
  const texts = s("g", { class: "labels", "aria-hidden": "true" });
  const group = s("g");
  const boxes = [];
  points.forEach((own, k) => {
    const [cx, cy, r] = [x(own.x), y(own.y), radius(own)];
    const circle = s("circle", { cx, cy, r });
    const anchor = s(
      "a",
      { href: own.href, class: own.faint ? "topic faint" : "topic", tabindex: k ? "-1" : "0", "aria-label": own.label },
      circle,
      s("title", {}, own.label),
    );
    const on = () => onhover(own.id);
    for (const name of ["pointerenter", "focus"]) anchor.addEventListener(name, on);
    for (const name of ["pointerleave", "blur"]) anchor.addEventListener(name, () => onhover(null));
    circles.set(own.id, anchor);
    group.append(anchor);
    const half = 3.4 * own.text.length;
    const box = { left: cx - half, right: cx + half, top: cy - 7, bottom: cy + 7 };
    const isFree = boxes.every((b) => b.right < box.left || b.left > box.right || b.bottom < box.top || b.top > box.bottom);
    if (isFree && box.left > 0 && box.right < width && r > 5) {
      boxes.push(box);
      texts.append(s("text", { x: cx, y: cy, dy: "0.35em", "text-anchor": "middle" }, own.text));
    }
  });
  const svg = s("svg", { width, height, viewBox: `0 0 ${width} ${height}`, class: "map", role: "group", "aria-label": label }, group, texts);
  const order = points.map((own) => circles.get(own.id));
  svg.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const at = order.indexOf(document.activeElement);
    if (!step || at < 0) return;
    event.preventDefault();
    const next = order[(at + step + order.length) % order.length];
    order[at].setAttribute("tabindex", "-1");
    next.setAttribute("tabindex", "0");
    next.focus();
  });
  let marked = null;
  const mark = (id) => {
    marked?.classList.remove("marked");
    marked = circles.get(id) ?? null;
    marked?.classList.add("marked");
  };
  return { svg, mark };
}

function padded([low, high]) {
  return low === high ? [low - 1, high + 1] : [low, high];
}
