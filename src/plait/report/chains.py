"""The data of a report on a factorial hidden Markov model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from plait.models.factorial import FactorialHmmModel
from plait.report.certainty import most_common_topics
from plait.report.emissions import MOST_FEATURES, feature_name
from plait.report.latent import StateWords, latent_parts
from plait.report.packing import rounded
from plait.report.page import Page
from plait.report.sequences import kept_lengths, sequences_block
from plait.run import Run
from plait.threads import use_threads


def chains_pages(run: Run, *, title: str, path: Path, n_jobs: int | None = None) -> Iterator[Page]:
    """Yield the page of a report on a factorial hidden Markov model.

    Chains and their states have the numbers of `plait.FactorialHMM`: chains are ordered by what they
    contribute. Its blocks are "main" (see `plait.report.latent.latent_parts`), with "chains": "features",
    "intercept" (D,), "means" (K, S, D), "shares" (K, S), "transitions" (K, S, S), "deviations" (D,) of the
    noise and "agreement" (K,) or None; and "sequences" (see `plait.report.sequences`), whose states have a
    column for each chain, and whose probabilities are the shares of the paths that agree.
    """
    best = run.best
    model = best.model
    assert isinstance(model, FactorialHmmModel)
    n_chains, _, n_features = model.shape
    with use_threads(n_jobs) as threads:
        counts = model.count(best.paths, threads)
        parameters = best.parameters(threads)
    shares = model.shares(counts)
    order, states = model.canonical_order(parameters, shares)
    shares = np.take_along_axis(shares[order], states, axis=1)
    intercept, parameters = parameters.permuted(order, states).centred(shares)
    numbers = np.argsort(states, axis=1)
    paths = best.paths.reshape(len(best.paths), n_chains, -1)
    common = most_common_topics(best.paths).reshape(n_chains, -1)
    agreement = (paths == common).mean(axis=0)[order]
    shown = numbers[np.arange(n_chains)[:, None], common[order]].T
    words = StateWords("factorial hidden Markov model", "state", "states")
    flat = agreement.ravel() if len(best.paths) > 1 else None
    main = latent_parts(run, shown.T.ravel(), words, title=title, certainty=flat)
    main |= {"certainty_of": None if flat is None else "paths", "has_sequences": True}
    covariance = parameters.covariance
    variances = np.diagonal(covariance) if covariance.ndim == 2 else covariance
    kept_features = min(n_features, MOST_FEATURES)
    main["chains"] = {
        "features": [feature_name(model.sequences, d) for d in range(kept_features)],
        "n_features": n_features,
        "intercept": rounded(intercept[:kept_features]),
        "means": rounded(parameters.means[:, :, :kept_features]),
        "shares": rounded(shares),
        "transitions": rounded(parameters.transitions),
        "deviations": rounded(np.sqrt(variances[:kept_features])),
        "agreement": rounded(agreement.mean(axis=1)) if len(best.paths) > 1 else None,
    }
    sequences = model.sequences
    kept = kept_lengths(sequences, 2 * n_chains, False)
    positions = np.arange(sequences.n_sites) - np.repeat(sequences.offsets[:-1], sequences.lengths)
    is_kept = positions < np.repeat(kept, sequences.lengths)
    block = sequences_block(sequences, kept, shown[is_kept], agreement.T[is_kept])
    yield Page(path, {"main": main, "sequences": block})
