// A chart that is drawn as wide as there is room, and drawn again when that changes.

import { h } from "../dom.js";

const ON_PAPER = 660;

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
  box.draw = (own) => box.replaceChildren(draw(own ?? width));
  return box;
}

// A page of paper is narrower than most windows: a picture that was only scaled down would have tiny text.
const drawAll = (width) => document.querySelectorAll(".chart").forEach((box) => box.draw?.(width));
addEventListener("beforeprint", () => drawAll(ON_PAPER));
addEventListener("afterprint", () => drawAll());
