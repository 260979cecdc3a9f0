"""Checks of arrays: what they return, what they refuse, and that no array gets past them into a kernel."""

from __future__ import annotations

import json
import math
import os
import pickle
import subprocess
import sys
from dataclasses import is_dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
import pytest
from scipy import sparse

import plait
import plait.models.model as model_module
import plait.models.sweeps as sweeps_module
from plait import arrays, sampler
from plait.errors import Argument, PlaitError
from plait.evaluate.agreement import token_agreement
from plait.evaluate.heldout import complete_documents
from plait.inference.topics import infer_theta
from plait.models.chain import HmmCounts
from plait.models.emissions import COVARIANCES
from plait.models.lda import Topics
from plait.models.mixture import LikelihoodOnly
from plait.models.model import Key, unchecked
from plait.models.sweeps import State, SweepSettings, step_to
from plait.plans import Settings
from plait.threads import Threads

NAN = np.nan
WITHOUT_COLLAPSED = ("PottsModel", "FactorialHmmModel")
FORMATS = ("csr", "csc", "coo", "lil", "dok", "bsr", "dia")


def refused(message):
    """Expect a one-line error that starts with this."""
    return pytest.raises(PlaitError, match=rf"\A{message}[^\n]*\Z")


def in_own_process(function, **environment):
    """Return the list that a function of this module returns, called in a process that it may end."""
    code = f"import json, test_arrays; print(json.dumps(test_arrays.{function}()))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        cwd=Path(__file__).parent,
    )
    assert done.returncode == 0, done.stderr  # SciPy or a kernel would have ended it
    return json.loads(done.stdout)


class TestReadOnly:
    def test_a_frozen_copy_cannot_be_written(self):
        given = np.ones((2, 2), order="F")
        copied = arrays.frozen_copy(given)
        assert copied.flags.c_contiguous
        with pytest.raises(ValueError, match="read-only"):
            copied[0, 0] = 2
        assert given.flags.writeable

    def test_an_array_is_frozen_if_all_that_it_is_a_view_of_is(self):
        owner = np.arange(4)
        view = arrays.frozen(owner.view())
        assert not arrays.is_frozen(owner)
        assert not arrays.is_frozen(view)
        assert not arrays.is_frozen(view[1:])
        arrays.frozen(owner)
        assert arrays.is_frozen(view[1:])
        assert arrays.is_frozen(np.frombuffer(b"abcd", np.uint8))
        assert not arrays.is_frozen(arrays.frozen(np.frombuffer(bytearray(b"abcd"), np.uint8)))

    def test_a_corpus_does_not_change_with_the_array_below_a_read_only_view(self):
        words = np.array([0, 1, 1], np.int32)
        offsets = np.array([0, 2, 3])
        corpus = plait.Corpus(arrays.frozen(words.view()), arrays.frozen(offsets.view()), ("a", "b"))
        words[0], offsets[1] = 10**6, 10**6
        assert corpus.words.tolist() == [0, 1, 1]
        assert corpus.offsets.tolist() == [0, 2, 3]

    def test_unpickled_data_are_checked_and_read_only(self):
        corpus = pickle.loads(pickle.dumps(plait.Corpus([0, 1], [0, 2], ("a", "b"))))
        assert not corpus.words.flags.writeable
        constructor, arguments = corpus.__reduce__()
        with refused(r"words\[0\] must be at least 0"):
            constructor(np.array([9, 1], np.int32), *arguments[1:])


class TestIntegers:
    def test_a_writeable_array_is_copied_and_a_read_only_one_is_not(self):
        given = np.arange(3, dtype=np.int64)
        copied = arrays.check_integer_array("x", given, np.int64)
        assert not np.shares_memory(copied, given)
        assert not copied.flags.writeable
        assert arrays.check_integer_array("x", copied, np.int64) is copied

    def test_other_types_are_converted(self):
        assert arrays.check_integer_array("x", [1, 2], np.int32).dtype == np.int32
        assert arrays.check_integer_array("x", [], np.int32).shape == (0,)
        swapped = arrays.check_integer_array("x", np.array([1, 2], ">i4"), np.int32)
        assert (swapped.dtype.isnative, swapped.tolist()) == (True, [1, 2])

    def test_arrays_are_aligned_and_contiguous(self):
        odd = np.frombuffer(b"x" + np.arange(3, dtype=np.int32).tobytes(), np.uint8)[1:].view(np.int32)
        for given in (odd, np.arange(6, dtype=np.int32)[::2]):
            got = arrays.check_integer_array("x", given, np.int32)
            assert got.flags.aligned
            assert got.flags.c_contiguous

    def test_what_is_no_list_of_whole_numbers_is_refused(self):
        with refused("x must be a one-dimensional array, got 2 dimensions"):
            arrays.check_integer_array("x", [[1]], np.int32)
        with refused("x must be a one-dimensional array, got entries of different lengths: put all numbers"):
            arrays.check_integer_array("x", [[0], [1, 2]], np.int32)
        with refused("words must be a one-dimensional array, got entries of different lengths"):
            plait.Corpus([[0], [1, 2]], [0, 1, 3], ("a", "b", "c"))
        with refused("x must be an array of whole numbers, got dtype float64"):
            arrays.check_integer_array("x", [0.5], np.int32)
        with refused(f"x must fit into int32, got numbers from 0 to {2**31}"):
            arrays.check_integer_array("x", [0, 2**31], np.int32)

    def test_indices_are_in_range(self):
        assert arrays.check_indices("x", [0, 2], 3, "the size").dtype == np.int32
        assert arrays.check_indices("x", [], 0, "the size").size == 0
        for wrong in (-1, 3, 2**31 - 1, -(2**31)):
            with refused(rf"x\[1\] must be at least 0 and less than 3, the size, got {wrong}"):
                arrays.check_indices("x", [0, wrong], 3, "the size")

    @pytest.mark.parametrize(
        ("wrong", "got"),
        [
            ([], "none"),
            ([0], "0 to 0"),
            ([1, 4], "1 to 4"),
            ([0, 3], "0 to 3"),
            ([0, 5], "0 to 5"),
            ([0, 3, 2, 4], "2 after 3"),
            ([0, 2**63 - 1, -(2**63), -1, 4], f"{-(2**63)} after {2**63 - 1}"),
        ],
    )
    def test_offsets_go_up_from_zero_to_the_end(self, wrong, got):
        assert arrays.check_offsets([0, 0, 4], 4, "tokens").dtype == np.int64
        with refused(f"offsets must go from 0 to 4, the number of tokens, and never decrease, got {got}"):
            arrays.check_offsets(wrong, 4, "tokens")


