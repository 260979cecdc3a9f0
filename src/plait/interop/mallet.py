"""State files of MALLET: the topic of every token, and the priors.

The file is text, usually compressed (.gz), with one line per token:

    #doc source pos typeindex type topic
    #alpha : 0.1 0.1
    #beta : 0.01
    0 speech-1 0 17 taxes 1
    0 speech-1 1 4 war 0

A field has no white space. MALLET reads such a file to resume a run (`--input-state`).
"""

from __future__ import annotations

import gzip
import io
import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, Final, NamedTuple
from urllib.parse import unquote

import numpy as np

from plait.checks import check_distinct_strings, check_integer, short_repr
from plait.data import limits
from plait.data.corpus import Corpus
from plait.data.encoding import MAX_TOKENS, offsets_of
from plait.data.files import FilePath, check_path, error_at, prefix_errors, read_lines, translate_errors
from plait.errors import Argument, PlaitError
from plait.interop.source import lda_run_of
from plait.models.lda import MAX_TOPICS, LdaModel
from plait.outputs import claimed, replacing
from plait.plans import Settings
from plait.run import Run
from plait.trace import Trace

HEADER: Final = "#doc source pos typeindex type topic"

NO_SOURCE: Final = "NA"
"""What MALLET writes for a document without a name."""

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)
_PRIOR = re.compile(r"#(alpha|beta)\s*:(.*)", re.ASCII)
_BLANK = re.compile(r"[\s\x00-\x1f]")
_ESCAPED = re.compile(r"[\s\x00-\x1f%]")


def to_mallet(run: Any, path: FilePath, *, path_index: int = 0, overwrite: bool = False) -> None:
    """Write one path of a topic model as a state file of MALLET.

    Parameters
    ----------
    run : Run or estimator
        A run of LDA, or a fitted estimator. Its prior eta must be one number.
    path : path
        The file; compressed if its name ends in .gz, as MALLET requires.
    path_index : int
        Number of the path to write, from 0.
    overwrite : bool
        Whether a file that exists may be replaced.

    Notes
    -----
    The names of the documents become their sources, with white space and % as %20 and %25; that of a document
    without a name is NA. White space in words, as in n-grams, is written as an underscore. The format has no
    place for words that do not occur, empty documents at the end, dates, other paths and names of topics:
    `Run.save` keeps everything.
    """
    check_path(path)
    target = Path(path)
    run, model = lda_run_of(run)
    path_index = check_integer("path_index", path_index, least=0, most=len(run.paths) - 1)
    eta = np.unique(np.asarray(model.eta))
    if eta.size != 1:
        raise PlaitError(
            f"a state of MALLET has one beta, but eta of the model has values from {eta[0]:g} to {eta[-1]:g}:"
            " save the run with Run.save, or fit it with one eta"
        )
    corpus = model.corpus
    vocabulary = _fields(corpus.vocabulary)
    sources = [_source(name) for name in corpus.names or [""] * corpus.n_documents]
    topics = run.paths[path_index]
    alpha = "".join(f"{value!r} " for value in model.alpha_vector.tolist())
    with (
        claimed(target, overwrite=overwrite),
        replacing(target) as temporary,
        _writing(temporary, is_packed=target.name.lower().endswith(".gz")) as file,
    ):
        file.write(f"{HEADER}\n#alpha : {alpha}\n#beta : {float(eta[0])!r}\n")
        for d, (first, last) in enumerate(pairwise(corpus.offsets.tolist())):
            tokens = zip(corpus.words[first:last].tolist(), topics[first:last].tolist(), strict=True)
            file.writelines(
                f"{d} {sources[d]} {i} {w} {vocabulary[w]} {t}\n" for i, (w, t) in enumerate(tokens)
            )


