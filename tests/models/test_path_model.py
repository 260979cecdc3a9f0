"""Models of one's own: what comes for free, and how mistakes are named."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from coins import Coins

import plait
from plait.errors import NotSupported, PlaitError
from plait.models.path_model import PathModel, leaves
from plait.rng import generator
from plait.threads import Threads

HEADS = np.array([0, 3, 3, 1, 0, 2])


def sample(model, **options):
    return plait.sample(model, **{"n_paths": 3, "n_sweeps": 6, "n_jobs": 1} | options)


@pytest.mark.parametrize("collapsed", [False, True])
class TestForFree:
    def test_the_number_of_threads_does_not_matter(self, collapsed):
        runs = [sample(Coins(HEADS), n_jobs=n, collapsed=collapsed) for n in (1, 2, 3)]
        for run in runs[1:]:
            np.testing.assert_array_equal(run.paths, runs[0].paths)
            np.testing.assert_array_equal(run.trace.log_joint, runs[0].trace.log_joint)

    def test_save_load_and_resume(self, collapsed, tmp_path):
        path = tmp_path / "coins.plait"
        whole = sample(Coins(HEADS), collapsed=collapsed)
        sample(Coins(HEADS), collapsed=collapsed, checkpoint=path, callback=lambda now: now.state.sweep == 2)
        assert plait.load(path, Coins).sweep == 2
        resumed = plait.resume(path, model_class=Coins)
        np.testing.assert_array_equal(resumed.paths, whole.paths)
        loaded = plait.load(path, Coins)
        assert loaded.finished
        assert (loaded.model.tosses, loaded.model.heads.tolist()) == (3, HEADS.tolist())

    def test_seeds_and_paths_differ(self, collapsed):
        heads = np.tile(HEADS, 20)
        one, other = (sample(Coins(heads), collapsed=collapsed, seed=seed).paths for seed in (1, 2))
        assert (one != other).any()
        assert (one[0] != one[1]).any()


def test_a_file_names_the_kind_that_needs_a_class(tmp_path):
    sample(Coins(HEADS), checkpoint=tmp_path / "x")
    with pytest.raises(PlaitError, match="kind 'coins', which plait does not ship: give its class"):
        plait.resume(tmp_path / "x", n_sweeps=9)


class TestMistakes:
    @pytest.mark.parametrize("method", ["statistics", "draw", "update", "log_density"])
    def test_what_is_missing_is_named(self, method):
        class Lacking(Coins):
            pass

        setattr(Lacking, method, getattr(PathModel, method))
        with pytest.raises(NotSupported, match=f"Lacking has no method {method}: write one"):
            sample(Lacking(HEADS))

    def test_without_a_collapsed_sampler(self):
        class Plain(Coins):
            update_collapsed = PathModel.update_collapsed

        sample(Plain(HEADS))
        with pytest.raises(NotSupported, match="Plain has no method update_collapsed"):
            sample(Plain(HEADS), collapsed=True)

    @pytest.mark.parametrize("method", ["first_path", "update", "update_collapsed"])
    @pytest.mark.parametrize("state", [-1, 2])
    def test_a_state_that_does_not_exist(self, method, state):
        class Wrong(Coins):
            def spoil(self, path, *_):
                path[4] = state

            def first_path(self, rng):
                path = np.zeros(self.n_sites, int)
                if method == "first_path":
                    path[4] = state
                return path

        if method != "first_path":
            setattr(Wrong, method, Wrong.spoil)
        with pytest.raises(PlaitError, match=rf"{method}\(\) of Wrong puts site 4 into state {state}:"):
            sample(Wrong(HEADS), collapsed=method == "update_collapsed")

    @pytest.mark.parametrize(
        ("path", "shape"), [(np.zeros(5, int), r"\(5,\) and int64"), (np.zeros(6), r"\(6,\) and float64")]
    )
    def test_something_that_is_no_path(self, path, shape):
        class Wrong(Coins):
            def update(self, *_):
                return path

        with pytest.raises(PlaitError, match=rf"update\(\) of Wrong makes a path of shape {shape}"):
            sample(Wrong(HEADS))

    def test_a_new_path_may_be_returned(self):
        class Returning(Coins):
            def update(self, path, parameters, rng):
                path = path.copy()
                super().update(path, parameters, rng)
                return path

        np.testing.assert_array_equal(sample(Returning(HEADS)).paths, sample(Coins(HEADS)).paths)

    def test_parameters_that_are_not_finite(self):
        class Wrong(Coins):
            def draw(self, statistics, rng):
                return {"shares": np.ones(2), "chances": np.array([0.5, np.nan])}

        with pytest.raises(PlaitError, match=r"draw\(\) of Wrong in sweep 1\['chances'\]\[1\] is nan"):
            sample(Wrong(HEADS))

    @pytest.mark.parametrize(
        ("make", "message"),
        [
            (lambda path: np.zeros(2 + path[0]), r"statistics\(\) has shape \(2,\) for path 0 and \(3,\)"),
            (lambda path: {"a" * (1 + path[0]): 1}, r"statistics\(\) has the keys \['a'\] for path 0"),
            (lambda path: (1,) * (1 + path[0]), r"statistics\(\) has 1 parts for path 0"),
            (lambda path: {"n": (1, [2] * (1 + path[0]))}, r"statistics\(\)\['n'\]\[1\] has 1 parts"),
        ],
    )
    def test_statistics_of_another_form(self, make, message):
        class Wrong(Coins):
            def statistics(self, path):
                return make(path)

        with pytest.raises(PlaitError, match=message):
            Wrong(HEADS).count(np.array([[0] * 6, [1] * 6]), Threads(1))

    @pytest.mark.parametrize("name", ["n_sites", "n_states"])
    def test_sizes(self, name):
        class Wrong(Coins):
            pass

        setattr(Wrong, name, property(lambda self: 0, lambda self, value: None))
        with pytest.raises(PlaitError, match=f"{name} of Wrong is 0"):
            Wrong(HEADS).initial_paths(1, 0, Threads(1))

    def test_fields_that_no_file_can_hold(self, tmp_path):
        @dataclass(frozen=True, eq=False)
        class Odd(Coins):
            extra: object = field(default_factory=set)

        with pytest.raises(PlaitError, match=r"Odd\.extra is set\(\), which cannot be kept in a file"):
            sample(Odd(HEADS), checkpoint=tmp_path / "x")

    def test_no_dataclass(self, tmp_path):
        class Bare(PathModel):
            n_sites, n_states = 1, 2

        with pytest.raises(PlaitError, match="Bare cannot be kept in a file: make it a dataclass"):
            Bare().to_arrays()


def test_statistics_are_added_in_every_form():
    class Nested(Coins):
        def statistics(self, path):
            return {"a": int(path.sum()), "b": (path.astype(float), [1.5])}

    counts = Nested(HEADS).count(np.array([[0, 1, 1, 0, 0, 0], [1, 1, 1, 1, 1, 0]]), Threads(2))
    assert counts["a"] == 7
    assert counts["b"][0].tolist() == [1, 2, 2, 1, 1, 0]
    assert counts["b"][1] == (3.0,)


def test_the_paths_of_statistics_are_not_those_of_the_model():
    class Keeping(Coins):
        kept = np.zeros(2)

        def statistics(self, path):
            return self.kept

    counts = Keeping(HEADS).count(np.zeros((1, 6), int), Threads(1))
    counts += 1
    assert Keeping.kept.tolist() == [0, 0]


def test_leaves():
    @dataclass
    class Pair:
        left: float
        right: object

    names = [name for name, _ in leaves({"x": [1, np.ones(2)], "y": Pair(0.5, {"z": True})}, "v")]
    assert names == ["v['x'][0]", "v['x'][1]", "v['y'].left", "v['y'].right['z']"]
    assert leaves({"x": "text"}) == []


def test_generators_are_named_by_their_keys():
    first = generator(1, 2, 3, 4).random(3)
    np.testing.assert_array_equal(generator(1, 2, 3, 4).random(3), first)
    for key in ((0, 2, 3, 4), (1, 0, 3, 4), (1, 2, 0, 4), (1, 2, 3, 0)):
        assert (generator(*key).random(3) != first).all()
