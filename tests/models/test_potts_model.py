"""The Potts model: threads, files, and input that is refused. Its laws are tested in tests/exact/."""

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
def test_threads_do_not_matter(shape, neighbours, few, monkeypatch):
    monkeypatch.setattr(module, "_SITES_A_RANGE", 97)  # so that ranges begin and end within lines
    monkeypatch.setattr(module, "_UPDATES_A_TASK", 200)
    monkeypatch.setattr(module, "_FEW_RANGES", 8)
    monkeypatch.setattr(kernels, "FEW_LABELS", few)
    model = PottsModel(numbers(shape), shape, 0.4, neighbours)
    assert len(model._ranges) > 3
    ends = [sample(model, n_paths=3, n_sweeps=4, seed=2, thin=1, n_jobs=n) for n in (1, 2, 3)]
    for end in ends[1:]:
        assert np.array_equal(end.paths, ends[0].paths)
        assert np.array_equal(end.trace.log_joint, ends[0].trace.log_joint)
    assert len(np.unique(ends[0].paths)) == 3


def test_a_path_does_not_depend_on_its_companions(monkeypatch):
    """Given phi, neither other paths nor the groups in which paths are drawn change a path."""
    model = PottsModel(numbers((30, 31)), (30, 31))
    paths = model.initial_paths(5, 3, THREADS)
    phi = model.mean_parameters(model.count(paths, THREADS), THREADS)
    together, alone = paths.copy(), paths[:2].copy()
    model.resample(together, phi, Key(3, 1), THREADS)
    model.resample(alone, phi, Key(3, 1), THREADS)
    assert np.array_equal(alone, together[:2])
    monkeypatch.setattr(module, "_UPDATES_A_TASK", 1)
    assert model._n_groups(5) >= 5
    model.resample(paths, phi, Key(3, 1), Threads(2))
    assert np.array_equal(paths, together)


def test_paths_are_shared_where_ranges_are_few():
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
def test_any_number_of_labels(n_states):
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


def test_strongest_coupling_and_far_outliers():
    """However unlikely a pixel and however strong the coupling, one of the labels is drawn."""
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


def test_missing_pixels_follow_their_neighbours():
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
    """Not even with the smallest and the largest of the random numbers that there are."""
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
# Labels in order, files, pickles
# ---------------------------------------------------------------------------------------------------------


def test_canonical_order():
    model = PottsModel(numbers((4, 4)), (4, 4))
    phi = PottsParameters(
        NormalParameters(np.array([[2.0], [0.0], [1.0]]), np.array([[0.2], [0.3], [0.4]]), "diag")
    )
    order = model.canonical_order(phi)
    assert order.tolist() == [1, 2, 0]
    assert phi.permuted(order).emissions.means.ravel().tolist() == [0.0, 1.0, 2.0]
    assert phi.permuted(order).emissions.covariances.ravel().tolist() == [0.3, 0.4, 0.2]
    told_apart = PottsModel(numbers((4, 4), mean_prior=[[0.0], [1.0], [2.0]]), (4, 4))
    assert model.is_exchangeable
    assert not told_apart.is_exchangeable
    assert told_apart.canonical_order(phi).tolist() == [0, 1, 2]


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
def test_files_and_pickles(emissions, shape, neighbours, tmp_path):
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


def test_simulate_gives_data_of_the_same_form():
    model = PottsModel(symbols((2, 4)), (2, 4), 0.3, 8)
    other, path, phi = model.simulate(np.random.default_rng(12))
    assert (other.shape, other.coupling, other.neighbours) == ((2, 4), 0.3, 8)
    assert path.shape == (8,)
    assert phi.emissions.probabilities.shape == (3, 5)
    again, same, _ = model.simulate(np.random.default_rng(12))
    assert np.array_equal(path, same)
    assert other.emissions.sequences.equals(again.emissions.sequences)


def test_simulate_one_label_on_a_large_grid():
    model = PottsModel(symbols((30, 30), 1), (30, 30))
    assert not model.simulate(np.random.default_rng(0))[1].any()


def test_simulate_does_not_change_with_the_caller():
    """The path is the caller's own: writing to it changes nothing in the model."""
    model = PottsModel(symbols((2, 2), 2), (2, 2))
    _, path, _ = model.simulate(np.random.default_rng(13))
    before = path.copy()
    path[:] = 1 - path
    assert np.array_equal(model.simulate(np.random.default_rng(13))[1], before)


# ---------------------------------------------------------------------------------------------------------
# What is refused
# ---------------------------------------------------------------------------------------------------------


