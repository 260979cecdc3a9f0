// Transitions: as a diagram, as a matrix, and how long states last.

import { row } from "../blocks.js";
import { fill, h, visible } from "../dom.js";
import { count, decimal, number } from "../format.js";
import { link } from "../router.js";
import { diagram } from "../charts/diagram.js";
import { responsive } from "../charts/responsive.js";
import { survivalChart } from "../charts/survival.js";
import { legend, matrixTable, stateLink } from "./state_parts.js";
import { section } from "./parts.js";

const MOST_DRAWN = 30;

export const transitionsView = {
  path: "transitions",
  label: "Transitions",
  when: (model) => model.chain !== null,
  render(model) {
    return {
      title: "Transitions",
      node: [h("h1", {}, "Transitions"), model.n <= MOST_DRAWN ? drawing(model) : null, matrix(model), durations(model)],
    };
  },
};

function drawing(model) {
  const { transitions } = model.chain;
  let least = 0.02;
  const texts = model.numbers.map((state) => {
    const name = visible(model.names.of(state) ?? String(state));
    return name.length > 8 ? `${name.slice(0, 7)}\u2026` : name;
  });
  const titles = model.numbers.map((state) => visible(model.label(state)).slice(0, 200));
  const note = h("p", { class: "note" });
  const box = h("div");
  const draw = () => {
    const hidden = [...transitions].filter((p) => p > 0 && p < least).length;
    fill(note, hidden ? `${count(hidden)} transitions below ${number(least)} are left out.` : "All transitions are drawn.");
    fill(
      box,
      responsive((width) =>
        diagram({
          at: (from, to) => row(transitions, from)[to],
          states: model.numbers,
          least,
          texts,
          titles,
          colour: (state) => model.colour(state),
          href: (state) => link("states", state),
          width,
          label: "States, and arrows as wide as their transitions are probable",
        }),
      ),
    );
  };
  const choices = [0, 0.005, 0.02, 0.05, 0.1, 0.2];
  const select = h(
    "select",
    { onchange: () => ((least = choices[select.selectedIndex]), draw()) },
    choices.map((value) => h("option", { selected: value === least }, value ? `at least ${value}` : "all")),
  );
  draw();
  return section("Diagram", null, h("p", { class: "controls" }, h("label", {}, "Transitions: ", select)), box, note);
}

function matrix(model) {
  const { transitions, start } = model.chain;
  const all = model.numbers;
  return section(
    "Matrix",
    "From the state of the row to that of the column; in the last row, the state in which a sequence starts.",
    matrixTable({
      corner: "From",
      columns: all.map((state) => stateLink(model, state, { short: true })),
      rows: [
        ...all.map((state) => ({ head: stateLink(model, state), values: row(transitions, state) })),
        { head: h("span", { class: "soft" }, "start"), values: start },
      ],
      format: (value) => (value > 0 && value < 0.0005 ? "<.001" : decimal(value, 3)),
      most: 1,
    }),
  );
}

function durations(model) {
  const { durations: all } = model.chain;
  const shown = model.numbers.slice(0, 16);
  const heads = ["stays", "at an end", "mean", "implied", "longest"];
  return section(
    "Durations",
    "Solid: stays in Viterbi\u2019s paths. Dashed: what the transitions imply, a straight line on this scale. If they differ much, durations are not geometric, as those of a Markov chain are.",
    legend(model, shown),
    responsive((width) => survivalChart({ durations: all, states: shown, colour: (state) => model.colour(state), label: `How long ${count(shown.length)} states last`, width })),
    matrixTable({
      corner: "State",
      columns: heads,
      rows: model.numbers.map((state) => {
        const { stays, cut, mean, implied, longest } = all[state];
        return { head: stateLink(model, state), values: [stays, cut, mean, implied ?? Infinity, longest] };
      }),
      format: (value) => (value === Infinity ? "\u221e" : number(value)),
    }),
    h("p", { class: "note" }, "A stay that touches an end of a sequence may have lasted longer; the solid line counts it as long as it was seen."),
  );
}
