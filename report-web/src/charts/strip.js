// A sequence: its observations, the bands of its states, and their probabilities, on a canvas with a window.

import { ticks } from "d3-array";
import { canvasOf } from "./canvas.js";

const LEFT = 92;
const NARROW = 54;
const RIGHT = 8;
const ROW = 62;
const BAND = 20;
const PROBABILITIES = 84;
const AXIS = 22;
const OVERVIEW = 18;

/** Return how high the picture of a sequence is. */
export function stripHeight(rows, nBands, hasProbabilities) {
  return OVERVIEW + 14 + rows.length * (ROW + 6) + nBands * (BAND + 4) + (hasProbabilities ? PROBABILITIES + 8 : 0) + AXIS;
}

/**
 * Return {canvas, indexAt}.
 *   sequences, k   the sequence is number k of these
 *   range          {from, to}: its window, which is read each time it is drawn
 *   cursor         {at}: the observation that is marked, or null
 *   rows           [{name, values, isSymbols}]
 *   bands          names of the bands of states
 *   variable       (state) => the variable of its colour
 *   position       (i) => the text on the axis
 */
export function stripOf({ sequences, k, range, cursor, rows, bands, bandLabel, nStates, variable, position, width, label }) {
  const first = sequences.starts[k];
  const n = sequences.lengths[k];
  const left = width < 560 ? NARROW : LEFT;
  const wide = width - left - RIGHT;
  const isChains = sequences.nChains > 0;
  const height = stripHeight(rows, bands.length, !isChains);
  const scales = rows.map(({ values, isSymbols }) => limits(values, first, n, isSymbols));
  const indexAt = (x) => {
    const { from, to } = range;
    return Math.max(from, Math.min(to - 1, Math.floor(from + ((x - left) / wide) * (to - from))));
  };

  const draw = (context, colour) => {
    const { from, to } = range;
    const shown = to - from;
    const x = (i) => left + ((i - from) / shown) * wide;
    const nPixels = Math.max(1, Math.floor(wide));
    const isDense = shown > nPixels;
    const bucket = (pixel) => {
      const a = from + Math.floor((pixel * shown) / nPixels);
      return [a, Math.max(a + 1, from + Math.floor(((pixel + 1) * shown) / nPixels))];
    };
    context.font = "12px system-ui, sans-serif";
    context.textBaseline = "middle";
    const name = (text, y) => {
      context.fillStyle = colour("--soft");
      context.textAlign = "right";
      context.fillText(cut(context, text, left - 10), left - 8, y);
    };

    // The whole sequence, and the window on it.
    band(context, colour, variable, (i) => sequences.state(first + i), 0, n, left, wide, 0, OVERVIEW - 4, nStates);
    context.strokeStyle = colour("--ink");
    context.lineWidth = 1.5;
    context.strokeRect(left + (from / n) * wide, -0.5, Math.max(2, (shown / n) * wide), OVERVIEW - 3);
    name("all", (OVERVIEW - 4) / 2);

    let top = OVERVIEW + 14;
    const dataTop = top;
    rows.forEach(({ name: text, values, isSymbols }, d) => {
      const [low, high] = scales[d];
      const y = (value) => top + ROW - 4 - ((value - low) / (high - low || 1)) * (ROW - 8);
      name(text, top + ROW / 2);
      context.strokeStyle = colour("--line");
      context.lineWidth = 1;
      line(context, left, top + ROW, left + wide, top + ROW);
      const known = (i) => (isSymbols ? values[first + i] > 0 : Number.isFinite(values[first + i]));
      context.fillStyle = context.strokeStyle = colour("--ink");
      if (isDense) {
        context.globalAlpha = 0.75;
        for (let pixel = 0; pixel < nPixels; pixel++) {
          const [a, b] = bucket(pixel);
          let [least, most] = [Infinity, -Infinity];
          for (let i = a; i < b; i++) {
            if (!known(i)) continue;
            least = Math.min(least, values[first + i]);
            most = Math.max(most, values[first + i]);
          }
          if (most >= least) context.fillRect(left + pixel, y(most), 1, Math.max(1, y(least) - y(most)));
        }
        context.globalAlpha = 1;
      } else {
        const step = wide / shown;
        if (!isSymbols) {
          context.beginPath();
          let isDown = false;
          for (let i = from; i < to; i++) {
            if (!known(i)) isDown = false;
            else {
              if (isDown) context.lineTo(x(i + 0.5), y(values[first + i]));
              else context.moveTo(x(i + 0.5), y(values[first + i]));
              isDown = true;
            }
          }
          context.stroke();
        }
        if (isSymbols || step > 4) {
          const size = Math.min(2.6, Math.max(1.2, step / 3));
          for (let i = from; i < to; i++) {
            if (!known(i)) continue;
            context.fillStyle = isChains ? colour("--ink") : colour(variable(sequences.state(first + i)));
            context.beginPath();
            context.arc(x(i + 0.5), y(values[first + i]), size, 0, 7);
            context.fill();
          }
        }
      }
      top += ROW + 6;
    });
    if (rows.length) missing(context, colour, (i) => sequences.isMissing(first + i), range, x, dataTop, top - 6);

    bands.forEach((text, chain) => {
      name(text, top + BAND / 2);
      const state = (i) => sequences.state(first + i, chain);
      band(context, colour, variable, state, from, to, left, wide, top, BAND, nStates);
      if (!isDense) labels(context, colour, bandLabel, state, range, x, top);
      top += BAND + 4;
    });

    if (!isChains) {
      name(width < 560 ? "prob." : "probability", top + PROBABILITIES / 2);
      const below = new Float64Array(nStates);
      for (let pixel = 0; pixel < nPixels; pixel++) {
        const [a, b] = isDense ? bucket(pixel) : [Math.floor(from + (pixel * shown) / nPixels), 0];
        below.fill(0);
        const end = isDense ? b : a + 1;
        for (let i = a; i < end; i++) for (let s = 0; s < nStates; s++) below[s] += sequences.probabilities[(first + i) * nStates + s];
        const total = below.reduce((sum, value) => sum + value, 0) || 1;
        let y = top + PROBABILITIES;
        for (let s = 0; s < nStates; s++) {
          const tall = (below[s] / total) * PROBABILITIES;
          if (tall < 0.2) continue;
          context.fillStyle = colour(variable(s));
          context.fillRect(left + pixel, y - tall, 1.2, tall);
          y -= tall;
        }
      }
      top += PROBABILITIES + 8;
    }

    context.fillStyle = colour("--soft");
    context.textBaseline = "top";
    context.textAlign = "center";
    for (const i of ticks(from, to - 1, Math.max(2, wide / 130)).filter(Number.isInteger)) {
      const half = context.measureText(position(i)).width / 2;
      context.fillText(position(i), Math.max(left + half, Math.min(left + wide - half, x(i + 0.5))), top);
    }
    if (cursor.at !== null && cursor.at >= from && cursor.at < to) {
      context.strokeStyle = colour("--ink");
      context.lineWidth = 1;
      line(context, x(cursor.at + 0.5), dataTop - 4, x(cursor.at + 0.5), top - 4);
    }
  };
  return { canvas: canvasOf(width, height, draw, { "aria-label": label, class: "strip" }), indexAt, left, wide };
}

