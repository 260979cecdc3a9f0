// The sequences: a list that can be searched, and one with its states.

import { fill, h, user, visible } from "../dom.js";
import { count, number, percent, plural } from "../format.js";
import { link } from "../router.js";
import { canvasOf } from "../charts/canvas.js";
import { responsive } from "../charts/responsive.js";
import { band, stripOf } from "../charts/strip.js";
import { searchBox } from "./parts.js";
import { legend } from "./state_parts.js";

const SHOWN = 60;
const ROWS = 6;

const chosen = { query: "" };

export const sequenceList = {
  path: "sequences",
  label: (model) => (model.parameters ? "Sites" : "Sequences"),
  when: (model) => model.has_sequences,
  async render(model) {
    const sequences = await model.sequences();
    if (sequences.n === 1) return one(model, sequences, 0);
    const body = h("tbody");
    const status = h("p", { class: "note", role: "status" });
    const more = h("p");
    let shown = SHOWN;
    const update = () => {
      const found = sequences.search(chosen.query);
      fill(body, found.slice(0, shown).map((k) => summary(model, sequences, k)));
      fill(status, `${count(found.length)} of ${plural(sequences.n, "sequence")}`);
      fill(more, shown < found.length ? h("button", { onclick: () => ((shown += 5 * SHOWN), update()) }, "More sequences") : null);
    };
    const search = searchBox(chosen, "Search sequences", "Search names and numbers", () => {
      shown = SHOWN;
      update();
    });
    update();
    const heads = ["No.", "Name", "Length", sequences.log_likelihoods ? "Log-likelihood per observation" : null, model.chains ? "States of the first chain" : "States"];
    return {
      title: "Sequences",
      node: [
        h("h1", {}, "Sequences"),
        notice(sequences),
        h("div", { class: "controls" }, search),
        model.chains ? null : legend(model, model.numbers.slice(0, 16)),
        status,
        h(
          "table",
          { class: "sequences" },
          h("thead", {}, h("tr", {}, heads.filter(Boolean).map((name, k) => h("th", { scope: "col", class: k === 2 ? "value" : name.startsWith("Log") ? "value wide" : null }, name)))),
          body,
        ),
        more,
      ],
    };
  },
};

function notice(sequences) {
  const parts = [];
  if (sequences.n < sequences.n_all) parts.push(`This file has ${count(sequences.n)} of ${count(sequences.n_all)} sequences, at equal distances.`);
  const cut = [...sequences.lengths.keys()].filter((k) => sequences.lengths[k] < sequences.whole_lengths[k]);
  if (cut.length) parts.push(`Of ${sequences.n === 1 ? "the sequence" : plural(cut.length, "sequence")} it has the start only.`);
  return parts.length ? h("p", { class: "notice" }, parts.join(" "), " All figures are of all observations.") : null;
}

function summary(model, sequences, k) {
  const first = sequences.starts[k];
  const strip = responsive((width) =>
    canvasOf(width, 14, (context, colour) => band(context, colour, (s) => model.variable(s), (i) => sequences.state(first + i), 0, sequences.lengths[k], 0, width, 0, 14, model.n), { "aria-hidden": "true", role: null }),
  );
  return h(
    "tr",
    {},
    h("td", { class: "number" }, sequences.numbers[k]),
    h("td", {}, h("a", { href: link("sequences", sequences.numbers[k]), class: "word" }, user(sequences.name(k)))),
    h("td", { class: "value" }, count(sequences.whole_lengths[k])),
    sequences.log_likelihoods ? h("td", { class: "value wide" }, number(sequences.log_likelihoods[k])) : null,
    h("td", { class: "stripcell" }, strip),
  );
}

export const sequencePage = {
  path: "sequences/:sequence",
  when: (model) => model.has_sequences,
  async render(model, { sequence: text }) {
    const sequences = await model.sequences();
    const k = sequences.place(Number(text));
    if (k === undefined) return { title: "No such sequence", node: [h("h1", {}, "No such sequence"), h("p", {}, "Sequence ", user(text), " is not in this file."), notice(sequences)] };
    return one(model, sequences, k);
  },
};

