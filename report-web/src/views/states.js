// The states: a list of all with their emissions, and a page for each.

import { row } from "../blocks.js";
import { fill, h, setStyle, user, visible } from "../dom.js";
import { count, decimal, number, percent } from "../format.js";
import { link } from "../router.js";
import { bar } from "../charts/bars.js";
import { densityChart } from "../charts/densities.js";
import { planeChart } from "../charts/plane.js";
import { responsive } from "../charts/responsive.js";
import { nameForm } from "./naming.js";
import { section } from "./parts.js";
import { capital, legend, matrixTable, stateLink } from "./state_parts.js";

const FEATURES = 12;

export const stateList = {
  path: "states",
  label: (model) => capital(model.words.states),
  when: (model) => !model.chains,
  render(model) {
    return {
      title: capital(model.words.states),
      node: [
        h("h1", {}, capital(model.words.states)),
        model.names.hasChanges ? h("p", {}, h("button", { onclick: () => model.names.download() }, "Save names")) : null,
        list(model),
        model.emissions ? emissions(model, model.numbers, null) : null,
        confusion(model),
      ],
    };
  },
};

function list(model) {
  const { shares, sites, certainty } = model.states;
  const durations = model.chain?.durations;
  const most = Math.max(...shares, 1e-9);
  const heads = [
    ["No."],
    ["Name"],
    ["Share"],
    [capital(`${model.about.site_name}s`), "wide"],
    durations && ["Stay", "wide"],
    durations && ["Mean duration"],
    certainty && ["Certainty", "wide"],
  ].filter(Boolean);
  const rows = model.numbers.map((state) =>
    h(
      "tr",
      {},
      h("td", { class: "number" }, h("span", { class: `swatch ${model.colour(state)}` }), state),
      h("td", {}, stateLink(model, state, { plain: true })),
      h("td", { class: "value size" }, bar(shares[state] / most), percent(shares[state])),
      h("td", { class: "value wide" }, count(sites[state])),
      durations ? h("td", { class: "value wide" }, decimal(durations[state].stay, 3)) : null,
      durations ? h("td", { class: "value" }, number(durations[state].mean)) : null,
      certainty ? h("td", { class: "value wide" }, percent(certainty[state])) : null,
    ),
  );
  const where = model.chain ? "in Viterbi\u2019s paths" : model.certainty_of === "posterior" ? "by their most probable state" : "by the state that most paths have";
  return [
    h(
      "table",
      { class: "states topics" },
      h("thead", {}, h("tr", {}, heads.map(([name, klass], k) => h("th", { scope: "col", class: [k > 1 ? "value" : "", klass ?? ""].join(" ") }, name)))),
      h("tbody", {}, rows),
    ),
    h(
      "p",
      { class: "note" },
      `${model.n_paths && model.certainty_of !== "posterior" ? "Share: in all paths. " : ""}${capital(`${model.about.site_name}s`)}: ${where}.`,
      durations ? " Stay: the probability that a state stays for one more observation." : "",
      certainty ? ` Certainty: mean of ${model.certaintyText}.` : "",
    ),
  ];
}

/** Return the section on the emissions of some states; `own` is the one that the page is about, or null. */
export function emissions(model, states, own) {
  const { kind, symbols, tables, histograms, plane, features, n_features: all } = model.emissions;
  if (symbols) return section("Emissions", symbolNote(symbols), own === null ? symbolMatrix(model, symbols) : symbolBars(symbols, own));
  const shown = histograms.map((histogram, d) => ({ histogram, d })).filter(({ histogram }) => histogram);
  const box = h("div", { class: "densities" });
  const draw = (n) =>
    fill(
      box,
      shown.slice(0, n).map(({ histogram, d }) =>
        h(
          "figure",
          {},
          responsive((width) =>
            densityChart({
              histogram,
              shares: model.states.shares,
              states,
              own,
              colour: (state) => model.colour(state),
              name: visible(features[d]).slice(0, 60),
              label: `Observations of ${visible(features[d])} and the density of each ${model.words.state}`,
              width,
            }),
          ),
          histogram.outside ? h("figcaption", { class: "note" }, `${count(histogram.outside)} outliers are beyond the picture.`) : null,
        ),
      ),
    );
  draw(FEATURES);
  const more = h("button", { onclick: () => (draw(shown.length), more.remove()) }, `All ${count(shown.length)} features`);
  const curves = shown.some(({ histogram }) => histogram.densities);
  const scaled = all > 1 && kind !== "gaussian" && curves ? " Each is scaled to the range shown." : "";
  return [
    section(
      "Emissions",
      `${capital(kind)}. Grey: all observations.${own === null ? "" : " In colour: those of this state."}${curves ? ` Lines: what the parameters imply, times the share of the ${model.words.state}.${scaled}` : ""}`,
      own === null ? legend(model, states) : null,
      box,
      shown.length > FEATURES ? h("p", {}, more) : null,
      all > features.length ? h("p", { class: "note" }, `${count(features.length)} of ${count(all)} features are shown.`) : null,
    ),
    plane && own === null ? planeSection(model, plane) : null,
    tables.length ? parameterTables(model, tables, states) : null,
  ];
}