def test_no_collapsed_sampler():
    model = PottsModel(symbols((3, 3)), (3, 3))
    with pytest.raises(NotSupported, match="no collapsed sampler for Potts fields"):
        sample(model, n_paths=1, n_sweeps=1, collapsed=True, n_jobs=1)


def test_simulate_only_tiny_grids():
    model = PottsModel(symbols((4, 4), 3), (4, 4))
    with pytest.raises(NotSupported, match=r"there are 3\^16 labelings"):
        model.simulate(np.random.default_rng(0))
    assert PottsModel(symbols((4, 4), 2), (4, 4)).simulate(np.random.default_rng(0))[1].shape == (16,)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((4, 5), r"the shape of the grid is \(4, 5\), which makes 20 sites, but there are 24 observations"),
        ((24,), r"the shape of the grid is \(24,\): give \(rows, columns\)"),
        (24, "the shape of the grid is 24: give"),
        ("ab", "the shape of the grid is 'ab': give"),
        ((1, 2, 3, 4), r"the shape of the grid is \(1, 2, 3, 4\): give"),
        ((4.0, 6), "axis 0 of the shape of the grid is 4.0: pass a whole number"),
        ((-4, -6), "axis 0 of the shape of the grid is -4"),
        ((24, 0), "axis 1 of the shape of the grid is 0"),
    ],
)
def test_bad_shapes(shape, message):
    with pytest.raises(PlaitError, match=message):
        PottsModel(symbols((4, 6)), shape)


@pytest.mark.parametrize(
    ("shape", "neighbours", "message"),
    [
        ((4, 6), 6, "the number of neighbours is 6: on a grid of 2 dimensions choose 4 or 8"),
        ((2, 3, 4), 4, "the number of neighbours is 4: on a grid of 3 dimensions choose 6 or 26"),
        ((4, 6), "4", "the number of neighbours is '4'"),
        ((4, 6), True, "the number of neighbours is True"),
    ],
)
def test_bad_neighbours(shape, neighbours, message):
    with pytest.raises(PlaitError, match=message):
        PottsModel(symbols(shape), shape, 1.0, neighbours)


@pytest.mark.parametrize("coupling", [-0.1, np.nan, np.inf, "1", None, True, 15.1])
def test_bad_couplings(coupling):
    with pytest.raises(
        PlaitError, match=r"the coupling is .*: with 4 neighbours give a number from 0 to 15$"
    ):
        PottsModel(symbols((4, 6)), (4, 6), coupling)


def test_largest_couplings_that_messages_name():
    for shape, neighbours, most in (((4, 6), 8, 7.5), ((2, 3, 4), 6, 10), ((2, 3, 4), 26, 2.3)):
        PottsModel(symbols(shape), shape, most, neighbours)
        with pytest.raises(PlaitError, match=f"from 0 to {most}$"):
            PottsModel(symbols(shape), shape, most + 0.1, neighbours)


def test_defaults():
    assert PottsModel(symbols((4, 6)), (4, 6)).neighbours == 4
    assert PottsModel(symbols((4, 6)), [4, 6]).shape == (4, 6)
    volume = PottsModel(symbols((2, 3, 4)), np.array([2, 3, 4]))
    assert volume.neighbours == 6
    assert volume.shape == (2, 3, 4)
    assert volume.coupling == 1.0


def test_pixels_that_no_label_explains():
    emissions = CategoricalEmissions(Sequences.from_symbols([0, 0, 1, 0, 2, 0]), 2, n_symbols=4)
    model = PottsModel(emissions, (2, 3))
    paths = np.zeros((1, 6), np.uint16)
    phi = PottsParameters(CategoricalParameters(np.array([[0.5, 0.5, 0.0, 0.0], [0.9, 0.1, 0.0, 0.0]])))
    with pytest.raises(PlaitError, match=r"no label can have made pixel \(1, 1\)"):
        model.resample(paths, phi, Key(0, 1), THREADS)
    # That no label makes the symbol 3 does not matter: no pixel has it.
    fine = PottsParameters(CategoricalParameters(np.array([[0.5, 0.5, 0.0, 0.0], [0.8, 0.1, 0.1, 0.0]])))
    model.resample(paths, fine, Key(0, 1), THREADS)
    assert paths[0, 4] == 1


def test_numbers_that_no_label_explains():
    emissions = PoissonEmissions(Sequences.from_values(np.array([0.0, 0, 1, 0])), 2, fixed=[[0.0], [0.0]])
    model = PottsModel(emissions, (2, 2))
    with pytest.raises(PlaitError, match=r"no label can have made pixel \(1, 0\)"):
        sample(model, n_paths=1, n_sweeps=1, n_jobs=1)
