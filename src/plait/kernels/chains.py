"""Kernels of hidden Markov chains, for any kind of emissions.

The data are sequences: sequence k holds the sites offsets[k] to offsets[k + 1]. The chain has S states,
`start` (S,) and `transitions` (S, S), row a being the law of the state after a. What the kernels know of the
emissions is b_i(s), the probability of the observation at site i in state s, in one of two forms:

    logs = False   b_i(s) = weights[rows[i], s]: one row of the table a symbol, the last for missing ones
    logs = True    log b_i(s) = weights[i - base, s]: one row of the table a site

With logs, a row is scaled by its largest entry among the states that can be reached: however unlikely an
observation is, the numbers neither vanish nor overflow.

`size` makes kernels quick where states are few: a tuple of S entries, of whatever value. The length of a
tuple is known when kernels are compiled, so loops over states are unrolled. With many states it is empty.

`room` is scratch, (4, S). Arrays of messages are (n, S), their row 0 being the site `base`; they may be the
array `weights` itself where logs is True.
"""

from __future__ import annotations

import numpy as np

from plait.jit import kernel
from plait.rng import open_stream, uniform, uniform_of

FEW_STATES = 4
"""Up to so many states, a kernel is compiled for each number of them."""

_SMALL = 1e-30  # messages whose sum is below that are scaled, long before they lose digits
_UNSAFE = 1e-280  # a sum of weights below that has lost digits


def size_of(n_states: int) -> tuple[int, ...]:
    """Return what kernels want as `size` for a number of states."""
    return (0,) * n_states if n_states <= FEW_STATES else ()


@kernel
def _n_states(size, n_states):
    """Return the number of states, as a constant where there are few."""
    return len(size) if len(size) > 0 else n_states


# ---------------------------------------------------------------------------------------------------------
# Messages along a sequence
# ---------------------------------------------------------------------------------------------------------


@kernel
def _advance(size, source, row, matrix, factors, factor, target, to):
    """Set target(r) = factor(r) sum_s source(s) matrix(s, r), each a row of an array; return the sum over r.

    With many states, four sums at a time stay in registers and need no memory in between.
    """
    n_states = _n_states(size, matrix.shape[0])
    total = 0.0
    r = 0
    while len(size) == 0 and r + 4 <= n_states:
        a = b = c = d = 0.0
        for s in range(n_states):
            x = source[row, s]
            a += x * matrix[s, r]
            b += x * matrix[s, r + 1]
            c += x * matrix[s, r + 2]
            d += x * matrix[s, r + 3]
        a *= factors[factor, r]
        b *= factors[factor, r + 1]
        c *= factors[factor, r + 2]
        d *= factors[factor, r + 3]
        target[to, r] = a
        target[to, r + 1] = b
        target[to, r + 2] = c
        target[to, r + 3] = d
        total += (a + b) + (c + d)
        r += 4
    while r < n_states:
        a = 0.0
        for s in range(n_states):
            a += source[row, s] * matrix[s, r]
        a *= factors[factor, r]
        target[to, r] = a
        total += a
        r += 1
    return total


@kernel
def _absorb_logs(size, logs, row, arriving, messages, to):
    """Set row `to` of the messages to arriving(s) exp(logs(s) - shift); return their sum and the shift.

    Row 0 of `arriving` is what the sites before say. The shift is the largest of the logarithms of states
    that can be reached at all. The messages may be the array `logs`.
    """
    n_states = _n_states(size, messages.shape[1])
    shift = -np.inf
    for s in range(n_states):
        if arriving[0, s] > 0.0:
            shift = max(shift, logs[row, s])
    if shift == -np.inf:
        return 0.0, 0.0
    total = 0.0
    for s in range(n_states):
        x = 0.0
        if arriving[0, s] > 0.0:
            x = arriving[0, s] * np.exp(logs[row, s] - shift)
        messages[to, s] = x
        total += x
    return total, shift


@kernel
def _add(total, lost, x):
    """Return total + x, and what rounding lost so far: so do long sums keep their digits (Kahan)."""
    y = x - lost
    after = total + y
    return after, (after - total) - y


