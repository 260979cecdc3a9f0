"""Measurements that are not part of the public interface.

`plait.Run.parameters` returns the point estimate of a finished run. The experiments also follow it along a
run, when there are paths but no `Run`. Both must be computed in the same way, so that the last value along a
run is its result to the last bit. Each job runs on one thread, because jobs run side by side.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from plait.em import maximise
from plait.models.chain import HmmParameters
from plait.models.hmm import HmmModel
from plait.models.lda import LdaModel
from plait.models.model import Paths
from plait.rng import INITIAL, Key
from plait.threads import Threads

_ONE_THREAD: Final = Threads(1)


def estimate_topics(model: LdaModel, paths: Paths) -> NDArray[np.float64]:
    """Return the mean of phi given all paths, (T, W), in double precision."""
    return model.topic_word(model.count(paths, _ONE_THREAD))


def estimate_parameters(model: HmmModel, paths: Paths) -> HmmParameters:
    """Return the mean of phi given all paths."""
    return model.mean_parameters(model.count(paths, _ONE_THREAD), _ONE_THREAD)


def log_likelihood(model: HmmModel, parameters: HmmParameters) -> float:
    """Return log P(w | phi)."""
    return model.log_likelihood(parameters, _ONE_THREAD)


def log_joint(model: HmmModel, path: Paths, parameters: HmmParameters) -> float:
    """Return log P(p, w | phi) of a single path, (1, N)."""
    return float(model.log_joint(path, parameters, _ONE_THREAD)[0])


def initial_parameters(model: HmmModel, seed: int) -> HmmParameters:
    """Return the random parameters from which a run with this seed draws its initial paths."""
    return model.first_parameters(Key(seed, INITIAL))


def run_em(
    model: HmmModel, parameters: HmmParameters, n_iterations: int, report: Callable[[float], bool]
) -> HmmParameters:
    """Return parameters improved by EM.

    Parameters
    ----------
    model : HmmModel
        The model and its data.
    parameters : HmmParameters
        Initial parameters of EM.
    n_iterations : int
        Maximum number of iterations.
    report : callable
        Called in every iteration with log P(w | phi) before its M step; a true result ends EM.
    """
    return maximise(model, parameters, n_iterations, report, _ONE_THREAD)
