"""The mixture model: files, checks, order, threads, runs. Its distributions are tested in tests/exact/."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

import plait
from plait.data.sequences import Sequences
from plait.errors import PlaitError
from plait.models.emissions import (
    COVARIANCES,
    BernoulliEmissions,
    BernoulliParameters,
    CategoricalEmissions,
    GaussianEmissions,
    MultinomialEmissions,
    PoissonEmissions,
)
from plait.models.mixture import LikelihoodOnly, MixtureCounts, MixtureModel, MixtureParameters
from plait.models.model import Key
from plait.threads import Threads

NAN = np.nan
KINDS = ("poisson", "bernoulli", "multinomial", *COVARIANCES)
EVERY_KIND = pytest.mark.parametrize("kind", KINDS)
MANY = 3 * 4096 + 100  # three ranges of sites


def fails(message):
    return pytest.raises(PlaitError, match=rf"\A[^\n]*{message}[^\n]*\Z")


def emissions(kind, n=12, n_states=2, **options):
    rng = np.random.default_rng(0)
    state = (np.arange(n) // 3) % n_states
    if kind == "poisson":
        values = rng.poisson(1 + 5 * state[:, None], (n, 2)).astype(float)
        return PoissonEmissions(Sequences.from_values(values), n_states, **options)
    if kind == "bernoulli":
        values = (rng.random((n, 3)) < 0.1 + 0.8 * (state[:, None] > 0)).astype(float)
        return BernoulliEmissions(Sequences.from_values(values), n_states, **options)
    if kind == "multinomial":
        words = rng.dirichlet(np.ones(4), n_states)
        return MultinomialEmissions(rng.multinomial(5, words[state]), n_states, **options)
    values = rng.normal(size=(n, 2)) + 3 * state[:, None]
    return GaussianEmissions(Sequences.from_values(values), n_states, covariance=kind, **options)


def first(model, seed=0):
    return model.first_parameters(Key(seed, 1))


def same(a, b):
    assert np.array_equal(a.shares, b.shares)
    for name, array in a.emissions.to_arrays().items():
        assert np.array_equal(b.emissions.to_arrays()[name], array)


def samplers(kind):
    return (False,) if kind == "tied" else (False, True)


class TestFiles:
    @EVERY_KIND
    def test_files_and_pickles_give_an_equal_model(self, kind):
        model = MixtureModel(emissions(kind), [1.0, 2.5])
        with Threads(1) as threads:
            for whole in (model, replace(model, initial=first(model))):
                for again in (
                    MixtureModel.from_arrays(*whole.to_arrays()),
                    pickle.loads(pickle.dumps(whole)),
                ):
                    assert (again.n_sites, again.n_states) == (12, 2)
                    assert (again.initial is None) == (whole.initial is None)
                    if whole.initial is not None:
                        same(whole.initial, again.initial)
                    paths = whole.initial_paths(3, 7, threads)
                    assert np.array_equal(paths, again.initial_paths(3, 7, threads))
                    drawn = [
                        m.draw_parameters(m.count(paths, threads), Key(1, 1), threads) for m in (whole, again)
                    ]
                    same(*drawn)
                    assert np.array_equal(*(m.log_joint(paths, drawn[0], threads) for m in (whole, again)))

    def test_to_arrays_returns_named_arrays_and_a_header(self):
        model = MixtureModel(emissions("full"))
        arrays, header = replace(model, initial=first(model)).to_arrays()
        assert all(isinstance(array, np.ndarray) for array in arrays.values())
        assert header["emissions"]["kind"] == "gaussian"
        assert {"initial.shares", "initial.emissions.means", "share_prior"} < arrays.keys()


class TestOrder:
    @EVERY_KIND
    def test_canonical_order_puts_the_most_common_state_first(self, kind):
        model = MixtureModel(emissions(kind, n_states=3))
        assert model.is_exchangeable
        parameters = replace(first(model), shares=np.array([0.2, 0.5, 0.3]))
        order = model.canonical_order(parameters)
        assert order.tolist() == [1, 2, 0]
        ordered = parameters.permuted(order)
        assert ordered.shares.tolist() == [0.5, 0.3, 0.2]
        same(parameters, ordered.permuted(np.argsort(order)))
        with Threads(1) as threads:  # the likelihood does not depend on the order
            assert model.log_likelihood(ordered, threads) == pytest.approx(
                model.log_likelihood(parameters, threads), rel=1e-12
            )

    def test_states_that_priors_distinguish_keep_their_order(self):
        for model in (
            MixtureModel(emissions("diag", n_states=3), [1, 2, 1]),
            MixtureModel(emissions("diag", n_states=3, mean_weight=[1, 2, 3])),
            MixtureModel(emissions("bernoulli", n_states=3, prior=[[1] * 3, [1] * 3, [2] * 3])),
        ):
            assert not model.is_exchangeable
            parameters = replace(first(model), shares=np.array([0.2, 0.5, 0.3]))
            assert model.canonical_order(parameters).tolist() == [0, 1, 2]


class TestChecks:
    def test_wrong_parameters_are_named(self):
        model = MixtureModel(emissions("bernoulli"))
        good = first(model)
        model.check_parameters(good)
        for change, message in (
            ({"shares": np.array([0.5, 0.6])}, "row 0 of the shares must sum to 1, got 1.1"),
            ({"shares": np.ones(3) / 3}, r"the shares must have shape \(2,\), got \(3,\)"),
            ({"shares": np.array([-1.0, 2.0])}, r"the shares\[0\]\[0\] must be from 0 to 1, got -1"),
            (
                {"emissions": BernoulliParameters(np.full((2, 3), 1.5))},
                r"probabilities\[0\]\[0\] must be from 0 to 1, got 1.5",
            ),
        ):
            with fails(message):
                model.check_parameters(replace(good, **change))
            with fails(message):
                replace(model, initial=replace(good, **change))

    def test_wrong_priors_are_named(self):
        for prior, message in (
            (-1.0, r"share_prior\[0\]\[0\] must be 0 or a number from .*, got -1"),
            ([1, 2, 3], r"share_prior must be .* array of shape \(1, S\) = \(1, 2\), got .* shape \(3,\)"),
            ("a", "share_prior must be .* array of numbers, got 'a'"),
        ):
            with fails(message):
                MixtureModel(emissions("diag"), prior)

    def test_single_symbols_are_refused(self):
        with fails("emissions must not be categorical: .*; use multinomial or Bernoulli emissions"):
            MixtureModel(CategoricalEmissions(Sequences.from_symbols([0, 1, 1]), 2))

    def test_too_many_states_are_refused(self):
        with fails("n_states must be at most 65535, got 65536"):
            MixtureModel(emissions("multinomial", n_states=65536))

    def test_impossible_observations_are_named(self):
        values = np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
        model = MixtureModel(BernoulliEmissions(Sequences.from_values(values), 2))
        certain = BernoulliParameters(np.array([[1.0, 0.5], [1.0, 1.0]]))
        parameters = MixtureParameters(np.array([0.5, 0.5]), certain)
        message = "observation 2 has probability 0 in every state: remove zeros from the parameters, or the"
        with Threads(1) as threads:
            assert np.isneginf(model.log_likelihoods(parameters, threads)).tolist() == [False, False, True]
            assert np.isneginf(model.log_likelihood(parameters, threads))
            for call in (model.posteriors, model.expected_counts):
                with fails(message):
                    call(parameters, threads)
            with fails(message):
                model.resample(np.zeros((2, 3), np.uint16), parameters, Key(0, 1), threads)
            with fails(message):
                replace(model, initial=parameters).initial_paths(2, 0, threads)

    def test_a_state_without_a_share_is_never_drawn(self):
        model = MixtureModel(emissions("diag", n=3000, n_states=3))
        parameters = replace(first(model), shares=np.array([0.4, 0.0, 0.6]))
        with Threads(1) as threads:
            paths = np.zeros((2, 3000), np.uint16)
            model.resample(paths, parameters, Key(0, 1), threads)
            assert set(np.unique(paths)) == {0, 2}
            posteriors, _ = model.posteriors(parameters, threads)
            assert np.all(posteriors[:, 1] == 0)

    def test_a_prior_of_zero_forbids_a_state(self):
        model = MixtureModel(emissions("poisson", n_states=3), [1.0, 0.0, 1.0])
        for collapsed in (False, True):
            for seed in range(5):
                run = plait.sample(model, n_paths=2, n_sweeps=10, seed=seed, collapsed=collapsed, n_jobs=1)
                assert not np.any(run.paths == 1)


class TestThreads:
    @EVERY_KIND
    def test_any_number_of_threads_gives_the_same_bits(self, kind):
        model = MixtureModel(emissions(kind, MANY))
        assert len(model._ranges) == 3
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
                        counts.states,
                        counts.emissions,
                        model.log_joint(paths, parameters, threads),
                        expected.states,
                        expected.emissions,
                        log_likelihood,
                        *model.posteriors(parameters, threads),
                    ]
                )
        for other in results[1:]:
            for a, b in zip(results[0], other, strict=True):
                assert np.array_equal(a, b)
        assert results[0][1].sum() == 2 * MANY
        assert results[0][4].sum() == pytest.approx(MANY, rel=1e-12)
        assert results[0][6] == pytest.approx(results[0][8].sum(), rel=1e-12)

    @EVERY_KIND
    def test_runs_on_any_number_of_threads_have_the_same_bits(self, kind):
        model = MixtureModel(emissions(kind, MANY, n_states=3))
        for collapsed in samplers(kind):
            runs = [
                plait.sample(model, n_paths=2, n_sweeps=3, seed=9, collapsed=collapsed, thin=1, n_jobs=n)
                for n in (1, 2, 3)
            ]
            for run in runs[1:]:
                assert np.array_equal(run.paths, runs[0].paths)
                assert np.array_equal(run.trace.log_joint, runs[0].trace.log_joint)

    def test_ranges_change_nothing_but_rounding(self, monkeypatch):
        model = MixtureModel(emissions("full", MANY))
        assert len(model._ranges) == 3
        monkeypatch.setattr("plait.models.mixture._SITES_PER_RANGE", 10**9)
        whole = MixtureModel(emissions("full", MANY))
        assert len(whole._ranges) == 1
        parameters = first(model)
        with Threads(2) as threads:
            for a, b in zip(
                model.posteriors(parameters, threads), whole.posteriors(parameters, threads), strict=True
            ):
                assert np.array_equal(a, b)
            (a, _), (b, _) = (m.expected_counts(parameters, threads) for m in (model, whole))
            np.testing.assert_allclose(a.states, b.states, rtol=1e-10)
            np.testing.assert_allclose(a.emissions, b.emissions, rtol=1e-8, atol=1e-8)


class TestRuns:
    @EVERY_KIND
    def test_resumed_run_has_the_bits_of_an_uninterrupted_one(self, kind, tmp_path):
        """In memory and through a file, for both samplers."""
        model = MixtureModel(emissions(kind, 200, n_states=3))
        for collapsed in samplers(kind):
            how = {"n_paths": 3, "seed": 4, "collapsed": collapsed, "thin": 2, "n_jobs": 1}
            whole = plait.sample(model, n_sweeps=12, **how)
            part = plait.sample(model, n_sweeps=5, **how)
            file = tmp_path / f"{kind}{collapsed}.plait"
            part.save(file)
            for begun in (part, plait.load(file)):
                resumed = plait.resume(begun, n_sweeps=12, n_jobs=2)
                assert np.array_equal(resumed.paths, whole.paths)
                assert np.array_equal(resumed.trace.log_joint[-1], whole.trace.log_joint[-1])
            assert not np.array_equal(part.paths, whole.paths)

    def test_sums_of_the_collapsed_sampler_do_not_drift(self):
        """It removes observations and adds them again, and counts afresh after each sweep."""
        model = MixtureModel(emissions("full", 300))
        with Threads(1) as threads:
            paths = model.initial_paths(2, 0, threads)
            counts = model.count(paths, threads)
            for sweep in range(1, 20):
                model.resample_collapsed(paths, counts, Key(1, sweep))
                fresh = model.count(paths, threads)
                assert np.array_equal(counts.states, fresh.states)
                assert np.array_equal(counts.emissions, fresh.emissions)

    @EVERY_KIND
    def test_both_samplers_find_two_groups(self, kind):
        """Three observations of one group alternate with three of the other."""
        model = MixtureModel(emissions(kind, 600))
        truth = (np.arange(600) // 3) % 2
        for collapsed in samplers(kind):
            paths = plait.sample(model, n_paths=2, n_sweeps=40, seed=1, collapsed=collapsed, n_jobs=1).paths
            right = np.mean(paths == truth, axis=1)
            assert np.all(np.maximum(right, 1 - right) > 0.7)
            assert np.all((right > 0.5) == (right[0] > 0.5))  # the paths share the parameters

    def test_simulated_data_have_the_same_size(self):
        model = MixtureModel(emissions("multinomial", 40))
        other, path, phi = model.simulate(np.random.default_rng(0))
        assert (other.n_sites, other.n_states, path.shape) == (40, 2, (40,))
        assert phi.shares.sum() == pytest.approx(1)
        assert np.array_equal(other.share_prior, model.share_prior)


class TestLikelihoodOnly:
    @EVERY_KIND
    def test_priors_do_not_change_the_result(self, kind):
        strong = {"mean_weight": 9.0, "covariance_weight": 30.0, "covariance_prior": 50.0, "mean_prior": 7.0}
        if kind in ("poisson", "bernoulli", "multinomial"):
            strong = {"prior": 40.0}
        climbed = []
        for model in (MixtureModel(emissions(kind, 300)), MixtureModel(emissions(kind, 300, **strong), 30.0)):
            parameters, only = first(model), LikelihoodOnly(model)
            heights = []
            with Threads(1) as threads:
                for _ in range(15):
                    counts, log_likelihood = only.expected_counts(parameters, threads)
                    heights.append(log_likelihood)
                    parameters = only.mode_parameters(counts)
            assert np.diff(heights).min() > -1e-9
            climbed.append(parameters)
        a, b = climbed
        np.testing.assert_allclose(a.shares, b.shares, rtol=1e-9)
        for name, array in a.emissions.to_arrays().items():
            np.testing.assert_allclose(array, b.emissions.to_arrays()[name], rtol=1e-8, atol=1e-10)

    @pytest.mark.parametrize("covariance", COVARIANCES)
    def test_widening_is_added_to_the_variances(self, covariance):
        model = MixtureModel(emissions(covariance, 60))
        with Threads(1) as threads:
            counts, _ = model.expected_counts(first(model), threads)
        narrow = LikelihoodOnly(model).mode_parameters(counts).emissions.covariances
        wide = LikelihoodOnly(model, 0.5).mode_parameters(counts).emissions.covariances
        unit = np.eye(2) if covariance in ("full", "tied") else 1.0
        np.testing.assert_allclose(wide - narrow, np.broadcast_to(0.5 * unit, wide.shape), atol=1e-12)

    @EVERY_KIND
    def test_a_state_without_observations_stays_finite(self, kind):
        model = MixtureModel(emissions(kind, 30))
        with Threads(1) as threads:
            counts = model.count(np.zeros((1, 30), np.uint16), threads)
        parameters = LikelihoodOnly(model, 1e-6).mode_parameters(counts)
        assert parameters.shares.tolist() == [1, 0]
        model.check_parameters(parameters)


def test_counts_of_ranges_are_summed():
    model = MixtureModel(emissions("diag", MANY))
    with Threads(1) as threads:
        counts = model.count(np.zeros((2, MANY), np.uint16), threads)
    assert isinstance(counts, MixtureCounts)
    assert counts.states.tolist() == [2 * MANY, 0]
    np.testing.assert_allclose(counts.emissions[0, 0], 2 * MANY)
    np.testing.assert_allclose(counts.emissions[0, 1:3], 0, atol=1e-6)  # relative to the mean of the data
