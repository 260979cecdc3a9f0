"""The commands for hidden Markov models, as a user meets them."""

from __future__ import annotations

import csv
import io
import itertools
import json
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import plait
from plait import progress
from plait.cli import main
from plait.data.sequences import Sequences
from plait.inference import states as library
from plait.run import load

SKIES = ["sun", "rain", "fog"]
CITIES = {"Oslo": 30, "Rome": 25, "São Paulo, Brazil": 5}
SAMPLED = ["--method", "blocked"]  # the default is in test_cli_same_fit.py
FAST = ["--states", "2", "--paths", "2", "--sweeps", "20", *SAMPLED, "-q"]


def write(name, header, rows):
    with open(name, "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])


@pytest.fixture
def runner(tmp_path, monkeypatch):
    """Return a runner in a folder with small data of every kind."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    cities = [city for city, days in CITIES.items() for _ in range(days)]
    state = (np.arange(60) // 6) % 2
    skies = [SKIES[rng.choice(3, p=[[0.8, 0.1, 0.1], [0.1, 0.6, 0.3]][s])] for s in state]
    values = np.round(rng.normal(size=(60, 2)) + 5.0 * state[:, None], 2)
    write("skies.csv", ["city", "sky"], zip(cities, skies, strict=True))
    write("values.csv", ["city", "wind", "rain"], [(c, *v) for c, v in zip(cities, values, strict=True)])
    write("counts.csv", ["calls"], rng.poisson(1 + 9 * state)[:, None])
    gaps = [sky if i % 7 else "NA" for i, sky in enumerate(skies)]
    write("gaps.csv", ["sky"], [[gap] for gap in gaps])
    np.save("symbols.npy", [SKIES.index(sky) for sky in skies])
    np.save("values.npy", values)
    Path("lengths.txt").write_text("20\n40\n")
    return CliRunner()


def invoke(runner, *arguments):
    return runner.invoke(main, [str(a) for a in arguments])


def ok(runner, *arguments):
    done = invoke(runner, *arguments)
    assert done.exit_code == 0, done.output
    return done


def fit(runner, name="skies.csv", emissions="categorical", *more, output="m.plait"):
    return ok(runner, "fit", "hmm", name, "-o", output, "--emissions", emissions, *FAST, *more)


def fit_skies(runner, *more, **options):
    return fit(runner, "skies.csv", "categorical", "--id-column", "city", *more, **options)


def fails(done, *parts):
    """Assert that the command failed with exit status 2 and one line that has all the parts."""
    assert done.exit_code == 2, done.output
    errors = [line for line in done.stderr.splitlines() if line.startswith("Error: ")]
    assert len(errors) == 1
    assert done.stderr.splitlines()[-1] == errors[0]
    assert "Traceback" not in done.output
    for part in parts:
        assert str(part) in errors[0]


def assert_same_parameters(run, other):
    mine, theirs = (run.parameters(1).to_arrays() for run in (run, other))
    assert mine.keys() == theirs.keys()
    for name, array in mine.items():
        np.testing.assert_array_equal(array, theirs[name])


def interrupting_at(sweep, stage=""):
    """Return a `show_progress` that sends Ctrl-C in a sweep, of a restart if there are several."""

    @contextmanager
    def show_progress(*arguments):
        def interrupt(progress):
            if (progress.state.sweep, progress.stage) == (sweep, stage):
                signal.raise_signal(signal.SIGINT)

        yield interrupt

    return show_progress


def solution(name="m.plait"):
    """Return a run and its parameters, with the states in the order that the commands show."""
    run = load(name)
    parameters = run.parameters(1)
    return run, parameters.permuted(run.model.canonical_order(parameters))


class TestFit:
    def test_the_model_is_stored_and_described(self, runner):
        done = fit_skies(runner)
        assert done.stdout == ""
        first, second, verdict, *hints = done.stderr.splitlines()
        assert verdict.startswith("EM has")
        assert first == "3 sequences, 60 observations, 3 distinct symbols."
        found = re.fullmatch(
            r"20 sweeps and EM in \d+ s, log-likelihood of the data (-[\d.]+) per observation\."
            r" Model saved to m\.plait",
            second,
        )
        run, parameters = solution()
        assert float(found[1]) == pytest.approx(run.model.log_likelihood(parameters, 1) / 60, abs=1e-4)
        assert [hint.split(": ")[1] for hint in hints] == ["plait states m.plait", "plait decode m.plait"]
        assert run.finished
        assert run.paths.shape == (2, 60)
        assert run.model.blocked
        assert run.model.sequences.names == tuple(CITIES)
        assert run.model.sequences.labels == ("fog", "rain", "sun")

    def test_standard_output_holds_nothing_but_json(self, runner):
        summary = json.loads(fit_skies(runner, "--json").stdout)
        run, parameters = solution()
        assert (summary["kind"], summary["sweeps"], summary["sites"]) == ("hmm", 20, 60)
        np.testing.assert_array_equal(summary["log_joint"], run.trace.log_joint[-1])
        assert summary["log_likelihood"] == pytest.approx(run.model.log_likelihood(parameters, 1), rel=1e-12)
        assert summary["em"] is True
        assert summary["restarts"] == [summary["log_likelihood"]]

    def test_progress_is_per_observation(self, runner):
        done = ok(runner, "fit", "hmm", "counts.csv", "-o", "m.plait", "--emissions", "poisson", *FAST[:-1])
        assert re.search(
            r"sweep 20 of 20, .*log P\(observations, states\) -[\d.]+ per observation\n", done.stderr
        )

    @pytest.mark.parametrize(
        ("name", "emissions", "options", "says"),
        [
            ("values.csv", "gaussian", ["--id-column", "city"], "3 sequences, 60 observations, 2 features."),
            (
                "values.csv",
                "gaussian",
                ["--columns", "rain, wind"],
                "1 sequence, 60 observations, 2 features.",
            ),
            (
                "values.npy",
                "gaussian",
                ["--lengths", "lengths.txt"],
                "2 sequences, 60 observations, 2 features.",
            ),
            ("counts.csv", "poisson", [], "1 sequence, 60 observations, 1 feature."),
            ("symbols.npy", "categorical", [], "1 sequence, 60 observations, 3 distinct symbols."),
            (
                "gaps.csv",
                "categorical",
                ["--missing"],
                "1 sequence, 60 observations, 9 of them missing, 3 distinct symbols.",
            ),
        ],
    )
    def test_every_kind_of_input_can_be_fitted(self, runner, name, emissions, options, says):
        done = fit(runner, name, emissions, *options)
        assert done.stderr.splitlines()[0] == says
        assert load("m.plait").model.emissions.kind == emissions
        assert ok(runner, "states", "m.plait").stdout.count("\n") == 3
        assert ok(runner, "decode", "m.plait").stdout.count("\n") == 61

    def test_options_reach_the_model(self, runner):
        fit_skies(runner, "--method", "single-site", "--seed", 7, "--prior", 0.5)
        run = load("m.plait")
        first, seed = np.random.RandomState(7).randint(2**31 - 1, size=2)
        assert run.fit.seeds == ((first, seed),)
        assert (run.settings.seed, run.settings.collapsed, run.model.blocked) == (seed, False, False)
        arrays, _ = run.model.to_arrays()
        for prior in ("start.prior", "transitions.prior", "emissions.laws.prior"):
            assert np.all(arrays[prior] == 0.5)
        fit_skies(runner, "--method", "collapsed", "--overwrite")
        assert load("m.plait").settings.collapsed

    @pytest.mark.parametrize("covariance", ["spherical", "diag", "full", "tied"])
    def test_the_form_of_the_covariance_can_be_chosen(self, runner, covariance):
        fit(runner, "values.npy", "gaussian", "--covariance", covariance)
        assert load("m.plait").model.emissions.covariance == covariance

    @pytest.mark.parametrize("method", ["blocked", "single-site", "collapsed"])
    def test_a_left_right_model_never_goes_back(self, runner, method):
        fit_skies(runner, "--left-right", "--method", method, "--states", 3)
        run, parameters = solution()
        assert parameters.start.tolist() == [1, 0, 0]
        assert np.all((parameters.transitions > 0) == [[1, 1, 0], [0, 1, 1], [0, 0, 1]])
        for first, last in zip(
            run.model.sequences.offsets[:-1], run.model.sequences.offsets[1:], strict=True
        ):
            steps = np.diff(run.paths[:, first:last].astype(int), axis=1)
            assert np.all(run.paths[:, first] == 0)
            assert np.all((steps == 0) | (steps == 1))

    def test_same_bits_for_any_number_of_threads(self, runner):
        results = []
        for jobs in (1, 2):
            fit_skies(runner, "--jobs", jobs, output=f"{jobs}.plait")
            results.append(load(f"{jobs}.plait").paths)
        np.testing.assert_array_equal(*results)

    def test_a_note_names_states_without_observations(self, runner):
        Path("short.csv").write_text("w\n0\n0\n")
        done = fit(runner, "short.csv", "categorical", "--states", 6, "--paths", 1)
        empty = [
            s["state"] for s in json.loads(ok(runner, "states", "m.plait", "--json").stdout) if not s["share"]
        ]
        assert len(empty) >= 4
        assert (
            f"Note: states {', '.join(map(str, empty))} have no observation; their parameters are those of"
            " the prior" in done.stderr
        )
        Path("long.csv").write_text("w\n" + "0\n" * 5)
        for seed in range(20):
            done = fit(runner, "long.csv", "categorical", "--paths", 1, "--seed", seed, "--overwrite")
            if "has no observation" in done.stderr:
                break
        assert re.search(
            r"Note: state [01] has no observation; its parameters are those of the prior", done.stderr
        )

    def test_symbols_that_do_not_occur_are_counted(self, runner):
        Path("some.csv").write_text("w\n0\n5\n0\n")
        assert "3 observations, 2 distinct symbols of 0 to 5." in fit(runner, "some.csv").stderr

    def test_a_note_says_that_numbers_are_taken_as_names(self, runner):
        done = fit(runner, "values.csv", "categorical", "--columns", "wind")
        assert "Note: the symbols are numbers" in done.stderr
        assert "--emissions gaussian" in done.stderr

    def test_existing_output_is_not_lost(self, runner):
        fit_skies(runner)
        again = ["fit", "hmm", "skies.csv", "-o", "m.plait", "--emissions", "categorical", *FAST]
        fails(invoke(runner, *again), "m.plait exists", "resume it", "--overwrite")
        fit_skies(runner, "--overwrite")

    @pytest.mark.parametrize(
        ("name", "options", "parts"),
        [
            ("missing.csv", ["categorical"], ["missing.csv", "no such file"]),
            ("skies.txt", ["categorical"], ["skies.txt", ".csv"]),
            ("skies.csv", ["categorical"], ["skies.csv:1", "'city', 'sky'", "pass --columns", "--id-column"]),
            ("skies.csv", ["gaussian"], ["skies.csv:2", "'city'", "'Oslo'", "not a number"]),
            ("skies.csv", ["categorical", "--id-column", "x"], ["'x'", "'city', 'sky'", "--id-column"]),
            ("values.csv", ["gaussian", "--columns", "wind,x"], ["'x'", "pass --columns"]),
            ("values.csv", ["gaussian", "--columns", "wind,wind"], ["wind", "remove one"]),
            (
                "values.csv",
                ["poisson", "--columns", "wind"],
                ["values.csv: counts must be whole numbers", "observation 0"],
            ),
            (
                "values.csv",
                ["gaussian", "--lengths", "lengths.txt"],
                ["--lengths must be left out", "--id-column", "got 'lengths.txt'"],
            ),
            (
                "values.npy",
                ["gaussian", "--id-column", "city"],
                ["--id-column must be left out", "got 'city'", "--lengths"],
            ),
            ("values.npy", ["gaussian", "--lengths", "gone.txt"], ["gone.txt", "no such file"]),
            ("values.npy", ["categorical"], ["values.npy", "(60, 2)"]),
            ("gaps.csv", ["categorical"], ["gaps.csv:2", "missing", "pass --missing"]),
            ("void.csv", ["categorical", "--missing"], ["void.csv", "all observations are missing"]),
            ("latin.csv", ["categorical"], ["latin.csv:2", "--encoding cp1252"]),
            (
                "counts.csv",
                ["poisson", "--states", "1"],
                ["--states must be a whole number from 2 to 65535, got 1"],
            ),
            (
                "counts.csv",
                ["poisson", "--states", "65536"],
                ["--states must be a whole number from 2 to 65535, got 65536"],
            ),
            (
                "counts.csv",
                ["poisson", "--paths", "0"],
                ["--paths must be a whole number of at least 1, got 0"],
            ),
            (
                "counts.csv",
                ["poisson", "--sweeps", "0"],
                ["--sweeps must be a whole number of at least 1, got 0"],
            ),
            (
                "counts.csv",
                ["poisson", "--seed", "-1"],
                ["--seed must be a whole number from 0 to 4294967295, got -1"],
            ),
            (
                "counts.csv",
                ["poisson", "--restarts", "0"],
                ["--restarts must be a whole number of at least 1"],
            ),
            ("counts.csv", ["poisson", "--jobs", "0"], ["--jobs must be a number of threads", "got 0"]),
            (
                "counts.csv",
                ["poisson", "--prior", "0"],
                ["--prior must be a number from 1e-10 to 1e+10, got 0"],
            ),
            (
                "counts.csv",
                ["poisson", "--prior", "nan"],
                ["--prior must be a number from 1e-10 to 1e+10, got nan"],
            ),
            (
                "counts.csv",
                ["poisson", "--covariance", "diag"],
                ["--covariance must", "poisson emissions", "got diag"],
            ),
            ("counts.csv", ["poisson", "--method", "collapsed"], ["collapsed", "categorical"]),
            ("counts.csv", ["poisson", "-o", "no/folder/m"], ["no/folder"]),
        ],
    )
    def test_bad_input_gets_one_line(self, runner, name, options, parts):
        Path("skies.txt").write_text("sky\nsun\n")
        Path("void.csv").write_text("sky\nNA\nNA\n")
        Path("latin.csv").write_bytes("sky\ncaf\xe9\n".encode("latin-1"))
        done = invoke(runner, "fit", "hmm", name, "-o", "m", *FAST, "--emissions", *options)
        fails(done, *parts)
        assert not Path("m").exists()

    @pytest.mark.parametrize("option", ["--states", "--emissions"])
    def test_states_and_emissions_must_be_given(self, runner, option):
        arguments = ["--states", "2", "--emissions", "poisson"]
        del arguments[arguments.index(option) : arguments.index(option) + 2]
        done = invoke(runner, "fit", "hmm", "counts.csv", "-o", "m", *arguments)
        assert done.exit_code == 2
        assert f"Missing option '{option}'" in done.stderr


class TestResume:
    @pytest.mark.parametrize("method", ["blocked", "single-site", "collapsed"])
    def test_same_bits_after_an_interruption(self, runner, method, monkeypatch):
        options = ["--id-column", "city", "--method", method]
        fit(runner, "skies.csv", "categorical", *options, output="whole.plait")

        arguments = ["fit", "hmm", "skies.csv", "-o", "part.plait", "--emissions", "categorical", *FAST]
        with monkeypatch.context() as patch:
            patch.setattr("plait.progress.show_progress", interrupting_at(7))
            done = invoke(runner, *arguments, *options)
        assert done.exit_code == 130
        assert "interrupted after sweep 7 of 20. The run is saved in part.plait" in done.stderr
        assert "plait resume part.plait" in done.stderr
        assert "Note: the run is at sweep 7 of 20;" in ok(runner, "states", "part.plait").stderr

        done = ok(runner, "resume", "part.plait", "-q")
        assert "Resuming from sweep 7 of 20." in done.stderr
        assert "per observation" in done.stderr
        assert "plait states part.plait" in done.stderr
        assert "topics" not in done.stderr
        whole, part = load("whole.plait"), load("part.plait")
        np.testing.assert_array_equal(part.paths, whole.paths)
        np.testing.assert_array_equal(part.trace.log_joint, whole.trace.log_joint)
        assert_same_parameters(part, whole)

    def test_a_finished_run_can_be_made_longer(self, runner):
        fit_skies(runner)
        fails(invoke(runner, "resume", "m.plait"), "m.plait is finished", "--sweeps 40")
        summary = json.loads(ok(runner, "resume", "m.plait", "--sweeps", 30, "-q", "--json").stdout)
        assert (summary["kind"], summary["sweeps"]) == ("hmm", 30)
        assert "log_likelihood" in summary
        fit_skies(runner, "--sweeps", 30, output="whole.plait")
        np.testing.assert_array_equal(load("m.plait").paths, load("whole.plait").paths)
        assert_same_parameters(load("m.plait"), load("whole.plait"))

    def test_progress_is_per_observation(self, runner):
        fit_skies(runner)
        assert "per observation\n" in ok(runner, "resume", "m.plait", "--sweeps", 30).stderr


class TestStates:
    def test_symbols_are_listed_with_their_probabilities(self, runner):
        fit_skies(runner)
        header, *lines = ok(runner, "states", "m.plait", "--symbols", 2).stdout.splitlines()
        assert header.split() == ["state", "share", "stay", "symbols"]
        for s, line in enumerate(lines):
            assert re.fullmatch(rf"\s+{s}\s+[\d.]+ %\s+0\.\d{{3}}(  (sun|fog|rain):0\.\d{{3}}){{2}}\s*", line)

    def test_numbers_are_described_by_mean_and_standard_deviation(self, runner):
        fit(runner, "values.csv", "gaussian", "--id-column", "city")
        lines = ok(runner, "states", "m.plait").stdout.splitlines()
        assert lines[0].split() == ["state", "share", "stay", "mean", "(standard", "deviation)"]
        number = r"-?[\d.e-]+"
        assert re.search(rf"wind:{number} \({number}\)  rain:{number} \({number}\)", lines[1])

    def test_a_single_feature_without_a_name_is_not_named(self, runner):
        np.save("one.npy", np.load("values.npy")[:, 0])
        fit(runner, "one.npy", "gaussian")
        assert ":" not in ok(runner, "states", "m.plait").stdout

    def test_counts_are_described_by_their_rates(self, runner):
        fit(runner, "counts.csv", "poisson")
        lines = ok(runner, "states", "m.plait").stdout.splitlines()
        assert lines[0].split() == ["state", "share", "stay", "rate"]
        assert "calls:" in lines[1]

    def test_binary_features_are_described_by_their_probabilities(self, runner):
        bits = Sequences.from_values(np.array([[0, 1], [1, 1]] * 6, float), columns=["wet", "windy"])
        model = plait.HmmModel(plait.BernoulliEmissions(bits, 2))
        plait.sample(model, n_paths=2, n_sweeps=2, n_jobs=1).save("bits.plait")
        header, *lines = ok(runner, "states", "bits.plait").stdout.splitlines()
        assert header.split() == ["state", "share", "stay", "probability", "of", "1"]
        assert all(re.search(r"wet:[01]\.\d{3}  windy:[01]\.\d{3}", line) for line in lines)

    @pytest.mark.parametrize(
        ("name", "emissions", "fields"),
        [
            ("symbols.npy", "categorical", {"symbols", "probabilities"}),
            ("values.npy", "gaussian", {"features", "means", "standard_deviations"}),
            ("counts.csv", "poisson", {"features", "rates"}),
        ],
    )
    def test_json_has_all_parameters(self, runner, name, emissions, fields):
        fit(runner, name, emissions)
        rows = json.loads(ok(runner, "states", "m.plait", "--json").stdout)
        _, parameters = solution()
        assert [row["state"] for row in rows] == [0, 1]
        assert sum(row["share"] for row in rows) == pytest.approx(1)
        np.testing.assert_allclose([row["transitions"] for row in rows], parameters.transitions, atol=1e-6)
        np.testing.assert_allclose([row["start"] for row in rows], parameters.start, atol=1e-6)
        np.testing.assert_allclose([row["stay"] for row in rows], np.diag(parameters.transitions), atol=1e-6)
        assert set(rows[0]) - {"state", "name", "share", "stay", "start", "transitions"} == fields

    def test_labels_that_look_like_markup_are_printed_as_they_are(self, runner):
        Path("odd.csv").write_text("w\n[/b]\n[red]\n:smile:\n")
        fit(runner, "odd.csv")
        table = ok(runner, "states", "m.plait").stdout
        for label in ("[/b]:", "[red]:", ":smile::"):
            assert label in table


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


class TestDecode:
    def test_the_data_of_the_fit_are_decoded_by_default(self, runner):
        fit_skies(runner)
        done = ok(runner, "decode", "m.plait")
        rows = rows_of(done.stdout)
        run, parameters = solution()
        best, _ = run.model.best_paths(parameters, 1)
        likelihood = run.model.log_likelihood(parameters, 1)
        assert list(rows[0]) == ["sequence", "position", "state"]
        assert [int(row["state"]) for row in rows] == best.tolist()
        assert [row["sequence"] for row in rows] == [city for city, n in CITIES.items() for _ in range(n)]
        assert [int(row["position"]) for row in rows] == [i for n in CITIES.values() for i in range(n)]
        assert f"Log-likelihood {likelihood:.4f}, {likelihood / 60:.4f} per observation." in done.stderr

    @pytest.mark.parametrize(
        ("name", "emissions", "options"),
        [
            ("skies.csv", "categorical", ["--id-column", "city"]),
            ("values.csv", "gaussian", ["--id-column", "city"]),
            ("counts.csv", "poisson", []),
            ("gaps.csv", "categorical", ["--missing"]),
            ("values.npy", "gaussian", ["--lengths", "lengths.txt"]),
        ],
    )
    @pytest.mark.parametrize("algorithm", ["viterbi", "map"])
    def test_fitted_data_get_the_same_states_when_read_again(
        self, runner, name, emissions, options, algorithm
    ):
        fit(runner, name, emissions, *options)
        common = ["--algorithm", algorithm, "--probabilities"]
        trained = ok(runner, "decode", "m.plait", *common)
        assert ok(runner, "decode", "m.plait", name, *options, *common).output == trained.output
        rows = rows_of(trained.stdout)
        assert list(rows[0])[3:] == ["p0", "p1"]
        chances = np.array([[float(row["p0"]), float(row["p1"])] for row in rows])
        np.testing.assert_allclose(chances.sum(axis=1), 1, atol=1e-5)
        if algorithm == "map":
            assert [int(row["state"]) for row in rows] == chances.argmax(axis=1).tolist()

    def test_times_come_back_with_the_states(self, runner):
        rows = [(f"2024-05-{i + 1:02}", i % 2, "=1" if i else "x") for i in range(20)]
        write("days.csv", ["day", "sky", "note"], rows)
        model = ["--columns", "sky", "--time-column", "day"]
        fit(runner, "days.csv", "categorical", *model)
        table = list(csv.reader(io.StringIO(ok(runner, "decode", "m.plait", "-q").stdout)))
        assert table[0] == ["sequence", "position", "time", "state"]
        assert [row[2] for row in table[1:]] == [row[0] for row in rows]
        as_json = json.loads(ok(runner, "decode", "m.plait", "-q", "--json").stdout)
        assert as_json["times"] == [row[0] for row in rows]
        assert len(as_json["states"]) == 20

        new = ["--columns", "sky", "--time-column", "note"]
        again = ok(runner, "decode", "m.plait", "days.csv", "-q", *new, "--probabilities")
        assert again.stdout.splitlines()[0] == "sequence,position,time,state,p0,p1"
        assert again.stdout.splitlines()[2].startswith("0,1,'=1,")  # no formula for a spreadsheet
        without = ok(runner, "decode", "m.plait", "days.csv", "-q", "--columns", "sky")
        assert without.stdout.splitlines()[0] == "sequence,position,state"

    def test_new_data_are_decoded(self, runner):
        fit_skies(runner)
        Path("new.csv").write_text("sky\n" + "sun\n" * 8 + "rain\n" * 8 + "\n" * 2)
        done = ok(runner, "decode", "m.plait", "new.csv", "--missing", "--json")
        assert "1 sequence, 18 observations, 2 of them missing, 2 distinct symbols." in done.stderr
        (result,) = map(json.loads, done.stdout.splitlines())
        assert set(result) == {"sequence", "states", "log_likelihood"}
        assert result["sequence"] == "0"
        fog_rain_sun = [2] * 8 + [1] * 8 + [-1] * 2
        _, parameters = solution()
        same = library.chain_of(parameters, Sequences.from_symbols(fog_rain_sun, missing=True))
        assert result["states"] == same.best_paths(parameters, 1)[0].tolist()
        assert float(re.search(r"Log-likelihood (-[\d.]+)", done.stderr)[1]) == pytest.approx(
            result["log_likelihood"], abs=1e-4
        )

    def test_json_has_a_line_for_each_sequence(self, runner):
        fit_skies(runner)
        lines = ok(runner, "decode", "m.plait", "--json", "--probabilities").stdout.splitlines()
        objects = [json.loads(line) for line in lines]
        assert [o["sequence"] for o in objects] == list(CITIES)
        assert [len(o["states"]) for o in objects] == list(CITIES.values())
        assert [np.shape(o["probabilities"]) for o in objects] == [(n, 2) for n in CITIES.values()]

    def test_states_are_written_to_tables_and_arrays(self, runner):
        fit_skies(runner)
        table = ok(runner, "decode", "m.plait").stdout
        done = ok(runner, "decode", "m.plait", "-o", "states.csv")
        assert done.stdout == ""
        assert "States saved to states.csv" in done.stderr
        assert Path("states.csv").read_text(encoding="utf-8") == table
        ok(runner, "decode", "m.plait", "-o", "states.npy")
        array = np.load("states.npy")
        assert array.dtype == np.int64
        assert array.tolist() == [int(row["state"]) for row in rows_of(table)]
        before = set(Path.cwd().iterdir())
        fails(invoke(runner, "decode", "m.plait", "-o", "states.csv"), "states.csv exists", "--overwrite")
        ok(runner, "decode", "m.plait", "-o", "states.csv", "--overwrite", "--algorithm", "map", "--json")
        assert Path("states.csv").read_text(encoding="utf-8").count("\n") == 3
        assert set(Path.cwd().iterdir()) == before

    def test_pieces_make_no_difference(self, runner, monkeypatch):
        fit_skies(runner)
        whole = ok(runner, "decode", "m.plait", "--probabilities").output
        ok(runner, "decode", "m.plait", "-o", "whole.npy")
        monkeypatch.setattr(library, "_SITES_PER_PIECE", (1, 1))
        assert ok(runner, "decode", "m.plait", "--probabilities").output == whole
        ok(runner, "decode", "m.plait", "-o", "pieces.npy")
        assert Path("pieces.npy").read_bytes() == Path("whole.npy").read_bytes()

    def test_progress_counts_the_sequences(self, runner, monkeypatch):
        monkeypatch.setattr(library, "_SITES_PER_PIECE", (1, 1))
        monkeypatch.setattr(progress, "PLAIN_SECONDS", 0.0)
        fit_skies(runner)
        done = ok(runner, "decode", "m.plait", "-o", "states.csv")
        assert done.stderr.splitlines()[1:4] == [f"{i} of 3 sequences decoded" for i in (1, 2, 3)]
        assert "decoded" not in ok(runner, "decode", "m.plait", "-q").stderr

    @pytest.mark.parametrize(
        ("output", "error"),
        [
            (None, KeyboardInterrupt),
            *itertools.product(
                ["old.csv", "new.csv", "new.npy"], [KeyboardInterrupt, OSError(28, "No space left on device")]
            ),
        ],
    )
    def test_nothing_half_written_is_left(self, runner, monkeypatch, output, error):
        fit_skies(runner)
        Path("old.csv").write_text("precious")
        before = set(Path.cwd().iterdir())
        whole = library.decode

        def broken(*arguments, **options):
            yield next(iter(whole(*arguments, **options)))
            raise error

        monkeypatch.setattr(library, "decode", broken)
        more = [] if output is None else ["-o", output, "--overwrite"]
        done = invoke(runner, "decode", "m.plait", *more)
        if error is KeyboardInterrupt:
            assert done.exit_code == 130
            assert "Stopped." in done.stderr
            assert (output or "not complete") in done.stderr
        else:
            fails(done, f"cannot write {output}", "No space left")
        assert set(Path.cwd().iterdir()) == before
        assert Path("old.csv").read_text() == "precious"

    @pytest.mark.parametrize(
        ("arguments", "parts"),
        [
            (["new.csv"], ["new.csv:3", "'snow'"]),
            (["gone.csv"], ["gone.csv", "no such file"]),
            (["gaps.csv"], ["gaps.csv:2", "pass --missing"]),
            (["symbols4.npy"], ["symbols4.npy: observation 1 is the symbol 4", "0 to 2"]),
            (["--id-column", "city"], ["--id-column", "INPUT"]),
            (["--missing"], ["--missing", "INPUT"]),
            (["-o", "no/folder/s.csv"], ["no/folder"]),
            (["-o", "s.csv.gz"], ["s.csv.gz", "without .gz"]),
            (["-o", "s.npy", "--probabilities"], ["s.npy", "--probabilities"]),
            (["-o", "s.npy", "--json"], ["s.npy", "--json"]),
            (["--jobs", "0"], ["--jobs must be a number of threads", "got 0"]),
        ],
    )
    def test_bad_input_gets_one_line(self, runner, arguments, parts):
        fit_skies(runner)
        Path("new.csv").write_text("sky\nsun\nsnow\n")
        np.save("symbols4.npy", [0, 4])
        fails(invoke(runner, "decode", "m.plait", *arguments), *parts)

    def test_new_data_of_another_form_are_refused(self, runner):
        fit(runner, "symbols.npy", "categorical", output="symbols.plait")
        Path("new.csv").write_text("w\n1\n7\n")
        fails(invoke(runner, "decode", "symbols.plait", "new.csv"), "new.csv:3", "symbol 7", "0 to 2")
        Path("new.csv").write_text("w\na\nb\n")
        fails(invoke(runner, "decode", "symbols.plait", "new.csv"), "new.csv", "texts", "whole numbers")
        fit(runner, "values.npy", "gaussian", output="values.plait")
        fails(
            invoke(runner, "decode", "values.plait", "counts.csv"),
            "counts.csv",
            "1 features",
            "fitted to 2",
            "--columns",
        )
        fit(runner, "counts.csv", "poisson", output="counts.plait")
        Path("new.csv").write_text("calls\n1\n2.5\n")
        fails(
            invoke(runner, "decode", "counts.plait", "new.csv"),
            "new.csv: counts must be whole numbers",
            "got 2.5 in feature 0 of observation 1",
        )

    def test_a_note_says_that_a_run_is_unfinished(self, runner):
        fit_skies(runner)
        run = load("m.plait")
        unfinished = replace(run.fit, scores=())
        trace = run.trace.empty(run.settings.n_paths)
        replace(run, sweep=3, trace=trace, estimate=None, fit=unfinished).save("part.plait")
        for command in ("states", "decode"):
            note = ok(runner, command, "part.plait").stderr
            assert "Note: the run is at sweep 3 of 20; `plait resume part.plait` resumes it" in note


class TestWrongModel:
    def test_each_command_names_the_right_one(self, runner):
        fit_skies(runner)
        Path("texts.txt").write_text("apples and pears\npears and plums\n")
        ok(runner, "fit", "lda", "texts.txt", "-o", "t.plait", "--topics", 2, "--sweeps", 2, "-q")
        fails(invoke(runner, "topics", "m.plait"), "m.plait", "hidden Markov", "`plait states m.plait`")
        fails(invoke(runner, "infer", "m.plait", "x.csv"), "hidden Markov", "`plait decode m.plait x.csv`")
        fails(invoke(runner, "states", "t.plait"), "t.plait", "topic model", "`plait topics t.plait`")
        fails(invoke(runner, "decode", "t.plait"), "topic model", "`plait infer t.plait INPUT`")
        fails(invoke(runner, "decode", "t.plait", "x.txt"), "topic model", "`plait infer t.plait x.txt`")

    @pytest.mark.parametrize("command", ["states", "decode"])
    def test_bad_model_files_are_refused(self, runner, command):
        fit_skies(runner)
        whole = Path("m.plait").read_bytes()
        Path("short.plait").write_bytes(whole[: len(whole) // 2])
        Path("foreign.plait").write_text("hello")
        for name in ("short.plait", "foreign.plait", "missing.plait"):
            fails(invoke(runner, command, name), name)


def start(*arguments):
    return subprocess.Popen(
        [sys.executable, "-c", "from plait.cli import main; main()", *map(str, arguments)],
        stderr=subprocess.PIPE,
        text=True,
    )


def test_ctrl_c_keeps_a_checkpoint_and_says_how_to_resume(runner):
    arguments = ["fit", "hmm", "counts.csv", "--emissions", "poisson", "--states", "2", "--paths", "2"]
    process = start(*arguments, *SAMPLED, "-o", "part.plait", "--sweeps", "100000000")
    end = time.monotonic() + 60
    while not Path("part.plait").exists() and process.poll() is None and time.monotonic() < end:
        time.sleep(0.01)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in stderr
    assert "plait resume part.plait" in stderr
    part = load("part.plait")
    assert 0 < part.sweep < part.settings.n_sweeps
    target = part.sweep + 5
    ok(runner, "resume", "part.plait", "--sweeps", target, "-q")
    whole = plait.sample(part.model, n_paths=2, n_sweeps=target, seed=part.settings.seed, n_jobs=1)
    np.testing.assert_array_equal(load("part.plait").paths, whole.paths)


def test_models_without_commands_can_be_resumed(runner):
    sequences = Sequences.from_values(np.random.default_rng(0).normal(size=(20, 1)))
    run = plait.sample(plait.MixtureModel(plait.GaussianEmissions(sequences, 2)), n_sweeps=3, n_jobs=1)
    run.save("mixture.plait")
    done = ok(runner, "resume", "mixture.plait", "--sweeps", 5, "-q")
    assert "5 sweeps in" in done.stderr
    summary = json.loads(ok(runner, "resume", "mixture.plait", "--sweeps", 6, "-q", "--json").stdout)
    assert (summary["kind"], summary["sweeps"]) == ("mixture", 6)
    for command in ("states", "topics"):
        fails(invoke(runner, command, "mixture.plait"), "a model of the kind mixture", "plait.load")


# ---------------------------------------------------------------------------------------------------------
# A family for each column
# ---------------------------------------------------------------------------------------------------------


def test_columns_have_families_and_the_fit_is_that_of_the_estimator(runner):
    rng = np.random.default_rng(1)
    state = np.arange(60) // 6 % 2
    steps, angles = rng.gamma(3.0, 1.0 + 4.0 * state), rng.vonmises(0.0, 1.0 + 4.0 * state)
    write("walk.csv", ["who", "angle", "step"], zip("x" * 60, angles, steps, strict=True))
    emissions = "step=gamma,angle=vonmises"
    fit(runner, "walk.csv", emissions, "--method", "blocked", "--seed", "3")
    families = {0: "gamma", 1: "vonmises"}
    options = {"method": "blocked", "random_state": 3, "n_paths": 2, "n_iter": 20}
    mine = plait.HMM(2, families, **options).fit(np.column_stack([steps, angles]))
    assert_same_parameters(load("m.plait"), mine.run_)
    text = ok(runner, "states", "m.plait").stdout
    assert text.splitlines()[0].endswith("step: mean (shape); angle: direction (concentration)")
    assert re.search(r"step:\d+.* \(.*\)  angle:-?\d", text)
    states = json.loads(ok(runner, "states", "m.plait", "--json").stdout)
    assert [part["features"] for part in states[0]["parts"]] == [["step"], ["angle"]]
    decoded = ok(runner, "decode", "m.plait", "walk.csv").stdout.splitlines()
    assert len(decoded) == 61


def test_families_that_do_not_fit_the_options_are_explained(runner):
    for emissions, message in (
        ("wind=gama", "--emissions must be one of 'autoregressive'"),
        ("winds=gamma", "there is no column 'winds'"),
        ("wind=gaussian,wind=gamma", "must name each column once"),
        ("wind=gamma", "gamma numbers must be greater than 0"),
    ):
        done = invoke(runner, "fit", "hmm", "values.csv", "-o", "n.plait", "--emissions", emissions, *FAST)
        fails(done, message)
    more = "--emissions", "wind=gaussian", "--columns", "wind,rain"
    fails(invoke(runner, "fit", "hmm", "values.csv", "-o", "n.plait", *more, *FAST), "must name the columns")