def from_mallet(
    path: FilePath,
    *,
    vocabulary: Iterable[str] | None = None,
    n_paths: int = 1,
    n_sweeps: int = 1000,
    seed: int = 0,
    collapsed: bool = False,
    encoding: str = "utf-8",
    max_unpacked: int | None = None,
) -> Run:
    """Return a run that starts from a state file of MALLET: `plait.resume` samples on from it.

    Parameters
    ----------
    path : path
        The file, as `--output-state` of MALLET writes it; decompressed if its name ends in .gz.
    vocabulary : iterable of str, optional
        All words, by their index in the file. By default those in the file: where an index is skipped, the
        word is unknown and called "(word 7)", and words after the last in the file are missing.
    n_paths : int
        Number of paths m; all of them start from the topics in the file.
    n_sweeps, seed, collapsed
        Settings for resuming it, as in `plait.sample`.
    encoding : str
        Encoding of the text.
    max_unpacked : int, optional
        Maximum number of bytes after decompression; by default 16 times the size on disk, or 16 MB if that is
        more.

    Returns
    -------
    Run
        A run of LDA after 0 sweeps. Alpha and beta are the priors alpha and eta of its model. Sources are the
        names of the documents, with %20 as a space, unless all are NA. A number that is skipped is that of an
        empty document.
    """
    check_integer("n_paths", n_paths, least=1)
    settings = Settings(n_paths=n_paths, n_sweeps=n_sweeps, seed=seed, collapsed=collapsed, thin=10)
    known = None if vocabulary is None else check_distinct_strings("vocabulary", vocabulary)
    lines, n_bytes = read_lines(path, encoding, max_unpacked)
    with translate_errors(path):
        priors = _read_priors(path, lines)
        state = _read_tokens(path, lines, priors, known, n_bytes)
        with prefix_errors(path):
            corpus = Corpus(
                np.array(state.words, np.int32),
                offsets_of(state.lengths),
                _vocabulary(state.types) if known is None else known,
                names=_names(state.sources),
            )
            model = LdaModel(corpus, len(priors.alpha), _scalar(priors.alpha), priors.beta, least_topics=1)
    paths = np.tile(np.array(state.topics, np.uint16), (n_paths, 1))
    return Run(model, paths, 0, settings, Trace.empty(n_paths))


# -----------------------------------------------------------------------------------------------------
# Writing
# -----------------------------------------------------------------------------------------------------


@contextmanager
def _writing(path: Path, *, is_packed: bool) -> Iterator[IO[str]]:
    """Open a file for text, compressed or not; the same text always gives the same bytes."""
    with open(path, "wb") as file:
        packed: Any = gzip.GzipFile("", "wb", 6, file, mtime=0) if is_packed else file
        with packed, io.TextIOWrapper(packed, "utf-8", newline="\n") as text:
            yield text


def _fields(vocabulary: Sequence[str]) -> list[str]:
    """Return the words without white space; they stay distinct."""
    fields = [_BLANK.sub("_", word) for word in vocabulary]
    owners: dict[str, str] = {}
    for word, field in zip(vocabulary, fields, strict=True):
        if not field:
            raise PlaitError("the vocabulary has an empty word, which MALLET's format cannot hold: remove it")
        if owners.setdefault(field, word) != word:
            raise PlaitError(
                f"without white space, the words {short_repr(owners[field])} and {short_repr(word)} are the"
                " same, which MALLET's format cannot hold: remove one"
            )
    return fields


def _source(name: str) -> str:
    """Return the name of a document as a field; `_name` undoes this."""
    return _ESCAPED.sub(_percent, name) or NO_SOURCE


def _percent(found: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in found[0].encode())


# -----------------------------------------------------------------------------------------------------
# Reading
# -----------------------------------------------------------------------------------------------------


class _Priors(NamedTuple):
    alpha: list[float]
    beta: float

    n_lines: int
    """Number of lines that start with #."""


class _State(NamedTuple):
    """The tokens of a file."""

    words: array[int]
    topics: array[int]
    lengths: array[int]

    sources: list[str]
    """The source of each document, "" for one without tokens."""

    types: dict[int, str]
    """The words by their index."""


def _read_priors(path: FilePath, lines: Sequence[str]) -> _Priors:
    """Return what the lines that start with # say."""
    n_lines = next((n for n, line in enumerate(lines) if not line.startswith("#")), len(lines))
    found: dict[str, list[float]] = {}
    for n, line in enumerate(lines[:n_lines], 1):
        match = _PRIOR.fullmatch(line.rstrip())
        if match is None:
            continue
        texts = match[2].split()
        wrong = next((text for text in texts if not _NUMBER.fullmatch(text)), None)
        if wrong is not None:
            raise error_at(path, n, f"{short_repr(wrong)} is not a number: correct {match[1]}")
        found[match[1]] = [float(text) for text in texts]
    for name, most in (("alpha", MAX_TOPICS), ("beta", 1)):
        if name not in found:
            raise error_at(
                path,
                None,
                f"it does not start with a line '#{name} : ...': pass a state file of MALLET 2.0.7 or newer",
            )
        if not 1 <= len(found[name]) <= most:
            raise error_at(path, None, f"{name} has {len(found[name])} numbers: write 1 to {most}")
    return _Priors(found["alpha"], found["beta"][0], n_lines)


