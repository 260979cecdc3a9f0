"""Runs with paths that a test gives."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import plait


def run_with(corpus, path, n_topics=2, alpha=0.5):
    """Return a run with one path that is given."""
    run = plait.sample(plait.LdaModel(corpus, n_topics, alpha, 0.1), n_paths=1, n_sweeps=1, n_jobs=1)
    return replace(run, paths=np.array([path], np.uint16))