class TestPaths:
    def test_paths_of_the_right_form_are_not_copied(self):
        paths = np.zeros((2, 3), np.uint16)
        assert arrays.check_paths(paths, 3, 5, n_paths=2, dtype=np.uint16) is paths
        assert arrays.check_paths(paths, 3, 5) is paths

    def test_other_integers_are_converted_after_the_check_of_their_range(self):
        got = arrays.check_paths(np.array([[0, 299]]), 2, 300, dtype=np.uint16)
        assert (got.dtype, got.tolist()) == (np.uint16, [[0, 299]])
        for wrong in (-1, 300, 65536, 65537, 2**63 - 1, -(2**63)):
            with refused(rf"paths\[0\]\[1\] must be from 0 to 299, got {wrong}"):
                arrays.check_paths(np.array([[0, wrong]]), 2, 300, dtype=np.uint16)

    @pytest.mark.parametrize(
        "wrong",
        [
            np.zeros((2, 3)),
            np.zeros(3, int),
            np.zeros((2, 4), int),
            np.zeros((3, 3), int),
            [[0] * 3] * 2,
            None,
        ],
        ids=lambda wrong: str(np.shape(wrong)),
    )
    def test_other_forms_are_refused(self, wrong):
        with refused(r"paths must be an array of integers of shape \(2, 3\), got "):
            arrays.check_paths(wrong, 3, 5, n_paths=2)

    def test_no_method_of_a_model_and_no_sweep_lets_wrong_paths_into_a_kernel(self):
        assert in_own_process("use_wrong_paths") == []

    @pytest.mark.parametrize("collapsed", [False, True])
    def test_a_sweep_checks_its_paths_once(self, collapsed, monkeypatch):
        calls = []

        def check(*arguments):
            calls.append(arguments)
            return arrays.check_paths(*arguments)

        for module in (model_module, sweeps_module):
            monkeypatch.setattr(module, "check_paths", check)
        settings = Settings(n_paths=2, n_sweeps=1, seed=0, collapsed=collapsed, thin=1)
        with Threads(1) as threads:
            for name, model in models_with_paths().items():
                if collapsed and name in WITHOUT_COLLAPSED:
                    continue
                state = State(0, model.initial_paths(2, 0, threads))
                calls.clear()
                state = sampler.step(model, state, settings, threads)
                assert len(calls) == 1, name
                sampler.log_joint(model, state, threads)
                assert len(calls) == 2, name

    def test_methods_are_the_same_with_and_without_the_check(self):
        for model in models_with_paths().values():
            with Threads(1) as threads:
                paths = model.initial_paths(2, 0, threads)
                phi = model.mean_parameters(model.count(paths, threads), threads)
                want = model.log_joint(paths, phi, threads)
                assert np.array_equal(unchecked(model.log_joint)(paths, phi, threads), want)
        assert unchecked(model.mean_parameters) == model.mean_parameters

    def test_paths_in_the_byte_order_of_other_machines_are_refused(self):
        with refused(r"paths must be an array of integers of shape \(m, 2\), got >u2 of shape \(1, 2\)"):
            arrays.check_paths(np.zeros((1, 2), ">u2"), 2, 5)

    def test_read_only_paths_are_counted_but_not_drawn(self):
        message = "paths must not be read-only, as they are changed in place: pass a copy"
        settings = Settings(n_paths=2, n_sweeps=1, seed=0, collapsed=False, thin=1)
        with Threads(1) as threads:
            for model in models_with_paths().values():
                paths = arrays.frozen(model.initial_paths(2, 0, threads))
                phi = model.mean_parameters(model.count(paths, threads), threads)
                model.log_joint(paths, phi, threads)
                with refused(message):
                    model.resample(paths, phi, Key(0, 1), threads)
                with refused(message):
                    sampler.step(model, State(0, paths), settings, threads)

    def test_a_dtype_that_cannot_hold_all_states_is_refused(self):
        assert arrays.check_paths(np.zeros((1, 2), np.uint8), 2, 256).dtype == np.uint8
        for dtype in (np.int8, np.uint8):
            with refused(f"paths must have a dtype that holds 257 states, got {np.dtype(dtype)}"):
                arrays.check_paths(np.zeros((1, 2), dtype), 2, 257)