def _read_tokens(
    path: FilePath, lines: Sequence[str], priors: _Priors, known: Sequence[str] | None, n_bytes: int
) -> _State:
    state = _State(array("i"), array("H"), array("q"), [], {})
    indices: dict[str, int] = {}  # of the words
    most_documents, n_topics = limits.DOCUMENTS.most(n_bytes), len(priors.alpha)
    for n, line in enumerate(lines[priors.n_lines :], priors.n_lines + 1):
        if not line or line.isspace():
            continue
        doc, source, *fields = _split(path, n, line)
        position, index, topic = (_whole(path, n, fields[k]) for k in (0, 1, 3))
        word, d = fields[2], _whole(path, n, doc)
        if d != len(state.lengths) - 1:
            _start_document(path, n, state, d, most_documents, n_bytes)
            state.sources[-1] = source
        if position != state.lengths[-1]:
            raise error_at(
                path,
                n,
                f"position {position} of document {d} is not {state.lengths[-1]}, the next one: lines are"
                " missing or out of order, write the file again",
            )
        if state.types.get(index) != word:
            _add_word(path, n, state.types, indices, index, word, known, n_bytes)
        if topic >= n_topics:
            raise error_at(
                path, n, f"topic {topic} is not from 0 to {n_topics - 1}, as alpha says: correct it"
            )
        state.words.append(index)
        state.topics.append(topic)
        state.lengths[-1] += 1
    if len(state.words) > MAX_TOKENS:
        raise error_at(path, None, f"it has more than {MAX_TOKENS} tokens: pass a part of it")
    if not state.words:
        raise error_at(path, None, "it has no tokens: pass a state file with some")
    return state


def _split(path: FilePath, n: int, line: str) -> list[str]:
    """Return the six fields of a line; only the source may contain spaces."""
    doc, _, rest = line.partition(" ")
    fields = rest.rsplit(" ", 4)
    if len(fields) != 5 or not all(fields):
        raise error_at(
            path, n, f"{short_repr(line)} is not 'doc source pos typeindex type topic': write six fields"
        )
    return [doc, *fields]


def _whole(path: FilePath, n: int, text: str) -> int:
    if len(text) <= 9 and text.isascii() and text.isdigit():
        return int(text)
    raise error_at(path, n, f"{short_repr(text)} is not a whole number from 0 to 999999999: correct it")


def _start_document(path: FilePath, n: int, state: _State, d: int, most_documents: int, n_bytes: int) -> None:
    """Start document `d`; those that were skipped are empty."""
    if d < len(state.lengths):
        raise error_at(
            path, n, f"document {d} comes after document {len(state.lengths) - 1}: sort the lines by document"
        )
    if d >= most_documents:
        claim = f"document {d} claims {d + 1} documents"
        raise limits.over_limit(path, n, claim, most_documents, n_bytes, "correct the number")
    n_new = d + 1 - len(state.lengths)
    state.lengths.extend([0] * n_new)
    state.sources.extend([""] * n_new)


def _add_word(
    path: FilePath,
    n: int,
    types: dict[int, str],
    indices: dict[str, int],
    index: int,
    word: str,
    known: Sequence[str] | None,
    n_bytes: int,
) -> None:
    """Add a word; its index must be new, and so must the word itself."""
    if index in types:
        raise error_at(
            path,
            n,
            f"word {index} is {short_repr(word)} here and {short_repr(types[index])} before: correct one",
        )
    if indices.setdefault(word, index) != index:
        raise error_at(
            path, n, f"the word {short_repr(word)} has the indices {indices[word]} and {index}: correct one"
        )
    if known is None:
        most = limits.WORDS.most(n_bytes)
        if index >= most:
            claim = f"word {index} claims a vocabulary of {index + 1}"
            raise limits.over_limit(path, n, claim, most, n_bytes, "correct the index")
    elif index >= len(known) or _BLANK.sub("_", known[index]) != word:
        expected = short_repr(known[index]) if index < len(known) else f"beyond the {len(known)} given"
        raise error_at(
            path,
            n,
            f"word {index} is {short_repr(word)}, but in ",
            Argument("vocabulary"),
            f" it is {expected}: pass the vocabulary of the file",
        )
    types[index] = word


def _vocabulary(types: dict[int, str]) -> tuple[str, ...]:
    """Return the words in the order of their indices; unknown ones have a space, which no word has."""
    return tuple(types.get(w, f"(word {w})") for w in range(max(types) + 1))


def _names(sources: Sequence[str]) -> tuple[str, ...] | None:
    if all(source in ("", NO_SOURCE) for source in sources):
        return None
    return tuple(map(_name, sources))


def _name(source: str) -> str:
    try:
        return unquote(source, errors="strict")
    except UnicodeDecodeError:
        return source


def _scalar(alpha: Sequence[float]) -> float | list[float]:
    """Return the prior as one number if all topics have the same."""
    return alpha[0] if len(set(alpha)) == 1 else list(alpha)
