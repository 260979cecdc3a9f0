// Two hidden Markov models: which states they give the same observations, and their transitions side by side.

import { row } from "../blocks.js";
import { h, user } from "../dom.js";
import { decimal, percent } from "../format.js";
import { section } from "./parts.js";
import { matrixTable } from "./state_parts.js";
import { shown } from "./two_parts.js";

export const twoStatesView = {
  path: "states",
  label: "Agreement",
  when: (model) => !model.isTopics,
  render(model) {
    const [first, second] = model.sides;
    // Matched states are in the same place, so that the diagonal shows where the models agree.
    const orders = [0, 1].map((k) => [...model.matched.map(({ numbers }) => numbers[k]), ...model.left[k]]);
    const most = Math.max(...model.confusion);
    return {
      title: "Agreement",
      node: [
        h("h1", {}, "Agreement"),
        h("p", { class: "lead" }, `Of the observations, ${percent(model.agreement)} have matched states.`),
        section(
          "Observations",
          "The share of the observations with the state of the row in the first model and that of the column in the second, in Viterbi\u2019s paths. Matched states are on the diagonal.",
          matrixTable({
            corner: "",
            columns: orders[1].map((state) => String(state)),
            rows: orders[0].map((state) => ({ head: shown(first, state), values: orders[1].map((other) => row(model.confusion, state)[other]) })),
            format: percent,
            most,
          }),
        ),
        section(
          "Transitions",
          "In the order of the pairs.",
          h(
            "div",
            { class: "tables" },
            [first, second].map((side, k) =>
              h(
                "div",
                {},
                h("h3", {}, user(side.title)),
                matrixTable({
                  corner: "From",
                  columns: orders[k].map(String),
                  rows: orders[k].map((state) => ({ head: shown(side, state), values: orders[k].map((other) => row(side.transitions, state)[other]) })),
                  format: (value) => decimal(value, 3),
                  most: 1,
                }),
              ),
            ),
          ),
        ),
      ],
    };
  },
};
