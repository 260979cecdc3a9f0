"""How kernels are compiled: cached code is discarded when any kernel changes, and nothing is allocated."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba import njit
from numba.core.errors import NumbaError

import plait
from plait import jit
from plait.jit import allocating_kernel, digest_of_kernels, kernel, kernel_files, local_array

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


def test_kernel_that_allocates_is_refused():
    @kernel
    def allocate(n):
        return np.zeros(n).sum()

    with pytest.raises(NumbaError, match="zeros"):
        allocate(3)

    @allocating_kernel
    def allocate_and_count(n):  # a name of its own, by which the cache knows it
        return np.zeros(n).sum()

    assert allocate_and_count(3) == 0.0


def test_kernel_does_not_count_references():
    @kernel
    def add_rows(table):
        total = 0.0
        for i in range(table.shape[0]):
            row = table[i]
            if row[0] > 0:
                total += row[1]
        return total

    assert add_rows(np.ones((3, 2))) == 3.0
    assert not any("NRT_incref" in code for code in add_rows.inspect_asm().values())


def test_local_array_is_zeros_at_every_call():
    @kernel
    def fill():
        numbers = local_array(3, np.int64)
        before = numbers.sum()
        numbers[:] = 7
        return before, numbers.size

    assert [fill() for _ in range(3)] == [(0, 3)] * 3


def test_local_array_must_have_a_constant_size():
    @kernel
    def fill(n):
        return local_array(n, np.int64).size

    with pytest.raises(NumbaError, match="size of a local array must be a constant"):
        fill(3)


@pytest.mark.parametrize(("module", "expected"), [("plait.anything", 1), ("another", 0)])
def test_compilation_of_own_kernels_is_logged_once(module, expected, caplog):
    caplog.set_level(logging.INFO, "plait")
    jit._log_compilation.cache_clear()
    for constant in (1.0, 2.0):

        def add(x, constant=constant):
            return x + constant

        add.__module__ = module
        compiled = njit(add)  # without a cache
        compiled(1.0)
        compiled(1.0)
    assert [record.name for record in caplog.records if "compiling" in record.message] == ["plait"] * expected
