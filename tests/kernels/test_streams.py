"""No two draws of a run share a random stream, and all keys are in the table of `plait.rng`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

from plait.rng import COMPLETIONS, INITIAL, PARAMETERS, SEARCH

SCRIPT = Path(__file__).with_name("stream_keys.py")


def test_no_stream_is_opened_twice_in_a_run():
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONWARNINGS": "ignore"}
    done = subprocess.run([sys.executable, SCRIPT], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for name, keys in json.loads(done.stdout).items():
        times = Counter(tuple(key) for key in keys)
        assert [key for key, n in times.items() if n > 1] == [], name
        # The search for anchor words does not depend on the seed.
        anchors = [0, INITIAL, PARAMETERS, 1]
        assert (anchors in keys) == ("spectral" in name), name
        keys = [key for key in keys if key != anchors]
        assert {key[0] for key in keys} == {1}, name
        sweeps, paths = {key[1] for key in keys}, {key[2] for key in keys}
        assert {sweep for sweep in sweeps if sweep < SEARCH} == {INITIAL, 1, 2}, name
        assert (max(sweeps) >= SEARCH) == ("search" in name or "given" in name), name
        completed = {COMPLETIONS} if "mixtures" in name or "student" in name else set()
        assert paths - {PARAMETERS} == {0, 1, 2} | completed, name
