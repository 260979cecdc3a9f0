"""Seeded topics: words that a topic should have, given to the sampler through the prior of its words.

    eta_tw = eta + added_tw,    added_tw = weight m f_w if w is a seed word of topic t, else 0

with f_w the number of times that w occurs in the corpus and m the number of paths. The prior acts during the
whole run. A seed word with weight 1 has as many prior counts in its topic as it has tokens in all paths
together, so that the strength of a seed depends neither on the size of the corpus nor on the frequency of the
word nor on m. (A constant, such as 100 eta, is lost among the thousands of tokens of a frequent word.)
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from plait.arrays import Floats
from plait.checks import check_integer, check_number, check_strings, list_names, short_repr
from plait.data.corpus import Corpus
from plait.errors import Argument, PlaitError, PlaitWarning

SEED_WEIGHT: Final = 1.0
"""The weight by default: see docs/starting.md."""

MOST_WEIGHT: Final = 1000.0

_SHOWN = 10  # unknown words in a warning

Seeds = Mapping[str, Sequence[str]]
"""Seed words of topics, by the names of the topics."""


class SeededPrior(NamedTuple):
    """The prior of the words in topics, of which the first ones are seeded.

    Attributes
    ----------
    base : float
        eta, the prior of all words in all topics.
    added : ndarray of float64, (T, W)
        Prior counts of the seed words.
    names : tuple of str
        The names of the seeded topics: topic t is `names[t]`.
    """

    base: float
    added: Floats
    names: tuple[str, ...]

    @property
    def eta(self) -> Floats:
        """eta_tw, (T, W)."""
        return self.base + self.added


def seeded_prior(
    corpus: Corpus,
    n_topics: int,
    seeds: Seeds,
    eta: float | None = None,
    weight: float = SEED_WEIGHT,
    *,
    n_paths: int = 1,
) -> SeededPrior:
    """Return a prior that draws words to topics.

    Parameters
    ----------
    corpus : Corpus
        The data. If it has a recipe, seed words are processed by it: "taxes" becomes the stem "tax".
    n_topics : int
        Number of topics T.
    seeds : mapping of str to sequence of str
        The seed words of the first topics, by the names of these. A word may belong to several topics.
    eta : float, default: 0.01
        Prior of all words in all topics; a single number.
    weight : float
        Prior counts of a seed word in its topic, as a share of its tokens in all paths.
    n_paths : int
        Number of paths m of the run.

    Warns
    -----
    PlaitWarning
        If some seed words do not occur in the corpus; if all words of a topic do not, that is an error.
    """
    check_seeds("seeds", seeds)
    base = 0.01 if eta is None else check_number("eta", eta)
    check_weight("seed_weight", weight)
    check_integer("n_topics", n_topics, least=1)
    if len(seeds) > n_topics:
        raise PlaitError(
            Argument("seeds"),
            f" must be for at most {n_topics} topics, got {len(seeds)}: raise ",
            Argument("n_topics"),
            ", or give fewer",
        )
    frequencies = np.bincount(corpus.words, minlength=corpus.n_words)
    index = {word: w for w, word in enumerate(corpus.vocabulary) if frequencies[w]}
    added = np.zeros((n_topics, corpus.n_words))
    unknown: list[str] = []
    for t, (name, words) in enumerate(seeds.items()):
        found: set[int] = set()
        for word in words:
            own = {index[form] for form in _forms(word, corpus) if form in index}
            unknown += [] if own else [word]
            found |= own
        if not found:
            raise PlaitError(
                Argument("seeds"),
                f"[{short_repr(name)}] has no word that occurs in the corpus, got"
                f" {list_names(words[:_SHOWN])}: give words of its vocabulary",
            )
        seeded = sorted(found)
        added[t, seeded] = weight * n_paths * frequencies[seeded]
    if unknown:
        more = f" and {len(unknown) - _SHOWN} more" if len(unknown) > _SHOWN else ""
        warnings.warn(
            f"seed words that do not occur in the corpus are ignored: {list_names(unknown[:_SHOWN])}{more}",
            PlaitWarning,
            stacklevel=2,
        )
    return SeededPrior(base, added, tuple(seeds))


def check_seeds(name: str, seeds: object) -> None:
    """Raise an error unless seeds are words by the names of topics."""
    if not isinstance(seeds, Mapping):
        raise PlaitError(
            Argument(name), f" must be a mapping of names of topics to words, got {short_repr(seeds)}"
        )
    if not seeds:
        raise PlaitError(Argument(name), " must have at least one topic, got none")
    check_strings(name, seeds)
    for topic, words in seeds.items():
        key = f"[{short_repr(topic)}]"
        if not topic.strip():
            raise PlaitError(Argument(name), f"{key} must have a name that is not blank")
        if not check_strings(name, words, key=key):
            raise PlaitError(Argument(name), f"{key} must have at least one word, got none")


def check_weight(name: str, weight: object) -> None:
    """Raise an error unless the weight of seeds is a number in range."""
    if check_number(name, weight) > MOST_WEIGHT:
        raise PlaitError(Argument(name), f" must be at most {MOST_WEIGHT:g}, got {short_repr(weight)}")


def _forms(word: str, corpus: Corpus) -> Iterator[str]:
    """Yield the words of the vocabulary that a seed word may stand for."""
    if corpus.recipe is not None:
        yield from corpus.recipe.tokens(word)  # several for a phrase
    yield word
