// A factorial hidden Markov model: what each state of each chain contributes, and how it moves.

import { row } from "../blocks.js";
import { fill, h, user } from "../dom.js";
import { count, decimal, number, percent } from "../format.js";
import { matrixTable } from "./state_parts.js";
import { section } from "./parts.js";

const SHOWN = 12;

export const chainsView = {
  path: "chains",
  label: "Chains",
  when: (model) => model.chains !== null,
  render(model) {
    const { means, features, n_features: all, intercept, deviations } = model.chains;
    const [nChains] = means.shape;
    const box = h("div");
    const draw = (n) => fill(box, [...Array(Math.min(n, nChains)).keys()].map((chain) => chainSection(model, chain)));
    draw(SHOWN);
    const more = h("button", { onclick: () => (draw(nChains), more.remove()) }, `All ${count(nChains)} chains`);
    return {
      title: "Chains",
      node: [
        h("h1", {}, "Chains"),
        h("p", { class: "lead" }, "An observation is the sum of the intercept, of what the state of each chain contributes, and of noise. The chains that contribute most come first."),
        all > features.length ? h("p", { class: "note" }, `${count(features.length)} of ${count(all)} features are shown.`) : null,
        section(
          "What they share",
          "The contributions of a chain are 0 on average; the intercept holds the rest.",
          matrixTable({
            corner: "",
            columns: features.map((name) => user(name)),
            rows: [{ head: "intercept", values: intercept }, { head: "noise, standard deviation", values: deviations }],
            format: number,
          }),
        ),
        box,
        nChains > SHOWN ? h("p", {}, more) : null,
      ],
    };
  },
};

function chainSection(model, chain) {
  const { means, features, shares, transitions, agreement } = model.chains;
  const [, n, d] = means.shape;
  const values = (state) => means.subarray((chain * n + state) * d, (chain * n + state + 1) * d);
  const moves = (state) => transitions.subarray((chain * n + state) * n, (chain * n + state + 1) * n);
  const own = row(shares, chain);
  const states = [...Array(n).keys()];
  const most = Math.max(...means.map(Math.abs), 1e-9);
  const note = agreement ? `Of its states, ${percent(agreement[chain])} of the paths agree on average, given the parameters.` : null;
  return section(
    `Chain ${chain}`,
    note,
    h(
      "div",
      { class: "tables" },
      contributions(states, own, features, values, most, model),
      matrixTable({
        caption: "Transitions",
        corner: "From",
        columns: states.map(String),
        rows: states.map((state) => ({ head: String(state), values: moves(state) })),
        format: (value) => decimal(value, 3),
        most: 1,
      }),
    ),
  );
}

/** Return a table of signed bars: a row for each state, a cell for each feature. */
function contributions(states, shares, features, values, most, model) {
  const cell = (value) => {
    const bar = h("span", { class: value < 0 ? "signed negative" : "signed", style: { "--size": `${(50 * Math.abs(value)) / most}%` }, "aria-hidden": "true" });
    return h("td", { class: "value" }, bar, number(value));
  };
  return h(
    "div",
    { class: "scroll", tabindex: "0", role: "group", "aria-label": "Contributions" },
    h(
      "table",
      { class: "matrix contributions" },
      h("caption", {}, "Contributions"),
      h("thead", {}, h("tr", {}, ["State", "Share"].map((name, k) => h("th", { scope: "col", class: k ? "value" : null }, name)), features.map((name) => h("th", { scope: "col", class: "value" }, user(name))))),
      h("tbody", {}, states.map((state) => h("tr", {}, h("th", { scope: "row" }, h("span", { class: `swatch ${model.colour(state)}` }), state), h("td", { class: "value" }, percent(shares[state])), [...values(state)].map(cell)))),
    ),
  );
}
