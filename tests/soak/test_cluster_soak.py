"""A short soak of a cluster finds nothing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytest.importorskip("distributed")
sys.path.insert(0, str(Path(__file__).parent))
import cluster


@pytest.mark.slow
def test_runs_whose_workers_are_killed_have_the_bits_of_undisturbed_ones():
    tally = cluster.soak(90.0, 5)
    assert tally.failures == []
    assert tally.kills > 5
    assert not tally.grew()
