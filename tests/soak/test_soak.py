"""The soak script finds what it looks for, and a short soak finds nothing."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

import plait
from plait.data.corpus import Corpus
from plait.models.lda import LdaModel

sys.path.insert(0, str(Path(__file__).parent))
import soak

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="sends signals")


def test_files_are_compared_in_everything_but_times(tmp_path):
    model = LdaModel(Corpus.from_tokens([["a", "b", "a"], ["c", "b"]]), 2)
    run = plait.sample(model, n_paths=2, n_sweeps=3, n_jobs=1)

    def contents(changed):
        changed.save(tmp_path / "x")
        return soak.contents(tmp_path / "x")

    assert contents(run) == contents(replace(run, seconds=99.0))
    paths = run.paths.copy()
    paths[0, 0] = 1 - paths[0, 0]
    trace = replace(run.trace, log_joint=run.trace.log_joint + 1e-9)
    for other in (replace(run, paths=paths), replace(run, trace=trace), replace(run, numbered=True)):
        assert contents(run) != contents(other)


@pytest.mark.slow
def test_fits_that_are_killed_and_resumed_have_the_bits_of_those_that_are_not(tmp_path):
    tally = soak.soak(60.0, 3, tmp_path)
    assert tally.failures == []
    assert tally.stops["SIGKILL"] > 10


@pytest.mark.slow
def test_memory_does_not_grow_with_sweeps():
    assert soak.measure_memory(10_000)
