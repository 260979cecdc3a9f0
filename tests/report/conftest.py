"""Runs to report on, each fitted once."""

from __future__ import annotations

import pytest
import report_runs


@pytest.fixture(scope="session")
def run():
    return report_runs.themed_run().named({0: "orchards"})


@pytest.fixture(scope="session")
def hostile_run():
    return report_runs.hostile_run()
