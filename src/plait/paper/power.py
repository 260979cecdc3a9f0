"""Samplers of P(phi, p | w)^m with a single path, which the paper says are useless.

That is not the distribution from which m paths sample:

    m paths       P(phi) P(w | phi)^m = P(phi) (sum_p P(p, w | phi))^m
    power of m    sum_p (P(phi) P(p, w | phi))^m

The first weights phi by all paths together, the second by the few most probable ones.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import ClassVar, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from plait.checks import short_repr
from plait.errors import Argument, NotSupported, PlaitError
from plait.jit import kernel
from plait.models.chain import HmmCounts, HmmParameters
from plait.models.emissions import CategoricalParameters
from plait.models.hmm import HmmModel
from plait.models.lda import LdaModel, TopicCounts, Topics
from plait.models.model import Arrays, Header, Paths
from plait.paper.hard import emissions_of
from plait.rng import Key, new_stream, open_stream, uniform
from plait.scratch import scratch
from plait.threads import Threads

Floats = NDArray[np.float64]
Counts = TypeVar("Counts", HmmCounts, TopicCounts)


def _multiply(counts: Counts, power: int) -> Counts:
    """Return all counts times the power."""
    if isinstance(counts, TopicCounts):
        return TopicCounts(power * counts.words, power * counts.topics)
    return replace(counts, **{field.name: power * getattr(counts, field.name) for field in fields(counts)})


def _check_flat(name: str, prior: object) -> None:
    """Raise an error unless a Dirichlet prior is 1 everywhere: only then is P(phi) constant."""
    values = np.asarray(prior)
    if np.any(values != 1):
        got = short_repr(values.tolist())
        raise PlaitError(Argument(name), f" must be 1 to sample a power of the posterior, got {got}")


def _no_collapsed_sampler() -> NotSupported:
    return NotSupported(
        "a power of the posterior has no collapsed sampler: sample with ", Argument("collapsed", False)
    )


def _no_file() -> NotSupported:
    return NotSupported("a power of the posterior cannot be saved: a run's file does not hold the power")


@dataclass(frozen=True, eq=False)
class PowerHmm(HmmModel):
    """A hidden Markov model whose paths and parameters follow P(phi, p | w)^m, with a single path.

    With all priors Dir(1), P(phi) is constant, and

        P(phi, p, w)^m  ~  prod start(s)^(m n_s)  prod_a transitions_a(b)^(m n_ab)  prod_s e_s(x)^(m n_sx).

    Given the path, each row of phi therefore has the distribution Dir(1 + m n), as if everything had been
    counted m times. Given phi, the path is that of a chain whose weights are start^m, transitions^m and e^m.
    They need not sum to 1: filtering and drawing a path only need weights.

    Parameters
    ----------
    power : int
        The power m; 1 is the posterior itself.
    """

    kind: ClassVar[str] = "hmm-power"

    power: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_flat("start_prior", self.start_prior)
        _check_flat("transition_prior", self.transition_prior)
        _check_flat("prior", self.emissions.dirichlet.prior)  # type: ignore[attr-defined]

    def draw_parameters(self, counts: HmmCounts, key: Key, threads: Threads) -> HmmParameters:
        """Draw phi given the path."""
        return super().draw_parameters(_multiply(counts, self.power), key, threads)

    def mean_parameters(self, counts: HmmCounts, threads: Threads) -> HmmParameters:
        """Return the mean of phi given the path."""
        return super().mean_parameters(_multiply(counts, self.power), threads)

    def resample(self, paths: Paths, parameters: HmmParameters, key: Key, threads: Threads) -> None:
        """Draw the path given phi."""
        raised = HmmParameters(
            parameters.start**self.power,
            parameters.transitions**self.power,
            CategoricalParameters(emissions_of(parameters) ** self.power),
        )
        super().resample(paths, raised, key, threads)

    def resample_collapsed(self, paths: Paths, counts: HmmCounts, key: Key) -> None:
        """Raise an error: the inherited sampler would integrate phi out of the posterior itself."""
        raise _no_collapsed_sampler()

    def to_arrays(self) -> tuple[Arrays, Header]:
        """Raise an error: a file would not hold the power."""
        raise _no_file()


@dataclass(frozen=True, eq=False)
class PowerLda(LdaModel):
    """LDA whose paths and topics follow P(phi, p | w)^m, with a single path.

    As in `LdaModel` the topics of a document are integrated out. The topics p_d of its tokens, n_t of them
    topic t, then have a probability proportional to prod_t Gamma(alpha_t + n_t). With eta = 1, P(phi) is
    constant, and

        P(phi, p, w)^m  ~  prod_d prod_t Gamma(alpha_t + n_dt)^m  prod_t prod_x phi_t(x)^(m C_tx).

    Given the path, phi_t ~ Dir(1 + m C_t). Given phi and the topics of the other tokens of the document, n_t
    of them topic t, a token has topic t with a probability proportional to ((alpha_t + n_t) phi_t(w))^m,
    because Gamma(a + 1) = a Gamma(a).

    Parameters
    ----------
    power : int
        The power m; 1 is the posterior itself.
    """

    kind: ClassVar[str] = "lda-power"

    power: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_flat("eta", self.eta)

    def draw_parameters(self, counts: TopicCounts, key: Key, threads: Threads) -> Topics:
        """Draw phi given the path."""
        return super().draw_parameters(_multiply(counts, self.power), key, threads)

    def mean_parameters(self, counts: TopicCounts, threads: Threads) -> Topics:
        """Return the mean of phi given the path."""
        return super().mean_parameters(_multiply(counts, self.power), threads)

    def topic_word(self, counts: TopicCounts) -> Floats:
        """Return the mean of phi given the path, (T, W)."""
        return super().topic_word(_multiply(counts, self.power))

    def resample(self, paths: Paths, parameters: Topics, key: Key, threads: Threads) -> None:
        """Draw the topic of every token given phi and the topics of the others in its document."""
        weights = parameters.phi.astype(np.float64) ** self.power
        buffers = _Buffers(new_stream(), scratch(self.n_topics), scratch(self.n_topics))
        corpus = self.corpus
        for j, path in enumerate(paths):
            _resample_power(
                corpus.words, corpus.offsets, path, j, weights, self.alpha_vector, self.power, buffers, key
            )

    def resample_collapsed(self, paths: Paths, counts: TopicCounts, key: Key) -> None:
        """Raise an error: the inherited sampler would integrate phi out of the posterior itself."""
        raise _no_collapsed_sampler()

    def to_arrays(self) -> tuple[Arrays, Header]:
        """Raise an error: a file would not hold the power."""
        raise _no_file()


class _Buffers(NamedTuple):
    """Scratch buffers of `_resample_power`: a random stream, and (T,) counts and cumulative weights."""

    stream: NDArray[np.uint64]
    counts: Floats
    cumulative: Floats


@kernel
def _resample_power(
    words: NDArray[np.int32],
    offsets: NDArray[np.int64],
    path: Paths,
    j: int,
    weights: Floats,
    alpha: Floats,
    power: int,
    buffers: _Buffers,
    key: Key,
) -> None:
    """Draw every token's topic with probabilities proportional to (alpha_t + n_t)^m weights(w, t)."""
    stream, counts, cumulative = buffers
    for d in range(len(offsets) - 1):
        open_stream(stream, key.seed, key.sweep, j, d)
        for t in range(len(counts)):
            counts[t] = alpha[t]
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
