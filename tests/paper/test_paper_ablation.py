"""The ablation: the samplers of a power against enumeration, the tiny scale, and verdicts on made-up rows."""

from __future__ import annotations

import threading
from itertools import pairwise, product

import numpy as np
import pytest
from scipy import stats
from scipy.special import gammaln

from plait.data.corpus import Corpus
from plait.data.sequences import Sequences
from plait.datasets import bands
from plait.errors import PlaitError
from plait.models.chain import HmmParameters
from plait.models.emissions import CategoricalEmissions, CategoricalParameters
from plait.models.hmm import HmmModel
from plait.models.lda import LdaModel
from plait.paper.ablation import SCALES
from plait.paper.ablation_findings import BEST, DATA_SEED, FIVE, LATE, LONG, MEAN, NEAREST, ONE, POWER
from plait.paper.bands import distance
from plait.paper.findings import NOT, PARTLY, REPRODUCED, UNKNOWN
from plait.paper.hard import hard_data
from plait.paper.power import PowerHmm, PowerLda
from plait.paper.reproduce import experiment_of
from plait.paper.work import JobContext, Stopped, collect, run_jobs
from plait.plans import Settings
from plait.rng import Key
from plait.sampler import State, sample, step
from plait.threads import Threads

TINY = SCALES["tiny"]
THREADS = Threads(1)
LEAST_P = 1e-4

# ---------------------------------------------------------------------------------------------------------
# The power, against enumeration over all paths
# ---------------------------------------------------------------------------------------------------------

SYMBOLS = np.array([0, 1, 1, 2, 0])
DOCUMENTS = [[0, 1, 0], [2, 1]]
ALPHA = np.array([0.7, 1.4])


def hmm(power, symbols=SYMBOLS):
    return PowerHmm(CategoricalEmissions(Sequences.from_symbols(symbols), 2), power=power)


def lda(power):
    words = np.array([w for document in DOCUMENTS for w in document], np.int32)
    offsets = np.array([0, 3, 5], np.int64)
    return PowerLda(Corpus(words, offsets, ("a", "b", "c")), 2, ALPHA, 1.0, power=power)


def log_beta(x):
    return gammaln(x).sum(axis=-1) - gammaln(np.sum(x, axis=-1))


def hmm_weight(path, power):
    """Return the logarithm of the integral over phi of P(phi, p, w)^m, where P(phi) is constant."""
    starts, pairs, emissions = np.zeros(2), np.zeros((2, 2)), np.zeros((2, 3))
    starts[path[0]] += 1
    for a, b in pairwise(path):
        pairs[a, b] += 1
    np.add.at(emissions, (path, SYMBOLS), 1)
    return sum(log_beta(1 + power * counts).sum() for counts in (starts, pairs, emissions))


def lda_weight(path, power):
    """Return the same for topics; those of documents are integrated out before the power is taken."""
    words = np.concatenate(DOCUMENTS)
    counts = np.zeros((2, 3))
    np.add.at(counts, (path, words), 1)
    total = log_beta(1 + power * counts).sum()
    for part in (path[:3], path[3:]):
        total += power * gammaln(ALPHA + np.bincount(part, minlength=2)).sum()
    return total


PATHS = np.array(list(product(range(2), repeat=5)))


def probabilities_of(weight, power):
    logs = np.array([weight(path, power) for path in PATHS])
    weights = np.exp(logs - logs.max())
    return weights / weights.sum()


def index(path):
    return int(np.dot(path, 2 ** np.arange(4, -1, -1)))


def assert_fits(observed, probabilities):
    """Compare counts with probabilities by a chi-squared test; rare outcomes share a bin."""
    expected = observed.sum() * probabilities
    order = np.argsort(expected)
    bins, total = [], 0.0
    for k in order:
        if total == 0:
            bins.append([])
        bins[-1].append(k)
        total += expected[k]
        if total >= 10:
            total = 0.0
    seen = [observed[b].sum() for b in bins]
    due = [expected[b].sum() for b in bins]
    assert stats.chisquare(seen, due).pvalue > LEAST_P


@pytest.mark.parametrize("power", [1, 2, 3])
@pytest.mark.parametrize(("make", "weight"), [(hmm, hmm_weight), (lda, lda_weight)])
def test_a_sweep_leaves_the_power_of_the_posterior_invariant(make, weight, power):
    n = 6000
    expected = probabilities_of(weight, power)
    before = np.random.default_rng(power).choice(len(expected), size=n, p=expected)
    settings = Settings(n_paths=1, n_sweeps=1, seed=power, collapsed=False, thin=1)
    model = make(power)
    after = np.array(
        [
            index(step(model, State(k, PATHS[s][None].astype(np.uint16)), settings, THREADS).paths[0])
            for k, s in enumerate(before)
        ]
    )
    counts = np.bincount(after, minlength=len(expected))
    assert_fits(counts, expected)
    assert (after != before).mean() > 0.02  # a sampler that does nothing would pass the first check
    if power > 1:  # the test can tell the power from the posterior itself
        assert stats.chisquare(counts, n * probabilities_of(weight, 1)).pvalue < 1e-12


