"""The model of factorial hidden Markov models: files, threads, checks, order, and starting points.

Its distributions are tested in tests/exact/.
"""

from __future__ import annotations

import itertools
import os
import pickle
import signal
import sys
import threading
import time
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from threadpoolctl import ThreadpoolController

from plait.blas import OneBlasThread
from plait.data.sequences import Sequences
from plait.errors import NotSupported, PlaitError
from plait.fitting.stored import resume
from plait.models.factorial import FactorialHmmModel, FactorialParameters, blocks, simulate
from plait.models.factorial import model as module
from plait.models.factorial import search as searching
from plait.models.factorial.parameters import PARAMETERS
from plait.models.model import Key
from plait.run import load
from plait.sampler import Interrupted, sample
from plait.threads import Threads

NAN = np.nan
ONE = Threads(1)


def fails(message):
    return pytest.raises(PlaitError, match=rf"\A[^\n]*{message}[^\n]*\Z")


def true_parameters(n_chains, n_states, n_features, noise, seed, stay=0.95):
    rng = np.random.default_rng(seed)
    moves = np.full((n_states, n_states), (1 - stay) / max(1, n_states - 1))
    np.fill_diagonal(moves, stay if n_states > 1 else 1.0)
    return FactorialParameters(
        np.full((n_chains, n_states), 1 / n_states),
        np.tile(moves, (n_chains, 1, 1)),
        rng.normal(size=(n_chains, n_states, n_features)),
        np.full(n_features, noise**2),
    )


def data(n_chains=3, n_states=2, n_features=4, noise=0.4, lengths=(250, 50), seed=0):
    """Return parameters, and states (T, K) and sequences drawn from them."""
    phi = true_parameters(n_chains, n_states, n_features, noise, seed)
    offsets = np.append(0, np.cumsum(lengths))
    states, values = simulate(phi, offsets, np.random.default_rng(seed))
    return phi, states, Sequences(values, offsets)


def small(lengths=(6, 1, 5), n_chains=2, n_states=3, **options):
    values = np.random.default_rng(1).normal(size=(sum(lengths), 2))
    values[3] = NAN
    sequences = Sequences.from_values(
        values, lengths, missing=True, names=[f"s{q}" for q in range(len(lengths))]
    )
    return FactorialHmmModel(sequences, n_chains, n_states, **({"search": 0} | options))


def share_right(found, truth):
    """Return the share of correct states, under the best numbering of chains and states; both are (T, K)."""
    n_chains, n_states = truth.shape[1], truth.max() + 1
    right = np.zeros((n_chains, n_chains))
    for a, b in itertools.product(range(n_chains), repeat=2):
        met = np.zeros((n_states, n_states))
        np.add.at(met, (found[:, a], truth[:, b]), 1)
        right[a, b] = met[linear_sum_assignment(-met)].sum()
    return right[linear_sum_assignment(-right)].sum() / truth.size


def in_columns(path, n_chains):
    return path.reshape(n_chains, -1).T


def phi_of(model, seed=0):
    paths = model.initial_paths(2, seed, ONE)
    return model.draw_parameters(model.count(paths, ONE), Key(seed, 1), ONE)


def same(one, other):
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in PARAMETERS)


class TestFiles:
    @pytest.mark.parametrize("covariance", ["diag", "full"])
    @pytest.mark.parametrize("with_initial", [False, True])
    def test_files_and_pickles_give_an_equal_model(self, covariance, with_initial):
        model = small(
            covariance=covariance,
            start_prior=[[1, 2, 1], [0, 2, 3]],
            transition_prior=2.0,
            staying=3.0,
            mean_prior=0.5,
            mean_weight=0.2,
            covariance_prior=1.5,
            covariance_weight=5.5,
        )
        if with_initial:
            model = replace(model, initial=phi_of(model))
        for again in (FactorialHmmModel.from_arrays(*model.to_arrays()), pickle.loads(pickle.dumps(model))):
            assert again.sequences.equals(model.sequences)
            paths = model.initial_paths(3, 7, ONE)
            assert np.array_equal(paths, again.initial_paths(3, 7, ONE))
            drawn = [m.draw_parameters(m.count(paths, ONE), Key(1, 1), ONE) for m in (model, again)]
            assert same(*drawn)
            assert drawn[0].start[1, 0] == 0
            assert (again.initial is None) == (model.initial is None)

    def test_resumed_run_has_the_bits_of_an_uninterrupted_one(self, tmp_path):
        model = small(search=1)
        whole = sample(model, n_paths=2, n_sweeps=6, seed=3, n_jobs=1)
        sample(
            model,
            n_paths=2,
            n_sweeps=6,
            seed=3,
            n_jobs=1,
            callback=lambda progress: progress.state.sweep == 3,
        ).save(tmp_path / "run.plait")
        half = load(tmp_path / "run.plait", FactorialHmmModel)
        assert half.sweep == 3
        again = resume(half, n_jobs=1)
        assert np.array_equal(again.paths, whole.paths)
        assert np.array_equal(again.trace.log_joint, whole.trace.log_joint)

    def test_simulated_data_are_missing_where_the_given_ones_are(self):
        model, path, phi = small(mean_weight=1.0).simulate(np.random.default_rng(0))
        assert np.isnan(model.sequences.values).all(axis=1).tolist() == [False] * 3 + [True] + [False] * 8
        assert path.shape == (model.n_sites,)
        model.check_parameters(phi)