class TestNumbers:
    def test_real_numbers_of_any_type_become_floats(self):
        for given in ([1, 2], [True, False], np.array([1, 2], np.float16), np.array([1, 2.5], object)):
            assert arrays.check_numbers("x", given).dtype == np.float64

    @pytest.mark.parametrize(
        "wrong", [None, "3", ["1", "2"], [1j], np.array([1j]), [10**400], [[1], [1, 2]]], ids=str
    )
    def test_what_numpy_would_convert_with_a_loss_is_refused(self, wrong):
        with refused("x must be a number or an array of numbers, got "):
            arrays.check_numbers("x", wrong)

    def test_the_form_is_dtype_and_shape(self):
        arrays.check_form("x", np.zeros((2, 3)), (2, 3))
        arrays.check_form("x", np.full((2, 3), NAN, np.float32), (2, 3), np.float32)
        with refused(r"x must have shape \(3, 2\), got \(2, 3\)"):
            arrays.check_form("x", np.zeros((2, 3)), (3, 2))
        for wrong in ("f4", "i8", ">f8", "?", "c16"):
            with refused(f"x must be an array of float64, got dtype {np.dtype(wrong)}"):
                arrays.check_form("x", np.zeros(2, wrong), (2,))
        for name, argument in (("the parts", None), (Argument("x"), "x")):
            with refused(f"{name} must have shape") as caught:
                arrays.check_form(name, np.zeros(2), (3,))
            assert caught.value.argument == argument
        with refused(r"x must be an array of float64, got \[0.0, 0.0\]"):
            arrays.check_form("x", [0.0, 0.0], (2,))

    def test_numbers_that_are_not_finite_are_named(self):
        arrays.check_finite("x", np.zeros((2, 1)), (2, 1))
        for wrong in (NAN, np.inf, -np.inf):
            with refused(rf"x\[1\]\[0\] must be finite, got {wrong:g}"):
                arrays.check_finite("x", np.array([[0.0], [wrong]]))
        with refused(r"x must have shape \(1, 2\)"):
            arrays.check_finite("x", np.zeros((2, 1)), (1, 2))

    def test_distributions_sum_to_one(self):
        assert arrays.check_distributions("x", [1, 0], (2,)).tolist() == [1, 0]
        with refused("row 1 of x must sum to 1, got 0.5"):
            arrays.check_distributions("x", [[1, 0], [0.5, 0]], (2, 2))
        with refused(r"x\[0\] must be from 0 to 1, got nan"):
            arrays.check_distributions("x", [NAN, 1], (2,))
        with refused(r"x must have shape \(3,\), got \(2,\)"):
            arrays.check_distributions("x", [0.5, 0.5], (3,))

    def test_arrays_of_a_file_have_their_full_shape(self):
        file = {"a": np.zeros((2, 3)), "b": np.zeros(()), "c": np.zeros(2, np.float32)}
        assert arrays.stored_shapes(file, {"a": (2, 3)})["a"] is file["a"]
        assert arrays.rows_of(file, "a") == 2
        assert arrays.stored(file, "c", np.float32) is file["c"]
        with refused(r"b must have shape \(2,\), got \(\)"):
            arrays.stored_shapes(file, {"b": (2,)})
        with refused("c must be an array of float64, got dtype float32"):
            arrays.stored_shapes(file, {"c": (2,)})
        with refused("it has no array 'd'"):
            arrays.stored(file, "d")
        with refused("b must have a row for each state, got one number"):
            arrays.rows_of(file, "b")


def broken_matrices():
    """Return sparse matrices of all formats whose parts do not fit, by name."""
    counts = np.array([[1, 2, 0, 0], [0, 1, 0, 1], [3, 0, 1, 0], [0, 0, 0, 5]])
    found = {}

    def add(name, kind, change):
        for family in ("array", "matrix"):
            matrix = getattr(sparse, f"{kind}_{family}")(counts)
            change(matrix)
            found[f"{kind} {family}, {name}"] = matrix

    def put(part, place, value):
        def change(matrix):
            array = getattr(matrix, part).astype(np.int64)
            array[place] = value
            setattr(matrix, part, array)

        return change

    for kind in ("csr", "csc", "bsr"):
        add("index too large", kind, put("indices", 0, 10**8))
        add("negative index", kind, put("indices", 1, -1))
        add("index beyond int32", kind, put("indices", 1, 2**32))
        add("negative pointer", kind, put("indptr", 1, -(10**9)))
        add("pointer beyond the end", kind, put("indptr", -1, 10**9))
        add("pointers that wrap", kind, put("indptr", slice(1, 3), [2**63 - 1, -(2**63)]))
        add("late start", kind, put("indptr", 0, 1))
        add("too few pointers", kind, lambda matrix: setattr(matrix, "indptr", matrix.indptr[:-1]))
        add("too few data", kind, lambda matrix: setattr(matrix, "data", matrix.data[:1]))
        add("real indices", kind, lambda matrix: setattr(matrix, "indices", matrix.indices + 0.5))
    for axis in (0, 1):
        for wrong in (10**8, -1):

            def change(matrix, axis=axis, wrong=wrong):
                matrix.coords[axis][0] = wrong

            add(f"{wrong} on axis {axis}", "coo", change)
    add("too few data", "coo", lambda matrix: setattr(matrix, "data", matrix.data[:1]))
    add("column too large", "lil", lambda matrix: matrix.rows[0].__setitem__(0, 10**8))
    add("negative column", "lil", lambda matrix: matrix.rows[0].__setitem__(0, -(10**8)))
    add("row too long", "lil", lambda matrix: matrix.data[0].extend([1] * 10**5))
    add("row too short", "lil", lambda matrix: matrix.data[0].clear())
    add("column too large", "dok", lambda matrix: matrix._dict.__setitem__((0, 10**8), 1))
    add("negative row", "dok", lambda matrix: matrix._dict.__setitem__((-5, 0), 1))
    add("diagonal far away", "dia", put("offsets", 0, 2**40))
    add("diagonal that wraps", "dia", put("offsets", 0, 2**32))
    add("too few diagonals", "dia", lambda matrix: setattr(matrix, "data", matrix.data[:1]))
    add("the same diagonal", "dia", put("offsets", slice(None), 0))
    return found


def use_broken():
    """Pass broken matrices to everything that takes one; return what was not refused."""
    left = []
    good = np.array([[1, 2, 0, 0], [0, 1, 0, 1], [3, 0, 1, 0], [0, 0, 0, 5]])
    topics = plait.LatentDirichletAllocation(2, max_iter=2, random_state=0, n_jobs=1).fit(good)
    mixture = plait.MultinomialMixture(2, max_iter=2, random_state=0, n_jobs=1).fit(good)
    uses = {
        "Corpus.from_matrix": plait.Corpus.from_matrix,
        "LatentDirichletAllocation.fit": plait.LatentDirichletAllocation(2, max_iter=2, n_jobs=1).fit,
        "LatentDirichletAllocation.transform": topics.transform,
        "LatentDirichletAllocation.score": topics.score,
        "MultinomialEmissions": lambda X: plait.MultinomialEmissions(X, 2),
        "MultinomialMixture.fit": plait.MultinomialMixture(2, max_iter=2, n_jobs=1).fit,
        "MultinomialMixture.predict": mixture.predict,
    }
    for use, function in uses.items():
        for which, matrix in broken_matrices().items():
            try:
                function(matrix)
            except PlaitError as error:
                if "is damaged" in str(error) and "\n" not in str(error):
                    continue
            left.append(f"{use}: {which}")
    return left


