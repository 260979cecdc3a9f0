"""`plait fit hmm` and the estimators make the same fit: same data, settings and seed, same bits."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import plait
from plait.cli import main
from plait.fitting import plan, stored
from plait.run import load

N = 80
LENGTHS = [30, 1, 49]
SEED = 4
CLASSES = {"categorical": plait.CategoricalHMM, "gaussian": plait.GaussianHMM, "poisson": plait.PoissonHMM}


def make_data():
    rng = np.random.default_rng(2)
    state = (np.arange(N) // 7) % 3
    return {
        "categorical": np.where(rng.random(N) < 0.7, state, rng.integers(0, 4, N)),
        "gaussian": rng.normal(size=(N, 2)) + 2.0 * state[:, None],
        "poisson": rng.poisson(1.0 + 3.0 * state)[:, None],
    }


DATA = make_data()


@pytest.fixture
def run_command(tmp_path, monkeypatch):
    """Return a function that runs the command, in a folder with the data."""
    monkeypatch.chdir(tmp_path)
    for name, values in DATA.items():
        np.save(f"{name}.npy", values)
    np.savetxt("lengths.txt", LENGTHS, fmt="%d")

    def run(*arguments, status=0):
        done = CliRunner().invoke(main, [str(argument) for argument in arguments])
        assert done.exit_code == status, done.output
        return done

    return run


def fit_options(kind, *more, output="m.plait"):
    return [
        *("fit", "hmm", f"{kind}.npy", "-o", output, "--emissions", kind, "--lengths", "lengths.txt"),
        *("--states", 3, "--paths", 2, "--sweeps", 12, "--seed", SEED, "-q", *more),
    ]


def parameters(hmm):
    names = ["startprob_", "transmat_", *hmm._emission_parameters.values()]
    return {name: getattr(hmm, name) for name in names}


def assert_same_fit(mine, other):
    for name, value in parameters(mine).items():
        np.testing.assert_array_equal(value, getattr(other, name), err_msg=name)
    np.testing.assert_array_equal(mine.paths_, other.paths_)
    np.testing.assert_array_equal(mine.run_.paths, other.run_.paths)
    np.testing.assert_array_equal(mine.trace_.log_joint, other.trace_.log_joint)
    assert mine.log_likelihood_ == other.log_likelihood_
    assert mine.run_.settings == other.run_.settings


def estimate(kind, **options):
    settings = {"n_components": 3, "n_paths": 2, "n_iter": 12, "random_state": SEED, "n_jobs": 1} | options
    return CLASSES[kind](**settings).fit(DATA[kind], LENGTHS)


FITS = [
    (["--restarts", 3], {"n_init": 3}),
    (["--restarts", 3, "--no-polish"], {"n_init": 3, "polish": False}),
    (["--method", "single-site", "--restarts", 2], {"method": "single-site", "n_init": 2}),
    (["--method", "em", "--restarts", 3], {"method": "em", "n_init": 3}),
]
COLLAPSED = (["--method", "collapsed", "--restarts", 2], {"method": "collapsed", "n_init": 2})
CASES = [(kind, *fit) for kind in CLASSES for fit in FITS] + [
    ("categorical", *COLLAPSED),
    (
        "categorical",
        ["--prior", 0.5],
        dict.fromkeys(("startprob_prior", "transmat_prior", "emissionprob_prior"), 0.5),
    ),
    ("gaussian", ["--covariance", "full"], {"covariance_type": "full"}),
    ("gaussian", ["--covariance", "tied"], {"covariance_type": "tied"}),
]


@pytest.mark.parametrize(
    ("kind", "options", "settings"),
    CASES,
    ids=[" ".join(map(str, (kind, *options))) for kind, options, _ in CASES],
)
def test_command_and_estimator_make_the_same_fit(kind, options, settings, run_command):
    run_command(*fit_options(kind, *options))
    from_file = CLASSES[kind].from_run("m.plait")
    assert_same_fit(from_file, estimate(kind, **settings))


def test_a_left_right_model_is_the_same_fit(run_command):
    run_command(*fit_options("gaussian", "--left-right", "--restarts", 2))
    priors = {"startprob_prior": [1, 0, 0], "transmat_prior": np.eye(3) + np.eye(3, k=1)}
    assert_same_fit(plait.GaussianHMM.from_run("m.plait"), estimate("gaussian", n_init=2, **priors))


def test_another_order_of_the_seeds_would_be_another_fit(run_command, monkeypatch):
    """The comparison above would notice if the command drew the seeds of runs after all others."""

    def all_parameters_first(random, n_init, _):
        seeds = [int(random.randint(2**31 - 1)) for _ in range(2 * n_init)]
        return tuple(zip(seeds[:n_init], seeds[n_init:], strict=True))

    monkeypatch.setattr(stored, "draw_seeds", all_parameters_first)
    run_command(*fit_options("poisson", "--restarts", 3, "--no-polish"))
    from_file = plait.PoissonHMM.from_run("m.plait")
    with pytest.raises(AssertionError):
        assert_same_fit(from_file, estimate("poisson", n_init=3, polish=False))


def test_what_the_command_says_of_restarts(run_command):
    said = run_command(*fit_options("poisson", "--restarts", 3)).stderr
    assert "Best of 3 restarts: 10 sweeps and EM in " in said
    said = run_command(*fit_options("poisson", "--no-polish", output="raw.plait")).stderr
    assert "\n10 sweeps in " in said
    assert re.search(r"\n\d of the 3 best of 48 starts ended within 1 nat of the best\.\n", said)
    said = run_command(*fit_options("poisson", "--method", "blocked", output="blocked.plait")).stderr
    assert "\n12 sweeps and EM in " in said
    said = run_command(*fit_options("poisson", "--method", "em", output="em.plait")).stderr
    assert " iterations of EM in " in said
    assert "restarts" not in said


def interrupting_at(sweep, stage):
    """Return a `show_progress` that sends Ctrl-C in a sweep of a restart."""

    @contextmanager
    def show_progress(*arguments):
        def interrupt(progress):
            if (progress.state.sweep, progress.stage) == (sweep, stage):
                signal.raise_signal(signal.SIGINT)

        yield interrupt

    return show_progress


@pytest.mark.parametrize(("restart", "sweep"), [(1, 5), (3, 10)])
def test_a_fit_that_was_interrupted_in_a_restart_is_resumed(restart, sweep, run_command, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("plait.progress.show_progress", interrupting_at(sweep, f"restart {restart} of 3"))
        said = run_command(*fit_options("poisson", "--restarts", 3), status=130).stderr
    position = f"sweep {sweep} of 10 in restart {restart} of 3"
    assert f"interrupted after {position}. The run is saved in m.plait; to resume it:" in said
    assert said.endswith("  plait resume m.plait\n")
    assert (
        f"Note: the run is at {position}; `plait resume m.plait`" in run_command("states", "m.plait").stderr
    )
    refusal = run_command("resume", "m.plait", "--sweeps", 20, "-q", status=2).stderr
    assert f"Error: restart {restart} of 3 is not finished: resume without --sweeps first" in refusal
    said = run_command("resume", "m.plait", "-q").stderr
    assert f"Resuming from {position}." in said
    assert "Best of 3 restarts" in said
    assert_same_fit(plait.PoissonHMM.from_run("m.plait"), estimate("poisson", n_init=3))
    assert "m.plait is finished" in run_command("resume", "m.plait", status=2).stderr


def test_a_fit_by_em_alone_that_was_interrupted_is_kept_and_resumed(run_command, monkeypatch):
    maximise = plan.maximise

    def interrupted(model, parameters, n_iter, report, threads, keep):
        signal.raise_signal(signal.SIGINT)
        return maximise(model, parameters, n_iter, report, threads, keep)

    with monkeypatch.context() as patch:
        patch.setattr(plan, "maximise", interrupted)
        said = run_command(*fit_options("poisson", "--method", "em"), status=130).stderr
    assert said.endswith("  plait resume m.plait\n")
    assert "interrupted after EM iteration 1 of 12" in said
    assert not load("m.plait").finished
    assert load("m.plait").sweep == 1
    run_command("resume", "m.plait", "-q")
    assert_same_fit(plait.PoissonHMM.from_run("m.plait"), estimate("poisson", method="em"))


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_a_killed_fit_with_restarts_is_resumed(run_command):
    more = ["--restarts", 3, "--sweeps", 3000]
    run_command(*fit_options("poisson", *more, output="whole.plait"))
    command = [sys.executable, "-c", "from plait.cli import main; main()"]
    process = subprocess.Popen([*command, *map(str, fit_options("poisson", *more, output="part.plait"))])
    end = time.monotonic() + 60
    while not Path("part.plait").exists() and process.poll() is None and time.monotonic() < end:
        time.sleep(0.01)
    process.kill()
    process.wait()
    assert not load("part.plait").finished
    run_command("resume", "part.plait", "-q")
    assert_same_fit(plait.PoissonHMM.from_run("part.plait"), plait.PoissonHMM.from_run("whole.plait"))
    assert load("part.plait").fit == load("whole.plait").fit
