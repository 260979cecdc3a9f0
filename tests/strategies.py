"""Strategies of hypothesis for data, and for files in every format that plait reads."""

from __future__ import annotations

import csv
import dataclasses
import gzip
import io
import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse
from hypothesis import HealthCheck, configuration, settings
from hypothesis import strategies as st

from plait.data.cleaning import CHOICES
from plait.data.corpus import Corpus
from plait.data.sequences import Sequences
from plait.data.text import TextRecipe
from plait.models.emissions import CategoricalEmissions, GaussianEmissions
from plait.models.hmm import HmmModel
from plait.models.lda import LdaModel
from plait.run import Run
from plait.sampler import sample

# Hypothesis keeps tables of Unicode in a folder, by default in the current one.
configuration.set_hypothesis_home_dir(Path(tempfile.gettempdir()) / "plait-hypothesis")


def examples(n: int) -> settings:
    """Return settings for `n` examples, always the same ones."""
    return settings(
        max_examples=n,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    )


# -----------------------------------------------------------------------------------------------------
# Text
# -----------------------------------------------------------------------------------------------------

LETTERS = "abzAZéİß語क\u0301"
ODD = "#/&@<>\0\t\x0b\x1b\x7f\x85\u2028\u202e\ufeff\ud800\U0001f600'\"\\,;:%#{}[]=-+@019._ \n\r"

words = st.text("abcdeé語", min_size=1, max_size=4)
"""Words, of which the default recipe drops only "a"."""

names = st.text("abé語 '\",;\n\t=", max_size=6)
"""Names of documents, sequences and labels."""

any_text = st.text(LETTERS + ODD, max_size=30) | st.text(max_size=30)
"""Text with all that may go wrong."""

texts = st.text("abc é語,\"'\n\t.", min_size=0, max_size=20)
"""Text that every format can hold, in quotes if need be."""

recipes = st.builds(
    TextRecipe,
    lowercase=st.booleans(),
    stop_words=st.none() | st.sampled_from(["auto", "english", "french"]) | st.lists(words, max_size=3),
    min_count=st.integers(1, 3),
    min_df=st.integers(1, 2) | st.floats(0.0, 0.5),
    max_df=st.integers(1, 5) | st.floats(0.5, 1.0),
    remove_top=st.integers(0, 2),
    split_paragraphs=st.booleans(),
    min_length=st.integers(1, 3),
    language=st.sampled_from([None, "en", "fr", "it", "ja"]),
    fold_accents=st.booleans(),
    tokenizer=st.sampled_from(["words", "icu", "auto"]),
    phrases=st.just(False) | st.floats(0.0, 1.0),
    phrase_count=st.integers(1, 2),
    **{kind: st.sampled_from(choices) for kind, choices in CHOICES.items()},
)

recipe_settings = st.dictionaries(
    st.sampled_from([field.name for field in dataclasses.fields(TextRecipe)] + ["x"]),
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.lists(st.text(max_size=3)),
    max_size=3,
)
"""Settings of a recipe, most of them wrong."""

# -----------------------------------------------------------------------------------------------------
# Corpora and sequences
# -----------------------------------------------------------------------------------------------------


@st.composite
def corpora(draw: st.DrawFn) -> Corpus:
    """Return a strategy for corpora, with empty documents and with metadata."""
    vocabulary = draw(st.lists(words, min_size=1, max_size=6, unique=True))
    documents = draw(st.lists(st.lists(st.sampled_from(vocabulary), max_size=6), min_size=1, max_size=5))
    n = len(documents)
    column = st.lists(names, min_size=n, max_size=n)
    return Corpus.from_tokens(
        documents,
        vocabulary=vocabulary,
        names=draw(st.none() | column),
        dates=draw(st.none() | column),
        columns=draw(st.dictionaries(names, column, max_size=2)),
        recipe=draw(st.none() | recipes),
    )


@st.composite
def lengths_of(draw: st.DrawFn, n: int) -> list[int]:
    """Return a strategy for lengths of sequences that add up to `n`."""
    ends = sorted({*draw(st.lists(st.integers(1, n), max_size=3)), n})
    return [int(length) for length in np.diff([0, *ends])]


@st.composite
def symbol_sequences(draw: st.DrawFn) -> Sequences:
    """Return a strategy for sequences of symbols, some of them missing."""
    values = draw(st.lists(st.integers(-1, 4), min_size=1, max_size=12))
    values[0] = max(values[0], 0)
    labels = draw(st.none() | st.lists(names, min_size=5, max_size=7, unique=True))
    lengths = draw(lengths_of(len(values)))
    given = draw(st.none() | st.lists(names, min_size=len(lengths), max_size=len(lengths)))
    return Sequences.from_symbols(values, lengths, missing=True, names=given, labels=labels)


numbers = st.floats(-1e6, 1e6).map(lambda x: round(x, 6))


