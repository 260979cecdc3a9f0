"""Pictures of runs of any model: their course, restarts and agreement, and the parameters that they found."""

from __future__ import annotations

from typing import Any

import numpy as np

from plait import answers
from plait.checks import check_choice, check_integer, list_names, short_repr
from plait.errors import Argument, PlaitError
from plait.evaluate import figure_style as style
from plait.evaluate.agreement import token_agreement
from plait.evaluate.figure_style import figure_text
from plait.models.path_model import leaves
from plait.models.potts import PottsModel
from plait.plots.drawing import (
    PALE,
    Axes,
    axes_for,
    colours,
    fit_from,
    matrix,
    run_from,
    state_labels,
    state_places,
    tidy,
    topic_labels,
)


def trace(source: Any, *, of: str | None = None, first: int = 0, ax: Axes = None) -> Axes:
    """Draw the log-likelihood along a run: thin for each path, thick for their mean, with the stages marked.

    Parameters
    ----------
    source : Run, estimator or path
        A run of any model, a fitted estimator, or a file.
    of : {"sweeps", "EM"}, optional
        Sweeps of the sampler, log P(p, w | phi), or iterations of EM, log P(w | phi); by default the sweeps
        if there are any.
    first : int
        The first sweep or iteration to show.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
    """
    run = run_from(source)
    found = answers.course(run)
    check_integer("first", first, least=0)
    if of is None:
        of = "sweeps" if found.sweeps.size or not found.em.size else "EM"
    check_choice("of", of, ("sweeps", "EM"))
    site, n = getattr(run.model, "site_name", "site"), max(1, run.model.n_sites)
    x = found.sweeps if of == "sweeps" else np.arange(found.em.size)
    shown = x >= first
    if not shown.any():
        raise PlaitError(f"the run has no records of {of} from {first} on: choose others")
    ax = axes_for(ax, 5.6, 3.0)
    if of == "sweeps":
        ax.plot(x[shown], found.paths[shown] / n, color=style.SKY, linewidth=0.6, alpha=0.7)
        ax.plot(x[shown], found.mean[shown] / n, color=style.BLUE, linewidth=1.8)
        _mark_stages(ax, [span for span in found.stages if span.last > first], first)
        ax.set(xlabel="sweep", ylabel=f"log P(p, w | φ) per {site}")
    else:
        ax.plot(x[shown], found.em[shown] / n, color=style.BLUE, linewidth=1.8, marker=".", markersize=4)
        ax.set(xlabel="iteration of EM", ylabel=f"log P(w | φ) per {site}")
    return tidy(ax)


def _mark_stages(ax: Axes, stages: list[answers.StageSpan], first: int) -> None:
    """Label the stages above the axes, with a line between two."""
    for k, span in enumerate(stages):
        if k:
            ax.axvline(span.first - 0.5, color=style.GREY, linewidth=0.8, linestyle=":", zorder=0)
        middle = (max(span.first, first) + span.last) / 2
        label = f"{span.label}\naveraged" if span.averages else span.label
        ax.annotate(
            label,
            (middle, 1),
            (0, 3),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            ha="center",
            va="bottom",
            fontsize="small",
            color="dimgrey",
        )


def priors(source: Any, *, ax: Axes = None) -> Axes:
    """Draw the priors as they were learnt; of a prior with a value per topic, the mean and the range.

    Parameters
    ----------
    source : Run, estimator or path
        A run that learnt priors, a fitted estimator, or a file.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
    """
    found = answers.course(run_from(source))
    if not found.priors:
        raise PlaitError("the run learnt no priors: leave them out when you fit, so that they are learnt")
    ax = axes_for(ax, 5.6, 3.0)
    letters = {"alpha": "α", "eta": "η"}
    for (name, values), colour in zip(sorted(found.priors.items()), colours(len(found.priors)), strict=True):
        rows, label = values.reshape(len(values), -1), letters.get(name, figure_text(name))
        if np.ptp(rows, axis=1).any():
            label = f"{label}, mean and range"
            ax.fill_between(found.sweeps, rows.min(axis=1), rows.max(axis=1), color=colour, alpha=0.25, lw=0)
        ax.plot(found.sweeps, rows.mean(axis=1), color=colour, label=label)
    ax.set_yscale("log")
    ax.set(xlabel="sweep", ylabel="prior")
    ax.legend(frameon=False)
    return tidy(ax)


def restarts(source: Any, *, ax: Axes = None) -> Axes:
    """Draw the log-likelihoods of all restarts, from the best to the worst.

    Parameters
    ----------
    source : Run, estimator or path
        A run that a fit with restarts returned, a fitted estimator, or a file.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
    """
    found = _scores(source)
    ax = axes_for(ax, 4.8, 2.8)
    order = np.argsort(-found, kind="stable")
    below, best = found[order] - found[order[0]], order[0]
    ax.plot(np.arange(1, len(order) + 1), below, "o", color=style.SKY, markersize=5)
    ax.plot(1, 0, "D", color=style.BLUE, markersize=7, label=f"restart {best}: {found[best]:.2f}")
    # Differences far below 1 are rounding of one maximum, and are not to look like several.
    ax.set_ylim(min(-1.0, 1.1 * float(below[-1])), 0.06 * max(1.0, -float(below[-1])))
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set(xlabel="rank of the restart", ylabel="log P(w | φ) less the best", xlim=(0.5, len(order) + 0.5))
    ax.legend(frameon=False)
    return tidy(ax)


