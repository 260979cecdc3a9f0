// A chart that is drawn as wide as there is room, and drawn again when that changes.

import { h } from "../dom.js";

/** Return an element in which `draw(width)` puts its picture. */
export function responsive(draw, attributes = {}) {
  const box = h("div", { ...attributes, class: `chart ${attributes.class ?? ""}` });
  let width = 0;
  const observer = new ResizeObserver(([entry]) => {
    const now = Math.floor(entry.contentRect.width);
    if (!now || now === width) return;
    width = now;
    box.replaceChildren(draw(width));
  });
  observer.observe(box);
  return box;
}
