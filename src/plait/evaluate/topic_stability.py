"""Stability: whether several fits, of different seeds, find the same topics.

The topics of each two runs are matched one to one, so that the sum of the cosines of matched topics is
largest (the Hungarian method). The cosine of two topics is sum_w phi(w) psi(w), divided by the norms of both.

How large the values are for topics that have nothing to do with each other depends on the vocabulary:
frequent words are frequent in most topics, and matching takes the best of many pairs. So the same is computed
for *unrelated topics*: the words of one of the two runs are permuted, each among words of similar frequency,
and the topics are matched again. Two words have similar frequencies if their mean probabilities over topics
have the same power of two: within a factor of two. A permutation of all words would make rare words frequent,
which topics of the same corpus never do, and so take too much of the agreement for a finding. A word that is
alone in its group stays where it is, so with few words the reference is too large rather than too small.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plait.arrays import frozen
from plait.blas import one_blas_thread
from plait.checks import check_integer, check_number, short_repr
from plait.errors import Argument, PlaitError
from plait.evaluate.sources import Source, TopicSource, check_top, resolve, top_words
from plait.plans import MAX_SEED
from plait.rng import UNRELATED, generator
from plait.threads import even_ranges, use_threads

THRESHOLD: Final = 0.8

Floats = NDArray[np.float64]


class Agreement(NamedTuple):
    """How well matched topics agree, on average over topics and pairs of runs.

    Attributes
    ----------
    cosine : float
        Mean cosine of matched topics.
    overlap : float
        Mean overlap of their top words: words in both, divided by words in either (Jaccard's index).
    found : float
        Share of topics, over all runs, whose cosine with the matched topic of *every* other run is above the
        threshold.
    """

    cosine: float
    overlap: float
    found: float


@dataclass(frozen=True, eq=False, repr=False)
class Stability:
    """Agreement of the topics of S runs; `plait.evaluate.topic_stability` has the definitions.

    Attributes
    ----------
    agreement : Agreement
        Of the runs.
    unrelated : Agreement
        The same for unrelated topics, for comparison.
    certainty : ndarray of float64, (S, T)
        For each topic of each run, the mean cosine with the topics matched to it in the other runs.
    matches : ndarray of int64, (S, S, T)
        `matches[a, b, t]` is the topic of run b that is matched to topic t of run a.
    top : int
        Number of top words.
    threshold : float
        The cosine above which a topic counts as found again.
    """

    agreement: Agreement
    unrelated: Agreement
    certainty: Floats
    matches: NDArray[np.int64]
    top: int
    threshold: float

    @property
    def cosine(self) -> float:
        """Mean cosine of matched topics."""
        return self.agreement.cosine

    @property
    def overlap(self) -> float:
        """Mean overlap of the top words of matched topics."""
        return self.agreement.overlap

    @property
    def found(self) -> float:
        """Share of topics that are found in every run."""
        return self.agreement.found

    def __repr__(self) -> str:
        return (
            f"Stability(cosine={self.cosine:.6g}, overlap={self.overlap:.6g}, found={self.found:.6g},"
            f" unrelated={tuple(round(value, 3) for value in self.unrelated)}, {len(self.certainty)} runs)"
        )


class _Match(NamedTuple):
    """The matched topics of runs a and b: topic t of a and `topic[t]` of b."""

    topic: NDArray[np.int64]
    cosines: Floats
    overlaps: Floats


def stability(
    sources: Sequence[Source],
    *,
    top: int = 10,
    threshold: float = THRESHOLD,
    seed: int = 0,
    n_jobs: int | None = None,
) -> Stability:
    """Compare the topics of at least two fits of the same model, such as with different seeds.

    Parameters
    ----------
    sources : sequence of Run, path, LatentDirichletAllocation or array (T, W)
        Topics of each fit, with the same vocabulary and the same number of topics.
    top : int
        Number of top words for the overlap.
    threshold : float
        A topic is found in another run if the cosine with its match is above this.
    seed : int
        Seed of the unrelated topics.
    n_jobs : int, optional
        Number of threads; all cores by default.

    Returns
    -------
    Stability

    Examples
    --------
    >>> import plait
    >>> topics = [[0.7, 0.2, 0.1, 0.0], [0.0, 0.1, 0.3, 0.6]]
    >>> plait.evaluate.stability([topics, topics[::-1]], top=2).matches[0, 1]
    array([1, 0])
    """
    threshold = check_number("threshold", threshold, least=0.0)
    seed = check_integer("seed", seed, least=0, most=MAX_SEED)
    with use_threads(n_jobs) as threads:
        runs = _resolve_all(sources, n_jobs)
        n_topics, n_words = runs[0].shape
        top = check_top(top, n_words)
        best = [top_words(run, top) for run in runs]
        units = [_unit_rows(run) for run in runs]
        pairs = list(combinations(range(len(runs)), 2))

        def compare(first: int, last: int) -> list[tuple[_Match, _Match]]:
            return [
                (
                    _match(units[a], units[b], best[a], best[b]),
                    _match(units[a], units[b][:, order], best[a], np.argsort(order)[best[b]]),
                )
                for a, b in pairs[first:last]
                for order in [_permutation(runs[b], seed, a, b)]
            ]

        with one_blas_thread:  # the last bits would depend on the number of BLAS threads
            parts = threads.map(compare, even_ranges(len(pairs), len(pairs)))
    found = [match for part in parts for match in part]
    real, unrelated = ([match[k] for match in found] for k in (0, 1))
    certainty = _cosines(pairs, real, len(runs), n_topics)
    matches = np.tile(np.arange(n_topics), (len(runs), len(runs), 1))
    for (a, b), match in zip(pairs, real, strict=True):
        matches[a, b] = match.topic
        matches[b, a] = np.argsort(match.topic)
    return Stability(
        agreement=_agreement(pairs, real, len(runs), threshold),
        unrelated=_agreement(pairs, unrelated, len(runs), threshold),
        certainty=frozen(certainty.mean(axis=1)),
        matches=frozen(matches),
        top=top,
        threshold=threshold,
    )


def _resolve_all(sources: Sequence[Source], n_jobs: int | None) -> list[Floats]:
    """Return the topics of all sources, which must have the same words and as many topics."""
    if isinstance(sources, (str, bytes)) or not hasattr(sources, "__len__") or len(sources) < 2:
        raise PlaitError(
            Argument("sources"), f" must be at least two fits to compare, got {short_repr(sources)}"
        )
    found: list[TopicSource] = []
    for i, source in enumerate(sources):
        found.append(resolve(source, name=f"sources[{i}]", n_jobs=n_jobs))
        if found[i].topics.shape != found[0].topics.shape:
            raise PlaitError(
                Argument("sources"),
                f"[{i}] must have {len(found[0].topics)} topics of {found[0].topics.shape[1]} words, as the"
                f" first has, got {len(found[i].topics)} of {found[i].topics.shape[1]}: compare fits of one"
                " model",
            )
        known = [other.corpus.vocabulary for other in (found[0], found[i]) if other.corpus is not None]
        if known and known[0] != known[-1]:
            raise PlaitError(
                Argument("sources"),
                f"[{i}] must have the vocabulary of the first, got another: fit both to the same corpus",
            )
    return [source.topics for source in found]


def _unit_rows(topics: Floats) -> Floats:
    """Return the topics divided by their norms, so that products are cosines."""
    rows: Floats = topics / np.sqrt((topics**2).sum(axis=1))[:, None]
    return rows


def _match(
    first: Floats, second: Floats, first_top: NDArray[np.int64], second_top: NDArray[np.int64]
) -> _Match:
    from scipy.optimize import linear_sum_assignment  # takes long to import

    cosines = first @ second.T
    own, topic = linear_sum_assignment(cosines, maximize=True)
    overlaps = np.empty(len(own))
    for t in own:
        n_both = np.intersect1d(first_top[t], second_top[topic[t]], assume_unique=True).size
        overlaps[t] = n_both / (2 * first_top.shape[1] - n_both)
    return _Match(topic, np.minimum(cosines[own, topic], 1.0), overlaps)


def _permutation(topics: Floats, seed: int, first: int, second: int) -> NDArray[np.int64]:
    """Return a permutation of the words, each among words of similar frequency."""
    group = np.frexp(topics.mean(axis=0))[1]
    draws = generator(seed, UNRELATED, second, first).random(group.size)
    order = np.empty(group.size, np.int64)
    order[np.argsort(group, kind="stable")] = np.lexsort((draws, group))
    return order


def _cosines(
    pairs: Sequence[tuple[int, int]], matches: Sequence[_Match], n_runs: int, n_topics: int
) -> Floats:
    """Return the cosine of each topic of each run with its match in each other run, (S, S - 1, T)."""
    cosines = np.empty((n_runs, n_runs - 1, n_topics))
    for (a, b), match in zip(pairs, matches, strict=True):
        cosines[a, b - 1] = match.cosines
        cosines[b, a] = match.cosines[np.argsort(match.topic)]
    return cosines


def _agreement(
    pairs: Sequence[tuple[int, int]], matches: Sequence[_Match], n_runs: int, threshold: float
) -> Agreement:
    cosines = _cosines(pairs, matches, n_runs, matches[0].topic.size)
    return Agreement(
        cosine=float(cosines.mean()),
        overlap=float(np.mean([match.overlaps for match in matches])),
        found=float((cosines > threshold).all(axis=1).mean()),
    )
