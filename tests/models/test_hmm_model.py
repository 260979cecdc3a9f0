"""Hidden Markov models: files, checks, order of states, threads. Distributions are in tests/exact/hmm/."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

from plait.data.sequences import Sequences
from plait.errors import PlaitError
from plait.models.chain import HmmParameters
from plait.models.emissions import COVARIANCES, CategoricalEmissions, GaussianEmissions, PoissonEmissions
from plait.models.hmm import HmmModel
from plait.models.model import Key
from plait.threads import Threads

NAN = np.nan
KINDS = ("categorical", "poisson", *COVARIANCES)
EVERY_KIND = pytest.mark.parametrize("kind", KINDS)
N_SITES = 40_000  # five ranges of sites
LENGTHS = [10_000, 1, 9_999, 5_000, 7_000, 3_000, 5_000]


def fails(message):
    return pytest.raises(PlaitError, match=rf"\A[^\n]*{message}[^\n]*\Z")


def emissions(kind, lengths=None, n_states=2, **options):
    rng = np.random.default_rng(0)
    lengths = [5, 1, 4] if lengths is None else lengths
    n = sum(lengths)
    names = [f"s{k}" for k in range(len(lengths))]
    state = (np.arange(n) // 3) % n_states
    if kind == "categorical":
        values = (state + rng.integers(0, 2, n)) % 4
        values[0] = 3
        return CategoricalEmissions(Sequences.from_symbols(values, lengths, names=names), n_states, **options)
    if kind == "poisson":
        return PoissonEmissions(
            Sequences.from_values(rng.poisson(1 + 5 * state)[:, None], lengths), n_states, **options
        )
    values = rng.normal(size=(n, 2)) + 3 * state[:, None]
    return GaussianEmissions(Sequences.from_values(values, lengths), n_states, covariance=kind, **options)


def first(model, seed=0):
    return model.first_parameters(Key(seed, 1))


def same(a, b):
    assert np.array_equal(a.start, b.start)
    assert np.array_equal(a.transitions, b.transitions)
    for name, array in a.emissions.to_arrays().items():
        assert np.array_equal(b.emissions.to_arrays()[name], array)


def as_tuple(result):
    return result if isinstance(result, tuple) else (result,)


def copies(model):
    return HmmModel.from_arrays(*model.to_arrays()), pickle.loads(pickle.dumps(model))


class TestFiles:
    @EVERY_KIND
    @pytest.mark.parametrize("blocked", [True, False])
    def test_a_rebuilt_model_draws_the_same_bits(self, kind, blocked):
        model = HmmModel(
            emissions(kind), [1, 2], [[1, 2], [3, 4]], [0.3, NAN], [[0, NAN], [NAN, NAN]], blocked=blocked
        )
        with Threads(1) as threads:
            for whole in (model, replace(model, initial=first(model))):
                for again in copies(whole):
                    assert again.blocked is blocked
                    assert again.sequences.equals(whole.sequences)
                    assert (again.initial is None) == (whole.initial is None)
                    if whole.initial is not None:
                        same(whole.initial, again.initial)
                    paths = whole.initial_paths(3, 7, threads)
                    assert np.array_equal(paths, again.initial_paths(3, 7, threads))
                    drawn = [
                        m.draw_parameters(m.count(paths, threads), Key(1, 1), threads) for m in (whole, again)
                    ]
                    same(*drawn)
                    assert drawn[0].start[0] == 0.3
                    assert drawn[0].transitions[0, 0] == 0
                    moved = [paths.copy(), paths.copy()]
                    for m, these in zip((whole, again), moved, strict=True):
                        m.resample(these, drawn[0], Key(1, 1), threads)
                    assert np.array_equal(*moved)

    def test_all_of_the_model_is_in_the_arrays_and_the_header(self):
        model = HmmModel(emissions("full"))
        arrays, header = replace(model, initial=first(model)).to_arrays()
        assert all(isinstance(array, np.ndarray) for array in arrays.values())
        assert header["emissions"]["kind"] == "gaussian"
        assert {"initial.start", "initial.transitions", "initial.emissions.means"} < arrays.keys()

    def test_files_of_earlier_versions_load(self):
        """Their keys stay, although what they hold is called otherwise now."""
        arrays, _ = HmmModel(emissions("categorical")).to_arrays()
        assert {"emissions.laws.prior", "emissions.laws.fixed"} < arrays.keys()


class TestOrder:
    def test_exchangeable_states_are_sorted(self):
        model = HmmModel(emissions("categorical", n_states=3))
        parameters = first(model)
        order = model.canonical_order(parameters)
        sorted_parameters = parameters.permuted(order)
        means = sorted_parameters.emissions.probabilities @ np.arange(4)
        assert np.all(np.diff(means) >= 0)
        assert model.canonical_order(sorted_parameters).tolist() == [0, 1, 2]
        assert sorted_parameters.start[0] == parameters.start[order[0]]
        assert sorted_parameters.transitions[0, 1] == parameters.transitions[order[0], order[1]]
        # The likelihood does not depend on the order.
        with Threads(1) as threads:
            assert model.log_likelihood(sorted_parameters, threads) == pytest.approx(
                model.log_likelihood(parameters, threads), rel=1e-12
            )

    @pytest.mark.parametrize(
        "options",
        [
            {"start_prior": [1, 2, 1]},
            {"start_prior": [1, 0, 1]},
            {"fixed_start": [0.2, NAN, NAN]},
            {"transition_prior": [[1, 1, 1], [1, 1, 1], [1, 1, 2]]},
            {"transition_prior": [[2, 1, 1], [1, 2, 1], [1, 1, 3]]},
            {"transition_prior": [[1, 1, 0], [1, 1, 1], [1, 1, 1]]},
            {"fixed_transitions": [[NAN, 0.1, NAN], [NAN] * 3, [NAN] * 3]},
        ],
    )
    def test_states_with_different_priors_keep_their_order(self, options):
        model = HmmModel(emissions("categorical", n_states=3), **options)
        assert not model.is_exchangeable
        for seed in range(5):
            assert model.canonical_order(first(model, seed)).tolist() == [0, 1, 2]

    def test_sticky_chains_are_exchangeable(self):
        prior = np.ones((3, 3)) + 9 * np.eye(3)
        assert HmmModel(emissions("diag", n_states=3), transition_prior=prior).is_exchangeable
        assert HmmModel(emissions("diag", n_states=1)).is_exchangeable
        different = emissions("diag", n_states=3, mean_weight=[1, 2, 3])
        assert not HmmModel(different).is_exchangeable


class TestChecks:
    def test_invalid_parameters_are_refused(self):
        model = HmmModel(emissions("categorical"), transition_prior=[[1, 0], [1, 1]])
        good = first(model)
        model.check_parameters(good)
        for change, message in (
            (
                {"start": np.array([0.5, 0.6])},
                "row 0 of the start probabilities must sum to 1, got 1.1",
            ),
            (
                {"start": np.ones(3) / 3},
                r"the start probabilities must have shape \(2,\), got \(3,\)",
            ),
            (
                {"transitions": np.full((2, 2), 0.5)},
                r"transition probabilities\[0\]\[1\] must be 0, as .*, got 0.5",
            ),
            (
                {"transitions": np.array([[1, 0], [-1, 2.0]])},
                r"transition probabilities\[1\]\[0\] must be from 0 to 1, got -1",
            ),
            (
                {"emissions": good.emissions.__class__(np.ones((2, 4)))},
                "row 0 of the emissions must sum to 1, got 4",
            ),
        ):
            with fails(message):
                model.check_parameters(replace(good, **change))
            with fails(message):
                replace(model, initial=replace(good, **change))

    def test_too_many_states_are_refused(self):
        with fails("n_states must be at most 65535, got 65536"):
            HmmModel(emissions("categorical", n_states=65536, n_symbols=4))

    def test_impossible_sequences_are_refused(self):
        """The second sequence, s1, has a symbol that its only possible first state does not emit."""
        sequences = Sequences.from_symbols([0, 0, 1, 0], [2, 2], names=["s0", "s1"])
        table = np.array([[1.0, 0.0], [0.5, 0.5]])
        model = HmmModel(
            CategoricalEmissions(sequences, 2, fixed=table), fixed_start=[1, 0], fixed_transitions=np.eye(2)
        )
        parameters = first(model)
        message = r"sequence 1 \(s1\) has probability 0 under every state path: remove zeros .* or remove the"
        with Threads(1) as threads:
            assert model.log_likelihoods(parameters, threads).tolist() == [0, -np.inf]
            for call in (model.expected_counts, model.posteriors):
                with fails(message):
                    call(parameters, threads)
            with fails(message):
                model.initial_paths(2, 0, threads)
            with fails(message):
                model.resample(np.zeros((2, 4), np.uint16), parameters, Key(0, 1), threads)

    def test_the_collapsed_sampler_refuses_what_it_does_not_support(self):
        for kind in ("poisson", "full"):
            with fails("the collapsed sampler supports categorical emissions only, not .*: choose blocked"):
                HmmModel(emissions(kind)).check_collapsed()
        for options in ({"fixed_start": [0.2, 0.8]}, {"fixed_transitions": [[0.1, NAN], [NAN, NAN]]}):
            with fails("does not support probabilities fixed to other values than 0: choose blocked"):
                HmmModel(emissions("categorical"), **options).check_collapsed()
        HmmModel(emissions("categorical"), fixed_transitions=[[0, NAN], [NAN, NAN]]).check_collapsed()


class TestThreads:
    """There are enough sites for several ranges."""

    @pytest.mark.parametrize("kind", ["categorical", "poisson", "full"])
    @pytest.mark.parametrize("blocked", [True, False])
    @pytest.mark.parametrize("lengths", [LENGTHS, [N_SITES], [70_000, 3_000]])
    def test_same_bits_on_any_number_of_threads(self, kind, blocked, lengths):
        model = HmmModel(emissions(kind, lengths), blocked=blocked)
        results = []
        for n_jobs in (1, 2, 3):
            with Threads(n_jobs) as threads:
                paths = model.initial_paths(2, 5, threads)
                counts = model.count(paths, threads)
                parameters = model.draw_parameters(counts, Key(5, 1), threads)
                model.resample(paths, parameters, Key(5, 1), threads)
                expected, log_likelihood = model.expected_counts(parameters, threads)
                results.append(
                    [
                        paths,
                        counts.pairs,
                        counts.emissions,
                        model.log_joint(paths, parameters, threads),
                        expected.starts,
                        expected.pairs,
                        expected.emissions,
                        log_likelihood,
                        *model.posteriors(parameters, threads),
                        *model.best_paths(parameters, threads),
                    ]
                )
        for other in results[1:]:
            for a, b in zip(results[0], other, strict=True):
                assert np.array_equal(a, b)
        assert results[0][7] == pytest.approx(results[0][9].sum(), rel=1e-12)
        assert results[0][1].sum() == 2 * (sum(lengths) - len(lengths))

    def test_users_give_a_number_of_threads_or_none(self):
        model = HmmModel(emissions("categorical", LENGTHS))
        parameters = first(model)
        with Threads(1) as threads:
            for method in (model.log_likelihood, model.log_likelihoods, model.posteriors, model.best_paths):
                shared = method(parameters, threads)
                for own in (method(parameters), method(parameters, 2), method(parameters, n_jobs=None)):
                    for a, b in zip(as_tuple(shared), as_tuple(own), strict=True):
                        assert np.array_equal(a, b)
        with fails("n_jobs must be a number of threads"):
            model.log_likelihood(parameters, 0)

    def test_ranges_change_only_rounding(self, monkeypatch):
        monkeypatch.setattr("plait.models.chain._WORK_PER_RANGE", 1)
        model = HmmModel(emissions("full", LENGTHS))
        assert len(model._ranges) > 1
        monkeypatch.setattr("plait.models.chain._SITES_PER_RANGE", 10**9)
        whole = HmmModel(emissions("full", LENGTHS))
        assert len(whole._ranges) == 1
        parameters = first(model)
        with Threads(2) as threads:
            for a, b in zip(
                model.posteriors(parameters, threads), whole.posteriors(parameters, threads), strict=True
            ):
                assert np.array_equal(a, b)
            (a, _), (b, _) = (m.expected_counts(parameters, threads) for m in (model, whole))
            np.testing.assert_allclose(a.pairs, b.pairs, rtol=1e-10)
            np.testing.assert_allclose(a.emissions, b.emissions, rtol=1e-8, atol=1e-8)


def test_permuted_parameters_keep_their_meaning():
    model = HmmModel(emissions("tied", n_states=3))
    parameters = first(model)
    assert isinstance(parameters, HmmParameters)
    order = np.array([2, 0, 1])
    back = parameters.permuted(order).permuted(np.argsort(order))
    same(parameters, back)
