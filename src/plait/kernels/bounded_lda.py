"""The collapsed sampler of LDA for many topics: Algorithm 4 of the paper, at a cost that hardly depends on T.

A token's topic t has the weight, with all counts taken without the token,

    r_t = f_t C^DT_jdt  +  f_t alpha_t,    f_t = (C^TW_tw + eta_tw) / (C^T_t + sum_w eta_tw).

The first part is a sum over the few topics in the document. The second is a sum over all topics, whose
denominators change with every token. So it is replaced by an upper bound with fixed denominators, the floors
S_t <= C^T_t + sum_w eta_tw:

    f_t alpha_t  <=  (C^TW_tw + eta_tw) alpha_t / S_t.

The sum of the bounds over all topics is kept for each word, and changes only by alpha_t / S_t when a token of
the word changes its topic. For the topic that the token leaves, the weight itself takes the bound's place. A
draw from the first part, or of that topic, is final. One from the bounds is accepted with the probability
S_t / (C^T_t + sum_w eta_tw), the ratio of the weight to its bound; if it is not, all parts are drawn from
again. That is rejection sampling: an accepted topic has exactly the distribution r. All topics are examined
only for a draw from the bounds, about every fifth.

A floor must move when it exceeds its denominator, and should when it is far below it, since then too many
draws are rejected. That changes the sums of all words, but it is rare, because few tokens change the total of
a topic by a noticeable share.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plait.jit import kernel, summing_kernel
from plait.kernels.documents import TopicList, add_topic, clear_topics, drop_topic, list_topics
from plait.kernels.prefetching import prefetch_cell
from plait.kernels.vectors import draw_topic, weigh_topics
from plait.rng import open_stream, uniform

_AHEAD = np.uint64(3)  # tokens between the request for a word's counts and their use
_SHARE = 0.9  # a new floor, as a share of its denominator
_LEAST_SHARE = 0.65  # below this share of it, a floor is moved
_MAX_ATTEMPTS = 1000  # more than half of the draws from the bounds are accepted, so this is never reached


class Bounds(NamedTuple):
    """The upper bounds of the part of the weights with alpha; V is T, rounded up to whole vectors.

    Attributes
    ----------
    floors : ndarray of float64, (T,)
        S_t, at most C^T_t + sum_w eta_tw.
    ratios : ndarray of float64, (T,)
        alpha_t / S_t.
    inverse : ndarray of float32, (V,)
        1 / S_t, and zero beyond T.
    sums : ndarray of float64, (W,)
        sum_t (C^TW_tw + eta_tw) alpha_t / S_t.
    """

    floors: NDArray[np.float64]
    ratios: NDArray[np.float64]
    inverse: NDArray[np.float32]
    sums: NDArray[np.float64]


class BoundedScratch(NamedTuple):
    """Scratch of `resample_collapsed_bounded`; V is T, rounded up to whole vectors.

    Attributes
    ----------
    streams : ndarray of uint64, (m, 2)
        The random stream of each path.
    present : TopicList, arrays (m, T)
        The topics present in each path of one document.
    sizes : ndarray of uint64, (m,)
        Number of these topics.
    inverse : ndarray of float64, (T,)
        1 / (C^T_t + sum_w eta_tw).
    cumulative : ndarray of float64, (T,)
        Cumulative sums of the first part of the weights of one token.
    eta : ndarray of float32, (V,)
        eta_tw of one word, and zero beyond T.
    alpha : ndarray of float32, (V,)
        alpha_t, and zero beyond T.
    bounds : ndarray of float32, (V,)
        Sums of the bounds of one token, see `plait.kernels.vectors`.
    sums : ndarray of float32, (LANES,)
        Scratch of `draw_topic`.
    """

    streams: NDArray[np.uint64]
    present: TopicList
    sizes: NDArray[np.uint64]
    inverse: NDArray[np.float64]
    cumulative: NDArray[np.float64]
    eta: NDArray[np.float32]
    alpha: NDArray[np.float32]
    bounds: NDArray[np.float32]
    sums: NDArray[np.float32]


@summing_kernel
def sum_bounds(word, eta, ratios):
    """Return the sum over all topics of (C^TW_tw + eta_tw) alpha_t / S_t, for one word."""
    total = 0.0
    for t in range(ratios.size):
        total += (word[t] + eta[t]) * ratios[t]
    return total


@kernel
def set_floor(t, counts, priors, bounds):
    """Set S_t, and what depends on it except for the sums."""
    bounds.floors[t] = _SHARE * (counts.topics[t] + priors.eta_sums[t])
    bounds.ratios[t] = priors.alpha[t] / bounds.floors[t]
    bounds.inverse[t] = 1.0 / bounds.floors[t]


@kernel
def set_bounds(counts, priors, bounds):
    """Fill `bounds` for these counts."""
    for t in range(np.uint64(bounds.floors.size)):
        set_floor(t, counts, priors, bounds)
    for w in range(np.uint64(bounds.sums.size)):
        bounds.sums[w] = sum_bounds(counts.words[w], priors.eta[priors.eta_row[w]], bounds.ratios)


@kernel
def move_floor(t, counts, priors, bounds):
    """Recompute S_t, and update the sums of all words."""
    before = bounds.ratios[t]
    set_floor(t, counts, priors, bounds)
    change = bounds.ratios[t] - before
    for w in range(np.uint64(bounds.sums.size)):
        bounds.sums[w] += change * (counts.words[w, t] + priors.eta[priors.eta_row[w], t])


@kernel
def move_token(w, old, new, counts, priors, bounds, inverse):
    """Count a token of the word w with the topic `new` instead of `old`, and keep the rest up to date."""
    counts.words[w, old] -= 1
    counts.words[w, new] += 1
    counts.topics[old] -= 1
    counts.topics[new] += 1
    total_of_old = counts.topics[old] + priors.eta_sums[old]
    total_of_new = counts.topics[new] + priors.eta_sums[new]
    inverse[old] = 1.0 / total_of_old
    inverse[new] = 1.0 / total_of_new
    bounds.sums[w] += bounds.ratios[new] - bounds.ratios[old]
    if total_of_old < bounds.floors[old]:
        move_floor(old, counts, priors, bounds)
    if _LEAST_SHARE * total_of_new > bounds.floors[new]:
        move_floor(new, counts, priors, bounds)


@kernel
def search_without(cumulative, n, x, place, excess):
    """Return what `documents.search` does, with `excess` taken out of the weight at `place`."""
    k = np.uint64(0)
    beyond = x + excess
    for i in range(n):
        k += np.uint64(cumulative[i] <= (x if i < place else beyond))
    return min(k, n - np.uint64(1))


@kernel
def resample_collapsed_bounded(first, last, documents, paths, counts, bounds, priors, scratch, key):
    """Sample as `resample_collapsed_dense` in `collapsed_lda` does, by bounds.

    `bounds` must match `counts` on entry, and are kept up to date, too. A token is not taken out of the
    counts before its topics are weighed, because most tokens return to the topic that they leave: what it
    adds to the weight of its topic is subtracted. `scratch` may hold anything on entry, except for empty
    lists of topics in `scratch.present`, and zeros beyond T.
    """
    words, offsets, units = documents
    streams, (topics, tokens, place), sizes, inverse, cumulative, eta_of_row, alpha, weights, sums = scratch
    n_topics = np.uint64(priors.alpha.size)
    for t in range(n_topics):
        inverse[t] = 1.0 / (counts.topics[t] + priors.eta_sums[t])
        alpha[t] = priors.alpha[t]
    row_of_eta = -1  # the row that `eta_of_row` holds
    final = np.uint64(offsets[last]) - np.uint64(1)
    for d in range(first, last):
        start = np.uint64(offsets[d])
        stop = np.uint64(offsets[d + 1])
        for j in range(paths.shape[0]):
            open_stream(streams[j], key.seed, key.sweep, j, units[d])
            sizes[j] = list_topics(paths[j], start, stop, topics[j], tokens[j], place[j])
        for i in range(start, stop):
            coming = np.uint32(words[min(i + _AHEAD, final)])
            for k in range(sizes[0]):
                prefetch_cell(counts.words, coming, topics[0, k])
            w = np.uint32(words[i])
            word = counts.words[w]
            row = priors.eta_row[w]
            eta = priors.eta[row]
            for j in range(paths.shape[0]):
                n, present, n_tokens = sizes[j], topics[j], tokens[j]
                old = np.uint64(paths[j, i])
                place_of_old = np.uint64(place[j, old])
                count, here = word[old] + eta[old], n_tokens[place_of_old]
                others = counts.topics[old] + priors.eta_sums[old] - 1.0
                excess = count * inverse[old] * here - (count - 1.0) / others * (here - 1.0)
                total = 0.0
                for k in range(n):
                    topic = np.uint64(present[k])
                    total += (word[topic] + eta[topic]) * inverse[topic] * n_tokens[k]
                    cumulative[k] = total
                total -= excess
                own = priors.alpha[old] * (count - 1.0) / others
                bound = own + bounds.sums[w] - count * bounds.ratios[old]
                new = old
                for _ in range(_MAX_ATTEMPTS):
                    x = uniform(streams[j]) * (total + bound)
                    if x < total:
                        new = np.uint64(present[search_without(cumulative, n, x, place_of_old, excess)])
                        break
                    if x < total + own:
                        new = old
                        break
                    if row != row_of_eta:
                        row_of_eta = row
                        for t in range(n_topics):
                            eta_of_row[t] = eta[t]
                    alpha[old] = 0.0  # its weight is `own`; subtracting its bound could lose all others
                    weigh_topics(word, eta_of_row, bounds.inverse, alpha, weights)
                    alpha[old] = priors.alpha[old]
                    position = (x - total - own) / (bound - own)
                    new = draw_topic(position, n_topics, np.uint64(0), np.float32(0.0), weights, sums)
                    if uniform(streams[j]) * (counts.topics[new] + priors.eta_sums[new]) < bounds.floors[new]:
                        break
                if new != old:
                    paths[j, i] = new
                    move_token(w, old, new, counts, priors, bounds, inverse)
                    n = add_topic(np.uint16(new), present, n_tokens, place[j], n)
                    n_tokens[place_of_old] -= 1.0
                    if n_tokens[place_of_old] == 0.0:
                        n = drop_topic(np.uint16(old), present, n_tokens, place[j], n)
                    sizes[j] = n
        for j in range(paths.shape[0]):
            clear_topics(topics[j], place[j], sizes[j])
