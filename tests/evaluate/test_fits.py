"""Fits in a folder: made once, read again to the same bits, kept apart from other settings."""

from __future__ import annotations

import json
import signal

import numpy as np
import pytest

from plait.datasets import bands
from plait.errors import PlaitError, PlaitWarning
from plait.evaluate import fits
from plait.evaluate.comparing import compare
from plait.evaluate.selecting import select
from plait.inference.topics import KnownTopics
from plait.interrupts import handled_terminations

CORPUS = bands(60, seed=1, document_length=20).corpus
FAST = {"n_topics": 4, "n_sweeps": 12, "n_seeds": 2, "n_jobs": 1}


@pytest.fixture
def made(monkeypatch):
    """Return the list of the fits that are made, which grows."""
    names = []
    original = fits._FitMaker.sample

    def sample(self, task, report):
        names.append((task.name, task.number))
        return original(self, task, report)

    monkeypatch.setattr(fits._FitMaker, "sample", sample)
    return names


def files(folder):
    return sorted(path for path in folder.joinpath("fits").iterdir() if path.suffix == ".fit")


def contents(folder):
    compare(CORPUS, [1, 2], **FAST, folder=folder).save(folder)
    return folder.joinpath("compare.json").read_bytes(), folder.joinpath("compare.csv").read_bytes()


def without_seconds(result):
    rows = json.loads(json.dumps(result.rows()))
    for row in rows:
        for entry in (row, *row["fits"]):
            del entry["seconds"]
    return rows


def test_a_repeated_comparison_reads_its_fits_to_the_same_bits(tmp_path, made):
    first = contents(tmp_path)
    assert made == [("1", 0), ("2", 0), ("1", 1), ("2", 1)]
    assert contents(tmp_path) == first
    assert len(made) == 4


@pytest.mark.parametrize("lost", [[0], [3], [1, 2], [0, 1, 2, 3]])
def test_a_partial_folder_is_completed_to_the_same_bits(tmp_path, made, lost):
    whole = without_seconds(compare(CORPUS, [1, 2], **FAST))
    assert without_seconds(compare(CORPUS, [1, 2], **FAST, folder=tmp_path)) == whole
    made.clear()
    stored = files(tmp_path)
    for i in lost:
        stored[i].unlink()
    assert without_seconds(compare(CORPUS, [1, 2], **FAST, folder=tmp_path)) == whole
    assert len(made) == len(lost)
    assert files(tmp_path) == stored


def test_more_contestants_and_seeds_add_fits(tmp_path, made):
    compare(CORPUS, [1, 2], **FAST, folder=tmp_path)
    made.clear()
    more = compare(CORPUS, [2, "2x1", 1], **FAST | {"n_seeds": 3}, folder=tmp_path)
    assert sorted(made) == [("1", 2), ("2", 2), ("2x1", 0), ("2x1", 1), ("2x1", 2)]
    assert without_seconds(more) == without_seconds(compare(CORPUS, [2, "2x1", 1], **FAST | {"n_seeds": 3}))


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"n_topics": 5}, r"other settings \(topics: 4, not 5\)"),
        ({"n_sweeps": 13}, r"other settings \(sweeps: 12, not 13\)"),
        ({"seed": 1}, r"other settings \(seed: 0, not 1\)"),
        ({"held_out_share": 0.2}, r"other settings \(held_out: 0.1, not 0.2\)"),
        ({"alpha": 0.5}, r"other settings \(alpha: None, not 0.5\)"),
        ({"top": 5}, r"other settings \(top: 10, not 5\)"),
    ],
    ids=str,
)
def test_other_settings_are_refused_in_one_line(tmp_path, other, said):
    compare(CORPUS, [1, 2], **FAST, folder=tmp_path)
    before = files(tmp_path)
    with pytest.raises(
        PlaitError, match=f"{tmp_path} holds fits with {said}: repeat .* or choose another folder"
    ):
        compare(CORPUS, [1, 2], **FAST | other, folder=tmp_path)
    assert files(tmp_path) == before


def test_other_documents_and_other_commands_are_refused(tmp_path):
    compare(CORPUS, [1, 2], **FAST, folder=tmp_path)
    with pytest.raises(PlaitError, match="holds fits with other documents"):
        compare(CORPUS.select(range(59)), [1, 2], **FAST, folder=tmp_path)
    with pytest.raises(PlaitError, match=r"other settings \(command: 'compare', not 'select'\)"):
        select(CORPUS, [2, 3], n_sweeps=12, folder=tmp_path)