def _scores(source: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return log P(w | phi) of each finished restart, in the order in which they were made."""
    fit = fit_from(source).fit
    if fit is None or not fit.scores:
        raise PlaitError("the run has no finished restarts: fit with several, and keep the run")
    return np.array(fit.scores, np.float64)


def agreement(source: Any, *, ax: Axes = None) -> Axes:
    """Draw how often two paths agree on each state, and which states they confuse.

    Parameters
    ----------
    source : Run, estimator or path
        A run of at least two paths, a fitted estimator, or a file.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
    """
    run = run_from(source)
    found = answers.state_agreement(run)
    labels = topic_labels(run) if run.model.kind == "lda" else state_labels(run, len(found))
    side = min(8.0, 2.2 + 0.25 * len(found))
    ax = axes_for(ax, side + 0.8, side)
    columns = [str(s) for s in range(len(found))]
    matrix(ax, found, labels, columns, "probability in another path", vmin=0, vmax=1)
    ax.set(ylabel="in one path", xlabel="in another path")
    return ax


def field(source: Any, *, plane: int = 0, ax: Axes = None) -> Axes:
    """Draw the labels of a Potts field: the most common one of the paths, paler where paths disagree.

    Parameters
    ----------
    source : Run, estimator or path
        A run of a Potts model, a fitted estimator, or a file.
    plane : int
        Of a volume, the plane to show.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
    """
    run = run_from(source)
    if not isinstance(run.model, PottsModel):
        raise PlaitError(f"the model is of the kind {run.model.kind!r}: this works for Potts fields (potts)")
    shape, n_states = run.model.shape, run.model.n_states
    planes = shape[0] if len(shape) == 3 else 1
    plane = check_integer("plane", plane, least=0, most=planes - 1)
    paths = run.paths.reshape(len(run.paths), planes, *shape[-2:])[:, plane]
    counts = np.stack([(paths == s).sum(axis=0) for s in state_places(run)])
    labels = counts.argmax(axis=0)
    certainty = token_agreement(paths.reshape(len(paths), -1)).reshape(labels.shape)
    to_rgb = style.import_matplotlib("matplotlib.colors").to_rgb
    palette = np.array([to_rgb(colour) for colour in colours(n_states)])
    # 1 / m is the least agreement; it is half as pale as white.
    strength = (0.4 + 0.6 * certainty)[..., None]
    ax = axes_for(ax, 4.4, 0.6 + 4.0 * labels.shape[0] / labels.shape[1])
    ax.imshow(strength * palette[labels] + 1 - strength, interpolation="nearest")
    ax.set(xticks=[], yticks=[])
    handles = [style.import_matplotlib("matplotlib.patches").Patch(color=colour) for colour in palette]
    if n_states <= 12:
        names = state_labels(run, n_states)
        ax.legend(handles, names, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    return ax


def parameters(source: Any, name: str | None = None, *, ax: Axes = None) -> Axes:
    """Draw one array of the parameters of a run: numbers as points, one row as bars, a table as a matrix.

    It works for every model; `emissions` draws what chains, mixtures and fields have in common.

    Parameters
    ----------
    source : Run, estimator or path
        A run of any model, a fitted estimator, or a file.
    name : str, optional
        Which array, such as "transitions[0]"; by default the first. A name that does not exist raises an
        error that lists all.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
    """
    run = run_from(source)
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    for place, array in leaves(run.parameters()):
        arrays |= _planes(place.removeprefix(".") or "parameters", array)
    if name is None:
        name = next(iter(arrays))
    if name not in arrays:
        raise PlaitError(
            Argument("name"), f" must be one of {list_names(list(arrays)[:30])}, got {short_repr(name)}"
        )
    values = arrays[name].astype(np.float64)
    label = figure_text(name)
    if values.ndim == 2:
        ax = axes_for(ax, 2.6 + 0.3 * min(20, values.shape[1]), 1.4 + 0.3 * min(20, len(values)))
        return matrix(
            ax, values, [str(i) for i in range(len(values))], [str(j) for j in range(values.shape[1])], label
        )
    ax = axes_for(ax, 4.8, 2.8)
    ax.bar(range(values.size), values.ravel(), color=style.BLUE)
    ax.axhline(0, color=PALE, linewidth=0.8)
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set_ylabel(label)
    return tidy(ax)


def _planes(name: str, array: np.ndarray[Any, Any]) -> dict[str, np.ndarray[Any, Any]]:
    """Return an array, or if it has more than two dimensions the tables that it consists of, with names."""
    if array.ndim <= 2:
        return {name: array} if array.size else {}
    return {
        place: inner for k, part in enumerate(array) for place, inner in _planes(f"{name}[{k}]", part).items()
    }
