"""Names of topics and states: checked, kept by runs, their files, checkpoints and copies."""

from __future__ import annotations

import copy
import pickle
import signal
from dataclasses import replace

import numpy as np
import pytest

import plait
from forging import header_of, make_files, rewrite
from plait.errors import PlaitError
from plait.names import MAX_NAME, check_names, hidden_from_json, merged_names, names_from_json
from plait.sampler import Interrupted


@pytest.fixture(scope="module")
def run(small_bands):
    return plait.sample(plait.LdaModel(small_bands.corpus, 4), n_paths=2, n_sweeps=3, n_jobs=1)


class TestChecks:
    def test_names_are_returned_in_the_order_of_their_numbers(self):
        assert list(check_names({np.int64(2): "b", 0: "a"}, 3).items()) == [(0, "a"), (2, "b")]

    @pytest.mark.parametrize(
        ("names", "message"),
        [
            ([], r"names must be a mapping from numbers to names, such as {3: \"taxes\"}, got \[\]"),
            ({3: "x"}, "names must have whole numbers from 0 to 2 as keys, got 3"),
            ({-1: "x"}, "names must have whole numbers from 0 to 2 as keys, got -1"),
            ({"1": "x"}, "names must have whole numbers from 0 to 2 as keys, got '1'"),
            ({True: "x"}, "names must have whole numbers from 0 to 2 as keys, got True"),
            ({1.0: "x"}, "names must have whole numbers from 0 to 2 as keys, got 1.0"),
            ({1: 5}, r"names\[1\] must be a string, got 5: convert it"),
            ({1: None}, r"names\[1\] must be a string, got None"),
            ({1: ""}, r"names\[1\] must not be blank, got ''"),
            ({1: "\n\t"}, r"names\[1\] must not be blank"),
            ({1: "x" * (MAX_NAME + 1)}, rf"names\[1\] must have at most {MAX_NAME} characters, got 1001"),
            ({1: "\ud800"}, r"names\[1\] must not have lone surrogates"),
            ({2: "x", 1: "x"}, r"names\[1\] must differ from the name of 2, got 'x' for both"),
        ],
    )
    def test_what_is_no_name_is_refused_with_the_place(self, names, message):
        with pytest.raises(PlaitError, match=rf"\A{message}[^\n]*\Z") as caught:
            check_names(names, 3)
        assert caught.value.argument == "names"

    def test_none_removes_a_name(self):
        assert merged_names({0: "a", 1: "b"}, {1: None, 2: "c"}, 3) == {0: "a", 2: "c"}
        with pytest.raises(PlaitError, match="from 0 to 2 as keys, got 3"):
            merged_names({}, {3: None}, 3)

    def test_names_that_a_report_saved_are_read_as_well(self):
        saved = {"names": {"2": "b", "0": None}, "hidden": [1]}
        assert names_from_json(saved) == {2: "b", 0: None}
        assert hidden_from_json(saved, 3) == (1,)
        assert hidden_from_json({"2": "b"}, 3) == ()

    @pytest.mark.parametrize("key", ["", "x", "-1", "01", "1.0", " 1", "1\n", "٣", "9" * 5000])
    def test_a_key_of_json_is_a_plain_number(self, key):
        assert names_from_json({"10": "x"}) == {10: "x"}
        with pytest.raises(
            PlaitError, match=r"\Anames must have whole numbers in quotes as keys, got '[^\n]*\Z"
        ):
            names_from_json({key: "x"})


