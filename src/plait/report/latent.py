"""The parts of a report that all models with states share, and models that have no more than these."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plait.answers import state_agreement
from plait.answers.courses import em_totals
from plait.arrays import Floats
from plait.data.sequences import Sequences
from plait.errors import NotSupported
from plait.evaluate.agreement import token_agreement
from plait.evaluate.states import state_names
from plait.fitting.restarts import state_order
from plait.models.mixture import MixtureModel
from plait.models.path_model import leaves
from plait.models.potts import PottsModel
from plait.report.certainty import most_common_topics
from plait.report.common import about
from plait.report.emissions import emissions
from plait.report.packing import Payload, rounded, small_integers
from plait.report.page import Page
from plait.report.sequences import kept_lengths, sequences_block
from plait.run import Run
from plait.threads import Threads, use_threads

_MOST_CONFUSED: Final = 200  # states of which the page has the whole matrix of agreement
_MOST_PIXELS: Final = 2_000_000
_MOST_PICTURES: Final = 4
_MOST_CELLS: Final = 4096  # of one array of parameters
_MOST_ARRAYS: Final = 60
_CERTAINTIES: Final = 20


class StateWords(NamedTuple):
    """What a model, and one and several of its states are called in the page."""

    model: str
    state: str
    states: str


def latent_parts(
    run: Run,
    states: NDArray[Any],
    words: StateWords,
    *,
    title: str,
    certainty: Floats | None = None,
    n_jobs: int | Threads | None = None,
) -> dict[str, Any]:
    """Return the main block of a model with states.

    Parameters
    ----------
    run : Run
        The run, with the records of all restarts of its fit.
    states : ndarray, (N,)
        The state of each site, as it is shown.
    words : StateWords
        What things are called.
    title : str
        Title of the page.
    certainty : ndarray, (N,), optional
        How certain the state of each site is; by default the share of the paths that agree.
    n_jobs : int or Threads, optional
        Number of threads; all cores by default.

    Returns
    -------
    dict
        "kind", "words", "title", "fingerprint", "about", "notes"; "states": "names", "shares" of
        the sites in all paths, or if there are none of `states`, "sites" (S,) of `states`, "certainty" (S,),
        its mean, or None, and "certainties" (S, 20), how many sites of each state have which;
        "certainty_of"; "confusion" (S, S), of `plait.answers.state_agreement`, or None; "scores" of
        restarts; "em", the log-likelihood per site before each iteration; and parts that are None here:
        "emissions", "chain", "parameters", "field", "chains" and "has_sequences".
    """
    best = run.best
    n_states, n_sites = int(best.model.n_states), int(best.model.n_sites)
    order = shown_order(best)
    counts = np.bincount(states, minlength=n_states)
    shares = counts / max(1, counts.sum())
    if len(best.paths):
        shares = np.bincount(np.ravel(best.paths), minlength=n_states)[order] / best.paths.size
    names = state_names(best, order)
    certainty_of = "posterior" if certainty is not None else None
    if certainty is None and len(best.paths) > 1:
        certainty, certainty_of = token_agreement(best.paths), "paths"
    confusion = None
    if len(best.paths) > 1 and n_states <= _MOST_CONFUSED and not hasattr(best.model, "n_chains"):
        confusion = rounded(state_agreement(best, n_jobs=n_jobs))
    return {
        "kind": "states",
        "words": words._asdict(),
        "title": title,
        "fingerprint": _fingerprint(best, states),
        "about": about(run),
        "notes": [],
        "states": {
            "names": [names.get(s) for s in range(n_states)],
            "shares": rounded(shares),
            "sites": small_integers(counts),
            **_certainties(states, certainty, n_states),
        },
        "certainty_of": certainty_of,
        "n_paths": len(best.paths),
        "confusion": confusion,
        "scores": [] if run.fit is None else list(run.fit.scores),
        "em": np.ascontiguousarray(em_totals(best) / max(1, n_sites), np.float32),
        **dict.fromkeys(("emissions", "chain", "parameters", "field", "chains")),
        "has_sequences": False,
    }


def shown_order(run: Run) -> NDArray[np.intp]:
    """Return the number in the paths of each state that is shown."""
    if not hasattr(run.model, "canonical_order") or hasattr(run.model, "n_chains"):
        return np.arange(int(run.model.n_states))
    return state_order(run, run.parameters())


def common_states(run: Run, order: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the most common state of each site over the paths, as it is shown, (N,)."""
    number = np.argsort(order)
    return number[most_common_topics(run.paths)]


