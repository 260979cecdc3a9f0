"""Files of runs changed as another program could change them: with checksums that fit.

As a script, it forges files of every model in every way that it knows, uses what can be loaded, and prints
what went wrong; see test_forged_files.py.
"""

from __future__ import annotations

import copy
import json
import random
import sys
import tempfile
import tracemalloc
import warnings
import zlib
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import safetensors.numpy
from safetensors import safe_open

import plait
from plait.errors import PlaitError
from plait.fitting.plan import Plan
from plait.fitting.stored import fit_and_store
from plait.models.emissions import COVARIANCES, mixed_emissions
from plait.storage import header_checksum

MOST_BYTES = 64 * 2**20
"""The files are tiny, and so is what they should take in memory."""


def header_of(path):
    with safe_open(path, framework="numpy") as file:
        return json.loads(file.metadata()["plait"])


def rewrite(path, change_header=None, change_tensors=None, metadata=None):
    """Change a file as another program could: checksums are made to fit."""
    header, tensors = header_of(path), safetensors.numpy.load_file(path)
    if change_tensors is not None:
        change_tensors(tensors)
    if change_header is not None:
        change_header(header)
    write(path, header, tensors, metadata)


def write(path, header, tensors, metadata=None):
    """Write a file with checksums of these tensors, and of this header."""
    tensors = {name: np.asarray(array, order="C") for name, array in tensors.items()}
    if isinstance(header.get("checksums"), dict):
        header["checksums"] |= {name: zlib.crc32(array.data) for name, array in tensors.items()}
    header["checksum"] = header_checksum(header)
    safetensors.numpy.save_file(tensors, path, metadata or {"plait": json.dumps(header)})


# -----------------------------------------------------------------------------------------------------
# Runs of every model
# -----------------------------------------------------------------------------------------------------


def data():
    """Return numbers, counts, bits and symbols, in two sequences with a missing observation."""
    rng = np.random.default_rng(0)
    states = np.array([0, 0, 1, 1, 1, 0, 0, 1, 1, 0, 1, 0])
    numbers = 3.0 * states[:, None] + rng.normal(size=(12, 2))
    counts = rng.poisson(1 + 3.0 * states[:, None], (12, 2)).astype(float)
    bits = (counts > 1).astype(float)
    for values in (numbers, counts, bits):
        values[4] = np.nan
    symbols = (states + rng.integers(2, size=12)) % 3
    symbols[4] = -1
    lengths = [7, 5]
    return (
        plait.Sequences.from_values(numbers, lengths, missing=True, names=["a", "b"], columns=["x", "y"]),
        plait.Sequences.from_values(counts, lengths, missing=True),
        plait.Sequences.from_values(bits, lengths, missing=True),
        plait.Sequences.from_symbols(symbols, lengths, missing=True, labels=["p", "q", "r"]),
    )


def walks():
    """Return positive numbers that are angles, too, and bits, with a missing number."""
    rng = np.random.default_rng(2)
    values = np.column_stack([rng.gamma(2.0, 1.0, 12), rng.uniform(0.1, 3.0, 12), np.arange(12) % 2])
    values[4, 0] = np.nan
    return plait.Sequences.from_values(values, [7, 5], missing=True, columns=["step", "angle", "bit"])