@st.composite
def number_sequences(draw: st.DrawFn, gaps: bool = True) -> Sequences:
    """Return a strategy for sequences of numbers, some rows of them missing."""
    n, d = draw(st.integers(1, 8)), draw(st.integers(1, 3))
    values = np.array(draw(st.lists(st.lists(numbers, min_size=d, max_size=d), min_size=n, max_size=n)))
    if gaps:
        values[draw(st.lists(st.integers(0, n - 1), max_size=2))] = np.nan
    columns = draw(st.none() | st.lists(words, min_size=d, max_size=d, unique=True))
    return Sequences.from_values(values, draw(lengths_of(n)), missing=True, columns=columns)


# -----------------------------------------------------------------------------------------------------
# Matrices
# -----------------------------------------------------------------------------------------------------

SPARSE = tuple(
    f"{name}_{kind}"
    for name in ("csr", "csc", "coo", "lil", "dok", "bsr", "dia")
    for kind in ("matrix", "array")
)
"""All sparse formats of SciPy, as matrices and as arrays."""


@st.composite
def dense_counts(draw: st.DrawFn) -> np.ndarray[Any, Any]:
    """Return a strategy for dense matrices of counts."""
    n, w = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    rows = st.lists(st.lists(st.integers(0, 3), min_size=w, max_size=w), min_size=n, max_size=n)
    return np.array(draw(rows), draw(st.sampled_from([np.int64, np.int32, np.uint8, np.float32, np.float64])))


def as_format(X: np.ndarray[Any, Any], format: str) -> Any:
    """Return a dense matrix in a sparse format."""
    return getattr(scipy.sparse, format)(X)


@st.composite
def wrong_counts(draw: st.DrawFn) -> Any:
    """Return a strategy for what is no matrix of counts: wrong numbers, types or dimensions."""
    X = draw(dense_counts())
    kind = draw(st.integers(0, 3))
    if kind == 0:
        dtype: Any = draw(st.sampled_from([complex, object, "U5", "M8[s]"]))
        return X.astype(dtype)
    if kind == 1:
        return draw(st.sampled_from([X[0], X[None], X[0, 0], [*X.tolist(), [1] * 9], "x", None, {}]))
    X = X.astype(float)
    X[-1, -1] = draw(st.sampled_from([-1.0, 0.5, np.nan, np.inf, -np.inf, 1e300]))
    return X if kind == 2 else as_format(X, draw(st.sampled_from(SPARSE)))


@st.composite
def broken_matrices(draw: st.DrawFn) -> Any:
    """Return a strategy for compressed matrices whose parts do not fit together; walking one may crash."""
    X = as_format(draw(dense_counts()) + 1, draw(st.sampled_from(["csr_array", "csc_array", "csr_matrix"])))
    part = draw(st.sampled_from(["indices", "indptr"]))
    array = getattr(X, part).copy()
    wrong = st.sampled_from([-1, 10, 10**6, 2**31 - 1, -(2**31)])
    array[draw(st.integers(0, len(array) - 1))] = draw(wrong)
    setattr(X, part, array)
    return X


# -----------------------------------------------------------------------------------------------------
# Files
# -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class File:
    """A file and what it holds.

    Attributes
    ----------
    name : str
        Its name, from which readers infer the format.
    contents : bytes
        Its bytes.
    holds : object
        What a reader should return: texts, a matrix of counts or sequences.
    """

    name: str
    contents: bytes
    holds: Any

    def write(self, folder: Path) -> Path:
        """Write the file; return its path."""
        path = folder / self.name
        path.write_bytes(self.contents)
        return path


def packed(files: st.SearchStrategy[File]) -> st.SearchStrategy[File]:
    """Return a strategy for the files, and for the same ones compressed."""
    return files | files.map(
        lambda file: File(f"{file.name}.gz", gzip.compress(file.contents, 1, mtime=0), file.holds)
    )


def table(rows: Sequence[Sequence[object]], delimiter: str) -> bytes:
    """Return a table as .csv and .tsv files hold it."""
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=delimiter).writerows(rows)
    return text.getvalue().encode()


def lines_of(documents: list[str]) -> File:
    """Return a file with one document per line."""
    flat = [text.replace("\n", " ") for text in documents]
    return File("x.txt", ("\n".join(flat) + "\n").encode(), tuple(flat))


def table_of(documents: list[str], delimiter: str) -> File:
    """Return a table with one document per row."""
    rows = [("id", "text"), *((str(i), text) for i, text in enumerate(documents))]
    return File("x.tsv" if delimiter == "\t" else "x.csv", table(rows, delimiter), tuple(documents))


def objects_of(documents: list[str]) -> File:
    """Return a file with one JSON object per document."""
    lines = [json.dumps({"text": text, "id": str(i)}) + "\n" for i, text in enumerate(documents)]
    return File("x.jsonl", "".join(lines).encode(), tuple(documents))


