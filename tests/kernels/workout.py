"""A short run of every kernel; prints the results. See test_interpreted.py."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterable
from dataclasses import replace
from unittest.mock import patch

import numpy as np

from plait.data.corpus import Corpus
from plait.data.sequences import Sequences
from plait.evaluate.agreement import token_agreement
from plait.evaluate.heldout import complete_documents, score_left_to_right
from plait.evaluate.topic_coherence import coherence
from plait.models import chain, lda_collapsed
from plait.models.anchors import anchor_topics
from plait.models.emissions import (
    COVARIANCES,
    BernoulliEmissions,
    CategoricalEmissions,
    GaussianEmissions,
    GaussianMixtureEmissions,
    MultinomialEmissions,
    PoissonEmissions,
    mixed_emissions,
)
from plait.models.factorial import FactorialHmmModel
from plait.models.hmm import HmmModel
from plait.models.lda import LdaModel
from plait.models.mixture import MixtureModel
from plait.models.potts import PottsModel
from plait.plans import Plan, Stage
from plait.rng import gamma, new_stream, normal, open_stream
from plait.sampler import sample
from plait.threads import Threads

N_WORDS = 12
N_TOPICS = 40  # more than one block of the table of shared weights


def corpus() -> Corpus:
    generator = np.random.default_rng(5)
    lengths = np.array([7, 0, 1, 9, 12])
    words = generator.integers(0, N_WORDS, lengths.sum())
    return Corpus(words, np.append(0, np.cumsum(lengths)), tuple(f"w{i}" for i in range(N_WORDS)))


def digest(array: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:16]


def rounded(array: np.ndarray) -> list[float]:
    return [round(float(f"{x:.10g}"), 6) for x in np.ravel(array)]


def chain_models() -> dict[str, HmmModel]:
    """Return hidden Markov models for all kernels: few states and more, symbols and values, some missing."""
    generator = np.random.default_rng(6)
    lengths = [1, 24, 2, 13]
    n = sum(lengths)
    symbols = Sequences.from_symbols(generator.integers(-1, 2, n), lengths, missing=True)
    values = generator.normal(size=(n, 2)) * 3
    counts = generator.poisson(2.0, (n, 2)).astype(float)
    values[4] = counts[7] = np.nan
    numbers = Sequences.from_values(values, lengths, missing=True)
    models = {
        "symbols": HmmModel(CategoricalEmissions(symbols, 2)),
        "symbols, 6 states": HmmModel(CategoricalEmissions(symbols, 6)),
        "counts": HmmModel(PoissonEmissions(Sequences.from_values(counts, lengths, missing=True), 2)),
        "outlier": HmmModel(
            GaussianEmissions(Sequences.from_values([[0.0], [1e6], [0.1], [-1e6]]), 2, covariance="tied"),
            transition_prior=[[1, 1], [0, 1]],
        ),
    }
    for covariance in COVARIANCES:
        models[covariance] = HmmModel(GaussianEmissions(numbers, 2, covariance=covariance))
    models["mixtures"] = HmmModel(GaussianMixtureEmissions(numbers, 2, 2))
    families = [((0,), "vonmises", {}), ((1,), "student", {})]
    models["mixed"] = HmmModel(
        mixed_emissions(Sequences.from_values(np.sin(values), lengths, missing=True), 2, families)
    )
    return models


def work_out_fields(results: dict[str, object]) -> None:
    generator = np.random.default_rng(7)
    values = generator.normal(size=24)
    values[5] = np.nan
    numbers = Sequences.from_values(values, missing=True)
    symbols = Sequences.from_symbols(generator.integers(-1, 3, 24), missing=True)
    models = {
        "4": PottsModel(GaussianEmissions(numbers, 3), (4, 6)),
        "8": PottsModel(CategoricalEmissions(symbols, 6), (6, 4), 0.5, 8),
        "6": PottsModel(CategoricalEmissions(symbols, 2), (2, 3, 4), 0.6),
        "26": PottsModel(GaussianEmissions(numbers, 9), (2, 3, 4), 0.2, 26),
    }
    with Threads(1) as threads:
        for name, model in models.items():
            run = sample(model, n_paths=3, n_sweeps=3, seed=13, n_jobs=1)
            totals = np.zeros((24, model.n_states), np.uint32)
            model.add_label_counts(run.paths, totals, threads)
            results[f"field, {name}"] = [digest(run.paths), digest(totals)]
            results[f"field, {name}, log joint"] = rounded(run.trace.log_joint[-1])


def work_out_chains(results: dict[str, object]) -> None:
    with Threads(1) as threads:
        for long in (chain._LONG, 10):  # the usual value, and one with sequences filtered from both ends
            usual, chain._LONG = chain._LONG, long
            try:
                for name, given in chain_models().items():
                    for blocked in (True, False) if long > 10 else (True,):
                        model = replace(given, blocked=blocked)
                        run = sample(model, n_paths=3, n_sweeps=3, seed=10, n_jobs=1)
                        results[f"{name}, {blocked}, {long}"] = digest(run.paths)
                        results[f"{name}, {blocked}, {long}, log joint"] = rounded(run.trace.log_joint[-1])
            finally:
                chain._LONG = usual
        for name, model in chain_models().items():
            if name.startswith("symbols"):
                run = sample(model, n_paths=3, n_sweeps=4, seed=11, collapsed=True, n_jobs=1)
                results[f"{name}, collapsed"] = digest(run.paths)
            paths = model.initial_paths(2, 12, threads)
            results[f"{name}, first"] = digest(paths)
            phi = model.mean_parameters(model.count(paths, threads), threads)
            counts, _ = model.expected_counts(phi, threads)
            best, _ = model.best_paths(phi, threads)
            results[f"{name}, best"] = digest(best)
            results[f"{name}, expected"] = rounded(counts.pairs) + rounded(counts.emissions)
            results[f"{name}, posteriors"] = rounded(model.posteriors(phi, threads)[0])
            results[f"{name}, likelihoods"] = rounded(model.log_likelihoods(phi, threads))


def mixture_models() -> dict[str, MixtureModel]:
    """Return mixtures for all kernels, with missing observations and an empty document."""
    generator = np.random.default_rng(7)
    values = generator.normal(size=(40, 2)) * 3
    counts = generator.poisson(1.5, (40, 3)).astype(float)
    documents = counts.copy()
    documents[3] = 0.0
    values[4] = counts[7] = np.nan
    bits = np.where(np.isnan(counts), np.nan, counts > 1)
    numbers = Sequences.from_values(values, missing=True)
    models = {
        "mixture of counts": PoissonEmissions(Sequences.from_values(counts, missing=True), 3),
        "mixture of bits": BernoulliEmissions(Sequences.from_values(bits, missing=True), 3),
        "mixture of documents": MultinomialEmissions(documents, 3),
    }
    for covariance in COVARIANCES:
        models[f"mixture, {covariance}"] = GaussianEmissions(numbers, 3, covariance=covariance)
    return {name: MixtureModel(emissions, [1.0, 0.5, 2.0]) for name, emissions in models.items()}


def work_out_mixtures(results: dict[str, object]) -> None:
    with Threads(1) as threads:
        for name, model in mixture_models().items():
            for collapsed in (False, True) if name != "mixture, tied" else (False,):
                run = sample(model, n_paths=3, n_sweeps=3, seed=13, collapsed=collapsed, n_jobs=1)
                results[f"{name}, {collapsed}"] = digest(run.paths)
                results[f"{name}, {collapsed}, log joint"] = rounded(run.trace.log_joint[-1])
            phi = model.mean_parameters(model.count(run.paths, threads), threads)
            counts, _ = model.expected_counts(phi, threads)
            results[f"{name}, expected"] = rounded(counts.states) + rounded(counts.emissions)
            results[f"{name}, posteriors"] = rounded(model.posteriors(phi, threads)[0])
            results[f"{name}, likelihoods"] = rounded(model.log_likelihoods(phi, threads))


def work_out_factorial(results: dict[str, object]) -> None:
    """Run factorial HMMs: chains drawn one and two at a time, forbidden transitions, missing values."""
    values = np.random.default_rng(8).normal(size=(30, 2))
    values[5] = np.nan
    sequences = Sequences.from_values(values, [20, 10], missing=True)
    models = {
        "diag": FactorialHmmModel(sequences, 3, 2, search=1),
        "full": FactorialHmmModel(sequences, 2, 9, covariance="full", search=0),
        "forbidden": FactorialHmmModel(sequences, 2, 2, transition_prior=[[1, 1], [0, 1]], search=0),
    }
    with Threads(1) as threads:
        for name, model in models.items():
            run = sample(model, n_paths=2, n_sweeps=3, seed=14, n_jobs=1)
            phi = model.mean_parameters(model.count(run.paths, threads), threads)
            counts = np.zeros((model.n_sites, model.n_states), np.uint32)
            model.add_states(run.paths, counts)
            results[f"chains, {name}"] = digest(run.paths) + digest(counts)
            results[f"chains, {name}, log joint"] = rounded(run.trace.log_joint[-1])
            results[f"chains, {name}, likelihoods"] = rounded(model.log_likelihoods(phi, threads))


def work_out_topics(results: dict[str, object]) -> None:
    eta = np.full((N_TOPICS, N_WORDS), 0.1)
    eta[3, 2] = 5.0
    alpha = np.linspace(0.05, 1.5, N_TOPICS)
    for collapsed in (False, True):
        model = LdaModel(corpus(), N_TOPICS, alpha, eta)
        run = sample(model, n_paths=3, n_sweeps=4, seed=9, collapsed=collapsed, n_jobs=1)
        name = "collapsed" if collapsed else "partially collapsed"
        results[name] = digest(run.paths)
        results[f"{name}, log joint"] = [round(float(x), 6) for x in run.trace.log_joint[-1]]
        results[f"{name}, agreement"] = digest(token_agreement(run.paths))
    for n_topics in (8, 20, 83, 900):  # unrolled, all topics weighed, by vectors, by bounds
        many = LdaModel(corpus(), n_topics)
        results[f"{n_topics} topics"] = digest(
            sample(many, n_paths=2, n_sweeps=3, collapsed=True, n_jobs=1).paths
        )
    with patch.dict(lda_collapsed._PARTITIONS, {2: 2}):
        parts = LdaModel(corpus(), N_TOPICS, alpha, eta)
    plan = Plan([Stage("partitioned", 2, 3)])
    results["partitioned"] = digest(sample(parts, n_paths=plan, n_jobs=1).paths)
    for initial in ("progressive", "spectral"):
        first = LdaModel(corpus(), N_TOPICS, alpha, eta, initial=initial)
        with Threads(1) as threads:
            results[initial] = digest(first.initial_paths(3, 15, threads))
    again = Corpus(np.tile(corpus().words, 9), np.arange(0, 262, 9), corpus().vocabulary)
    with Threads(1) as threads:
        found = anchor_topics(again, 4, np.random.default_rng(3), threads)
    results["anchors"] = [len(found), *rounded(found.sum(axis=0))]
    few = LdaModel(Corpus(np.array([0, 1]), np.array([0, 2]), ("a", "b")), N_TOPICS)
    results["empty topics"] = digest(sample(few, n_paths=1, n_sweeps=2, n_jobs=1).paths)
    with Threads(1) as threads:
        topics = model.mean_parameters(model.count(run.paths, threads), threads)
    results["held out"] = round(complete_documents(corpus(), topics, alpha).log_likelihood, 6)
    results["left to right"] = rounded(
        score_left_to_right(corpus(), topics, alpha, n_particles=4).document_scores
    )
    for forgetful in (False, True):
        counted = coherence(run, corpus(), measure="c_npmi", window=3, top=4, forgetful=forgetful)
        results[f"coherence, {forgetful}"] = rounded(counted.per_topic)
    totals = np.zeros((5, N_TOPICS))
    model.add_document_counts(run.paths, totals)
    results["documents"] = digest(totals)
    stream = new_stream()
    open_stream(stream, 1, 2, 3, 4)
    results["normal"] = [round(float(normal(stream)), 9) for _ in range(40)]
    results["gamma"] = [round(float(gamma(stream, shape)), 9) for shape in (0.01, 0.5, 1.0, 30.0) * 10]


PARTS = {
    "topics": work_out_topics,
    "chains": work_out_chains,
    "fields": work_out_fields,
    "mixtures": work_out_mixtures,
    "factorial": work_out_factorial,
}


def workout(parts: Iterable[str] = PARTS) -> dict[str, object]:
    """Run everything once; return digests of integers, and rounded real numbers."""
    results: dict[str, object] = {}
    for part in parts:
        PARTS[part](results)
    return results


if __name__ == "__main__":
    print(json.dumps(workout(sys.argv[1:] or PARTS)))
