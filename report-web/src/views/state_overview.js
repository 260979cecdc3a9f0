// The overview of a model with states: what was fitted, how it went, and the states.

import { h, user } from "../dom.js";
import { count, decimal, duration, number, percent, plural } from "../format.js";
import { link } from "../router.js";
import { dotChart } from "../charts/dots.js";
import { lineChart } from "../charts/course.js";
import { responsive } from "../charts/responsive.js";
import { convergence } from "./convergence.js";
import { notes, section, table } from "./parts.js";
import { capital } from "./state_parts.js";

const CARDS = 24;

export const stateOverview = {
  path: "",
  label: "Overview",
  render(model) {
    const { about, words } = model;
    const { progress } = about;
    const restarts = progress.restarts > 1 ? `, the best of ${plural(progress.scores.length, "restart")}` : "";
    const steps = progress.sweeps ? plural(progress.sweeps, "sweep") : plural(progress.em_iterations, "iteration");
    const what = model.chains ? `${plural(about.model.chains, "chain")} of ${plural(model.n, "state")}` : plural(model.n, words.state);
    return {
      title: "",
      node: [
        h("h1", {}, user(model.title)),
        h("p", { class: "lead" }, `A ${words.model} with ${what}, fitted by ${steps}${progress.sweeps ? "" : " of EM"} in ${duration(progress.seconds)}${restarts}.`),
        progress.finished ? null : h("p", { class: "notice" }, `The run is not finished: it is at ${progress.position}.`),
        figures(model),
        notes(model.notes),
        model.chains ? null : states(model),
        convergence(
          about,
          "A run that has settled may still be in one of many local optima: only other restarts tell.",
          em(model),
        ),
        restartSection(model),
        section("Data and settings", null, facts(model)),
      ],
    };
  },
};

function figures(model) {
  const { about, words } = model;
  const { data } = about;
  const { certainty, sites } = model.states;
  const total = sites.reduce((sum, n) => sum + n, 0);
  const mean = certainty && certainty.reduce((sum, value, s) => sum + (sites[s] ? value * sites[s] : 0), 0) / total;
  const last = about.likelihoods.at(-1);
  const shown = [
    data.sequences !== undefined && ["Sequences", count(data.sequences)],
    data.observations !== undefined ? ["Observations", count(data.observations)] : [capital(`${about.site_name}s`), count(data.sites ?? total)],
    data.shape && ["Grid", data.shape.map(count).join(" \u00d7 ")],
    data.missing ? ["Missing", count(data.missing)] : null,
    [capital(words.states), count(model.n)],
    mean !== null && mean !== undefined && ["Certainty", percent(mean), `Mean of ${model.certaintyText}`],
    last && [`Log-likelihood per ${about.site_name}`, number(last[`per_${about.site_name}`]), `Of ${last.of}`],
  ];
  return h(
    "dl",
    { class: "figures" },
    shown.filter(Boolean).map(([name, value, hint]) => h("div", {}, h("dt", {}, name), h("dd", {}, value), hint ? h("dd", { class: "hint" }, hint) : null)),
  );
}

function states(model) {
  return section(
    capital(model.words.states),
    null,
    h("ol", { class: "cards" }, model.numbers.slice(0, CARDS).map((state) => h("li", {}, card(model, state)))),
    h("p", {}, h("a", { href: link("states") }, model.emissions ? "All, with their emissions" : "All")),
  );
}

function card(model, state) {
  const named = model.names.of(state);
  return h(
    "a",
    { href: link("states", state), class: `card state-card ${model.colour(state)}` },
    h("span", { class: "number" }, state),
    h("span", { class: "size" }, percent(model.states.shares[state])),
    named ? h("strong", {}, user(named)) : null,
    h("span", { class: "words" }, model.summary(state).map(({ name, value, isShare }, k) => [k ? ", " : "", user(name), ` ${isShare ? percent(value) : number(value)}`])),
  );
}

function em(model) {
  if (model.em.length < 2) return null;
  return [
    h("h3", {}, "EM"),
    responsive((width) => lineChart({ values: model.em, xTitle: "iteration", yTitle: `log P(data | parameters) per ${model.about.site_name}`, label: `Log-likelihood over ${model.em.length} iterations of EM`, width })),
    model.em.length > 1 && model.about.progress.sweeps
      ? h("p", { class: "note" }, "EM started from the result of the sweeps.")
      : null,
  ];
}

function restartSection(model) {
  const { scores } = model;
  if (scores.length < 2) return null;
  const best = scores.reduce((k, value, own) => (value > scores[k] ? own : k), 0);
  const titles = scores.map((value, k) => `Restart ${k + 1}: ${decimal(value, 2)}`);
  const order = [...scores.keys()].sort((a, b) => scores[b] - scores[a]);
  return section(
    "Restarts",
    "The log-likelihood of the data at the end of each restart; relative to the best, the large dot, which the report shows. If many end near it, it is probably the optimum.",
    responsive((width) => dotChart({ values: scores, best, titles, label: `Log-likelihoods of ${scores.length} restarts`, width })),
    h(
      "details",
      {},
      h("summary", {}, "As a table"),
      table(["Restart", "Log-likelihood", "Below the best"], order.map((k) => [k + 1, decimal(scores[k], 3), decimal(scores[best] - scores[k], 3)]), { class: "narrow" }),
    ),
  );
}

function facts(model) {
  const { data, model: own, settings, progress, version } = model.about;
  const rows = [
    ["Data", Object.entries({ sequences: data.sequences, observations: data.observations ?? data.sites, symbols: data.symbols, features: data.features }).filter(([, n]) => n !== undefined).map(([name, n]) => `${count(n)} ${name}`).join(", ")],
    ["Columns", data.columns?.length ? data.columns.map((name, k) => [k ? ", " : "", user(name)]) : null],
    ["Emissions", own.emissions && user(own.emissions)],
    ["Covariance", own.covariance && user(own.covariance)],
    ["Coupling", own.coupling && `${number(own.coupling)}, ${own.neighbours} neighbours`],
    ["Stages", settings.stages.length ? settings.stages.map(({ sweeps, description }) => `${plural(sweeps, "sweep")} ${description}`).join("; ") : "EM alone"],
    ["Iterations of EM", progress.em_iterations || null],
    ["Paths at the end", settings.paths || null],
    ["Seed", progress.seed ?? settings.seed],
    ["plait", version],
  ];
  return h(
    "dl",
    { class: "facts" },
    rows.filter(([, value]) => value !== null && value !== undefined && value !== "").map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]),
  );
}