class TestSparse:
    @pytest.mark.parametrize("family", ["array", "matrix"])
    @pytest.mark.parametrize("kind", FORMATS)
    def test_good_matrices_are_accepted(self, kind, family):
        counts = np.array([[1, 2, 0, 0], [0, 1, 0, 1]])
        matrix = getattr(sparse, f"{kind}_{family}")(counts)
        assert plait.Corpus.from_matrix(matrix).to_matrix().toarray().tolist() == counts.tolist()
        emissions = plait.MultinomialEmissions(matrix, 2)
        assert emissions.numbers.tolist() == [1, 2, 1, 1]
        assert emissions.words.tolist() == [0, 1, 1, 3]
        arrays.check_sparse(getattr(sparse, f"{kind}_{family}")((3, 5)))

    def test_what_is_not_sparse_is_left_alone(self):
        for other in (np.eye(2), [[1]], None, "text"):
            arrays.check_sparse(other)

    @pytest.mark.parametrize("which", broken_matrices())
    def test_broken_matrices_are_refused(self, which):
        kind = which.split()[0]
        with refused(rf"the sparse matrix \({kind}, \(4, 4\)\) is damaged: .*; build it again"):
            arrays.check_sparse(broken_matrices()[which])

    def test_nothing_walks_a_broken_matrix_before_it_is_refused(self):
        assert in_own_process("use_broken") == []

    @pytest.mark.filterwarnings("error::RuntimeWarning")
    def test_counts_without_a_sensible_sum_are_refused(self):
        for counts in ([[1e308, 1e308]], [[2.0**53, 2]], sparse.csr_array([[1e300, 1e300]])):
            with refused("counts must add up to at most 9007199254740992, got"):
                plait.MultinomialEmissions(counts, 2)

    def test_complex_counts_are_refused(self):
        for counts in ([[1j, 2]], sparse.csr_array([[1j, 2]])):
            with refused("counts must be"):
                plait.MultinomialEmissions(counts, 2)

    def test_too_many_words_are_refused(self):
        with refused("counts must have at most 33554432 words, got 33554433"):
            plait.MultinomialEmissions(sparse.csr_array((1, 2**25 + 1)), 2)


def models_with_paths():
    """Return small models of every kind, by name."""
    rng = np.random.default_rng(0)
    corpus = plait.Corpus([0, 1, 2, 2, 1, 0], [0, 3, 6], ("a", "b", "c"))
    symbols = plait.Sequences.from_symbols([0, 1, 2, 2, 1, 0])
    values = plait.Sequences.from_values(rng.normal(size=(6, 2)))
    return {
        "LdaModel": plait.LdaModel(corpus, 2),
        "LdaModel with many topics": plait.LdaModel(corpus, 100),
        "HmmModel": plait.HmmModel(plait.CategoricalEmissions(symbols, 2)),
        "HmmModel, site by site": plait.HmmModel(plait.CategoricalEmissions(symbols, 2), blocked=False),
        "MixtureModel": plait.MixtureModel(plait.GaussianEmissions(values, 2)),
        "PottsModel": plait.PottsModel(plait.GaussianEmissions(values, 2), (2, 3)),
        "FactorialHmmModel": plait.FactorialHmmModel(values, 2, 2, search=0),
    }


def uses_of_paths(name, model, good, threads):
    """Return everything that takes the paths of a model, by name."""
    key = Key(0, 1)
    counts = model.count(good, threads)
    phi = model.mean_parameters(counts, threads)

    def step(paths, given=None, **algorithm):
        sampler.step(model, State(0, paths), SweepSettings(0, **algorithm), threads, given)

    uses = {
        "step": step,
        "collapsed step": lambda paths: step(paths, collapsed=True),
        "partitioned step": lambda paths: step(paths, collapsed=True, partitioned=True),
        "step to another number of paths": lambda paths: step_to(3, model, State(0, paths), 0, threads),
        "step given phi": lambda paths: step(paths, lambda _: phi),
        "sampler.log_joint": lambda paths: sampler.log_joint(model, State(0, paths), threads),
        "sampler.log_joint given phi": lambda paths: sampler.log_joint(model, State(1, paths, phi), threads),
        "count": lambda paths: model.count(paths, threads),
        "count, by name": lambda paths: model.count(paths=paths, threads=threads),
        "resample": lambda paths: model.resample(paths, phi, key, threads),
        "log_joint": lambda paths: model.log_joint(paths, phi, threads),
    }
    if name not in WITHOUT_COLLAPSED:
        uses["resample_collapsed"] = lambda paths: model.resample_collapsed(paths, counts, key)
    if name.startswith("HmmModel"):
        uses["resample_sites"] = lambda paths: model.resample_sites(paths, phi, key, threads)
        uses["resample_blocked"] = lambda paths: model.resample_blocked(paths, phi, key, threads)
    if name == "FactorialHmmModel":
        table = np.zeros((model.n_sites, model.n_states), np.uint32)
        uses["add_states"] = lambda paths: model.add_states(paths, table)
    return uses


def use_wrong_paths():
    """Pass wrong paths to everything that takes paths; return what was not refused."""
    left = []
    with Threads(1) as threads:
        for name, model in models_with_paths().items():
            good = model.initial_paths(2, 0, threads)
            wrong = {
                "states too large": np.full_like(good, 60000),
                "a state too large": np.where(np.arange(good.size).reshape(good.shape) == 1, 100, good),
                "negative": np.full(good.shape, -1),
                "too few sites": good[:, :-1],
                "too many sites": np.hstack([good, good]),
                "one path, not in a row": good[0],
                "real numbers": good.astype(float),
                "a list": good.tolist(),
            }
            for use, function in uses_of_paths(name, model, good, threads).items():
                for which, paths in wrong.items():
                    try:
                        function(paths)
                    except PlaitError as error:
                        if error.argument == "paths" and "\n" not in str(error):
                            continue
                    left.append(f"{name}: {use}: {which}")
    return left


