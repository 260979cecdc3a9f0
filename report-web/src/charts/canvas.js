// Pictures with many points, on a canvas.

import { h } from "../dom.js";

/**
 * Return a canvas of a size in pixels of the page. `draw(context, colour)` draws on it, now and again when the page
 * becomes dark or light; `colour(name)` is the value of a variable of the style, such as "--ink".
 */
export function canvasOf(width, height, draw, attributes = {}) {
  const canvas = h("canvas", { role: "img", ...attributes, style: { width: `${width}px`, height: `${height}px` } });
  const scale = Math.min(3, window.devicePixelRatio || 1);
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const context = canvas.getContext("2d");
  const paint = () => {
    const style = getComputedStyle(document.documentElement);
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, height);
    draw(context, (name) => style.getPropertyValue(name).trim());
  };
  const scheme = matchMedia("(prefers-color-scheme: dark)");
  const repaint = () => (canvas.isConnected ? paint() : scheme.removeEventListener("change", repaint));
  scheme.addEventListener("change", repaint);
  paint();
  canvas.repaint = paint;
  return canvas;
}
