// Parts that several views share.

import { debounced, h, user } from "../dom.js";
import { percent } from "../format.js";
import { link } from "../router.js";
import { bar } from "../charts/bars.js";

/** Return a topic as a link: its number, and its name or first words. */
export function topicLink(model, topic, attributes = {}) {
  return h(
    "a",
    { href: link("topics", topic), class: "topic-link", ...attributes },
    h("span", { class: "number" }, topic),
    " ",
    user(model.label(topic), { class: model.names.of(topic) ? "label named" : "label" }),
  );
}

/** Return a document of the page as a link, with its date unless the name has it. */
export function documentLink(documents, k, attributes = {}) {
  const date = documents.dates?.[k];
  const name = documents.name(k);
  return h(
    "a",
    { href: link("documents", documents.numbers[k]), class: "document-link", ...attributes },
    user(name, { class: "label" }),
    date && !name.includes(date) ? h("span", { class: "soft" }, " ", user(date)) : null,
  );
}

/** Return a table of topics with bars: rows are {topic, share}; shares are drawn relative to the largest. */
export function topicBars(model, rows, heading, format = percent) {
  const most = Math.max(...rows.map(({ share }) => share), 1e-9);
  return h(
    "table",
    { class: "bars topic-bars" },
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Topic"), h("th", { scope: "col", colspan: 2 }, heading))),
    h(
      "tbody",
      {},
      rows.map(({ topic, share }) =>
        h(
          "tr",
          {},
          h("td", {}, topicLink(model, topic)),
          h("td", { class: "barcell" }, bar(share / most)),
          h("td", { class: "value" }, format(share)),
        ),
      ),
    ),
  );
}

/** Return the slider of lambda, which the whole page shares; `onchange` is called when it moves. */
export function lambdaSlider(model, onchange) {
  const output = h("output", { class: "value" }, model.lambda.toFixed(2));
  const input = h("input", {
    type: "range",
    min: 0,
    max: 1,
    step: 0.05,
    value: model.lambda,
    "aria-label": "Relevance: from 0, words that are special to the topic (lift), to 1, its most probable words",
    oninput: () => {
      model.lambda = Number(input.value);
      output.textContent = model.lambda.toFixed(2);
      onchange();
    },
  });
  return h(
    "div",
    { class: "slider" },
    h("span", { class: "soft" }, "special to the topic"),
    input,
    h("span", { class: "soft" }, "frequent in it"),
    h("span", { class: "soft" }, "\u03bb\u202f=\u202f", output),
  );
}

/** Return a box to search with; `chosen.query` is what is in it, and `onchange` is called soon after it changes. */
export function searchBox(chosen, label, placeholder, onchange) {
  const box = h("input", {
    type: "search",
    value: chosen.query,
    placeholder,
    "aria-label": label,
    oninput: debounced(() => {
      chosen.query = box.value;
      onchange();
    }),
  });
  return box;
}

/** Return a section with a heading and, below it, a sentence on how to read it. */
export function section(title, note, ...children) {
  return h("section", {}, h("h2", {}, title), note ? h("p", { class: "note" }, note) : null, ...children);
}

/** Return notes, one per line, if there are any. */
export function notes(texts) {
  return texts.length ? h("ul", { class: "notes" }, texts.map((text) => h("li", {}, user(text)))) : null;
}

/** Return a table: `head` are texts, `rows` lists of cells; the columns after the first are numbers. */
export function table(head, rows, attributes = {}) {
  const cells = (tag, row) => row.map((cell, k) => h(tag, { class: k ? "value" : null, scope: tag === "th" ? "col" : null }, cell));
  return h(
    "table",
    attributes,
    h("thead", {}, h("tr", {}, cells("th", head))),
    h("tbody", {}, rows.map((row) => h("tr", {}, cells("td", row)))),
  );
}