def kinds_of_emissions():
    """Return small emissions of every kind, by name."""
    rng = np.random.default_rng(0)
    bits = rng.integers(2, size=(6, 2)).astype(float)
    values = plait.Sequences.from_values(rng.normal(size=(6, 2)))
    found = {
        "categorical": plait.CategoricalEmissions(plait.Sequences.from_symbols([0, 1, 2, 2, 1, 0]), 2),
        "multinomial": plait.MultinomialEmissions(rng.integers(1, 4, size=(6, 3)), 2),
        "bernoulli": plait.BernoulliEmissions(plait.Sequences.from_values(bits), 2),
        "poisson": plait.PoissonEmissions(plait.Sequences.from_values(bits), 2),
    }
    for covariance in COVARIANCES:
        found[covariance] = plait.GaussianEmissions(values, 2, covariance=covariance)
    return found


def wrong_arrays(good):
    """Return arrays that differ from a good one in their form, by what is wrong."""
    found = {
        "nothing": None,
        "a list": good.tolist(),
        "an extra axis": good[None],
        "another dtype": good.astype(np.float32),
        "bytes swapped": good.astype(good.dtype.newbyteorder()),
        "complex": good.astype(complex),
        "empty": np.zeros((0,) * good.ndim, good.dtype),
    }
    for axis in range(good.ndim):
        found[f"cut along {axis}"] = np.take(good, range(good.shape[axis] - 1), axis=axis)
        found[f"cut to one along {axis}"] = np.take(good, [0], axis=axis)
        found[f"longer along {axis}"] = np.concatenate([good, good], axis=axis)
    return found


def parts_of(counts):
    """Return the arrays of counts by name."""
    return vars(counts) if is_dataclass(counts) else counts._asdict()


def wrong_counts(good):
    """Return counts with one part of a wrong form, by what is wrong."""
    if isinstance(good, np.ndarray):
        return wrong_arrays(good)
    parts = parts_of(good)
    found = {"nothing": None, "parts alone": tuple(parts.values())}
    for name, array in parts.items():
        if name == "observations":  # of a factorial model: one number, which no kernel sees
            continue
        wrong = wrong_arrays(array)
        if name == "words":
            wrong["Fortran order"] = np.asfortranarray(array)
        for what, changed in wrong.items():
            found[f"{name}, {what}"] = type(good)(**parts | {name: changed})
    return found


def copied(counts):
    """Return a copy of counts."""
    if isinstance(counts, np.ndarray):
        return counts.copy()
    return type(counts)(**{name: array.copy() for name, array in parts_of(counts).items()})


def models_with_counts():
    """Return small models of every kind, with every kind of emissions, by name."""
    found = models_with_paths()
    for name, emissions in kinds_of_emissions().items():
        if name != "multinomial":
            found[f"HmmModel, {name}"] = plait.HmmModel(emissions)
        if name != "categorical":
            found[f"MixtureModel, {name}"] = plait.MixtureModel(emissions)
        found[f"PottsModel, {name}"] = plait.PottsModel(emissions, (2, 3))
    return found


def has_collapsed_sampler(model):
    kind = getattr(getattr(model, "emissions", None), "kind", "")
    if isinstance(model, plait.HmmModel):
        return kind == "categorical"
    is_tied = getattr(getattr(model, "emissions", None), "covariance", "") == "tied"
    return isinstance(model, (plait.LdaModel, plait.MixtureModel)) and not is_tied


def uses_of_counts(model, paths, threads):
    """Return everything that takes the counts of a model, by name."""
    key, settings = Key(0, 1), Settings(n_paths=2, n_sweeps=1, seed=0, collapsed=True, thin=1)
    uses = {
        "draw_parameters": lambda counts: model.draw_parameters(counts, key, threads),
        "mean_parameters": lambda counts: model.mean_parameters(counts, threads),
    }
    if has_collapsed_sampler(model):
        uses["resample_collapsed"] = lambda counts: model.resample_collapsed(paths.copy(), counts, key)
        uses["step"] = lambda counts: sampler.step(
            model, State(0, paths.copy(), counts=counts), settings, threads
        )
    if hasattr(model, "mode_parameters"):
        uses["mode_parameters"] = model.mode_parameters
    if isinstance(model, plait.MixtureModel):
        uses["maximum likelihood"] = LikelihoodOnly(model).mode_parameters
    if isinstance(model, plait.LdaModel):
        uses["pseudo_counts"] = model.pseudo_counts
        uses["topic_word"] = model.topic_word
    if isinstance(model, plait.FactorialHmmModel):
        uses["shares"] = model.shares
    return uses


def use_wrong_counts():
    """Pass counts of a wrong form to everything that takes counts; return what was not refused."""
    left = []
    with Threads(1) as threads:
        for name, model in models_with_counts().items():
            paths = model.initial_paths(2, 0, threads)
            counts = model.count(paths, threads)
            for use, function in uses_of_counts(model, paths, threads).items():
                function(copied(counts))
                for what, wrong in wrong_counts(copied(counts)).items():
                    if wrong is None and use == "step":  # the counts are optional there
                        continue
                    if not is_refused(function, wrong):
                        left.append(f"{name}: {use}: {what}")
    return left


def is_refused(function, *arguments):
    """Return whether a call ends with an error of one line."""
    try:
        function(*arguments)
    except PlaitError as error:
        return "\n" not in str(error)
    return False


def use_read_only_counts():
    """Pass read-only counts to the collapsed samplers, which change them; return what was not refused."""
    left = []
    with Threads(1) as threads:
        for name, model in models_with_counts().items():
            if not has_collapsed_sampler(model):
                continue
            paths = model.initial_paths(2, 0, threads)
            counts = model.count(paths, threads)
            for array in parts_of(counts).values():
                array.flags.writeable = False
                if not is_refused(model.resample_collapsed, paths.copy(), counts, Key(0, 1)):
                    left.append(name)
                array.flags.writeable = True
    return left