class TestThreads:
    def test_any_number_of_threads_gives_the_same_bits(self):
        _, _, sequences = data(lengths=(4000, 1, 3000, 2000, 3999), n_features=2)
        results = []
        for n in (1, 2, 3):
            model = FactorialHmmModel(sequences, 3, 2, covariance="full", search=0)
            assert len(model._ranges) > 2
            assert len(model._time_ranges) > 2
            with Threads(n) as threads:
                paths = model.initial_paths(3, 5, threads)
                counts = model.count(paths, threads)
                phi = model.draw_parameters(counts, Key(5, 1), threads)
                model.resample(paths, phi, Key(5, 1), threads)
                results.append(
                    (
                        paths,
                        counts.sums,
                        phi.means,
                        model.log_joint(paths, phi, threads),
                        model.log_likelihoods(phi, threads),
                    )
                )
        for other in results[1:]:
            for one, two in zip(results[0], other, strict=True):
                assert np.array_equal(one, two)

    def test_the_search_finds_the_same_path_on_any_number_of_threads(self):
        _, _, sequences = data(lengths=(40, 30))
        found = []
        for n in (1, 2, 3):
            with Threads(n) as threads:
                found.append(FactorialHmmModel(sequences, 3, 2, search=2).initial_paths(2, 5, threads))
        assert np.array_equal(found[0], found[1])
        assert np.array_equal(found[0], found[2])
        with Threads(1) as threads:
            other = FactorialHmmModel(sequences, 3, 2, search=2).initial_paths(2, 6, threads)
        assert not np.array_equal(found[0], other)


class TestBlas:
    """The BLAS of NumPy and SciPy have threads, whose number must not change results."""

    @pytest.mark.parametrize("n_features", [4, 128])
    def test_any_number_of_blas_threads_gives_the_same_bits(self, n_features):
        results = []
        for n in (1, 4):
            with ThreadpoolController().limit(limits=n, user_api="blas"):
                phi, _, sequences = data(n_chains=100, n_features=n_features, lengths=(200,))
                model = FactorialHmmModel(sequences, 100, 2, covariance="full", search=0)
                paths = model.initial_paths(2, 0, ONE)
                counts = model.count(paths, ONE)
                drawn = model.draw_parameters(counts, Key(0, 1), ONE)
                mean = model.mean_parameters(counts, ONE)
                arrays = [getattr(one, name) for one in (drawn, mean) for name in PARAMETERS]
                given = replace(phi, covariance=drawn.covariance)
                effects, noise = blocks.effects_of(given, model.moments.mean)
                results.append([sequences.values, counts.squares, *arrays, *effects, *noise])
        for one, other in zip(*results, strict=True):
            assert np.array_equal(one, other)

    def test_the_last_to_leave_lifts_the_limit(self):
        def n_threads():
            pools = ThreadpoolController().select(user_api="blas").info()
            assert pools
            return {pool["num_threads"] for pool in pools}

        one = OneBlasThread()
        with ThreadpoolController().limit(limits=3, user_api="blas"):
            one.__enter__()
            one.__enter__()
            assert n_threads() == {1}
            one.__exit__()
            assert n_threads() == {1}
            one.__exit__()
            assert n_threads() == {3}


