"""What is fuzzed: every reader with every format, recipes, matrices, and model files."""

from __future__ import annotations

import gzip
import json
import operator
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import forgery
import numpy as np
import scipy.sparse
import seeds
from inputs import Input
from mutations import mutate, random_npy
from target import Read, Target, Then

import plait
from plait.data import limits
from plait.data.matching import read_matching_sequences
from plait.data.readers import read, read_texts
from plait.data.sequence_files import read_sequences
from plait.fitting.stored import resume
from plait.interop.mallet import from_mallet
from plait.models.emissions import MultinomialEmissions
from plait.models.mixture import MixtureModel
from plait.run import Run

_NUMBERS = "companion.npy"
_COUNTS = "docword.companion.txt"


def all_targets(folder: Path) -> dict[str, Target]:
    """Return all targets by name; files that they need are written into the folder."""
    texts = {name: text.encode() for name, text in seeds.TEXTS.items()}
    tables = {name: text.encode() for name, text in seeds.SEQUENCE_TABLES.items()}
    arrays = seeds.arrays()
    (folder / _NUMBERS).write_bytes(arrays["numbers.npy"])
    (folder / _COUNTS).write_bytes(texts["docword.small.txt"])
    targets = [_bytes_target(name, {name: text}, _read_corpus) for name, text in texts.items()]
    targets += [
        _bytes_target("tables", tables, _read_table, weight=4),
        _bytes_target("parquet", seeds.parquet_files(), _read_kept, weight=2),
        _workbook_target(),
        _npy_target("arrays", arrays, _read_array, weight=2),
        _gzip_target(seeds.TEXTS | seeds.SEQUENCE_TABLES),
        _bytes_target(
            "mallet", {name: text.encode() for name, text in seeds.STATES.items()}, _read_mallet, weight=2
        ),
        _bytes_target(
            "vocabulary", {"words.txt": seeds.VOCABULARY.encode()}, _read_vocabulary, companion=_COUNTS
        ),
        _bytes_target("lengths", {"lengths.txt": seeds.LENGTHS.encode()}, _read_lengths, companion=_NUMBERS),
        _npy_target(
            "lengths.npy", {"lengths.npy": seeds.npy(np.array([4, 1, 1]))}, _read_lengths, companion=_NUMBERS
        ),
        _encodings_target(),
        _json_target("recipe", seeds.SETTINGS, _use_recipe, weight=2),
        _json_target("matrix", seeds.MATRICES, _use_matrix, weight=2),
        *_model_targets(seeds.model_files(folder)),
    ]
    return {target.name: target for target in targets}


# -----------------------------------------------------------------------------------------------------
# Inputs
# -----------------------------------------------------------------------------------------------------


def _data(input: Input) -> bytes:
    assert input.data is not None
    return input.data


def _bytes_target(
    name: str,
    files: Mapping[str, bytes],
    read: Read,
    weight: int = 1,
    **options: Any,
) -> Target:
    """Return a target whose inputs are mutated bytes."""
    names, contents = list(files), list(files.values())

    def generate(rng: Random) -> Input:
        seed = rng.choice(names)
        return Input(name, seed, mutate(rng, files[seed], contents))

    valid = tuple(Input(name, seed, data) for seed, data in files.items())
    return Target(name, weight, valid, generate, _data, read, **options)


def _json_target(name: str, texts: Mapping[str, str], read: Read, weight: int) -> Target:
    """Return a target whose inputs are JSON: values in it are replaced as in headers of model files."""
    trees = {seed: json.loads(text) for seed, text in texts.items()}

    def generate(rng: Random) -> Input:
        seed = rng.choice(list(trees))
        parts = forgery.Parts(json.loads(texts[seed]), {})
        for _ in range(rng.choice((1, 1, 2, 3))):
            forgery.apply(parts, [forgery.random_header_edit(rng, trees[seed])])
        return Input(name, seed, json.dumps(parts.header).encode())

    valid = tuple(Input(name, seed, text.encode()) for seed, text in texts.items())
    return Target(name, weight, valid, generate, _data, read, lambda _: "input.json", named=False)


def _npy_target(name: str, files: Mapping[str, bytes], read: Read, **options: Any) -> Target:
    """Return a target whose inputs are .npy files: mutated bytes, or a header that claims anything."""
    plain = _bytes_target(name, files, read, **options)

    def generate(rng: Random) -> Input:
        if rng.random() < 0.4:
            return plain.generate(rng)
        return Input(name, rng.choice(list(files)), random_npy(rng))

    return replace(plain, generate=generate)


