"""Small valid files of every format that plait reads, made by code."""

from __future__ import annotations

import datetime
import gzip
import io
import json
import zipfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import forgery
import numpy as np
import openpyxl  # noqa: F401 - before memory is limited
import pyarrow as pa
import pyarrow.parquet as pq
from inputs import Edit

from plait.data.corpus import Corpus
from plait.data.sequences import Sequences
from plait.data.text import TextRecipe
from plait.fitting.plan import Plan
from plait.fitting.stored import fit_and_store
from plait.models.emissions import (
    COVARIANCES,
    BernoulliEmissions,
    CategoricalEmissions,
    GaussianEmissions,
    GaussianMixtureEmissions,
    MultinomialEmissions,
    MultinomialSequenceEmissions,
    NegativeBinomialEmissions,
    PoissonEmissions,
    mixed_emissions,
)
from plait.models.factorial import FactorialHmmModel
from plait.models.hmm import HmmModel
from plait.models.lda import LdaModel
from plait.models.mixture import MixtureModel
from plait.models.potts import PottsModel
from plait.sampler import sample

TEXTS: dict[str, str] = {
    "lines.txt": "war and peace\n\nThe nation's día 17th\r\ntax trade tax\n",
    "documents.csv": 'id,date,text,party\n1,1861,"war, and peace",R\n2,1862-01-02,"tax ""trade""\ntax",D\n',
    "european.csv": "id;date;text\n1;12.4.1861;war, and peace\n2;2. Mai 1862;tax\n",
    "documents.tsv": "id\ttext\tx\na\twar and peace\t1\nb\ttax trade\t2\n",
    "documents.jsonl": '{"text": "war, peace", "id": 1, "x": [1, null]}\n{"text": "día", "date": "1862"}\n',
    "docword.small.txt": "3\n4\n5\n1 1 2\n1 4 1\n2 2 3\n3 3 1\n3 1 1\n",
    "counts.ldac": "2 0:2 3:1\n0\n1 1:3\n",
    "counts.mtx": "%%MatrixMarket matrix coordinate integer general\n% c\n3 4 3\n1 1 2\n2 4 1\n3 2 5\n",
}
"""Corpora in every text format; the name of the file decides the format."""

_SHEETS = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"

WORKBOOK: dict[str, str] = {
    "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types">'
    f'<Override PartName="/xl/workbook.xml" ContentType="{_TYPE}.sheet.main+xml"/>'
    f'<Override PartName="/xl/s.xml" ContentType="{_TYPE}.worksheet+xml"/>'
    f'<Override PartName="/xl/t.xml" ContentType="{_TYPE}.sharedStrings+xml"/></Types>',
    "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
    f'<Relationship Id="a" Type="{_RELATIONS}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
    f'<Relationship Id="b" Type="{_RELATIONS}/worksheet" Target="s.xml"/></Relationships>',
    "xl/workbook.xml": f'<workbook xmlns="{_SHEETS}" xmlns:r="{_RELATIONS}">'
    '<sheets><sheet name="one" sheetId="1" r:id="b"/></sheets></workbook>',
    "xl/t.xml": f'<sst xmlns="{_SHEETS}"><si><t>text</t></si><si><t>war</t></si><si><t>date</t></si></sst>',
    "xl/s.xml": f'<worksheet xmlns="{_SHEETS}"><dimension ref="A1:B3"/><sheetData>'
    '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>2</v></c></row>'
    '<row r="2"><c r="A2" t="s"><v>1</v></c><c r="B2" t="d"><v>1861-04-12T04:30:00</v></c></row>'
    '<row r="4"><c r="A4" t="inlineStr"><is><t>tax_x000D_</t></is></c><c r="B4"><v>1862</v></c></row>'
    "</sheetData></worksheet>",
}
"""The parts of a small workbook."""


