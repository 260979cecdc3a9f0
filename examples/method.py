"""Draw the pictures of docs/method.md.

    python examples/method.py -o docs/images

    sharpening   what m does: the distribution of a parameter, for m = 1, 2 and 5
    restarts     why neither restarts nor averages replace several paths
    em           as m grows, a multipath run approaches EM

Prints the numbers that the page quotes. `--only NAME` makes one picture.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from plait.data.sequences import Sequences
from plait.datasets import bands
from plait.models.emissions import GaussianEmissions, NormalParameters
from plait.models.lda import LdaModel
from plait.models.mixture import MixtureCounts, MixtureModel, MixtureParameters
from plait.sampler import Progress, sample
from plait.threads import Threads

# Okabe and Ito's palette, which is safe for colour-blind readers.
BLACK, ORANGE, BLUE, GREEN, RED, GREY = "#000000", "#E69F00", "#0072B2", "#009E73", "#D55E00", "#999999"
WIDTH = 6.4  # inches; readable at half the width of a printed page


def new_figure(columns: int, height: float) -> tuple[Any, Any]:
    """Return a figure with a row of axes."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    style = {"font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "figure.dpi": 160}
    plt.rcParams.update(style | {"savefig.bbox": "tight", "legend.frameon": False})
    return plt.subplots(1, columns, figsize=(WIDTH, height), layout="constrained", squeeze=False)


# ---------------------------------------------------------------------------------------------------------
# What m does
# ---------------------------------------------------------------------------------------------------------

SHARES = np.array([0.75, 0.25])  # of the background and of the source
WIDTHS = np.array([[9.0], [1.44]])  # their variances, known like the position of the background


def sightings() -> np.ndarray:
    """Return points on a line: a wide background and two clusters; the source can explain one of them."""
    rng = np.random.default_rng(28)
    parts = rng.normal(0, 3, 30), rng.normal(-2.2, 1.2, 8), rng.normal(2.2, 1.2, 8)
    return np.concatenate(parts)[:, None]


def sharpening(folder: Path) -> None:
    """Draw the distribution of the position of the source, P(phi) P(w | phi)^m, exact and as sampled."""
    emissions = GaussianEmissions(
        Sequences.from_values(sightings()),
        2,
        mean_prior=0.0,
        mean_weight=0.03,
        fixed_means=np.array([[0.0], [np.nan]]),
        fixed_covariances=WIDTHS,
    )
    model = MixtureModel(emissions, 1e7 * SHARES)  # a prior so strong that the shares stay fixed
    grid = np.linspace(-6, 6, 601)
    normals = [NormalParameters(np.array([[0.0], [x]]), WIDTHS, "diag") for x in grid]
    log_likelihood = np.array(
        [model.log_likelihood(MixtureParameters(SHARES, normal), n_jobs=1) for normal in normals]
    )
    log_prior = -0.5 * 0.03 * grid**2 / WIDTHS[1, 0]

    figure, axes = new_figure(3, 2.3)
    for axis, m in zip(axes[0], (1, 2, 5), strict=True):
        exact = np.exp(log_prior + m * (log_likelihood - log_likelihood.max()))
        exact /= exact.sum() * (grid[1] - grid[0])
        places: list[float] = []

        def note(now: Progress, places: list[float] = places) -> None:
            if now.state.sweep > 100:
                places.append(float(now.state.parameters.emissions.means[1, 0]))

        for seed in range(20):  # half of the runs start on the left, half on the right
            start = NormalParameters(np.array([[0.0], [-3.0 if seed % 2 else 3.0]]), WIDTHS, "diag")
            started = replace(model, initial=MixtureParameters(SHARES, start))
            sample(started, n_paths=m, n_sweeps=3000, seed=seed, thin=3000, n_jobs=1, callback=note)
        axis.hist(places, bins=60, range=(-6, 6), density=True, color=BLUE, alpha=0.45, label="sampled")
        axis.plot(grid, exact, color=BLACK, linewidth=1.2, label="exact")
        axis.set(xlabel="position of the source", title=f"m = {m}", yticks=[])
        left = exact[grid < 0].sum() / exact.sum()
        found = np.mean(np.array(places) < 0)
        print(f"sharpening, m = {m}: share of the better mode {left:.3f} exact, {found:.3f} sampled")
    axes[0][0].set_ylabel("density")
    axes[0][2].legend(loc="upper right")
    figure.savefig(folder / "sharpening.png")


# ---------------------------------------------------------------------------------------------------------
# Restarts and averages
# ---------------------------------------------------------------------------------------------------------


def distance(topics: np.ndarray, truth: np.ndarray) -> float:
    """Return the mean over true topics of the L1 distance to the nearest found one: the paper's measure."""
    return float(np.abs(truth[:, None] - topics[None]).sum(axis=2).min(axis=1).mean())