def _certainties(states: NDArray[Any], certainty: Floats | None, n_states: int) -> Payload:
    if certainty is None:
        return {"certainty": None, "certainties": None}
    counts = np.bincount(states, minlength=n_states)
    sums = np.bincount(states, weights=certainty, minlength=n_states)
    mean = np.divide(sums, counts, out=np.full(n_states, np.nan), where=counts > 0)
    bins = np.minimum((certainty * _CERTAINTIES).astype(np.intp), _CERTAINTIES - 1)
    together = np.bincount(states * _CERTAINTIES + bins, minlength=n_states * _CERTAINTIES)
    return {"certainty": rounded(mean), "certainties": small_integers(together.reshape(n_states, -1))}


def _fingerprint(run: Run, states: NDArray[Any]) -> str:
    """Return what tells this fit from others: names that are given in the page are kept under it."""
    digest = hashlib.sha256(f"{run.model.kind} {run.model.n_sites} {run.model.n_states}".encode())
    digest.update(np.ascontiguousarray(states[:100_000], np.int64).tobytes())
    return digest.hexdigest()[:16]


# -----------------------------------------------------------------------------------------------------
# Mixtures
# -----------------------------------------------------------------------------------------------------


def mixture_pages(run: Run, *, title: str, path: Path, n_jobs: int | None = None) -> Iterator[Page]:
    """Yield the page of a report on a mixture; see `latent_parts` and `plait.report.emissions`."""
    best = run.best
    model = best.model
    assert isinstance(model, MixtureModel)
    with use_threads(n_jobs) as threads:
        parameters = best.parameters(threads)
        parameters = parameters.permuted(state_order(best, parameters))
        posteriors, _ = model.posteriors(parameters, threads)
        states, certainty = posteriors.argmax(axis=1), posteriors.max(axis=1)
        words = StateWords("mixture", "component", "components")
        main = latent_parts(run, states, words, title=title, certainty=certainty, n_jobs=threads)
    main["states"]["shares"] = rounded(parameters.shares)
    main["emissions"] = emissions(model.emissions, parameters.emissions, states)
    yield Page(path, {"main": main})


# -----------------------------------------------------------------------------------------------------
# Potts fields
# -----------------------------------------------------------------------------------------------------


def potts_pages(run: Run, *, title: str, path: Path, n_jobs: int | None = None) -> Iterator[Page]:
    """Yield the page of a report on a Potts field.

    Its blocks are "main" (see `latent_parts`) and "field": the "shape" (planes, rows, columns) of the page
    and the "whole_shape", the "labels" of its pixels, the "agreement" of the paths, from 0 to 255, or None,
    and "pictures", the features of the data as [{"name", "values" from 0 to 255, "low", "high"}].
    """
    best = run.best
    model = best.model
    assert isinstance(model, PottsModel)
    parameters = best.parameters(n_jobs)
    order = state_order(best, parameters)
    labels = common_states(best, order)
    words = StateWords("Potts field", "label", "labels")
    main = latent_parts(run, labels, words, title=title, n_jobs=n_jobs)
    main["emissions"] = emissions(model.emissions, parameters.permuted(order).emissions, labels)
    main["field"] = {"coupling": model.coupling, "neighbours": model.neighbours}
    yield Page(path, {"main": main, "field": _field(best, labels)})


