"""A textbook multipath LDA, written from the paper and from nothing in `src`: slow, dense, exact.

The distribution to be sampled has the density (equation fm_def of the paper)

    f_m(phi, p^1, ..., p^m) = P(phi) prod_j P(p^j, w | phi)                                            (1)

up to a constant. In LDA every path j draws its own theta^j_d ~ Dir(alpha) for every document, so that

    P(p^j, w | phi) = prod_d B(alpha + C^DT_jd) / B(alpha)  *  prod_i phi_{p^j_i}(w_i),                 (2)

B being the multivariate beta function B(a) = prod_k Gamma(a_k) / Gamma(sum_k a_k). All m products of phi
in (1) together are prod_t prod_w phi_t(w)^{C^TW_tw}, C^TW counted over all paths, which is conjugate to
P(phi) = prod_t Dir(phi_t | eta_t). Hence

    phi | p^1..m     ~ prod_t Dir(eta_t + C^TW_t)                                                        (3)
    P(p^1..m | w)  proportional to  prod_{j,d} B(alpha + C^DT_jd) / B(alpha)
                                 *  prod_t B(eta_t + C^TW_t) / B(eta_t)                                  (4)

For a few tokens, all T^(N m) states of (4) can be enumerated, and by (3) the distribution of phi is a mixture
of products of Dirichlet distributions with the weights (4); phi_t(w) alone follows a mixture of beta
distributions. That this mixture is P(phi) P(w | phi)^m is the lemma of the paper; `test_lda_oracle.py` checks
it by quadrature.

alpha has one value per topic, (T,), and eta one per topic and word, (T, W).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.special import gammaln

Floats = NDArray[np.float64]


def log_beta(a: Floats) -> Floats:
    return gammaln(a).sum(axis=-1) - gammaln(a.sum(axis=-1))


@dataclass(frozen=True, eq=False)
class Lda:
    """A corpus, as lists of word ids, and the priors."""

    documents: Sequence[Sequence[int]]
    alpha: Floats
    eta: Floats

    @property
    def words(self) -> NDArray[np.int64]:
        return np.array([w for document in self.documents for w in document], dtype=np.int64)

    @property
    def document_of(self) -> NDArray[np.int64]:
        return np.repeat(np.arange(len(self.documents)), [len(document) for document in self.documents])

    @property
    def n_tokens(self) -> int:
        return len(self.words)

    @property
    def n_topics(self) -> int:
        return self.eta.shape[0]

    @property
    def n_words(self) -> int:
        return self.eta.shape[1]


# ---------------------------------------------------------------------------------------------------------
# The joint distribution of the paths, by enumeration
# ---------------------------------------------------------------------------------------------------------


def all_states(n_topics: int, n_paths: int, n_tokens: int) -> NDArray[np.uint16]:
    """Return every assignment of all paths, (T^(N m), m, N); `state_index` is the inverse."""
    digits = list(product(range(n_topics), repeat=n_paths * n_tokens))
    return np.array(digits, dtype=np.uint16).reshape(-1, n_paths, n_tokens)


def state_index(states: NDArray[np.integer], n_topics: int) -> NDArray[np.int64]:
    flat = states.reshape(len(states), -1).astype(np.int64)
    return flat @ n_topics ** np.arange(flat.shape[1] - 1, -1, -1)


def word_counts(lda: Lda, states: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return C^TW of all paths together, (S, T, W), for states (S, m, N)."""
    counts = np.zeros((len(states), lda.n_topics, lda.n_words), dtype=np.int64)
    for i, w in enumerate(lda.words):
        for t in range(lda.n_topics):
            counts[:, t, w] += (states[:, :, i] == t).sum(axis=1)
    return counts


