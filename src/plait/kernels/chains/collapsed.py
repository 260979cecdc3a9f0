"""The collapsed sampler: Algorithm 2 for categorical emissions, with a faster kernel for two states."""

from __future__ import annotations

import numpy as np

from plait.jit import kernel, local_array
from plait.kernels.chains.states import draw_state, number_of_states
from plait.rng import open_stream, uniform_of

_ONE = np.uint64(1)


@kernel
def resample_collapsed(size, offsets, rows, counts, priors, paths, scratch, key):
    """Draw every p^j_i given all other latent variables, with phi integrated out.

    With all counts taken without the site, a and c the states before and after it, and w its symbol, the
    weight of the state s is the product of

        (E_ws + eta_ws) / (E_s + sum_w eta_ws)                                  emission
        (N_as + gamma_as)                                                       transition to s
        (N_sc + gamma_sc + [a = s = c]) / (N_s + sum_r gamma_sr + [a = s])      transition from s

    The brackets account for the transition to s, which comes before the one from s: if a = s, both are drawn
    from the same row. At the first site the second line is the count and prior of starts; at the last site
    the third line is absent; where the observation is missing, so is the first.

    `counts` match `paths` on entry and on return. They are stored separately from the priors, so that they
    stay exact, and a small prior is not lost next to a large count when a site is taken out.
    """
    starts, pairs, symbols = counts
    start_prior, pair_prior, symbol_prior, pair_sums, symbol_sums = priors
    streams, _, buffer = scratch
    n_states = np.uint64(number_of_states(size, starts.size))
    n_paths = np.uint64(paths.shape[0])
    missing = np.uint64(symbols.shape[0] - 1)
    likely = buffer[0]
    buffer[1] = 1.0
    leaving = buffer[2]  # N_s
    emitted = buffer[3]  # E_s
    into = buffer[4 : 4 + n_states]  # N_sc, transposed
    into_prior = buffer[4 + n_states : 4 + 2 * n_states]  # gamma_sc, transposed
    for s in range(n_states):
        leaving[s] = 0.0
        for r in range(n_states):
            into[r, s] = pairs[s, r]
            into_prior[r, s] = pair_prior[s, r]
            leaving[s] += pairs[s, r]
        emitted[s] = 0.0
        for symbol in range(missing):
            emitted[s] += symbols[symbol, s]

    for k in range(offsets.size - 1):
        first, last = np.uint64(offsets[k]), np.uint64(offsets[k + 1])
        for path in range(paths.shape[0]):
            open_stream(streams[path], key.seed, key.sweep, path, k)
        for i in range(first, last):
            w = np.uint64(rows[i])
            is_seen = w < missing
            has_before, has_after = i > first, i + _ONE < last
            for j in range(n_paths):
                old = np.uint64(paths[j, i])
                a = np.uint64(paths[j, i - _ONE]) if has_before else old
                c = np.uint64(paths[j, i + _ONE]) if has_after else old

                # Take the site out. The total of row a keeps one for the transition to s, whatever s is: for
                # s = a that is the bracket in the denominator, for other s it has no effect.
                symbols[w, old] -= 1.0
                emitted[old] -= is_seen
                if has_before:
                    pairs[a, old] -= 1.0
                    into[old, a] -= 1.0
                else:
                    starts[old] -= 1.0
                if has_after:
                    pairs[old, c] -= 1.0
                    into[c, old] -= 1.0
                    leaving[old] -= 1.0

                if has_before and has_after and is_seen:  # the general case below, without branches inside
                    for s in range(n_states):
                        x = (pairs[a, s] + pair_prior[a, s]) * (into[c, s] + into_prior[c, s])
                        x *= symbols[w, s] + symbol_prior[w, s]
                        likely[s] = x / ((leaving[s] + pair_sums[s]) * (emitted[s] + symbol_sums[s]))
                    if a == c:
                        x = (pairs[a, a] + pair_prior[a, a]) * (symbols[w, a] + symbol_prior[w, a])
                        likely[a] += x / ((leaving[a] + pair_sums[a]) * (emitted[a] + symbol_sums[a]))
                else:
                    for s in range(n_states):
                        x = pairs[a, s] + pair_prior[a, s] if has_before else starts[s] + start_prior[s]
                        if has_after:
                            x *= into[c, s] + into_prior[c, s] + (has_before and a == c and s == a)
                            x /= leaving[s] + pair_sums[s]
                        if is_seen:
                            x *= (symbols[w, s] + symbol_prior[w, s]) / (emitted[s] + symbol_sums[s])
                        likely[s] = x
                new = np.uint64(draw_state(size, buffer, 0, buffer, 1, uniform_of(streams, j)))

                paths[j, i] = new
                symbols[w, new] += 1.0
                emitted[new] += is_seen
                if has_before:
                    pairs[a, new] += 1.0
                    into[new, a] += 1.0
                else:
                    starts[new] += 1.0
                if has_after:
                    pairs[new, c] += 1.0
                    into[c, new] += 1.0
                    leaving[new] += 1.0


