"""Synthetic documents of any size, whose words follow Zipf's law.

    python benchmarks/zipf.py zipf.corpus --tokens 1e8 --documents 5e5 --words 1e5

A document has five topics with the weights 1/2, 1/4, ..., 1/16, 1/16, and each of its tokens one of them.
Half of the tokens are drawn from all words, with probabilities proportional to rank**-exponent; the others by
the same law from the words of their topic alone. Topic t of T owns the words t, t + T, t + 2 T, ..., so that
the words of all topics together follow the law, too.

Documents are made in blocks of about a million tokens, each from a random stream of its own: the same sizes
and seed give the same documents, and memory holds one block and the result.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plait.data.corpus import Corpus

TOPICS_PER_DOCUMENT = 5
BLOCK_TOKENS = 1_000_000


class Block(NamedTuple):
    """The documents `first` to `last`: their words, the topics that these were drawn from, their lengths."""

    first: int
    last: int
    words: NDArray[np.int32]
    topics: NDArray[np.uint16]
    lengths: NDArray[np.int64]


@dataclass(frozen=True)
class Zipf:
    """Documents of equal lengths, up to one token.

    Attributes
    ----------
    n_tokens, n_documents, n_words, n_topics : int
        The sizes.
    exponent : float
        The exponent of Zipf's law, at least 0; that of natural language is about 1.
    seed : int
        Seed of the random streams.
    """

    n_tokens: int
    n_documents: int
    n_words: int
    n_topics: int = 500
    exponent: float = 1.0
    seed: int = 0

    def blocks(self) -> Iterator[Block]:
        """Yield all documents, some at a time."""
        offsets = self.offsets()
        n_blocks = max(1, min(self.n_documents, self.n_tokens // BLOCK_TOKENS))
        bounds = np.arange(n_blocks + 1) * self.n_documents // n_blocks
        for k in range(n_blocks):
            lengths = np.diff(offsets[bounds[k] : bounds[k + 1] + 1])
            yield self._block(int(bounds[k]), lengths, np.random.default_rng([self.seed, k]))

    def offsets(self) -> NDArray[np.int64]:
        """Return where each document starts, and the number of tokens, (D + 1,)."""
        return np.arange(self.n_documents + 1) * self.n_tokens // self.n_documents

    def _block(self, first: int, lengths: NDArray[np.int64], rng: np.random.Generator) -> Block:
        n_documents, n_tokens = len(lengths), int(lengths.sum())
        own = rng.integers(self.n_topics, size=(n_documents, TOPICS_PER_DOCUMENT), dtype=np.uint16)
        weights = 0.5 ** np.minimum(np.arange(TOPICS_PER_DOCUMENT) + 1, TOPICS_PER_DOCUMENT - 1)
        place = np.searchsorted(np.cumsum(weights)[:-1], rng.random(n_tokens), side="right")
        topics = own[np.repeat(np.arange(n_documents), lengths), place]
        n_own = -(-(self.n_words - topics.astype(np.int64)) // self.n_topics)  # words of each token's topic
        is_own = (rng.random(n_tokens) < 0.5) & (n_own > 0)
        ranks = self._ranks(rng.random(n_tokens), np.where(is_own, n_own, self.n_words))
        words = np.where(is_own, topics + ranks * self.n_topics, ranks).astype(np.int32)
        return Block(first, first + n_documents, words, topics, lengths)

    def _ranks(self, uniform: NDArray[np.float64], n: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return ranks from 0 to n - 1 by Zipf's law for continuous ranks, whose inverse needs no table."""
        power = 1.0 - self.exponent
        if abs(power) < 1e-9:
            ranks = (n + 1.0) ** uniform
        else:
            ranks = (1.0 + uniform * ((n + 1.0) ** power - 1.0)) ** (1.0 / power)
        return np.clip(ranks.astype(np.int64) - 1, 0, n - 1)

    def corpus(self, topics: NDArray[np.uint16] | None = None) -> Corpus:
        """Return all documents; fill `topics` (N,), if given, with the topics of their tokens."""
        offsets, words = self.offsets(), np.empty(self.n_tokens, np.int32)
        for block in self.blocks():
            here = slice(offsets[block.first], offsets[block.last])
            words[here] = block.words
            if topics is not None:
                topics[here] = block.topics
        words.flags.writeable = False  # so that it need not be copied
        return Corpus(words, offsets, tuple(f"w{w}" for w in range(self.n_words)))


def count(text: str) -> int:
    """Return a number, which may be written as 1e8."""
    return int(float(text))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("output", type=Path)
    parser.add_argument("--tokens", type=count, default=10**8)
    parser.add_argument("--documents", type=count, default=500_000)
    parser.add_argument("--words", type=count, default=100_000)
    parser.add_argument("--topics", type=count, default=500)
    parser.add_argument("--exponent", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    own = parser.parse_args()
    corpus = Zipf(own.tokens, own.documents, own.words, own.topics, own.exponent, own.seed).corpus()
    corpus.save(own.output)
    print(f"{own.output}: {corpus!r}")


if __name__ == "__main__":
    main()