@kernel
def _filter(size, first, last, base, rows, weights, logs, start, matrix, messages, keep, room):
    """Pass messages from the site `first` towards `last`, which may lie before it.

    The message of the first site is start(s) b(s), that of others b(s) sum_r message_before(r) matrix(r, s).
    They are scaled where they get small. Returns the logarithm of the sum over s at the last site, scales
    included, or -inf where it is zero. Without `keep` the messages take turns in two rows.
    """
    n_states = _n_states(size, start.size)
    step = 1 if last >= first else -1
    log_scale = 0.0
    lost = 0.0
    total = 0.0
    for s in range(n_states):
        room[0, s] = start[s]
        room[1, s] = 1.0
    for i in range(first, last, step):
        to = i - base if keep else (i - first) & 1
        before = to - step if keep else 1 - to
        if logs:
            if i != first:
                _advance(size, messages, before, matrix, room, 1, room, 0)
            total, shift = _absorb_logs(size, weights, i - base, room, messages, to)
            log_scale, lost = _add(log_scale, lost, shift)
        elif i != first:
            total = _advance(size, messages, before, matrix, weights, rows[i], messages, to)
        else:
            for s in range(n_states):
                messages[to, s] = start[s] * weights[rows[i], s]
                total += messages[to, s]
        if not total >= _SMALL:
            if not total > 0.0:
                return -np.inf
            log_scale, lost = _add(log_scale, lost, np.log(total))
            scale = 1.0 / total
            for s in range(n_states):
                messages[to, s] *= scale
            total = 1.0
    return log_scale + (np.log(total) - lost)


@kernel
def filter_forward(size, first, last, base, rows, weights, logs, start, transitions, messages, keep, room):
    """Set the messages of the sites first to last to P(p_i, w_first..w_i), up to a factor.

    Returns log P(w_first..w_last). It is -inf if no path of states explains the observations; the messages
    are then of no use. Without `keep` the messages, (2, S), are scratch.
    """
    return _filter(size, first, last, base, rows, weights, logs, start, transitions, messages, keep, room)


@kernel
def filter_backward(size, first, last, base, rows, weights, logs, into, messages, room):
    """Set the messages of the sites first to last to P(w_i..w_last | p_i), up to a factor.

    `into` is the transposed matrix of transitions. Returns -inf if no path of states explains them.
    """
    for s in range(into.shape[0]):
        room[2, s] = 1.0
    return _filter(size, last - 1, first - 1, base, rows, weights, logs, room[2], into, messages, True, room)


@kernel
def smooth(size, first, last, base, transitions, into, messages, pairs, room):
    """Turn the messages of `filter_forward` into P(p_i | w), and add P(p_i, p_i+1 | w) to `pairs`.

    With alpha_i the messages and gamma_i the result,

        P(p_i = s, p_i+1 = r | w) = alpha_i(s) A(s, r) gamma_i+1(r) / sum_s' alpha_i(s') A(s', r),

    summed over r gives gamma_i(s). A itself is left out of `pairs` (S, S): it is a factor of the sum.
    """
    n_states = _n_states(size, transitions.shape[0])
    total = 0.0
    for s in range(n_states):
        room[1, s] = 1.0
        total += messages[last - 1 - base, s]
    for s in range(n_states):
        messages[last - 1 - base, s] /= total
    for i in range(last - 2 - base, first - 1 - base, -1):
        _advance(size, messages, i, transitions, room, 1, room, 0)
        for r in range(n_states):
            x = messages[i + 1, r]
            room[0, r] = x / room[0, r] if x > 0.0 else 0.0
        for s in range(n_states):
            x = messages[i, s]
            for r in range(n_states):
                pairs[s, r] += x * room[0, r]
        total = _advance(size, room, 0, into, messages, i, messages, i)
        scale = 1.0 / total  # 1 but for rounding, which must not pile up
        for s in range(n_states):
            messages[i, s] *= scale


