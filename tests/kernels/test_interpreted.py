"""Compiled or not, and with or without bounds checks, the kernels do the same.

Compiled code reads past the end of an array in silence and adds without overflow warnings; interpreted code
does neither. The interpreted run also lets coverage see the lines of the kernels.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from workout import workout

WORKOUT = Path(__file__).with_name("workout.py")


@pytest.mark.parametrize(
    "setting", [{"NUMBA_DISABLE_JIT": "1", "PYTHONWARNINGS": "ignore"}, {"NUMBA_BOUNDSCHECK": "1"}]
)
def test_results_do_not_depend_on_compilation(setting, tmp_path):
    environment = {**os.environ, **setting, "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, WORKOUT], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == workout()