@pytest.mark.parametrize("power", [1, 2, 5])
def test_paths_given_parameters_follow_the_power_of_their_probability(power):
    phi = HmmParameters(
        np.array([0.3, 0.7]),
        np.array([[0.6, 0.4], [0.25, 0.75]]),
        CategoricalParameters(np.array([[0.5, 0.3, 0.2], [0.2, 0.2, 0.6]])),
    )
    table = phi.emissions.probabilities
    expected = np.array(
        [
            phi.start[p[0]] * np.prod(phi.transitions[p[:-1], p[1:]]) * np.prod(table[p, SYMBOLS])
            for p in PATHS
        ]
    )
    expected = expected**power / (expected**power).sum()
    model, seen = hmm(power), np.zeros(len(PATHS))
    path = np.zeros((1, 5), np.uint16)
    for k in range(4000):
        model.resample(path, phi, Key(0, k), THREADS)
        seen[index(path[0])] += 1
    assert_fits(seen, expected)


def test_the_first_power_has_the_bits_of_the_ordinary_sampler():
    symbols = np.random.default_rng(0).integers(0, 4, 300)
    emissions = CategoricalEmissions(Sequences.from_symbols(symbols), 2)
    settings = {"n_paths": 1, "n_sweeps": 5, "seed": 3, "n_jobs": 1}
    ordinary = sample(HmmModel(emissions), **settings)
    assert np.array_equal(sample(PowerHmm(emissions, power=1), **settings).paths, ordinary.paths)
    assert not np.array_equal(sample(PowerHmm(emissions, power=2), **settings).paths, ordinary.paths)


def test_estimates_multiply_counts_by_the_power():
    path = np.array([[0, 1, 0, 1, 1]], np.uint16)
    counts = lda(3).count(path, THREADS)
    assert np.allclose(lda(3).topic_word(counts)[0], np.array([1 + 6, 1, 1]) / (3 + 6))
    assert np.allclose(lda(3).mean_parameters(counts, THREADS).phi.T, lda(3).topic_word(counts))
    means = hmm(3).mean_parameters(hmm(3).count(path, THREADS), THREADS)
    assert np.allclose(means.emissions.probabilities[0], np.array([1 + 3, 1 + 3, 1]) / (3 + 6))
    assert np.allclose(means.transitions[0], np.array([1, 1 + 6]) / (2 + 6))


def test_the_power_needs_flat_priors_and_has_no_file_and_no_collapsed_sampler(tmp_path):
    emissions = CategoricalEmissions(Sequences.from_symbols(SYMBOLS), 2)
    with pytest.raises(PlaitError, match=r"^transition_prior must be 1 to sample a power .*, got 2\.0"):
        PowerHmm(emissions, transition_prior=2.0, power=2)
    with pytest.raises(PlaitError, match=r"^prior must be 1 to sample a power .*, got \[\[0\.5"):
        PowerHmm(CategoricalEmissions(emissions.sequences, 2, prior=0.5), power=2)
    with pytest.raises(PlaitError, match=r"^eta must be 1 to sample a power .*, got 0\.5"):
        PowerLda(lda(1).corpus, 2, 1.0, 0.5, power=2)
    for model in (hmm(2), lda(2)):
        with pytest.raises(PlaitError, match="cannot be saved"):
            sample(model, n_paths=1, n_sweeps=1, checkpoint=tmp_path / "run.plait")
        with pytest.raises(PlaitError, match="collapsed=False"):
            sample(model, n_paths=1, n_sweeps=1, collapsed=True)


# ---------------------------------------------------------------------------------------------------------
# The experiment
# ---------------------------------------------------------------------------------------------------------


