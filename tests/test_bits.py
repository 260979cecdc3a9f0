"""Every sampler draws what it has always drawn: the same seed, the same bits.

`bits.json` holds a digest of the paths after a few sweeps of every model and sampler, and the log-likelihoods
along them. A change that is not meant to change a sampler must leave it as it is. One that is meant to writes
it again, with the reason in the commit:

    python tests/test_bits.py

Paths are compared bit for bit. Real numbers are compared to nine digits, because the last bits of a sum
depend on how many terms a processor adds at once.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import plait
from plait.models.emissions import mixed_emissions

STORED = Path(__file__).with_name("bits.json")

Case = Callable[[], dict[str, Any]]
CASES: dict[str, Case] = {}


def case(name: str, function: Callable[..., dict[str, Any]], *args: Any, **options: Any) -> None:
    assert name not in CASES
    CASES[name] = lambda: function(*args, **options)


def digest(array: Any) -> str:
    return hashlib.sha256(np.ascontiguousarray(array, dtype="<i8").tobytes()).hexdigest()[:16]


def numbers(array: Any) -> list[float]:
    """Return a few sums that change when any of the numbers does."""
    flat = np.ravel(np.asarray(array, np.float64))
    return [float(flat.sum()), float(flat @ np.cos(np.arange(flat.size)))]


def sampled(model: Any, n_paths: int, collapsed: bool, n_sweeps: int = 4) -> dict[str, Any]:
    run = plait.sample(
        model, n_paths=n_paths, n_sweeps=n_sweeps, seed=7, collapsed=collapsed, thin=1, n_jobs=2
    )
    return {"paths": digest(run.paths), "log_joint": numbers(run.trace.log_joint)}


def of_model(make: Callable[[], Any], n_paths: int, collapsed: bool = False) -> dict[str, Any]:
    return sampled(make(), n_paths, collapsed)


# -----------------------------------------------------------------------------------------------------
# Topic models
# -----------------------------------------------------------------------------------------------------


def corpus(n_documents: int = 60, n_words: int = 40) -> plait.Corpus:
    rng = np.random.default_rng(1)
    lengths = rng.integers(0, 60, n_documents)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    centre = np.repeat(rng.integers(0, n_words, n_documents), lengths)
    words = (centre + rng.poisson(3, offsets[-1])) % n_words
    return plait.Corpus(words.astype(np.int32), offsets, tuple(f"w{w}" for w in range(n_words)))


def lda(n_topics: int, seeded: bool = False) -> plait.LdaModel:
    if not seeded:
        return plait.LdaModel(corpus(), n_topics, 0.3, 0.05)
    eta = np.full((n_topics, 40), 0.01)
    eta[1, 3:6] = 2.0
    return plait.LdaModel(corpus(), n_topics, np.linspace(0.1, 1.0, n_topics), eta)


for n_topics in (3, 20, 80, 900):  # unrolled, all topics weighed, by vectors, by bounds
    for n_paths in (1, 3):
        for collapsed in (False, True):
            sampler = "collapsed" if collapsed else "partially collapsed"
            name = f"lda, {n_topics} topics, {sampler}, m = {n_paths}"
            case(name, of_model, lambda n=n_topics: lda(n), n_paths, collapsed)
for collapsed in (False, True):
    case(f"lda, seed words, collapsed {collapsed}", of_model, lambda: lda(80, True), 2, collapsed)
for initial in ("progressive", "topics"):
    case(f"lda, {initial} initialisation", of_model, lambda i=initial: started(i), 2, True)


def started(initial: str) -> plait.LdaModel:
    model = lda(20)
    phi = 1.0 + np.arange(20 * 40).reshape(20, 40) % 7
    topics = model.as_topics(phi / phi.sum(axis=1, keepdims=True))
    return replace(model, initial=topics if initial == "topics" else initial)


def fitted_topics() -> dict[str, Any]:
    estimator = plait.LatentDirichletAllocation(
        4, n_paths=3, doc_topic_prior=1.0, topic_word_prior=0.01, max_iter=8, random_state=3
    ).fit(corpus())
    more = plait.Corpus(corpus().words[:50], [0, 20, 20, 50], corpus().vocabulary)
    return {
        "paths": digest(estimator.paths_),
        "topics": numbers(estimator.topic_word_),
        "documents": numbers(estimator.doc_topic_),
        "inferred": numbers(estimator.transform(more)),
        "score": numbers(estimator.score(more)),
    }


case("LatentDirichletAllocation", fitted_topics)


def topics_in_stages() -> dict[str, Any]:
    plan = plait.Plan(
        [
            plait.Stage("partitioned", 1, 12, learn_priors=True),
            plait.Stage("partially-collapsed", (1, 3), 4),
            plait.Stage("collapsed", 1, 4, average=True),
        ]
    )
    run = plait.sample(plait.LdaModel(corpus(), 4), n_paths=plan, seed=3)
    return {
        "paths": digest(run.paths),
        "alpha": numbers(run.model.alpha_vector),
        "eta": numbers(float(run.model.eta)),
        "topics": numbers(run.parameters().topic_word),
    }


case("lda, in stages", topics_in_stages)


def judged_topics() -> dict[str, Any]:
    runs = [plait.sample(plait.LdaModel(corpus(), 4), n_paths=2, n_sweeps=8, seed=seed) for seed in (3, 4)]
    more = plait.Corpus(corpus().words[:50], [0, 20, 20, 50], corpus().vocabulary)
    whole = plait.evaluate.held_out(runs[0], more, method="left-to-right", n_particles=4)
    stability = plait.evaluate.stability(runs, top=5)
    return {
        "left to right": numbers(whole.document_scores),
        "coherence": numbers(plait.evaluate.coherence(runs[0], corpus(), measure="c_v", window=8).per_topic),
        "stability": numbers([*stability.agreement, *stability.unrelated]),
    }


case("judged topics", judged_topics)

# -----------------------------------------------------------------------------------------------------
# Hidden Markov models
# -----------------------------------------------------------------------------------------------------


def chain(n_sites: int = 600, n_states: int = 3) -> np.ndarray:
    rng = np.random.default_rng(2)
    return np.repeat(rng.integers(0, n_states, n_sites), rng.integers(1, 12, n_sites))[:n_sites]


def symbols(n_sites: int = 600) -> plait.Sequences:
    rng = np.random.default_rng(3)
    values = (2 * chain(n_sites) + rng.integers(0, 3, n_sites)) % 6
    values[n_sites // 10 : n_sites // 8] = -1
    lengths = [n_sites // 3, n_sites - n_sites // 3]
    return plait.Sequences.from_symbols(values, lengths, missing=True)


def values(n_sites: int = 600, n_features: int = 2) -> plait.Sequences:
    rng = np.random.default_rng(4)
    array = 2.0 * chain(n_sites)[:, None] + rng.normal(size=(n_sites, n_features)) * [1.0, 2.0][:n_features]
    array[n_sites // 10 : n_sites // 8] = np.nan
    return plait.Sequences.from_values(array, [n_sites // 4, n_sites - n_sites // 4], missing=True)


def counts(n_sites: int = 600) -> plait.Sequences:
    rng = np.random.default_rng(5)
    return plait.Sequences.from_values(rng.poisson(1.0 + 4.0 * chain(n_sites))[:, None].astype(float))


def hmm(emissions: Any, blocked: bool = True, left_right: bool = False) -> plait.HmmModel:
    n = emissions.n_states
    if not left_right:
        return plait.HmmModel(emissions, blocked=blocked)
    starts = (np.arange(n) == 0).astype(float)
    return plait.HmmModel(emissions, starts, np.eye(n) + np.eye(n, k=1), blocked=blocked)


for n_states in (2, 3, 7):
    for n_paths in (1, 3):
        for method in ("blocked", "single-site", "collapsed"):
            case(
                f"hmm, categorical, {n_states} states, {method}, m = {n_paths}",
                of_model,
                lambda s=n_states, b=method != "single-site": hmm(
                    plait.CategoricalEmissions(symbols(), s), b
                ),
                n_paths,
                method == "collapsed",
            )
for blocked in (True, False):
    way = "blocked" if blocked else "single-site"
    for covariance in ("spherical", "diag", "full", "tied"):
        case(
            f"hmm, gaussian, {covariance}, {way}",
            of_model,
            lambda c=covariance, b=blocked: hmm(plait.GaussianEmissions(values(), 3, covariance=c), b),
            2,
        )
    case(f"hmm, poisson, {way}", of_model, lambda b=blocked: hmm(plait.PoissonEmissions(counts(), 3), b), 2)
    case(
        f"hmm, gaussian, left-right, {way}",
        of_model,
        lambda b=blocked: hmm(plait.GaussianEmissions(values(), 5), b, left_right=True),
        2,
    )
    case(
        f"hmm, one long sequence, {way}",
        of_model,
        lambda b=blocked: hmm(plait.PoissonEmissions(counts(40000), 3), b),
        2,
    )


def walks() -> plait.Sequences:
    rng = np.random.default_rng(10)
    states = chain()
    columns = rng.gamma(3.0, 1.0 + states), rng.vonmises(states, 3.0), rng.poisson(1.0 + 4.0 * states)
    array = np.column_stack(columns).astype(float)
    array[50:60] = np.nan
    array[70, 1] = np.nan
    return plait.Sequences.from_values(array, [100, 500], missing=True)


for name, families in {
    "gamma, vonmises, negative-binomial": ("gamma", "vonmises", "negative-binomial"),
    "lognormal, student, exponential": ("lognormal", "student", "exponential"),
    "autoregressive, gaussian, poisson": ("autoregressive", "gaussian", "poisson"),
}.items():
    case(
        f"hmm, {name}",
        of_model,
        lambda f=families: hmm(mixed_emissions(walks(), 3, [((d,), f[d], {}) for d in range(3)])),
        2,
    )
for covariance in ("diag", "tied"):
    case(
        f"hmm, mixtures, {covariance}",
        of_model,
        lambda c=covariance: hmm(plait.GaussianMixtureEmissions(values(), 3, 2, covariance=c)),
        2,
    )


def nearly_forbidden() -> plait.HmmModel:
    moves = np.array([[0.9, 0.1, 0.0], [1e-250, 0.5, 0.5], [0.3, 1e-300, 0.7]])
    return plait.HmmModel(plait.CategoricalEmissions(symbols(), 3), fixed_transitions=moves)


case("hmm, transitions that need logarithms", of_model, nearly_forbidden, 2)


def fitted_chain(
    kind: str, data: Callable[[], plait.Sequences], names: str, **options: Any
) -> dict[str, Any]:
    estimator = getattr(plait, kind)(3, random_state=5, n_iter=25, **options).fit(data())
    result = {name: numbers(getattr(estimator, name)) for name in names.split()}
    result |= {"score": numbers(estimator.score(data())), "states": digest(estimator.predict(data()))}
    return result | {"paths": None if estimator.paths_ is None else digest(estimator.paths_)}


for method in ("blocked", "single-site", "em"):
    for kind, data, names in (
        ("CategoricalHMM", symbols, "startprob_ transmat_ emissionprob_"),
        ("GaussianHMM", values, "startprob_ transmat_ means_ covars_"),
        ("PoissonHMM", counts, "startprob_ transmat_ lambdas_"),
    ):
        case(f"{kind}, {method}", fitted_chain, kind, data, names, method=method, n_init=2)
case(
    "CategoricalHMM, collapsed, no polish",
    fitted_chain,
    "CategoricalHMM",
    symbols,
    "emissionprob_",
    method="collapsed",
    polish=False,
)

# -----------------------------------------------------------------------------------------------------
# Mixtures
# -----------------------------------------------------------------------------------------------------


def points() -> np.ndarray:
    rng = np.random.default_rng(6)
    return 3.0 * rng.integers(0, 4, 300)[:, None] + rng.normal(size=(300, 2))


def binary() -> np.ndarray:
    rng = np.random.default_rng(7)
    return (rng.random((300, 6)) < 0.2 + 0.6 * rng.integers(0, 2, (300, 1))).astype(float)


def bags() -> np.ndarray:
    rng = np.random.default_rng(8)
    return rng.poisson(1.0 + 2.0 * (np.arange(8) // 4 == rng.integers(0, 2, 300)[:, None])).astype(float)


MIXTURES: dict[str, Callable[[], Any]] = {
    **{
        f"gaussian, {c}": lambda c=c: plait.GaussianEmissions(
            plait.Sequences.from_values(points()), 3, covariance=c
        )
        for c in ("spherical", "diag", "full", "tied")
    },
    "poisson": lambda: plait.PoissonEmissions(counts(), 3),
    "bernoulli": lambda: plait.BernoulliEmissions(plait.Sequences.from_values(binary()), 3),
    "multinomial": lambda: plait.MultinomialEmissions(bags(), 3),
}
for kind, emissions in MIXTURES.items():
    for collapsed in (False,) if "tied" in kind else (False, True):
        case(
            f"mixture, {kind}, collapsed {collapsed}",
            of_model,
            lambda e=emissions: plait.MixtureModel(e()),
            3,
            collapsed,
        )


def fitted_mixture(kind: str, X: Callable[[], np.ndarray], names: str, **options: Any) -> dict[str, Any]:
    estimator = getattr(plait, kind)(2, random_state=5, max_iter=40, tol=1e-2, n_init=2, **options).fit(X())
    result = {name: numbers(getattr(estimator, name)) for name in ["weights_", *names.split()]}
    result |= {"score": numbers(estimator.score(X())), "labels": digest(estimator.predict(X()))}
    return result | {"paths": None if estimator.paths_ is None else digest(estimator.paths_)}


for method in ("partially-collapsed", "collapsed", "em"):
    for kind, X, names in (
        ("GaussianMixture", points, "means_ covariances_"),
        ("PoissonMixture", bags, "rates_"),
        ("BernoulliMixture", binary, "probabilities_"),
        ("MultinomialMixture", bags, "probabilities_"),
    ):
        case(f"{kind}, {method}", fitted_mixture, kind, X, names, method=method)

# -----------------------------------------------------------------------------------------------------
# Potts fields
# -----------------------------------------------------------------------------------------------------


def picture(*shape: int) -> np.ndarray:
    rng = np.random.default_rng(9)
    places = np.indices(shape).sum(axis=0) // 5 % 3
    return 2.0 * places + rng.normal(size=shape)


def potts(shape: tuple[int, ...], neighbours: int, n_states: int, kind: str = "gaussian") -> plait.PottsModel:
    image = picture(*shape).reshape(-1, 1)
    if kind == "gaussian":
        emissions: Any = plait.GaussianEmissions(plait.Sequences.from_values(image), n_states)
    elif kind == "poisson":
        emissions = plait.PoissonEmissions(plait.Sequences.from_values(np.abs(image).round()), n_states)
    else:
        levels = np.abs(image).astype(np.int64).ravel() % 5
        emissions = plait.CategoricalEmissions(plait.Sequences.from_symbols(levels), n_states)
    return plait.PottsModel(emissions, shape, 0.8, neighbours)


for n_paths in (1, 6):
    for n_states in (2, 3, 9):
        for neighbours in (4, 8):
            name = f"potts, {n_states} labels, {neighbours} neighbours, m = {n_paths}"
            case(name, of_model, lambda n=neighbours, s=n_states: potts((20, 23), n, s), n_paths)
for neighbours in (6, 26):
    name = f"potts, {neighbours} neighbours"
    case(name, of_model, lambda n=neighbours: potts((7, 8, 9), n, 3), 2)
for kind in ("poisson", "categorical"):
    case(f"potts, {kind}", of_model, lambda k=kind: potts((20, 23), 4, 3, k), 2)


def fitted_picture() -> dict[str, Any]:
    estimator = plait.PottsSegmentation(3, n_iter=12, n_init=2, random_state=5).fit(picture(20, 23))
    return {
        "labels": digest(estimator.labels_),
        "paths": digest(estimator.paths_),
        "means_": numbers(estimator.means_),
        "probabilities_": numbers(estimator.probabilities_),
    }


case("PottsSegmentation", fitted_picture)

# -----------------------------------------------------------------------------------------------------
# Factorial hidden Markov models
# -----------------------------------------------------------------------------------------------------


def factorial(n_chains: int, n_states: int, covariance: str, search: int) -> plait.FactorialHmmModel:
    return plait.FactorialHmmModel(values(200), n_chains, n_states, covariance=covariance, search=search)


for covariance in ("diag", "full"):
    for search in (0, 2):
        name = f"factorial hmm, {covariance}, search {search}"
        case(name, of_model, lambda c=covariance, s=search: factorial(2, 3, c, s), 2)
case("factorial hmm, many chains", of_model, lambda: factorial(8, 2, "diag", 0), 2)


def fitted_factorial() -> dict[str, Any]:
    estimator = plait.FactorialHMM(2, 2, n_iter=12, n_init=2, search=2, random_state=5).fit(values(200))
    return {
        "states": digest(estimator.states_),
        "paths": digest(estimator.paths_),
        "means_": numbers(estimator.means_),
        "predicted": digest(estimator.predict(values(200))),
        "score": numbers(estimator.score(values(200))),
    }


case("FactorialHMM", fitted_factorial)

# -----------------------------------------------------------------------------------------------------
# A model of one's own
# -----------------------------------------------------------------------------------------------------


class Coins(plait.PathModel):
    """Tosses of two coins; which of them was tossed is not known."""

    def __init__(self) -> None:
        self.heads = (np.arange(40) % 3 == 0).astype(int)

    n_sites = 40
    n_states = 2

    def statistics(self, path):
        return np.array([[np.sum((path == s) & (self.heads == h)) for h in (0, 1)] for s in (0, 1)])

    def draw(self, statistics, rng):
        return rng.beta(1 + statistics[:, 1], 1 + statistics[:, 0])

    def update(self, path, parameters, rng):
        weights = np.where(self.heads[:, None], parameters, 1 - parameters)
        path[:] = rng.random(40) * weights.sum(axis=1) > weights[:, 0]

    def log_density(self, path, parameters):
        return float(np.log(np.where(self.heads, parameters[path], 1 - parameters[path]) / 2).sum())


case("a model of one's own", of_model, Coins, 3)


@pytest.mark.filterwarnings("ignore::plait.PlaitWarning", "ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", CASES)
def test_same_seed_gives_the_stored_bits(name):
    stored = json.loads(STORED.read_text(encoding="utf-8"))[name]
    found = CASES[name]()
    assert found.keys() == stored.keys()
    for key, value in found.items():
        expected = pytest.approx(stored[key], rel=1e-9, abs=1e-9) if isinstance(value, list) else stored[key]
        assert value == expected, key


def test_every_stored_case_is_tested():
    assert json.loads(STORED.read_text(encoding="utf-8")).keys() == CASES.keys()


if __name__ == "__main__":
    STORED.write_text(json.dumps({name: run() for name, run in CASES.items()}, indent=1) + "\n", "utf-8")
