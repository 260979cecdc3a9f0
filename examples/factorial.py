"""Recover twenty hidden chains, with a million joint states, by a factorial hidden Markov model.

Simulates observations to which several chains contribute, each switching between its own states, and recovers
the chains from the observations alone. Prints the number of joint states and, for one and five paths and
several seeds, the share of (time, chain) states that are correct once chains and states are matched to the
true ones. Runs start after a search or, for comparison, at random. Draws part of the result into
DIR/factorial.png.

    python examples/factorial.py                                     # 20 chains of 2 states, 16 features
    python examples/factorial.py --chains 10 --states 4 --features 40
    python examples/factorial.py --features 10 --search 8            # half as many features as chains
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from plait.estimators.factorial import FactorialHMM
from plait.models.factorial import FactorialParameters, simulate

SHOWN = 160  # times in the picture
PALETTE = ("#e8e8e8", "#0072b2", "#56b4e9", "#004d40", "#cc79a7", "#f0e442", "#999999", "#000000")
WRONG = "#d55e00"


def make_data(options: argparse.Namespace) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Draw observations (T, D) and hidden states (T, K) of chains that tend to stay in their states."""
    rng = np.random.default_rng(options.data_seed)
    n_chains, n_states = options.chains, options.states
    stays = rng.uniform(0.9, 0.98, n_chains)
    transitions = np.empty((n_chains, n_states, n_states))
    for k, stay in enumerate(stays):
        transitions[k] = (1 - stay) / max(1, n_states - 1)
        np.fill_diagonal(transitions[k], stay if n_states > 1 else 1.0)
    parameters = FactorialParameters(
        np.full((n_chains, n_states), 1 / n_states),
        transitions,
        rng.normal(size=(n_chains, n_states, options.features)),
        np.full(options.features, options.noise**2),
    )
    states, values = simulate(parameters, np.array([0, options.times]), rng)
    return values, states


def matched(found: NDArray[np.int64], truth: NDArray[np.int64], n_states: int) -> NDArray[np.int64]:
    """Return the states found (T, K), with chains and states renumbered to agree best with the truth."""
    n_chains = truth.shape[1]
    right = np.zeros((n_chains, n_chains))
    numbers = np.empty((n_chains, n_chains, n_states), np.int64)
    for own in range(n_chains):
        for true in range(n_chains):
            met = np.zeros((n_states, n_states))
            np.add.at(met, (found[:, own], truth[:, true]), 1)
            rows, columns = linear_sum_assignment(-met)
            numbers[own, true, rows] = columns
            right[own, true] = met[rows, columns].sum()
    result = np.empty_like(truth)
    for own, true in zip(*linear_sum_assignment(-right), strict=True):
        result[:, true] = numbers[own, true, found[:, own]]
    return result


def fit(
    values: NDArray[np.float64], options: argparse.Namespace, n_paths: int, seed: int, search: int
) -> Any:
    """Fit the chains to the observations."""
    model = FactorialHMM(
        options.chains,
        options.states,
        n_paths=n_paths,
        n_iter=options.sweeps,
        search=search,
        random_state=seed,
    )
    return model.fit(values)


def draw(
    values: NDArray[np.float64], truth: NDArray[np.int64], fits: dict[str, NDArray[np.int64]], file: Path
) -> None:
    """Draw part of the observations, the true chains, and the chains of the fits with wrong states marked."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    n = min(SHOWN, len(truth))
    n_chains, n_states = truth.shape[1], int(truth.max()) + 1
    palette = [PALETTE[s % len(PALETTE)] for s in range(n_states)]
    figure, axes = plt.subplots(
        2 + len(fits), 1, figsize=(8, 9), sharex=True, height_ratios=(1.4, *[2] * (1 + len(fits)))
    )
    for feature, colour in enumerate(("#000000", "#0072b2", "#e69f00")[: values.shape[1]]):
        axes[0].plot(values[:n, feature], color=colour, lw=1, label=f"feature {feature}")
    axes[0].set_ylabel("observed")
    axes[0].set_title(f"some of the {values.shape[1]} features", loc="left", fontsize=10)
    axes[0].legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=3, fontsize=8, frameon=False)
    titles = {f"the {n_chains} true chains": truth}
    titles |= {f"{name}: {np.mean(own != truth):.1%} wrong": own for name, own in fits.items()}
    for axis, (title, states) in zip(axes[1:], titles.items(), strict=True):
        marked = np.where(states == truth, states, n_states)[:n].T
        colours = ListedColormap([*palette, WRONG])
        axis.imshow(marked, aspect="auto", interpolation="nearest", cmap=colours, vmin=0, vmax=n_states)
        axis.hlines(np.arange(n_chains - 1) + 0.5, -0.5, n - 0.5, color="white", lw=0.8)
        axis.set_ylabel("chain")
        axis.set_title(title, loc="left", fontsize=10)
    keys = [Patch(color=colour, label=f"state {s}") for s, colour in enumerate(palette)]
    keys.append(Patch(color=WRONG, label="wrong"))
    axes[1].legend(
        handles=keys, loc="lower right", bbox_to_anchor=(1, 1), ncols=len(keys), fontsize=8, frameon=False
    )
    axes[-1].set_xlabel("time")
    figure.tight_layout()
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=100)
    plt.close(figure)


def main() -> None:
    """Run the example."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--chains", type=int, default=20, help="number of chains")
    parser.add_argument("--states", type=int, default=2, help="states of each chain")
    parser.add_argument("--features", type=int, default=16, help="features of an observation")
    parser.add_argument("--times", type=int, default=2000, help="number of observations")
    parser.add_argument("--noise", type=float, default=0.6, help="standard deviation of the noise")
    parser.add_argument("--sweeps", type=int, default=60, help="sweeps of a fit")
    parser.add_argument("--search", type=int, default=4, help="rounds of the search for a starting point")
    parser.add_argument("--seeds", type=int, default=3, help="number of fits")
    parser.add_argument("--data-seed", type=int, default=0, help="seed of the data")
    parser.add_argument("-o", "--output", type=Path, default=Path("pictures"), help="folder of the picture")
    options = parser.parse_args()

    values, truth = make_data(options)
    n_joint = options.states**options.chains
    print(f"{options.chains} chains of {options.states} states: {n_joint:,} joint states")
    print(f"{options.times} observations of {options.features} features, noise {options.noise}")
    print(f"share of correct (time, chain) states after {options.sweeps} sweeps:")
    fits = {}
    for search in (options.search, 0):
        name = f"after a search of {search} rounds" if search else "from a random start"
        best = -np.inf
        for n_paths in (1, 5):
            rights = []
            begun = time.perf_counter()
            for seed in range(options.seeds):
                model = fit(values, options, n_paths, seed, search)
                found = matched(model.states_, truth, options.states)
                rights.append(np.mean(found == truth))
                if model.log_joint_ > best:
                    fits[f"found {name}"], best = found, model.log_joint_
            seconds = (time.perf_counter() - begun) / options.seeds
            shares = "  ".join(f"{right:6.1%}" for right in rights)
            print(f"  {name}, m = {n_paths}:  {shares}   {seconds:.1f} s each", flush=True)
    for name, found in fits.items():
        print(f"the best {name}, by log-likelihood: {np.mean(found == truth):.2%} correct")
    file = options.output / "factorial.png"
    draw(values, truth, fits, file)
    print(f"wrote {file}")


if __name__ == "__main__":
    main()
