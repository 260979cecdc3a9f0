"""Runs as ArviZ takes them.

ArviZ's dimension `chain` is for independent runs, whose spread says how uncertain a parameter is. Paths are
not chains: they share phi, and given phi they are independent. So they have a dimension of their own, `path`,
and a run is one chain.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from plait.interop.source import run_of
from plait.libraries import library
from plait.run import Run

NOTE = (
    "A run is one chain. Paths are not chains: they share the parameters phi, and given phi they are"
    " independent. With several paths phi is drawn from P(phi) P(w | phi)^m, so the spread of paths or draws"
    " is not a posterior interval."
)
"""Attribute `note` of everything that `to_arviz` returns."""


def to_arviz(run: Any) -> Any:
    """Return a run as ArviZ's InferenceData or, from ArviZ 1 on, as a DataTree.

    Parameters
    ----------
    run : Run or estimator
        A run of any model, or a fitted estimator.

    Returns
    -------
    arviz.InferenceData or xarray.DataTree
        Group `sample_stats` has `log_joint` (chain, draw, path), which is log P(p^j, w | phi) of each path,
        and `seconds` (chain, draw); a draw is a record of the trace and has the number of its sweep. Group
        `posterior` has `paths` (chain, draw, path, site) after the last sweep. The only chain is the run.
        Attributes have the settings and a note on paths.
    """
    arviz, xarray = library("arviz"), library("xarray")
    run = run_of(run)
    attributes = _attributes(run)
    places = {"chain": [0], "path": np.arange(len(run.paths))}
    groups = {
        "posterior": xarray.Dataset(
            {"paths": (("chain", "draw", "path", "site"), run.paths[None, None])},
            coords=places | {"draw": [run.sweep]},
            attrs=attributes,
        ),
        "sample_stats": xarray.Dataset(
            {
                "log_joint": (("chain", "draw", "path"), run.trace.log_joint[None]),
                "seconds": (("chain", "draw"), run.trace.seconds[None]),
            },
            coords=places | {"draw": run.trace.sweep},
            attrs=attributes,
        ),
    }
    if hasattr(arviz, "InferenceData"):
        return arviz.InferenceData(attrs=attributes, **groups)
    tree = xarray.DataTree.from_dict(groups)
    tree.attrs.update(attributes)
    return tree


def _attributes(run: Run) -> dict[str, Any]:
    """Return the settings as numbers and strings, which files of ArviZ can hold."""
    settings = run.settings
    found = {
        "inference_library": "plait",
        "inference_library_version": run.version,
        "note": NOTE,
        "model": run.model.kind,
        "n_paths": settings.n_paths,
        "n_sweeps": run.sweep,
        "seed": str(settings.seed),
        "collapsed": int(settings.collapsed),
        "sampling_time": run.seconds,
    }
    if run.names:
        found["names"] = json.dumps(dict(run.names))
    return found