class TestMemory:
    def peak(self, work):
        tracemalloc.start()
        try:
            work()
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    def test_counting_stays_within_memory(self):
        """64 tables of a million cells would take half a gigabyte."""
        values = np.random.default_rng(0).normal(size=(6000, 2))
        model = FactorialHmmModel(Sequences.from_values(values), 100, 10, search=0)
        paths = np.random.default_rng(1).integers(10, size=(1, model.n_sites)).astype(np.uint16)
        assert model.n_sites > 64 * module._SITES_PER_RANGE
        assert 1 < len(model._time_ranges) <= 8
        assert self.peak(lambda: model.count(paths, ONE)) < 1.1 * 8 * 2**23

    def test_counts_do_not_depend_on_ranges(self, monkeypatch):
        _, states, sequences = data(lengths=(4000, 1, 3000, 2000, 3999), n_features=2)
        path = np.ascontiguousarray(states.T.reshape(1, -1), np.uint16)
        counts = []
        for cells in (2**23, 1):
            monkeypatch.setattr(module, "_MOST_CELLS", cells)
            model = FactorialHmmModel(sequences, 3, 2, search=0)
            assert (len(model._time_ranges) == 1) == (cells == 1)
            counts.append(model.count(path, ONE))
        for name in ("starts", "pairs", "together"):
            assert np.array_equal(getattr(counts[0], name), getattr(counts[1], name))
        np.testing.assert_allclose(counts[0].sums, counts[1].sums, rtol=1e-9)

    def test_residuals_need_no_array_of_all_chains(self):
        """The search subtracts one chain after the other."""
        n_chains, n_times, n_features = 20, 2000, 64
        _, states, sequences = data(n_chains, n_features=n_features, lengths=(n_times,))
        model = FactorialHmmModel(sequences, n_chains, 2)
        path = np.ascontiguousarray(states.T.reshape(1, -1), np.uint16)
        every = list(range(n_chains))

        def grow():
            searching._grow(
                model, path.copy(), every, [], 0, searching.SEARCH, ONE, searching._Steps(1, None)
            )

        grow()  # compiles
        peak = self.peak(grow)
        assert peak < 8 * n_chains * n_times * n_features / 2

    def test_too_many_states_are_refused(self):
        with fails(
            "4 chains of 2049 states have 8196 states in all, more than 8192, and tables of all pairs of"
            " states would exhaust memory: use fewer chains or states"
        ):
            small(n_chains=4, n_states=2049)


