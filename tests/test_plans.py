"""Plans and stages: plain data, checked where they are built."""

from __future__ import annotations

import numpy as np
import pytest

from plait.errors import PlaitError
from plait.plans import MAX_STAGES, Plan, Settings, Stage


def sweeps_of(plan):
    return [stage.sweeps for stage in plan.stages]


class TestStage:
    def test_number_of_paths_grows_in_equal_steps(self):
        stage = Stage(n_paths=(1, 4), sweeps=8)
        assert [stage.paths_in(sweep) for sweep in range(1, 9)] == [1, 1, 2, 2, 3, 3, 4, 4]

    def test_number_of_paths_shrinks_in_equal_steps(self):
        stage = Stage(n_paths=(3, 1), sweeps=6)
        assert [stage.paths_in(sweep) for sweep in range(1, 7)] == [3, 3, 2, 2, 1, 1]

    def test_short_stage_skips_numbers_but_stays_within_them(self):
        numbers = [Stage(n_paths=(1, 9), sweeps=3).paths_in(sweep) for sweep in (1, 2, 3)]
        assert numbers == sorted(numbers)
        assert numbers[0] >= 1
        assert numbers[-1] <= 9

    def test_pair_of_equal_numbers_is_one_number(self):
        assert Stage(n_paths=(5, 5)).n_paths == 5

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (
                {"sampler": "gibbs"},
                "sampler must be one of 'partially-collapsed', 'collapsed', 'partitioned', got 'gibbs'",
            ),
            ({"n_paths": 0}, "n_paths must be a whole number of at least 1, got 0"),
            ({"n_paths": (1, 0)}, "n_paths must be a whole number of at least 1, got 0"),
            ({"n_paths": (1, 2, 3)}, "n_paths must be a number or a pair (first, last), got (1, 2, 3)"),
            ({"sweeps": 0}, "sweeps must be a whole number of at least 1, got 0"),
            ({"average": 1}, "average must be True or False, got 1"),
            ({"learn_priors": None}, "learn_priors must be True or False, got None"),
        ],
    )
    def test_impossible_stages_are_refused(self, arguments, message):
        with pytest.raises(PlaitError) as caught:
            Stage(**arguments)
        assert str(caught.value) == message

    def test_description_names_what_the_stage_does(self):
        stage = Stage("collapsed", (1, 5), 10, learn_priors=True, average=True)
        assert stage.describe() == "collapsed, 1 to 5 paths, learning priors, averaging"


class TestPlan:
    PLAN = Plan([Stage(sweeps=60), Stage("collapsed", (1, 3), 30), Stage(sweeps=10)])

    def test_scaled_plan_keeps_the_shares_of_its_stages(self):
        assert sweeps_of(self.PLAN.lasting(1000)) == [600, 300, 100]

    @pytest.mark.parametrize("n_sweeps", [3, 4, 5, 7, 11, 99, 101])
    def test_scaled_plan_has_exactly_the_sweeps_asked_for(self, n_sweeps):
        sweeps = sweeps_of(self.PLAN.lasting(n_sweeps))
        assert sum(sweeps) == n_sweeps
        assert min(sweeps) >= 1

    def test_fewer_sweeps_than_stages_leave_out_the_first_stages(self):
        plan = self.PLAN.lasting(2)
        assert sweeps_of(plan) == [1, 1]
        assert plan.stages[0].sampler == "collapsed"

    def test_no_sweep_is_refused(self):
        with pytest.raises(PlaitError, match="n_sweeps must be a whole number of at least 1, got 0"):
            self.PLAN.lasting(0)

    def test_plan_without_growth_makes_the_same_sweeps(self):
        flat = self.PLAN.without_growth()
        assert all(isinstance(stage.n_paths, int) for stage in flat.stages)

        def numbers(plan):
            settings = Settings.of_plan(plan, seed=0, thin=1)
            return [settings.paths_after(sweep) for sweep in range(1, plan.n_sweeps + 1)]

        assert numbers(flat) == numbers(self.PLAN)

    def test_share_of_time_counts_paths(self):
        plan = Plan(
            [Stage(n_paths=1, sweeps=100), Stage(n_paths=5, sweeps=20), Stage(n_paths=(1, 3), sweeps=50)]
        )
        np.testing.assert_allclose(plan.shares(), [1 / 3, 1 / 3, 1 / 3])

    @pytest.mark.parametrize("stages", [[], None, "abc", [1], {"sweeps": 3}, [Stage()] * (MAX_STAGES + 1)])
    def test_what_is_not_a_list_of_stages_is_refused(self, stages):
        with pytest.raises(PlaitError, match=r"^stages must be a list"):
            Plan(stages)


class TestSettings:
    def test_simple_settings_are_one_stage(self):
        settings = Settings(n_paths=3, n_sweeps=7, seed=0, collapsed=True, thin=1)
        assert settings.stages == (Stage("collapsed", 3, 7),)

    def test_em_alone_has_no_stage(self):
        settings = Settings(n_paths=0, n_sweeps=7, seed=0, collapsed=False, thin=1)
        assert settings.stages == ()
        assert settings.paths_after(0) == settings.most_paths == 0

    @pytest.mark.parametrize("wrong", [{"n_paths": 2}, {"n_sweeps": 11}, {"collapsed": True}])
    def test_numbers_that_do_not_fit_the_stages_are_refused(self, wrong):
        right = {"n_paths": 1, "n_sweeps": 10, "collapsed": False}
        with pytest.raises(PlaitError, match="do not fit the stages"):
            Settings(**(right | wrong), seed=0, thin=1, stages=(Stage(n_paths=1, sweeps=10),))

    def test_place_of_a_sweep_is_its_stage_and_its_number_there(self):
        settings = Settings.of_plan(TestPlan.PLAN, seed=0, thin=1)
        assert [settings.place_of(sweep) for sweep in (1, 60, 61, 90, 91, 100)] == [
            (0, 1),
            (0, 60),
            (1, 1),
            (1, 30),
            (2, 1),
            (2, 10),
        ]

    def test_longer_run_lengthens_the_last_stage(self):
        settings = Settings.of_plan(TestPlan.PLAN, seed=0, thin=1).lasting(150)
        assert [stage.sweeps for stage in settings.stages] == [60, 30, 60]

    def test_shorter_run_is_cut_off(self):
        settings = Settings.of_plan(TestPlan.PLAN, seed=0, thin=1).lasting(70)
        assert [stage.sweeps for stage in settings.stages] == [60, 10]
        assert settings.n_sweeps == 70