def test_tiny_scale_gives_consistent_rows_and_a_full_report(tmp_path):
    jobs = TINY.jobs()
    assert len({job.key for job in jobs}) == len(jobs)
    run_jobs(jobs, tmp_path, n_jobs=2, quiet=True)
    rows = collect(jobs, tmp_path)
    assert len(rows) == len(jobs) == TINY.n_runs * (3 + 3 + 2 + len(TINY.documents) * len(TINY.paths))
    by_part = {part: [row for row in rows if row["part"] == part] for part in {row["part"] for row in rows}}
    for row in by_part["power-hmm"]:
        assert len(row["course"]) == len(row["pairs"]) == TINY.power_sweeps
        assert row["course"][-1][1] == pytest.approx(row["above_truth"], abs=1e-3)
    for row in by_part["long"]:
        sweeps = [sweep for sweep, _ in row["course"]]
        assert sweeps[-5:] == [80, 85, 90, 95, 100]  # five late samples in the last fifth
        assert row["course"][-1][1] == pytest.approx(row[LONG], abs=1e-3)
        short = next(r for r in by_part["paths"] if (r["paths"], r["seed"]) == (1, row["seed"]))
        assert (
            dict(row["course"])[TINY.n_sweeps] == short["course"][-1][1]
        )  # the long run starts like the short one
    for row in by_part["restarts"]:
        assert len(set(row["distances"])) == 5
        assert row[BEST] in row["distances"]
        assert row[NEAREST] == min(row["distances"])
    section = TINY.report(rows, tmp_path)
    assert len(section.figures) == 5
    for figure in section.figures:
        for suffix in ("png", "svg"):
            assert 0 < (tmp_path / f"{figure.name}.{suffix}").stat().st_size < 300_000
    # So few runs may leave undecided whether more than five paths help.
    assert all(claim.verdict in (REPRODUCED, PARTLY, NOT) for claim in section.claims[:-1])
    assert [len(table.rows) for table in section.tables] == [7, len(TINY.paths)]


@pytest.mark.parametrize("part", ["power-hmm", "power-lda", "restarts", "long", "paths"])
def test_a_stopped_job_ends_with_the_result_of_an_uninterrupted_one(part, tmp_path):
    job = next(job for job in TINY.jobs() if job.settings["part"] == part)
    stop = threading.Event()
    whole = job.work(JobContext(job, tmp_path, stop))
    stopped = tmp_path / "stopped"
    stopped.mkdir()
    stop.set()
    with pytest.raises(Stopped):
        job.work(JobContext(job, stopped, stop))
    stop.clear()
    assert job.work(JobContext(job, stopped, stop)) == whole


def test_the_best_restart_is_chosen_by_likelihood_not_by_distance(tmp_path):
    """A user who restarts does not know the distance to the truth."""
    job = next(job for job in TINY.jobs() if job.settings["part"] == "restarts")
    run_jobs([job], tmp_path, n_jobs=1, quiet=True)
    row = collect([job], tmp_path)[0]
    first = TINY.n_runs + 5 * row["seed"]
    truth = bands(row["documents"], seed=DATA_SEED)
    model = LdaModel(truth.corpus, 10, 1.0, 1.0)
    runs = [
        sample(model, n_paths=1, n_sweeps=row["sweeps"], seed=first + k, collapsed=True, n_jobs=1)
        for k in range(5)
    ]
    best = max(runs, key=lambda run: run.trace.log_joint[-1, 0])
    found = model.topic_word(model.count(best.paths, THREADS))
    assert row[BEST] == pytest.approx(distance(truth.topics, found))


INDEPENDENT = hard_data(TINY.n_sites, TINY.switch).independent

HMM = {POWER: (INDEPENDENT, 900.0), ONE: (3.0, 60.0), FIVE: (12.0, 70.0)}
"""Log-likelihood of the parameters and of the pairs."""

LDA = {POWER: 1.3, ONE: 1.1, FIVE: 0.7}
ARMS = {ONE: 1.1, LONG: 1.1, LATE: 1.0, BEST: 1.05, NEAREST: 1.03, MEAN: 1.4}
SIZES = {(60, 1): 1.1, (60, 5): 0.7, (60, 10): 0.5, (90, 1): 0.9, (90, 5): 0.5, (90, 10): 0.5}


def rows_of(*, hmm=HMM, lda=LDA, arms=ARMS, sizes=SIZES):
    """Return rows of two runs of each kind, 0.002 apart."""
    rows = []
    for seed in range(2):
        more = 0.002 * seed
        for kind, (value, pair) in hmm.items():
            courses = {"course": [[1, value], [2, value]], "pairs": [[1, pair], [2, pair]]}
            own = {"part": "power-hmm", "kind": kind, "above_truth": value, "emission_distance": 0.1}
            rows.append(own | courses)
        for kind, value in lda.items():
            own = {"part": "power-lda", "kind": kind, "documents": 60, "distance": value + more}
            pair = hmm[kind][1]
            rows.append(own | {"course": [[1, value], [2, value]], "pairs": [[1, pair], [2, pair]]})
        restarts = {"part": "restarts", "documents": 60, "distances": 5 * [arms[ONE] + more]}
        rows.append(restarts | {name: arms[name] + more for name in (BEST, NEAREST, MEAN)})
        long = {"part": "long", "documents": 60, "course": [[1, 1.4], [100, arms[LONG]]]}
        rows.append(long | {LONG: arms[LONG] + more, LATE: arms[LATE] + more})
        for (n, m), value in sizes.items():
            own = {"part": "paths", "documents": n, "paths": m, "distance": value + more}
            rows.append(own | {"course": [[1, 1.4], [20, value]]})
    return [row | {"seconds": 1.0} for row in rows]