def models():
    """Return a small model of every kind, with every kind of emissions."""
    numbers, counts, bits, symbols = data()
    documents = np.random.default_rng(1).poisson(1.0, (12, 4))
    corpus = plait.Corpus.from_texts(
        ["war peace war tax", "", "tax trade law tax", "peace trade war law"],
        names=list("abcd"),
        dates=["1861", "1862", "1863", "1864"],
        columns={"party": list("RDRD")},
        keep_texts=True,
    )
    corpus = replace(corpus, forms=("laws", "peace", "taxes", "trade", "wars"))
    found = {
        "lda": plait.LdaModel(corpus, 3),
        "lda, arrays": plait.LdaModel(
            corpus, 3, [0.1, 0.2, 0.3], np.full((3, corpus.n_words), 0.1), initial="progressive"
        ),
        "hmm, categorical": plait.HmmModel(plait.CategoricalEmissions(symbols, 2)),
        "hmm, poisson": plait.HmmModel(plait.PoissonEmissions(counts, 2), blocked=False),
        "hmm, multinomial": plait.HmmModel(plait.MultinomialSequenceEmissions(counts, 2)),
        "hmm, negative binomial": plait.HmmModel(plait.NegativeBinomialEmissions(counts, 2)),
        "hmm, student": plait.HmmModel(plait.StudentEmissions(numbers, 2)),
        "hmm, regression": plait.HmmModel(plait.RegressionEmissions(numbers, 2)),
        "hmm, mixed": plait.HmmModel(
            mixed_emissions(
                walks(), 2, [((1,), "vonmises", {}), ((0,), "gamma", {}), ((2,), "categorical", {})]
            )
        ),
        "hmm, autoregressive": plait.HmmModel(
            mixed_emissions(walks(), 2, [((0, 1), "lognormal", {}), ((2,), "autoregressive", {"order": 2})])
        ),
        "mixture, poisson": plait.MixtureModel(plait.PoissonEmissions(counts, 2)),
        "mixture, bernoulli": plait.MixtureModel(plait.BernoulliEmissions(bits, 2)),
        "mixture, multinomial": plait.MixtureModel(plait.MultinomialEmissions(documents, 2)),
        "potts, categorical": plait.PottsModel(plait.CategoricalEmissions(symbols, 2), (3, 4)),
        "potts, gaussian": plait.PottsModel(plait.GaussianEmissions(numbers, 2), (3, 2, 2), 0.5),
        "factorial-hmm, diag": plait.FactorialHmmModel(numbers, 2, 2, search=0),
        "factorial-hmm, full": plait.FactorialHmmModel(numbers, 2, 3, search=0, covariance="full"),
    }
    for covariance in COVARIANCES:
        own = plait.GaussianEmissions(numbers, 2, covariance=covariance)
        found[f"hmm, {covariance}"] = plait.HmmModel(own)
        found[f"mixture, {covariance}"] = plait.MixtureModel(own)
        if covariance in ("diag", "tied"):  # the others share their code
            own = plait.GaussianMixtureEmissions(numbers, 2, 2, covariance=covariance)
            found[f"hmm, mixtures, {covariance}"] = plait.HmmModel(own)
    gaps = numbers.values.copy()
    gaps[1, 0] = gaps[8, 1] = np.nan
    partly = plait.Sequences.from_values(gaps, [7, 5], missing=True, times=[f"day {i}" for i in range(12)])
    found["hmm, partly missing"] = plait.HmmModel(plait.GaussianEmissions(partly, 2, covariance="full"))
    return found


STAGES = plait.Plan(
    [
        plait.Stage("partitioned", 1, 10, learn_priors=True),
        plait.Stage("partially-collapsed", (1, 2), 2),
        plait.Stage("collapsed", 1, 3, average=True),
    ]
)


def make_files(folder):
    """Write a file of every kind; return their paths by name."""
    paths = {}

    def place(name):
        paths[name] = Path(folder) / f"{len(paths)}.plait"
        return paths[name]

    for name, model in models().items():
        options = {"n_paths": 2, "n_sweeps": 2, "thin": 1, "n_jobs": 1, "names": {1: "taxes"}}
        run = plait.sample(model, **options)
        if name == "lda" or name.startswith("factorial"):  # parameters to start from
            run = plait.sample(replace(model, initial=run.parameters(1)), **options)
        run.save(place(name))
        if name == "lda":
            plait.sample(model, **(options | {"n_paths": STAGES, "n_sweeps": None})).save(
                place("lda, in stages")
            )
            timed = plait.sample(model, **(options | {"n_paths": STAGES, "n_sweeps": None}), max_seconds=0.0)
            timed.save(place("lda, with a time"))
        if not name.startswith(("hmm", "mixture")):
            continue
        # Initial parameters and an estimate, with the best of several restarts, finished and not
        plan = Plan(2, 2, em_iterations=2, search=2 * (name == "hmm, partly missing"))
        fit = fit_and_store(model, plan, place(f"{name}, EM"), seed=1, n_init=2, n_jobs=1)
        best = replace(fit, fit=None)
        fit = replace(fit, fit=replace(fit.fit, scores=fit.fit.scores[:1], best=best))
        fit.save(place(f"{name}, unfinished"))
        if name in ("hmm, poisson", "mixture, tied"):
            fit_and_store(model, Plan(0, 0, em_iterations=2), place(f"{name}, EM alone"), seed=1, n_jobs=1)
            fit_and_store(model, plan, place(f"{name}, one start"), seed=1, n_jobs=1)
    return paths