@kernel
def smooth_range(
    size,
    first,
    last,
    offsets,
    base,
    rows,
    weights,
    logs,
    start,
    transitions,
    into,
    messages,
    starts,
    pairs,
    likelihoods,
    room,
):
    """Do `filter_forward` and `smooth` for the sequences first to last: the E step of Baum and Welch.

    `starts` (S,) and `pairs` (S, S), zeros on entry, receive the sums of P(p_i | w) over the first sites and
    of P(p_i, p_i+1 | w) over all; `likelihoods` (n,) the log-likelihood of each sequence.
    """
    for k in range(first, last):
        a, b = offsets[k], offsets[k + 1]
        likelihoods[k - first] = filter_forward(
            size, a, b, base, rows, weights, logs, start, transitions, messages, True, room
        )
        if likelihoods[k - first] == -np.inf:
            messages[a - base : b - base] = np.nan
            continue
        smooth(size, a, b, base, transitions, into, messages, pairs, room)
        for s in range(start.size):
            starts[s] += messages[a - base, s]
    for s in range(start.size):
        for r in range(start.size):
            pairs[s, r] *= transitions[s, r]


@kernel
def log_likelihoods_range(
    size, first, last, offsets, base, rows, weights, logs, start, transitions, likelihoods, room
):
    """Set `likelihoods` (n,) to the log-likelihood of each of the sequences first to last."""
    messages = room[2:4]
    for k in range(first, last):
        likelihoods[k - first] = filter_forward(
            size,
            offsets[k],
            offsets[k + 1],
            base,
            rows,
            weights,
            logs,
            start,
            transitions,
            messages,
            False,
            room,
        )


# ---------------------------------------------------------------------------------------------------------
# The blocked sampler: one filter for the data, then a draw of every path
# ---------------------------------------------------------------------------------------------------------


@kernel
def _draw_state(size, left, row, right, line, u):
    """Return a state drawn with the weights left(s) right(s), each a row of an array.

    The sum is made twice rather than kept: what is kept would stand between the paths, which the processor
    otherwise draws at the same time.
    """
    n_states = _n_states(size, left.shape[1])
    total = 0.0
    for s in range(n_states):
        total += left[row, s] * right[line, s]
    x = u * total
    chosen = 0
    total = 0.0
    for s in range(n_states - 1):
        total += left[row, s] * right[line, s]
        chosen += total <= x
    if left[row, chosen] * right[line, chosen] == 0.0:  # rounding made x the total
        while chosen > 0 and left[row, chosen] * right[line, chosen] == 0.0:
            chosen -= 1
    return chosen


@kernel
def draw_paths(
    size,
    first,
    meet,
    last,
    base,
    unit,
    backwards,
    transitions,
    into,
    messages,
    first_path,
    last_path,
    paths,
    streams,
    states,
    room,
    seed,
    sweep,
):
    """Draw p^j from P(p^j | w, phi) for the paths first_path to last_path, on one side of a meeting point.

    Up to the site `meet` the messages are those of `filter_forward`, from there those of `filter_backward`.
    The state at the site before `meet` is drawn first, from the product of both; then

        backwards:  p_i from P(p_i | w_first..w_i) A(p_i, p_i+1),   down to the first site
        else:       p_i from A(p_i-1, p_i) P(w_i..w_last | p_i),    up to the last site.

    The two sides share nothing but the state at the meeting point, which each draws for itself from the same
    random number: so they can be drawn at the same time. Where `meet` is `last` there is one side only.
    Returns False, with nothing drawn, where no state at the meeting point suits both sides. `streams` (m, 2)
    and `states` (m,) are scratch.
    """
    total = 0.0
    for s in range(transitions.shape[0]):
        room[0, s] = 1.0
        room[1, s] = 1.0
    if meet < last:
        _advance(size, messages, meet - base, into, room, 1, room, 0)
    for s in range(transitions.shape[0]):
        total += messages[meet - 1 - base, s] * room[0, s]
    if not total > 0.0:
        return False
    for j in range(first_path, last_path):
        open_stream(streams[j], seed, sweep, j, 2 * unit)
        states[j] = _draw_state(size, messages, meet - 1 - base, room, 0, uniform_of(streams, j))
    if backwards:
        for j in range(first_path, last_path):
            paths[j, meet - 1] = states[j]
        for i in range(meet - 2, first - 1, -1):
            for j in range(first_path, last_path):
                states[j] = _draw_state(size, messages, i - base, into, states[j], uniform_of(streams, j))
                paths[j, i] = states[j]
    else:
        for j in range(first_path, last_path):
            open_stream(streams[j], seed, sweep, j, 2 * unit + 1)
        for i in range(meet, last):
            for j in range(first_path, last_path):
                states[j] = _draw_state(
                    size, messages, i - base, transitions, states[j], uniform_of(streams, j)
                )
                paths[j, i] = states[j]
    return True


