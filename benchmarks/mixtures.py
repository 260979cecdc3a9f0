"""Speed of Gaussian mixtures: plait compared with scikit-learn and pomegranate.

    make bench
    python benchmarks/mixtures.py --covariances full
    python benchmarks/mixtures.py --report results/mixtures.jsonl

The peers have EM alone. Every contestant starts from the parameters that the data were drawn from, and runs
without end: an iteration is an E step and an M step, a sweep draws all labels of all paths, and phi. Times
are per observation, component and iteration, or per observation, component and path. See `contest.py`.

pomegranate takes part if it is installed: see `hmm.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contest import ENDLESS, Arrays, Case, Contest, Contestant, climb_on, parser_of, run, sweep_on
from plait.data.sequences import Sequences
from plait.models.emissions import GaussianEmissions, NormalParameters
from plait.models.mixture import LikelihoodOnly, MixtureModel, MixtureParameters
from turns import report

Floats = NDArray[np.float64]

SIZES = {"small": (20_000, 2, 5), "large": (100_000, 10, 10), "many components": (20_000, 10, 100)}
"""Numbers of observations, features and components."""


@dataclass(frozen=True)
class Task:
    """Observations, and the mixture that they were drawn from; its covariances are 1.

    Attributes
    ----------
    X : ndarray, (N, D)
        Observations.
    means : ndarray, (S, D)
        Means of the components, which are equally probable.
    full : ndarray, ()
        Whether covariances are matrices to the contestants, or diagonals.
    """

    X: Floats
    means: Floats
    full: NDArray[np.bool_]

    @property
    def covariance(self) -> str:
        """Form of the covariances."""
        return "full" if self.full else "diag"

    @property
    def covariances(self) -> Floats:
        """Covariances of the components in that form."""
        n_components, n_features = self.means.shape
        one = np.eye(n_features) if self.full else np.ones(n_features)
        return np.array([one] * n_components)


def load(size: str, covariance: str) -> tuple[Arrays, int, str]:
    """Draw observations from components that overlap a little."""
    n, n_features, n_components = SIZES[size]
    rng = np.random.default_rng(0)
    means = 3 * rng.normal(size=(n_components, n_features))
    X = means[rng.integers(n_components, size=n)] + rng.normal(size=(n, n_features))
    return {"X": X, "means": means, "full": np.array(covariance == "full")}, n * n_components, ""


# -------------------------------------------------------------------------------------------------
# Contestants: each makes iterations or sweeps, and reports them, until it is killed
# -------------------------------------------------------------------------------------------------


def model_of(task: Task) -> MixtureModel:
    sequences = Sequences.from_values(task.X)
    return MixtureModel(GaussianEmissions(sequences, len(task.means), covariance=task.covariance))


def run_plait_em(task: Task) -> None:
    shares = np.full(len(task.means), 1 / len(task.means))
    normal = NormalParameters(task.means, task.covariances, task.covariance)
    climb_on(LikelihoodOnly(model_of(task), 1e-6), MixtureParameters(shares, normal))


def run_plait_sweeps(n_paths: int, collapsed: bool, task: Task) -> None:
    sweep_on(model_of(task), n_paths, collapsed=collapsed)


def run_sklearn(task: Task) -> None:
    from sklearn.mixture import GaussianMixture

    class Reporting(GaussianMixture):
        iterations = count(1)

        def _m_step(self, *arguments: Any, **keywords: Any) -> None:
            super()._m_step(*arguments, **keywords)
            report(next(self.iterations))

    model = Reporting(
        len(task.means),
        covariance_type=task.covariance,
        weights_init=np.full(len(task.means), 1 / len(task.means)),
        means_init=task.means,
        precisions_init=task.covariances,  # their inverses are themselves
        max_iter=ENDLESS,
        tol=0.0,  # no change is smaller
    )
    model.fit(task.X)


def run_pomegranate(task: Task) -> None:
    import torch
    from pomegranate.distributions import Normal
    from pomegranate.gmm import GeneralMixtureModel

    torch.set_num_threads(1)
    parts = []
    for mean, covariance in zip(task.means, task.covariances, strict=True):
        part = Normal(covariance_type=task.covariance)
        part._initialize(len(mean))  # it refuses full covariances as arguments
        part.means.data, part.covs.data = torch.tensor(mean).float(), torch.tensor(covariance).float()
        part._reset_cache()
        parts.append(part)
    model = GeneralMixtureModel(parts)
    X = torch.tensor(task.X, dtype=torch.float32)
    for iteration in range(1, ENDLESS):
        model.summarize(X)
        model.from_summaries()
        report(iteration)


def entry(package: str, work: Callable[[Task], None], n_paths: int = 1) -> Contestant:
    return Contestant(package, lambda arrays: work(Task(**arrays)), n_paths)


CONTEST = Contest(
    __file__,
    base="scikit-learn",
    contestants={
        "plait, EM": entry("plait", run_plait_em),
        "scikit-learn": entry("scikit-learn", run_sklearn),
        "pomegranate": entry("pomegranate", run_pomegranate),
        "plait, partially collapsed, m = 5": entry("plait", partial(run_plait_sweeps, 5, False), 5),
        "plait, collapsed, m = 5": entry("plait", partial(run_plait_sweeps, 5, True), 5),
    },
    warm_up=10,
    warm_up_seconds=15.0,
)


def main() -> None:
    parser = parser_of(CONTEST, __doc__)
    parser.add_argument("--sizes", default=",".join(SIZES))
    parser.add_argument("--covariances", default="full,diag")
    options = parser.parse_args()
    cases = [
        Case(f"{covariance} covariances", describe(size), partial(load, size, covariance))
        for covariance in options.covariances.split(",")
        for size in options.sizes.split(",")
    ]
    run(CONTEST, cases, options)


def describe(size: str) -> str:
    """Return a size in words."""
    n, n_features, n_components = SIZES[size]
    return f"{n} × {n_features}, {n_components} components"


if __name__ == "__main__":
    main()
