"""Speed of mixtures: iterations of EM compared with scikit-learn's, and sweeps of both samplers.

An iteration is an E step and an M step from the same parameters, without the overhead of a fit. scikit-learn
runs with one BLAS thread per core, its default, and with one thread. Contestants take turns, and the
median of the turns is shown, because the speed of shared machines varies from minute to minute.

    python benchmarks/mixtures.py
    python benchmarks/mixtures.py --turns 25
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from sklearn import mixture
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import ThreadpoolController

from hmm import Contestant, compete
from plait.data.sequences import Sequences
from plait.models.emissions import GaussianEmissions
from plait.models.mixture import LikelihoodOnly, MixtureModel, MixtureParameters
from plait.models.model import Key
from plait.plans import Settings
from plait.rng import INITIAL
from plait.sampler import State, step
from plait.threads import Threads

SIZES = ((100_000, 10, 10), (20_000, 2, 5))
"""Numbers of observations, features and components."""


def some_data(n: int, n_features: int, n_components: int) -> NDArray[np.float64]:
    """Draw observations from components that overlap a little."""
    generator = np.random.default_rng(0)
    means = 3 * generator.normal(size=(n_components, n_features))
    return means[generator.integers(n_components, size=n)] + generator.normal(size=(n, n_features))


def model_of(
    X: NDArray[np.float64], n_components: int, covariance: str
) -> tuple[MixtureModel, MixtureParameters]:
    model = MixtureModel(GaussianEmissions(Sequences.from_values(X), n_components, covariance=covariance))
    return model, model.first_parameters(Key(0, INITIAL))


def iteration(model: MixtureModel, first: MixtureParameters, n_jobs: int) -> Callable[[], object]:
    climber, threads = LikelihoodOnly(model, 1e-6), Threads(n_jobs)
    return lambda: climber.mode_parameters(climber.expected_counts(first, threads)[0])


def their_iteration(
    X: NDArray[np.float64], covariance: str, first: MixtureParameters, blas: int | None
) -> Callable[[], object]:
    """Return scikit-learn's two steps from the same parameters."""
    given = first.emissions.covariances
    peer = mixture.GaussianMixture(
        len(first.shares),
        covariance_type=covariance,
        weights_init=first.shares,
        means_init=first.emissions.means,
        precisions_init=np.linalg.inv(given) if covariance == "full" else 1 / given,
        max_iter=1,
        tol=0.0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        peer.fit(X)
    factors = first.emissions.whitening[0]
    factors = factors.transpose(0, 2, 1) if covariance == "full" else factors[:, 0]

    def iterate() -> None:
        peer.weights_, peer.means_ = first.shares, first.emissions.means
        peer.precisions_cholesky_ = factors
        _, log_posteriors = peer._e_step(X)
        peer._m_step(X, log_posteriors)

    if blas is None:
        return iterate
    controller = ThreadpoolController()  # made once, because finding the libraries takes milliseconds

    def limited() -> None:
        with controller.limit(limits=blas, user_api="blas"):
            iterate()

    return limited


def compare_em(turns: int) -> None:
    print("\nAn iteration of EM: milliseconds, and the ratio to plait with one thread")
    for n, n_features, n_components in SIZES:
        X = some_data(n, n_features, n_components)
        for covariance in ("full", "diag"):
            model, first = model_of(X, n_components, covariance)
            contestants = {
                "scikit-learn": Contestant(their_iteration(X, covariance, first, None), n),
                "scikit-learn, BLAS with one thread": Contestant(their_iteration(X, covariance, first, 1), n),
                "plait, one thread": Contestant(iteration(model, first, 1), n),
                "plait, two threads": Contestant(iteration(model, first, 2), n),
            }
            compete(contestants, turns)
            print(f"\n{covariance}: {n} observations, {n_features} features, {n_components} components")
            own = contestants["plait, one thread"].median
            for name, contestant in contestants.items():
                print(
                    f"  {name:36} {contestant.median * 1e3:9.2f} {contestant.median / own:7.2f}", flush=True
                )


def sweeps(model: MixtureModel, n_paths: int, collapsed: bool, n_jobs: int) -> Contestant:
    settings = Settings(n_paths=n_paths, n_sweeps=1, seed=0, collapsed=collapsed, thin=1)
    threads = Threads(n_jobs)
    state = State(0, model.initial_paths(n_paths, settings.seed, threads))

    def sweep() -> None:
        nonlocal state
        state = step(model, state, settings, threads)

    return Contestant(sweep, model.n_sites * n_paths)


def compare_samplers(turns: int) -> None:
    print("\nSweeps of the samplers, m = 5")
    print(f"{'':46} {'sweeps per s':>16} {'ns per site and path':>20}")
    for n, n_features, n_components in SIZES:
        X = some_data(n, n_features, n_components)
        for covariance in ("full", "diag"):
            model, _ = model_of(X, n_components, covariance)
            contestants = {
                "partially collapsed, one thread": sweeps(model, 5, False, 1),
                "partially collapsed, two threads": sweeps(model, 5, False, 2),
                "collapsed": sweeps(model, 5, True, 1),
            }
            compete(contestants, max(3, turns // 3))
            for name, contestant in contestants.items():
                place = f"{n} x {n_features}, S = {n_components}, {covariance}"
                print(
                    f"{place:28} {name:34} {1 / contestant.median:8.2f} {contestant.nanoseconds:12.1f}",
                    flush=True,
                )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--turns", type=int, default=11, help="turns of each contestant")
    options = parser.parse_args()
    compare_em(options.turns)
    compare_samplers(options.turns)


if __name__ == "__main__":
    main()
