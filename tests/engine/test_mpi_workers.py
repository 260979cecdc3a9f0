"""Two processes under mpirun."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from engine_cases import LEARNING, assert_same_run, hmm, lda, walks

import plait

BIN = Path(sys.executable).parent


def mpirun(*command: str, n: int = 2, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run a command in several processes; launchers need no rights or network of their own for that."""
    words = [str(BIN / "mpirun"), "-n", str(n), *command]
    paths = {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])}
    return subprocess.run(
        words, capture_output=True, text=True, check=check, timeout=120, env={**os.environ, **paths}
    )


def test_the_command_under_mpirun_has_the_bits_of_one_process(tmp_path: Path) -> None:
    corpus = lda().corpus
    texts, one, two = (tmp_path / name for name in ("texts.txt", "one.plait", "two.plait"))
    texts.write_text("\n".join(" ".join(corpus.tokens(d)) for d in range(corpus.n_documents)))
    options = ["fit", "lda", str(texts), "--topics", "5", "--paths", "2", "--sweeps", "20"]
    options += ["--language", "none", "-q", "--json"]
    subprocess.run([str(BIN / "plait"), *options, "-o", str(one)], check=True, capture_output=True)
    done = mpirun(str(BIN / "plait"), *options, "-o", str(two), "--cluster", "mpi")
    assert done.stdout.count('"kind": "lda"') == 1  # the first process alone prints
    assert_same_run(plait.load(one), plait.load(two))


SCRIPT = """
import plait
from engine_cases import LEARNING, hmm, lda, walks
runs = [
    plait.sample(lda(), n_paths=LEARNING, seed=3, thin=1, cluster="mpi"),
    plait.sample(hmm("gaussian"), n_paths=2, n_sweeps=3, seed=3, cluster="mpi"),
    plait.sample(walks(), n_paths=2, n_sweeps=3, seed=3, cluster="mpi"),
]
from mpi4py import MPI
import sys
for k, run in enumerate(runs):
    run.save(f"{sys.argv[1]}/{k} of {MPI.COMM_WORLD.rank}.plait")
"""


@pytest.mark.slow
def test_all_processes_of_a_script_get_the_runs_of_one_process(tmp_path: Path) -> None:
    mpirun(sys.executable, "-c", SCRIPT, str(tmp_path), n=3)
    alone = [
        plait.sample(lda(), n_paths=LEARNING, seed=3, thin=1),
        plait.sample(hmm("gaussian"), n_paths=2, n_sweeps=3, seed=3),
        plait.sample(walks(), n_paths=2, n_sweeps=3, seed=3),
    ]
    for k, run in enumerate(alone):
        kind = type(run.model)
        for rank in range(3):
            assert_same_run(run, plait.load(tmp_path / f"{k} of {rank}.plait", kind))


@pytest.mark.parametrize("option", [["--topics", "0"], pytest.param([], marks=pytest.mark.slow)])
def test_an_error_ends_all_processes_and_is_said_once(option: list[str], tmp_path: Path) -> None:
    missing, output = str(tmp_path / "missing.txt"), str(tmp_path / "out.plait")
    done = mpirun(
        str(BIN / "plait"), "fit", "lda", missing, "-o", output, *option, "--cluster", "mpi", check=False
    )
    assert done.returncode
    assert done.stderr.count("Error:") == 1
