// Words: how frequent they are, and which topics they belong to.

import { fill, h, user } from "../dom.js";
import { count, plural } from "../format.js";
import { link } from "../router.js";
import { bar } from "../charts/bars.js";
import { searchBox, section, topicBars, topicLink } from "./parts.js";

const SHOWN = 60;
const chosen = { query: "" };

export const wordsView = {
  path: "words",
  label: "Words",
  render(model) {
    const body = h("tbody");
    const status = h("p", { class: "note", role: "status" });
    const { texts, counts } = model.words;
    const update = () => {
      const query = chosen.query.toLowerCase().trim();
      const found = [...texts.keys()].filter((w) => texts[w].toLowerCase().startsWith(query));
      fill(status, `${count(found.length)} of the ${count(texts.length)} words that topics show, the most frequent first`);
      fill(
        body,
        found.slice(0, SHOWN).map((w) => {
          const [first] = model.topicsOf(w);
          return h(
            "tr",
            {},
            h("td", {}, h("a", { href: link("words", texts[w]), class: "word" }, user(texts[w]))),
            h("td", { class: "barcell" }, bar(counts[w] / counts[0])),
            h("td", { class: "value" }, count(counts[w])),
            h("td", { class: "wide" }, first ? topicLink(model, first.topic) : ""),
          );
        }),
      );
    };
    const search = searchBox(chosen, "Search words", "Search words", update);
    update();
    return {
      title: "Words",
      node: [
        h("h1", {}, "Words"),
        h("div", { class: "controls" }, search),
        status,
        h("table", { class: "bars" }, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Word"), h("th", { scope: "col", colspan: 2 }, "Tokens"), h("th", { scope: "col", class: "wide" }, "Topic"))), body),
      ],
    };
  },
};

export const wordPage = {
  path: "words/:word",
  render(model, { word: text }) {
    const w = model.words.texts.indexOf(text);
    if (w < 0) return { title: "No such word", node: [h("h1", {}, "No such word"), h("p", {}, "It is not among the words that topics show.")] };
    const stem = model.words.stems?.[w];
    const found = model.topicsOf(w);
    return {
      title: text,
      node: [
        h("p", { class: "crumbs" }, h("a", { href: link("words") }, "All words")),
        h("h1", {}, user(text)),
        h("p", { class: "lead" }, plural(model.words.counts[w], "token"), stem && stem !== text ? [", counted by its stem ", user(stem)] : null, "."),
        section(
          "Topics",
          "The share of the tokens of this word that each topic has. Topics in which it is not among the words shown are left out.",
          found.length ? topicBars(model, found.slice(0, 30), "Share of the tokens") : h("p", { class: "soft" }, "It is not among the words shown of any topic."),
        ),
      ],
    };
  },
};
