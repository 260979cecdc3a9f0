// Numbers as people read them.

const whole = new Intl.NumberFormat("en");

export const count = (n) => whole.format(n);

/** Return a share as a percentage: 12 %, 3.4 %, 0.12 %. */
export function percent(share) {
  if (!Number.isFinite(share)) return "\u2013";
  const value = 100 * share;
  if (value === 0) return "0\u202f%";
  const digits = value >= 9.95 ? 0 : value >= 0.995 ? 1 : 2;
  return `${value.toFixed(digits)}\u202f%`;
}

/** Return a share as a percentage without a fraction, for axes and for shares that are known in hundredths. */
export function wholePercent(share) {
  const value = 100 * share;
  return `${Number(value.toFixed(value < 1 ? 2 : 1))}\u202f%`;
}

/** Return a number with a few digits; a dash if it is missing. */
export function decimal(value, digits = 2) {
  return Number.isFinite(value) ? value.toFixed(digits).replace("-", "\u2212") : "\u2013";
}

/** Return a time in words. */
export function duration(seconds) {
  if (seconds < 1) return "less than a second";
  if (seconds < 100) return `${Math.round(seconds)} s`;
  if (seconds < 6000) return `${Math.round(seconds / 60)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
}

/** Return "1 document" or "5 documents". */
export const plural = (n, noun) => `${count(n)} ${noun}${n === 1 ? "" : "s"}`;

/** Return a number with at most three digits that count: 0.012, 3.4, 12,000. */
export function number(value) {
  if (!Number.isFinite(value)) return "\u2013";
  const size = Math.abs(value);
  if (size >= 1e7 || (size > 0 && size < 1e-4)) return value.toExponential(1).replaceAll("-", "\u2212");
  return Number(value.toPrecision(size >= 1000 ? 5 : 3)).toLocaleString("en", { maximumFractionDigits: 6 }).replace("-", "\u2212");
}
