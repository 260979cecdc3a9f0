// Bars in a table: text on the left, a bar, a number. Tables can be read without seeing the bars.

import { h } from "../dom.js";

/** Return a bar of a share of the width, 0 to 1; `behind` is a second, fainter one behind it. */
export function bar(share, behind = null) {
  const part = (value, name) => h("span", { class: name, style: { width: `${100 * Math.min(1, value)}%` } });
  return h(
    "span",
    { class: "bar", "aria-hidden": "true" },
    behind === null ? null : part(behind, "behind"),
    part(share, "fill"),
  );
}