class TestStart:
    def test_the_search_finds_the_chains(self):
        """Ten chains with 1024 joint states, which runs from random starts do not find."""
        _, truth, sequences = data(n_chains=10, n_features=8, noise=0.5, lengths=(400, 200))
        rights = {}
        for search in (0, 1):
            model = FactorialHmmModel(sequences, 10, 2, search=search)
            run = sample(model, n_paths=2, n_sweeps=10, seed=1)
            rights[search] = share_right(in_columns(run.paths[0], 10), truth)
        assert rights[1] > 0.97
        assert rights[1] > rights[0] + 0.05

    def test_a_longer_search_finds_no_worse_path(self):
        """A round only replaces what it improves on."""
        _, _, sequences = data(n_chains=5, n_states=3, n_features=3, lengths=(120,))
        logs = []
        for search in (1, 3):
            model = FactorialHmmModel(sequences, 5, 3, covariance="full", search=search)
            paths = model.initial_paths(1, 2, ONE)
            mean = model.mean_parameters(model.count(paths, ONE), ONE)
            logs.append(model.log_joint(paths, mean, ONE)[0])
        assert logs[1] >= logs[0]

    def test_all_paths_start_alike_and_separate(self):
        model = small(search=1)
        paths = model.initial_paths(3, 0, ONE)
        assert (paths == paths[0]).all()
        model.resample(paths, phi_of(model), Key(0, 1), ONE)
        assert not (paths == paths[0]).all()

    @pytest.mark.parametrize("search", [0, 2])
    def test_forbidden_states_and_transitions_do_not_occur(self, search):
        moves = np.ones((2, 3, 3))
        moves[0] = [[1, 1, 0], [0, 1, 1], [0, 0, 1]]
        model = small(
            search=search, transition_prior=moves, start_prior=[[1, 0, 0], [1, 1, 1]], lengths=(30, 9)
        )
        paths = model.initial_paths(4, 2, ONE)
        first, second = np.split(paths[:, : model.n_times].astype(int), [30], axis=1)
        assert (first[:, 0] == 0).all()
        assert (second[:, 0] == 0).all()
        steps = np.hstack([np.diff(first), np.diff(second)])
        assert set(np.unique(steps)) <= {0, 1}
        phi = model.draw_parameters(model.count(paths, ONE), Key(0, 1), ONE)
        assert np.array_equal(phi.transitions == 0, moves == 0)

    def test_true_initial_parameters_give_nearly_the_true_paths(self):
        phi, truth, sequences = data(n_chains=5, n_features=3, noise=0.3, lengths=(300, 100))
        model = FactorialHmmModel(sequences, 5, 2, initial=phi)
        paths = model.initial_paths(3, 0, ONE)
        for path in paths:
            assert np.mean(in_columns(path, 5) == truth) > 0.95
        assert np.mean(model.states_given(phi, 3, 5, 0, ONE) == truth) > 0.95

    @pytest.mark.parametrize("form", ["lists", "single", "columns"])
    def test_initial_parameters_are_copied(self, form):
        """Arrays of any kind are accepted, and changing them afterwards changes nothing."""
        phi, _, sequences = data(lengths=(30,))
        made = {"lists": np.ndarray.tolist, "single": np.float32, "columns": np.asfortranarray}[form]
        arrays = {name: made(getattr(phi, name)) for name in PARAMETERS}
        rounded = FactorialParameters(**{name: np.array(array, float) for name, array in arrays.items()})
        wanted = FactorialHmmModel(sequences, 3, 2, initial=rounded).initial_paths(2, 0, ONE)
        model = FactorialHmmModel(sequences, 3, 2, initial=FactorialParameters(**arrays))
        arrays["means"][0][0][0] = NAN
        assert np.array_equal(model.initial_paths(2, 0, ONE), wanted)
        # Kernels get arrays of one kind, whether they are given or drawn.
        chains = blocks.chains_of(model.initial, 1)
        assert chains.start.flags.writeable
        assert chains.transitions.flags.writeable
        for name in PARAMETERS:
            array = getattr(model.initial, name)
            assert array.dtype == np.float64
            assert array.flags.c_contiguous
            assert not array.flags.writeable

    @pytest.mark.parametrize("weight", [1.0, 10.0, 100.0, 1e5])
    def test_prior_means_number_chains_and_states(self, weight):
        phi, truth, sequences = data(2, noise=0.3, lengths=(300,))
        model = FactorialHmmModel(sequences, 2, 2, search=1, mean_prior=phi.means, mean_weight=weight)
        for seed in range(5):
            paths = model.initial_paths(1, seed, ONE)
            assert np.mean(in_columns(paths[0], 2) == truth) > 0.97
            for sweep in range(1, 4):
                phi = model.draw_parameters(model.count(paths, ONE), Key(seed, sweep), ONE)
                model.resample(paths, phi, Key(seed, sweep), ONE)
            assert np.mean(in_columns(paths[0], 2) == truth) > 0.97

    @pytest.mark.parametrize(
        ("options", "kept"),
        [
            ({}, False),
            ({"staying": 3.0}, False),
            ({"mean_weight": [[1, 5, 9], [2, 7, 4], [6, 3, 8]]}, False),
            ({"mean_prior": 0.0}, True),
            ({"start_prior": [[1, 1, 1], [1, 1, 1], [1, 1, 2]]}, True),
            ({"transition_prior": [[[1, 1, 0], [1, 1, 1], [1, 1, 1]]] * 3}, True),
        ],
    )
    def test_other_priors_keep_the_numbers_of_chains_and_states(self, options, kept):
        phi, states, sequences = data(n_states=3)
        # The data do not show what one chain adds to all its means and another subtracts.
        means = phi.means + np.array([-50.0, 20.0, 30.0])[:, None, None]
        model = FactorialHmmModel(sequences, 3, 3, **({"mean_prior": means} | options))
        wrong = (states[:, [1, 2, 0]] + 1) % 3
        path = np.ascontiguousarray(wrong.T.reshape(1, -1), np.uint16)
        found = in_columns(searching.number_by_priors(model, path, ONE)[0], 3)
        assert np.array_equal(found, wrong if kept else states)

    def test_huge_prior_means_have_finite_distances(self):
        values = 1e-150 * np.random.default_rng(0).normal(size=(20, 1))
        prior = np.array([[[0.0], [1e140]], [[0.0], [-1e140]]])
        model = FactorialHmmModel(Sequences.from_values(values), 2, 2, search=1, mean_prior=prior)
        assert model.initial_paths(1, 0, ONE).shape == (1, 40)

    def test_random_chains_tend_to_stay_in_their_states(self):
        model = small(lengths=(500,), n_states=2)
        path = model.initial_paths(1, 3, ONE).reshape(2, -1)
        stays = np.mean(path[:, 1:] == path[:, :-1], axis=1)
        assert (stays > 0.5).all()
        assert (stays < 1).all()

    @pytest.mark.parametrize("search", [0, 1])
    @pytest.mark.parametrize("covariance", ["diag", "full"])
    @pytest.mark.parametrize(
        "values",
        [[[NAN, NAN]], [[1.0, 2.0]], [[1.0, 5.0]] * 4, [[NAN, NAN], [1e8, 1e-8], [1e8, 2e-8]]],
        ids=["missing", "one", "constant", "scales"],
    )
    def test_runs_of_uninformative_data_are_finite(self, values, covariance, search):
        sequences = Sequences.from_values(values, missing=True)
        model = FactorialHmmModel(sequences, 2, 2, covariance=covariance, search=search)
        run = sample(model, n_paths=2, n_sweeps=5, seed=0, n_jobs=1)
        assert np.isfinite(run.trace.log_joint).all()

    def test_the_search_works_with_many_features(self, monkeypatch):
        monkeypatch.setattr(searching, "_MOST_FEATURES", 3)
        _, truth, sequences = data(n_chains=2, n_features=4)
        found = FactorialHmmModel(sequences, 2, 2, search=1).initial_paths(1, 0, ONE)
        assert share_right(in_columns(found[0], 2), truth) > 0.9


