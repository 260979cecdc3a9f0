"""Every kernel draws every token from the dense conditional of the textbook.

This is tested in three ways.

First tokens. The first token that a kernel draws has a conditional that depends on the given state alone.
Thousands of sweeps from the same state with distinct keys give independent draws of it, which a chi-square
test compares with the oracle. Rotating the tokens of a document, and for the collapsed kernel the documents
and the paths, makes every token of every path the first one once. (Given phi, documents and paths are
independent, so there all of them are tested by the same sweeps.)

Replay. All tokens of a sweep, one by one: just before token i of path j is drawn, the tokens before it have
their new topics, the others the old ones, so the state is known from the paths before and after the sweep.
With p the oracle's conditional there and z the topic drawn, sum_{t<z} p_t + V p_z with V uniform is uniform
on (0, 1), and independent of everything before (Rosenblatt's transform). Also the number of times a topic is
drawn minus the sum of its probabilities is a martingale of known variance, and so is the number of times that
a token keeps its topic.

Bounds and searches. The bounds that the kernel for many topics updates are compared with ones computed from
scratch, and the functions that turn a position into a topic are called at the middle of every interval.
"""

from __future__ import annotations

from itertools import accumulate

import numpy as np
import pytest
from oracle import Floats, Lda, conditional_collapsed, conditional_given_phi
from support import (
    SCALES,
    THREADS,
    assert_all_fit,
    assert_fits,
    assert_small,
    chi_square,
    plait_model,
    settings,
)

from plait.kernels.bounded_lda import resample_collapsed_bounded, search_without, set_bounds
from plait.kernels.documents import search
from plait.kernels.lda import BLOCK, pick_shared
from plait.models.lda import TopicCounts
from plait.models.lda_collapsed import bounded_buffers
from plait.models.model import Key
from plait.sampler import State, step

LENGTHS = (5, 1, 6)


