// Models with states: hidden Markov models, mixtures, Potts fields, factorial chains, and models of one's own.

import { row } from "../blocks.js";
import { Names } from "./names.js";
import { Sequences } from "./sequences.js";
import { chainsView } from "../views/chains.js";
import { fieldView } from "../views/field.js";
import { parametersView } from "../views/parameters.js";
import { sequenceList, sequencePage } from "../views/sequences.js";
import { stateOverview } from "../views/state_overview.js";
import { stateList, statePage } from "../views/states.js";
import { capital } from "../views/state_parts.js";
import { transitionsView } from "../views/transitions.js";

const COLOURS = 16;

class StateModel {
  constructor(main, block) {
    Object.assign(this, main);
    this.n = main.states.names.length;
    this.names = new Names(main, main.states.names, capital(main.words.state));
    this.numbers = [...Array(this.n).keys()];
    this.read = block;
  }

  /** Return the sequences of the page; they are read when first asked for. */
  sequences() {
    this.reading ??= this.read("sequences").then((own) => new Sequences(own));
    return this.reading;
  }

  /** Return the labels of the pixels. */
  pixels() {
    return this.read("field");
  }

  /** Return the name of a state or, without one, what it is and its number. */
  label(state) {
    return this.names.of(state) ?? `${capital(this.words.state)} ${state}`;
  }

  /** Return the class of the colour of a state; with many states, colours repeat. */
  colour(state) {
    return `topic-${state % COLOURS}`;
  }

  /** Return the variable of the style that holds it. */
  variable(state) {
    return `--t${state % COLOURS}`;
  }

  /** Return a few words on the emissions of a state. */
  summary(state) {
    const { symbols, tables, features } = this.emissions ?? { symbols: null, tables: [] };
    if (symbols) {
      const own = row(symbols.probabilities, state);
      const best = [...own.keys()].sort((a, b) => own[b] - own[a]).slice(0, 6);
      return best.map((w) => ({ name: symbols.names[w], value: own[w], isShare: true }));
    }
    if (!tables.length) return [];
    const values = row(tables[0].values, state);
    return [...values].slice(0, 4).map((value, d) => ({ name: values.length === features.length ? features[d] : `${tables[0].name} ${d}`, value, isShare: false }));
  }

  /** What the certainty of a site is, in a sentence. */
  get certaintyText() {
    return this.certainty_of === "paths"
      ? `the share of the ${this.n_paths} paths that agree on the ${this.words.state}, given the parameters`
      : `the probability of the most probable ${this.words.state}, given the parameters`;
  }
}

export const stateKind = {
  model: (main, block) => new StateModel(main, block),
  views: [
    stateOverview,
    stateList,
    statePage,
    transitionsView,
    chainsView,
    fieldView,
    sequenceList,
    sequencePage,
    parametersView,
  ],
};