class TestSearchReports:
    @pytest.mark.parametrize("n_jobs", [1, 2])
    def test_the_callback_hears_of_the_search_before_the_sweeps(self, n_jobs):
        model = small(search=2, n_chains=3)
        reports, threads = [], set()

        def callback(progress):
            reports.append(progress)
            threads.add(threading.current_thread())

        run = sample(model, n_paths=4, n_sweeps=2, seed=3, n_jobs=n_jobs, callback=callback)
        assert threads == {threading.current_thread()}
        steps, sweeps = reports[:-2], reports[-2:]
        assert [progress.search for progress in sweeps] == [None, None]
        assert [progress.state.sweep for progress in sweeps] == [1, 2]
        done = [progress.search[0] for progress in steps]
        # Four attempts of 60 sweeps for each of the 3 + 1 chains, and 5 sweeps of all chains after each.
        assert {progress.search[1] for progress in steps} == {4 * 240 + 5 * (0 + 1 + 2 + 3) + 5 * (2 + 3)}
        assert done == sorted(set(done))
        assert done[-1] == steps[-1].search[1]
        assert done[0] == 1 or n_jobs > 1
        for progress in steps:
            assert (progress.state.sweep, progress.state.paths.shape) == (0, (4, 0))
            assert (progress.n_sweeps, len(progress.trace)) == (2, 0)
        seconds = [progress.seconds for progress in reports]
        assert seconds == sorted(seconds)
        assert np.array_equal(run.paths, sample(model, n_paths=4, n_sweeps=2, seed=3, n_jobs=1).paths)

    def test_a_true_result_does_not_end_a_search(self):
        run = sample(small(search=1), n_sweeps=3, n_jobs=1, callback=lambda progress: progress.search)
        assert run.finished

    @pytest.mark.parametrize("with_initial", [False, True])
    def test_models_that_do_not_search_report_sweeps_only(self, with_initial):
        model = small(search=2, initial=phi_of(small())) if with_initial else small(search=0)
        assert not model.searches
        searches = []
        sample(model, n_sweeps=3, n_jobs=1, callback=lambda progress: searches.append(progress.search))
        assert searches == [None] * 3

    @pytest.mark.parametrize("n_jobs", [1, 2])
    def test_an_error_of_the_callback_ends_the_search(self, n_jobs):
        before = threading.active_count()
        with pytest.raises(ZeroDivisionError):
            sample(small(search=1), n_jobs=n_jobs, callback=lambda _: 1 / 0)
        assert threading.active_count() == before

    def test_an_error_in_another_thread_is_not_hidden(self, monkeypatch):
        """The other attempts end early, and the error is the one that was raised."""
        swept = searching.sweeps

        def failing(*args):
            for k, state in enumerate(swept(*args)):
                if threading.current_thread() is not threading.main_thread() and k == 3:
                    raise PlaitError("spoilt")
                time.sleep(0.001)
                yield state

        monkeypatch.setattr(searching, "sweeps", failing)
        with pytest.raises(PlaitError, match="spoilt"):
            sample(small(search=1, n_chains=1), n_jobs=2)


@pytest.mark.skipif(sys.platform == "win32", reason="sends itself a signal")
class TestInterruptedSearch:
    """Ctrl-C ends a search after the sweeps in progress, and leaves no thread behind."""

    @pytest.fixture(autouse=True)
    def heed_interrupts(self):
        before = signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs ignore it
        yield
        signal.signal(signal.SIGINT, before)

    @pytest.mark.parametrize("n_jobs", [1, 2, 3])
    @pytest.mark.parametrize("pressed", [1, 30, 241, 500])
    def test_ctrl_c_ends_all_attempts_after_their_sweep(self, pressed, n_jobs, monkeypatch):
        """Pressed while the calling thread works: at once, within an attempt, or in between."""
        swept, made = searching.sweeps, []

        def counted(*args):
            for state in swept(*args):
                made.append(state)
                yield state

        def press(progress):
            if progress.search[0] >= pressed:
                made.clear()
                os.kill(os.getpid(), signal.SIGINT)

        monkeypatch.setattr(searching, "sweeps", counted)
        before = threading.active_count()
        with pytest.raises(KeyboardInterrupt) as caught:
            sample(small(search=3, n_chains=3), n_jobs=n_jobs, callback=press)
        assert not isinstance(caught.value, Interrupted)
        assert len(made) <= 2 * (n_jobs - 1)  # one in progress, and one that had begun before the signal
        assert threading.active_count() == before

    def test_ctrl_c_is_heard_while_the_calling_thread_waits(self, monkeypatch):
        swept, slow = searching.sweeps, []

        def slowed(*args):
            for state in swept(*args):
                if threading.current_thread() is not threading.main_thread():
                    slow.append(state)
                    time.sleep(0.05)
                    if len(slow) == 20:  # the calling thread, which is quick, has made all other attempts
                        os.kill(os.getpid(), signal.SIGINT)
                yield state

        monkeypatch.setattr(searching, "sweeps", slowed)
        before = threading.active_count()
        with pytest.raises(KeyboardInterrupt):
            sample(small(search=3, n_chains=1), n_jobs=2)
        assert 20 <= len(slow) <= 22
        assert threading.active_count() == before