def test_rows_like_the_paper_reproduce_all_claims():
    assert [claim.verdict for claim in TINY.claims(rows_of())] == [REPRODUCED] * 6


@pytest.mark.parametrize(
    ("rows", "claim", "expected"),
    [
        (lambda: rows_of(hmm={POWER: (14.0, 50.0), ONE: (3.0, 60.0), FIVE: (12.0, 70.0)}), 0, NOT),
        (lambda: rows_of(hmm=HMM | {POWER: (14.0, 900.0)}), 0, PARTLY),
        (lambda: rows_of(hmm=HMM | {POWER: (0.5 * INDEPENDENT, 900.0)}), 0, PARTLY),
        (lambda: rows_of(lda=LDA | {POWER: 0.5}, hmm=HMM | {POWER: (3.0, 50.0)}), 1, NOT),
        (lambda: rows_of(lda=LDA | {POWER: 0.9}), 1, PARTLY),
        (lambda: rows_of(lda=LDA | {POWER: 1.11}), 1, PARTLY),  # about as good as one path is not useless
        (lambda: rows_of(arms=dict.fromkeys(ARMS, 0.6)), 2, NOT),
        (lambda: rows_of(arms=ARMS | {BEST: 0.6}), 2, PARTLY),
        (lambda: rows_of(arms=ARMS | {NEAREST: 0.6}), 2, PARTLY),
        (lambda: rows_of(arms=ARMS | {LATE: 0.4}), 2, PARTLY),
        (lambda: rows_of(arms=ARMS | {MEAN: 0.9}), 3, NOT),
        (lambda: rows_of(sizes=SIZES | {(60, 5): 1.2, (90, 5): 1.2}), 4, NOT),
        (lambda: rows_of(sizes=SIZES | {(60, 5): 1.2}), 4, PARTLY),
        (lambda: rows_of(sizes=SIZES | {(60, 10): 0.7}), 5, NOT),  # no case is better
        (lambda: rows_of(sizes=SIZES | {(90, 10): 0.3}), 5, NOT),  # all cases are
        (
            lambda: rows_of(sizes=SIZES | {(60, 10): 0.488 + 0.2, (90, 10): 0.488}),
            5,
            NOT,
        ),  # better, but by less than counts
    ],
)
def test_verdicts_follow_the_rows(rows, claim, expected):
    found = TINY.claims(rows())[claim]
    assert found.verdict == expected, found


def test_single_runs_leave_the_gain_of_more_paths_undecided():
    rows = rows_of()
    assert TINY.claims(rows[: len(rows) // 2])[5].verdict == UNKNOWN


def test_noisy_runs_leave_the_gain_of_more_paths_undecided():
    rows = rows_of()
    for row in rows[: len(rows) // 2]:  # the first runs
        if row["part"] == "paths":
            row["distance"] += 0.2
    claim = TINY.claims(rows)[5]
    assert claim.verdict == UNKNOWN
    assert claim.found.endswith("0 of 2 cases better, 0 not better, 2 undecided")


def test_claims_without_runs_have_no_verdict(tmp_path):
    section = TINY.report([], tmp_path)
    assert {claim.verdict for claim in section.claims} == {UNKNOWN}
    assert (list(section.figures), list(section.tables)) == ([], [])
    some = [row for row in rows_of() if row["part"] in ("power-hmm", "long")]
    section = TINY.report(some, tmp_path)
    assert [claim.verdict for claim in section.claims] == [REPRODUCED, *[UNKNOWN] * 5]
    assert [figure.name for figure in section.figures] == ["ablation-power-hmm", "ablation-compute"]


def test_another_number_of_sweeps_changes_all_jobs():
    assert {job.settings["sweeps"] for job in experiment_of("ablation", "paper", 50).jobs()} == {50}


def test_the_quick_scale_takes_minutes():
    assert sum(job.cost for job in SCALES["quick"].jobs()) < 200