@kernel
def resample_collapsed_two(offsets, rows, counts, priors, paths, streams, key):
    """Draw as `resample_collapsed` does, for two states.

    What makes it fast: the counts N_00 to N_11, N_0, N_1, E_0 and E_1 are local variables, which the compiler
    keeps in registers. The two weights are multiplied by both denominators, so that nothing is divided. And
    the site is not taken out: the counts without it are the counts minus what it holds of them, which depends
    on the states a, old and c alone. What the counts become if the site moves is computed while it is not yet
    known whether it does.
    """
    starts, pairs, symbols = counts
    start_prior, pair_prior, symbol_prior, pair_sums, symbol_sums = priors
    missing = np.uint64(symbols.shape[0] - 1)
    held = local_array(32, np.float64).reshape((2, 2, 2, 4))
    _fill_held(held)
    n00, n01, n10, n11 = pairs[0, 0], pairs[0, 1], pairs[1, 0], pairs[1, 1]
    out0, out1 = n00 + n01, n10 + n11
    e0, e1 = symbols[:missing, 0].sum(), symbols[:missing, 1].sum()
    for k in range(offsets.size - 1):
        first, last = np.uint64(offsets[k]), np.uint64(offsets[k + 1])
        for j in range(paths.shape[0]):
            open_stream(streams[j], key.seed, key.sweep, j, k)
        for i in range(first, last):
            w = np.uint64(rows[i])
            is_seen, has_before, has_after = w < missing, i > first, i + _ONE < last
            seen, before, after = np.float64(is_seen), np.float64(has_before), np.float64(has_after)
            emitted0, emitted1 = symbols[w, 0], symbols[w, 1]
            for j in range(np.uint64(paths.shape[0])):
                old = np.uint64(paths[j, i])
                own1 = np.float64(old)
                own0 = 1.0 - own1
                a = np.uint64(paths[j, i - _ONE]) if has_before else np.uint64(0)
                c = np.uint64(paths[j, i + _ONE]) if has_after else np.uint64(0)
                weight0 = weight1 = below0 = below1 = 1.0
                if is_seen:
                    weight0 = emitted0 - own0 + symbol_prior[w, 0]
                    weight1 = emitted1 - own1 + symbol_prior[w, 1]
                    below0 = e0 - own0 + symbol_sums[0]
                    below1 = e1 - own1 + symbol_sums[1]
                if has_after:
                    below0 *= out0 - own0 + pair_sums[0]
                    below1 *= out1 - own1 + pair_sums[1]
                weight0 *= below1
                weight1 *= below0
                if has_before and has_after:
                    to0, to1 = (n10, n11) if a else (n00, n01)
                    from0, from1 = (n01, n11) if c else (n00, n10)
                    to0 = to0 - held[a, old, c, 0] + pair_prior[a, 0]
                    to1 = to1 - held[a, old, c, 1] + pair_prior[a, 1]
                    from0 = from0 - held[a, old, c, 2] + pair_prior[0, c]
                    from1 = from1 - held[a, old, c, 3] + pair_prior[1, c]
                    weight0 *= to0 * from0
                    weight1 *= to1 * from1
                elif has_before:
                    weight0 *= (n10 if a else n00) - own0 + pair_prior[a, 0]
                    weight1 *= (n11 if a else n01) - own1 + pair_prior[a, 1]
                else:
                    weight0 *= starts[0] - own0 + start_prior[0]
                    weight1 *= starts[1] - own1 + start_prior[1]
                    if has_after:
                        weight0 *= (n01 if c else n00) - own0 + pair_prior[0, c]
                        weight1 *= (n11 if c else n10) - own1 + pair_prior[1, c]
                x = uniform_of(streams, j) * (weight0 + weight1)
                new = (weight0 <= x) & (weight1 > 0.0)
                paths[j, i] = new

                # What the counts become if the site moves, by d, to the other state.
                moves = new != (old == _ONE)
                d = own0 - own1
                at_a1, at_c1 = d * before * np.float64(a), d * after * np.float64(c)
                at_a0, at_c0 = d * before - at_a1, d * after - at_c1
                n00 = n00 - (at_a0 + at_c0) if moves else n00
                n01 = n01 + (at_a0 - at_c1) if moves else n01
                n10 = n10 + (at_c0 - at_a1) if moves else n10
                n11 = n11 + (at_a1 + at_c1) if moves else n11
                out0 = out0 - d * after if moves else out0
                out1 = out1 + d * after if moves else out1
                e0 = e0 - d * seen if moves else e0
                e1 = e1 + d * seen if moves else e1
                emitted0 = emitted0 - d if moves else emitted0
                emitted1 = emitted1 + d if moves else emitted1
                if not has_before and moves:
                    starts[0] -= d
                    starts[1] += d
            symbols[w, 0], symbols[w, 1] = emitted0, emitted1
    pairs[0, 0], pairs[0, 1], pairs[1, 0], pairs[1, 1] = n00, n01, n10, n11


@kernel
def _fill_held(held):
    """Set what a site holds of N_a0, N_a1, N_0c and N_1c, less the bracket [a = s = c], by [a, old, c]."""
    for a in range(2):
        for old in range(2):
            for c in range(2):
                for s in range(2):
                    held[a, old, c, s] = (old == s) + (old == a and c == s)
                    held[a, old, c, 2 + s] = (old == s) + (a == s and old == c) - (a == s and c == s)