def _workbook_target() -> Target:
    """Return a target whose inputs are workbooks: a part is mutated, or the compressed bytes are."""
    parts = {name: text.encode() for name, text in seeds.WORKBOOK.items()}
    plain = _bytes_target("workbooks", {"a.xlsx": seeds.workbook(seeds.WORKBOOK)}, _read_kept, weight=2)

    def generate(rng: Random) -> Input:
        if rng.random() < 0.2:
            return plain.generate(rng)
        name = rng.choice(("xl/s.xml", "xl/s.xml", *parts))
        changed = mutate(rng, parts[name], list(parts.values()))
        return Input("workbooks", "a.xlsx", seeds.workbook(parts | {name: changed}))

    return replace(plain, generate=generate)


def _gzip_target(texts: Mapping[str, str]) -> Target:
    """Return a target whose inputs are compressed files: contents or the compressed bytes are mutated."""
    files = {f"{name}.gz": seeds.packed(text) for name, text in texts.items()}
    plain = _bytes_target("gzip", files, _read_packed, weight=2)

    def generate(rng: Random) -> Input:
        kind = rng.random()
        if kind < 0.4:
            return plain.generate(rng)
        name = rng.choice(list(texts))
        if kind < 0.405:  # a bomb: a megabyte in a thousand bytes
            data = gzip.compress(
                texts[name].encode() + rng.choice((b" ", b"\n", b"a", b"1,")) * 2**20, 6, mtime=0
            )
        else:
            data = gzip.compress(mutate(rng, texts[name].encode(), [b"\0"]), 1, mtime=0)
        return Input("gzip", f"{name}.gz", data * rng.choice((1, 1, 1, 2)))

    return replace(plain, generate=generate)


def _encodings_target() -> Target:
    """Return a target whose inputs are text in many encodings; a seed is the name of one."""
    texts = {}
    for encoding in seeds.ENCODINGS:
        try:
            texts[encoding] = seeds.TEXTS["documents.csv"].encode(encoding, "replace")
        except (LookupError, ValueError):
            texts[encoding] = seeds.TEXTS["documents.csv"].encode()
    target = _bytes_target(
        "encodings", texts, _read_encoded, file_name=lambda _: "documents.csv", named=False
    )
    return replace(target, seeds=target.seeds[:3])


def _model_targets(files: Mapping[str, bytes]) -> tuple[Target, Target]:
    """Return targets whose inputs are model files: with edits and fitting checksums, and mutated bytes."""
    # Edits are made in a copy; JSON copies a header faster than `copy.deepcopy` does.
    headers = {name: json.dumps(forgery.split(data).header) for name, data in files.items()}
    tensors = {name: forgery.split(data).tensors for name, data in files.items()}

    def parts(seed: str) -> forgery.Parts:
        return forgery.Parts(json.loads(headers[seed]), dict(tensors[seed]))

    def generate(rng: Random) -> Input:
        seed = rng.choice(list(files))
        return Input("models", seed, None, tuple(forgery.random_edits(rng, parts(seed))))

    def contents(input: Input) -> bytes:
        return forgery.join(forgery.apply(parts(input.seed), input.edits))

    def file_name(seed: str) -> str:
        return "run.plait"

    valid = tuple(Input("models", seed) for seed in files)
    forged = Target("models", 20, valid, generate, contents, _read_model, file_name)
    return forged, _bytes_target("damaged models", files, _read_model, weight=2, file_name=file_name)


# -----------------------------------------------------------------------------------------------------
# Readers
# -----------------------------------------------------------------------------------------------------


# Below the memory that every input may take: more tokens would only slow the fuzzer down.
_FEWER_TOKENS = limits.TOKENS._replace(floor=2**20)


def _read_corpus(path: Path, seed: str) -> Iterator[Then] | None:
    with patch.object(limits, "TOKENS", _FEWER_TOKENS):
        read(path)
    return iter([partial(read_texts, path)]) if seed in ("lines.txt", "documents.csv") else None


def _read_kept(path: Path, seed: str) -> None:
    read_texts(path, columns="all")


_TABLES: dict[str, dict[str, Any]] = {
    "symbols.csv": {"kind": "symbols", "missing": True},
    "whole.csv": {"kind": "symbols"},
    "runs.csv": {"kind": "symbols", "id_column": "id"},
    "numbers.csv": {"kind": "numbers", "missing": True},
    "numbers.tsv": {"kind": "numbers", "missing": True},
}


def _read_table(path: Path, seed: str) -> Iterator[Then]:
    known = read_sequences(path, **_TABLES[seed.removesuffix(".gz")])
    options = {name: value for name, value in _TABLES[seed.removesuffix(".gz")].items() if name != "kind"}
    return iter([lambda: read_matching_sequences(path, known, **options)])


def _read_packed(path: Path, seed: str) -> Iterator[Then] | None:
    if seed.removesuffix(".gz") in _TABLES:
        return _read_table(path, seed)
    return _read_corpus(path, seed)