@kernel
def resample_blocked(
    size,
    first,
    last,
    offsets,
    base,
    rows,
    weights,
    logs,
    start,
    transitions,
    into,
    messages,
    paths,
    streams,
    states,
    room,
    seed,
    sweep,
):
    """Draw every path of the sequences first to last as a whole.

    Returns the first sequence that no path explains, or -1.
    """
    for k in range(first, last):
        a, b = offsets[k], offsets[k + 1]
        here = base if logs else a  # a table of symbols leaves the messages a place of their own
        log_likelihood = filter_forward(
            size, a, b, here, rows, weights, logs, start, transitions, messages, True, room
        )
        if log_likelihood == -np.inf:
            return k
        draw_paths(
            size,
            a,
            b,
            b,
            here,
            k,
            True,
            transitions,
            into,
            messages,
            0,
            paths.shape[0],
            paths,
            streams,
            states,
            room,
            seed,
            sweep,
        )
    return -1


# ---------------------------------------------------------------------------------------------------------
# The same in logarithms, for chains in which transitions are forbidden
#
# A state that is some 640 nats behind the others vanishes from a message. Mostly that is no loss: it would
# get more from the transitions of others than it had. But where these are forbidden it may yet win, if others
# cannot go on. The kernels below lose nothing: they take all of phi in logarithms, the weights of either form
# included.
# ---------------------------------------------------------------------------------------------------------


@kernel
def _log_arriving(messages, row, transitions, s):
    """Return log sum_r exp(message(r) + transitions(r, s))."""
    top = -np.inf
    for r in range(transitions.shape[0]):
        top = max(top, messages[row, r] + transitions[r, s])
    if top == -np.inf:
        return top
    total = 0.0
    for r in range(transitions.shape[0]):
        x = messages[row, r] + transitions[r, s]
        if x > -np.inf:
            total += np.exp(x - top)
    return top + np.log(total)


@kernel
def _filter_logs(first, last, base, here, rows, weights, logs, start, transitions, messages, keep, room):
    """Do `filter_forward` in logarithms: set the messages to log P(p_i, w_first..w_i), with 0 as largest.

    Row 0 of the messages is the site `here`.
    """
    n_states = start.size
    log_scale = 0.0
    lost = 0.0
    to = 0
    for i in range(first, last):
        before = i - 1 - here if keep else 0
        to = i - here if keep else 0
        row = i - base if logs else np.int64(rows[i])
        top = -np.inf
        for s in range(n_states):
            arriving = start[s] if i == first else _log_arriving(messages, before, transitions, s)
            room[0, s] = arriving + weights[row, s]
            top = max(top, room[0, s])
        if not top > -np.inf:
            return -np.inf
        log_scale, lost = _add(log_scale, lost, top)
        for s in range(n_states):
            messages[to, s] = room[0, s] - top
    total = 0.0
    for s in range(n_states):
        total += np.exp(messages[to, s])
    return log_scale + (np.log(total) - lost)


@kernel
def log_likelihoods_by_logs(
    first, last, offsets, base, rows, weights, logs, start, transitions, likelihoods, room
):
    """Do `log_likelihoods_range` in logarithms."""
    message = room[1:2]
    for k in range(first, last):
        a, b = offsets[k], offsets[k + 1]
        likelihoods[k - first] = _filter_logs(
            a, b, base, a, rows, weights, logs, start, transitions, message, False, room
        )