text_files = packed(
    st.builds(
        lambda write, documents: write(documents),
        st.sampled_from(
            [lines_of, objects_of, lambda texts: table_of(texts, ","), lambda texts: table_of(texts, "\t")]
        ),
        st.lists(texts, min_size=1, max_size=4),
    )
)
"""Files of texts in all formats; they hold the texts."""


def uci_of(X: np.ndarray[Any, Any]) -> File:
    """Return counts in the UCI format."""
    entries = [f"{d + 1} {w + 1} {int(X[d, w])}" for d, w in np.argwhere(X)]
    lines = [*map(str, (*X.shape, len(entries))), *entries]
    return File("docword.x.txt", ("\n".join(lines) + "\n").encode(), X)


def mtx_of(X: np.ndarray[Any, Any]) -> File:
    """Return counts in the Matrix Market format."""
    buffer = io.BytesIO()
    scipy.io.mmwrite(buffer, scipy.sparse.coo_matrix(X.astype(np.int64)), field="integer", symmetry="general")
    return File("x.mtx", buffer.getvalue(), X)


def ldac_of(X: np.ndarray[Any, Any]) -> File:
    """Return counts in the LDA-C format, in which words after the last that occurs are unknown."""
    used = np.flatnonzero(X.any(axis=0))
    X = X[:, : used[-1] + 1] if used.size else X[:, :0]
    lines = [
        " ".join([str(np.count_nonzero(row)), *(f"{w}:{int(row[w])}" for w in np.flatnonzero(row))])
        for row in X
    ]
    return File("x.ldac", ("\n".join(lines) + "\n").encode(), X)


WRITERS: tuple[Callable[[np.ndarray[Any, Any]], File], ...] = (uci_of, mtx_of, ldac_of)

count_files = packed(st.builds(lambda write, X: write(X), st.sampled_from(WRITERS), dense_counts()))
"""Files of counts in all formats; they hold the matrix."""


@st.composite
def symbol_tables(draw: st.DrawFn) -> File:
    """Return a strategy for tables of symbols; they hold the texts, None where one is missing."""
    labels = draw(st.lists(st.sampled_from(["a", "b", "é", 'x"y', "語"]) | st.none(), min_size=1, max_size=8))
    rows = [["s"], *([label or "NA"] for label in labels)]
    return File("x.csv", table(rows, ","), labels)


@st.composite
def number_tables(draw: st.DrawFn) -> File:
    """Return a strategy for tables of numbers, with a column of ids; they hold the sequences."""
    sequences = draw(number_sequences())
    ids = np.repeat(np.arange(sequences.n_sequences), sequences.lengths)
    header = ["id", *(f"x{j}" for j in range(sequences.n_features))]
    cells = [["" if np.isnan(x) else repr(float(x)) for x in row] for row in sequences.values]
    rows = [header, *([f"s{i}", *row] for i, row in zip(ids, cells, strict=True))]
    delimiter, name = draw(st.sampled_from([(",", "x.csv"), ("\t", "x.tsv")]))
    return File(name, table(rows, delimiter), sequences)


@st.composite
def arrays(draw: st.DrawFn) -> File:
    """Return a strategy for .npy files; they hold the sequences."""
    sequences = draw(symbol_sequences() | number_sequences())
    values = sequences.values
    if sequences.is_symbols:
        values = values.astype(draw(st.sampled_from([np.int8, np.int64, np.float64])))
    else:
        values = np.asarray(values, order=draw(st.sampled_from("CF")))
    buffer = io.BytesIO()
    np.save(buffer, values)
    return File("x.npy", buffer.getvalue(), sequences)


any_file = st.builds(
    File,
    st.sampled_from(
        [
            "x.txt",
            "x.csv",
            "x.tsv",
            "x.jsonl",
            "docword.x.txt",
            "x.ldac",
            "x.mtx",
            "x.txt.gz",
            "x.csv.gz",
            "x.npy",
        ]
    ),
    st.binary(max_size=60) | any_text.map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.none(),
)
"""Files with any contents under any name."""

# -----------------------------------------------------------------------------------------------------
# Models
# -----------------------------------------------------------------------------------------------------


@st.composite
def runs(draw: st.DrawFn) -> Run:
    """Return a strategy for short runs of topic models and hidden Markov models."""
    kind = draw(st.sampled_from(["lda", "symbols", "numbers"]))
    model: Any
    if kind == "lda":
        model = LdaModel(
            draw(corpora().filter(lambda corpus: corpus.n_tokens)),
            draw(st.integers(2, 4)),
            draw(st.floats(0.01, 2.0)),
        )
    elif kind == "symbols":
        model = HmmModel(CategoricalEmissions(draw(symbol_sequences()), 2))
    else:
        model = HmmModel(GaussianEmissions(draw(number_sequences(gaps=False)), 2))
    return sample(model, n_paths=draw(st.integers(1, 2)), n_sweeps=2, seed=draw(st.integers(0, 99)), n_jobs=1)