class TestBlocks:
    @pytest.mark.parametrize(
        ("n_chains", "n_states", "n_together"),
        [(1, 2, 1), (6, 2, 6), (7, 2, 4), (20, 2, 5), (10, 4, 3), (5, 64, 1), (3, 1000, 1), (9, 1, 9)],
    )
    def test_chains_are_divided_evenly_into_blocks(self, n_chains, n_states, n_together):
        assert blocks.chains_together(n_chains, n_states) == n_together

    def test_chains_of_one_state_have_one_path(self):
        model = small(n_chains=3, n_states=1)
        phi = phi_of(model)
        paths = np.zeros((1, model.n_sites), np.uint16)
        assert model.log_likelihood(phi, ONE) == pytest.approx(model.log_joint(paths, phi, ONE)[0])


class TestOrder:
    def test_canonical_order_sorts_chains_by_contribution_and_states_by_mean(self):
        phi, _, sequences = data(n_chains=3, n_states=3)
        model = FactorialHmmModel(sequences, 3, 3, search=0)
        shares = np.random.default_rng(0).dirichlet(np.ones(3), 3)
        chains, states = model.canonical_order(phi, shares)
        ordered = phi.permuted(chains, states)
        shares = np.take_along_axis(shares[chains], states, axis=1)
        again = model.canonical_order(ordered, shares)
        assert again[0].tolist() == [0, 1, 2]
        assert (again[1] == [0, 1, 2]).all()
        assert (np.diff(ordered.means[:, :, 0], axis=1) > 0).all()
        own = ordered.centred(shares)[1].means / np.sqrt(model.moments.variance)
        contributions = np.einsum("ks,ksd->k", shares, own**2)
        assert (np.diff(contributions) < 0).all()
        # Chains and states keep their own transitions.
        assert model.log_likelihood(ordered, ONE) == pytest.approx(model.log_likelihood(phi, ONE), rel=1e-12)

    def test_transitions_are_permuted_along(self):
        rng = np.random.default_rng(0)
        model = small(n_chains=2, n_states=3)
        phi = FactorialParameters(
            rng.dirichlet(np.ones(3), 2),
            rng.dirichlet(np.ones(3), (2, 3)),
            rng.normal(size=(2, 3, 2)),
            np.ones(2),
        )
        chains, states = np.array([1, 0]), np.array([[2, 0, 1], [1, 0, 2]])
        other = phi.permuted(chains, states)
        assert other.transitions[0, 0, 1] == phi.transitions[1, 2, 0]
        assert model.log_likelihood(other, ONE) == pytest.approx(model.log_likelihood(phi, ONE), rel=1e-12)

    def test_centred_chains_with_an_intercept_explain_the_data_equally_well(self):
        phi, states, sequences = data()
        model = FactorialHmmModel(sequences, 3, 2, search=0)
        path = np.ascontiguousarray(states.T.reshape(1, -1), np.uint16)
        shares = model.shares(model.count(path, ONE))
        np.testing.assert_allclose(shares.sum(axis=1), 1)
        assert shares[1, 0] == np.mean(states[:, 1] == 0)
        intercept, centred = phi.centred(shares)
        np.testing.assert_allclose(np.einsum("ks,ksd->kd", shares, centred.means), 0, atol=1e-12)
        back = replace(centred, means=centred.means + intercept / 3)
        np.testing.assert_allclose(model.log_joint(path, back, ONE), model.log_joint(path, phi, ONE))

    @pytest.mark.parametrize(
        "options",
        [
            {"start_prior": [[1, 1], [1, 1], [1, 2]]},
            {"transition_prior": np.array([[[1, 1], [1, 1]]] * 2 + [[[1, 2], [1, 1]]])},
            {"transition_prior": [[[1, 0], [1, 1]]] * 3},
            {"mean_prior": np.arange(6.0).reshape(3, 2, 1) * np.ones(4)},
            {"mean_weight": [[1, 1], [1, 1], [1, 2]]},
        ],
    )
    def test_chains_that_priors_distinguish_keep_their_order(self, options):
        _, _, sequences = data()
        model = FactorialHmmModel(sequences, 3, 2, search=0, **options)
        assert not model.is_exchangeable
        chains, states = model.canonical_order(phi_of(model), np.full((3, 2), 0.5))
        assert chains.tolist() == [0, 1, 2]
        assert states.tolist() == [[0, 1]] * 3

    def test_a_prior_of_staying_leaves_chains_exchangeable(self):
        _, _, sequences = data()
        assert FactorialHmmModel(sequences, 3, 2, staying=5.0).is_exchangeable
        assert FactorialHmmModel(sequences, 3, 1).is_exchangeable

    def test_staying_is_added_to_the_diagonal_of_the_prior(self):
        model = small(transition_prior=2.0, staying=7.0)
        nothing = model.count(np.zeros((0, model.n_sites), np.uint16), ONE)
        mean = model.mean_parameters(nothing, ONE)
        np.testing.assert_allclose(mean.transitions, (2.0 + 7.0 * np.eye(3))[None].repeat(2, axis=0) / 13)