def restarts(folder: Path) -> None:
    """Compare one path, one path with more sweeps, the best and the mean of five runs, and five paths."""
    data = bands(n_documents=1000, seed=1)
    model = LdaModel(data.corpus, 10, alpha=1.0, eta=1.0)
    n_runs, n_sweeps = 10, 400

    def fit(m: int, seed: int, times: int = 1) -> tuple[np.ndarray, float]:
        sweeps = times * n_sweeps
        run = sample(model, n_paths=m, n_sweeps=sweeps, seed=seed, collapsed=True, thin=sweeps, n_jobs=1)
        return run.parameters(n_jobs=1).topic_word.astype(float), float(run.trace.log_joint[-1].mean())

    ones = [fit(1, seed) for seed in range(5 * n_runs)]
    groups = [ones[5 * k : 5 * k + 5] for k in range(n_runs)]
    results = {
        "one path": [distance(topics, data.topics) for topics, _ in ones],
        "five times\nthe sweeps": [distance(fit(1, 2000 + k, 5)[0], data.topics) for k in range(n_runs)],
        "best of\nfive runs": [
            distance(max(group, key=lambda fitted: fitted[1])[0], data.topics) for group in groups
        ],
        "mean of\nfive runs": [
            distance(np.mean([topics for topics, _ in group], axis=0), data.topics) for group in groups
        ],
        "five paths": [distance(fit(5, 1000 + seed)[0], data.topics) for seed in range(n_runs)],
    }
    figure, axes = new_figure(1, 2.8)
    axis = axes[0][0]
    rng = np.random.default_rng(0)
    colours = GREY, GREEN, ORANGE, RED, BLUE
    for k, ((name, values), colour) in enumerate(zip(results.items(), colours, strict=True)):
        x = k + rng.uniform(-0.15, 0.15, len(values))
        axis.plot(x, values, "o", color=colour, markersize=4, alpha=0.75, markeredgewidth=0)
        axis.plot([k - 0.25, k + 0.25], [np.mean(values)] * 2, color=BLACK, linewidth=1.5)
        spread = np.std(values, ddof=1)
        what = name.replace("\n", " ")
        print(f"restarts, {what}: mean distance {np.mean(values):.3f}, spread {spread:.3f}")
    axis.set_xticks(range(len(results)), list(results))
    axis.set_ylabel("distance to the true topics (L1)")
    axis.set_ylim(bottom=0)
    figure.savefig(folder / "restarts.png")


# ---------------------------------------------------------------------------------------------------------
# Towards EM
# ---------------------------------------------------------------------------------------------------------

PATHS = 2 ** np.arange(9)  # 1 to 256
SWEEPS = 20


def flat(parameters: MixtureParameters) -> np.ndarray:
    """Return shares, means and standard deviations in one row."""
    normal = parameters.emissions
    return np.concatenate([parameters.shares, normal.means.ravel(), np.sqrt(normal.covariances).ravel()])


def towards_em(folder: Path) -> None:
    """Measure the distance between multipath's and EM's parameters after each of the first sweeps."""
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], [1500, 1000, 500])
    data = rng.normal(np.array([-3.0, 0.0, 4.0])[truth], np.array([1.0, 0.7, 1.5])[truth])[:, None]
    emissions = GaussianEmissions(Sequences.from_values(data), 3, covariance="diag")
    start = MixtureParameters(
        np.full(3, 1 / 3), NormalParameters(np.array([[-2.0], [0.5], [3.0]]), np.full((3, 1), 2.0), "diag")
    )
    model = MixtureModel(emissions, 1.0, start)

    with Threads(None) as threads:
        exact, phi = [], start
        for _ in range(SWEEPS):
            # Huge counts make the prior negligible: maximum-likelihood EM.
            counts, _ = model.expected_counts(phi, threads)
            phi = model.mode_parameters(MixtureCounts(1e9 * counts.states, 1e9 * counts.emissions))
            exact.append(flat(phi))
    n_runs = 20
    distances = np.zeros((len(PATHS), n_runs, SWEEPS))
    for k, m in enumerate(PATHS):
        for seed in range(n_runs):
            found: list[np.ndarray] = []
            sample(
                model,
                n_paths=int(m),
                n_sweeps=SWEEPS,
                seed=seed,
                thin=SWEEPS,
                callback=lambda now, found=found: found.append(flat(now.state.parameters)),
            )
            distances[k, seed] = np.linalg.norm(np.array(found) - np.array(exact), axis=1)
    means = distances.mean(axis=1)
    slopes = [np.polyfit(np.log(PATHS), np.log(means[:, t]), 1)[0] for t in range(SWEEPS)]
    print("em, slopes after the sweeps 1 to 20:", " ".join(f"{slope:.3f}" for slope in slopes))

    figure, axes = new_figure(2, 2.7)
    left, right = axes[0]
    for t, colour in ((0, BLUE), (4, GREEN), (19, RED)):
        left.loglog(PATHS, means[:, t], "o-", color=colour, markersize=3, linewidth=1, label=f"sweep {t + 1}")
    guide = means[0].mean() * 1.6 / np.sqrt(PATHS)
    left.loglog(PATHS, guide, "--", color=GREY, linewidth=1, label=r"$1/\sqrt{m}$")
    left.set(xlabel="paths m", ylabel="distance to EM's parameters")
    left.set_xticks([1, 4, 16, 64, 256], ["1", "4", "16", "64", "256"])
    left.minorticks_off()
    left.legend()
    right.plot(range(1, SWEEPS + 1), slopes, "o", color=BLUE, markersize=4)
    right.axhspan(-0.6, -0.4, color=GREY, alpha=0.2, linewidth=0)
    right.set(
        xlabel="sweep", ylabel="slope of the lines on the left", ylim=(-1, 0), xticks=[1, 5, 10, 15, 20]
    )
    figure.savefig(folder / "em.png")


FIGURES = {"sharpening": sharpening, "restarts": restarts, "em": towards_em}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-o", "--output", type=Path, default=Path("pictures"), help="folder for the pictures")
    parser.add_argument("--only", choices=FIGURES, help="make one picture only")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    for name, make in FIGURES.items():
        if options.only in (None, name):
            start = time.perf_counter()
            make(options.output)
            print(f"{name}: {time.perf_counter() - start:.0f} s\n", flush=True)


if __name__ == "__main__":
    main()
