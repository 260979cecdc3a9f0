"""All tables of a topic model, in a folder or in a workbook."""

from __future__ import annotations

import csv

import numpy as np
import pytest

import plait
from plait.errors import PlaitError
from plait.interop import books, write_tables
from plait.interop.state_tables import states_table
from plait.interop.tables import Column, all_tables


@pytest.fixture(scope="module")
def run(annotated_corpus):
    model = plait.LdaModel(annotated_corpus, 2)
    return plait.sample(model, n_paths=2, n_sweeps=2, n_jobs=1, names={1: "=war"})


def columns(table):
    return {column.header: list(column.values) for column in table}


def test_all_tables_are_tidy(run):
    tables = all_tables(run, 2)
    assert list(tables) == ["topics", "documents", "words", "parameters", "time"]
    words = columns(tables["words"])
    assert words["topic"] == [0, 0, 1, 1]
    assert words["rank"] == [1, 2, 1, 2]
    assert words["name"][2:] == ["=war"] * 2
    phi = plait.LDA.from_run(run).topic_word_
    for t, word, p in zip(words["topic"], words["word"], words["probability"], strict=True):
        assert p == pytest.approx(phi[t, run.model.corpus.vocabulary.index(word)])
    time = columns(tables["time"])
    assert time["year"] == ["1861"] * 2 + ["1863"] * 2 + ["1864"] * 2
    np.testing.assert_allclose(np.add(time["share"][::2], time["share"][1::2]), 1)
    parameters = dict(zip(*columns(tables["parameters"]).values(), strict=True))
    assert parameters["kind"] == "lda"
    assert parameters["settings.stages.0.paths"] == 2
    assert parameters["model.priors.alpha.1"] == pytest.approx(run.model.alpha_vector[1])


def test_documents_without_dates_have_no_table_of_time(small_bands):
    run = plait.sample(plait.LdaModel(small_bands.corpus, 2), n_paths=1, n_sweeps=1, n_jobs=1)
    assert "time" not in all_tables(run)


def test_a_folder_has_a_file_for_each_table(run, tmp_path):
    files = write_tables(all_tables(run), tmp_path / "tables")
    assert sorted(tmp_path.joinpath("tables").iterdir()) == sorted(files)
    with open(tmp_path / "tables" / "topics.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["name"] for row in rows] == ["topic 0", "'=war"]


def test_a_workbook_has_a_sheet_for_each_table_and_no_formulas(run, tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    tables = all_tables(run)
    write_tables(tables, tmp_path / "x.xlsx")
    book = openpyxl.load_workbook(tmp_path / "x.xlsx")
    assert book.sheetnames == list(tables)
    assert [row[1] for row in book["topics"].values] == ["name", "topic 0", "'=war"]
    documents = list(book["documents"].values)
    assert documents[0][:3] == ("document", "name", "date")
    assert documents[2][1] == r"b\n2"
    assert documents[1][-1] == pytest.approx(plait.interop.documents_frame(run)["=war"][0], abs=1e-6)
    assert not any(cell.data_type == "f" for sheet in book for row in sheet.rows for cell in row)


def test_what_a_sheet_cannot_hold_is_refused_or_cut(tmp_path, monkeypatch):
    openpyxl = pytest.importorskip("openpyxl")
    long = [Column("x", ["a" * 40_000, float("nan"), float("inf")]), Column("y", [1, 2, 3])]
    write_tables({"t": long}, tmp_path / "x.xlsx")
    rows = list(openpyxl.load_workbook(tmp_path / "x.xlsx")["t"].values)
    assert (len(rows[1][0]), rows[2], rows[3]) == (32767, (None, 2), (None, 3))
    monkeypatch.setattr(books, "MOST_ROWS", 3)
    with pytest.raises(PlaitError, match=r"'t' has 3 rows, and .* takes 2: choose a folder"):
        write_tables({"t": long}, tmp_path / "y.xlsx")
    assert not (tmp_path / "y.xlsx").exists()


def test_without_openpyxl_a_workbook_names_the_extra(monkeypatch, tmp_path):
    monkeypatch.setitem(__import__("sys").modules, "openpyxl", None)
    with pytest.raises(PlaitError, match=r'needs openpyxl.*pip install "plait\[files\]"'):
        write_tables({}, tmp_path / "x.xlsx")


def test_observations_have_their_most_probable_states():
    symbols = [0, 0, 1, 1, 0, 1]
    sequences = plait.Sequences.from_symbols(symbols, [4, 2], names=["a", "b"])
    model = plait.HmmModel(plait.CategoricalEmissions(sequences, 2))
    run = plait.sample(model, n_paths=1, n_sweeps=3, n_jobs=1, names={0: "low", 1: "high"})
    table = columns(states_table(run))
    hmm = plait.CategoricalHMM.from_run(run)
    observations = np.array(symbols)[:, None]
    assert table["sequence"] == ["a"] * 4 + ["b"] * 2
    assert table["position"] == [0, 1, 2, 3, 0, 1]
    proba = hmm.predict_proba(observations, [4, 2])
    assert table["state"] == proba.argmax(axis=1).tolist()
    np.testing.assert_allclose(table["probability"], proba.max(axis=1))
    assert set(table["name"]) <= {"low", "high"}