class TestChecks:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"n_chains": 0}, "n_chains must be a whole number of at least 1, got 0"),
            ({"n_states": 2.5}, "n_states must be a whole number from 1 to 65535, got 2.5"),
            ({"n_states": 65536}, "n_states must be a whole number from 1 to 65535, got 65536"),
            ({"covariance": "tied"}, "covariance must be one of 'diag', 'full', got 'tied'"),
            ({"search": -1}, "search must be a whole number of at least 0, got -1"),
            ({"start_prior": -1.0}, r"start_prior\[0\]\[0\] must be 0 or a number from .*, got -1"),
            (
                {"start_prior": [1.0, 2.0]},
                r"start_prior must be .* array of shape \(K, S\) = \(2, 3\), got .* shape \(2,\)",
            ),
            ({"transition_prior": np.ones((2, 2))}, r"shape \(K, S before, S\) = \(2, 3, 3\)"),
            (
                {"transition_prior": NAN},
                r"transition_prior\[0\]\[0\]\[0\] must be 0 or a number from .*, got nan",
            ),
            ({"staying": -2.0}, "staying must be 0 or a number from .*, got -2"),
            ({"staying": [1.0, 2.0]}, r"staying must be one number, got \[1.0, 2.0\]"),
            (
                {"mean_prior": np.inf},
                r"mean_prior\[0\]\[0\]\[0\] must be a finite number.*, got inf",
            ),
            (
                {"mean_prior": NAN},
                r"mean_prior\[0\]\[0\]\[0\] must be a finite number.*, got nan",
            ),
            (
                {"mean_prior": [0, -1e200]},
                r"mean_prior\[0\]\[0\]\[1\] must be a finite number, at most .*, got -1e\+200",
            ),
            (
                {"mean_prior": np.ones((2, 2, 2))},
                r"mean_prior must be .* array of shape \(K, S, D\) = \(2, 3, 2\), got .* shape \(2, 2, 2\)",
            ),
            (
                {"mean_weight": -0.1},
                r"mean_weight\[0\]\[0\] must be 0 or a number from .*, got -0.1",
            ),
            (
                {"covariance_prior": np.ones(3)},
                r"for a diag covariance, an array of shape \(2,\), got shape \(3,\)",
            ),
            (
                {"covariance_prior": [1.0, 0.0]},
                r"covariance_prior\[1\] must be a finite number greater than 0, got 0",
            ),
            (
                {"covariance_prior": [[1.0, 2.0], [2.0, 1.0]], "covariance": "full"},
                "covariance_prior must be positive definite, got a matrix with the eigenvalue -1",
            ),
            (
                {"covariance_weight": [3.0, 3.0]},
                r"covariance_weight must be one number, got \[3.0, 3.0\]",
            ),
            (
                {"covariance_weight": "many"},
                "covariance_weight must be .* array of numbers, got 'many'",
            ),
        ],
    )
    def test_wrong_arguments_are_named(self, options, message):
        with fails(message):
            small(**options)

    def test_symbols_are_refused(self):
        with fails("the data must be numbers, got symbols, Sequences.*: use Sequences.from_values"):
            FactorialHmmModel(Sequences.from_symbols([0, 1, 2]), 2, 2)

    @pytest.mark.parametrize("large", [1e153, 1e200, 1.7e308])
    @pytest.mark.filterwarnings("error::RuntimeWarning")
    def test_values_that_overflow_are_refused(self, large):
        with fails("the values of feature 1 are too large to square: divide them by a constant"):
            FactorialHmmModel(Sequences.from_values([[0, large], [0, -large], [0, large]]), 2, 2)

    @pytest.mark.parametrize("covariance", ["diag", "full"])
    @pytest.mark.filterwarnings("error::RuntimeWarning")
    def test_large_values_do_not_overflow(self, covariance):
        values = np.random.default_rng(0).normal(size=(100, 2)) * 1e144
        for options in ({}, {"mean_prior": 9e144, "mean_weight": 1e10}):
            model = FactorialHmmModel(
                Sequences.from_values(values), 2, 2, covariance=covariance, search=1, **options
            )
            run = sample(model, n_paths=5, n_sweeps=5, seed=0, n_jobs=1)
            assert np.isfinite(run.trace.log_joint).all()

    @pytest.mark.parametrize("data", [np.zeros((3, 2)), None])
    def test_data_other_than_sequences_are_refused(self, data):
        with fails("the data must be Sequences of numbers, got .*: use Sequences.from_values"):
            FactorialHmmModel(data, 2, 2)

    def test_initial_parameters_of_another_type_are_refused(self):
        with fails("initial must be FactorialParameters, got {'start': 1}"):
            small(initial={"start": 1})
        with fails("initial.means must be .* array of numbers, got 'a'"):
            model = small()
            replace(model, initial=replace(phi_of(model), means="a"))

    def test_wrong_parameters_are_named(self):
        model = small(transition_prior=[[[1, 1, 1]] * 3, [[1, 0, 1]] + [[1, 1, 1]] * 2])
        good = phi_of(model)
        model.check_parameters(good)
        moves = good.transitions.copy()
        moves[1, 0] = [0.2, 0.5, 0.3]
        for change, message in (
            ({"start": np.ones((2, 3))}, "row 0 of the start probabilities must sum to 1, got 3"),
            ({"start": np.ones((3, 2)) / 2}, r"must have shape \(2, 3\), got \(3, 2\)"),
            (
                {"transitions": moves},
                r"transition probabilities\[3\]\[1\] must be 0, as its prior is 0 .*, got 0.5",
            ),
            ({"transitions": np.eye(3)}, r"probabilities must have shape \(2, 3, 3\), got \(3, 3\)"),
            ({"means": np.zeros((2, 3, 3))}, r"means must have shape \(2, 3, 2\), got \(2, 3, 3\)"),
            ({"means": np.full((2, 3, 2), NAN)}, r"means\[0\]\[0\]\[0\] must be finite, got nan"),
            ({"covariance": np.ones((2, 2))}, r"covariance must have shape \(2,\), got \(2, 2\)"),
            (
                {"covariance": np.array([1.0, -1.0])},
                r"covariance\[1\] must be a finite number greater than 0, got -1",
            ),
        ):
            with fails(message):
                model.check_parameters(replace(good, **change))
            with fails(message):
                replace(model, initial=replace(good, **change))

    def test_there_is_no_collapsed_sampler(self):
        model = small()
        paths = model.initial_paths(1, 0, ONE)
        with pytest.raises(NotSupported, match="have no collapsed sampler: use the partially collapsed one"):
            model.resample_collapsed(paths, model.count(paths, ONE), Key(0, 1))

    def test_likelihoods_of_too_many_joint_states_are_refused(self):
        model = small(n_chains=8, n_states=3)
        with fails(
            r"8 chains of 3 states have 3\^8 joint states, more than 4096, so their likelihood cannot be"
        ):
            model.log_likelihoods(phi_of(model), ONE)
        most = small(n_chains=12, n_states=2, lengths=(4,))
        assert np.isfinite(most.log_likelihood(phi_of(most), ONE))

    def test_impossible_sequences_are_named(self):
        model = small()
        good = phi_of(model)
        paths = model.initial_paths(2, 0, ONE)
        with fails(r"sequence 0 \(s0\) has probability 0 under every state path: remove zeros"):
            model.resample(paths, replace(good, start=np.zeros((2, 3))), Key(0, 1), ONE)
        nameless = FactorialHmmModel(Sequences.from_values([[1.0]]), 1, 1, search=0)
        with fails("sequence 0 has probability 0 under every state path: remove zeros"):
            nameless.resample(
                np.zeros((1, 1), np.uint16),
                FactorialParameters(np.zeros((1, 1)), np.ones((1, 1, 1)), np.zeros((1, 1, 1)), np.ones(1)),
                Key(0, 1),
                ONE,
            )

    def test_a_prior_weight_lost_to_rounding_is_an_error(self):
        model = small(mean_weight=1e-6)
        counts = model.count(model.initial_paths(1, 0, ONE), ONE)
        many = replace(counts, together=1e14 * counts.together, observations=1e14 * counts.observations)
        with fails(r"the weight of the means' prior, 1e-06, is lost to rounding among 1.1e\+15 observations"):
            model.draw_parameters(many, Key(0, 1), ONE)
        # Rounding might do this to more chains than a test can have.
        rounded = replace(counts, together=counts.together - 1e-5 * np.eye(6).reshape(2, 3, 2, 3))
        with fails("the weight of the means' prior, 1e-06, is lost to rounding among 11 observations"):
            model.mean_parameters(rounded, ONE)

    def test_a_singular_covariance_is_an_error(self):
        model = small(covariance="full", covariance_prior=1e-10)
        counts = model.count(model.initial_paths(1, 0, ONE), ONE)
        with fails("covariance is singular: give the covariances a larger prior, or remove features"):
            model.draw_parameters(replace(counts, squares=-100 * np.eye(2)), Key(0, 1), ONE)
        phi = replace(phi_of(model), covariance=np.ones((2, 2)))
        with fails("the covariance is singular: increase its prior, or drop features that depend"):
            model.log_joint(model.initial_paths(1, 0, ONE), phi, ONE)
