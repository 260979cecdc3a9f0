"""Kernel that draws the components of observations in mixtures, given the states of paths."""

from __future__ import annotations

import numpy as np

from plait.jit import kernel, local_array
from plait.rng import COMPLETIONS, open_stream, uniform


@kernel
def draw_labels(first, last, logs, n_components, paths, labels, key):
    """Set `labels` (m, n) to state times K plus the component of each observation in each path.

    `logs` (n, S K) holds the log of weight times density, up to a constant for each observation; its row 0 is
    the site `first`. The stream of an observation serves all paths, one after another.
    """
    stream = local_array(2, np.uint64)
    for i in range(first, last):
        open_stream(stream, key.seed, key.sweep, COMPLETIONS, i)
        for j in range(paths.shape[0]):
            start = np.int64(paths[j, i]) * n_components
            top = -np.inf
            for k in range(start, start + n_components):
                top = max(top, logs[i - first, k])
            total = 0.0
            for k in range(start, start + n_components):
                total += np.exp(logs[i - first, k] - top)
            rest = uniform(stream) * total
            chosen = start
            for k in range(start, start + n_components):
                weight = np.exp(logs[i - first, k] - top)
                if weight > 0.0:
                    chosen = k
                    rest -= weight
                    if rest <= 0.0:
                        break
            labels[j, i - first] = chosen