@kernel
def smooth_by_logs(
    first,
    last,
    offsets,
    base,
    rows,
    weights,
    logs,
    start,
    transitions,
    messages,
    starts,
    pairs,
    likelihoods,
    room,
):
    """Do `smooth_range` in logarithms."""
    n_states = start.size
    for k in range(first, last):
        a, b = offsets[k] - base, offsets[k + 1] - base
        likelihoods[k - first] = _filter_logs(
            offsets[k],
            offsets[k + 1],
            base,
            base,
            rows,
            weights,
            logs,
            start,
            transitions,
            messages,
            True,
            room,
        )
        if likelihoods[k - first] == -np.inf:
            messages[a:b] = np.nan
            continue
        total = 0.0
        for s in range(n_states):
            messages[b - 1, s] = np.exp(messages[b - 1, s])
            total += messages[b - 1, s]
        for s in range(n_states):
            messages[b - 1, s] /= total
        for i in range(b - 2, a - 1, -1):
            for r in range(n_states):
                room[1, r] = np.log(messages[i + 1, r]) - _log_arriving(messages, i, transitions, r)
            total = 0.0
            for s in range(n_states):
                room[0, s] = 0.0
                for r in range(n_states):
                    if messages[i + 1, r] > 0.0:
                        x = np.exp(messages[i, s] + transitions[s, r] + room[1, r])
                        pairs[s, r] += x
                        room[0, s] += x
                total += room[0, s]
            for s in range(n_states):
                messages[i, s] = room[0, s] / total
        for s in range(n_states):
            starts[s] += messages[a, s]


@kernel
def resample_blocked_by_logs(
    first,
    last,
    offsets,
    base,
    rows,
    weights,
    logs,
    start,
    transitions,
    messages,
    paths,
    streams,
    room,
    seed,
    sweep,
):
    """Do `resample_blocked` in logarithms."""
    n_states = start.size
    for s in range(n_states):
        room[1, s] = 1.0
    for k in range(first, last):
        a, b = offsets[k], offsets[k + 1]
        here = base if logs else a
        total = _filter_logs(a, b, base, here, rows, weights, logs, start, transitions, messages, True, room)
        if total == -np.inf:
            return k
        for j in range(paths.shape[0]):
            open_stream(streams[j], seed, sweep, j, 2 * k)
            for i in range(b - 1, a - 1, -1):
                top = -np.inf
                for s in range(n_states):
                    x = messages[i - here, s]
                    if i + 1 < b:
                        x += transitions[s, paths[j, i + 1]]
                    room[0, s] = x
                    top = max(top, x)
                for s in range(n_states):
                    room[0, s] = np.exp(room[0, s] - top)
                paths[j, i] = _draw_state((), room, 0, room, 1, uniform_of(streams, j))
    return -1


# ---------------------------------------------------------------------------------------------------------
# The single-site samplers
# ---------------------------------------------------------------------------------------------------------


@kernel
def fill_thresholds(leaving, into, weights, thresholds):
    """Tabulate P(p_i <= s | p_i-1 = a, p_i+1 = c, w_i) as thresholds[w, a, c, s].

    `leaving` (S + 1, S) is the matrix of transitions with `start` as a last row, for sites that come first;
    `into` (S + 1, S) its transpose with a last row of ones, for sites that come last.
    """
    n_states = leaving.shape[1]
    for w in range(weights.shape[0]):
        for a in range(n_states + 1):
            for c in range(n_states + 1):
                x = 0.0
                for s in range(n_states):
                    x += leaving[a, s] * into[c, s] * weights[w, s]
                    thresholds[w, a, c, s] = x
                scale = 1.0 / x if x > 0.0 else 0.0
                for s in range(n_states):
                    # From the last possible state on, rounding must not leave room for what is forbidden.
                    ended = thresholds[w, a, c, s] == x
                    thresholds[w, a, c, s] = 2.0 if ended else thresholds[w, a, c, s] * scale


