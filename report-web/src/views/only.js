// What only one of two models found.

import { fill, h, user } from "../dom.js";
import { count, decimal, percent } from "../format.js";
import { section } from "./parts.js";
import { capital } from "./state_parts.js";
import { commonWords, shown, shownWords, similarityNote } from "./two_parts.js";

export const onlyView = {
  path: "only",
  label: "Only in one",
  render(model) {
    const box = h("div");
    const output = h("output", { class: "value" });
    const update = () => {
      output.textContent = decimal(model.least);
      fill(box, model.sides.map((side, k) => one(model, side, k)));
    };
    const slider = h("input", {
      type: "range",
      min: 0,
      max: 0.9,
      step: 0.05,
      value: model.least,
      "aria-label": "Pairs that are less similar than this count as not matched",
      oninput: () => {
        model.least = Number(slider.value);
        update();
      },
    });
    update();
    return {
      title: "Only in one",
      node: [
        h("h1", {}, "Only in one"),
        h("p", { class: "lead" }, "What is left when each ", model.noun, " of one model is matched with one of the other, and pairs that hardly resemble each other."),
        h("p", { class: "controls" }, h("label", { class: "slider" }, "not a pair below a similarity of ", slider, output)),
        box,
        h("p", { class: "note" }, similarityNote(model)),
      ],
    };
  },
};

function one(model, side, k) {
  const found = model.only(k);
  const other = model.sides[1 - k];
  const title = ["Only in ", user(side.title)];
  if (!found.length) return section(title, `Every ${model.noun} has a counterpart.`);
  return section(
    title,
    `${count(found.length)} of ${count(side.n)}, the largest first.`,
    h(
      "table",
      { class: "pairs" },
      h("thead", {}, h("tr", {}, ["Share", capital(model.noun), "Most similar in the other", "Similarity"].map((name, i) => h("th", { scope: "col", class: ["share", null, null, "value"][i] }, name)))),
      h(
        "tbody",
        {},
        found.map(({ number, other: near, similarity, k: pair }) => {
          const common = model.isTopics ? commonWords(k ? [other, side] : [side, other], k ? [near, number] : [number, near]) : null;
          const cell = (own, which) => (model.isTopics ? shownWords(own, which, common) : shown(own, which));
          const value = decimal(similarity);
          return h(
            "tr",
            {},
            h("td", { class: "share" }, percent(side.shares[number])),
            h("td", {}, cell(side, number)),
            h("td", {}, cell(other, near)),
            h("td", { class: "value" }, pair === null ? value : h("a", { href: model.href(pair) }, value)),
          );
        }),
      ),
    ),
  );
}

