"""Files with valid checksums and impossible contents: an error about the file, or a run that works.

Kernels have no bounds checks, so whatever a file holds, no index, offset or shape from it may lead them
beyond their arrays, and no number in it may take more memory than the file deserves.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import forging
import plait
from plait.errors import PlaitError

SCRIPT = Path(forging.__file__)


def forge(every, **environment):
    """Forge files in one of `every` ways, in a process of its own: a kernel might end it."""
    done = subprocess.run(
        [sys.executable, SCRIPT, str(every)], env=os.environ | environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_forged_files_are_refused_or_work():
    found = forge(180, NUMBA_DISABLE_JIT="1")  # interpreted kernels check every index
    assert found["complaints"] == []
    assert found["tried"] > 300
    assert 30 < found["loaded"] < found["tried"] / 2  # otherwise the forgeries do not test what they should


@pytest.mark.slow
def test_files_forged_in_every_way_are_refused_or_work(tmp_path):
    found = forge(1, NUMBA_BOUNDSCHECK="1", NUMBA_CACHE_DIR=str(tmp_path))
    assert found["complaints"] == []
    assert found["tried"] > 50_000


def test_the_files_to_forge_work_as_they_are(tmp_path):
    paths = forging.make_files(tmp_path)
    kinds = {forging.header_of(path)["kind"] for path in paths.values()}
    assert kinds == set(plait.run.MODELS)
    for path in paths.values():
        assert forging.use(path)


def test_the_memory_of_a_forgery_is_measured(tmp_path, monkeypatch):
    def waste(path):
        np.zeros(100 * 2**20, np.uint8)
        return True

    path = forging.make_files(tmp_path)["lda"]
    forging.tracemalloc.start()
    try:
        assert forging.complaint(path) == (None, True)
        monkeypatch.setattr(forging, "use", waste)
        assert forging.complaint(path) == ("100 MB", True)
    finally:
        forging.tracemalloc.stop()


# -----------------------------------------------------------------------------------------------------
# Single forgeries that ended in a crash, in a wrong result, or in gigabytes
# -----------------------------------------------------------------------------------------------------


@pytest.fixture
def forged(tmp_path):
    """Return a function that forges the file of a small run, and the error that loading it raises."""

    def load(model, tensors=None, header=None, **options):
        path = tmp_path / "forged.plait"
        options = {"n_paths": 2, "n_sweeps": 1, "n_jobs": 1} | options
        plait.sample(model, **options).save(path)

        def change_tensors(arrays):
            for name, change in (tensors or {}).items():
                assert name in arrays
                arrays[name] = change(arrays[name].copy())

        def change_header(whole):
            for place, value in (header or {}).items():
                *outer, last = place.split("/")
                part = whole
                for key in outer:
                    part = part[key]
                assert last in part
                part[last] = value

        forging.rewrite(path, change_header, change_tensors)
        return plait.load(path)

    return load


def changed(place, value):
    """Return a change of one entry of an array."""

    def change(array):
        array[place] = value
        return array

    return change


MODELS = forging.models()
MODELS["lda, topics"] = replace(MODELS["lda"], initial=MODELS["lda"].as_topics(np.full((3, 5), 0.2), 1))


@pytest.mark.parametrize(
    ("model", "tensors", "header", "message"),
    [
        (
            "mixture, multinomial",
            {"model.emissions.words": changed(-1, 10**8)},
            {},
            r"words\[\d+\] must be at least 0 and less than 4, the number of words, got 100000000",
        ),
        (
            "mixture, multinomial",
            {"model.emissions.words": lambda words: words.astype(np.int64) + 2**32},
            {},
            "words must be an array of int32, got dtype int64",
        ),
        ("mixture, multinomial", {}, {"model/emissions/n_words": 3}, r"prior must have shape \(2, 3\)"),
        ("mixture, multinomial", {}, {"model/emissions/n_words": 10**9}, "n_words must be at most 33554432"),
        (
            "mixture, multinomial",
            {"model.emissions.offsets": changed(5, -(10**9))},
            {},
            "offsets must go from 0 to .*, and never decrease, got -1000000000 after",
        ),
        (
            "mixture, multinomial",
            {"model.emissions.offsets": changed(slice(1, 4), [2**63 - 1, -(2**63), -1])},
            {},
            f"offsets must .* never decrease, got {-(2**63)} after {2**63 - 1}",
        ),
        (
            "lda",
            {"model.corpus.offsets": changed(slice(1, 4), [2**63 - 1, -(2**63), -1])},
            {},
            f"offsets must .* never decrease, got {-(2**63)} after {2**63 - 1}",
        ),
        (
            "hmm, poisson",
            {"model.emissions.prior": lambda prior: prior[0, 0]},
            {},
            "prior must have a row for each state, got one number",
        ),
        (
            "hmm, poisson",
            {"model.emissions.prior": lambda prior: np.zeros((10**9, 0))},
            {},
            r"prior must have shape \(1000000000, 2\), got \(1000000000, 0\)",
        ),
        (
            "hmm, poisson",
            {"model.transitions.prior": lambda prior: prior[0, 0]},
            {},
            r"transitions.prior must have shape \(2, 2\), got \(\)",
        ),
        (
            "hmm, categorical",
            {},
            {"model/emissions/n_symbols": 2**24},
            r"laws.prior must have shape \(2, 16777216\)",
        ),
        ("factorial-hmm, diag", {}, {"model/n_chains": 4000}, r"start_prior must have shape \(4000, 2\)"),
        ("factorial-hmm, diag", {}, {"model/covariance_weight": "3"}, "covariance_weight must be a number"),
        ("factorial-hmm, diag", {}, {"model/search": 10**9}, "search must be at most 10000"),
        (
            "potts, gaussian",
            {},
            {"model/emissions/floor": "x"},
            "floor must be a number of at least 0, got 'x'",
        ),
        ("potts, gaussian", {}, {"model/coupling": float("nan")}, "coupling must be a number from 0"),
        ("hmm, poisson", {}, {"model/blocked": "no"}, "blocked must be True or False, got 'no'"),
        (
            "lda",
            {},
            {"model/least_topics": -5},
            "least_topics must be a whole number from 1 to 65535, got -5",
        ),
        ("lda", {}, {"model/initial": "random"}, "initial must be one of 'uniform', .*, got 'random'"),
        ("lda", {}, {"model/initial": ["uniform"]}, "initial must be one of 'uniform', .*, got"),
        (
            "lda, topics",
            {"model.initial.phi": lambda phi: np.zeros((10**9, 0), np.float32)},
            {},
            r"initial.phi must have shape \(5, 3\), got \(1000000000, 0\)",
        ),
        (
            "lda, topics",
            {"model.initial.phi": lambda phi: phi.astype(np.float64)},
            {},
            "initial.phi must be an array of float32, got dtype float64",
        ),
        (
            "lda, topics",
            {"model.initial.phi": changed((4, 2), np.nan)},
            {},
            "initial must have probabilities from 0 to 1, got nan for word 4 in topic 2",
        ),
        (
            "lda, topics",
            {"model.initial.phi": lambda phi: phi / 2},
            {},
            "initial must have topics that sum to 1, got 0.5 for topic 0",
        ),
        ("lda", {}, {"seconds": float("nan")}, "seconds must be a number of at least 0, got nan"),
        ("lda", {}, {"seconds": -1.0}, "seconds must be a number of at least 0, got -1"),
        ("lda", {}, {"version": 7}, "its version is 7, not a string"),
        ("lda", {}, {"names": {"3": "x"}}, "names must have whole numbers from 0 to 2 as keys, got 3"),
        ("lda", {}, {"converged": 1}, "converged must be True or False, got 1"),
        ("lda", {}, {"settings/collapsed": "no"}, "collapsed must be True or False, got 'no'"),
        ("lda", {}, {"settings/n_sweeps": 2**61}, f"n_sweeps must be at most {2**53}, got {2**61}"),
        ("lda", {}, {"settings/thin": 10**30}, f"thin must be at most {2**53}"),
        ("lda", {}, {"settings/n_paths": 10**30}, f"n_paths must be at most {2**20}"),
        (
            "lda",
            {"trace.sweep": lambda sweep: sweep + 1},
            {},
            "sweeps of its trace do not increase from 1 to at most 1",
        ),
        ("lda", {"trace.sweep": lambda sweep: sweep.astype(np.int32)}, {}, "sweep must be an array of int64"),
        ("lda", {"trace.log_joint": lambda logs: logs * np.inf * -1}, {}, "infinite likelihoods"),
        (
            "lda",
            {"model.alpha": lambda alpha: alpha.astype(np.complex64)},
            {},
            "alpha must be an array of float64",
        ),
    ],
)
def test_single_forgeries_are_refused_with_the_reason(model, tensors, header, message, forged):
    with pytest.raises(PlaitError, match=rf"\A[^\n]*forged.plait is damaged: [^\n]*{message}[^\n]*\Z"):
        forged(MODELS[model], tensors, header)


class TestPaths:
    """States are stored in two bytes; others are converted without loss, or refused."""

    many = plait.LdaModel(plait.Corpus.from_tokens([["a", "b"] * 40]), 300)

    @pytest.mark.parametrize("dtype", [np.int8, np.uint8])
    def test_states_out_of_range_are_refused_whatever_their_dtype(self, dtype, forged):
        with pytest.raises(PlaitError, match=r"paths\[0\]\[0\] must be from 0 to 1, got "):
            forged(MODELS["hmm, poisson"], {"paths": lambda paths: np.full(paths.shape, 100, dtype)})

    @pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int64, np.uint64])
    def test_states_of_another_dtype_are_converted(self, dtype, forged):
        run = forged(self.many, {"paths": lambda paths: (paths % 100).astype(dtype)})
        assert run.paths.dtype == np.uint16
        assert run.paths.max() < 100
        again = plait.resume(run, n_sweeps=2, n_jobs=1)
        assert again.paths.dtype == np.uint16
        assert again.paths.max() > 256  # so that one byte would not have held them

    def test_states_beyond_the_last_are_refused(self, forged):
        with pytest.raises(PlaitError, match=r"paths\[1\]\[2\] must be from 0 to 299, got 300"):
            forged(self.many, {"paths": changed((1, 2), 300)})


def test_errors_of_arithmetic_and_recursion_name_the_file(tmp_path, monkeypatch):
    path = tmp_path / "x"
    plait.sample(MODELS["lda"], n_paths=1, n_sweeps=1, n_jobs=1).save(path)
    for error in (OverflowError("far"), RecursionError("deep"), ZeroDivisionError("none")):

        def fail(*_, error=error):
            raise error

        monkeypatch.setattr(plait.LdaModel, "from_arrays", fail)
        with pytest.raises(PlaitError, match=rf"\A[^\n]*x is damaged: [^\n]*{error}[^\n]*fit the model"):
            plait.load(path)

    def exhaust(*_):
        raise MemoryError

    monkeypatch.setattr(plait.LdaModel, "from_arrays", exhaust)
    with pytest.raises(PlaitError, match=rf"\Anot enough memory to load {path}"):
        plait.load(path)