@kernel
def resample_by_thresholds(
    size, first, last, first_path, last_path, offsets, rows, thresholds, paths, streams, seed, sweep
):
    """Draw every site in turn given its neighbours, by the table of `fill_thresholds`."""
    n_states = _n_states(size, thresholds.shape[3])
    for k in range(first, last):
        a, b = offsets[k], offsets[k + 1]
        for j in range(first_path, last_path):
            stream = streams[j]
            open_stream(stream, seed, sweep, j, k)
            path = paths[j]
            before = n_states
            for i in range(a, b):
                after = n_states if i + 1 == b else np.int64(path[i + 1])
                row = rows[i]
                u = uniform(stream)
                s = 0
                for t in range(n_states - 1):
                    s += thresholds[row, before, after, t] <= u
                path[i] = s
                before = s


@kernel
def resample_sites(
    size,
    first,
    last,
    first_path,
    last_path,
    offsets,
    base,
    rows,
    weights,
    logs,
    leaving,
    into,
    paths,
    streams,
    room,
    seed,
    sweep,
):
    """Lines 5 to 9 of Algorithm 1: draw every p^j_i in turn from P(p_i | p_i-1, p_i+1, w_i, phi).

    The weight of the state s is A(p_i-1, s) A(s, p_i+1) b_i(s); see `fill_thresholds` for both ends.
    """
    n_states = _n_states(size, leaving.shape[1])
    for k in range(first, last):
        a, b = offsets[k], offsets[k + 1]
        for j in range(first_path, last_path):
            open_stream(streams[j], seed, sweep, j, k)
        for i in range(a, b):
            if logs:
                shift = -np.inf
                for s in range(n_states):
                    shift = max(shift, weights[i - base, s])
                for s in range(n_states):
                    room[1, s] = np.exp(weights[i - base, s] - shift)
            else:
                for s in range(n_states):
                    room[1, s] = weights[rows[i], s]
            for j in range(first_path, last_path):
                before = n_states if i == a else np.int64(paths[j, i - 1])
                after = n_states if i + 1 == b else np.int64(paths[j, i + 1])
                total = 0.0
                for s in range(n_states):
                    x = leaving[before, s] * room[1, s]
                    room[0, s] = x
                    total += x * into[after, s]
                if total < _UNSAFE and logs:
                    _rescale(weights, i - base, leaving, before, into, after, room)
                    after = n_states  # a row of ones
                paths[j, i] = _draw_state(size, room, 0, into, after, uniform_of(streams, j))


@kernel
def _rescale(logs, row, leaving, before, into, after, room):
    """Set row 0 of the room to the weights of `resample_sites`, scaled by the largest of them."""
    n_states = leaving.shape[1]
    shift = -np.inf
    for s in range(n_states):
        room[0, s] = np.log(leaving[before, s]) + np.log(into[after, s]) + logs[row, s]
        shift = max(shift, room[0, s])
    for s in range(n_states):
        room[0, s] = np.exp(room[0, s] - shift)