def use_false_counts():
    """Sample with counts that are not those of the paths; return where paths became invalid.

    Kernels must be interpreted, so that every index is checked.
    """
    assert os.environ["NUMBA_DISABLE_JIT"] == "1"

    def lgamma(x):
        return np.inf if x <= 0 and x == np.floor(x) else math.lgamma(x)  # as in compiled kernels

    left = []
    with (
        Threads(1) as threads,
        np.errstate(all="ignore"),
        patch("plait.kernels.collapsed_mixtures.math", SimpleNamespace(lgamma=lgamma)),
    ):
        for name, model in models_with_counts().items():
            if not has_collapsed_sampler(model):
                continue
            good = model.initial_paths(2, 0, threads)
            for value in (0, 1, -1, 5, -(10**6), 2**31 - 1, NAN, np.inf):
                counts = model.count(good, threads)
                for array in parts_of(counts).values():
                    if array.dtype.kind == "f" or np.isfinite(value):
                        array[...] = value
                paths = good.copy()
                for sweep in range(3):
                    model.resample_collapsed(paths, counts, Key(0, sweep))
                if int(paths.max()) >= model.n_states:
                    left.append(f"{name}: {value}")
    return left


class TestCounts:
    def test_no_method_of_a_model_and_no_sweep_lets_counts_of_a_wrong_form_into_a_kernel(self):
        assert in_own_process("use_wrong_counts") == []

    def test_the_collapsed_samplers_refuse_counts_that_cannot_be_changed(self):
        assert in_own_process("use_read_only_counts") == []

    def test_counts_of_other_paths_do_not_lead_beyond_an_array(self):
        assert in_own_process("use_false_counts", NUMBA_DISABLE_JIT="1") == []

    def test_messages_name_the_part(self):
        model, _ = chain()
        good = np.zeros(2), np.zeros((2, 2)), np.zeros((2, 5))
        model.mode_parameters(HmmCounts(*good))
        for counts, message in (
            (good, r"counts must be HmmCounts, got \(array"),
            (HmmCounts(np.zeros(3), *good[1:]), r"starts of the counts must have shape \(2,\), got \(3,\)"),
            (HmmCounts(*good[:2], np.zeros((2, 3))), r"statistics must have shape \(2, 5\), got \(2, 3\)"),
            (
                HmmCounts(good[0], np.eye(2, dtype=int), good[2]),
                "pairs of the counts must be an array of float64",
            ),
        ):
            with refused(message):
                model.mode_parameters(counts)


RANGES = ((-1, 3), (0, 7), (4, 3), (7, 7), (0, 2**40), (-(2**40), 0), (0.0, 6.0), (None, 6), ("0", "6"))


@pytest.mark.parametrize("name", kinds_of_emissions())
class TestEmissions:
    """What is given to emissions directly, not through a model."""

    good = np.array([[0, 1, 0, 1, 1, 0]], np.uint16)

    def test_paths_are_checked(self, name):
        emissions = kinds_of_emissions()[name]
        emissions.count(0, 6, self.good)
        emissions.count(first=2, last=4, paths=self.good)
        for wrong in (self.good + np.uint16(60000), self.good[:, :5], self.good[0], -self.good.astype(int)):
            for bounds in ((0, 6), (2, 2)):
                with refused("paths"):
                    emissions.count(*bounds, wrong)
        with pytest.raises(TypeError, match="missing a required argument: 'paths'"):
            emissions.count(0, 6)

    @pytest.mark.parametrize("bounds", RANGES, ids=str)
    def test_ranges_of_sites_are_checked(self, name, bounds):
        emissions = kinds_of_emissions()[name]
        parameters = emissions.mean(emissions.count(0, 6, self.good))
        message = "first and last must be whole numbers from 0 to 6, the number of sites, in this order, got "
        with refused(message):
            emissions.count(*bounds, self.good)
        with refused(message):
            unchecked(emissions.count)(*bounds, self.good)
        with refused(message):
            emissions.expect(*bounds, np.full((6, 2), 0.5))
        if name != "categorical":  # its table serves all sites
            for method in (emissions.weights, emissions.log_weights):
                with refused(message):
                    method(parameters, *bounds)

    def test_posteriors_have_a_row_for_each_site(self, name):
        emissions = kinds_of_emissions()[name]
        posteriors = np.full((4, 2), 0.5)
        emissions.expect(1, 5, posteriors)
        for what, wrong in wrong_arrays(posteriors).items():
            assert is_refused(emissions.expect, 1, 5, wrong), what
        with refused(r"posteriors must have shape \(5, 2\), got \(4, 2\)"):
            emissions.expect(1, 6, posteriors)

    def test_statistics_have_the_form_that_count_returns(self, name):
        emissions = kinds_of_emissions()[name]
        statistics = emissions.count(0, 6, self.good)
        for what, wrong in wrong_arrays(statistics).items():
            for use in (
                emissions.check_statistics,
                emissions.mean,
                emissions.mode,
                lambda wrong: emissions.draw(wrong, Key(0, 1), 0),
            ):
                with refused("statistics must "):
                    use(wrong)
                assert is_refused(use, wrong), what

    def test_the_collapsed_sampler_checks_all_arrays(self, name):
        emissions = kinds_of_emissions()[name]
        if name in ("categorical", "tied"):
            pytest.skip("it has no collapsed sampler")
        arguments = {
            "paths": self.good.copy(),
            "states": np.array([3.0, 3.0]),
            "share_prior": np.ones(2),
            "statistics": emissions.count(0, 6, self.good),
        }
        emissions.resample_collapsed(**arguments, key=Key(0, 1))
        for argument in arguments:
            wrong = wrong_arrays(arguments[argument])
            if argument == "paths":
                del wrong["longer along 0"], wrong["cut to one along 0"], wrong["cut along 0"]
                wrong["states too large"] = np.full((1, 6), 60000, np.uint16)
            if argument != "share_prior":
                wrong["read-only"] = arrays.frozen_copy(arguments[argument])
            for array in wrong.values():
                with refused(rf"{argument}\S* must ") as caught:
                    emissions.resample_collapsed(**arguments | {argument: array}, key=Key(0, 1))
                assert caught.value.argument == argument


