"""`plait bench`, as a user meets it; what it measures is not tested, since it depends on the machine."""

from __future__ import annotations

import importlib.metadata
import json

import pytest
from click.testing import CliRunner

from plait import speed
from plait.cli import main

FAST = ["bench", "--tokens", "1000", "--jobs", "2"]


@pytest.fixture(autouse=True)
def short_turns(monkeypatch):
    for name in ("TURN_SECONDS", "WARM_UP_SECONDS"):
        monkeypatch.setattr(speed, name, 0.0)


def ok(*arguments):
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0, done.output
    return done


def fails(*arguments):
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 2, done.output
    assert done.stdout == ""
    return done.stderr.splitlines()[-1]


def fake_packages(monkeypatch, steps):
    """Let only these packages be installed; their steps are given by the name of their function."""
    version = importlib.metadata.version
    installed = {"plait", "numpy", "numba", *(name.strip("_") for name in steps)}

    def installed_version(package):
        if package not in installed:
            raise importlib.metadata.PackageNotFoundError(package)
        return "9.9" if f"_{package}" in steps else version(package)

    monkeypatch.setattr(importlib.metadata, "version", installed_version)
    for name, step in steps.items():
        monkeypatch.setattr(speed, name, lambda data, n_threads, step=step: (step, 1000))


def test_json_has_all_samplers_with_one_thread_and_all():
    found = json.loads(ok(*FAST, "--plait-only", "-q", "--json").stdout)
    assert found["processor"] == speed.processor() != ""
    assert set(found["versions"]) == {"plait", "numpy", "numba"}
    long, short, chain = found["contests"]
    assert long["title"] == "Long documents: 5 of 200 tokens, 100 topics"
    assert short["title"] == "Short documents: 100 of 10 tokens, 100 topics"
    assert chain["title"] == "Hidden Markov model: 1000 observations, 10 symbols, 8 states"
    for contest in (long, short, chain):
        assert contest["base"] is None
        threads = {}
        for one in contest["speeds"]:
            threads.setdefault(one["name"], []).append(one["threads"])
            assert one["ratio"] is None
            assert min(one["turns"]) <= one["nanoseconds"] <= max(one["turns"])
            assert one["million_per_second"] == pytest.approx(1e3 / one["nanoseconds"])
        assert threads == {name: [1] if ", collapsed" in name else [1, 2] for name in threads}
        assert all(name.startswith("plait, ") for name in threads)


def test_the_table_names_processor_and_versions_and_puts_ratios_first():
    done = ok(*FAST, "-q", "--jobs", "1")
    lines = done.stdout.splitlines()
    assert lines[0].startswith(f"{speed.processor()}, ")
    assert f"scikit-learn {importlib.metadata.version('scikit-learn')}" in lines[1]
    headers = [line for line in lines if " ns " in line and "M/s" in line]
    assert len(headers) == 3
    assert all(line.split()[0] == "times" for line in headers)
    assert not any("threads" in line for line in headers)
    rows = [line for line in lines if line.startswith("scikit-learn  ")]
    assert [len(row.split()) for row in rows] == [5, 5]
    assert done.stderr == ""  # other packages think that so few iterations are too few


def test_a_package_that_fails_is_left_out_with_the_reason(monkeypatch):
    calls = []

    def fail():
        raise TypeError("no such\nargument")

    fake_packages(monkeypatch, {"_tomotopy": fail, "_gensim": lambda: calls.append(1)})
    done = ok(*FAST, "-q", "--json")
    found = json.loads(done.stdout)
    assert found["left_out"] == {"tomotopy": "TypeError: no such\nargument"}
    assert [contest["base"] for contest in found["contests"]] == ["gensim", "gensim", None]
    (one,) = [speed for speed in found["contests"][0]["speeds"] if speed["name"] == "gensim"]
    assert (one["ratio"], one["threads"]) == (1.0, 1)
    assert len(calls) >= 2 * (2 + speed.N_TURNS)
    shown = ok(*FAST, "-q")
    assert "Note: tomotopy took no part: TypeError: no such argument" in shown.stderr.replace("\\n", " ")
    assert "times gensim" in shown.stdout


def test_of_slow_contestants_the_second_step_counts(monkeypatch):
    calls = []
    monkeypatch.setattr(speed, "SLOW_SECONDS", -1.0)
    fake_packages(monkeypatch, {"_hmmlearn": lambda: calls.append(1)})
    chain = json.loads(ok(*FAST, "-q", "--json").stdout)["contests"][2]
    assert all(len(one["turns"]) == 1 for one in chain["speeds"])
    assert len(calls) == 2


def test_a_fit_that_can_only_be_watched_goes_on_one_step_at_a_time():
    steps = []

    def fit(pause):
        for step in range(2):
            steps.append(step)
            pause(step, 0.5)
        raise ValueError("broken")

    watched = speed._Watched(fit)
    assert steps == []
    watched.step()
    assert steps == [0]
    watched.step()
    assert steps == [0, 1]
    with pytest.raises(RuntimeError, match="broken"):
        watched.step()


def test_bad_options_get_one_line():
    assert "--tokens must be a whole number from 1000 to 100" in fails("bench", "--tokens", "10")
    assert "--jobs" in fails("bench", "--jobs", "0")


def test_ctrl_c_ends_with_one_line(monkeypatch):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(speed, "_compete", interrupt)
    done = CliRunner().invoke(main, FAST)
    assert done.exit_code == 130
    assert done.stdout == ""
    assert done.stderr.splitlines()[-1] == "Stopped."
