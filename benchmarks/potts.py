"""Speed of hidden Potts fields compared with checkerboard samplers in NumPy.

Prints millions of updates per second; an update draws one label of one path. The time is that of whole
sweeps: counting, drawing phi, the densities of the pixels and the labels. Contestants take turns, and the
best turn of each is shown, because other work on a shared machine can only slow it down. On a very busy
machine, the processor time per update, over all threads, is more reliable.

There are two NumPy samplers of the same model. The plain one works on whole pictures and keeps the new labels
of one colour. The tuned one cuts the picture into lattices of a single colour, allocates its arrays once, in
single precision, and stores a label in one byte. NumPy uses one thread, but releases the GIL, so the tuned
sampler can draw paths on several threads.

    make bench
    python benchmarks/potts.py --turns 9 --side 1024
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from plait.data.sequences import Sequences
from plait.models.emissions import GaussianEmissions
from plait.models.potts import PottsModel
from plait.plans import Settings
from plait.sampler import State, step
from plait.threads import Threads

COUPLING = 1.0


@dataclass
class Contestant:
    """A function to time, and the wall-clock and processor seconds of each call."""

    work: Callable[[], object]
    n_updates: int
    error: Callable[[], float]
    seconds: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)

    def take_turn(self) -> None:
        """Do the work once and record the seconds."""
        start, worked = time.perf_counter(), time.process_time()
        self.work()
        self.seconds.append(time.perf_counter() - start)
        self.processor.append(time.process_time() - worked)

    @property
    def speed(self) -> float:
        """Millions of updates per second, at best."""
        return self.n_updates / min(self.seconds) / 1e6

    @property
    def cost(self) -> float:
        """Nanoseconds of processor time per update, at best."""
        return min(self.processor) / self.n_updates * 1e9


def compete(contestants: dict[str, Contestant], turns: int) -> None:
    for contestant in contestants.values():
        contestant.work()  # compiles, and warms up
    for _ in range(turns):
        for contestant in contestants.values():
            contestant.take_turn()


def picture(side: int, n_labels: int) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return a picture of wavy stripes with noise, and the stripes."""
    y, x = np.mgrid[:side, :side] / side
    waves = 0.5 + 0.25 * np.sin(9 * x + 4 * y) + 0.25 * np.sin(7 * y - 5 * x)
    truth = np.minimum((waves * n_labels).astype(np.intp), n_labels - 1)
    return truth + np.random.default_rng(0).normal(scale=0.7, size=truth.shape), truth


