"""Cached machine code is discarded when any kernel changes, also one in a sub-package."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import plait
from plait import jit
from plait.jit import digest_of_kernels, kernel_files

PACKAGE = Path(plait.__file__).parent

CALLEE = """
from mini.jit import kernel

@kernel
def callee():
    return {value}
"""
CALLER = """
from mini.jit import kernel
from mini.kernels.inner.callee import callee

@kernel
def caller():
    return callee()

print(caller(), sum(caller.stats.cache_hits.values()))
"""


def test_all_kernels_are_in_the_digest():
    files = kernel_files(PACKAGE)
    assert set((PACKAGE / "kernels").rglob("*.py")) | {PACKAGE / "rng.py", PACKAGE / "jit.py"} == set(files)
    assert len(files) == len(set(files)) > 5


def test_digest_changes_with_a_file_of_a_sub_package(tmp_path):
    inner = tmp_path / "kernels" / "inner" / "deeper.py"
    inner.parent.mkdir(parents=True)
    for path in (tmp_path / "jit.py", tmp_path / "rng.py", tmp_path / "kernels" / "outer.py", inner):
        path.write_text("a = 1")
    assert inner in kernel_files(tmp_path)
    before = digest_of_kernels(tmp_path)
    inner.write_text("a = 2")
    digest_of_kernels.cache_clear()
    assert digest_of_kernels(tmp_path) != before


def test_kernel_is_compiled_again_when_its_callee_in_a_sub_package_changes(tmp_path):
    package = tmp_path / "mini"
    inner = package / "kernels" / "inner"
    inner.mkdir(parents=True)
    for folder in (package, package / "kernels", inner):
        (folder / "__init__.py").touch()
    (package / "rng.py").touch()
    (package / "jit.py").write_bytes(Path(jit.__file__).read_bytes())
    (package / "kernels" / "caller.py").write_text(CALLER)
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    environment.pop("NUMBA_DISABLE_JIT", None)

    def call(value: int) -> str:
        (inner / "callee.py").write_text(CALLEE.format(value=value))
        command = [sys.executable, "-c", "import mini.kernels.caller"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    assert call(1) == "1 0"  # compiled
    assert call(1) == "1 1"  # from the cache
    assert call(23) == "23 0"  # compiled again
