"""A short run of the fuzzer finds nothing, and the fuzzer finds planted faults of every kind."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from forgery import SIZES, VALUES, to_bytes

HERE = Path(__file__).parent

EXPECTED = {
    "exception": "exception, KeyError",
    "exit": "crash, exit with status 3",
    "warning": "warning, RuntimeWarning",
    "swallowed warning": "warning, DeprecationWarning",
    "two lines": "message, control characters",
    "long": "message, too long",
    "no name": "message, does not name the file",
    "memory": "memory",
    "swallowed memory": "memory",
    "hang": "hang, over 0.5 s",
    "wait": "hang, over 0.5 s",
    "abort": "crash, SIGABRT",
    "segfault": "crash, SIGSEGV",
}


def run(script, *options):
    command = [sys.executable, HERE / script, *map(str, options)]
    return subprocess.run(command, capture_output=True, text=True, timeout=600)


def findings_in(folder):
    return [json.loads(file.read_text(encoding="utf-8")) for file in sorted(folder.glob("*.json"))]


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    """Return what the fuzzer says about planted faults, and the folder with its findings."""
    folder = tmp_path_factory.mktemp("planted") / "findings"
    return run("planted.py", "--inputs", 60, "--limit", 0.5, "--jobs", 2, "--findings", folder), folder


def test_a_short_run_has_no_findings(tmp_path):
    done = run("fuzz.py", "--inputs", 3000, "--seed", 1, "--kernels", "interpreted", "--findings", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_planted_fault_is_found(planted):
    done, folder = planted
    assert done.returncode == 1, done.stderr
    found = {form["text"].rpartition(" ")[0]: form["finding"] for form in findings_in(folder)}
    assert found.keys() == EXPECTED.keys()
    for fault, finding in found.items():
        assert finding.startswith(EXPECTED[fault]), fault


def test_inputs_that_are_no_findings_are_counted(planted):
    row = next(line.split() for line in planted[0].stdout.splitlines() if line.startswith("planted "))
    inputs, accepted, refused, findings = map(int, row[1:5])
    assert inputs == 60 == accepted + refused + findings
    assert accepted
    assert refused


def test_same_seed_gives_the_same_findings_on_any_number_of_processes(planted, tmp_path):
    alone = run("planted.py", "--inputs", 60, "--limit", 0.5, "--jobs", 1, "--findings", tmp_path)
    assert alone.returncode == 1
    assert findings_in(tmp_path) == findings_in(planted[1])


def test_replaying_findings_gives_them_again(planted):
    done = run("planted.py", "--replay", planted[1], "--limit", 0.5)
    outcomes = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 1
    assert [form["outcome"] for form in outcomes] == [form["finding"] for form in findings_in(planted[1])]


def test_seeds_that_are_not_accepted_are_reported(tmp_path):
    script = tmp_path / "broken.py"
    script.write_text(
        f"import sys; sys.path.insert(0, {str(HERE)!r})\n"
        "import fuzz, planted\n"
        "from dataclasses import replace\n"
        "from inputs import Input\n"
        "def targets(folder):\n"
        "    target = planted.planted_targets(folder)['planted']\n"
        "    return {'x': replace(target, seeds=(Input('planted', 'fault', b'refused 1'),))}\n"
        "sys.exit(fuzz.main([], targets))\n"
    )
    done = run(script)
    assert done.returncode == 2
    assert "not accepted" in done.stderr


@pytest.mark.parametrize("dtype", SIZES)
def test_every_number_has_bytes_in_every_type(dtype):
    assert {len(to_bytes(value, dtype)) for value in VALUES} == {SIZES[dtype]}


def test_numbers_that_are_too_large_become_infinite():
    assert np.frombuffer(to_bytes(2**31, "F16"), np.float16) == [np.inf]
    assert np.frombuffer(to_bytes(-(2**63), "F16"), np.float16) == [-np.inf]
