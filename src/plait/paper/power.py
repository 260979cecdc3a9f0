"""Samplers of P(phi, p | w)^m with a single path, which the paper says are of no use.

The law is not that of m paths:

    m paths       P(phi) P(w | phi)^m = P(phi) (sum_p P(p, w | phi))^m
    power of m    sum_p (P(phi) P(p, w | phi))^m

The first weighs phi by all paths together, the second by the few most probable ones.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from plait.errors import PlaitError
from plait.jit import kernel
from plait.models.chain import HmmCounts, HmmParameters
from plait.models.emissions import CategoricalParameters
from plait.models.hmm import HmmModel
from plait.models.lda import LdaModel, TopicCounts, Topics
from plait.models.model import Arrays, Header, Key, Paths
from plait.paper.hard import emissions_of
from plait.rng import new_stream, open_stream, uniform
from plait.scratch import scratch
from plait.threads import Threads

_NOT_COLLAPSED = "a power of the law is not sampled with phi integrated out: sample with collapsed=False"

Floats = NDArray[np.float64]
Counts = TypeVar("Counts", HmmCounts, TopicCounts)


def _times(power: int, counts: Counts) -> Counts:
    """Return all counts multiplied."""
    if isinstance(counts, TopicCounts):
        return TopicCounts(power * counts.words, power * counts.topics)
    return replace(counts, **{field.name: power * getattr(counts, field.name) for field in fields(counts)})


@dataclass(frozen=True, eq=False)
class PowerHmm(HmmModel):
    """A hidden Markov model whose paths and parameters follow P(phi, p | w)^m, with a single path.

    With all priors Dir(1), P(phi) is constant, and

        P(phi, p, w)^m  ~  prod start(s)^(m n_s)  prod_a transitions_a(b)^(m n_ab)  prod_s e_s(x)^(m n_sx).

    Given the path, each row of phi is therefore a Dirichlet law with the parameters 1 + m n: what it would be
    if everything had been counted m times. Given phi, the path is that of a chain whose weights are start^m,
    transitions^m and e^m. They do not sum to 1, and need not: to filter and to draw a path takes no more than
    weights.

    Parameters
    ----------
    power : int
        The power m; 1 is the ordinary law.
    """

    kind: ClassVar[str] = "hmm-power"

    power: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        priors = self.start_prior, self.transition_prior, self.emissions.dirichlet.prior  # type: ignore[attr-defined]
        if any(np.any(np.asarray(prior) != 1) for prior in priors):
            raise PlaitError("a power of the law needs priors that are all 1")

    def draw_parameters(self, counts: HmmCounts, key: Key, threads: Threads) -> HmmParameters:
        """Draw phi given the path."""
        return super().draw_parameters(_times(self.power, counts), key, threads)

    def mean_parameters(self, counts: HmmCounts, threads: Threads) -> HmmParameters:
        """Return the mean of phi given the path."""
        return super().mean_parameters(_times(self.power, counts), threads)

    def resample(self, paths: Paths, parameters: HmmParameters, key: Key, threads: Threads) -> None:
        """Draw the path given phi."""
        raised = HmmParameters(
            parameters.start**self.power,
            parameters.transitions**self.power,
            CategoricalParameters(emissions_of(parameters) ** self.power),
        )
        super().resample(paths, raised, key, threads)

    def resample_collapsed(self, paths: Paths, counts: HmmCounts, key: Key) -> None:
        """Refuse: what is integrated out would be that of the ordinary law."""
        raise PlaitError(_NOT_COLLAPSED)

    def to_arrays(self) -> tuple[Arrays, Header]:
        """Refuse: a file would not know the power."""
        raise PlaitError("a power of the law is not kept in files")


@dataclass(frozen=True, eq=False)
class PowerLda(LdaModel):
    """LDA whose topics of tokens and words follow P(phi, p | w)^m, with a single path.

    As in `LdaModel` the topics of a document are integrated out, which leaves for the topics p_d of its
    tokens, n_t of them of topic t, a law proportional to prod_t Gamma(alpha_t + n_t). With eta = 1, P(phi) is
    constant, and

        P(phi, p, w)^m  ~  prod_d prod_t Gamma(alpha_t + n_dt)^m  prod_t prod_x phi_t(x)^(m C_tx).

    Given the path, phi_t ~ Dir(1 + m C_t). Given phi and the topics of the other tokens of the document, n_t
    of them of topic t, a token has topic t with a probability proportional to ((alpha_t + n_t) phi_t(w))^m,
    because Gamma(a + 1) = a Gamma(a).

    Parameters
    ----------
    power : int
        The power m; 1 is the ordinary law.
    """

    kind: ClassVar[str] = "lda-power"

    power: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if np.any(np.asarray(self.eta) != 1):
            raise PlaitError("a power of the law needs eta = 1")

    def draw_parameters(self, counts: TopicCounts, key: Key, threads: Threads) -> Topics:
        """Draw phi given the path."""
        return super().draw_parameters(_times(self.power, counts), key, threads)

    def mean_parameters(self, counts: TopicCounts, threads: Threads) -> Topics:
        """Return the mean of phi given the path."""
        return super().mean_parameters(_times(self.power, counts), threads)

    def topic_word(self, counts: TopicCounts) -> Floats:
        """Return the mean of phi given the path, (T, W)."""
        return super().topic_word(_times(self.power, counts))

    def resample(self, paths: Paths, parameters: Topics, key: Key, threads: Threads) -> None:
        """Draw the topic of every token given phi and the topics of the others in its document."""
        weights = parameters.phi.astype(np.float64) ** self.power
        room = new_stream(), scratch(self.n_topics), scratch(self.n_topics)
        for j in range(len(paths)):
            _resample_power(
                self.corpus.words,
                self.corpus.offsets,
                paths[j],
                weights,
                self.alpha_vector,
                self.power,
                *room,
                *key,
                j,
            )

    def resample_collapsed(self, paths: Paths, counts: TopicCounts, key: Key) -> None:
        """Refuse: what is integrated out would be that of the ordinary law."""
        raise PlaitError(_NOT_COLLAPSED)

    def to_arrays(self) -> tuple[Arrays, Header]:
        """Refuse: a file would not know the power."""
        raise PlaitError("a power of the law is not kept in files")


@kernel
def _resample_power(
    words: NDArray[np.int32],
    offsets: NDArray[np.int64],
    path: Paths,
    weights: Floats,
    alpha: Floats,
    power: int,
    stream: NDArray[np.uint64],
    counts: Floats,
    cumulative: Floats,
    seed: int,
    sweep: int,
    j: int,
) -> None:
    """Draw every token's topic from a law proportional to (alpha_t + n_t)^m weights(w, t)."""
    for d in range(len(offsets) - 1):
        open_stream(stream, seed, sweep, j, d)
        counts[:] = alpha
        for i in range(offsets[d], offsets[d + 1]):
            counts[path[i]] += 1
        for i in range(offsets[d], offsets[d + 1]):
            counts[path[i]] -= 1
            total = 0.0
            for t in range(len(counts)):
                total += counts[t] ** power * weights[words[i], t]
                cumulative[t] = total
            x = uniform(stream) * total
            t = 0
            while t < len(counts) - 1 and cumulative[t] <= x:
                t += 1
            path[i] = t
            counts[t] += 1
