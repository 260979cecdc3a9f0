"""What the file of a run holds, whatever its model."""

from __future__ import annotations

from typing import Any

import numpy as np

from plait.answers.courses import em_totals
from plait.data.corpus import Corpus
from plait.data.sequences import Sequences
from plait.models.slim_lda import SlimLdaModel
from plait.plans import Settings
from plait.progress import joint_of
from plait.run import Run


def describe(run: Run) -> dict[str, Any]:
    """Return what a run is and how it went, as values that JSON can hold.

    Parameters
    ----------
    run : Run
        A run of any model.

    Returns
    -------
    dict
        kind, version, data, model, settings, progress, likelihoods and verdict. What a model does not have is
        left out.
    """
    best = run.best
    about: dict[str, Any] = {"kind": run.model.kind, "version": run.version, "data": _data(run.model)}
    about |= {"model": _model(best), "settings": _settings(best.settings), "progress": _progress(run)}
    return about | {"likelihoods": _likelihoods(best), "verdict": verdict_as_json(best)}


def _data(model: Any) -> dict[str, Any]:
    corpus, emissions = getattr(model, "corpus", None), getattr(model, "emissions", None)
    sequences = getattr(model, "sequences", None) or getattr(emissions, "sequences", None)
    found: dict[str, Any] = {}
    if isinstance(model, SlimLdaModel):
        found |= _corpus(model.corpus) | {"documents": model.n_documents, "tokens": model.n_tokens}
        found |= {"empty_documents": None, "for_inference": True}
    elif isinstance(corpus, Corpus):
        found |= _corpus(corpus)
    elif isinstance(sequences, Sequences):
        found |= _sequences(sequences)
    else:
        found["sites"] = int(model.n_sites)
    shape = getattr(model, "shape", None)
    return found | ({"shape": list(shape)} if isinstance(shape, tuple) else {})


def _corpus(corpus: Corpus) -> dict[str, Any]:
    return {
        "documents": corpus.n_documents,
        "empty_documents": corpus.n_empty,
        "tokens": corpus.n_tokens,
        "words": corpus.n_words,
        "names": corpus.names is not None,
        "dates": _range(corpus.dates),
        "columns": list(corpus.columns),
        "texts": corpus.texts is not None,
        "recipe": None if corpus.recipe is None else corpus.recipe.to_dict(),
    }


def _range(dates: tuple[str, ...] | None) -> list[str] | None:
    known = [date for date in dates or () if date]
    return [min(known), max(known)] if known else None


def _sequences(sequences: Sequences) -> dict[str, Any]:
    found: dict[str, Any] = {
        "sequences": sequences.n_sequences,
        "observations": sequences.n_sites,
        "missing": sequences.n_missing,
    }
    if sequences.is_symbols:
        return found | {"symbols": sequences.n_symbols}
    columns = None if sequences.columns is None else list(sequences.columns)
    return found | {"features": sequences.n_features, "columns": columns}


def _model(run: Run) -> dict[str, Any]:
    model: Any = run.model
    what = "topics" if model.kind in ("lda", "slim-lda") else "states"
    found: dict[str, Any] = {what: int(model.n_states)}
    for name in ("n_chains", "coupling", "neighbours"):
        if hasattr(model, name):
            found[name.removeprefix("n_")] = getattr(model, name)
    emissions = getattr(model, "emissions", None)
    if emissions is not None:
        found["emissions"] = emissions.kind
    covariance = getattr(emissions, "covariance", None) or getattr(model, "covariance", None)
    if isinstance(covariance, str):
        found["covariance"] = covariance
    if what == "topics":
        alpha, eta = model.alpha_vector, np.asarray(model.eta)
        learnt: set[str] | None = None
        if model.kind == "lda":
            learnt = set(model.priors()) - set(model.fixed) if run.settings.learns_priors else set()
        found["priors"] = {
            "alpha": {"sum": float(alpha.sum()), "least": float(alpha.min()), "most": float(alpha.max())},
            "eta": {"mean": float(eta.mean())},
            "learnt": None if learnt is None else sorted(learnt),
        }
    return found | {"names": {str(number): name for number, name in run.names.items()}}


def _settings(settings: Settings) -> dict[str, Any]:
    stages = [
        {"sampler": stage.sampler, "paths": stage.n_paths, "sweeps": stage.sweeps}
        | {"learn_priors": stage.learn_priors, "average": stage.average, "description": stage.describe()}
        for stage in settings.stages
    ]
    rest = {"seed": settings.seed, "paths": settings.n_paths, "thin": settings.thin, "tol": settings.tol}
    return rest | {"stages": stages}


def _progress(run: Run) -> dict[str, Any]:
    found: dict[str, Any] = {"finished": run.finished, "position": run.position}
    found |= {"sweeps": run.sweep if run.settings.n_paths else 0, "seconds": round(run.seconds, 3)}
    found["em_iterations"] = len(run.best.em_history)
    if run.fit is not None:
        found |= {"seed": run.fit.seed, "restarts": len(run.fit.seeds), "scores": list(run.fit.scores)}
    return found


def _likelihoods(run: Run) -> list[dict[str, Any]]:
    """Return log-likelihoods, each with what it is of; see `Trace.log_joint`."""
    n = max(1, run.model.n_sites)
    site_name = getattr(run.model, "site_name", "site")
    found = []
    if len(run.trace):
        total = float(run.trace.mean_log_joint()[-1])
        found.append((f"{' and '.join(joint_of(site_name))}, given the parameters", total))
    if run.em_history:
        found.append(("the data, given the parameters", float(em_totals(run)[-1])))
    return [{"of": what, "total": total, f"per_{site_name}": total / n} for what, total in found]


def verdict_as_json(run: Run) -> dict[str, Any]:
    """Return the verdict on a run as values that JSON can hold."""
    verdict = run.verdict()
    site_name = getattr(run.model, "site_name", "site")
    return {
        "state": verdict.state,
        "of": verdict.what,
        "change": verdict.change,
        "noise": verdict.noise,
        "sweeps": None if verdict.sweeps is None else list(verdict.sweeps),
        "text": verdict.describe(site_name),
    }