/** Return the lowest and the highest value of a sequence, without its outermost thousandths if it is long. */
function limits(values, first, n, isSymbols) {
  const own = Array.from(values.subarray(first, first + n)).filter((value) => (isSymbols ? value > 0 : Number.isFinite(value)));
  if (!own.length) return [0, 1];
  own.sort((a, b) => a - b);
  const skip = own.length > 2000 ? Math.floor(own.length / 2000) : 0;
  return [own[skip], own[own.length - 1 - skip]];
}

function line(context, x1, y1, x2, y2) {
  context.beginPath();
  context.moveTo(x1, y1);
  context.lineTo(x2, y2);
  context.stroke();
}

function cut(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  let shorter = text.slice(0, 40);
  while (shorter && context.measureText(`${shorter}\u2026`).width > width) shorter = shorter.slice(0, -1);
  return `${shorter}\u2026`;
}

/** Draw the states from a to b, in each pixel the one that is most common there. */
export function band(context, colour, variable, state, a, b, left, wide, top, height, nStates) {
  const shown = b - a;
  const nPixels = Math.max(1, Math.floor(wide));
  if (shown <= nPixels) {
    const step = wide / shown;
    for (let i = a; i < b; ) {
      let j = i + 1;
      while (j < b && state(j) === state(i)) j++;
      context.fillStyle = colour(variable(state(i)));
      context.fillRect(left + (i - a) * step, top, (j - i) * step, height);
      i = j;
    }
    return;
  }
  const counts = new Uint32Array(nStates);
  for (let pixel = 0; pixel < nPixels; pixel++) {
    counts.fill(0);
    const end = a + Math.floor(((pixel + 1) * shown) / nPixels);
    for (let i = a + Math.floor((pixel * shown) / nPixels); i < end; i++) counts[state(i)]++;
    context.fillStyle = colour(variable(counts.indexOf(Math.max(...counts))));
    context.fillRect(left + pixel, top, 1.2, height);
  }
}

/** Write the number of a state on its band where there is room. */
function labels(context, colour, text, state, { from, to }, x, top) {
  context.fillStyle = colour("--on-state");
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (let i = from; i < to; ) {
    let j = i + 1;
    while (j < to && state(j) === state(i)) j++;
    const room = x(j) - x(i);
    const own = text(state(i));
    if (room > 12 && context.measureText(own).width < room - 6) context.fillText(own, (x(i) + x(j)) / 2, top + BAND / 2 + 1);
    i = j;
  }
}

/** Hatch the stretches that are missing. */
function missing(context, colour, isMissing, { from, to }, x, top, bottom) {
  context.save();
  for (let i = from; i < to; i++) {
    if (!isMissing(i)) continue;
    let j = i + 1;
    while (j < to && isMissing(j)) j++;
    const [a, b] = [x(i), Math.max(x(i) + 1, x(j))];
    context.save();
    context.beginPath();
    context.rect(a, top, b - a, bottom - top);
    context.clip();
    context.fillStyle = colour("--panel");
    context.fillRect(a, top, b - a, bottom - top);
    context.strokeStyle = colour("--soft");
    context.globalAlpha = 0.55;
    context.lineWidth = 1;
    for (let d = a - (bottom - top); d < b; d += 7) line(context, d, bottom, d + bottom - top, top);
    context.restore();
    i = j;
  }
  context.restore();
}
