"""Interpreted kernels return what compiled ones do.

The interpreted run checks every index, and lets coverage see the lines of the kernels.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from workout import workout

WORKOUT = Path(__file__).with_name("workout.py")


def test_interpreted_kernels_return_what_compiled_ones_do():
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONWARNINGS": "ignore"}
    done = subprocess.run([sys.executable, WORKOUT], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == workout()
