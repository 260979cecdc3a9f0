"""Arrays in files without a name, and paths that are kept in them."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import plait
from plait.errors import PlaitError
from plait.mapped import check_folder, new_array

PLAN = plait.Plan([plait.Stage("partially-collapsed", 1, 2), plait.Stage("partially-collapsed", (2, 3), 4)])


@pytest.fixture
def lda():
    words = np.random.default_rng(0).integers(0, 30, 3000)
    return plait.LdaModel(plait.Corpus(words, np.arange(0, 3001, 100), tuple(map(str, range(30)))), 5)


@pytest.fixture
def hmm():
    symbols = np.random.default_rng(0).integers(0, 3, 200)
    return plait.HmmModel(plait.CategoricalEmissions(plait.Sequences.from_symbols(symbols), 2))


def is_mapped(array):
    """Return whether an array is a view of a file."""
    while isinstance(array, np.ndarray):
        array = array.base
    return array is not None


@pytest.mark.parametrize("name", ["lda", "hmm"])
@pytest.mark.parametrize("n_paths", [2, PLAN])
def test_paths_in_a_folder_have_the_bits_of_paths_in_memory(name, n_paths, tmp_path, request):
    model = request.getfixturevalue(name)
    options = {"n_paths": n_paths, "n_sweeps": 6, "n_jobs": 2}
    in_memory = plait.sample(model, **options)
    in_file = plait.sample(model, **options, paths_in=tmp_path)
    assert is_mapped(in_file.paths)
    assert not is_mapped(in_memory.paths)
    assert np.array_equal(in_file.paths, in_memory.paths)
    assert np.array_equal(in_file.trace.log_joint, in_memory.trace.log_joint, equal_nan=True)


@pytest.mark.parametrize("as_file", [True, False])
def test_resumed_paths_in_a_folder_have_the_bits_of_an_uninterrupted_run(as_file, lda, tmp_path):
    whole = plait.sample(lda, n_paths=PLAN, n_jobs=1)
    stopped = plait.sample(lda, n_paths=PLAN, n_jobs=1, callback=lambda progress: progress.state.sweep == 3)
    stopped.save(tmp_path / "x")
    resumed = plait.resume(tmp_path / "x" if as_file else stopped, n_jobs=1, paths_in=tmp_path)
    assert resumed.sweep == whole.sweep
    assert is_mapped(resumed.paths)
    assert np.array_equal(resumed.paths, whole.paths)


def test_the_files_have_no_names(lda, tmp_path):
    run = plait.sample(lda, n_paths=2, n_sweeps=2, n_jobs=1, paths_in=tmp_path)
    assert is_mapped(run.paths)
    assert os.listdir(tmp_path) == []


def test_new_arrays_are_writeable_wherever_they_are(tmp_path):
    for folder in (None, tmp_path):
        for shape in ((3, 5), (0,), (2, 0)):
            array = new_array(shape, np.uint16, folder)
            array[...] = 7
            assert (array.shape, array.dtype) == (shape, np.uint16)
            assert (array == 7).all()
            assert is_mapped(array) == bool(folder and array.size)


@pytest.mark.parametrize("folder", ["missing", "a file", "a\0b", 3])
def test_what_is_no_folder_is_refused(folder, lda, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a file").touch()
    with pytest.raises(PlaitError, match=r"\Apaths_in must be a folder that exists, got .*: make it\Z"):
        plait.sample(lda, n_sweeps=1, paths_in=folder)
    with pytest.raises(PlaitError, match=r"\Apaths_in must be a folder that exists, got "):
        plait.resume(tmp_path / "a file", paths_in=folder)


def test_a_folder_may_be_text_or_a_path(tmp_path):
    assert check_folder("paths_in", str(tmp_path)) == check_folder("paths_in", tmp_path) == tmp_path
    assert check_folder("paths_in", None) is None


@pytest.mark.skipif(sys.platform == "win32", reason="needs blocks of files")
def test_all_of_a_file_is_reserved_before_it_is_used(tmp_path, monkeypatch):
    """Otherwise the first write beyond the end of a full disk would crash Python."""
    reserved = []
    memmap = np.memmap

    def spy(file, *args, **kwargs):
        reserved.append(512 * os.fstat(file.fileno()).st_blocks)
        return memmap(file, *args, **kwargs)

    monkeypatch.setattr(np, "memmap", spy)
    array = new_array((2, 10**6), np.uint16, tmp_path)
    assert reserved[0] >= array.nbytes


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits on files")
def test_a_full_disk_is_an_error_and_no_crash(tmp_path):
    script = f"""
import resource, signal, sys
from pathlib import Path
from plait.mapped import new_array
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (10**6, 10**6))
try:
    new_array((2, 10**6), "u2", Path({str(tmp_path)!r}))
except ValueError as error:
    sys.exit(f"{{type(error).__name__}}: {{error}}")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == f"PlaitError: cannot write {tmp_path}: File too large. Free some space\n"
    assert os.listdir(tmp_path) == []