class PlainSampler:
    """Algorithm 1 for a picture with 4 neighbours and normal emissions, in NumPy.

    The array of labels has a margin with a label that does not exist.
    """

    def __init__(self, image: NDArray[np.float64], n_labels: int, n_paths: int) -> None:
        self.image = image
        self.n_labels = n_labels
        self.centre = image.mean()
        self.values = (image - self.centre).ravel()
        self.squares = self.values**2
        self.prior = (0.0, 0.01, 0.01 * image.var(), 3.0)
        self.rng = np.random.default_rng(n_paths)
        self.labels = np.full((n_paths, *np.add(image.shape, 2)), 255, np.uint8)
        self.labels[:, 1:-1, 1:-1] = self.rng.integers(0, n_labels, (n_paths, *image.shape))
        self.table = np.exp(COUPLING * np.arange(5))
        self.colours = np.add.outer(*map(np.arange, image.shape)) % 2

    def sweep(self) -> None:
        """Make one sweep."""
        means, variances = self.draw_parameters(sum(map(self.count, range(len(self.labels)))))
        logs = -0.5 * ((self.image - means[:, None, None]) ** 2 / variances[:, None, None])
        logs -= 0.5 * np.log(variances)[:, None, None]
        densities = np.exp(logs - logs.max(axis=0))
        for labels in self.labels:
            for colour in (0, 1):
                same = labels == np.arange(self.n_labels, dtype=np.uint8)[:, None, None]
                same = same.view(np.uint8)
                n = same[:, :-2, 1:-1] + same[:, 2:, 1:-1] + same[:, 1:-1, :-2] + same[:, 1:-1, 2:]
                steps = np.cumsum(densities * self.table[n], axis=0)
                drawn = (self.rng.random(self.image.shape) * steps[-1] >= steps[:-1]).sum(axis=0)
                np.copyto(labels[1:-1, 1:-1], drawn, where=self.colours == colour, casting="unsafe")

    def count(self, j: int) -> NDArray[np.float64]:
        """Return count, sum and sum of squares of the pixels with each label of a path."""
        labels = self.labels[j, 1:-1, 1:-1].ravel()
        every = (None, self.values, self.squares)
        return np.stack([np.bincount(labels, weights, self.n_labels) for weights in every])

    def draw_parameters(self, sums: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Draw means and variances given the sums over all paths."""
        mean, weight, scale, degrees = self.prior
        n, x, xx = sums
        precise = weight + n
        centre = (weight * mean + x) / precise
        scatter = scale + xx + weight * mean**2 - precise * centre**2
        variances = scatter / (2 * self.rng.gamma((degrees + n) / 2))
        means = self.rng.normal(centre, np.sqrt(variances / precise)) + self.centre
        return means, variances


class TunedSampler(PlainSampler):
    """The same sampler, tuned as far as NumPy allows.

    The checkerboard is cut into four lattices of every other row and column, two of each colour, so that all
    work is on dense arrays of one colour. Each path has its own buffers.
    """

    def __init__(self, image: NDArray[np.float64], n_labels: int, n_paths: int, n_jobs: int) -> None:
        super().__init__(image, n_labels, n_paths)
        self.rngs = [np.random.Generator(np.random.SFC64(j)) for j in range(n_paths)]
        self.table = self.table.astype(np.float32)
        self.pool = ThreadPoolExecutor(n_jobs)
        self.lattices = [(0, 0), (1, 1), (0, 1), (1, 0)]  # two of one colour, then two of the other
        self.pixels = {at: image[at[0] :: 2, at[1] :: 2].astype(np.float32) for at in self.lattices}
        self.buffers = [
            {at: self._buffers(self.pixels[at].shape, n_labels) for at in self.lattices} for _ in self.rngs
        ]

    @staticmethod
    def _buffers(shape: tuple[int, ...], n_labels: int) -> tuple[NDArray[np.float32], ...]:
        one, byte = np.empty(shape, np.float32), np.empty(shape, np.uint8)
        return np.empty((n_labels, *shape), np.float32), one, byte, np.empty(shape, bool)

    def sweep(self) -> None:
        """Make one sweep."""
        paths = range(len(self.labels))
        means, variances = self.draw_parameters(sum(self.pool.map(self.count, paths)))
        weights = dict(self.pool.map(lambda at: (at, self.weigh(at, means, variances)), self.lattices))
        list(self.pool.map(lambda j: self.draw_labels(j, weights), paths))

    def weigh(
        self, at: tuple[int, int], means: NDArray[np.float64], variances: NDArray[np.float64]
    ) -> NDArray[np.float32]:
        """Return the densities on a lattice, one plane per label, relative to the largest of each pixel."""
        logs = self.pixels[at][None] - means.astype(np.float32)[:, None, None]
        np.multiply(logs, logs, out=logs)
        logs *= (-0.5 / variances).astype(np.float32)[:, None, None]
        logs -= (0.5 * np.log(variances)).astype(np.float32)[:, None, None]
        logs -= logs.max(axis=0)
        return np.exp(logs, out=logs)

    def draw_labels(self, j: int, weights: dict[tuple[int, int], NDArray[np.float32]]) -> None:
        """Draw all labels of a path, one lattice at a time."""
        labels, rng = self.labels[j], self.rngs[j]
        for at in self.lattices:
            densities = weights[at]
            steps, x, count, same = self.buffers[j][at]
            rows, columns = x.shape
            around = [
                labels[1 + at[0] + y : 1 + at[0] + y + 2 * rows : 2, 1 + at[1] + z :: 2][:, :columns]
                for y, z in ((-1, 0), (1, 0), (0, -1), (0, 1))
            ]
            for s in range(self.n_labels):
                np.equal(around[0], s, out=count.view(bool))
                for beside in around[1:]:
                    np.equal(beside, s, out=same)
                    count += same
                np.take(self.table, count, out=steps[s], mode="clip")
                steps[s] *= densities[s]
                if s:
                    steps[s] += steps[s - 1]
            rng.random(out=x, dtype=np.float32)
            x *= steps[-1]
            np.greater_equal(x, steps[0], out=count.view(bool))
            for s in range(1, self.n_labels - 1):
                np.greater_equal(x, steps[s], out=same)
                count += same
            labels[1 + at[0] : 1 + at[0] + 2 * rows : 2, 1 + at[1] :: 2][:, :columns] = count


def numpy_sampler(sampler: PlainSampler, truth: NDArray[np.intp]) -> Contestant:
    n_paths = len(sampler.labels)

    def error() -> float:
        return wrong_share(sampler.labels[:, 1:-1, 1:-1].reshape(n_paths, -1), sampler.image, truth)

    return Contestant(sampler.sweep, n_paths * truth.size, error)


def plait_sampler(image: NDArray[np.float64], truth: NDArray[np.intp], m: int, n_jobs: int) -> Contestant:
    emissions = GaussianEmissions(Sequences.from_values(image.reshape(-1, 1)), int(truth.max()) + 1)
    model = PottsModel(emissions, image.shape, COUPLING)
    settings = Settings(n_paths=m, n_sweeps=1, seed=0, collapsed=False, thin=1)
    threads = Threads(n_jobs)
    state = State(0, model.initial_paths(m, settings.seed, threads))

    def sweep() -> None:
        nonlocal state
        state = step(model, state, settings, threads)

    return Contestant(sweep, m * image.size, lambda: wrong_share(state.paths, image, truth))


def wrong_share(paths: NDArray[np.integer], image: NDArray[np.float64], truth: NDArray[np.intp]) -> float:
    """Return the share of wrong labels, with labels ordered by the means of their pixels."""
    n_labels = truth.max() + 1
    sizes = np.bincount(paths.ravel(), minlength=n_labels)
    sums = np.bincount(paths.ravel(), np.tile(image.ravel(), len(paths)), n_labels)
    order = np.argsort(np.argsort(sums / np.maximum(sizes, 1)))
    return float(np.mean(order[paths] != truth.ravel()))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--side", type=int, default=1024, help="rows and columns of the picture")
    parser.add_argument("--labels", type=int, default=4, help="number of labels")
    parser.add_argument("--paths", type=int, default=5, help="number of paths")
    parser.add_argument("--sweeps", type=int, default=30, help="sweeps before the turns")
    parser.add_argument("--turns", type=int, default=9, help="turns of each contestant")
    options = parser.parse_args()

    image, truth = picture(options.side, options.labels)
    how = (image, options.labels, options.paths)
    contestants = {
        "NumPy, plain": numpy_sampler(PlainSampler(*how), truth),
        "NumPy, tuned": numpy_sampler(TunedSampler(*how, 1), truth),
        "NumPy, tuned, two threads": numpy_sampler(TunedSampler(*how, 2), truth),
        "plait, one thread": plait_sampler(image, truth, options.paths, 1),
        "plait, two threads": plait_sampler(image, truth, options.paths, 2),
    }
    for contestant in contestants.values():
        for _ in range(options.sweeps):
            contestant.work()
    compete(contestants, options.turns)

    print(
        f"Sweeps of a picture of {options.side} x {options.side} pixels: {options.labels} labels, normal"
        f" emissions, 4 neighbours, coupling {COUPLING:g}, m = {options.paths}"
    )
    print(
        f"{'':26} {'million updates':>16} {'times NumPy,':>13} {'times NumPy,':>13} {'processor time':>15}"
        f" {'wrong':>7}\n{'':26} {'per second':>16} {'plain':>13} {'tuned':>13} {'ns per update':>15}"
        f" {'labels':>7}"
    )
    plain, tuned = contestants["NumPy, plain"].speed, contestants["NumPy, tuned"].speed
    for name, contestant in contestants.items():
        speed = contestant.speed
        print(
            f"{name:26} {speed:16.1f} {speed / plain:13.1f} {speed / tuned:13.1f} {contestant.cost:15.1f}"
            f" {contestant.error():7.1%}"
        )


if __name__ == "__main__":
    main()