function planeSection(model, plane) {
  const { features } = model.emissions;
  const chosen = [0, 1];
  const box = h("div");
  const texts = model.numbers.map((state) => visible(model.names.of(state) ?? String(state)).slice(0, 24));
  const draw = () =>
    fill(
      box,
      responsive((width) =>
        planeChart({
          plane,
          first: chosen[0],
          second: chosen[1],
          names: features.map((name) => visible(name).slice(0, 40)),
          states: model.numbers,
          colour: (state) => model.colour(state),
          variable: (state) => model.variable(state),
          texts,
          label: `Observations of ${visible(features[chosen[0]])} and ${visible(features[chosen[1]])}, and an ellipse for each ${model.words.state}`,
          width: Math.min(width, 720),
        }),
      ),
    );
  const choice = (k) => {
    const select = h(
      "select",
      { "aria-label": k ? "Feature upwards" : "Feature to the right", onchange: () => ((chosen[k] = select.selectedIndex), draw()) },
      features.map((name, d) => h("option", { selected: d === chosen[k] }, visible(name).slice(0, 60))),
    );
    return select;
  };
  draw();
  return section(
    "Two features",
    "Ellipses hold 86 % of the observations of a normal distribution. Dots are observations, at most 1,500 of them.",
    features.length > 2 ? h("p", { class: "controls" }, choice(0), choice(1)) : null,
    box,
  );
}

function parameterTables(model, tables, states) {
  const { features } = model.emissions;
  return section(
    "Parameters",
    null,
    h("div", { class: "tables" }, tables.map(({ name, values }) => {
      const n = values.shape[1];
      const heads = n === features.length && n > 1 ? features : n === 1 ? [capital(name)] : [...Array(n).keys()].map(String);
      return matrixTable({
        caption: n === 1 ? null : capital(name),
        corner: capital(model.words.state),
        columns: heads.map((own) => user(own)),
        rows: states.map((state) => ({ head: stateLink(model, state), values: row(values, state) })),
        format: number,
      });
    })),
  );
}

function symbolNote(symbols) {
  const rest = symbols.names.length < symbols.n_all ? ` ${count(symbols.names.length)} of ${count(symbols.n_all)} symbols are shown: the most probable of any state.` : "";
  return `The probability of each symbol.${rest}`;
}

function symbolMatrix(model, symbols) {
  return matrixTable({
    corner: capital(model.words.state),
    columns: symbols.names.map((name) => user(name)),
    rows: [
      ...model.numbers.map((state) => ({ head: stateLink(model, state), values: row(symbols.probabilities, state) })),
      { head: h("span", { class: "soft" }, "all data"), values: symbols.shares },
    ],
    format: percent,
    most: Math.max(...symbols.probabilities),
  });
}

function symbolBars(symbols, state) {
  const own = row(symbols.probabilities, state);
  const order = [...own.keys()].sort((a, b) => own[b] - own[a]).slice(0, 30);
  const most = Math.max(...order.map((w) => Math.max(own[w], symbols.shares[w])), 1e-9);
  return h(
    "table",
    { class: "bars" },
    h("thead", {}, h("tr", {}, ["Symbol", "Probability", "", "In all data"].map((name, k) => h("th", { scope: "col", class: k > 1 ? "value" : null }, name)))),
    h(
      "tbody",
      {},
      order.map((w) =>
        h("tr", {}, h("td", { class: "word" }, user(symbols.names[w])), h("td", { class: "barcell" }, bar(own[w] / most, symbols.shares[w] / most)), h("td", { class: "value" }, percent(own[w])), h("td", { class: "value" }, percent(symbols.shares[w]))),
      ),
    ),
  );
}

