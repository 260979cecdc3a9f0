"""Segment a noisy picture by a hidden Potts field, and compare it with a mixture, which ignores neighbours.

The picture has four kinds of regions: shapes of several sizes, each kind with its own grey value, under noise
so strong that single pixels carry little information. Draws the pictures side by side into DIR/potts.png and
prints the share of pixels with a wrong label.

    python examples/potts.py
    python examples/potts.py -o pictures --runs 10

With `--runs` it compares one path with five from random starts at equal compute: both draw the same number of
labels, so one path makes five times as many sweeps. For every run it prints

    wrong pixels   share of pixels whose most frequent label, over the second half of the sweeps and all
                   paths, is wrong; labels are matched to the true ones by best agreement
    log joint      log P(labels, picture | phi) per pixel, averaged over the paths and the records of the
                   second half: the coupling times the number of pairs of neighbours that agree, plus the
                   log-density of the pixels given their labels and the phi drawn in that sweep. The
                   normalising constant of the field is left out
    log density    log P(picture | segmentation, phi) per pixel, for the most frequent labels and the mean of
                   phi given these.

The likelihood P(picture | phi) is a sum over all labelings and cannot be computed.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from plait.data.sequences import Sequences
from plait.em import maximise
from plait.estimators.potts import PottsSegmentation
from plait.models.emissions import GaussianEmissions
from plait.models.mixture import MixtureModel
from plait.models.potts import PottsModel
from plait.sampler import sample
from plait.threads import Threads

Image = NDArray[np.float64]
Labels = NDArray[Any]

N_LABELS = 4
PALETTE = ("#0072B2", "#56B4E9", "#F0E442", "#D55E00")  # safe for colour-blind readers (Okabe and Ito)


def regions(side: int) -> Labels:
    """Return the true labels of a picture of that many rows and columns."""
    y, x = (np.mgrid[:side, :side] + 0.5) / side
    truth = np.zeros((side, side), np.intp)

    def disc(row: float, column: float, radius: float, label: int, wobble: float = 0.0) -> None:
        angle = np.arctan2(y - row, x - column)
        truth[np.hypot(y - row, x - column) < radius * (1 + wobble * np.cos(3 * angle + 1))] = label

    disc(0.38, 0.36, 0.26, 1, 0.15)
    truth[np.abs(y - 0.80 - 0.06 * np.sin(7 * x)) < 0.07] = 2
    disc(0.30, 0.78, 0.14, 3)
    disc(0.37, 0.36, 0.10, 3, 0.2)
    disc(0.58, 0.66, 0.06, 2)
    disc(0.12, 0.12, 0.05, 2)
    disc(0.55, 0.88, 0.05, 1)
    disc(0.80, 0.30, 0.05, 0)
    disc(0.82, 0.74, 0.04, 3)
    disc(0.31, 0.79, 0.05, 1)
    return truth


def matched(labels: Labels, truth: Labels) -> Labels:
    """Return the labels, renumbered to agree best with the true ones."""
    table = np.zeros((N_LABELS, N_LABELS))
    np.add.at(table, (labels.ravel(), truth.ravel()), 1)
    return linear_sum_assignment(-table)[1][labels]


def wrong(labels: Labels, truth: Labels) -> float:
    """Return the share of pixels with a wrong label."""
    return float(np.mean(matched(labels, truth) != truth))


def emissions(image: Image) -> GaussianEmissions:
    """Return normal emissions of the pixels, with a mean and a variance for each label."""
    return GaussianEmissions(Sequences.from_values(image.reshape(-1, 1)), N_LABELS)


def segment_by_mixture(image: Image, seed: int) -> Labels:
    """Fit a mixture, by sampling and then EM, and return the most probable class of each pixel."""
    model = MixtureModel(emissions(image))
    run = sample(model, n_paths=5, n_sweeps=200, seed=seed)
    with Threads(None) as threads:
        phi = model.mean_parameters(model.count(run.paths, threads), threads)
        phi = maximise(model, phi, 200, lambda log_likelihood: False, threads)
        posteriors, _ = model.posteriors(phi, threads)
    return posteriors.argmax(axis=1).reshape(image.shape)


def best_of_single_pixels(image: Image, truth: Labels, noise: float) -> Labels:
    """Return the labels that are most probable given single pixels and the true parameters."""
    shares = np.bincount(truth.ravel(), minlength=N_LABELS) / truth.size
    log_density = -0.5 * ((image[..., None] - np.arange(N_LABELS)) / noise) ** 2
    return (np.log(shares) + log_density).argmax(axis=-1)


def segment_by_field(
    image: Image, coupling: float, n_paths: int, n_sweeps: int, seed: int, n_init: int = 5
) -> PottsSegmentation:
    """Fit a hidden Potts field."""
    return PottsSegmentation(
        N_LABELS, coupling=coupling, n_paths=n_paths, n_iter=n_sweeps, n_init=n_init, random_state=seed
    ).fit(image)


def draw(panels: dict[str, tuple[NDArray[Any], bool]], path: Path) -> None:
    """Draw pictures side by side: of labels, or in grey."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt
    from matplotlib.colors import ListedColormap

    plt.rcParams.update({"font.size": 11, "axes.titlesize": 12})
    figure, axes = plt.subplots(1, len(panels), figsize=(3.1 * len(panels), 3.5), layout="constrained")
    for axis, (title, (picture, is_labels)) in zip(axes, panels.items(), strict=True):
        if is_labels:
            style = {"cmap": ListedColormap(PALETTE), "vmin": -0.5, "vmax": N_LABELS - 0.5}
        else:
            low, high = np.quantile(picture, [0.005, 0.995])
            style = {"cmap": "gray", "vmin": low, "vmax": high}
        axis.imshow(picture, interpolation="nearest", **style)
        axis.set_title(title)
        axis.set_xticks([])
        axis.set_yticks([])
    figure.savefig(path, dpi=150, pil_kwargs={"optimize": True})
    plt.close(figure)