def document_counts(lda: Lda, states: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return C^DT, (S, m, D, T), for states (S, m, N)."""
    counts = np.zeros((*states.shape[:2], len(lda.documents), lda.n_topics), dtype=np.int64)
    for i, d in enumerate(lda.document_of):
        for t in range(lda.n_topics):
            counts[:, :, d, t] += states[:, :, i] == t
    return counts


def log_weight(lda: Lda, states: NDArray[np.integer]) -> Floats:
    """Return the logarithm of (4), P(p^1..m and all copies of the data equal w), for states (S, m, N)."""
    by_document = log_beta(lda.alpha + document_counts(lda, states)) - log_beta(lda.alpha)
    by_topic = log_beta(lda.eta + word_counts(lda, states)) - log_beta(lda.eta)
    return by_document.sum(axis=(1, 2)) + by_topic.sum(axis=1)


def joint_distribution(lda: Lda, n_paths: int) -> tuple[NDArray[np.uint16], Floats]:
    """Return all states (S, m, N) and their probabilities (S,)."""
    states = all_states(lda.n_topics, n_paths, lda.n_tokens)
    logs = log_weight(lda, states)
    weights = np.exp(logs - logs.max())
    return states, weights / weights.sum()


# ---------------------------------------------------------------------------------------------------------
# The distribution of phi, a mixture
# ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class PhiDistribution:
    """With probability weights[k], phi_t ~ Dir(shapes[k, t]) for every t, independently."""

    weights: Floats
    shapes: Floats

    @classmethod
    def of(cls, lda: Lda, n_paths: int) -> PhiDistribution:
        states, p = joint_distribution(lda, n_paths)
        counts = word_counts(lda, states).reshape(len(states), -1)
        distinct, which = np.unique(counts, axis=0, return_inverse=True)
        weights = np.bincount(which.reshape(-1), weights=p)
        return cls(weights, lda.eta + distinct.reshape(-1, *lda.eta.shape))

    def moment(self, order: int) -> Floats:
        """Return E[phi_t(w)^order], (T, W), for order 1 or 2."""
        sums = self.shapes.sum(axis=2, keepdims=True)
        moments = self.shapes / sums
        if order == 2:
            moments = moments * (self.shapes + 1) / (sums + 1)
        return np.tensordot(self.weights, moments, axes=1)

    def cdf(self, t: int, w: int, x: Floats) -> Floats:
        """Return P(phi_t(w) <= x)."""
        a = self.shapes[:, t, w]
        b = self.shapes[:, t].sum(axis=1) - a
        pairs, which = np.unique(np.stack([a, b], axis=1), axis=0, return_inverse=True)
        weights = np.bincount(which.reshape(-1), weights=self.weights)
        return sum(c * stats.beta.cdf(x, *pair) for c, pair in zip(weights, pairs, strict=True))

    def density(self, phi: Floats) -> float:
        """Return the density at phi (T, W), with respect to the first W - 1 coordinates of every topic."""
        logs = ((self.shapes - 1) * np.log(phi)).sum(axis=(1, 2)) - log_beta(self.shapes).sum(axis=1)
        return float(self.weights @ np.exp(logs))


# ---------------------------------------------------------------------------------------------------------
# Likelihoods given phi
# ---------------------------------------------------------------------------------------------------------


def log_path_likelihood(lda: Lda, path: NDArray[np.integer], phi: Floats) -> float:
    """Return log P(p, w | phi), equation (2), for one path (N,) and phi (T, W)."""
    total = sum(float(np.log(phi[t, w])) for t, w in zip(path, lda.words, strict=True))
    for d in range(len(lda.documents)):
        own = path[lda.document_of == d]
        # Polya's urn: token after token, P(p_i = t | those before) = (C_t + alpha_t) / (n + sum alpha)
        for n, t in enumerate(own):
            before = int(np.sum(own[:n] == t))
            total += float(np.log((before + lda.alpha[t]) / (n + lda.alpha.sum())))
    return total


def data_likelihood(lda: Lda, phi: Floats) -> float:
    """Return P(w | phi), the sum of P(p, w | phi) over all paths."""
    states = all_states(lda.n_topics, 1, lda.n_tokens)[:, 0]
    return float(sum(np.exp(log_path_likelihood(lda, path, phi)) for path in states))


# ---------------------------------------------------------------------------------------------------------
# The conditionals of the samplers
# ---------------------------------------------------------------------------------------------------------


def _normalised(r: Floats) -> Floats:
    return r / r.sum()


def _others_in_document(lda: Lda, path: NDArray[np.integer], i: int) -> NDArray[np.int64]:
    """Return C^DT of the document of token i in one path, the token itself taken out, (T,)."""
    others = lda.document_of == lda.document_of[i]
    others[i] = False
    return np.bincount(path[others], minlength=lda.n_topics)


def conditional_given_phi(lda: Lda, path: NDArray[np.integer], i: int, phi: Floats) -> Floats:
    """Lines 10 to 17 of Algorithm 3: the distribution of p_i given the rest of its path and phi (T, W)."""
    return _normalised(phi[:, lda.words[i]] * (_others_in_document(lda, path, i) + lda.alpha))


def conditional_collapsed(lda: Lda, paths: NDArray[np.integer], j: int, i: int) -> Floats:
    """Lines 7 to 14 of Algorithm 4, with W eta in the denominator: p^j_i given all the rest."""
    counted = np.ones(paths.shape, dtype=bool)
    counted[j, i] = False
    same_word = counted & (lda.words == lda.words[i])
    by_word = np.bincount(paths[same_word], minlength=lda.n_topics)
    by_topic = np.bincount(paths[counted], minlength=lda.n_topics)
    f = (by_word + lda.eta[:, lda.words[i]]) / (by_topic + lda.eta.sum(axis=1))
    return _normalised(f * (_others_in_document(lda, paths[j], i) + lda.alpha))
