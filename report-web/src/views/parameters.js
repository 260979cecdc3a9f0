// The parameters of a model of any kind: numbers, bars and matrices by their names.

import { row } from "../blocks.js";
import { h, user } from "../dom.js";
import { count, number } from "../format.js";
import { bar } from "../charts/bars.js";
import { matrixTable } from "./state_parts.js";

const MOST_ROWS = 100;

export const parametersView = {
  path: "parameters",
  label: "Parameters",
  when: (model) => model.parameters !== null,
  render(model) {
    return {
      title: "Parameters",
      node: [h("h1", {}, "Parameters"), h("p", { class: "lead" }, "The mean of the parameters given all paths."), model.parameters.map(arraySection)],
    };
  },
};

function arraySection({ name, shape, values }) {
  const whole = shape.reduce((product, n) => product * n, 1);
  const size = shape.length ? `${shape.map(count).join(" \u00d7 ")} numbers` : "a number";
  const note = values.length < whole ? `${size}, of which ${count(values.length)} are shown` : size;
  return h("section", {}, h("h2", {}, user(name)), h("p", { class: "note" }, `${note}.`), values.shape.length === 2 ? matrix(values) : bars(values));
}

function matrix(values) {
  const [n, d] = values.shape;
  const isPositive = values.every((value) => value >= 0);
  return matrixTable({
    corner: "",
    columns: [...Array(d).keys()].map(String),
    rows: [...Array(Math.min(n, MOST_ROWS)).keys()].map((k) => ({ head: String(k), values: row(values, k) })),
    format: number,
    most: isPositive ? Math.max(...values) : null,
  });
}

function bars(values) {
  const most = Math.max(...values.map(Math.abs), 1e-300);
  return h(
    "table",
    { class: "bars narrow" },
    h("thead", { class: "for-readers" }, h("tr", {}, ["Number", "Bar", "Value"].map((head) => h("th", { scope: "col" }, head)))),
    h("tbody", {}, [...values].slice(0, MOST_ROWS).map((value, k) => h("tr", {}, h("td", { class: "number" }, k), h("td", { class: "barcell" }, value > 0 ? bar(value / most) : null), h("td", { class: "value" }, number(value))))),
  );
}
