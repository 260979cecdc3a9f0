// The documents: a list that can be searched, and a reader.

import { fill, h, setStyle, user } from "../dom.js";
import { count, decimal, wholePercent } from "../format.js";
import { link } from "../router.js";
import { documentLink, searchBox, section, topicBars, topicLink } from "./parts.js";

const SHOWN = 60;
const COLOURS = 8;

const chosen = { query: "" };

export const documentList = {
  path: "documents",
  label: "Documents",
  async render(model) {
    const documents = await model.documents();
    const list = h("ul", { class: "documents" });
    const status = h("p", { class: "note", role: "status" });
    let shown = SHOWN;
    const update = () => {
      const found = documents.search(chosen.query);
      fill(
        list,
        found.slice(0, shown).map((k) => h("li", {}, summary(model, documents, k))),
        shown < found.length ? h("li", { class: "more" }, h("button", { onclick: () => ((shown += 5 * SHOWN), update()) }, "More documents")) : null,
      );
      fill(status, `${count(found.length)} of ${count(documents.n)} documents`);
    };
    const search = searchBox(chosen, "Search documents", "Search names, dates, columns, words, numbers", () => {
      shown = SHOWN;
      update();
    });
    update();
    return {
      title: "Documents",
      node: [h("h1", {}, "Documents"), partNote(documents), h("div", { class: "controls" }, search), status, list],
    };
  },
};

/** Return a note if the page has some of the documents only, with links to the pages of the others. */
function partNote(documents) {
  if (documents.n === documents.n_all) return null;
  const { parts } = documents;
  if (!parts) {
    return h(
      "p",
      { class: "notice" },
      `This file has ${count(documents.n)} of ${count(documents.n_all)} documents: the most typical ones of every topic, and others at `,
      "equal distances. All figures are of all documents. ",
      h("code", {}, "plait report --full"),
      " writes the others to files next to it.",
    );
  }
  return h(
    "p",
    { class: "notice" },
    `This file has ${count(documents.n)} of ${count(documents.n_all)} documents. The others: `,
    parts.map(({ file, first, last }) => [
      h("a", { href: `${encodeURI(file)}#/documents` }, `${count(first)} to ${count(last)}`),
      " ",
    ]),
  );
}

function summary(model, documents, k) {
  const [first] = documents.mixture(k);
  return [
    h("span", { class: "number" }, documents.numbers[k]),
    documentLink(documents, k),
    first ? h("span", { class: "soft most" }, user(model.label(first.topic)), ` ${wholePercent(first.share)}`) : null,
  ];
}

export const documentPage = {
  path: "documents/:document",
  async render(model, { document: text }) {
    const documents = await model.documents();
    const k = documents.place(Number(text));
    if (k === undefined) {
      return { title: "No such document", node: [h("h1", {}, "No such document"), h("p", {}, `Document ${text} is not in this file.`), partNote(documents)] };
    }
    const mixture = documents.mixture(k);
    const colours = new Map(mixture.slice(0, COLOURS).map(({ topic }, place) => [topic, place]));
    const neighbour = (place, label, title) =>
      place < 0 || place >= documents.n ? null : h("a", { href: link("documents", documents.numbers[place]), rel: label }, title);
    const readout = h("p", { class: "readout", role: "status" });
    return {
      title: documents.name(k),
      node: [
        h("p", { class: "crumbs" }, h("a", { href: link("documents") }, "All documents"), neighbour(k - 1, "prev", "Previous"), neighbour(k + 1, "next", "Next")),
        h("h1", {}, user(documents.name(k))),
        facts(documents, k),
        h(
          "div",
          { class: "reader" },
          h("div", {}, reading(model, documents, k, colours, readout), readout),
          h(
            "aside",
            {},
            section("Topics", null, mixtureTable(model, mixture, colours)),
            section("Similar documents", "By their topics.", similar(documents, k)),
          ),
        ),
      ],
    };
  },
};

function facts(documents, k) {
  const number = [`No.\u202f${documents.numbers[k]}`, `${count(documents.lengths[k])} words`];
  return h(
    "p",
    { class: "lead" },
    number.join(" \u00b7 "),
    documents.facts(k).map(({ name, value }) => [" \u00b7 ", h("span", { class: "soft" }, user(name)), " ", user(value)]),
  );
}

/** Return the text, each token in the colour of its topic, paler where the topic is less certain. */
function reading(model, documents, k, colours, readout) {
  const rest = `Colours: the largest topics of this document; paler means less certain. Certainty: ${model.certaintyText}.`;
  fill(readout, rest);
  const text = h("p", { class: "text", dir: "auto" });
  for (const { text: own, topic, certainty } of documents.pieces(k)) {
    if (topic < 0) {
      text.append(own);
      continue;
    }
    const colour = colours.get(topic);
    const token = h("span", { class: colour === undefined ? "token" : `token topic-${colour}` }, own);
    token.topic = topic;
    token.certainty = certainty;
    setStyle(token, { "--certainty": `${Math.round(15 + 45 * certainty)}%` });
    text.append(token);
  }
  if (!documents.lengths[k]) text.append(h("span", { class: "soft" }, "No word of this document is in the vocabulary."));
  // One handler for all tokens, of which there may be thousands.
  text.addEventListener("pointerover", ({ target }) => {
    if (target.topic === undefined) return;
    fill(readout, topicLink(model, target.topic), h("span", { class: "soft" }, `, certainty ${decimal(target.certainty, 1)}`));
  });
  text.addEventListener("pointerleave", () => fill(readout, rest));
  text.addEventListener("click", ({ target }) => {
    if (target.topic !== undefined) location.hash = link("topics", target.topic);
  });
  return text;
}

function mixtureTable(model, mixture, colours) {
  if (!mixture.length) return h("p", { class: "soft" }, "No topic has two hundredths of it.");
  const node = topicBars(model, mixture.slice(0, 12), "Share", wholePercent);
  [...node.tBodies[0].rows].forEach((own, k) => {
    const colour = colours.get(mixture[k].topic);
    if (colour !== undefined) own.classList.add(`topic-${colour}`, "coloured");
  });
  return node;
}

function similar(documents, k) {
  return h(
    "ul",
    { class: "plain" },
    documents.similar(k).map(({ document, similarity }) =>
      h("li", {}, documentLink(documents, document), h("span", { class: "soft" }, ` ${decimal(similarity)}`)),
    ),
  );
}
