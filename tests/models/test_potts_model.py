"""The Potts model: threads, files and wrong input. Its distributions are tested in tests/exact/."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from plait.data.sequences import Sequences
from plait.errors import NotSupported, PlaitError
from plait.fitting.stored import resume
from plait.kernels import potts as kernels
from plait.models import potts as module
from plait.models.emissions import (
    BernoulliEmissions,
    CategoricalEmissions,
    CategoricalParameters,
    GaussianEmissions,
    NormalParameters,
    PoissonEmissions,
)
from plait.models.model import Key
from plait.models.potts import PottsModel, PottsParameters
from plait.run import load
from plait.sampler import sample
from plait.threads import Threads

THREADS = Threads(1)


def numbers(shape, n_states=3, n_features=1, **more) -> GaussianEmissions:
    rng = np.random.default_rng(0)
    n_sites = int(np.prod(shape))
    values = rng.normal(size=(n_sites, n_features)) + rng.integers(0, 3, n_sites)[:, None]
    return GaussianEmissions(Sequences.from_values(values), n_states, **more)


def symbols(shape, n_states=3) -> CategoricalEmissions:
    return CategoricalEmissions(
        Sequences.from_symbols(np.random.default_rng(1).integers(0, 5, int(np.prod(shape)))), n_states
    )


# ---------------------------------------------------------------------------------------------------------
# Threads, paths and ranges
# ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("few", [8, 0])
@pytest.mark.parametrize(
    ("shape", "neighbours"),
    [((37, 53), 4), ((41, 19), 8), ((1, 700), 4), ((700, 1), 8), ((7, 11, 13), 6), ((9, 8, 7), 26)],
)
def test_any_number_of_threads_gives_the_same_bits(shape, neighbours, few, monkeypatch):
    monkeypatch.setattr(module, "_SITES_PER_RANGE", 97)  # so that ranges start and end within lines
    monkeypatch.setattr(module, "_UPDATES_PER_TASK", 200)
    monkeypatch.setattr(module, "_FEW_RANGES", 8)
    monkeypatch.setattr(kernels, "FEW_LABELS", few)
    model = PottsModel(numbers(shape), shape, 0.4, neighbours)
    assert len(model._ranges) > 3
    ends = [sample(model, n_paths=3, n_sweeps=4, seed=2, thin=1, n_jobs=n) for n in (1, 2, 3)]
    for end in ends[1:]:
        assert np.array_equal(end.paths, ends[0].paths)
        assert np.array_equal(end.trace.log_joint, ends[0].trace.log_joint)
    assert len(np.unique(ends[0].paths)) == 3


def test_a_path_does_not_depend_on_the_other_paths(monkeypatch):
    """Given phi, neither other paths nor the grouping of paths into tasks change a path."""
    model = PottsModel(numbers((30, 31)), (30, 31))
    paths = model.initial_paths(5, 3, THREADS)
    phi = model.mean_parameters(model.count(paths, THREADS), THREADS)
    together, alone = paths.copy(), paths[:2].copy()
    model.resample(together, phi, Key(3, 1), THREADS)
    model.resample(alone, phi, Key(3, 1), THREADS)
    assert np.array_equal(alone, together[:2])
    monkeypatch.setattr(module, "_UPDATES_PER_TASK", 1)
    assert model._n_groups(5) >= 5
    model.resample(paths, phi, Key(3, 1), Threads(2))
    assert np.array_equal(paths, together)


def test_paths_are_divided_into_groups_where_ranges_are_few():
    small, large = numbers((64, 64)), numbers((300, 300))
    assert PottsModel(small, (64, 64))._n_groups(40) == 10
    assert PottsModel(large, (300, 300))._n_groups(40) == 1


def test_counts_are_those_of_the_emissions():
    shape = (50, 200)
    emissions = numbers(shape)
    model = PottsModel(emissions, shape)
    paths = np.random.default_rng(4).integers(0, 3, (2, 10_000)).astype(np.uint16)
    with Threads(2) as two:
        counts = model.count(paths, two)
    assert np.allclose(counts, emissions.count(0, 10_000, paths))


def test_label_counts_add_up():
    model = PottsModel(numbers((3, 4)), (3, 4))
    paths = np.random.default_rng(5).integers(0, 3, (7, 12)).astype(np.uint16)
    totals = np.zeros((12, 3), np.uint32)
    model.add_label_counts(paths, totals, THREADS)
    model.add_label_counts(paths[:2], totals, THREADS)
    expected = (paths[:, :, None] == np.arange(3)).sum(axis=0) + (paths[:2, :, None] == np.arange(3)).sum(
        axis=0
    )
    assert np.array_equal(totals, expected)


@pytest.mark.parametrize("n_states", [1, 2, 5, 8, 9, 40])
def test_every_number_of_labels_works(n_states):
    model = PottsModel(numbers((12, 9), n_states), (12, 9))
    run = sample(model, n_paths=2, n_sweeps=3, seed=6, n_jobs=1)
    assert run.paths.max() < n_states
    assert np.isfinite(run.trace.log_joint).all()


def test_coupling_makes_neighbours_agree():
    shape = (40, 40)
    agreeing = []
    for coupling in (0.0, 0.5, 1.0, 2.0):
        model = PottsModel(numbers(shape), shape, coupling)
        run = sample(model, n_paths=1, n_sweeps=20, seed=7, n_jobs=1)
        agreeing.append(int(model.count_agreeing(run.paths, THREADS)[0]))
    assert agreeing == sorted(agreeing)
    assert agreeing[-1] > 1.2 * agreeing[0]


def test_far_outliers_outweigh_the_strongest_coupling():
    """However unlikely a pixel and however strong the coupling, a valid label is drawn."""
    values = np.zeros((5, 5))
    values[2, 2], values[0, 4] = 1e4, -1e4
    emissions = GaussianEmissions(Sequences.from_values(values.reshape(-1, 1)), 2)
    model = PottsModel(emissions, (5, 5), 7.5, 8)
    phi = PottsParameters(NormalParameters(np.array([[0.0], [1.0]]), np.ones((2, 1)), "diag"))
    paths = np.zeros((1, 25), np.uint16)
    model.resample(paths, phi, Key(8, 1), THREADS)
    # The log-density of the outlier differs by 1e4 between the labels, more than neighbours can outweigh.
    assert paths.reshape(5, 5)[2, 2] == 1
    assert paths.reshape(5, 5)[0, 4] == 0
    assert paths.sum() == 1


def test_missing_pixels_take_the_labels_of_their_neighbours():
    truth = np.zeros((20, 20), int)
    truth[:, 10:] = 1
    values = truth + np.random.default_rng(9).normal(scale=0.1, size=truth.shape)
    values[8:12, 4:7] = values[3:5, 14:16] = np.nan
    emissions = GaussianEmissions(Sequences.from_values(values.reshape(-1, 1), missing=True), 2)
    model = PottsModel(emissions, truth.shape, 1.5)
    run = sample(model, n_paths=2, n_sweeps=60, seed=10, n_jobs=1)
    phi = model.mean_parameters(model.count(run.paths, THREADS), THREADS)
    order = model.canonical_order(phi)
    labels = np.argsort(order)[run.paths[0]].reshape(truth.shape)
    seen = ~np.isnan(values)
    assert np.array_equal(labels[seen], truth[seen])
    assert np.mean(labels[~seen] == truth[~seen]) > 0.8


@pytest.mark.parametrize("u", [2.0**-53, 0.25, 1 - 2.0**-53])
def test_labels_without_weight_are_never_drawn(u):
    """Not even with the smallest and the largest uniform variates."""
    rng = np.random.default_rng(19)
    table = np.exp(1.3 * (np.arange(5.0) - 4))
    near = np.array([2, 0, 2, 3])
    counts = np.uint64(sum(1 << (8 * s) for s in near.tolist()))
    drawn = set()
    for _ in range(300):
        weights = rng.random((1, 5)).astype(np.float32) * (rng.random(5) < 0.5)
        weights[0, rng.integers(5)] = 1.0
        steps = np.cumsum(weights[0].astype(float))
        chosen = kernels._draw_label((0,) * 5, weights, 0, table, counts, u)
        tally = np.zeros(5, np.int64)
        other = kernels._draw_of_many(weights, 0, steps, table, near, 4, np.empty(26), tally, u)
        assert weights[0, chosen] > 0
        assert weights[0, other] > 0
        assert not tally.any()
        drawn |= {int(chosen), int(other)}
    assert len(drawn) > 1


# ---------------------------------------------------------------------------------------------------------
# Order of labels, files, pickles
# ---------------------------------------------------------------------------------------------------------


def test_canonical_order_sorts_labels_by_mean_unless_priors_distinguish_them():
    model = PottsModel(numbers((4, 4)), (4, 4))
    phi = PottsParameters(
        NormalParameters(np.array([[2.0], [0.0], [1.0]]), np.array([[0.2], [0.3], [0.4]]), "diag")
    )
    order = model.canonical_order(phi)
    assert order.tolist() == [1, 2, 0]
    assert phi.permuted(order).emissions.means.ravel().tolist() == [0.0, 1.0, 2.0]
    assert phi.permuted(order).emissions.covariances.ravel().tolist() == [0.3, 0.4, 0.2]
    distinct = PottsModel(numbers((4, 4), mean_prior=[[0.0], [1.0], [2.0]]), (4, 4))
    assert model.is_exchangeable
    assert not distinct.is_exchangeable
    assert distinct.canonical_order(phi).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("emissions", "shape", "neighbours"),
    [
        (numbers((6, 5), 3, 2, covariance="full"), (6, 5), 8),
        (symbols((2, 3, 5)), (2, 3, 5), 26),
        (PoissonEmissions(Sequences.from_values(np.arange(30.0) % 4), 2), (5, 6), None),
        (BernoulliEmissions(Sequences.from_values(np.arange(30.0) % 2), 2), (1, 30), 4),
    ],
    ids=["gaussian", "categorical", "poisson", "bernoulli"],
)
def test_files_and_pickles_give_an_equal_model(emissions, shape, neighbours, tmp_path):
    model = PottsModel(emissions, shape, 0.7, neighbours)
    run = sample(model, n_paths=2, n_sweeps=5, seed=11, n_jobs=1)
    run.save(tmp_path / "run.plait")
    loaded = load(tmp_path / "run.plait")
    for other in (loaded.model, pickle.loads(pickle.dumps(model))):
        assert isinstance(other, PottsModel)
        assert (other.shape, other.coupling, other.neighbours) == (model.shape, 0.7, model.neighbours)
        assert np.array_equal(sample(other, n_paths=2, n_sweeps=5, seed=11, n_jobs=1).paths, run.paths)
    longer = sample(model, n_paths=2, n_sweeps=8, seed=11, n_jobs=1)
    assert np.array_equal(resume(loaded, n_sweeps=8, n_jobs=1).paths, longer.paths)


def test_simulated_models_have_the_same_grid():
    model = PottsModel(symbols((2, 4)), (2, 4), 0.3, 8)
    other, path, phi = model.simulate(np.random.default_rng(12))
    assert (other.shape, other.coupling, other.neighbours) == ((2, 4), 0.3, 8)
    assert path.shape == (8,)
    assert phi.emissions.probabilities.shape == (3, 5)
    again, same, _ = model.simulate(np.random.default_rng(12))
    assert np.array_equal(path, same)
    assert other.emissions.sequences.equals(again.emissions.sequences)


def test_simulate_needs_no_enumeration_for_one_label():
    model = PottsModel(symbols((30, 30), 1), (30, 30))
    assert not model.simulate(np.random.default_rng(0))[1].any()


def test_changing_a_simulated_path_does_not_change_the_model():
    model = PottsModel(symbols((2, 2), 2), (2, 2))
    _, path, _ = model.simulate(np.random.default_rng(13))
    before = path.copy()
    path[:] = 1 - path
    assert np.array_equal(model.simulate(np.random.default_rng(13))[1], before)


# ---------------------------------------------------------------------------------------------------------
# Wrong input
# ---------------------------------------------------------------------------------------------------------


def test_there_is_no_collapsed_sampler():
    model = PottsModel(symbols((3, 3)), (3, 3))
    with pytest.raises(NotSupported, match="no collapsed sampler for Potts fields"):
        sample(model, n_paths=1, n_sweeps=1, collapsed=True, n_jobs=1)


def test_simulate_refuses_all_but_tiny_grids():
    model = PottsModel(symbols((4, 4), 3), (4, 4))
    with pytest.raises(NotSupported, match=r"the grid has 3\^16 labelings"):
        model.simulate(np.random.default_rng(0))
    assert PottsModel(symbols((4, 4), 2), (4, 4)).simulate(np.random.default_rng(0))[1].shape == (16,)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((4, 5), r"shape must have one site for each of the 24 observations, got \(4, 5\) with 20 sites"),
        ((1, 10**400), rf"shape\[1\] must be at most {2**53}, got 10{{56}}\.\.\."),
        ((24,), r"shape must be \(rows, columns\) or \(planes, rows, columns\), got \(24,\)"),
        (24, "shape must be .*, got 24"),
        ("ab", "shape must be .*, got 'ab'"),
        ((1, 2, 3, 4), r"shape must be .*, got \(1, 2, 3, 4\)"),
        ((4.0, 6), r"shape\[0\] must be a whole number of at least 1, got 4.0"),
        ((-4, -6), r"shape\[0\] must be a whole number of at least 1, got -4"),
        ((24, 0), r"shape\[1\] must be a whole number of at least 1, got 0"),
    ],
)
def test_wrong_shapes_are_refused(shape, message):
    with pytest.raises(PlaitError, match=message):
        PottsModel(symbols((4, 6)), shape)


@pytest.mark.parametrize(
    ("shape", "neighbours", "message"),
    [
        ((4, 6), 6, "neighbours must be 4 or 8 on a grid of 2 dimensions, got 6"),
        ((2, 3, 4), 4, "neighbours must be 6 or 26 on a grid of 3 dimensions, got 4"),
        ((4, 6), "4", "neighbours must be 4 or 8 .*, got '4'"),
        ((4, 6), True, "neighbours must be 4 or 8 .*, got True"),
    ],
)
def test_wrong_numbers_of_neighbours_are_refused(shape, neighbours, message):
    with pytest.raises(PlaitError, match=message):
        PottsModel(symbols(shape), shape, 1.0, neighbours)


@pytest.mark.parametrize("coupling", [-0.1, np.nan, np.inf, "1", None, True, 15.1])
def test_wrong_couplings_are_refused(coupling):
    with pytest.raises(PlaitError, match=r"^coupling must be a number from 0 to 15 with 4 neighbours, got"):
        PottsModel(symbols((4, 6)), (4, 6), coupling)


def test_the_largest_coupling_that_a_message_names_is_accepted():
    for shape, neighbours, most in (((4, 6), 8, 7.5), ((2, 3, 4), 6, 10), ((2, 3, 4), 26, 2.3)):
        PottsModel(symbols(shape), shape, most, neighbours)
        with pytest.raises(PlaitError, match=f"from 0 to {most} with"):
            PottsModel(symbols(shape), shape, most + 0.1, neighbours)


def test_default_neighbours_and_coupling():
    assert PottsModel(symbols((4, 6)), (4, 6)).neighbours == 4
    assert PottsModel(symbols((4, 6)), [4, 6]).shape == (4, 6)
    volume = PottsModel(symbols((2, 3, 4)), np.array([2, 3, 4]))
    assert volume.neighbours == 6
    assert volume.shape == (2, 3, 4)
    assert volume.coupling == 1.0


def test_symbols_that_are_impossible_with_every_label_are_named():
    emissions = CategoricalEmissions(Sequences.from_symbols([0, 0, 1, 0, 2, 0]), 2, n_symbols=4)
    model = PottsModel(emissions, (2, 3))
    paths = np.zeros((1, 6), np.uint16)
    phi = PottsParameters(CategoricalParameters(np.array([[0.5, 0.5, 0.0, 0.0], [0.9, 0.1, 0.0, 0.0]])))
    with pytest.raises(PlaitError, match=r"pixel \(1, 1\) has probability 0 with every label"):
        model.resample(paths, phi, Key(0, 1), THREADS)
    # Symbol 3 is impossible too, but occurs at no pixel.
    fine = PottsParameters(CategoricalParameters(np.array([[0.5, 0.5, 0.0, 0.0], [0.8, 0.1, 0.1, 0.0]])))
    model.resample(paths, fine, Key(0, 1), THREADS)
    assert paths[0, 4] == 1


def test_numbers_that_are_impossible_with_every_label_are_named():
    emissions = PoissonEmissions(Sequences.from_values(np.array([0.0, 0, 1, 0])), 2, fixed=[[0.0], [0.0]])
    model = PottsModel(emissions, (2, 2))
    with pytest.raises(PlaitError, match=r"pixel \(1, 0\) has probability 0 with every label"):
        sample(model, n_paths=1, n_sweeps=1, n_jobs=1)