function confusion(model) {
  if (!model.confusion) return null;
  return section(
    "Agreement of paths",
    `Where a path has the ${model.words.state} of the row, the probability that another has that of the column, given the parameters. On the diagonal, paths agree. It is not the stability between runs.`,
    matrixTable({
      corner: "",
      columns: model.numbers.map((state) => stateLink(model, state, { short: true })),
      rows: model.numbers.map((state) => ({ head: stateLink(model, state), values: row(model.confusion, state) })),
      format: (value) => decimal(value, 2),
      most: 1,
    }),
  );
}

export const statePage = {
  path: "states/:state",
  when: (model) => !model.chains,
  render(model, { state: text }) {
    const state = Number(text);
    const noun = model.words.state;
    if (!/^\d+$/.test(text) || state >= model.n) {
      return { title: `No such ${noun}`, node: [h("h1", {}, `No such ${noun}`), h("p", {}, `They are numbered from 0 to ${model.n - 1}.`)] };
    }
    return {
      title: model.label(state),
      node: [
        heading(model, state),
        model.emissions ? emissions(model, [state], state) : null,
        model.chain ? moves(model, state) : null,
        certainties(model, state),
      ],
    };
  },
};

function heading(model, state) {
  const { shares, sites, certainty } = model.states;
  const title = h("h1", { class: "numbered" });
  const showTitle = () => fill(title, h("span", { class: `swatch ${model.colour(state)}` }), user(model.label(state)));
  showTitle();
  const duration = model.chain?.durations[state];
  const lead = [
    `${percent(shares[state])} of all ${model.about.site_name}s, ${count(sites[state])} of them most probably.`,
    certainty ? ` Certainty ${percent(certainty[state])}.` : "",
    duration ? ` It lasts ${number(duration.mean)} observations on average, ${count(duration.stays)} times; its transitions imply ${number(duration.implied)}.` : "",
  ];
  const neighbour = (k, rel, name) => (k < 0 || k >= model.n ? null : h("a", { href: link("states", k), rel }, name));
  return h(
    "div",
    { class: "heading" },
    h("p", { class: "crumbs" }, h("a", { href: link("states") }, `All ${model.words.states}`), neighbour(state - 1, "prev", "Previous"), neighbour(state + 1, "next", "Next")),
    title,
    h("p", { class: "lead" }, lead.join("")),
    nameForm(model.names, state, model.words.state, showTitle),
  );
}

function moves(model, state) {
  const { transitions, start } = model.chain;
  const from = row(transitions, state);
  const into = model.numbers.map((other) => row(transitions, other)[state]);
  const bars = (values, title) =>
    h(
      "div",
      {},
      h("h3", {}, title),
      h(
        "table",
        { class: "bars topic-bars" },
        h("thead", { class: "for-readers" }, h("tr", {}, h("th", { scope: "col" }, "State"), h("th", { scope: "col", colspan: 2 }, "Probability"))),
        h(
          "tbody",
          {},
          model.numbers
            .filter((other) => other !== state && values[other] > 0)
            .sort((a, b) => values[b] - values[a])
            .slice(0, 12)
            .map((other) => h("tr", { class: `coloured ${model.colour(other)}` }, h("td", {}, stateLink(model, other)), h("td", { class: "barcell" }, bar(values[other])), h("td", { class: "value" }, decimal(values[other], 3)))),
        ),
      ),
    );
  return section(
    "Transitions",
    `It stays with probability ${decimal(from[state], 3)}; a sequence starts in it with probability ${decimal(start[state], 3)}.`,
    h("div", { class: "two even" }, bars(from, "It leads to"), bars(into, "What leads to it")),
  );
}

function certainties(model, state) {
  const all = model.states.certainties;
  if (!all) return null;
  const counts = row(all, state);
  const most = Math.max(...counts, 1);
  const n = counts.length;
  const columns = [...counts].map((value, k) => {
    const column = h("span", { title: `${percent(k / n)} to ${percent((k + 1) / n)}: ${count(value)}` });
    setStyle(column, { height: `${(100 * value) / most}%` });
    return column;
  });
  return section(
    "Certainty",
    `How many ${model.about.site_name}s of this ${model.words.state} have which certainty: ${model.certaintyText}.`,
    h("div", { class: `columns-chart ${model.colour(state)}`, role: "img", "aria-label": `Certainty of ${count(counts.reduce((a, b) => a + b, 0))} ${model.about.site_name}s, from 0 to 1; mean ${percent(model.states.certainty[state])}` }, columns),
    h("div", { class: "columns-scale soft", "aria-hidden": "true" }, h("span", {}, "0"), h("span", {}, "1")),
  );
}
