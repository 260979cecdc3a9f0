"""Pictures of states: their emissions, and for hidden Markov models their transitions and sequences."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from plait import answers
from plait.arrays import Floats
from plait.checks import check_integer, check_number
from plait.errors import Argument, PlaitError
from plait.evaluate import figure_style as style
from plait.evaluate.figure_style import figure_text
from plait.evaluate.states import covariance_matrices, hmm_model, summarise_states
from plait.models.emissions import (
    BernoulliParameters,
    CategoricalParameters,
    NormalParameters,
    PoissonParameters,
)
from plait.plots.drawing import (
    PALE,
    Axes,
    axes_for,
    bar_rows,
    colours,
    label_rows,
    matrix,
    row_base,
    run_from,
    state_labels,
    state_places,
    tidy,
)
from plait.run import Run

_MOST_POINTS: Final = 2000  # of a scatter plot; more cover each other
_MOST_SYMBOLS: Final = 30
_BINS: Final = 60
_MOST_LABELLED: Final = 6  # states whose arrows all have their probabilities
_WORTH_A_LABEL: Final = 0.1  # least probability of an arrow between more states that has it
_NEVER: Final = 1e-12  # a transition that is less probable has no arrow, even if all are asked for


def emissions(source: Any, features: tuple[int, int] | int | None = None, *, ax: Axes = None) -> Axes:
    """Draw the emissions of the states.

    Normal distributions are drawn as densities over the histogram of the data, if they have one feature, and
    as ellipses that hold 86 % of each state, if they have several. Probabilities of symbols, words or ones,
    and the rates of counts, are bars.

    Parameters
    ----------
    source : Run, estimator or path
        A run of a hidden Markov model, a mixture or a Potts field, a fitted estimator, or a file.
    features : int or (int, int), optional
        Of normal distributions, the number of the feature, or of two, by default the first two.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
    """
    run = run_from(source)
    model: Any = run.model
    own = getattr(run.parameters(), "emissions", None)
    if own is None:
        raise PlaitError(f"a model of the kind {model.kind!r} has no emissions to draw: try `parameters`")
    order = state_places(run)
    own = own.permuted(order)
    labels = state_labels(run, len(order))
    sequences: Any = getattr(model.emissions, "sequences", None)
    if isinstance(own, NormalParameters):
        chosen = _features(features, own.means.shape[1])
        names = [_feature_name(sequences, d) for d in chosen]
        values = sequences.values[:, chosen]
        if len(chosen) == 1:
            return _densities(
                axes_for(ax, 5.2, 3.0), run, order, own, chosen[0], values[:, 0], labels, names[0]
            )
        return _ellipses(axes_for(ax, 4.8, 4.0), run, order, own, chosen, values, labels, names)
    if isinstance(own, CategoricalParameters):
        values, what = own.probabilities, "probability of a symbol"
        known = dict(enumerate(getattr(sequences, "labels", None) or ()))
        columns = [known.get(w, str(w)) for w in range(values.shape[1])]
    elif isinstance(own, (PoissonParameters, BernoulliParameters)):
        is_rate = isinstance(own, PoissonParameters)
        values = own.rates if isinstance(own, PoissonParameters) else own.probabilities
        what = "rate" if is_rate else "probability of a 1"
        columns = [_feature_name(sequences, d) for d in range(values.shape[1])]
    else:
        raise PlaitError(f"emissions of the kind {model.emissions.kind!r} cannot be drawn: try `parameters`")
    shown = np.arange(values.shape[1])
    if len(shown) > _MOST_SYMBOLS:
        shown = np.sort(np.argsort(-values.max(axis=0), kind="stable")[:_MOST_SYMBOLS])
        what = f"{what}, of the {_MOST_SYMBOLS} largest"
    ax = axes_for(ax, max(3.6, 2.0 + 0.2 * len(shown)), 1.0 + 0.5 * len(labels))
    return bar_rows(ax, values[:, shown], labels, [figure_text(columns[w], 16) for w in shown], what)


def _features(given: tuple[int, int] | int | None, n: int) -> list[int]:
    if given is None:
        return list(range(min(n, 2)))
    numbers = list(given) if isinstance(given, (tuple, list)) else [given]
    if len(numbers) not in (1, 2):
        raise PlaitError(Argument("features"), f" must be one number or two, got {len(numbers)}")
    return [check_integer("features", d, least=0, most=n - 1) for d in numbers]


def _feature_name(sequences: Any, d: int) -> str:
    columns = getattr(sequences, "columns", None)
    return figure_text(columns[d]) if columns else f"feature {d}"


def _shares(run: Run, order: NDArray[np.intp]) -> Floats:
    """Return the share of the observations in each state, in the order of the states."""
    if len(run.paths):
        counts = np.bincount(np.ravel(run.paths), minlength=len(order))[order]
        return counts / counts.sum()
    found = getattr(run.parameters(), "shares", None)
    if found is None:
        return np.array([own.share for own in summarise_states(run)])  # in canonical order already
    return np.asarray(found)[order]


def _densities(
    ax: Axes,
    run: Run,
    order: NDArray[np.intp],
    own: NormalParameters,
    d: int,
    values: Floats,
    labels: list[str],
    name: str,
) -> Axes:
    seen = values[np.isfinite(values)]
    means, deviations = own.means[:, d], np.sqrt(covariance_matrices(own)[:, d, d])
    ax.hist(seen, bins=_BINS, density=True, color=PALE)
    x = np.linspace(seen.min(), seen.max(), 500)
    # Narrow states need points of their own, or their peaks are lost between two.
    x = np.sort(np.concatenate([x, (means + deviations * np.linspace(-4, 4, 81)[:, None]).ravel()]))
    total = np.zeros_like(x)
    for s, (share, colour) in enumerate(zip(_shares(run, order), colours(len(labels)), strict=True)):
        density = np.exp(-(((x - means[s]) / deviations[s]) ** 2) / 2) / (deviations[s] * np.sqrt(2 * np.pi))
        ax.plot(x, share * density, color=colour, linewidth=1.6, label=labels[s])
        total += share * density
    ax.plot(x, total, color=style.BLACK, linewidth=0.8, linestyle="--", label="all")
    ax.set(xlabel=name, ylabel="density", ylim=(0, None))
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    return tidy(ax)


def _ellipses(
    ax: Axes,
    run: Run,
    order: NDArray[np.intp],
    own: NormalParameters,
    chosen: list[int],
    values: Floats,
    labels: list[str],
    names: list[str],
) -> Axes:
    Ellipse = style.import_matplotlib("matplotlib.patches").Ellipse
    seen = np.flatnonzero(np.isfinite(values).all(axis=1))
    seen = seen[:: max(1, -(-len(seen) // _MOST_POINTS))]
    palette, number = colours(len(labels)), np.argsort(order)
    states = number[run.paths[0, seen]] if len(run.paths) else np.zeros(len(seen), np.intp)
    points = [palette[s] for s in states] if len(run.paths) else style.GREY
    ax.scatter(*values[seen].T, s=5, c=points, alpha=0.35, linewidth=0)
    for s, covariance in enumerate(covariance_matrices(own)):
        variances, axes = np.linalg.eigh(covariance[np.ix_(chosen, chosen)])
        angle = np.degrees(np.arctan2(axes[1, 1], axes[0, 1]))
        wide, narrow = 4 * np.sqrt(np.maximum(variances[::-1], 0))
        place = own.means[s, chosen]
        ax.add_patch(Ellipse(place, wide, narrow, angle=angle, fill=False, color=palette[s], linewidth=1.8))
        box = {"boxstyle": "round,pad=0.15", "facecolor": "white", "alpha": 0.75, "linewidth": 0}
        ax.annotate(labels[s], place, ha="center", va="center", fontsize="small", bbox=box)
    ax.autoscale_view()
    ax.set(xlabel=names[0], ylabel=names[1])
    return tidy(ax)


def transitions(source: Any, *, ax: Axes = None) -> Axes:
    """Draw the transition matrix of a hidden Markov model.

    Parameters
    ----------
    source : Run, estimator or path
        A run of a hidden Markov model, a fitted estimator, or a file.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
    """
    run, found = _chain(source)
    labels = state_labels(run, len(found))
    side = min(8.0, 2.2 + 0.3 * len(labels))
    ax = axes_for(ax, side + 0.9, side)
    matrix(ax, found, labels, labels, "probability", vmin=0, vmax=1)
    ax.set(ylabel="from", xlabel="to")
    return ax


def _chain(source: Any) -> tuple[Run, Floats]:
    """Return the run of a source and its transition matrix, with the states as they are shown."""
    run = run_from(source)
    hmm_model(run)
    order = state_places(run)
    found: Floats = run.parameters().transitions[np.ix_(order, order)]
    return run, found


def state_diagram(source: Any, *, least: float = 0.02, ax: Axes = None) -> Axes:
    """Draw the states of a hidden Markov model as circles, and their transitions as arrows.

    Parameters
    ----------
    source : Run, estimator or path
        A run of a hidden Markov model, a fitted estimator, or a file.
    least : float
        The least probability of a transition that has an arrow.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
    """
    run, found = _chain(source)
    check_number("least", least, least=0.0)
    patches = style.import_matplotlib("matplotlib.patches")
    n, labels = len(found), state_labels(run, len(found))
    ax = axes_for(ax, 4.6, 4.6)
    angles = np.pi / 2 - 2 * np.pi * np.arange(n) / n
    out = np.column_stack([np.cos(angles), np.sin(angles)])
    places = out if n > 1 else np.zeros((1, 2))
    radius = min(0.24, 0.8 * np.pi / max(n, 2) / 2)
    small = "small" if n <= 8 else "x-small"
    circles = []
    for s, colour in enumerate(colours(n)):
        circle = patches.Circle(
            places[s], radius, facecolor="white", edgecolor=colour, linewidth=2.5, zorder=3
        )
        circles.append(ax.add_patch(circle))
        name = labels[s].removeprefix("state ")
        ax.text(*places[s], _wrapped(name), ha="center", va="center", fontsize=small, zorder=5)
    text = {"ha": "center", "va": "center", "fontsize": small, "zorder": 4}
    for (s, r), share in np.ndenumerate(found):
        if share < max(least, _NEVER):
            continue
        how = {"linewidth": 0.6 + 3.0 * share, "color": style.GREY, "zorder": 1}
        if s == r:
            ax.add_patch(patches.Circle(places[s] + 1.25 * radius * out[s], 0.75 * radius, fill=False, **how))
            ax.text(*(places[s] + 2.55 * radius * out[s]), f"{share:.2f}", **text)
            continue
        arrow = patches.FancyArrowPatch(
            places[s],
            places[r],
            patchA=circles[s],
            patchB=circles[r],
            connectionstyle="arc3,rad=0.18",
            arrowstyle="-|>",
            mutation_scale=10 + 6 * share,
            **how,
        )
        ax.add_patch(arrow)
        if n > _MOST_LABELLED and share < _WORTH_A_LABEL:
            continue  # the width of the arrow tells
        # Nearer to the start, so that the labels of arrows that cross do not meet in the middle.
        along = places[r] - places[s]
        middle = (places[s] + places[r]) / 2 + 0.09 * np.array([along[1], -along[0]])
        box = {"boxstyle": "round,pad=0.1", "facecolor": "white", "linewidth": 0}
        ax.text(*(middle - 0.12 * along), f"{share:.2f}", bbox=box, **text)
    edge = (1 if n > 1 else 0) + 3.0 * radius
    ax.set(xlim=(-edge, edge), ylim=(-edge, edge), xticks=[], yticks=[])
    ax.set_aspect("equal")
    ax.spines[:].set_visible(False)
    if (found[~np.eye(n, dtype=bool)] < least).any():
        ax.set_title(f"transitions below {least:g} are left out", fontsize="small", color="dimgrey")
    return ax


def _wrapped(label: str, width: int = 9) -> str:
    from textwrap import wrap

    return "\n".join(wrap(label, width)[:3]) or label


def durations(source: Any, *, ax: Axes = None) -> Axes:
    """Draw the share of stays in each state that are longer than n: observed, and as transitions imply.

    On this scale what a Markov chain implies is a straight line. Observed stays are those of the decoded
    paths; a stay that the end of a sequence cuts counts for as long as it was seen.

    Parameters
    ----------
    source : Run, estimator or path
        A run of a hidden Markov model, a fitted estimator, or a file.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
    """
    run = run_from(source)
    found = answers.state_durations(run)
    labels = state_labels(run, len(found))
    ax = axes_for(ax, 5.2, 3.0)
    most, least = 1, 0.1
    for own, label, colour in zip(found, labels, colours(len(found)), strict=True):
        lengths, longer = own.survival()
        shown = longer > 0
        last = int(own.lengths.max()) if own.lengths.size else 1
        most, least = max(most, last), min(least, float(longer[shown].min()))
        x = np.append(lengths, last) if longer[-1] > 0 else lengths
        y = np.append(longer, longer[-1]) if longer[-1] > 0 else longer
        mean = own.implied_mean
        ax.step(
            x, np.where(y > 0, y, np.nan), where="post", color=colour, label=f"{label}: {mean:.3g} implied"
        )
        n = np.arange(last + 1)
        ax.plot(n, own.stay ** n.astype(float), color=colour, linestyle="--", linewidth=0.9)
    ax.set_yscale("log")
    ax.set(xlabel="n", ylabel="share of stays longer than n", xlim=(0, most), ylim=(least / 2, 1.1))
    ax.legend(title="mean duration", loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    ax.set_title("solid: decoded paths; dashed: implied by transitions", loc="left", fontsize="small")
    return tidy(ax)


def decoded(
    source: Any, sequence: int | str = 0, *, start: int = 0, stop: int | None = None, ax: Axes = None
) -> Axes:
    """Draw the observations of a sequence and, below them, the probability of each state.

    Dark are the states of the most probable path. Missing observations are hatched.

    Parameters
    ----------
    source : Run, estimator or path
        A run of a hidden Markov model, a fitted estimator, or a file.
    sequence : int or str
        Number or name of the sequence.
    start, stop : int
        The observations to show, from `start` to before `stop`; by default all.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
    """
    run = run_from(source)
    found = answers.decoded_sequence(run, sequence)
    n = len(found.states)
    start = check_integer("start", start, least=0, most=n - 1)
    stop = check_integer("stop", n if stop is None else stop, least=start + 1, most=n)
    part, x = slice(start, stop), np.arange(start, stop)
    n_states = found.probabilities.shape[1]
    sequences = hmm_model(run).sequences
    values = found.values[part].reshape(len(x), -1).astype(np.float64)
    values[found.missing[part]] = np.nan
    features = (
        ["symbol"] if sequences.is_symbols else [_feature_name(sequences, d) for d in range(values.shape[1])]
    )
    rows = [*features, *state_labels(run, n_states)]
    ax = axes_for(ax, 6.8, 0.9 + 0.45 * len(rows))
    for d, own in enumerate(values.T):
        known = own[np.isfinite(own)]
        low, height = (known.min(), np.ptp(known)) if known.size else (0.0, 0.0)
        base = row_base(d, len(rows))
        dots = sequences.is_symbols or len(x) <= 60
        y = base + 0.05 + 0.75 * (own - low) / (height or 1.0)
        ax.plot(x, y, "." if dots else "-", color=style.BLACK, linewidth=0.7, markersize=3)
    edges = np.append(x - 0.5, x[-1] + 0.5)
    for s, colour in enumerate(colours(n_states)):
        base = row_base(len(features) + s, len(rows))
        chance = found.probabilities[part, s]
        ax.stairs(base + 0.85 * chance, edges, baseline=base, fill=True, color=colour, alpha=0.45)
        best = np.where(found.states[part] == s, base + 0.85 * chance, base)
        ax.stairs(best, edges, baseline=base, fill=True, color=colour)
        ax.axhline(base, color=PALE, linewidth=0.8, zorder=0)
    for first, last in _stretches(found.missing[part]):
        ax.axvspan(
            edges[first], edges[last], facecolor="none", hatch="////", edgecolor=PALE, linewidth=0, zorder=-1
        )
    label_rows(ax, rows)
    ax.set_xlim(edges[0], edges[-1])
    name = f"sequence {found.sequence}" if found.name is None else figure_text(found.name)
    ax.set_xlabel(f"position in {name}" + ("; hatched: missing" if found.missing[part].any() else ""))
    return ax


def _stretches(flags: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return the first place of each stretch that is true, and the first after it."""
    steps = np.diff(np.concatenate([[0], flags.astype(np.int8), [0]]))
    return list(zip(np.flatnonzero(steps > 0).tolist(), np.flatnonzero(steps < 0).tolist(), strict=True))