def chain():
    values = plait.Sequences.from_values(np.random.default_rng(0).normal(size=(9, 2)))
    model = plait.HmmModel(plait.GaussianEmissions(values, 2))
    with Threads(1) as threads:
        paths = model.initial_paths(2, 0, threads)
        return model, model.mean_parameters(model.count(paths, threads), threads)


class TestParameters:
    """Parameters that a user gives have the shapes of the model."""

    @pytest.mark.parametrize("method", ["log_likelihood", "log_likelihoods", "posteriors", "best_paths"])
    @pytest.mark.parametrize(
        "change",
        [
            {"start": np.ones(1)},
            {"start": [0.5, 0.5]},
            {"transitions": np.ones((1, 1))},
            {"transitions": [[0.5, 0.5]] * 2},
            {"transitions": np.eye(2, dtype=np.float32)},
            {"means": np.zeros((1, 2))},
            {"means": np.zeros((2, 1))},
            {"covariances": np.ones((2, 1))},
            {"covariances": np.ones(2), "covariance": "spherical"},
        ],
        ids=str,
    )
    def test_wrong_parameters_of_a_chain_are_refused(self, method, change):
        model, parameters = chain()
        own = {name: value for name, value in change.items() if name in ("start", "transitions")}
        emissions = replace(
            parameters.emissions, **{name: value for name, value in change.items() if name not in own}
        )
        with pytest.raises(PlaitError, match=r"must (be an array of float64|have shape|be one of)"):
            getattr(model, method)(replace(parameters, emissions=emissions, **own), n_jobs=1)

    @pytest.mark.parametrize("method", ["log_likelihood", "log_likelihoods", "posteriors"])
    def test_wrong_parameters_of_a_mixture_are_refused(self, method):
        counts = np.array([[1, 0, 2], [0, 3, 0]])
        model = plait.MixtureModel(plait.MultinomialEmissions(counts, 2))
        good = plait.MixtureParameters(np.full(2, 0.5), plait.CategoricalParameters(np.full((2, 3), 1 / 3)))
        getattr(model, method)(good, n_jobs=1)
        for wrong in (
            replace(good, shares=np.ones(1)),
            replace(good, emissions=plait.CategoricalParameters(np.full((2, 2), 0.5))),
            replace(good, emissions=plait.CategoricalParameters(np.full((1, 3), 1 / 3))),
        ):
            with refused(".*must have shape"):
                getattr(model, method)(wrong, n_jobs=1)

    def test_wrong_parameters_of_factorial_models_are_refused(self):
        values = plait.Sequences.from_values(np.random.default_rng(0).normal(size=(9, 2)))
        model = plait.FactorialHmmModel(values, 2, 2, search=0)
        good = plait.sample(model, n_paths=1, n_sweeps=1, n_jobs=1).parameters(1)
        for name in ("start", "transitions", "means", "covariance"):
            wrong = replace(good, **{name: getattr(good, name)[:1]})
            for use in (model.log_likelihood, lambda wrong: model.paths_given(wrong, 1, 0, 1)):
                with refused("the .*must have shape"):
                    use(wrong)

    @pytest.mark.filterwarnings("error::RuntimeWarning")
    def test_means_whose_squares_overflow_are_refused(self):
        values = plait.Sequences.from_values(np.arange(6.0))
        for name in ("mean_prior", "fixed_means"):
            for far in (1e308, -1e146):
                with refused(rf"{name}\[0\]\[0\] must be a finite number, at most 1e\+145 from the mean"):
                    plait.GaussianEmissions(values, 2, **{name: [[far], [0.0]]})

    @pytest.mark.filterwarnings("error::RuntimeWarning")
    @pytest.mark.parametrize("covariance", COVARIANCES)
    def test_priors_of_variances_are_large_enough_to_divide(self, covariance):
        values = plait.Sequences.from_values(np.zeros((6, 1)))
        for small in (5e-324, 1e-310, 9e-306):
            with refused(f"covariance_prior must have variances of at least 1e-305, got {small:g}"):
                plait.GaussianEmissions(values, 2, covariance=covariance, covariance_prior=small)
            if covariance in ("diag", "full"):
                with refused("covariance_prior must have variances of at least 1e-305"):
                    plait.FactorialHmmModel(values, 2, 2, covariance=covariance, covariance_prior=small)
        smallest = plait.GaussianEmissions(values, 2, covariance=covariance, covariance_prior=1e-305)
        plait.sample(plait.MixtureModel(smallest), n_paths=2, n_sweeps=3, n_jobs=1).parameters(1)

    def test_attributes_that_a_user_sets_are_checked(self):
        X = np.random.default_rng(0).normal(size=(20, 2))
        mixture = plait.GaussianMixture(2, max_iter=2, random_state=0, n_jobs=1, polish=False).fit(X)
        want = mixture.predict_proba(X)
        mixture.means_ = mixture.means_.tolist()
        assert np.array_equal(mixture.predict_proba(X), want)
        mixture.means_ = np.zeros((2, 1))
        with refused("means must have shape"):
            mixture.predict(X)

    @pytest.mark.parametrize(
        ("name", "value", "message"),
        [
            ("weights_", None, "weights_ must be a number or an array of numbers, got None"),
            ("weights_", "half", "weights_ must be a number or an array of numbers, got 'half'"),
            ("weights_", [2.0, -1.0], r"weights_\[1\] must be from 0 to 1, got -1"),
            ("means_", None, "means_ must be a number or an array of numbers, got None"),
            ("means_", [[NAN, 0.0], [0.0, 0.0]], r"means_\[0\]\[0\] must be finite, got nan"),
            (
                "covariances_",
                np.full((2, 2, 2), np.inf),
                r"covariances_\[0\]\[0\]\[0\] must be finite, got inf",
            ),
        ],
    )
    def test_attributes_of_a_mixture_that_are_not_parameters_are_refused(self, name, value, message):
        X = np.random.default_rng(0).normal(size=(20, 2))
        mixture = plait.GaussianMixture(2, max_iter=2, random_state=0, n_jobs=1, polish=False).fit(X)
        setattr(mixture, name, value)
        for use in (lambda: mixture.predict(X), lambda: mixture.score(X), lambda: mixture.sample(3)):
            with refused(message):
                use()


