"""Segmentation of images and volumes by hidden Potts fields."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from plait.arrays import Floats
from plait.checks import check_integer
from plait.data.sequences import Sequences
from plait.errors import PlaitError, PlaitWarning, rename_arguments
from plait.estimators.base import Constraint, RunEstimator, choice, whole
from plait.estimators.seeds import seed_of
from plait.fitting.collect import call_all, collect_after
from plait.fitting.plan import Plan, Start
from plait.fitting.restarts import best_start, renumbered
from plait.interop.frames import frame_of
from plait.interop.tables import Column
from plait.models.emissions import (
    COVARIANCES,
    CategoricalEmissions,
    CategoricalParameters,
    Emissions,
    GaussianEmissions,
    NormalParameters,
    PoissonEmissions,
)
from plait.models.model import MAX_STATES
from plait.models.potts import NEIGHBOURS, PottsModel
from plait.plans import MAX_SEED
from plait.progress import show_progress
from plait.run import Run
from plait.sampler import Callback, Interrupted, start_run
from plait.threads import Threads

EMISSIONS = ("gaussian", "categorical", "poisson")


class PottsSegmentation(RunEstimator):
    """Segmentation of an image or a volume by a hidden Potts field, fitted by a multipath Gibbs sampler.

    Every pixel has a label. Neighbours tend to have the same one, and the observation at a pixel follows the
    distribution of its label. m labelings (paths) share the parameters of these distributions, which are
    learnt along with the labels.

    Parameters
    ----------
    n_components : int, default: 2
        Number of labels S.
    coupling : float, default: 1
        How strongly neighbours tend to agree: a pair that does is exp(coupling) times as likely. It is not
        learnt. The more neighbours, the smaller it should be, roughly in inverse proportion.
    neighbours : int, optional
        Number of neighbours of a pixel: 4 (the default) or 8 in an image, 6 (the default) or 26 in a volume.
    emissions : {"gaussian", "categorical", "poisson"}
        Kind of observations: real numbers, symbols numbered from 0, or counts.
    covariance_type : {"diag", "spherical", "full", "tied"}
        Form of the covariances of Gaussian emissions; tied is one full covariance for all labels.
    spatial_dims : {2, 3}, default: 2
        Number of spatial axes of the image, which come first; one more axis may hold features.
        So an array with three axes is an image with features, such as colours, by default, and a volume with
        `spatial_dims=3`.
    n_paths : int, default: 5
        Number of paths m that share the parameters; 1 is the ordinary Gibbs sampler.
    n_iter : int, default: 100
        Number of sweeps over the image.
    n_burn : int, optional
        Number of initial sweeps that do not count for `labels_` and `probabilities_`; half by default.
    n_init : int, default: 5
        Number of random restarts. Each gets a quarter of the sweeps; the one whose labels are then most
        probable, by `PottsModel.log_joint`, is run in full.
    missing : bool
        Whether pixels may be missing: NaN in all features, or -1 among symbols. Their label follows from
        their neighbours' alone.
    random_state : int, RandomState or None
        Determines the random numbers. The same int gives the same bits on any number of threads.
    n_jobs : int, optional
        Number of threads; all cores by default.
    verbose : int, default: 0
        Whether to show progress.

    Attributes
    ----------
    labels_ : ndarray of int, shape of the image
        The most frequent label of each pixel, over all paths and the sweeps after `n_burn`.
    probabilities_ : ndarray, shape of the image and S
        Frequency of each label at each pixel; sums to 1 over the last axis. It measures how certain the
        labels are given the parameters, not how certain the parameters are.
    means_ : ndarray, (S, D)
        Means of Gaussian emissions: like the other parameters, their expectation given the last labels.
    covariances_ : ndarray
        Their covariances, in the form of `covariance_type`: (S, D), (S,), (S, D, D) or (D, D).
    emissionprob_ : ndarray, (S, W)
        Probabilities of the symbols of categorical emissions.
    rates_ : ndarray, (S, D)
        Rates of Poisson emissions.
    paths_ : ndarray of uint16, (m, shape of the image)
        Labels of each path after the last sweep, numbered as in the other attributes.
    trace_ : Trace
        Log-likelihood along the run; see `plait.models.potts.PottsModel.log_joint`.
    run_ : Run
        The run as `plait.sample` returns it; `run_.save(path)` stores it. Its labels are numbered as drawn.
    n_iter_ : int
        Number of sweeps made.
    seed_ : int
        The seed used, also if `random_state` was None.

    Notes
    -----
    Labels are numbered by the mean of the first feature that separates them (symbols: by their mean
    symbol), the smallest first, so that two fits can be compared.

    Examples
    --------
    >>> import numpy as np
    >>> from plait.estimators.potts import PottsSegmentation
    >>> truth = np.zeros((40, 40), int)
    >>> truth[10:30, 10:30] = 1
    >>> noisy = truth + np.random.default_rng(0).normal(scale=0.6, size=truth.shape)
    >>> segmentation = PottsSegmentation(2, random_state=0).fit(noisy)
    >>> bool(np.mean(segmentation.labels_ != truth) < 0.05)
    True
    """

    _model_kinds = ("potts",)
    _argument_names: ClassVar[dict[str, str]] = {"n_states": "n_components", "covariance": "covariance_type"}
    _constraints: ClassVar[dict[str, Constraint]] = RunEstimator._constraints | {
        "n_components": whole(1, MAX_STATES),
        "n_iter": whole(1),
        "n_init": whole(1),
        "emissions": choice(*EMISSIONS),
        "covariance_type": choice(*COVARIANCES),
        "spatial_dims": whole(min(NEIGHBOURS), max(NEIGHBOURS)),
    }

    labels_: NDArray[np.intp]
    probabilities_: Floats
    means_: Floats
    covariances_: Floats
    emissionprob_: Floats
    rates_: Floats
    paths_: NDArray[np.uint16]
    n_iter_: int
    seed_: int

    def __init__(
        self,
        n_components: int = 2,
        *,
        coupling: float = 1.0,
        neighbours: int | None = None,
        emissions: str = "gaussian",
        covariance_type: str = "diag",
        spatial_dims: int = 2,
        n_paths: int = 5,
        n_iter: int = 100,
        n_burn: int | None = None,
        n_init: int = 5,
        missing: bool = False,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.coupling = coupling
        self.neighbours = neighbours
        self.emissions = emissions
        self.covariance_type = covariance_type
        self.spatial_dims = spatial_dims
        self.n_paths = n_paths
        self.n_iter = n_iter
        self.n_burn = n_burn
        self.n_init = n_init
        self.missing = missing
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, image: ArrayLike, y: object = None) -> Self:
        """Segment an image.

        Parameters
        ----------
        image : array
            A picture, (rows, columns), or with `spatial_dims=3` a volume, (planes, rows, columns). One more
            axis holds features.
        y : ignored

        Returns
        -------
        self
        """
        self._check_settings()
        n_burn = self.n_iter // 2 if self.n_burn is None else self.n_burn
        check_integer("n_burn", n_burn, least=0, most=self.n_iter - 1)
        pixels, shape = self._pixels(image)
        with rename_arguments(self._argument_names):
            model = PottsModel(self._make_emissions(pixels), shape, self.coupling, self.neighbours)
        totals = np.zeros((model.n_sites, model.n_states), np.uint32)
        interrupted = None
        with (
            Threads(self.n_jobs) as threads,
            show_progress(self.verbose > 0, model.site_name) as show,
        ):
            late = collect_after(n_burn, lambda paths: model.add_label_counts(paths, totals, threads))
            try:
                settings = Plan(self.n_paths, self.n_iter).settings(self._best_seed(model, show))
                run = start_run(model, settings, n_jobs=self.n_jobs, callback=call_all(late, show))
            except Interrupted as error:
                run, interrupted = error.run, error
            self._take(run, totals, threads)
        if interrupted is not None:
            raise interrupted  # now that the attributes hold the result so far
        return self

    def _best_seed(self, model: PottsModel, show: Callback | None) -> int:
        """Return the seed of the best of `n_init` short runs."""
        first = seed_of(self.random_state)
        if self.n_init == 1:
            return first
        others = np.random.default_rng(first).integers(MAX_SEED, size=self.n_init - 1).tolist()
        plan = Plan(self.n_paths, n_sweeps=-(-self.n_iter // 4))
        starts = [Start(model, seed) for seed in (first, *others)]
        return best_start(starts, plan, callback=show, n_jobs=self.n_jobs).seed

    def fit_predict(self, image: ArrayLike, y: object = None) -> NDArray[np.intp]:
        """Segment an image and return the label of each pixel; see `fit`."""
        return self.fit(image).labels_

    @classmethod
    def _settings_of(cls, run: Run) -> dict[str, Any]:
        model, settings = run.model, run.settings
        assert isinstance(model, PottsModel)
        emissions: Any = model.emissions
        if emissions.kind not in EMISSIONS:
            raise PlaitError(
                f"the run has {emissions.kind} emissions: {cls.__name__} takes runs with"
                f" {', '.join(EMISSIONS)} ones"
            )
        more = {"covariance_type": emissions.covariance} if emissions.kind == "gaussian" else {}
        return {
            "n_components": model.n_states,
            "coupling": model.coupling,
            "neighbours": model.neighbours,
            "emissions": emissions.kind,
            "spatial_dims": len(model.shape),
            "n_paths": settings.n_paths,
            "n_iter": settings.n_sweeps,
            "n_init": 1,  # the seed is that of the best
            "missing": bool(emissions.sequences.n_missing),
            "random_state": settings.seed,
            **more,
        }

    def _take_run(self, run: Run) -> None:
        # A run stores the last sweep only, so labels and probabilities are those of its paths.
        totals = np.zeros((run.model.n_sites, run.model.n_states), np.uint32)
        with Threads(self.n_jobs) as threads:
            self._take(run, totals, threads)

    def to_frame(self) -> Any:
        """Return a frame of pandas with a row per pixel: its place, its label and how probable that is."""
        check_is_fitted(self, "run_")
        axes = ("plane", "row", "column")[-self.labels_.ndim :]
        places = [
            Column(axis, values.ravel())
            for axis, values in zip(axes, np.indices(self.labels_.shape), strict=True)
        ]
        pixels = Column("pixel", range(self.labels_.size))
        found = [
            Column("label", self.labels_.ravel()),
            Column("probability", self.probabilities_.max(axis=-1).ravel()),
        ]
        return frame_of([pixels, *places, *found])

    def _take(self, run: Run, totals: NDArray[np.uint32], threads: Threads) -> None:
        """Set the attributes, with the labels in canonical order."""
        model = run.model
        assert isinstance(model, PottsModel)
        if not totals.any():  # there is no late sweep to count
            model.add_label_counts(run.paths, totals, threads)
        counts = model.count(run.paths, threads)
        parameters = model.mean_parameters(counts, threads)
        order = model.canonical_order(parameters)
        frequencies = totals[:, order].reshape(*model.shape, -1)
        self.labels_ = frequencies.argmax(axis=-1)
        self.probabilities_ = frequencies / totals[0].sum()
        self.paths_ = renumbered(run.paths, order).reshape(-1, *model.shape)
        self._set_emissions(parameters.permuted(order).emissions)
        self.run_ = run
        self.n_iter_ = run.sweep
        self.seed_ = run.settings.seed
        for label in np.flatnonzero(model.emissions.observations(counts)[order] == 0):
            warnings.warn(
                f"label {label} has no pixel: its parameters are those of the prior; try fewer labels",
                PlaitWarning,
                stacklevel=3,
            )

    def _set_emissions(self, parameters: Any) -> None:
        for name in ("means_", "covariances_", "emissionprob_", "rates_"):
            self.__dict__.pop(name, None)  # set by an earlier fit with other emissions
        if isinstance(parameters, NormalParameters):
            self.means_, self.covariances_ = parameters.means, parameters.covariances
        elif isinstance(parameters, CategoricalParameters):
            self.emissionprob_ = parameters.probabilities
        else:
            self.rates_ = parameters.rates

    def _make_emissions(self, pixels: NDArray[Any]) -> Emissions[Any]:
        if self.emissions == "categorical":
            symbols = Sequences.from_symbols(pixels, missing=self.missing)
            return CategoricalEmissions(symbols, self.n_components)
        values = Sequences.from_values(pixels, missing=self.missing)
        if self.emissions == "poisson":
            return PoissonEmissions(values, self.n_components)
        return GaussianEmissions(values, self.n_components, covariance=self.covariance_type)

    def _pixels(self, image: ArrayLike) -> tuple[NDArray[Any], tuple[int, ...]]:
        """Return a row of features for each pixel, checked, and the shape of the grid."""
        if isinstance(image, np.ma.MaskedArray):
            raise PlaitError("the image is a masked array: call filled(numpy.nan), and pass missing=True")
        array = np.asarray(image)
        if array.dtype.kind not in "biuf":
            raise PlaitError(f"the image has dtype {array.dtype}: give an array of real numbers")
        axes = "(rows, columns)" if self.spatial_dims == 2 else "(planes, rows, columns)"
        if array.ndim not in (self.spatial_dims, self.spatial_dims + 1) or not array.size:
            raise PlaitError(
                f"the image has shape {array.shape}: with spatial_dims={self.spatial_dims} give {axes},"
                " with one more axis if pixels have features"
            )
        shape = array.shape[: self.spatial_dims]
        pixels = array.reshape(int(np.prod(shape)), -1)
        if self.emissions == "categorical" and pixels.shape[1] > 1:
            raise PlaitError(f"the image has shape {array.shape}, but a symbol has no features: give {axes}")
        if array.dtype.kind == "f":
            self._check_finite(pixels, shape)
        return pixels, shape

    def _check_finite(self, pixels: NDArray[Any], shape: tuple[int, ...]) -> None:
        """Raise an error for pixels that are infinite, partly missing, or missing unless `missing` is set."""
        wrong = np.isinf(pixels)
        remedy = "give finite numbers"
        if not wrong.any():
            wrong = np.isnan(pixels)
            remedy = "pass missing=True if it is missing, or fill it in"
            if self.missing:
                wrong &= ~wrong.all(axis=1, keepdims=True)
                remedy = "make all its features NaN if it is missing, or fill it in"
        if wrong.any():
            i, feature = (int(k) for k in np.argwhere(wrong)[0])
            place = ", ".join(str(int(k)) for k in np.unravel_index(i, shape))
            which = f" in feature {feature}" if pixels.shape[1] > 1 else ""
            raise PlaitError(f"pixel ({place}) is {pixels[i, feature]:g}{which}: {remedy}")