/** Return the view of a sequence: a picture with a window, which buttons, keys and the pointer move. */
function one(model, sequences, k) {
  const n = sequences.lengths[k];
  const isOwn = model.parameters !== null;
  const noun = isOwn ? model.about.site_name : "observation";
  const range = { from: 0, to: Math.min(n, 2000) };
  const cursor = { at: null };
  const rows = sequences.rows().slice(0, ROWS).map((own) => ({ ...own, name: visible(own.name) }));
  const bands = model.chains ? [...Array(sequences.nChains).keys()].map((chain) => `chain ${chain}`) : [isOwn ? "most paths" : "Viterbi"];
  const position = (i) => (sequences.times ? visible(sequences.times[sequences.starts[k] + i]).slice(0, 24) : count(i));
  const readout = h("p", { class: "readout", role: "status" });
  let picture = null;
  const redraw = () => {
    picture?.canvas.repaint();
    fill(where, `${position(range.from)} to ${position(range.to - 1)}, ${plural(range.to - range.from, noun)} of ${count(n)}`);
    size.value = String(Math.log(range.to - range.from));
    place.max = String(n - (range.to - range.from));
    place.value = String(range.from);
    place.disabled = range.to - range.from >= n;
    tell();
  };
  const show = (from, length) => {
    const own = Math.max(Math.min(n, 10), Math.min(n, Math.round(length)));
    range.from = Math.max(0, Math.min(n - own, Math.round(from)));
    range.to = range.from + own;
    redraw();
  };
  const zoom = (factor, at = (range.from + range.to) / 2) => {
    const length = Math.max(Math.min(n, 10), Math.min(n, (range.to - range.from) * factor));
    show(at - ((at - range.from) * length) / (range.to - range.from), length);
  };
  const move = (at) => {
    cursor.at = Math.max(0, Math.min(n - 1, at));
    if (cursor.at < range.from || cursor.at >= range.to) show(cursor.at - (range.to - range.from) / 2, range.to - range.from);
    else redraw();
  };
  const tell = () => {
    if (cursor.at === null) fill(readout, n > 1 ? "Point at the picture, or move along it with the arrow keys. Drag it to move, + and \u2212 zoom." : "");
    else fill(readout, described(model, sequences, k, cursor.at, position, noun));
  };
  const where = h("span", { class: "soft", role: "status" });
  const place = h("input", { type: "range", min: 0, step: 1, "aria-label": "Where the window starts", oninput: () => show(Number(place.value), range.to - range.from) });
  const size = h("input", {
    type: "range",
    min: Math.log(Math.min(n, 10)),
    max: Math.log(n),
    step: 0.01,
    "aria-label": `How many ${noun}s the window shows`,
    oninput: () => {
      const centre = (range.from + range.to) / 2;
      const length = Math.exp(Number(size.value));
      show(centre - length / 2, length);
    },
  });
  const box = responsive(
    (width) => {
      picture = stripOf({
        sequences,
        k,
        range,
        cursor,
        rows,
        bands,
        bandLabel: (state) => (model.chains ? String(state) : visible(model.names.of(state) ?? String(state))),
        nStates: model.n,
        variable: (state) => model.variable(state),
        position,
        width,
        label: `${visible(sequences.name(k)).slice(0, 100)}: ${rows.length ? "observations, " : ""}states${model.chains ? "" : " and their probabilities"}`,
      });
      return picture.canvas;
    },
    { class: "strip-box", tabindex: "0", role: "group", "aria-label": "Picture of the sequence: arrow keys move along it, plus and minus zoom" },
  );
  drive(box, { n, range, cursor, zoom, show, move, picture: () => picture, leave: () => ((cursor.at = null), redraw()) });
  redraw();
  const neighbour = (other, rel, name) => (other < 0 || other >= sequences.n ? null : h("a", { href: link("sequences", sequences.numbers[other]), rel }, name));
  const facts = [plural(sequences.whole_lengths[k], noun), sequences.log_likelihoods ? `log-likelihood ${number(sequences.log_likelihoods[k])} per observation` : null];
  const title = isOwn ? `${model.about.site_name[0].toUpperCase()}${model.about.site_name.slice(1)}s in their order` : sequences.name(k);
  return {
    title,
    node: [
      sequences.n > 1 ? h("p", { class: "crumbs" }, h("a", { href: link("sequences") }, "All sequences"), neighbour(k - 1, "prev", "Previous"), neighbour(k + 1, "next", "Next")) : null,
      h("h1", {}, user(title)),
      h("p", { class: "lead" }, facts.filter(Boolean).join(", "), "."),
      notice(sequences),
      model.chains ? null : legend(model, model.numbers.slice(0, 16)),
      h(
        "div",
        { class: "controls strip-controls" },
        h("button", { onclick: () => zoom(0.5), "aria-label": "Zoom in" }, "+"),
        h("button", { onclick: () => zoom(2), "aria-label": "Zoom out" }, "\u2212"),
        h("button", { onclick: () => show(0, n) }, "All"),
        h("label", { class: "slider" }, "Window ", size),
        h("label", { class: "slider" }, "Position ", place),
        where,
      ),
      box,
      readout,
      h("p", { class: "note" }, caption(model, sequences, rows)),
    ],
  };
}

