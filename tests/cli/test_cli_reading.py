"""Options of the commands for reading data."""

import gzip

import pytest
from click.testing import CliRunner

from plait.cli import main
from plait.data import files


@pytest.fixture
def fit(tmp_path, monkeypatch):
    """Return a function that runs `plait fit` and returns its exit status and error output."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(files, "UNPACKED_FLOOR", 1000)

    def fit(kind, *arguments):
        more = ["--topics", "2"] if kind == "lda" else ["--states", "2", "--emissions", "categorical"]
        done = CliRunner().invoke(
            main, ["fit", kind, *arguments, "-o", "model.plait", "--sweeps", "1", *more]
        )
        return done.exit_code, done.stderr

    return fit


def packed(name, text):
    with open(name, "wb") as file:
        file.write(gzip.compress(text.encode()))
    return name


@pytest.mark.parametrize("kind", ["lda", "hmm"])
def test_the_limit_of_what_is_unpacked_is_named_by_its_option(fit, kind):
    name = packed("a.txt.gz", "war " * 5000) if kind == "lda" else packed("a.csv.gz", "x\n" + "1\n" * 9000)
    status, message = fit(kind, name)
    assert status == 2
    assert message.endswith("check that it is the right one, or pass a larger --max-unpacked\n")
    assert message.startswith(f"Error: {name}: it unpacks to more than ")
    assert message.count("\n") == 1


@pytest.mark.parametrize(
    ("size", "limit"),
    [("15", 15), ("1k", 1024), ("1KB", 1024), (" 2M ", 2**21), ("3G", 3 * 2**30), ("1T", 2**40)],
)
def test_a_size_may_have_a_unit(fit, monkeypatch, size, limit):
    seen = []

    def read(*arguments, max_unpacked, **options):
        seen.append(max_unpacked)
        raise KeyboardInterrupt

    monkeypatch.setattr("plait.data.readers.read", read)
    fit("lda", "a.txt", "--max-unpacked", size)
    assert seen == [limit]


@pytest.mark.parametrize("size", ["", "0", "-1", "1.5M", "5X", "M", "9" * 30, "\u0663"])
def test_other_sizes_are_refused(fit, size):
    status, message = fit("lda", "a.txt", "--max-unpacked", size)
    assert (status, message.count("\n")) == (2, 1)
    assert message.startswith("Error: --max-unpacked must be a number of bytes, such as 500M or 2G, got")


def test_the_limit_holds_for_stop_words_too(fit):
    with open("a.txt", "w") as file:
        file.write("war tax\n")
    status, message = fit("lda", "a.txt", "--stop-words", packed("stop.gz", "war\n" * 5000))
    assert (status, message.count("\n")) == (2, 1)
    assert message.startswith("Error: stop.gz: it unpacks to more than ")
    packed("small.gz", "war\n")
    status, message = fit("lda", "a.txt", "--stop-words", "small.gz", "--max-unpacked", "3")
    assert message.startswith("Error: small.gz: it unpacks to more than 3 bytes: ")


def test_columns_on_several_lines_are_refused(fit):
    status, message = fit("hmm", "a.csv", "--columns", "a\nb")
    assert status == 2
    assert message == "Error: --columns must be names on one line, such as A,B,C, got 'a\\nb'\n"


@pytest.mark.parametrize(
    ("kind", "name", "option"), [("lda", "a.txt", "--max-unpacked"), ("hmm", "a.csv", "--columns")]
)
def test_a_long_value_is_cut_off_visibly(fit, kind, name, option):
    status, message = fit(kind, name, option, "9\n" * 500)
    assert status == 2
    assert message.endswith("...\n")
    assert len(message) < 200


def test_the_way_to_read_larger_counts_is_named_by_its_option(fit):
    with open("a.ldac", "w") as file:
        file.write("1 0:100000000\n")
    status, message = fit("lda", "a.ldac")
    assert (status, message.count("\n")) == (2, 1)
    assert "correct the counts, or pass --max-unpacked of at least 400000000, or use" in message