def test_the_number_of_threads_matters_only_at_equal_time(tmp_path):
    compare(CORPUS, [1, 2], **FAST, folder=tmp_path / "sweeps")
    compare(CORPUS, [1, 2], **FAST | {"n_jobs": 2}, folder=tmp_path / "sweeps")
    timed = FAST | {"n_sweeps": None, "max_seconds": 0.02, "n_seeds": 1}
    compare(CORPUS, [1, 2], **timed, folder=tmp_path / "time")
    with pytest.raises(PlaitError, match=r"other settings \(threads: 1, not 2\)"):
        compare(CORPUS, [1, 2], **timed | {"n_jobs": 2}, folder=tmp_path / "time")


def test_a_damaged_fit_is_made_again(tmp_path, made):
    first = without_seconds(compare(CORPUS, [1, 2], **FAST, folder=tmp_path))
    victim, foreign = files(tmp_path)[:2]
    victim.write_bytes(victim.read_bytes()[:-50])
    foreign.write_bytes(files(tmp_path)[2].read_bytes()[:-1] + b"x")
    made.clear()
    with pytest.warns(PlaitWarning, match="the fit is made again"):
        again = compare(CORPUS, [1, 2], **FAST, folder=tmp_path)
    assert len(made) == 2
    assert without_seconds(again) == first


def test_fits_of_another_folder_are_not_taken(tmp_path, made):
    compare(CORPUS, [1, 2], **FAST, folder=tmp_path / "a")
    compare(CORPUS, [1, 2], **FAST, seed=9, folder=tmp_path / "b")
    for path in files(tmp_path / "a"):
        (tmp_path / "b" / "fits" / path.name).write_bytes(path.read_bytes())
    made.clear()
    with pytest.warns(PlaitWarning, match="it is of another set of fits"):
        compare(CORPUS, [1, 2], **FAST, seed=9, folder=tmp_path / "b")
    assert len(made) == 4


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"digest": 3}', "nonsense"])
def test_a_damaged_list_of_settings_is_refused(tmp_path, text):
    compare(CORPUS, [1, 2], **FAST, folder=tmp_path)
    (tmp_path / "settings.json").write_text(text)
    with pytest.raises(PlaitError, match=r"settings\.json is damaged|holds fits with|was changed"):
        compare(CORPUS, [1, 2], **FAST, folder=tmp_path)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_between_fits_keeps_those_that_are_finished(tmp_path, monkeypatch, made, number):
    original = fits.sample

    def interrupting(*args, **kwargs):
        if len(made) == 3:
            signal.raise_signal(number)
        return original(*args, **kwargs)

    monkeypatch.setattr(fits, "sample", interrupting)
    with handled_terminations(), pytest.raises(fits.FitsStopped, match="after 2 of 4 fits") as stopped:
        compare(CORPUS, [1, 2], **FAST, folder=tmp_path)
    assert (stopped.value.n_done, stopped.value.n_fits, stopped.value.number) == (2, 4, number)
    assert len(files(tmp_path)) == 2
    monkeypatch.setattr(fits, "sample", original)
    made.clear()
    resumed = compare(CORPUS, [1, 2], **FAST, folder=tmp_path)
    assert made == [("1", 1), ("2", 1)]
    assert without_seconds(resumed) == without_seconds(compare(CORPUS, [1, 2], **FAST))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_a_fit_is_scored_keeps_that_fit(tmp_path, monkeypatch, number):
    original, sent = KnownTopics.theta, []

    def interrupting(*arguments, **options):
        if not sent:  # topics of held-out documents are inferred
            sent.append(number)
            signal.raise_signal(number)
        return original(*arguments, **options)

    monkeypatch.setattr(KnownTopics, "theta", interrupting)
    with handled_terminations(), pytest.raises(fits.FitsStopped, match="after 1 of 4 fits") as stopped:
        compare(CORPUS, [1, 2], **FAST, folder=tmp_path)
    assert stopped.value.number == number
    assert len(files(tmp_path)) == 1


def test_a_place_that_is_no_folder_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(PlaitError, match=r"cannot make the folder .*file: .* Choose another place"):
        compare(CORPUS, [1, 2], **FAST, folder=tmp_path / "file")


def test_stored_topics_are_single_precision_and_sum_to_1(tmp_path):
    found = compare(CORPUS, [1, 2], **FAST, folder=tmp_path)
    topics = found.groups[0].fits[0].topics
    assert topics.dtype == np.float32
    np.testing.assert_allclose(topics.sum(axis=1), 1, rtol=1e-5)