@kernel
def resample_collapsed(
    size,
    offsets,
    rows,
    paths,
    starts,
    pairs,
    symbols,
    start_prior,
    pair_prior,
    symbol_prior,
    pair_sums,
    symbol_sums,
    streams,
    room,
    seed,
    sweep,
):
    """Algorithm 2 for categorical emissions: draw every p^j_i given all other latent variables.

    With all counts taken without the site, a and c the states before and after it, and w its symbol, phi
    integrated out leaves the weight of state s

        (E_ws + eta_ws) / (E_s + sum_w eta_ws)                                  emission
        (N_as + gamma_as)                                                       transition to s
        (N_sc + gamma_sc + [a = s = c]) / (N_s + sum_r gamma_sr + [a = s])      transition from s

    The brackets are there because the transition to s comes before the one from s, and where a = s both are
    drawn from the same row. At the first site the second line is the count and prior of starts; at the last
    site the third line is absent; where the observation is missing, so is the first.

    starts (S,), pairs (S, S) and symbols (W + 1, S) are the counts of all paths, as real numbers that are
    whole; the last row of symbols counts missing observations. On return they are those of the new paths.
    `pair_sums` and `symbol_sums` (S,) are the sums of the priors over r and over w. `room` is scratch,
    (4 + 2 S, S). Counts are kept apart from priors: they stay exact, and what is small is not lost next to
    what is large when a site is taken out.
    """
    n_states = _n_states(size, starts.size)
    n_paths = paths.shape[0]
    missing = symbols.shape[0] - 1
    likely = room[0]
    room[1] = 1.0
    leaving = room[2]  # N_s
    emitted = room[3]  # E_s
    into = room[4 : 4 + n_states]  # N_sc, transposed
    into_prior = room[4 + n_states : 4 + 2 * n_states]  # gamma_sc, transposed
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
            open_stream(streams[j], seed, sweep, j, k)
        for i in range(first, last):
            w = rows[i]
            for j in range(n_paths):
                old = np.int64(paths[j, i])
                a = np.int64(paths[j, i - 1]) if i > first else -1
                c = np.int64(paths[j, i + 1]) if i + 1 < last else -1

                # Take the site out. The total of row a keeps one for the transition to s, wherever it leads:
                # for s = a that is the bracket in the denominator, for others it does not matter.
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

                if a >= 0 and c >= 0 and w < missing:  # as below, without questions in the loop
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
                new = _draw_state(size, room, 0, room, 1, uniform_of(streams, j))

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


# ---------------------------------------------------------------------------------------------------------
# Counts and likelihoods of paths, and the best path
# ---------------------------------------------------------------------------------------------------------


@kernel
def count_pairs(first, last, k, offsets, paths, starts, pairs):
    """Add the starts and the transitions of all paths that end at the sites first to last.

    `k` is the sequence of the site `first`.
    """
    begin = offsets[k]
    for i in range(first, last):
        while i >= offsets[k + 1]:
            k += 1
            begin = offsets[k]
        for j in range(paths.shape[0]):
            if i == begin:
                starts[paths[j, i]] += 1.0
            else:
                pairs[paths[j, i - 1], paths[j, i]] += 1.0


@kernel
def log_joints_range(first, last, offsets, base, rows, weights, logs, start, transitions, paths, sums):
    """Add log P(p^j, w | phi) of the sequences first to last to `sums` (m,); all of phi is in logarithms."""
    for k in range(first, last):
        a, b = offsets[k], offsets[k + 1]
        for j in range(paths.shape[0]):
            x = 0.0
            before = np.int64(0)
            for i in range(a, b):
                s = np.int64(paths[j, i])
                x += start[s] if i == a else transitions[before, s]
                x += weights[i - base, s] if logs else weights[rows[i], s]
                before = s
            sums[j] += x


@kernel
def best_paths_range(
    size, first, last, offsets, base, rows, weights, logs, start, transitions, arrows, best, likelihoods, room
):
    """Find the most probable path of each of the sequences first to last (Viterbi); phi is in logarithms.

    `best` (N,) receives the states, `likelihoods` (n,) log P(p, w | phi). `arrows` (n, S) is scratch, for the
    longest of the sequences. Of equally good states the first is taken.
    """
    n_states = _n_states(size, start.size)
    score = room[0]
    after = room[1]
    for k in range(first, last):
        a, b = offsets[k], offsets[k + 1]
        for i in range(a, b):
            row = weights[i - base] if logs else weights[rows[i]]
            for r in range(n_states):
                if i == a:
                    after[r] = start[r] + row[r]
                    continue
                top = -np.inf
                where = 0
                for s in range(n_states):
                    x = score[s] + transitions[s, r]
                    if x > top:
                        top = x
                        where = s
                arrows[i - a, r] = where
                after[r] = top + row[r]
            score[:] = after
        state = 0
        for r in range(n_states):
            if score[r] > score[state]:
                state = r
        likelihoods[k - first] = score[state]
        for i in range(b - 1, a - 1, -1):
            best[i] = state
            if i > a:
                state = int(arrows[i - a, state])