class TestTopics:
    corpus = plait.Corpus([0, 1, 2, 2, 1], [0, 3, 5], ("a", "b", "c"))
    larger = plait.Corpus([0, 1, 5, 4, 1], [0, 3, 5], tuple("abcdef"))

    def topics(self):
        return plait.sample(plait.LdaModel(self.corpus, 2), n_paths=1, n_sweeps=1, n_jobs=1).parameters(1)

    @pytest.mark.parametrize("use", [infer_theta, complete_documents])
    def test_topics_of_another_vocabulary_are_refused(self, use):
        use(self.corpus, self.topics(), 0.1)
        with refused(r"phi of the topics must have shape \(6, 2\), got \(3, 2\)"):
            use(self.larger, self.topics(), 0.1)
        empty = plait.Corpus([], [0, 0], tuple("abcdef"))
        with refused(r"phi of the topics must have shape"):
            infer_theta(empty, self.topics(), 0.1)

    def test_topics_in_another_layout_are_refused(self):
        phi, shared = self.topics()
        for wrong in (
            Topics(phi.astype(np.float64), shared),
            Topics(phi, shared[:, :0]),
            Topics(phi, shared[:1]),
            Topics(np.asfortranarray(phi), shared),
            Topics(phi[0], shared),
            Topics(phi * np.float32(NAN), shared),
            Topics(phi, shared * -1),
            (phi, shared),
        ):
            with refused(".*topics must "):
                infer_theta(self.corpus, wrong, 0.1)

    def test_arrays_to_count_in_have_the_shape_of_the_model(self):
        model = plait.LdaModel(self.corpus, 2)
        paths = np.zeros((1, 5), np.uint16)
        model.add_document_counts(paths, np.zeros((2, 2)))
        with refused(r"totals must have shape \(2, 2\), got \(9, 2\)"):
            model.add_document_counts(paths, np.zeros((9, 2)))
        with refused(r"paths\[0\]\[0\] must be from 0 to 1, got 7"):
            model.add_document_counts(paths + np.uint16(7), np.zeros((2, 2)))
        with refused(r"topic_word must have shape \(2, 3\), got \(2, 2\)"):
            model.as_topics(np.full((2, 2), 0.5))


class TestFields:
    def model(self):
        values = plait.Sequences.from_values(np.random.default_rng(0).normal(size=6))
        return plait.PottsModel(plait.GaussianEmissions(values, 2), (2, 3))

    def test_paths_are_checked(self):
        model = self.model()
        parameters = plait.sample(model, n_paths=1, n_sweeps=1, n_jobs=1).parameters(1)
        totals = np.zeros((6, 2), np.uint32)
        for paths in (np.full((1, 6), 2, np.uint16), np.zeros((1, 5), np.uint16), np.full((1, 6), -1)):
            for use in (
                model.count_agreeing,
                lambda paths, _: model.log_densities(paths, parameters, 1),
                lambda paths, _: model.add_label_counts(paths, totals, 1),
            ):
                with refused("paths"):
                    use(paths, 1)

    def test_totals_are_checked(self):
        paths = np.zeros((1, 6), np.uint16)
        for totals in (np.zeros((5, 2), np.uint32), np.zeros((6, 1), np.uint32), np.zeros((6, 2)), None):
            with refused("totals must "):
                self.model().add_label_counts(paths, totals, 1)


class TestRuns:
    def run(self):
        return plait.sample(plait.LdaModel(TestTopics.corpus, 2), n_paths=2, n_sweeps=1, n_jobs=1)

    @pytest.mark.parametrize(
        "wrong",
        [
            np.full((2, 5), 2, np.uint16),
            np.full((2, 5), -1),
            np.zeros((2, 4), np.uint16),
            np.zeros((1, 5), np.uint16),
            np.zeros((2, 5)),
            [[0] * 5] * 2,
        ],
        ids=lambda wrong: f"{np.asarray(wrong).dtype} {np.shape(wrong)}",
    )
    def test_a_run_with_wrong_paths_is_refused(self, wrong):
        with refused("paths"):
            replace(self.run(), paths=wrong)

    def test_a_run_has_states_of_two_bytes(self):
        run = replace(self.run(), paths=np.asfortranarray(self.run().paths.astype(np.int64)))
        assert run.paths.dtype == np.uint16
        assert run.paths.flags.c_contiguous
        assert not run.paths.flags.writeable

    def test_a_run_is_a_view_of_the_paths_that_a_sampler_goes_on_with(self):
        paths = np.zeros((2, 5), np.uint16)
        run = replace(self.run(), paths=paths)
        assert np.shares_memory(run.paths, paths)
        assert paths.flags.writeable

    @pytest.mark.parametrize(("name", "limit"), [("n_paths", 2**20), ("n_sweeps", 2**53), ("thin", 2**53)])
    def test_settings_have_limits(self, name, limit):
        settings = self.run().settings
        assert getattr(replace(settings, stages=(), **{name: limit}), name) == limit
        for wrong in (limit + 1, 2**63, 10**30):
            with refused(f"{name} must be at most {limit}, got {wrong}"):
                replace(settings, **{name: wrong})

    def test_agreement_needs_paths(self):
        for wrong in (np.zeros(3, np.uint16), np.zeros((2, 3)), None):
            with refused(r"paths must be an array of integers of shape \(m, N\), got"):
                token_agreement(wrong)
        with refused("paths must have at least one path"):
            token_agreement(np.zeros((0, 3), np.uint16))
