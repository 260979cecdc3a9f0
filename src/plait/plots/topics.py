"""Pictures of topics: their words, how similar they are, and the documents that have them."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from plait import answers
from plait.answers.choosing import document_number, topic_number
from plait.arrays import Floats
from plait.checks import check_integer
from plait.errors import PlaitError
from plait.evaluate import figure_style as style
from plait.evaluate.figure_style import figure_text
from plait.inference.fitted import doc_topic, lda_model
from plait.plots.drawing import PALE, Axes, axes_for, matrix, run_from, tidy, topic_labels

_MOST_NUMBERS: Final = 50  # of topics on a map


def topic_words(
    source: Any, topic: int | str, n: int = 12, *, relevance: float = 1.0, ax: Axes = None
) -> Axes:
    """Draw the most relevant words of a topic: their tokens in the topic, before those in the corpus.

    Parameters
    ----------
    source : Run, estimator or path
        A run of LDA, a fitted estimator, or a file.
    topic : int or str
        Number or name of the topic.
    n : int
        Number of words.
    relevance : float
        From 1, the most probable words, to 0, those that are rarest elsewhere; see
        `plait.answers.topic_words`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
    """
    run = run_from(source)
    words = answers.topic_words(run, topic, n, relevance=relevance)
    label = topic_labels(run, n_words=3, most=40)[topic_number(run, topic)]
    ax = axes_for(ax, 4.8, 0.9 + 0.24 * len(words))
    rows = range(len(words))
    ax.barh(rows, [word.corpus_tokens for word in words], color=PALE, label="in the corpus")
    ax.barh(rows, [word.tokens for word in words], color=style.BLUE, height=0.5, label="in the topic")
    ax.set_yticks(rows, [figure_text(word.word, 24) for word in words])
    ax.set_ylim(len(words) - 0.5, -0.5)
    ax.set_xlabel("tokens")
    ax.set_title(label, loc="left", fontsize="medium")
    # Below the axes, since any word can have the longest bar.
    ax.legend(loc="upper right", bbox_to_anchor=(1, 0), borderaxespad=3, ncols=2, frameon=False)
    tidy(ax, left=False)
    return ax


def topic_map(source: Any, *, labels: int = 12, ax: Axes = None) -> Axes:
    """Draw a map of the topics: similar words, near each other. Areas are shares of the tokens.

    Parameters
    ----------
    source : Run, estimator or path
        A run of LDA, a fitted estimator, or a file.
    labels : int
        How many of the largest topics have a label, where there is room for it. The others have their number,
        unless there are more than 50.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
    """
    run = run_from(source)
    check_integer("labels", labels, least=0)
    found, names = answers.topic_map(run), topic_labels(run)
    ax = axes_for(ax, 5.2, 4.4)
    areas = 2500 * found.shares / max(1.0, 4 * float(found.shares.max()))
    ax.scatter(*found.places.T, s=areas, color=style.SKY, alpha=0.6, edgecolor=style.BLUE, linewidth=0.8)
    ax.margins(0.15)
    ax.set_aspect("equal", adjustable="datalim")
    ax.set(xticks=[], yticks=[])
    order = np.argsort(-found.shares, kind="stable").tolist()
    written = [(t, names[t]) for t in order[:labels]]
    if len(names) <= _MOST_NUMBERS:
        written += [(t, str(t)) for t in order[labels:]]
    _place_labels(ax, found.places, np.sqrt(areas) / 2, written)
    ax.set_title(
        f"{len(names)} topics; two dimensions show {found.explained:.0%} of their variance",
        loc="left",
        fontsize="medium",
    )
    ax.spines[:].set_color(PALE)
    return ax


_Box = tuple[float, float, float, float]  # left, bottom, right and top, in points


def _place_labels(ax: Axes, places: Floats, radii: Floats, labels: list[tuple[int, str]]) -> None:
    """Write labels at circles, the first first, and leave out those that would cover another label.

    A label covers another circle only if there is no other place for it.
    """
    size = 7.0  # points
    ax.figure.draw_without_rendering()  # so that the axes have their place and limits
    points = ax.transData.transform(places) * 72 / ax.figure.dpi
    left, bottom, right, top = np.array(ax.get_window_extent().extents) * 72 / ax.figure.dpi
    circles = [(x - r, y - r, x + r, y + r) for (x, y), r in zip(points, radii, strict=True)]
    written: list[_Box] = []
    for t, label in labels:
        width, (x, y) = 0.58 * size * len(label), points[t]
        aside, above = radii[t] + width / 2 + 2, radii[t] + size / 2 + 1
        around = [(0, above), (0, -above), (aside, 0), (-aside, 0)]
        offsets = [(0, 0), *around] if width < 2 * radii[t] else [*around, (0, 0)]
        boxes = [
            (x + dx - width / 2, y + dy - size / 2, x + dx + width / 2, y + dy + size / 2)
            for dx, dy in offsets
        ]
        free = [
            k
            for k, box in enumerate(boxes)
            if box[0] > left and box[1] > bottom and box[2] < right and box[3] < top
            if not any(_overlap(box, other) for other in written)
        ]
        others = [circle for k, circle in enumerate(circles) if k != t]
        best = [k for k in free if not any(_overlap(boxes[k], circle) for circle in others)]
        if free:
            k = (best or free)[0]
            written.append(boxes[k])
            how = {"ha": "center", "va": "center", "fontsize": size, "in_layout": False}
            ax.annotate(label, places[t], offsets[k], textcoords="offset points", **how)


def _overlap(first: _Box, second: _Box) -> bool:
    return first[0] < second[2] and second[0] < first[2] and first[1] < second[3] and second[1] < first[3]


def similarity(source: Any, *, ax: Axes = None) -> Axes:
    """Draw the similarity of every two topics as a matrix, with similar topics next to each other.

    Parameters
    ----------
    source : Run, estimator or path
        A run of LDA, a fitted estimator, or a file.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
    """
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    run = run_from(source)
    found, names = answers.topic_similarities(run), topic_labels(run)
    order = leaves_list(linkage(squareform(1 - found, checks=False), "average", optimal_ordering=True))
    side = min(8.0, 2.4 + 0.2 * len(names))
    ax = axes_for(ax, side + 0.8, side)
    off = found[order][:, order].copy()
    np.fill_diagonal(off, np.nan)  # 1, which would take the colours from all others
    return matrix(
        ax, off, [names[t] for t in order], [str(t) for t in order], "similarity (1 - Hellinger distance)"
    )


def document_topics(source: Any, document: int | str, n: int = 8, *, ax: Axes = None) -> Axes:
    """Draw the largest topics of a document that the model was fitted to.

    Parameters
    ----------
    source : Run, estimator or path
        A run of LDA, a fitted estimator, or a file.
    document : int or str
        Number or name of the document.
    n : int
        Number of topics; the rest is one bar.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
    """
    run = run_from(source)
    check_integer("n", n, least=1)
    corpus = lda_model(run).corpus
    d = document_number(corpus, document)
    if not corpus.lengths[d]:
        raise PlaitError(f"document {d} has no words that the model knows: choose another one")
    shares, names = doc_topic(run)[d], topic_labels(run)
    order = np.argsort(-shares, kind="stable")[:n].tolist()
    bars = [(names[t], shares[t], style.BLUE) for t in order]
    if len(shares) > len(order):
        bars.append((f"{len(shares) - len(order)} others", 1 - shares[order].sum(), PALE))
    ax = axes_for(ax, 4.8, 0.9 + 0.24 * len(bars))
    rows = range(len(bars))
    ax.barh(rows, [100 * share for _, share, _ in bars], color=[colour for *_, colour in bars])
    ax.set_yticks(rows, [label for label, *_ in bars])
    ax.set_ylim(len(bars) - 0.5, -0.5)
    ax.set_xlabel("share of the document (%)")
    name = f"document {d}" if corpus.names is None else figure_text(corpus.names[d])
    ax.set_title(f"{name}, {corpus.lengths[d]} tokens", loc="left", fontsize="medium")
    tidy(ax, left=False)
    return ax


def compare_topics(first: Any, second: Any, n: int = 16, *, ax: Axes = None) -> Axes:
    """Draw the topics of two models, matched one to one, by their similarity.

    A topic that is left over, since the other model has fewer, has a hollow bar: its similarity to the topic
    of the other model that is most similar to it.

    Parameters
    ----------
    first, second : Run, estimator or path
        Runs of LDA, fitted estimators, or files.
    n : int
        Number of rows; if there are more pairs, half of the rows are the most similar ones, and half the
        least similar ones.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib.axes.Axes
    """
    runs = run_from(first), run_from(second)
    check_integer("n", n, least=2)
    found = answers.match_topics(*runs)
    left, right = (topic_labels(run, n_words=3) for run in runs)
    rows = [
        (left[a], right[b], value, True)
        for a, b, value in zip(found.first, found.second, found.matched, strict=True)
    ]
    rows += [(left[t], "only in the first", found.similarities[t].max(), False) for t in found.only_first]
    rows += [
        ("only in the second", right[t], found.similarities[:, t].max(), False) for t in found.only_second
    ]
    n_left_out = max(0, len(rows) - n)
    if n_left_out:
        rows = [*rows[: n // 2], *rows[len(rows) - (n - n // 2) :]]
    ax = axes_for(ax, 7.0, 0.9 + 0.24 * len(rows))
    y = np.arange(len(rows))
    if n_left_out:
        y[n // 2 :] += 1
        ax.text(0.5, n // 2, f"{n_left_out} more in between", ha="center", va="center", fontsize="small")
    values = [value for *_, value, _ in rows]
    faces = [style.BLUE if is_pair else "white" for *_, is_pair in rows]
    ax.barh(y, values, color=faces, edgecolor=style.BLUE, height=0.7)
    ax.set_yticks(y, [label for label, *_ in rows])
    ax.set(xlim=(0, 1), ylim=(y[-1] + 0.5, -0.5), xlabel="similarity (1 - Hellinger distance)")
    other = ax.secondary_yaxis("right")
    other.set_yticks(y, [label for _, label, *_ in rows])
    other.tick_params(length=0)
    other.spines[:].set_visible(False)
    tidy(ax, left=False)
    return ax
