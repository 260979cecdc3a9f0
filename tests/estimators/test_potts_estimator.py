"""PottsSegmentation: pictures and volumes in, labels out."""

from __future__ import annotations

import doctest
from itertools import permutations

import numpy as np
import pytest
from scipy import ndimage
from sklearn.base import clone

from plait.errors import PlaitError, PlaitWarning
from plait.estimators import potts as module
from plait.estimators.potts import PottsSegmentation
from plait.models.model import Key
from plait.models.potts import PottsModel
from plait.sampler import Interrupted, sample, start_run
from plait.threads import Threads


def stripes(shape=(30, 32)) -> np.ndarray:
    """Return labels in three stripes."""
    return np.broadcast_to(np.arange(shape[-1]) * 3 // shape[-1], shape).copy()


def noisy(truth, scale=0.6, seed=0) -> np.ndarray:
    return truth + np.random.default_rng(seed).normal(scale=scale, size=truth.shape)


def test_a_noisy_picture_is_segmented():
    truth = stripes()
    image = noisy(truth)
    fitted = PottsSegmentation(3, random_state=0).fit(image)
    nearest = np.clip(np.rint(image), 0, 2)  # the best that is possible for each pixel on its own
    assert np.mean(nearest != truth) > 0.2
    assert np.mean(fitted.labels_ != truth) < 0.05
    assert fitted.labels_.shape == image.shape
    assert fitted.probabilities_.shape == (*image.shape, 3)
    assert np.allclose(fitted.probabilities_.sum(axis=-1), 1)
    assert np.array_equal(fitted.probabilities_.argmax(axis=-1), fitted.labels_)
    assert fitted.paths_.shape == (5, *image.shape)
    assert np.all(np.diff(fitted.means_[:, 0]) > 0)
    # Means of 320 pixels whose standard deviation is 0.6
    assert np.abs(fitted.means_[:, 0] - [0, 1, 2]).max() < 5 * 0.6 / np.sqrt(320)
    assert fitted.covariances_.shape == (3, 1)
    assert fitted.n_iter_ == 100
    assert fitted.trace_ is fitted.run_.trace
    assert len(fitted.trace_) == 10


def test_the_best_of_several_starts_is_kept():
    """Of eight stripes, a run from a single start often merges some."""
    truth = np.broadcast_to(np.arange(48) // 6, (30, 48))
    image = noisy(truth, 0.5)
    settings = {"n_components": 8, "coupling": 1.3, "n_paths": 1, "n_iter": 40}
    wrong = [
        [
            np.mean(PottsSegmentation(**settings, n_init=n, random_state=seed).fit_predict(image) != truth)
            for seed in range(8)
        ]
        for n in (1, 5)
    ]
    assert np.mean(wrong[0]) > 0.1
    assert max(wrong[1]) < 0.05
    fitted = PottsSegmentation(**settings, n_init=5, random_state=0).fit(image)
    again = PottsSegmentation(**settings, n_init=1, random_state=fitted.seed_).fit(image)
    assert np.array_equal(fitted.paths_, again.paths_)


def test_the_examples_in_the_docstring_run():
    failed, tried = doctest.testmod(module)
    assert tried > 5
    assert failed == 0


def test_attributes_are_numbered_alike():
    """Paths, labels and parameters use the same numbers, whatever those in the run are."""
    image = noisy(stripes(), 0.3)
    renumbered = 0
    for seed in range(4):
        fitted = PottsSegmentation(3, n_iter=40, random_state=seed).fit(image)
        renumbered += not np.array_equal(fitted.paths_.reshape(5, -1), fitted.run_.paths)
        for s in range(3):
            assert np.isclose(image[fitted.paths_[0] == s].mean(), fitted.means_[s, 0], atol=0.05)
        assert np.mean(fitted.paths_ == fitted.labels_) > 0.98
    assert renumbered


def test_probabilities_are_frequencies_of_late_sweeps():
    image = noisy(stripes((8, 9)), 1.0)
    fitted = PottsSegmentation(2, n_paths=2, n_iter=7, n_burn=4, n_init=1, random_state=1).fit(image)
    seen = []
    model = fitted.run_.model
    run = sample(
        model, n_paths=2, n_sweeps=7, seed=1, n_jobs=1, callback=lambda p: seen.append(p.state.paths.copy())
    )
    late = np.concatenate(seen[4:])
    frequencies = (late[:, :, None] == np.arange(2)).mean(axis=0)
    with Threads(1) as threads:
        order = model.canonical_order(model.mean_parameters(model.count(run.paths, threads), threads))
    assert np.allclose(fitted.probabilities_.reshape(-1, 2), frequencies[:, order])


def test_same_bits_on_any_number_of_threads():
    image = noisy(stripes((120, 130)))
    fits = [PottsSegmentation(3, n_iter=5, random_state=3, n_jobs=n).fit(image) for n in (1, 2, 3)]
    for other in fits[1:]:
        assert np.array_equal(other.probabilities_, fits[0].probabilities_)
        assert np.array_equal(other.means_, fits[0].means_)
        assert np.array_equal(other.paths_, fits[0].paths_)


def test_the_random_state_determines_the_fit():
    image = noisy(stripes((10, 12)), 1.5)

    def fit(random_state) -> PottsSegmentation:
        return PottsSegmentation(2, n_iter=4, n_init=1, n_jobs=1, random_state=random_state).fit(image)

    assert np.array_equal(fit(5).paths_, fit(5).paths_)
    assert not np.array_equal(fit(5).paths_, fit(6).paths_)
    assert np.array_equal(fit(np.random.RandomState(7)).paths_, fit(np.random.RandomState(7)).paths_)
    unnamed = fit(None)
    assert np.array_equal(fit(unnamed.seed_).paths_, unnamed.paths_)


def test_features_together_tell_labels_apart():
    """Two features that tell different labels apart; together they tell all."""
    truth = stripes()
    layers = np.stack([truth == 2, truth >= 1], axis=-1).astype(float)
    image = noisy(layers, 0.4)
    for covariance_type, shape in (("full", (3, 2, 2)), ("spherical", (3,)), ("tied", (2, 2))):
        fitted = PottsSegmentation(3, covariance_type=covariance_type, n_iter=60, random_state=0).fit(image)
        # Two of the means of the first feature are equal, so the order of these labels is left to chance.
        assert (
            min(np.mean(np.take(order, fitted.labels_) != truth) for order in permutations(range(3))) < 0.05
        )
        assert fitted.means_.shape == (3, 2)
        assert fitted.covariances_.shape == shape


def test_a_volume_is_segmented():
    truth = np.zeros((10, 11, 12), int)
    truth[3:8, 3:9, 3:10] = 1
    image = noisy(truth, 0.4)
    assert np.mean((image > 0.5) != truth) > 0.08
    for neighbours, coupling in ((None, 0.6), (26, 0.15)):
        fitted = PottsSegmentation(
            2, spatial_dims=3, neighbours=neighbours, coupling=coupling, random_state=0
        ).fit(image)
        assert fitted.labels_.shape == image.shape
        assert np.mean(fitted.labels_ != truth) < 0.05
    with_feature = PottsSegmentation(2, spatial_dims=3, n_iter=10, random_state=0).fit(image[..., None])
    assert with_feature.labels_.shape == image.shape


def test_a_picture_of_symbols_is_segmented():
    truth = stripes() // 2
    symbols = np.where(np.random.default_rng(1).random(truth.shape) < 0.3, 2, truth)
    fitted = PottsSegmentation(2, emissions="categorical", random_state=0).fit(symbols)
    assert np.mean(fitted.labels_ != truth) < 0.02
    assert fitted.emissionprob_.shape == (2, 3)
    assert np.allclose(fitted.emissionprob_, [[0.7, 0, 0.3], [0, 0.7, 0.3]], atol=0.1)
    assert not hasattr(fitted, "means_")


def test_a_picture_of_counts_is_segmented():
    truth = stripes() // 2
    counts = np.random.default_rng(2).poisson(2.0 + 4.0 * truth)
    fitted = PottsSegmentation(2, emissions="poisson", random_state=0).fit(counts)
    assert np.mean(fitted.labels_ != truth) < 0.03
    assert np.allclose(fitted.rates_, [[2.0], [6.0]], rtol=0.15)
    fitted.set_params(emissions="gaussian").fit(counts)
    assert hasattr(fitted, "means_")
    assert not hasattr(fitted, "rates_")  # what an earlier fit left


def test_missing_pixels_get_the_labels_of_their_neighbours():
    truth = stripes()
    image = noisy(truth, 0.3)
    image[10:13, 3:6] = np.nan
    fitted = PottsSegmentation(3, coupling=1.5, missing=True, random_state=0).fit(image)
    assert np.mean(fitted.labels_ != truth) < 0.02
    symbols = truth.copy()
    symbols[4, 4] = -1
    fitted = PottsSegmentation(3, emissions="categorical", missing=True, random_state=0).fit(symbols)
    assert np.isfinite(fitted.probabilities_).all()


def test_more_coupling_makes_a_smoother_segmentation():
    image = noisy(stripes(), 1.2)
    borders = []
    for coupling in (0.0, 0.6, 1.2):
        labels = PottsSegmentation(2, coupling=coupling, random_state=0).fit_predict(image)
        borders.append(int((ndimage.sobel(labels.astype(float), axis=1) != 0).sum()))
    assert borders[0] > borders[1] > borders[2]


def test_it_has_scikit_learn_s_interface():
    one = PottsSegmentation(4, coupling=0.7, n_burn=3)
    other = clone(one)
    assert other.get_params() == one.get_params()
    image = noisy(stripes((6, 7)))
    other.set_params(n_components=2, n_iter=6)
    assert other.fit(image) is other
    assert np.array_equal(
        clone(other.set_params(random_state=0)).fit_predict(image), other.fit(image).labels_
    )
    assert "PottsSegmentation" in repr(other)


def test_progress_is_shown(capsys):
    PottsSegmentation(2, n_iter=10, random_state=0, verbose=1).fit(noisy(stripes((6, 7))))
    shown = capsys.readouterr().err
    assert "sweep 10 of 10" in shown
    assert "per pixel" in shown
    PottsSegmentation(2, n_iter=10, random_state=0).fit(noisy(stripes((6, 7))))
    assert capsys.readouterr().err == ""


def test_a_warning_names_labels_without_pixels():
    image = np.zeros((4, 4))
    image[0, 0] = 1.0
    with pytest.warns(PlaitWarning, match=r"label \d has no pixel: .* try fewer labels"):
        PottsSegmentation(6, n_paths=1, n_iter=20, random_state=0).fit(image)


@pytest.mark.parametrize("stop_after", [2, 8])
def test_an_interrupted_fit_can_be_used(stop_after, monkeypatch):
    """Before the first sweep that counts, and after it."""

    def stopped(model, settings, *, callback, **how):
        def stop(progress):
            callback(progress)
            return progress.state.sweep == stop_after

        raise Interrupted(start_run(model, settings, callback=stop, **how))

    monkeypatch.setattr(module, "start_run", stopped)
    segmentation = PottsSegmentation(2, n_iter=10, n_init=1, random_state=0)
    with pytest.raises(Interrupted):
        segmentation.fit(noisy(stripes((6, 7))))
    assert segmentation.n_iter_ == stop_after
    assert np.allclose(segmentation.probabilities_.sum(axis=-1), 1)


# ---------------------------------------------------------------------------------------------------------
# Bad input
# ---------------------------------------------------------------------------------------------------------

PICTURE = noisy(stripes((6, 7)))


def with_pixel(value, place=(2, 3), image=PICTURE) -> np.ndarray:
    changed = image.astype(float)
    changed[place] = value
    return changed


@pytest.mark.parametrize(
    ("image", "settings", "message"),
    [
        (with_pixel(np.nan), {}, r"pixel \(2, 3\) is nan: pass missing=True if it is missing"),
        (with_pixel(np.inf), {}, r"pixel \(2, 3\) is inf: give finite numbers"),
        (with_pixel(-np.inf), {"missing": True}, r"pixel \(2, 3\) is -inf: give finite numbers"),
        (
            with_pixel(np.nan, (2, 3, 1), np.stack([PICTURE] * 2, axis=-1)),
            {"missing": True},
            r"pixel \(2, 3\) is nan in feature 1: make all its features NaN",
        ),
        (
            np.stack([with_pixel(np.nan)] * 2, axis=-1),
            {},
            r"pixel \(2, 3\) is nan in feature 0: pass missing",
        ),
        (PICTURE[0], {}, r"the image has shape \(7,\): with spatial_dims=2 give \(rows, columns\)"),
        (PICTURE, {"spatial_dims": 3}, r"the image has shape \(6, 7\): .* \(planes, rows, columns\)"),
        (PICTURE[:0], {}, r"the image has shape \(0, 7\)"),
        (PICTURE[None, None], {}, r"the image has shape \(1, 1, 6, 7\)"),
        (np.array([["a", "b"]]), {}, "the image has dtype <U1: give an array"),
        (np.ma.masked_array(PICTURE), {}, "the image is a masked array: call filled"),
        (PICTURE, {"spatial_dims": 4}, "spatial_dims must be a whole number from 2 to 3, got 4"),
        (PICTURE, {"emissions": "normal"}, "emissions must be one of 'gaussian', .*, got 'normal'"),
        (
            PICTURE,
            {"covariance_type": "round"},
            "covariance_type must be one of 'spherical', .*, got 'round'",
        ),
        (PICTURE, {"coupling": -1}, "coupling must be a number from 0 to 15 with 4 neighbours, got -1"),
        (PICTURE, {"neighbours": 5}, "neighbours must be 4 or 8 on a grid of 2 dimensions, got 5"),
        (PICTURE, {"n_components": 0}, "n_components must be a whole number from 1 to 65535, got 0"),
        (PICTURE, {"n_paths": 0}, "n_paths must be a whole number of at least 1, got 0"),
        (PICTURE, {"n_iter": 0}, "n_iter must be a whole number of at least 1, got 0"),
        (PICTURE, {"n_init": 0}, "n_init must be a whole number of at least 1, got 0"),
        (PICTURE, {"n_iter": 10, "n_burn": 10}, "n_burn must be a whole number from 0 to 9, got 10"),
        (PICTURE, {"random_state": -1}, "random_state must be a whole number from 0 to .*, got -1"),
        (PICTURE, {"emissions": "categorical"}, "observation 0 is .*: symbols are whole numbers"),
        (PICTURE, {"emissions": "poisson"}, "counts must be whole numbers of at least 0, got 0.07"),
        (
            np.zeros((4, 4, 2), int),
            {"emissions": "categorical"},
            r"the image has shape \(4, 4, 2\), but a symbol has no features",
        ),
    ],
)
def test_bad_input_is_refused_in_one_line(image, settings, message):
    with pytest.raises(PlaitError, match=message) as caught:
        PottsSegmentation(**settings).fit(image)
    assert "\n" not in str(caught.value)


def test_parameters_of_the_run_are_those_of_the_model():
    """They are the mean of phi given the last paths."""
    fitted = PottsSegmentation(2, n_iter=6, random_state=0).fit(PICTURE)
    model = fitted.run_.model
    assert isinstance(model, PottsModel)
    with Threads(1) as threads:
        phi = model.mean_parameters(model.count(fitted.run_.paths, threads), threads)
        drawn = model.draw_parameters(model.count(fitted.run_.paths, threads), Key(0, 1), threads)
    assert np.allclose(np.sort(phi.emissions.means.ravel()), fitted.means_.ravel())
    assert not np.allclose(np.sort(drawn.emissions.means.ravel()), fitted.means_.ravel())