# -----------------------------------------------------------------------------------------------------
# Forgeries
# -----------------------------------------------------------------------------------------------------

DTYPES = ("f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?", "c8")
EXTREMES = (-1, 0, 1, 255, 2**31, 2**63 - 1, -(2**63), np.nan, np.inf, -np.inf, 1e308, -1e308, 1e-308, 0.5)
VALUES = (
    *(-1, 0, 1, 2, 3, 255, 65535, 65536, 2**31, 2**53, 2**61, 2**63 - 1, 2**63, -(2**63), 10**30, 10**400),
    *(0.5, -0.5, 1e308, float("nan"), float("inf"), -float("inf")),
    *(True, False, None, "", "x", "3", "nan", "a\nb", [], {}, [1], [[1, 2]], [[1]] * 3, {"a": 1}),
)


def forged_arrays(array):
    """Yield texts and arrays to put in the place of an array."""
    for dtype in DTYPES:
        if array.dtype != dtype:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                yield f"dtype {dtype}", array.astype(dtype)
    for dtype in {array.dtype.str, "<f8", "<i8"}:
        for shape in ((0,), (), (1,), (1, 1), (0, 0), (10**9, 0), (0, 10**9), (10**6, 0, 10**3), (2, 0)):
            yield f"empty {dtype} {shape}", np.zeros(shape, dtype)
    yield "extra dimension", array[None]
    yield "extra last dimension", array[..., None]
    yield "flat", array.ravel()
    yield "transposed", array.T
    for axis in range(array.ndim):
        yield f"cut along {axis}", np.take(array, range(array.shape[axis] - 1), axis=axis)
        yield f"cut to one along {axis}", array.take([0] if array.shape[axis] else [], axis=axis)
        yield f"longer along {axis}", np.concatenate([array, array], axis=axis)
    places = {"first": 0, "middle": array.size // 2, "last": -1} if array.size else {}
    for value in EXTREMES:
        if array.dtype.kind in "iu":
            limits = np.iinfo(array.dtype)
            if not np.isfinite(value) or value != int(value) or not limits.min <= value <= limits.max:
                continue
        with np.errstate(over="ignore"):  # 1e308 in single precision
            wanted = np.asarray(value).astype(array.dtype)
        for text, place in places.items():
            forged = array.copy()
            forged.flat[place] = wanted
            yield f"{text} is {value}", forged
        yield f"all are {value}", np.full_like(array, wanted)
    yield "reversed", array[::-1] if array.ndim else array
    if array.dtype.kind in "iu" and array.size > 3:
        limits = np.iinfo(array.dtype)
        wrapping = array.copy()
        wrapping.flat[1], wrapping.flat[2] = limits.max, limits.min
        yield "wrapping", wrapping
        yield "other dtype, out of range", np.where(np.arange(array.size) == 1, 2**40, array.ravel())


def leaves(header, place=()):
    """Yield the places of all values in a header, those that hold others included."""
    for key in header if isinstance(header, dict) else range(len(header)):
        if not place and key in ("checksum", "checksums", "format"):
            continue
        yield (*place, key)
        if isinstance(header[key], (dict, list)):
            yield from leaves(header[key], (*place, key))


def forgeries(path, done=()):
    """Yield a text and a function for every way to forge a file, except in the places `done`.

    The function returns a header and arrays.
    """
    header, tensors = header_of(path), safetensors.numpy.load_file(path)
    for name, array in tensors.items():
        if name in done:
            continue
        for text, forged in forged_arrays(array):
            yield f"{name}: {text}", partial(_changed_array, header, tensors, name, forged)
        rest = {other: value for other, value in tensors.items() if other != name}
        yield f"{name}: missing", partial(_changed_array, header, rest)
        yield f"{name}: misnamed", partial(_changed_array, header, rest, f"{name}s", array)
    for place in leaves(header):
        if place in done:
            continue
        for value in VALUES:
            yield f"header {place}: {value!r:.40}", partial(_changed_header, header, tensors, place, value)
        yield f"header {place}: missing", partial(_changed_header, header, tensors, place)


def _changed_array(header, tensors, name=None, array=None):
    return {**header, "checksums": {}}, tensors if name is None else tensors | {name: array}


def _changed_header(header, tensors, place, *value):
    header = copy.deepcopy(header)
    part = header
    for key in place[:-1]:
        part = part[key]
    if value:
        (part[place[-1]],) = value
    else:
        del part[place[-1]]
    return header, tensors


ESTIMATORS = {
    "lda": plait.LatentDirichletAllocation,
    "potts": plait.PottsSegmentation,
    "factorial-hmm": plait.FactorialHMM,
    "hmm categorical": plait.CategoricalHMM,
    "hmm gaussian": plait.GaussianHMM,
    "hmm poisson": plait.PoissonHMM,
    "hmm multinomial-sequences": plait.MultinomialHMM,
    "hmm gaussian-mixture": plait.GMMHMM,
    "hmm": plait.HMM,
    "mixture bernoulli": plait.BernoulliMixture,
    "mixture gaussian": plait.GaussianMixture,
    "mixture multinomial": plait.MultinomialMixture,
    "mixture poisson": plait.PoissonMixture,
}


def use(path):
    """Load a file and use the run in every way; an error about the file must name it, in one line."""
    try:
        run = plait.load(path)
    except PlaitError as error:
        message = str(error)
        assert str(path) in message, f"the error does not name the file: {message}"
        assert "\n" not in message, f"the error has several lines: {message}"
        assert "not enough memory" not in message, message
        return False
    kind = run.model.kind
    emissions = getattr(run.model, "emissions", None)
    estimator = ESTIMATORS.get(f"{kind} {getattr(emissions, 'kind', '')}") or ESTIMATORS[kind]
    for action in (
        lambda: run.parameters(1),
        lambda: plait.resume(run, n_sweeps=run.sweep + 1, n_jobs=1),
        lambda: estimator.from_run(run),
    ):
        with suppress(PlaitError):
            action()
    return True


def complaint(path):
    """Return what goes wrong when a file is used, or None; and whether it could be loaded."""
    loaded, wrong = None, None
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    try:
        loaded = use(path)
    except Exception as error:
        wrong = f"{type(error).__name__}: {error}"
    used = tracemalloc.get_traced_memory()[1] - before
    if wrong is None and used > MOST_BYTES:
        wrong = f"{used / 2**20:.0f} MB"
    return wrong, loaded


def forge_all(every, seed=0):
    """Forge files in one of `every` ways, chosen at random; return the complaints and two counts."""
    warnings.simplefilter("ignore")
    for category in (RuntimeWarning, DeprecationWarning, np.exceptions.ComplexWarning):
        warnings.simplefilter("error", category)
    # Interpreted kernels compute with NumPy's scalars, which warn where compiled ones do not.
    warnings.filterwarnings("ignore", module=r"plait\.(rng|kernels)", category=RuntimeWarning)
    chosen = random.Random(seed)
    complaints, n_tried, n_loaded = [], 0, 0
    with tempfile.TemporaryDirectory() as folder:
        paths = make_files(folder)
        target = Path(folder) / "forged.plait"
        tracemalloc.start()
        done = {}  # by model: fits of a model share most of their places with its plain run
        for name, path in paths.items():
            places = done.setdefault(", ".join(name.split(", ")[:2]), set())
            for text, forged in forgeries(path, frozenset(places)):
                if chosen.randrange(every):
                    continue
                write(target, *forged())
                wrong, loaded = complaint(target)
                n_tried += 1
                n_loaded += bool(loaded)
                if wrong is not None:
                    complaints.append(f"{name}; {text}: {wrong}")
            places |= {*leaves(header_of(path)), *safetensors.numpy.load_file(path)}
    return {"complaints": complaints, "tried": n_tried, "loaded": n_loaded}


if __name__ == "__main__":
    print(json.dumps(forge_all(int(sys.argv[1]))))
