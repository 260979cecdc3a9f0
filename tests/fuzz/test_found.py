"""Inputs that once were findings of the fuzzer are none any more.

All of them are tried in one process, which is replaced if an input kills it. Interpreted kernels check
indices, so they tell more than compiled ones, and there is nothing to compile.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
FOUND = HERE / "found"
NAMES = sorted(file.stem for file in FOUND.glob("*.json"))


@pytest.fixture(scope="module", params=[pytest.param("compiled", marks=pytest.mark.slow), "interpreted"])
def outcomes(request):
    """Return the outcome of every input, by name."""
    command = [sys.executable, HERE / "fuzz.py", "--replay", FOUND, "--kernels", request.param]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode in (0, 1), done.stderr
    return {form["name"]: form for form in map(json.loads, done.stdout.splitlines())}


@pytest.mark.parametrize("name", NAMES)
def test_what_was_found_stays_mended(outcomes, name):
    assert not outcomes[name]["finding"], f"{outcomes[name]['outcome']}: {outcomes[name]['detail']}"


def test_every_input_is_small():
    assert all(file.stat().st_size < 20_000 for file in FOUND.iterdir())
