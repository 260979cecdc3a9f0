"""The commands read tables: delimiters, workbooks, Parquet, dates, and columns that are kept."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

import plait
from plait.cli import main

TEXTS = ["Taxes and the budget of the nation", "Ships trade with foreign ports"] * 4
DATES = pd.date_range("1990-01-30", periods=8, freq="60D")
FRAME = pd.DataFrame({"nr": range(8), "rede": TEXTS, "tag": DATES, "party": ["R", "D"] * 4})
FAST = ["--topics", "2", "--sweeps", "3", "-q", "--jobs", "1", "--overwrite", "-o", "m.plait"]


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def run(*arguments, status=0):
    done = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert done.exit_code == status, done.output
    return done


def corpus_of(model):
    return plait.load(model).model.corpus


def write_european(name, **options):
    frame = FRAME.assign(tag=FRAME.tag.dt.strftime("%d.%m.%Y %H:%M"))
    frame.to_csv(name, sep=";", index=False, encoding="utf-8-sig", **options)


WRITERS = {
    "a.csv": write_european,
    "a.tsv": lambda name: FRAME.to_csv(name, sep="\t", index=False),
    "a.jsonl": lambda name: FRAME.to_json(name, orient="records", lines=True, date_format="iso"),
    "a.xlsx": lambda name: FRAME.to_excel(name, index=False),
    "a.parquet": FRAME.to_parquet,
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_table_gives_the_same_model(name):
    WRITERS[name](name)
    roles = ("--text-column", "rede", "--id-column", "nr", "--date-column", "tag")
    run("fit", "lda", name, *roles, "--keep-columns", "party", *FAST)
    corpus = corpus_of("m.plait")
    assert corpus.equals(plait.Corpus.from_texts(TEXTS))
    assert corpus.names == tuple(map(str, range(8)))
    assert corpus.dates == tuple(DATES.strftime("%Y-%m-%d"))
    assert dict(corpus.columns) == {"party": ("R", "D") * 4}
    periods = json.loads(run("timeline", "m.plait", "--json").stdout)["periods"]
    assert [(p["period"], p["documents"]) for p in periods] == [("1990", 6), ("1991", 2)]


class TestKeptColumns:
    @pytest.fixture(autouse=True)
    def table(self):
        Path("a.csv").write_text("text,speaker,party\n" + "".join(f"{text},x,R\n" for text in TEXTS))

    @pytest.mark.parametrize(
        ("options", "kept"),
        [
            ((), []),
            (("--keep-columns", "party"), ["party"]),
            (("--keep-columns", "all"), ["speaker", "party"]),
        ],
    )
    def test_columns_are_kept_when_asked_for(self, options, kept):
        run("fit", "lda", "a.csv", *options, *FAST)
        assert list(corpus_of("m.plait").columns) == kept

    def test_a_timeline_by_another_column_says_how_to_keep_it(self):
        run("fit", "lda", "a.csv", *FAST)
        done = run("timeline", "m.plait", "--by", "party", status=2)
        assert "got 'party': fit the model again with --keep-columns to keep others" in done.stderr

    def test_a_column_that_is_not_there_is_refused(self):
        done = run("fit", "lda", "a.csv", "--keep-columns", "party,day", *FAST, status=2)
        assert "a.csv:1: there is no column 'day' among " in done.stderr
        assert "pass --keep-columns with one" in done.stderr


class TestDates:
    def write(self, *dates, name="a.csv"):
        Path(name).write_text(
            "text,date\n" + "".join(f"{t},{d}\n" for t, d in zip(TEXTS, dates, strict=False))
        )

    def test_an_open_order_is_refused_with_the_option(self):
        self.write("1999", "3/4/2017")
        done = run("fit", "lda", "a.csv", *FAST, status=2)
        assert done.stderr.startswith("Error: a.csv:3: the date '3/4/2017' can be read in two ways")
        assert "pass --date-format day-first or --date-format month-first" in done.stderr

    @pytest.mark.parametrize("options", [(), ("--date-format", "day-first")])
    def test_new_documents_are_read_in_the_order_of_the_fit(self, options):
        self.write("13/4/2017", "3/4/2017")
        run("fit", "lda", "a.csv", *options, *FAST)
        assert corpus_of("m.plait").reading == {"date_format": "day-first"}
        self.write("3/4/2017", name="b.csv")
        assert json.loads(run("infer", "m.plait", "b.csv", "--json").stdout)["date"] == "2017-04-03"

    def test_unreadable_dates_are_named_with_their_line(self):
        self.write("1999", "soon", "30.12.16")
        done = run("fit", "lda", "a.csv", *FAST)
        assert (
            "Note: a.csv:3: the date 'soon' cannot be read, nor can 1 more, the next on line 4:"
            in done.stderr
        )
        assert corpus_of("m.plait").dates == ("1999", "soon", "30.12.16")
        self.write("31.12.98", "30.12.16")
        run("fit", "lda", "a.csv", "--date-format", "%d.%m.%y", *FAST)
        assert corpus_of("m.plait").dates == ("1998-12-31", "2016-12-30")


def test_a_sheet_is_chosen_by_name():
    with pd.ExcelWriter("a.xlsx") as book:
        for name in ("one", "two"):
            pd.DataFrame({"text": [*TEXTS, f"only {name}"]}).to_excel(book, sheet_name=name, index=False)
    done = run("fit", "lda", "a.xlsx", *FAST, status=2)
    assert done.stderr == "Error: a.xlsx: there are the sheets 'one', 'two': pass --sheet with one\n"
    run("fit", "lda", "a.xlsx", "--sheet", "two", *FAST)
    assert "two" in corpus_of("m.plait").texts[-1]


def test_a_delimiter_can_be_named():
    Path("a.csv").write_text("text#n\n" + "".join(f"{text}#1\n" for text in TEXTS))
    run("fit", "lda", "a.csv", "--delimiter", "#", *FAST)
    Path("b.csv").write_text("x;y\n" + "1;2\n3;4\n" * 10)
    fast = ["--sweeps", "2", "-q", "--jobs", "1", "-o", "h.plait"]
    run("fit", "hmm", "b.csv", "--states", "2", "--emissions", "gaussian", *fast)
    done = run("decode", "h.plait", "b.csv", "--delimiter", "comma", status=2)
    assert "no column 'x' among 'x;y'" in done.stderr