def compare_paths(image: Image, truth: Labels, options: argparse.Namespace) -> None:
    """Compare one path with five, from the same number of random starts."""
    n_updates = 5 * options.sweeps * image.size
    print(
        f"\nOne path and five from {options.runs} random starts, each run drawing"
        f" {n_updates / 1e6:.0f} million labels"
    )
    results: dict[int, list[tuple[float, float, float]]] = {}
    for n_paths in (1, 5):
        results[n_paths] = []
        for seed in range(options.runs):
            n_sweeps = 5 * options.sweeps // n_paths
            fitted = segment_by_field(image, options.coupling, n_paths, n_sweeps, seed, n_init=1)
            results[n_paths].append((wrong(fitted.labels_, truth), *likelihoods(fitted)))
    names = ("wrong pixels, %", "log joint", "log density")
    print(f"{'':18}{'m':>2} {'mean':>8} {'min':>8} {'max':>8}   each run")
    for k, (name, scale) in enumerate(zip(names, (100.0, 1.0, 1.0), strict=True)):
        for n_paths, rows in results.items():
            values = scale * np.array([row[k] for row in rows])
            each = " ".join(f"{value:.2f}" if k == 0 else f"{value:.4f}" for value in values)
            print(
                f"{name:18}{n_paths:2d} {values.mean():8.4f} {values.min():8.4f} {values.max():8.4f}   {each}"
            )


def likelihoods(fitted: PottsSegmentation) -> tuple[float, float]:
    """Return the log joint and the log density per pixel; see the top of this file."""
    model = fitted.run_.model
    assert isinstance(model, PottsModel)
    late = fitted.trace_.sweep > fitted.n_iter_ // 2
    log_joint = fitted.trace_.log_joint[late].mean()
    labels = fitted.labels_.reshape(1, -1).astype(np.uint16)
    with Threads(None) as threads:
        phi = model.mean_parameters(model.count(labels, threads), threads)
        log_density = model.log_densities(labels, phi, threads)[0]
    return float(log_joint) / model.n_sites, float(log_density) / model.n_sites


def main() -> None:
    """Run the example."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-o", "--output", type=Path, default=Path("pictures"), help="folder of the picture")
    parser.add_argument("--side", type=int, default=256, help="rows and columns of the picture")
    parser.add_argument(
        "--noise", type=float, default=0.65, help="standard deviation of the noise; grey values are 1 apart"
    )
    parser.add_argument("--coupling", type=float, default=1.0, help="how strongly neighbours tend to agree")
    parser.add_argument("--sweeps", type=int, default=200, help="sweeps of five paths")
    parser.add_argument("--seed", type=int, default=0, help="seed of the random numbers")
    parser.add_argument("--runs", type=int, default=0, help="number of runs to compare one path with five")
    options = parser.parse_args()

    truth = regions(options.side)
    noise = np.random.default_rng(options.seed).normal(scale=options.noise, size=truth.shape)
    image = truth + noise
    by_mixture = matched(segment_by_mixture(image, options.seed), truth)
    fitted = segment_by_field(image, options.coupling, 5, options.sweeps, options.seed)
    by_field = matched(fitted.labels_, truth)
    errors = {
        "single pixels, phi known": np.mean(best_of_single_pixels(image, truth, options.noise) != truth),
        "mixture": wrong(by_mixture, truth),
        "Potts field": wrong(by_field, truth),
    }
    print(f"{truth.size} pixels, {N_LABELS} labels, noise {options.noise:g}, grey values 1 apart")
    for name, error in errors.items():
        print(f"{name:25} {error:6.1%} of the pixels wrong")

    options.output.mkdir(parents=True, exist_ok=True)
    path = options.output / "potts.png"
    panels = {
        "Truth": (truth, True),
        "Observed, with noise": (image, False),
        f"Mixture: {errors['mixture']:.1%} wrong": (by_mixture, True),
        f"Potts field: {errors['Potts field']:.1%} wrong": (by_field, True),
    }
    draw(panels, path)
    print(f"wrote {path}")
    if options.runs:
        compare_paths(image, truth, options)
        fits = [
            segment_by_field(image, options.coupling, 5, options.sweeps, seed) for seed in range(options.runs)
        ]
        each = " ".join(f"{100 * wrong(fit.labels_, truth):.2f}" for fit in fits)
        print(f"wrong pixels, %, with five paths and the best of five starts: {each}")


if __name__ == "__main__":
    main()
