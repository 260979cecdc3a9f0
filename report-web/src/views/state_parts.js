// Parts that several views of models with states share.

import { h, setStyle, user, visible } from "../dom.js";
import { link } from "../router.js";

export const capital = (text) => text[0].toUpperCase() + text.slice(1);

/** Return a state as a link, with a swatch of its colour; `short` leaves out its name, `plain` the swatch. */
export function stateLink(model, state, { short = false, plain = false } = {}) {
  const text = short ? String(state) : (model.names.of(state) ?? (plain ? model.label(state) : String(state)));
  return h(
    "a",
    { href: link("states", state), class: "state-link", title: short ? visible(model.label(state)) : null },
    plain ? null : h("span", { class: `swatch ${model.colour(state)}` }),
    user(text, { class: "label" }),
  );
}

/** Return the names of states beside their colours. */
export function legend(model, states) {
  return h("ul", { class: "legend" }, states.map((state) => h("li", {}, h("span", { class: `swatch ${model.colour(state)}` }), user(model.label(state)))));
}

/**
 * Return a table of numbers, shaded by their size.
 *   corner    what the rows are
 *   columns   heads of the columns
 *   rows      [{head, values}]
 *   format    of the numbers
 *   most      the number with the darkest shade; without one there are no shades
 *   caption   above the table
 */
export function matrixTable({ corner, columns, rows, format, most = null, caption = null }) {
  const cell = (value) => {
    const node = h("td", { class: "value" }, format(value));
    if (most) setStyle(node, { "--shade": `${Math.round(60 * Math.sqrt(Math.min(1, (value || 0) / most)))}%` });
    return node;
  };
  return h(
    "div",
    { class: "scroll", tabindex: "0", role: "group", "aria-label": caption ?? "Table" },
    h(
      "table",
      { class: "matrix" },
      caption ? h("caption", {}, caption) : null,
      h("thead", {}, h("tr", {}, corner ? h("th", { scope: "col" }, corner) : h("td", {}), columns.map((own) => h("th", { scope: "col", class: "value" }, own)))),
      h("tbody", {}, rows.map(({ head, values }) => h("tr", {}, h("th", { scope: "row" }, head), [...values].map(cell)))),
    ),
  );
}