class TestRuns:
    def test_a_run_has_no_names_by_default(self, run):
        assert dict(run.names) == {}

    def test_naming_adds_to_the_names_and_leaves_the_run_as_it_is(self, run):
        named = run.named({3: "taxes"}).named({0: "war", 3: "taxes and trade"})
        assert dict(named.names) == {0: "war", 3: "taxes and trade"}
        assert dict(named.named({0: None}).names) == {3: "taxes and trade"}
        assert dict(run.names) == {}
        assert named.paths is run.paths or np.array_equal(named.paths, run.paths)
        with pytest.raises(PlaitError, match="from 0 to 3 as keys, got 4"):
            run.named({4: "x"})

    def test_names_cannot_be_changed_in_place(self, run):
        with pytest.raises(TypeError):
            run.named({3: "taxes"}).names[3] = "x"

    @pytest.mark.parametrize(
        "copied", [lambda run: pickle.loads(pickle.dumps(run)), copy.copy, copy.deepcopy, replace]
    )
    def test_copies_keep_everything(self, run, copied):
        again = copied(run.named({3: "taxes"}))
        assert dict(again.names) == {3: "taxes"}
        assert np.array_equal(again.paths, run.paths)
        assert not again.paths.flags.writeable
        assert (again.settings, again.sweep, again.version) == (run.settings, run.sweep, run.version)

    def test_a_run_can_start_with_names(self, small_bands):
        model = plait.LdaModel(small_bands.corpus, 4)
        run = plait.sample(model, n_paths=1, n_sweeps=1, n_jobs=1, names={1: "war"})
        assert dict(run.names) == {1: "war"}
        with pytest.raises(PlaitError, match="from 0 to 3 as keys, got 4"):
            plait.sample(model, n_sweeps=1, names={4: "war"})


class TestFiles:
    def test_a_file_keeps_names_exactly(self, run, tmp_path):
        names = {0: "=1+1\n\x1b[31m", 2: "día 語"}
        run.named(names).save(tmp_path / "x")
        assert dict(plait.load(tmp_path / "x").names) == names

    def test_a_file_of_an_older_version_has_no_names(self, run, tmp_path):
        run.named({3: "taxes"}).save(tmp_path / "x")
        rewrite(tmp_path / "x", lambda header: header.pop("names"))
        assert dict(plait.load(tmp_path / "x").names) == {}

    def test_checkpoints_and_resumed_runs_keep_names(self, small_bands, tmp_path):
        def stop(progress):
            return progress.state.sweep == 2

        model, place = plait.LdaModel(small_bands.corpus, 4), tmp_path / "x"
        options = {"n_paths": 2, "n_sweeps": 6, "n_jobs": 1}
        plait.sample(model, **options, checkpoint=place, callback=stop, names={1: "war"})
        assert dict(plait.load(place).names) == {1: "war"}
        run = plait.resume(place, n_jobs=1)
        assert dict(run.names) == dict(plait.load(place).names) == {1: "war"}
        assert np.array_equal(run.paths, plait.sample(model, **options).paths)

    def test_an_interrupted_run_keeps_names(self, small_bands):
        def interrupt(progress):
            signal.raise_signal(signal.SIGINT)

        with pytest.raises(Interrupted) as caught:
            plait.sample(
                plait.LdaModel(small_bands.corpus, 4),
                n_sweeps=3,
                n_jobs=1,
                callback=interrupt,
                names={1: "war"},
            )
        assert dict(caught.value.run.names) == {1: "war"}

    def test_the_best_of_several_restarts_keeps_its_own_names(self, tmp_path):
        path = make_files(tmp_path)["hmm, poisson, unfinished"]
        run = plait.load(path)
        best = run.fit.best.named({0: "calm"})
        replace(run.named({1: "storm"}), fit=replace(run.fit, best=best)).save(path)
        again = plait.load(path)
        assert (dict(again.names), dict(again.best.names)) == ({1: "storm"}, {0: "calm"})

    @pytest.mark.parametrize(
        ("names", "message"),
        [
            (["taxes"], "names must be an object"),
            (None, "names must be an object"),
            ({"x": "taxes"}, "whole numbers in quotes as keys, got 'x'"),
            ({"4": "taxes"}, "whole numbers from 0 to 3 as keys, got 4"),
            ({"3": 7}, r"names\[3\] must be a string, got 7"),
            ({"3": "x" * 1001}, "at most 1000 characters"),
            ({"3": "\ud800"}, "lone surrogates"),
            ({"2": "x", "3": "x"}, "must differ"),
        ],
    )
    def test_forged_names_are_refused_with_the_file(self, run, names, message, tmp_path):
        path = tmp_path / "x"
        run.save(path)
        rewrite(path, lambda header: header.update(names=names))
        assert header_of(path)["names"] == names
        with pytest.raises(PlaitError, match=rf"\A{path} is damaged: [^\n]*{message}[^\n]*\Z"):
            plait.load(path)