function caption(model, sequences, rows) {
  const parts = [];
  if (rows.length) parts.push("Observations, each feature on a scale of its own; hatched: missing.");
  if (sequences.features.length > rows.length) parts.push(`${rows.length} of ${count(sequences.features.length)} features are drawn.`);
  if (model.chains) parts.push("Bands: the state of each chain that most paths have.");
  else if (model.parameters) parts.push("Band: the state that most paths have. Below: the share of the paths with each state.");
  else parts.push("Band: Viterbi\u2019s states, the most probable path as a whole. Below: the probability of each state, given the parameters. They can differ.");
  return parts.join(" ");
}

function described(model, sequences, k, at, position, noun) {
  const i = sequences.starts[k] + at;
  const seen = sequences.observed(i, number);
  const names = sequences.isSymbols ? ["symbol"] : sequences.features;
  const what = seen.slice(0, 8).map((text, d) => [d ? ", " : " ", h("span", { class: "soft" }, user(names[d])), " ", user(text)]);
  const states = model.chains
    ? [...Array(sequences.nChains).keys()].map((chain) => [" ", h("span", { class: "soft" }, `chain ${chain}`), ` ${sequences.state(i, chain)}`])
    : [" ", h("strong", {}, user(model.label(sequences.state(i)))), ` ${percent(sequences.probability(i, sequences.state(i)))}`];
  return [h("span", { class: "number" }, `${noun} ${sequences.times ? `${count(at)}, ${position(at)}` : count(at)}:`), what, what.length ? ";" : null, states];
}

/** Let the pointer and the keyboard move the window and the cursor. */
function drive(box, { n, range, cursor, zoom, show, move, picture, leave }) {
  let drag = null;
  const x = (event) => event.clientX - picture().canvas.getBoundingClientRect().left;
  box.addEventListener("pointerdown", (event) => {
    if (event.button === 0) drag = { x: x(event), from: range.from };
  });
  box.addEventListener("pointermove", (event) => {
    if (!picture()) return;
    if (drag && Math.abs(x(event) - drag.x) > 3) {
      const length = range.to - range.from;
      show(drag.from - ((x(event) - drag.x) / picture().wide) * length, length);
    } else if (x(event) >= picture().left) move(picture().indexAt(x(event)));
  });
  for (const name of ["pointerup", "pointercancel"]) box.addEventListener(name, () => (drag = null));
  box.addEventListener("pointerleave", () => ((drag = null), leave()));
  box.addEventListener("dblclick", (event) => zoom(0.4, picture().indexAt(x(event))));
  box.addEventListener("keydown", (event) => {
    const at = cursor.at ?? range.from;
    const far = Math.max(1, Math.round((range.to - range.from) / (event.shiftKey ? 4 : 50)));
    const actions = {
      ArrowRight: () => move(at + (event.ctrlKey ? 1 : far)),
      ArrowLeft: () => move(at - (event.ctrlKey ? 1 : far)),
      PageDown: () => show(range.to, range.to - range.from),
      PageUp: () => show(2 * range.from - range.to, range.to - range.from),
      Home: () => move(0),
      End: () => move(n - 1),
      "+": () => zoom(0.5, at),
      "-": () => zoom(2, at),
    };
    if (!actions[event.key]) return;
    event.preventDefault();
    actions[event.key]();
  });
}
