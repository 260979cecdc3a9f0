"""The best of several fits, what late sweeps add up to, and new numbers for states."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import plait
from plait.fitting.collect import call_all, collect_after
from plait.fitting.plan import Fit, Plan, Start
from plait.fitting.restarts import best_of, best_start, renumbered
from plait.models.lda import LdaModel


def fit(name, score, interrupted=None):
    return Fit(run=name, score=score, interrupted=interrupted)


class TestBestOf:
    def test_the_highest_score_wins(self):
        best = best_of(fit(name, score) for name, score in (("a", -3.0), ("b", -1.0), ("c", -2.0)))
        assert (best.run, best.score, best.interrupted) == ("b", -1.0, None)

    def test_of_equal_scores_the_first_wins(self):
        assert best_of(fit(name, -1.0) for name in "abc").run == "a"

    def test_a_fit_without_likelihood_is_kept_if_there_is_no_other(self):
        assert best_of([fit("a", -np.inf)]).run == "a"
        assert best_of([fit("a", -np.inf), fit("b", -1e9)]).run == "b"

    @pytest.mark.parametrize(("second", "best"), [(-2.0, "a"), (0.0, "b")])
    def test_an_interrupted_fit_ends_the_search_and_may_still_be_the_best(self, second, best):
        stop = KeyboardInterrupt()

        def fits():
            yield fit("a", -1.0)
            yield fit("b", second, stop)
            pytest.fail("a fit after Ctrl-C")

        found = best_of(fits())
        assert found.run == best
        assert found.interrupted is stop

    def test_ctrl_c_between_two_fits_keeps_the_best_so_far(self):
        stop = KeyboardInterrupt()

        def fits():
            yield fit("a", -1.0)
            yield fit("b", -2.0)
            raise stop

        found = best_of(fits())
        assert found.run == "a"
        assert found.interrupted is stop

    def test_ctrl_c_before_any_fit_is_raised(self):
        def fits():
            raise KeyboardInterrupt
            yield

        with pytest.raises(KeyboardInterrupt):
            best_of(fits())

    def test_other_errors_are_raised(self):
        def fits():
            yield fit("a", -1.0)
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            best_of(fits())


def test_the_best_start_is_that_of_the_best_short_run(small_bands):
    model = LdaModel(small_bands.corpus, 3)
    plan = Plan(n_paths=2, n_sweeps=3)
    starts = [Start(model, seed) for seed in (5, 6, 7)]
    ends = [
        plait.sample(model, n_paths=2, n_sweeps=3, seed=seed, n_jobs=1).trace.log_joint[-1].mean()
        for seed in (5, 6, 7)
    ]
    sweeps = []
    best = best_start(starts, plan, n_jobs=1, callback=lambda now: sweeps.append(now.state.sweep))
    assert best is starts[int(np.argmax(ends))]
    assert sweeps == [1, 2, 3] * 3


def test_states_get_the_numbers_of_their_places_in_the_order():
    paths = np.array([[0, 1, 2, 2], [1, 1, 0, 2]], np.uint16)
    again = renumbered(paths, np.array([2, 0, 1]))
    assert again.dtype == np.uint16
    assert again.tolist() == [[1, 2, 0, 0], [2, 2, 1, 0]]


def at(sweep):
    return SimpleNamespace(state=SimpleNamespace(sweep=sweep, paths=f"paths {sweep}"))


class TestCollecting:
    def test_paths_of_later_sweeps_are_added(self):
        added = []
        collect = collect_after(2, added.append)
        assert not any(collect(at(sweep)) for sweep in range(5))
        assert added == ["paths 3", "paths 4"]

    def test_all_callbacks_are_called_and_any_can_end_the_run(self):
        calls = []

        def recording(name, result):
            return lambda progress: calls.append((name, progress)) or result

        first, second = recording("a", True), recording("b", None)
        assert call_all(first, None, second)("now") is True
        assert calls == [("a", "now"), ("b", "now")]  # the one after the end is called, too
        assert call_all(second)("now") is False
        assert call_all(None)("now") is False
