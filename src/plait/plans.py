"""Plans: the stages of a run, as data; and the settings of a run, of which they are part.

The number of paths m is a dial. With one path, phi is drawn from its posterior: right for learning priors,
for averages over sweeps, and for intervals. With several, it is drawn from P(phi) P(w | phi)^m, which
concentrates on the optimum. A plan turns the dial during a run:

    Plan([
        Stage("partitioned", n_paths=1, sweeps=300, learn_priors=True),
        Stage("partially-collapsed", n_paths=(1, 5), sweeps=100),
        Stage("collapsed", n_paths=1, sweeps=100, average=True),
    ])

A plan is part of the settings of a run: it is stored with the run, and a run that is stopped in any stage
resumes with the same bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from plait.checks import check_choice, check_flag, check_integer, check_number, short_repr
from plait.errors import Argument, NotSupported, PlaitError

SAMPLERS: Final = ("partially-collapsed", "collapsed", "partitioned")
"""Algorithm 1; Algorithm 2; and Algorithm 2 on several ranges of the data side by side (approximate)."""

MAX_PATHS: Final = 2**20
"""Maximum number of paths of a run; more is a mistake."""

MAX_SWEEPS: Final = 2**53
"""Maximum number of sweeps of a run, and of iterations of EM: far below the reserved keys of `plait.rng`."""

MAX_STAGES: Final = 1000

MAX_SEED: Final = 2**63 - 1


@dataclass(frozen=True)
class Stage:
    """A number of sweeps that are made in the same way.

    Attributes
    ----------
    sampler : {"partially-collapsed", "collapsed", "partitioned"}
        Algorithm 1; Algorithm 2; or Algorithm 2 on several ranges of the data side by side, which uses all
        cores and is approximate.
    n_paths : int or (int, int)
        Number of paths m, or its first and last value if it grows (or shrinks) during the stage.
    sweeps : int
        Number of sweeps.
    learn_priors : bool
        Whether the priors are learnt, every few sweeps. Learn with one path: with several, alpha tends to
        zero.
    average : bool
        Whether the sweeps are averaged. The averages are the run's point estimate.
    """

    sampler: str = "partially-collapsed"
    n_paths: int | tuple[int, int] = 1
    sweeps: int = 100
    learn_priors: bool = False
    average: bool = False

    def __post_init__(self) -> None:
        checked = {
            "sampler": check_choice("sampler", self.sampler, SAMPLERS),
            "n_paths": _check_path_numbers(self.n_paths),
            "sweeps": check_integer("sweeps", self.sweeps, least=1, limit=MAX_SWEEPS),
            "learn_priors": check_flag("learn_priors", self.learn_priors),
            "average": check_flag("average", self.average),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @property
    def collapsed(self) -> bool:
        """Whether phi is integrated out: Algorithm 2."""
        return self.sampler != "partially-collapsed"

    @property
    def partitioned(self) -> bool:
        """Whether Algorithm 2 works on several ranges of the data side by side."""
        return self.sampler == "partitioned"

    @property
    def most_paths(self) -> int:
        """Largest number of paths."""
        return self.n_paths if isinstance(self.n_paths, int) else max(self.n_paths)

    def paths_in(self, sweep: int) -> int:
        """Return the number of paths in a sweep of the stage, counted from 1."""
        if isinstance(self.n_paths, int):
            return self.n_paths
        first, last = self.n_paths
        steps = (sweep - 1) * (abs(last - first) + 1) // self.sweeps
        return first + steps if last >= first else first - steps

    def describe(self) -> str:
        """Return the stage in a few words, for messages."""
        if isinstance(self.n_paths, int):
            paths = "1 path" if self.n_paths == 1 else f"{self.n_paths} paths"
        else:
            paths = f"{self.n_paths[0]} to {self.n_paths[1]} paths"
        extras = [what for what in ("learn_priors", "average") if getattr(self, what)]
        names = {"learn_priors": "learning priors", "average": "averaging"}
        return ", ".join([self.sampler, paths, *(names[what] for what in extras)])


@dataclass(frozen=True)
class Plan:
    """The stages of a run, one after another.

    Parameters
    ----------
    stages : sequence of Stage
        At least one.
    """

    stages: tuple[Stage, ...]

    def __init__(self, stages: Iterable[Stage]) -> None:
        object.__setattr__(self, "stages", check_stages(stages))

    @property
    def n_sweeps(self) -> int:
        """Total number of sweeps."""
        return sum(stage.sweeps for stage in self.stages)

    def lasting(self, n_sweeps: int) -> Plan:
        """Return the plan with `n_sweeps` sweeps in all.

        The stages keep their shares of the sweeps, and have at least one each. If there are fewer sweeps than
        stages, the first stages are left out.
        """
        n_sweeps = check_integer("n_sweeps", n_sweeps, least=1, limit=MAX_SWEEPS)
        kept = self.stages[-n_sweeps:]
        stages, left, sweeps = [], n_sweeps, sum(stage.sweeps for stage in kept)
        for k, stage in enumerate(kept):
            after = len(kept) - 1 - k
            own = min(max(1, round(left * stage.sweeps / sweeps)), left - after)
            stages.append(replace(stage, sweeps=own))
            left, sweeps = left - own, sweeps - stage.sweeps
        return Plan(stages)

    def without_growth(self) -> Plan:
        """Return the same plan with a stage of its own for each number of paths."""
        stages: list[Stage] = []
        for stage in self.stages:
            if isinstance(stage.n_paths, int):
                stages.append(stage)
                continue
            numbers = [stage.paths_in(sweep) for sweep in range(1, stage.sweeps + 1)]
            for n_paths in sorted(set(numbers), reverse=numbers[0] > numbers[-1]):
                stages.append(replace(stage, n_paths=n_paths, sweeps=numbers.count(n_paths)))
        return Plan(stages)

    def shares(self) -> list[float]:
        """Return the share of the time that each stage takes, if all sweeps cost the same per path."""
        costs = []
        for stage in self.stages:
            first, last = (stage.n_paths,) * 2 if isinstance(stage.n_paths, int) else stage.n_paths
            costs.append(stage.sweeps * (first + last) / 2)
        return [cost / sum(costs) for cost in costs]


@dataclass(frozen=True)
class Settings:
    """The settings that, together with the model, determine a run.

    Attributes
    ----------
    n_paths : int
        Number of paths m, in the last sweep; 0 for a fit by EM alone.
    n_sweeps : int
        Total number of sweeps of the run; for EM alone, the maximum number of iterations.
    seed : int
        Seed of the random streams.
    collapsed : bool
        Algorithm 2 (True) or Algorithm 1 (False), in the last sweep.
    thin : int
        Number of sweeps between two records of the trace.
    stages : tuple of Stage
        The stages of the run; by default one, with the settings above. Empty for EM alone.
    deadlines : tuple of float
        For a run that is given a time, the seconds after which each stage ends; else empty. `stages` holds
        the numbers of sweeps that were made by then.
    tol : float, optional
        A stage that does not average ends when the log-likelihood per site gains less than this.
    """

    n_paths: int
    n_sweeps: int
    seed: int
    collapsed: bool
    thin: int
    stages: tuple[Stage, ...] = ()
    deadlines: tuple[float, ...] = ()
    tol: float | None = None

    def __post_init__(self) -> None:
        n_paths = check_integer("n_paths", self.n_paths, least=0, limit=MAX_PATHS)
        n_sweeps = check_integer("n_sweeps", self.n_sweeps, least=1, limit=MAX_SWEEPS)
        collapsed = check_flag("collapsed", self.collapsed)
        stages: tuple[Stage, ...] = ()
        if self.stages:
            stages = check_stages(self.stages)
            last = stages[-1]
            own = last.paths_in(last.sweeps), sum(stage.sweeps for stage in stages), last.collapsed
            if (n_paths, n_sweeps, collapsed) != own:
                raise PlaitError(
                    f"{n_paths} paths and {n_sweeps} sweeps do not fit the stages, which have {own[0]} and"
                    f" {own[1]}"
                )
        elif n_paths:
            stages = (Stage("collapsed" if collapsed else "partially-collapsed", n_paths, n_sweeps),)
        deadlines = tuple(check_number("max_seconds", seconds) for seconds in self.deadlines)
        if deadlines and len(deadlines) != len(stages):
            raise PlaitError(f"{len(stages)} stages cannot have {len(deadlines)} deadlines")
        checked = {
            "n_paths": n_paths,
            "n_sweeps": n_sweeps,
            "seed": check_integer("seed", self.seed, least=0, most=MAX_SEED),
            "collapsed": collapsed,
            "thin": check_integer("thin", self.thin, least=1, limit=MAX_SWEEPS),
            "stages": stages,
            "deadlines": deadlines,
            "tol": None if self.tol is None else check_number("tol", self.tol),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @classmethod
    def of_plan(
        cls, plan: Plan, seed: int, thin: int, max_seconds: float | None = None, tol: float | None = None
    ) -> Settings:
        """Return the settings of a run in stages.

        With `max_seconds`, each stage lasts for its share of that time (`Plan.shares`), not for a number of
        sweeps.
        """
        deadlines: tuple[float, ...] = ()
        if max_seconds is not None:
            plan = plan.without_growth()  # how fast the number of paths grows must not depend on the clock
            seconds = check_number("max_seconds", max_seconds)
            deadlines = tuple(float(end) for end in seconds * np.cumsum(plan.shares()))
        return cls._of_stages(plan.stages, seed=seed, thin=thin, deadlines=deadlines, tol=tol)

    @classmethod
    def _of_stages(cls, stages: tuple[Stage, ...], **others: Any) -> Settings:
        last = stages[-1]
        return cls(
            n_paths=last.paths_in(last.sweeps),
            n_sweeps=sum(stage.sweeps for stage in stages),
            collapsed=last.collapsed,
            stages=stages,
            **others,
        )

    @property
    def plan(self) -> Plan:
        """The stages as a plan: another run with it, the same model and seed has the same bits."""
        return Plan(self.stages)

    @property
    def partitioned(self) -> bool:
        """Whether Algorithm 2 works on several ranges of the data side by side, in the last sweep."""
        return bool(self.stages) and self.stages[-1].partitioned

    @property
    def learns_priors(self) -> bool:
        """Whether any stage learns priors."""
        return any(stage.learn_priors for stage in self.stages)

    @property
    def most_paths(self) -> int:
        """Largest number of paths in any sweep."""
        return max((stage.most_paths for stage in self.stages), default=0)

    def place_of(self, sweep: int) -> tuple[int, int]:
        """Return the stage of a sweep, which is counted from 1, and the number of the sweep within it."""
        for k, stage in enumerate(self.stages):
            if sweep <= stage.sweeps:
                return k, sweep
            sweep -= stage.sweeps
        raise IndexError(f"the run has no sweep {sweep}")

    def paths_after(self, sweep: int) -> int:
        """Return the number of paths after a sweep; 0 is the start of the run."""
        if not self.stages:
            return 0
        k, within = self.place_of(max(sweep, 1))
        return self.stages[k].paths_in(within)

    def stages_after(self, sweep: int) -> tuple[Stage, ...]:
        """Return the stages that are left after a sweep, the current one included."""
        if sweep >= self.n_sweeps:
            return ()
        return self.stages[self.place_of(sweep + 1)[0] :]

    def with_sweeps(self, k: int, sweeps: int) -> Settings:
        """Return the settings with another number of sweeps in stage k."""
        stages = list(self.stages)
        stages[k] = replace(stages[k], sweeps=sweeps)
        others = {name: getattr(self, name) for name in ("seed", "thin", "deadlines", "tol")}
        return self._of_stages(tuple(stages), **others)

    def lasting(self, n_sweeps: int) -> Settings:
        """Return the settings with `n_sweeps` sweeps in all, and no deadlines.

        The last stage is made longer; or the stages are cut off, and those that are left without a sweep go.
        """
        n_sweeps = check_integer("n_sweeps", n_sweeps, least=1, limit=MAX_SWEEPS)
        if not self.stages:
            return replace(self, n_sweeps=n_sweeps)
        stages: list[Stage] = []
        for stage in self.stages:
            left = n_sweeps - sum(before.sweeps for before in stages)
            if left > 0:
                stages.append(replace(stage, sweeps=min(stage.sweeps, left)))
        missing = n_sweeps - sum(stage.sweeps for stage in stages)
        stages[-1] = replace(stages[-1], sweeps=stages[-1].sweeps + missing)
        return self._of_stages(tuple(stages), seed=self.seed, thin=self.thin, tol=self.tol)


def check_stages(stages: Any) -> tuple[Stage, ...]:
    """Return stages as a tuple, or raise an error; a stage may be given as a mapping, as in files."""
    if not isinstance(stages, Iterable) or isinstance(stages, (str, bytes, Mapping)):
        raise PlaitError(Argument("stages"), f" must be a list of stages, got {short_repr(stages)}")
    checked = tuple(Stage(**stage) if isinstance(stage, Mapping) else stage for stage in stages)
    wrong = [stage for stage in checked if not isinstance(stage, Stage)]
    if wrong or not checked or len(checked) > MAX_STAGES:
        got = short_repr(wrong[0]) if wrong else f"{len(checked)} of them"
        raise PlaitError(Argument("stages"), f" must be a list of 1 to {MAX_STAGES} stages, got {got}")
    check_integer("n_sweeps", sum(stage.sweeps for stage in checked), least=1, limit=MAX_SWEEPS)
    return checked


def check_stages_for(model: Any, stages: tuple[Stage, ...]) -> None:
    """Raise an error if a model cannot do what stages ask for."""
    for what, method, does in (
        ("learn_priors", "with_learnt_priors", "learn priors"),
        ("average", "late_forms", "average sweeps"),
    ):
        if any(getattr(stage, what) for stage in stages) and not hasattr(model, method):
            raise NotSupported(
                f"models of the kind {model.kind!r} cannot {does}: leave out {what} in the plan"
            )


def _check_path_numbers(n_paths: Any) -> int | tuple[int, int]:
    if isinstance(n_paths, (tuple, list)):
        if len(n_paths) != 2:
            raise PlaitError(
                Argument("n_paths"), f" must be a number or a pair (first, last), got {short_repr(n_paths)}"
            )
        first, last = (check_integer("n_paths", n, least=1, limit=MAX_PATHS) for n in n_paths)
        return first if first == last else (first, last)
    return check_integer("n_paths", n_paths, least=1, limit=MAX_PATHS)
