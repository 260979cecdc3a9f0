"""The collapsed sampler: Algorithm 2 for categorical emissions."""

from __future__ import annotations

import numpy as np

from plait.jit import kernel
from plait.kernels.chains.states import draw_state, number_of_states
from plait.rng import open_stream, uniform_of


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
    n_states = number_of_states(size, starts.size)
    n_paths = paths.shape[0]
    missing = symbols.shape[0] - 1
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
        for w in range(missing):
            emitted[s] += symbols[w, s]

    for k in range(offsets.size - 1):
        first, last = offsets[k], offsets[k + 1]
        for j in range(n_paths):
            open_stream(streams[j], key.seed, key.sweep, j, k)
        for i in range(first, last):
            w = rows[i]
            for j in range(n_paths):
                old = np.int64(paths[j, i])
                a = np.int64(paths[j, i - 1]) if i > first else -1
                c = np.int64(paths[j, i + 1]) if i + 1 < last else -1

                # Take the site out. The total of row a keeps one for the transition to s, whatever s is: for
                # s = a that is the bracket in the denominator, for other s it has no effect.
                symbols[w, old] -= 1.0
                emitted[old] -= w < missing
                if a >= 0:
                    pairs[a, old] -= 1.0
                    into[old, a] -= 1.0
                else:
                    starts[old] -= 1.0
                if c >= 0:
                    pairs[old, c] -= 1.0
                    into[c, old] -= 1.0
                    leaving[old] -= 1.0

                if a >= 0 and c >= 0 and w < missing:  # the general case below, without branches in the loop
                    for s in range(n_states):
                        x = (pairs[a, s] + pair_prior[a, s]) * (into[c, s] + into_prior[c, s])
                        x *= symbols[w, s] + symbol_prior[w, s]
                        likely[s] = x / ((leaving[s] + pair_sums[s]) * (emitted[s] + symbol_sums[s]))
                    if a == c:
                        x = (pairs[a, a] + pair_prior[a, a]) * (symbols[w, a] + symbol_prior[w, a])
                        likely[a] += x / ((leaving[a] + pair_sums[a]) * (emitted[a] + symbol_sums[a]))
                else:
                    for s in range(n_states):
                        x = pairs[a, s] + pair_prior[a, s] if a >= 0 else starts[s] + start_prior[s]
                        if c >= 0:
                            x *= into[c, s] + into_prior[c, s] + (a == c and s == a)
                            x /= leaving[s] + pair_sums[s]
                        if w < missing:
                            x *= (symbols[w, s] + symbol_prior[w, s]) / (emitted[s] + symbol_sums[s])
                        likely[s] = x
                new = draw_state(size, buffer, 0, buffer, 1, uniform_of(streams, j))

                paths[j, i] = new
                symbols[w, new] += 1.0
                emitted[new] += w < missing
                if a >= 0:
                    pairs[a, new] += 1.0
                    into[new, a] += 1.0
                else:
                    starts[new] += 1.0
                if c >= 0:
                    pairs[new, c] += 1.0
                    into[c, new] += 1.0
                    leaving[new] += 1.0