def _read_array(path: Path, seed: str) -> None:
    if seed in ("numbers.npy", "fortran.npy"):
        read_sequences(path, kind="numbers", missing=True)
    else:
        read_sequences(path, kind="symbols", missing=True)


def _read_mallet(path: Path, seed: str) -> Iterator[Then]:
    run = from_mallet(path)
    return iter([partial(resume, run, n_sweeps=1, n_jobs=1)])


def _read_vocabulary(path: Path, seed: str) -> None:
    read(path.with_name(_COUNTS), vocabulary=path)


def _read_lengths(path: Path, seed: str) -> None:
    read_sequences(path.with_name(_NUMBERS), kind="numbers", missing=True, lengths=path)


def _read_encoded(path: Path, seed: str) -> None:
    read(path, encoding=seed)


def _use_recipe(path: Path, seed: str) -> None:
    given = json.loads(path.read_bytes())
    recipe = plait.TextRecipe.from_dict(given.get("settings"))
    plait.Corpus.from_texts(given.get("texts"), recipe=recipe)


# -----------------------------------------------------------------------------------------------------
# Matrices
# -----------------------------------------------------------------------------------------------------


_DTYPES = ("int32", "int64", "uint8", "float32", "float64", "bool", "complex128", "object")


def _use_matrix(path: Path, seed: str) -> Iterator[Then] | None:
    X = _matrix(json.loads(path.read_bytes()))
    if X is None:
        return None
    corpus = plait.Corpus.from_matrix(X)
    model = MixtureModel(MultinomialEmissions(X, 2))
    return iter([corpus.to_matrix, lambda: plait.sample(model, n_paths=1, n_sweeps=1, n_jobs=1)])


def _matrix(form: dict[str, Any]) -> Any:
    """Return the matrix that JSON describes, or None if it is not one that is of interest.

    The constructors of SciPy check a little. So a valid matrix is made first, and its parts are replaced
    afterwards, as a user's program could do.
    """
    format = str(form.get("format", "csr"))
    dtype = form.get("dtype") if form.get("dtype") in _DTYPES else "float64"
    try:
        n_rows, n_columns = (operator.index(n) for n in form["shape"])
        data = np.array(form["data"], dtype)
        # SciPy itself takes memory for the shape, and plait for the sum of the counts.
        if not 0 <= n_rows * n_columns <= 10**4 or np.abs(data).sum() > 1e6:
            return None
        if format == "dense":
            return data.reshape(n_rows, n_columns)
        X = scipy.sparse.csr_array(np.ones((3, 4))).asformat(format, copy=True)
        X._shape = (n_rows, n_columns)
        X.data = data.reshape({"bsr": (-1, 1, 1), "dia": (len(data), -1)}.get(format, -1))
        for part in ("indices", "indptr", "offsets"):
            if part in form and hasattr(X, part):
                setattr(X, part, np.array(form[part], np.int32).reshape(-1))
        if format == "coo":
            X.coords = tuple(np.array(form[part], np.int32).reshape(-1) for part in ("row", "col"))
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        return None
    return X


# -----------------------------------------------------------------------------------------------------
# Models
# -----------------------------------------------------------------------------------------------------

_ESTIMATORS = {
    "lda": "LatentDirichletAllocation",
    "potts": "PottsSegmentation",
    "factorial-hmm": "FactorialHMM",
    "hmm, categorical": "CategoricalHMM",
    "hmm, gaussian": "GaussianHMM",
    "hmm, poisson": "PoissonHMM",
    "mixture, bernoulli": "BernoulliMixture",
    "mixture, gaussian": "GaussianMixture",
    "mixture, multinomial": "MultinomialMixture",
    "mixture, poisson": "PoissonMixture",
}


class _Enough(Exception):
    """Ends a run: what a file asks for may take long, and that is no fault."""


def _read_model(path: Path, seed: str) -> Iterator[Then]:
    run = plait.load(path)
    return iter([partial(run.parameters, n_jobs=1), partial(_from_run, run), partial(_continue, run)])


def _from_run(run: Run) -> None:
    kind = run.model.kind
    emissions = getattr(getattr(run.model, "emissions", None), "kind", None)
    name = _ESTIMATORS.get(kind) or _ESTIMATORS.get(f"{kind}, {emissions}")
    if name is not None:
        getattr(plait, name).from_run(run)


def _continue(run: Run) -> None:
    """Make another sweep, and a few iterations of EM if the fit has them."""
    calls = 0

    def stop(progress: Any) -> None:
        nonlocal calls
        calls += 1
        if calls >= 3:
            raise _Enough

    try:
        if run.fit is None or run.fit.finished or len(run.fit.seeds) == 1:
            resume(run, n_sweeps=run.sweep + 1, n_jobs=1, callback=stop)
        else:
            resume(run, n_jobs=1, callback=stop)
    except _Enough:
        return
