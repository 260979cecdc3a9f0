"""Topics without the documents that they were fitted to: all that inference on new documents needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plait.arrays import Floats, check_finite, check_form, frozen, frozen_copy, stored, stored_shapes
from plait.checks import check_integer
from plait.data.corpus import Corpus
from plait.errors import Argument, PlaitError
from plait.models.lda import Topics
from plait.models.model import MAX_STATES, Arrays, Header, Paths
from plait.models.priors import check_prior
from plait.models.topics import check_probabilities, make_topics
from plait.storage import arrays_below
from plait.threads import Threads

_ARRAYS: Final = ("phi", "alpha", "shares", "sizes")
_NUMBERS: Final = ("eta", "n_documents", "n_tokens")


@dataclass(frozen=True, eq=False)
class SlimLdaModel:
    """The topics of a run of LDA as a model, which cannot be sampled: its parameters are phi.

    Parameters
    ----------
    corpus : Corpus
        A corpus without tokens: the vocabulary, and how text becomes words.
    phi : ndarray of float32, (W, T)
        phi_t(w); columns sum to 1.
    alpha : float or array (T,)
        Prior of the topics in a document.
    shares : array (T,)
        The share of the tokens that each topic has.
    sizes : array (T,)
        The sum of the pseudo-counts of each topic.
    eta : float
        Prior of the words in a topic; its mean, if it is a matrix.
    n_documents, n_tokens : int
        Size of the corpus that the topics were fitted to.
    """

    kind: ClassVar[str] = "slim-lda"
    site_name: ClassVar[str] = "token"
    n_sites: ClassVar[int] = 0

    corpus: Corpus
    phi: NDArray[np.float32]
    alpha: ArrayLike
    shares: Floats
    sizes: Floats
    eta: float
    n_documents: int
    n_tokens: int

    def __post_init__(self) -> None:
        n_topics = np.shape(self.phi)[1] if np.ndim(self.phi) == 2 else 0
        check_form(Argument("phi"), self.phi, (self.corpus.n_words, n_topics), np.float32)
        check_integer("n_topics", n_topics, least=1, most=MAX_STATES)
        check_probabilities(Argument("phi"), self.phi)
        alpha = check_prior("alpha", self.alpha, {"T": self.n_topics})
        checked: dict[str, Any] = {
            "phi": frozen(np.ascontiguousarray(self.phi).view()),
            "alpha": frozen_copy(np.broadcast_to(alpha, self.n_topics)),
            "eta": float(check_prior("eta", self.eta, {})),
        }
        for name in ("shares", "sizes"):
            values = np.asarray(getattr(self, name), np.float64)
            check_finite(Argument(name), values, (self.n_topics,))
            checked[name] = frozen_copy(values)
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        for name in ("n_documents", "n_tokens"):
            check_integer(name, getattr(self, name), least=0)

    @property
    def n_topics(self) -> int:
        """Number of topics (T)."""
        return int(self.phi.shape[1])

    @property
    def n_states(self) -> int:
        """Number of topics (T)."""
        return self.n_topics

    @property
    def alpha_vector(self) -> Floats:
        """The prior of the topics in a document, (T,)."""
        return np.asarray(self.alpha)

    def count(self, paths: Paths, threads: Threads) -> None:
        """Return nothing: there are no tokens."""

    def mean_parameters(self, counts: None, threads: Threads) -> Topics:
        """Return the topics in the layout of the sampler."""
        topic_word: NDArray[Any] = self.phi.T
        return make_topics(topic_word, self.alpha_vector, threads)

    def to_arrays(self) -> tuple[Arrays, Header]:
        """Return the topics and the vocabulary as arrays and a header."""
        corpus_arrays, corpus_header = self.corpus.to_arrays()
        arrays = {f"corpus.{name}": array for name, array in corpus_arrays.items()}
        arrays |= {name: np.asarray(getattr(self, name)) for name in _ARRAYS}
        return arrays, {"corpus": corpus_header, **{name: getattr(self, name) for name in _NUMBERS}}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> Self:
        """Rebuild the model from the output of `to_arrays`."""
        corpus = Corpus.from_arrays(arrays_below("corpus.", arrays), header["corpus"])
        phi = stored(arrays, "phi", np.float32)
        if phi.ndim != 2:
            raise PlaitError(f"its topics have shape {phi.shape} instead of (words, topics)")
        rest: dict[str, Any] = {name: header[name] for name in _NUMBERS}
        rest |= stored_shapes(arrays, dict.fromkeys(_ARRAYS[1:], phi.shape[1:]))
        return cls(corpus, phi, **rest)
