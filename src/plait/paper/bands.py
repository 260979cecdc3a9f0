"""The synthetic topics, and the distance of a run from them: shared by `table1` and `ablation`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from plait.data.synthetic import Bands
from plait.datasets import bands
from plait.models.lda import LdaModel
from plait.paper.internals import estimate_topics
from plait.paper.results import Row
from plait.sampler import Progress

WIDTH: Final = 19
"""Words in a band: its centre and nine on either side."""

PRIOR: Final = 1.0
"""alpha and eta."""

SECONDS_PER_UPDATE: Final = {"collapsed": 31e-9, "partially collapsed": 70e-9}
"""Expected time of one update of one token in one path, by sampler."""


@functools.lru_cache(maxsize=64)
def band_data(n_documents: int, seed: int) -> Bands:
    """Return a data set: the true topics and the documents drawn from them."""
    return bands(n_documents, seed=seed, width=WIDTH)


def band_model(truth: Bands) -> LdaModel:
    """Return the model of a data set, with the priors of the experiment."""
    return LdaModel(truth.corpus, len(truth.topics), alpha=PRIOR, eta=PRIOR)


def distance_along(model: LdaModel, truth: Bands) -> Callable[[Progress], float]:
    """Return a function that measures the distance to the true topics after a sweep."""
    return lambda progress: distance(truth.topics, estimate_topics(model, progress.state.paths))


def distance_after(row: Row, sweep: float) -> float:
    """Return the last distance measured in a run up to some sweep, NaN if there is none."""
    return next((float(value) for at, value in reversed(row["course"]) if at <= sweep), float("nan"))


def distance(truth: NDArray[np.float64], found: NDArray[np.float64]) -> float:
    """Return the mean over true topics of the L1 distance to the nearest topic found."""
    return float(_distances(truth, found).min(axis=1).mean())


def nearest_topics(truth: NDArray[np.float64], found: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the nearest topic found for each true topic."""
    return found[_distances(truth, found).argmin(axis=1)]


def _distances(truth: NDArray[np.float64], found: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the L1 distances, one row per true topic."""
    return np.abs(truth[:, None] - found[None]).sum(axis=2)