def _field(run: Run, labels: NDArray[np.intp]) -> Payload:
    model: Any = run.model
    shape = (1, *model.shape)[-3:]
    step = 1
    while np.prod([-(-n // step) for n in shape[-2:]]) * -(-shape[0] // step) > _MOST_PIXELS:
        step += 1

    def thinned(values: NDArray[Any]) -> NDArray[Any]:
        return values.reshape(shape)[::step, ::step, ::step]

    agreement = token_agreement(run.paths) if len(run.paths) > 1 else None
    sequences: Sequences | None = getattr(model.emissions, "sequences", None)
    pictures = []
    if sequences is not None:
        values = np.asarray(sequences.values, np.float64).reshape(model.n_sites, -1)
        values = np.where(values < 0, np.nan, values) if sequences.is_symbols else values
        pictures = [
            _picture(thinned(values[:, d]), "symbol" if sequences.is_symbols else _channel(sequences, d))
            for d in range(min(values.shape[1], _MOST_PICTURES))
        ]
    small = thinned(labels)
    return {
        "shape": list(small.shape),
        "whole_shape": list(model.shape),
        "labels": small_integers(small.ravel()),
        "agreement": None
        if agreement is None
        else np.rint(255 * thinned(agreement)).astype(np.uint8).ravel(),
        "pictures": pictures,
    }


def _channel(sequences: Sequences, d: int) -> str:
    return f"feature {d}" if sequences.columns is None else sequences.columns[d]


def _picture(values: Floats, name: str) -> Payload:
    known = values[np.isfinite(values)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    scaled = np.where(np.isfinite(values), (values - low) / ((high - low) or 1.0), 0.0)
    return {"name": name, "values": np.rint(255 * scaled).astype(np.uint8).ravel(), "low": low, "high": high}


# -----------------------------------------------------------------------------------------------------
# Models of one's own
# -----------------------------------------------------------------------------------------------------


def own_pages(run: Run, *, title: str, path: Path, n_jobs: int | None = None) -> Iterator[Page]:
    """Yield the page of a report on a model of any kind: what every run has.

    Its blocks are "main" (see `latent_parts`), with the "parameters" as [{"name", "shape", "values"}], and
    "sequences" (see `plait.report.sequences`), of which there is one, with the sites in their order.
    """
    best = run.best
    model: Any = best.model
    n_states, n_sites = int(model.n_states), int(model.n_sites)
    states = common_states(best, np.arange(n_states))
    words = StateWords(f"model of the kind {model.kind}", "state", "states")
    main = latent_parts(run, states, words, title=title, n_jobs=n_jobs)
    try:
        main["parameters"] = _arrays(best.parameters(n_jobs))
    except NotSupported as error:
        main["notes"] = [f"Parameters are not shown: {error}."]
    blocks: dict[str, Payload] = {"main": main}
    if n_states <= np.iinfo(np.uint8).max:
        sites = Sequences(np.full((n_sites, 1), np.nan), np.array([0, n_sites]))
        kept = kept_lengths(sites, n_states, False)
        shares = np.stack([(best.paths[:, : kept[0]] == s).mean(axis=0) for s in range(n_states)], axis=1)
        blocks["sequences"] = {**sequences_block(sites, kept, states[: kept[0]], shares), "features": []}
        main["has_sequences"] = True
    yield Page(path, blocks)


def _arrays(parameters: Any) -> list[Payload]:
    """Return the arrays of nested parameters by their names, with no more than a page can show."""
    found: list[Payload] = []
    for name, array in leaves(parameters)[:_MOST_ARRAYS]:
        values = np.asarray(array, np.float64)
        flat = values if values.ndim <= 2 else values.reshape(len(values), -1)
        flat = np.atleast_1d(flat)
        if flat.size > _MOST_CELLS:
            flat = flat[: max(1, _MOST_CELLS // max(1, flat[0].size))]
            flat = flat[..., :_MOST_CELLS]
        found.append(
            {
                "name": _plain(name) or "value",
                "shape": list(values.shape),
                "values": np.ascontiguousarray(flat, np.float32),
            }
        )
    return found


def _plain(name: str) -> str:
    """Return the name of an array as it is written: ['links'] is links, .means is means."""
    return name.replace("['", ".").replace("']", "").lstrip(".")