def medium(n_topics: int, seed: int = 0, n_words: int = 6) -> Lda:
    """Twelve tokens in three documents; every topic has its own alpha, three topics have seed words."""
    rng = np.random.default_rng([seed, n_topics])
    documents = [rng.integers(n_words, size=n).tolist() for n in LENGTHS]
    eta = np.full((n_topics, n_words), 0.3)
    eta[0, 1], eta[1, 1], eta[n_topics // 2, 2], eta[-1, 3] = 2.0, 1.0, 5.0, 0.7
    return Lda(documents, rng.uniform(0.02, 0.5, n_topics), eta)


def some_paths(lda: Lda, n_paths: int, seed: int) -> np.ndarray:
    """Paths in which topics recur, as they do in a run, the first and the last among them."""
    rng = np.random.default_rng([seed, n_paths])
    favoured = [0, 1, lda.n_topics // 2, lda.n_topics - 1]
    paths = rng.choice(favoured, size=(n_paths, lda.n_tokens))
    anything = rng.random(paths.shape) < 0.3
    paths[anything] = rng.integers(lda.n_topics, size=anything.sum())
    return paths.astype(np.uint16)


def rotated(lda: Lda, paths: np.ndarray, shifts: list[int], first: int) -> tuple[Lda, np.ndarray]:
    """Rotate the tokens of every document by its shift, then bring the document `first` to the front."""
    starts = [0, *accumulate(LENGTHS)]
    order = [first, *(d for d in range(len(LENGTHS)) if d != first)]
    tokens = [starts[d] + (k + shifts[d]) % LENGTHS[d] for d in order for k in range(LENGTHS[d])]
    documents = [np.roll(lda.documents[d], -shifts[d]).tolist() for d in order]
    return Lda(documents, lda.alpha, lda.eta), np.ascontiguousarray(paths[:, tokens])


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("n_paths", [1, 2, 3])
@pytest.mark.parametrize(
    ("n_topics", "dense"),
    [(7, True), (7, False), (40, True), (40, False), (70, True)],  # one block of topics, two, three
)
def test_first_tokens_given_phi_follow_their_conditionals(
    n_topics: int, dense: bool, n_paths: int, scale: int
) -> None:
    lda = medium(n_topics)
    paths = some_paths(lda, n_paths, seed=1)
    phi = np.random.default_rng(2).dirichlet(np.full(lda.n_words, 1.0 if dense else 0.3), size=n_topics)
    if not dense:  # the sampler draws such topics for a small eta, with zeros in them
        phi[phi < 0.1] = 0
        phi /= phi.sum(axis=1, keepdims=True)
        assert np.mean(phi == 0) > 0.3
        assert np.all(phi.any(axis=0))
    topics = plait_model(lda).as_topics(phi, THREADS)
    phi = topics.phi.T.astype(float)

    results = []
    for shift in range(max(LENGTHS)):
        shifts = [shift % n for n in LENGTHS]
        turned, start = rotated(lda, paths, shifts, first=0)
        model = plait_model(turned)
        at = [0, *accumulate(LENGTHS[:-1])]
        counts = np.zeros((n_paths, len(LENGTHS), n_topics), np.int64)
        j, d = np.indices(counts.shape[:2])
        for k in range(500 * scale):
            after = start.copy()
            model.resample(after, topics, Key(shift, k), THREADS)
            counts[j, d, after[:, at]] += 1
        for j in range(n_paths):
            for d, i in enumerate(at):
                if shift < LENGTHS[d]:
                    p = conditional_given_phi(turned, start[j], i, phi)
                    results.append(chi_square(counts[j, d], p))
    assert len(results) == n_paths * sum(LENGTHS)
    assert_all_fit(results)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("n_paths", [1, 2, 3])
@pytest.mark.parametrize("n_topics", [7, 40])
@pytest.mark.parametrize("collapsed", ["dense", "vectors", "bounded"], indirect=True)
def test_first_collapsed_tokens_follow_their_conditionals(
    collapsed: bool, n_topics: int, n_paths: int, scale: int
) -> None:
    lda = medium(n_topics)
    paths = some_paths(lda, n_paths, seed=4)
    results = []
    for d, length in enumerate(LENGTHS):
        for shift in range(length):
            shifts = [shift if e == d else 0 for e in range(len(LENGTHS))]
            for j in range(n_paths):
                turned, start = rotated(lda, np.roll(paths, -j, axis=0), shifts, first=d)
                model = plait_model(turned)
                counts = model.count(start, THREADS)
                drawn = np.empty(250 * scale, np.int64)
                for k in range(len(drawn)):
                    after = start.copy()
                    fresh = TopicCounts(counts.words.copy(), counts.topics.copy())
                    model.resample_collapsed(after, fresh, Key(len(results), k))
                    drawn[k] = after[0, 0]
                p = conditional_collapsed(turned, start, 0, 0)
                results.append(chi_square(np.bincount(drawn, minlength=n_topics), p, least=5))
    assert len(results) == n_paths * sum(LENGTHS)
    assert_all_fit(results)


def replay(
    lda: Lda, before: np.ndarray, after: np.ndarray, phi: Floats | None
) -> list[tuple[int, int, Floats]]:
    """Path, token and conditional of every draw of a sweep, in the order in which they were made."""
    now = before.copy()
    draws = []
    for i in range(lda.n_tokens):
        for j in range(len(now)):  # given phi, the paths are independent and any order will do
            if phi is None:
                p = conditional_collapsed(lda, now, j, i)
            else:
                p = conditional_given_phi(lda, now[j], i, phi)
            draws.append((j, i, p))
            now[j, i] = after[j, i]
    return draws


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("collapsed", ["partial", "dense", "vectors", "bounded"], indirect=True)
@pytest.mark.parametrize("n_paths", [1, 2, 3])
@pytest.mark.parametrize("n_topics", [3, 7, 40])
def test_every_draw_of_a_sweep_follows_its_conditional(
    n_topics: int, n_paths: int, collapsed: bool, scale: int
) -> None:
    lda = medium(n_topics, seed=5)
    if n_topics == 3:  # the part with alpha dominates; it is updated from one token to the next
        lda = Lda([[0, 1, 0, 0, 1, 0, 1, 1], [0], [0], [1]], np.full(3, 9.0), np.full((3, 2), 0.2))
    model, how = plait_model(lda), settings(n_paths, collapsed, seed=6)
    rng = np.random.default_rng(7)
    state = State(0, model.initial_paths(n_paths, 6, THREADS))
    n_sweeps = (750 if n_topics == 3 else 150) * scale // n_paths
    positions = np.empty((n_sweeps, lda.n_tokens, n_paths))
    surplus, variance = np.zeros((2, lda.n_words, n_topics))
    stays, stays_variance = np.zeros((2, n_paths))
    for k in range(n_sweeps):
        before = state.paths.copy()
        state = step(model, state, how, THREADS)
        phi = None if collapsed else state.parameters.phi.T.astype(float)
        for j, i, p in replay(lda, before, state.paths, phi):
            topic = state.paths[j, i]
            assert p[topic] > 0
            positions[k, i, j] = p[:topic].sum() + rng.random() * p[topic]
            surplus[lda.words[i]] -= p
            surplus[lda.words[i], topic] += 1
            variance[lda.words[i]] += p * (1 - p)
            stay = p[before[j, i]]
            stays[j] += (topic == before[j, i]) - stay
            stays_variance[j] += stay * (1 - stay)

    def fits_uniform(u: Floats) -> None:
        bins = (u * 20).astype(int).clip(0, 19)
        assert_fits(np.bincount(bins.reshape(-1), minlength=20), np.full(20, 0.05))

    fits_uniform(positions)
    for j in range(n_paths):
        fits_uniform(positions[:, :, j])
    for total, spread in (
        (surplus, variance),
        (surplus.sum(axis=0), variance.sum(axis=0)),
        (stays, stays_variance),
    ):
        large = spread > 9  # otherwise the normal approximation is too poor
        assert large.any()
        assert_small(total[large] / np.sqrt(spread[large]))

    # independent of the draw before, and of the same token's draw in another path
    centred = (positions - 0.5) * np.sqrt(12)
    products = [centred[:, 1:] * centred[:, :-1]]
    products += [centred[:, :, j] * centred[:, :, j - 1] for j in range(1, n_paths)]
    assert_small(np.array([product.sum() / np.sqrt(product.size) for product in products]))


@pytest.mark.parametrize("collapsed", ["dense", "vectors", "bounded"], indirect=True)
def test_paths_of_a_token_depend_on_one_another(collapsed: bool) -> None:
    """The conditional of a token that is alone in its document depends on the other paths only."""
    lda = Lda([[0]], np.array([1.0, 2.0, 3.0]), np.array([[0.3, 0.1], [0.2, 0.2], [0.1, 0.5]]))
    model, start = plait_model(lda), np.array([[0], [2], [1]], np.uint16)
    drawn = np.zeros((3, 3, 3), np.int64)
    for k in range(20_000):
        after = start.copy()
        model.resample_collapsed(after, model.count(after, THREADS), Key(8, k))
        drawn[tuple(after[:, 0])] += 1
    p = np.ones(drawn.shape)
    for topics in np.ndindex(*drawn.shape):
        now = start.copy()
        for j, topic in enumerate(topics):
            p[topics] *= conditional_collapsed(lda, now, j, 0)[topic]
            now[j, 0] = topic
    assert_fits(drawn.reshape(-1), p.reshape(-1))


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("collapsed", ["bounded"], indirect=True)
def test_first_tokens_follow_their_conditionals_with_a_tiny_eta(collapsed: bool, scale: int) -> None:
    """A topic with a single token has a denominator that is a million times as large as without it."""
    lda = Lda([[0], [1], [2], [2, 3]], np.linspace(0.2, 0.8, 9), np.full((9, 4), 1e-7))
    model = plait_model(lda)
    results = []
    for path in ([0, 1, 2, 3, 4], [0, 0, 1, 1, 2], [3, 8, 8, 8, 0]):
        start = np.array([path], np.uint16)
        drawn = np.empty(2000 * scale, np.int64)
        for k in range(len(drawn)):
            after = start.copy()
            model.resample_collapsed(after, model.count(after, THREADS), Key(len(results), k))
            drawn[k] = after[0, 0]
        p = conditional_collapsed(lda, start, 0, 0)
        results.append(chi_square(np.bincount(drawn, minlength=9), p, least=5))
    assert_all_fit(results)


@pytest.mark.parametrize("n_paths", [1, 3])
def test_bounds_are_kept_up_to_date(n_paths: int) -> None:
    """Topics from one token to hundreds, so that floors move while the sums of words are added to."""
    rng = np.random.default_rng(n_paths)
    documents = [rng.integers(15, size=n).tolist() for n in (40, 1, 25, 60, 0, 300)]
    lda = Lda(documents, rng.uniform(0.02, 0.5, 150), rng.choice([0.05, 0.4], (150, 15)))
    model = plait_model(lda)
    paths = model.initial_paths(n_paths, 1, THREADS)
    counts, priors = model.count(paths, THREADS), model._priors
    bounds, buffers = bounded_buffers(n_paths, *counts.words.shape)
    set_bounds(counts, priors, bounds)
    first = bounds.floors.copy()
    documents = 0, len(documents), model._documents
    for sweep in range(10):
        key = Key(2, sweep)
        resample_collapsed_bounded(*documents, paths, counts, bounds, priors, buffers, key)
        totals = counts.topics + priors.eta_sums
        assert np.all(bounds.floors <= totals)
        assert np.all(bounds.floors >= 0.65 * totals)
        np.testing.assert_allclose(bounds.ratios, priors.alpha / bounds.floors, rtol=1e-15)
        np.testing.assert_allclose(bounds.inverse[:150], 1 / bounds.floors, rtol=1e-6)
        sums = ((counts.words + priors.eta[priors.eta_row]) * bounds.ratios).sum(axis=1)
        np.testing.assert_allclose(bounds.sums, sums, rtol=1e-10)
        np.testing.assert_allclose(buffers.inverse, 1 / totals, rtol=1e-15)
    assert np.any(bounds.floors != first)


# ---------------------------------------------------------------------------------------------------------
# Searches
# ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "n_topics",
    # the last ones have enough blocks for bisection, one step and several
    [1, 2, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, 3 * BLOCK + 5, 10 * BLOCK, 65 * BLOCK, 400 * BLOCK - 3],
)
def test_searches_find_every_topic(n_topics: int) -> None:
    rng = np.random.default_rng(n_topics)
    alpha = rng.uniform(0.1, 1, n_topics)
    phi = rng.uniform(0.1, 1, n_topics).astype(np.float32)
    phi[rng.random(n_topics) < 0.3] = 0
    phi[rng.integers(n_topics)] = 0.5
    weights = alpha * phi
    cumulative = np.cumsum(weights)
    shared = np.array([cumulative[min(b + BLOCK, n_topics) - 1] for b in range(0, n_topics, BLOCK)])
    possible = np.flatnonzero(weights)
    for t in possible:
        middle = cumulative[t] - weights[t] / 2
        assert pick_shared(middle, phi, alpha, shared) == t
        assert search(cumulative, np.uint64(n_topics), middle) == t
        for place in (0, t, n_topics - 1):
            excess = weights[place] * 0.4
            without = middle - (excess if place < t else 0) - (excess / 2 if place == t else 0)
            assert search_without(cumulative, np.uint64(n_topics), without, place, excess) == t
    # rounding may put the position at the end or beyond it: the topic must still be possible
    for beyond in (cumulative[-1], np.nextafter(cumulative[-1], 9e9), cumulative[-1] * (1 + 1e-12)):
        assert weights[pick_shared(beyond, phi, alpha, shared)] > 0
        assert search_without(cumulative, np.uint64(n_topics), beyond, 0, 0.0) == n_topics - 1
    assert pick_shared(0.0, phi, alpha, shared) == possible[0]
    assert search(cumulative, np.uint64(n_topics), 2 * cumulative[-1]) == n_topics - 1
