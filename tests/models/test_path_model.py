"""Your own models: what they get for free, and how mistakes are reported."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from coins import Coins

import plait
from plait.errors import NotSupported, PlaitError
from plait.models.path_model import PathModel, leaves
from plait.models.sweeps import State, SweepSettings, step
from plait.rng import generator
from plait.threads import Threads

HEADS = np.array([0, 3, 3, 1, 0, 2])


def sample(model, **options):
    return plait.sample(model, **{"n_paths": 3, "n_sweeps": 6, "n_jobs": 1} | options)


@pytest.mark.parametrize("collapsed", [False, True])
class TestForFree:
    def test_any_number_of_threads_gives_the_same_bits(self, collapsed):
        runs = [sample(Coins(HEADS), n_jobs=n, collapsed=collapsed) for n in (1, 2, 3)]
        for run in runs[1:]:
            np.testing.assert_array_equal(run.paths, runs[0].paths)
            np.testing.assert_array_equal(run.trace.log_joint, runs[0].trace.log_joint)

    def test_resumed_run_has_the_bits_of_an_uninterrupted_one(self, collapsed, tmp_path):
        path = tmp_path / "coins.plait"
        whole = sample(Coins(HEADS), collapsed=collapsed)
        sample(Coins(HEADS), collapsed=collapsed, checkpoint=path, callback=lambda now: now.state.sweep == 2)
        assert plait.load(path, Coins).sweep == 2
        resumed = plait.resume(path, model_class=Coins)
        np.testing.assert_array_equal(resumed.paths, whole.paths)
        loaded = plait.load(path, Coins)
        assert loaded.finished
        assert (loaded.model.tosses, loaded.model.heads.tolist()) == (3, HEADS.tolist())

    def test_seeds_and_paths_draw_different_numbers(self, collapsed):
        heads = np.tile(HEADS, 20)
        one, other = (sample(Coins(heads), collapsed=collapsed, seed=seed).paths for seed in (1, 2))
        assert (one != other).any()
        assert (one[0] != one[1]).any()


def test_loading_a_file_without_the_class_names_its_kind(tmp_path):
    sample(Coins(HEADS), checkpoint=tmp_path / "x")
    with pytest.raises(PlaitError, match="kind 'coins', which plait does not ship: give its class"):
        plait.resume(tmp_path / "x", n_sweeps=9)


class TestMistakes:
    @pytest.mark.parametrize("method", ["statistics", "draw", "update", "log_density"])
    def test_missing_methods_are_named(self, method):
        class Lacking(Coins):
            pass

        setattr(Lacking, method, getattr(PathModel, method))
        with pytest.raises(NotSupported, match=f"Lacking has no method {method}: add one"):
            sample(Lacking(HEADS))

    def test_the_collapsed_sampler_is_optional(self):
        class Plain(Coins):
            update_collapsed = PathModel.update_collapsed

        sample(Plain(HEADS))
        with pytest.raises(NotSupported, match="Plain has no method update_collapsed"):
            sample(Plain(HEADS), collapsed=True)

    @pytest.mark.parametrize("method", ["first_path", "update", "update_collapsed"])
    @pytest.mark.parametrize("state", [-1, 2])
    def test_states_out_of_range_are_reported(self, method, state):
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
        with pytest.raises(
            PlaitError, match=rf"{method}\(\) of Wrong must make states .*, got {state} at site 4"
        ):
            sample(Wrong(HEADS), collapsed=method == "update_collapsed")

    @pytest.mark.parametrize(
        ("path", "got"),
        [(np.zeros(5, int), r"int64 of shape \(5,\)"), (np.zeros(6), r"float64 of shape \(6,\)")],
    )
    def test_paths_of_wrong_shape_or_type_are_reported(self, path, got):
        class Wrong(Coins):
            def update(self, *_):
                return path

        with pytest.raises(
            PlaitError, match=rf"update\(\) of Wrong must make a path of integers.*, got {got}"
        ):
            sample(Wrong(HEADS))

    def test_update_may_return_a_new_path(self):
        class Returning(Coins):
            def update(self, path, parameters, rng):
                path = path.copy()
                super().update(path, parameters, rng)
                return path

        np.testing.assert_array_equal(sample(Returning(HEADS)).paths, sample(Coins(HEADS)).paths)

    def test_infinite_parameters_are_reported(self):
        class Wrong(Coins):
            def draw(self, statistics, rng):
                return {"shares": np.ones(2), "chances": np.array([0.5, np.nan])}

        with pytest.raises(
            PlaitError, match=r"draw\(\) of Wrong in sweep 1\['chances'\]\[1\] must be .*, got nan"
        ):
            sample(Wrong(HEADS))

    @pytest.mark.parametrize(
        ("make", "message"),
        [
            (
                lambda path: np.zeros(2 + path[0]),
                r"statistics\(\) must have .* shape .*, got \(2,\) for path 0 and \(3,\)",
            ),
            (
                lambda path: {"a" * (1 + path[0]): 1},
                r"statistics\(\) must have .* keys .*, got \['a'\] for path 0",
            ),
            (
                lambda path: (1,) * (1 + path[0]),
                r"statistics\(\) must have as many parts .*, got 1 for path 0",
            ),
            (
                lambda path: {"n": (1, [2] * (1 + path[0]))},
                r"statistics\(\)\['n'\]\[1\] must have as many parts .*, got 1",
            ),
        ],
    )
    def test_statistics_that_differ_in_structure_are_reported(self, make, message):
        class Wrong(Coins):
            def statistics(self, path):
                return make(path)

        with pytest.raises(PlaitError, match=message):
            Wrong(HEADS).count(np.array([[0] * 6, [1] * 6]), Threads(1))

    @pytest.mark.parametrize("name", ["n_sites", "n_states"])
    def test_numbers_of_sites_and_states_are_checked(self, name):
        class Wrong(Coins):
            pass

        setattr(Wrong, name, property(lambda self: 0, lambda self, value: None))
        with pytest.raises(PlaitError, match=f"{name} of Wrong must be a whole number .*, got 0"):
            Wrong(HEADS).initial_paths(1, 0, Threads(1))

    def test_fields_that_cannot_be_saved_are_named(self, tmp_path):
        @dataclass(frozen=True, eq=False)
        class Odd(Coins):
            extra: object = field(default_factory=set)

        with pytest.raises(PlaitError, match=r"Odd\.extra must be an array, .* to be saved, got set\(\)"):
            sample(Odd(HEADS), checkpoint=tmp_path / "x")

    def test_models_that_are_not_dataclasses_cannot_be_saved(self, tmp_path):
        class Bare(PathModel):
            n_sites, n_states = 1, 2

        with pytest.raises(PlaitError, match="Bare cannot be saved: make it a dataclass"):
            Bare().to_arrays()


def test_nested_statistics_are_summed():
    class Nested(Coins):
        def statistics(self, path):
            return {"a": int(path.sum()), "b": (path.astype(float), [1.5])}

    counts = Nested(HEADS).count(np.array([[0, 1, 1, 0, 0, 0], [1, 1, 1, 1, 1, 0]]), Threads(2))
    assert counts["a"] == 7
    assert counts["b"][0].tolist() == [1, 2, 2, 1, 1, 0]
    assert counts["b"][1] == (3.0,)


def test_summing_statistics_does_not_change_arrays_of_the_model():
    class Keeping(Coins):
        kept = np.zeros(2)

        def statistics(self, path):
            return self.kept

    counts = Keeping(HEADS).count(np.zeros((1, 6), int), Threads(1))
    counts += 1
    assert Keeping.kept.tolist() == [0, 0]


def test_leaves_names_nested_arrays():
    @dataclass
    class Pair:
        left: float
        right: object

    names = [name for name, _ in leaves({"x": [1, np.ones(2)], "y": Pair(0.5, {"z": True})}, "v")]
    assert names == ["v['x'][0]", "v['x'][1]", "v['y'].left", "v['y'].right['z']"]
    assert leaves({"x": "text"}) == []


def test_every_part_of_a_key_changes_the_generator():
    first = generator(1, 2, 3, 4).random(3)
    np.testing.assert_array_equal(generator(1, 2, 3, 4).random(3), first)
    for key in ((0, 2, 3, 4), (1, 0, 3, 4), (1, 2, 0, 4), (1, 2, 3, 0)):
        assert (generator(*key).random(3) != first).all()


def test_a_sweep_takes_states_of_any_integer_type_that_are_in_range():
    model = Coins(np.array([0, 1, 3]))
    with Threads(1) as threads:
        for dtype in (np.uint8, np.int64, np.uint32):
            state = State(0, np.zeros((2, 3), dtype))
            assert step(model, state, SweepSettings(0), threads).paths.dtype == dtype
        for wrong in (2, -1):
            with pytest.raises(PlaitError, match=rf"paths\[0\]\[0\] must be from 0 to 1, got {wrong}"):
                step(model, State(0, np.full((2, 3), wrong)), SweepSettings(0), threads)