def workbook(parts: Mapping[str, str | bytes]) -> bytes:
    """Return the workbook with these parts, always with the same bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def parquet_files() -> dict[str, bytes]:
    """Return Parquet files by the name of their seed."""
    table = pa.table(
        {
            "text": ["war and peace", None, "tax trade"] * 4,
            "id": pa.array([1.0, None, 3.0] * 4),
            "date": pa.array([datetime.datetime(1861, 4, 12)] * 12),
            "tags": [["a"], [], None] * 4,
        }
    )
    files = {}
    for name, options in {
        "plain.parquet": {"compression": "none", "use_dictionary": False},
        "packed.parquet": {"compression": "snappy"},
        "groups.parquet": {"compression": "gzip", "row_group_size": 5},
    }.items():
        buffer = io.BytesIO()
        pq.write_table(table, buffer, **options)
        files[name] = buffer.getvalue()
    return files


SEQUENCE_TABLES: dict[str, str] = {
    "symbols.csv": "s\na\nb\nNA\na\n",
    "whole.csv": "s\n0\n2\n1.0\n1\n",
    "runs.csv": "id,s\nx,a\nx,b\ny,a\n",
    "numbers.csv": "x,y\n1.5,2\n-3,1e-3\n,\n0.25,7\n",
    "numbers.tsv": "x\n1\n\nnan\n3\n",
}
"""Sequences in tables; see `targets` for the options that go with each."""

STATES: dict[str, str] = {
    "state.txt": "#doc source pos typeindex type topic\n#alpha : 0.1 0.2 \n#beta : 0.01\n"
    "0 a%20b 0 0 war 1\n0 a%20b 1 1 día 0\n2 NA 0 0 war 1\n",
}
"""State files of MALLET."""

VOCABULARY = "war\npeace\ntax\ntrade\n"
LENGTHS = "4\n1\n1\n"

SETTINGS: dict[str, str] = {
    name: json.dumps(
        {
            "settings": settings,
            "texts": [
                "War and peace's",
                "post-office l’état",
                "x y",
                "RT @b: <b>http://t.co/x</b> #a &amp; 1,5 c@d.ef",
            ],
        }
    )
    for name, settings in {
        "default": {},
        "filters": {"min_count": 1, "min_df": 1, "max_df": 0.9, "remove_top": 1, "min_length": 2},
        "stemmed": {"stem": "english", "stop_words": ["the", "x"], "lowercase": False},
        "split": {"split_paragraphs": True, "stop_words": None},
        "cleaned": {"language": "fr", "urls": "keep", "numbers": "replace", "fold_accents": True},
        "dropped": {"language": None, "hashtags": "drop", "token_pattern": "\\w+", "emails": "split"},
        "joined": {"language": "en", "stem": True, "phrases": 0.1, "phrase_count": 1, "tokenizer": "icu"},
    }.items()
}
"""Settings of a text recipe, with texts that it is tried on."""

MATRIX = {"shape": [3, 4], "data": [2, 1, 3, 1], "indices": [0, 3, 1, 2], "indptr": [0, 2, 3, 4]}
MATRICES: dict[str, str] = {
    "csr": json.dumps({"format": "csr", "dtype": "int64", **MATRIX}),
    "csc": json.dumps({"format": "csc", "dtype": "int64", **MATRIX, "shape": [4, 3]}),
    "bsr": json.dumps({"format": "bsr", "dtype": "int64", **MATRIX}),
    "coo": json.dumps(
        {"format": "coo", "shape": [3, 4], "dtype": "float64", "data": [2, 1], "row": [0, 2], "col": [0, 3]}
    ),
    "dia": json.dumps(
        {
            "format": "dia",
            "shape": [2, 3],
            "dtype": "int32",
            "data": [[1, 2, 0], [0, 1, 1]],
            "offsets": [0, 1],
        }
    ),
    "dense": json.dumps({"format": "dense", "shape": [2, 2], "dtype": "float64", "data": [1, 0, 2, 3]}),
}
"""Sparse and dense matrices of counts, by their parts."""

ENCODINGS = (
    "utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32", "latin-1", "cp1252", "ascii", "utf-7", "shift_jis",
    "gb18030", "big5", "iso2022_jp", "hz", "koi8-r", "cp037", "idna", "punycode", "undefined", "hex",
    "base64", "zlib", "rot13", "unicode_escape", "raw_unicode_escape", "mbcs", "x" * 300, "a\0b", "é", "",
)  # fmt: skip
"""Encodings to read text in, among them some that are no encodings of text."""


def arrays() -> dict[str, bytes]:
    """Return .npy files by the name of their seed."""
    numbers = np.array([[0.5, 1.0], [np.nan, np.nan], [2.0, -3.0], [0.0, 4.0], [1.0, 1.0], [2.0, 2.0]])
    return {
        "numbers.npy": npy(numbers),
        "symbols.npy": npy(np.array([0, 2, 1, -1, 1, 0], np.int32)),
        "floats.npy": npy(np.array([0.0, 2.0, np.nan, 1.0], np.float32)),
        "fortran.npy": npy(np.asfortranarray(numbers[[0, 2, 3]])),
        "bytes.npy": npy(np.array([[1], [0], [3]], np.uint8)),
    }


def npy(array: np.ndarray[Any, Any]) -> bytes:
    """Return the .npy file of an array."""
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def packed(text: str) -> bytes:
    """Return text compressed by gzip, always with the same bytes."""
    return gzip.compress(text.encode(), 6, mtime=0)


def model_files(folder: Path) -> dict[str, bytes]:
    """Return model files by the name of their seed: every model, every kind of emissions, and stored fits."""
    files = {}
    for name, write in _writers():
        path = folder / "seed.plait"
        write(path)
        files[name] = _without_times(path.read_bytes())
        path.unlink()
    return files


def _without_times(data: bytes) -> bytes:
    """Return a model file whose run took no time, so that seeds always have the same bytes."""
    edits: list[Edit] = [["put", f"{run}trace.seconds", -1, 0.0] for run in ("", "best.")]
    edits += [["set_entry", ["seconds"], 0.0], ["set_entry", ["best", "seconds"], 0.0]]
    return forgery.join(forgery.apply(forgery.split(data), edits))


def _writers() -> Iterator[tuple[str, Callable[[Path], None]]]:
    for name, model in _models().items():
        yield name, partial(_write_run, model, False)
        if name in ("lda", "hmm, categorical", "mixture, poisson", "mixture, multinomial"):
            yield f"{name}, collapsed", partial(_write_run, model, True)
    symbols = HmmModel(CategoricalEmissions(_symbols(), 2))
    normals = HmmModel(GaussianEmissions(_numbers(), 2))
    yield "fit, polished", partial(_write_fit, symbols, Plan(2, 2, em_iterations=2))
    yield "fit, EM", partial(_write_fit, normals, Plan(0, 0, em_iterations=2))
    yield (
        "fit, mixture",
        partial(_write_fit, MixtureModel(BernoulliEmissions(_bits(), 2)), Plan(2, 2, em_iterations=2)),
    )
    yield "fit, unfinished", partial(_write_unfinished_fit, symbols, Plan(2, 2, em_iterations=2))
    yield "fit, EM unfinished", partial(_write_unfinished_fit, normals, Plan(0, 0, em_iterations=2))


def _write_run(model: Any, collapsed: bool, path: Path) -> None:
    names = {1: "taxes"}
    sample(model, n_paths=2, n_sweeps=2, seed=1, thin=1, n_jobs=1, collapsed=collapsed, names=names).save(
        path
    )


def _write_fit(model: Any, plan: Plan, path: Path) -> None:
    fit_and_store(model, plan, path, seed=1, n_init=2, tol=0.0, n_jobs=1)


def _write_unfinished_fit(model: Any, plan: Plan, path: Path) -> None:
    """Stop a fit in its second restart, so that the file holds a current and a best run."""

    class Enough(Exception):
        pass

    def stop(progress: Any) -> None:
        if progress.stage == "restart 2 of 2":
            raise Enough

    try:
        fit_and_store(
            model, plan, path, seed=1, n_init=2, tol=0.0, n_jobs=1, callback=stop, checkpoint_seconds=0.0
        )
    except Enough:
        return
    raise AssertionError("the fit ended before it was stopped")


def _symbols() -> Sequences:
    return Sequences.from_symbols(
        [0, 1, 2, 1, 0, -1], [4, 2], missing=True, labels=("a", "b", "c"), names=("x", "y")
    )


def _numbers() -> Sequences:
    values = np.array([[0.0, 1.0], [2.0, 2.0], [4.0, 3.0], [1.0, 0.0], [np.nan, np.nan], [3.0, 5.0]])
    return Sequences.from_values(values, [4, 2], missing=True, columns=("u", "v"))


def _counts() -> Sequences:
    return Sequences.from_values(np.array([[0.0], [1.0], [4.0], [2.0], [0.0], [3.0]]))


def _angles() -> Sequences:
    values = np.array([[0.5, 1.0, 0], [2.0, 2.0, 1], [4.0, 3.0, 1], [1.0, np.nan, 0], [3.0, 0.5, 1]])
    return Sequences.from_values(values, [4, 1], missing=True, columns=("step", "angle", "bit"))


def _bits() -> Sequences:
    return Sequences.from_values(np.array([[0.0, 1.0], [1.0, 1.0], [0.0, 0.0], [1.0, 0.0]]))


def _models() -> dict[str, Any]:
    corpus = Corpus.from_texts(
        ["war peace war", "", "tax war"],
        recipe=TextRecipe(stop_words=("the",)),
        names=["a", "b", "c"],
        dates=["1861", "1862", "1863"],
        columns={"party": ["R", "D", ""]},
    )
    models: dict[str, Any] = {
        "lda": LdaModel(corpus, 2),
        "lda, seed words": LdaModel(corpus, 3, [0.1, 0.2, 0.3], np.full((3, 3), 0.5)),
        "lda, many topics": LdaModel(corpus, 300),
        "hmm, categorical": HmmModel(CategoricalEmissions(_symbols(), 2)),
        "hmm, five states": HmmModel(CategoricalEmissions(_symbols(), 5), blocked=False),
        "hmm, poisson": HmmModel(PoissonEmissions(_counts(), 2)),
        "hmm, negative binomial": HmmModel(NegativeBinomialEmissions(_counts(), 2)),
        "hmm, multinomial": HmmModel(MultinomialSequenceEmissions(_counts(), 2)),
        "hmm, mixtures": HmmModel(GaussianMixtureEmissions(_numbers(), 2, 2)),
        "hmm, mixed": HmmModel(
            mixed_emissions(
                _angles(), 2, [((1,), "vonmises", {}), ((0,), "gamma", {}), ((2,), "categorical", {})]
            )
        ),
        "hmm, autoregressive": HmmModel(
            mixed_emissions(_angles(), 2, [((0, 1), "student", {}), ((2,), "autoregressive", {})])
        ),
        "mixture, poisson": MixtureModel(PoissonEmissions(_counts(), 2)),
        "mixture, bernoulli": MixtureModel(BernoulliEmissions(_bits(), 2)),
        "mixture, multinomial": MixtureModel(MultinomialEmissions(np.arange(12).reshape(4, 3), 2)),
        "potts": PottsModel(GaussianEmissions(_counts(), 2), (2, 3)),
        "potts, categorical": PottsModel(CategoricalEmissions(_symbols(), 3), (1, 2, 3), 0.5, 26),
        "factorial": FactorialHmmModel(_numbers(), 2, 2, search=0),
        "factorial, full": FactorialHmmModel(_numbers(), 2, 3, covariance="full", search=1),
    }
    for covariance in COVARIANCES:
        models[f"hmm, {covariance}"] = HmmModel(GaussianEmissions(_numbers(), 2, covariance=covariance))
        models[f"mixture, {covariance}"] = MixtureModel(
            GaussianEmissions(_numbers(), 2, covariance=covariance)
        )
    return models
