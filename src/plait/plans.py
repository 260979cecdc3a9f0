"""Plans: the stages of a run, as data.

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

from plait.checks import check_choice, check_flag, check_integer, short_repr
from plait.errors import Argument, PlaitError

SAMPLERS: Final = ("partially-collapsed", "collapsed", "partitioned")
"""Algorithm 1; Algorithm 2; and Algorithm 2 on several ranges of the data side by side (approximate)."""

MAX_PATHS: Final = 2**20
"""Maximum number of paths of a run; more is a mistake."""

MAX_SWEEPS: Final = 2**53
"""Maximum number of sweeps of a run, and of iterations of EM: far below the reserved keys of `plait.rng`."""

MAX_STAGES: Final = 1000


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

    @property
    def learns_priors(self) -> bool:
        """Whether any stage learns priors."""
        return any(stage.learn_priors for stage in self.stages)

    def lasting(self, n_sweeps: int) -> Plan:
        """Return the plan with `n_sweeps` sweeps in all, and at least one in each stage.

        The stages keep their shares of the sweeps.
        """
        n_sweeps = check_integer("n_sweeps", n_sweeps, least=len(self.stages), limit=MAX_SWEEPS)
        stages, left, sweeps = [], n_sweeps, self.n_sweeps
        for k, stage in enumerate(self.stages):
            after = len(self.stages) - 1 - k
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


def _check_path_numbers(n_paths: Any) -> int | tuple[int, int]:
    if isinstance(n_paths, (tuple, list)):
        if len(n_paths) != 2:
            raise PlaitError(
                Argument("n_paths"), f" must be a number or a pair (first, last), got {short_repr(n_paths)}"
            )
        first, last = (check_integer("n_paths", n, least=1, limit=MAX_PATHS) for n in n_paths)
        return first if first == last else (first, last)
    return check_integer("n_paths", n_paths, least=1, limit=MAX_PATHS)
