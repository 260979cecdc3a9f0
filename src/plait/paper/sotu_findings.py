"""What the runs on the State of the Union show: claims, tables and figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plait.evaluate.timeconc import bucket_lengths, quantile_edges
from plait.paper import figures
from plait.paper.findings import Claim, Figure, Table
from plait.paper.results import Row

Floats = NDArray[np.float64]

SHOWN_STEM: Final = "welfar"
"""The topic that is shown is the topic of LDA that gives this stem the highest probability."""

GAMMA: Final = 0.05
"""Share of a topic's weight in a bucket, for the buckets of all topics."""

SHOWN_GAMMA: Final = 0.1
"""The same for the topic that is shown."""

CENTRED: Final = 0.1
"""Lengths are centred around their mean if the median is no farther from it than this share of it."""

SAME: Final = 0.05
"""Distributions whose total variation distance is at most this are practically the same."""

DOMINANT: Final = 0.1
"""A topic with this share of all weight would make the others look concentrated."""

PAPER_TOPICS: Final = 500

_SMOOTHING = 9  # years of a running mean, for the eye
_LABELS: Final = {"lda": "LDA", "multipath": "mpLDA"}
_COLOURS: Final = {"lda": figures.BLUE, "multipath": figures.ORANGE}  # the paper's


def _entropies(row: Row, name: str) -> Floats:
    return np.array(row[f"{name}_entropies"], float)  # None becomes NaN


def _lengths(row: Row, name: str) -> Floats:
    return np.array(row[f"{name}_lengths"])


def _bucket_weights(row: Row, name: str) -> Floats:
    """Return the weight of each bucket's topic."""
    return np.repeat(np.array(row[f"{name}_weights"]), round(1 / GAMMA))


def _n_years(row: Row) -> int:
    return int(row["years"][1] - row["years"][0] + 1)


def _mean_length(row: Row) -> float:
    return _n_years(row) * GAMMA


def weighted_median(values: ArrayLike, weights: ArrayLike) -> float:
    """Return the smallest value such that it and smaller ones have half of the weight."""
    values, weights = np.asarray(values, float), np.asarray(weights, float)
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(reached, reached[-1] / 2.0)])


def skewness(values: ArrayLike) -> float:
    """Return the third standardised moment."""
    given = np.asarray(values, np.float64)
    deviations = given - given.mean()
    return float(np.mean(deviations**3) / np.mean(deviations**2) ** 1.5)


def _histogram(row: Row, name: str, weighted: bool) -> tuple[Floats, Floats]:
    """Return the edges of the bins and the share of buckets in each, the last bin for all longer ones."""
    mean = _mean_length(row)
    width = 1.0 if mean >= 5.0 else mean / 10.0
    edges = np.append(np.arange(0.0, 3.6 * mean, width), np.inf)
    weights = _bucket_weights(row, name) if weighted else None
    counts, _ = np.histogram(_lengths(row, name), edges, weights=weights)
    return edges, counts / counts.sum()


def _variation(first: ArrayLike, second: ArrayLike) -> float:
    """Return the total variation distance of two distributions: half the L1 distance, from 0 to 1."""
    return float(np.abs(np.asarray(first) - np.asarray(second)).sum() / 2.0)


def _sorted_shares(row: Row, name: str) -> Floats:
    """Return the topics' shares of all weight, largest first, with zeros for topics without weight."""
    weights = np.sort(np.array(row[f"{name}_weights"]))[::-1]
    return np.append(weights, np.zeros(row["topics"] - len(weights))) / weights.sum()


def _by_model(rows: Sequence[Row], measure: Callable[[Row, str], float]) -> dict[str, Floats]:
    """Return a measure of every run, by model."""
    return {name: np.array([measure(row, name) for row in rows]) for name in _LABELS}


def _below(values: Mapping[str, Floats]) -> bool:
    """Tell whether every run of mpLDA is below every run of LDA."""
    return bool(values["multipath"].max() < values["lda"].min())


def _say(values: Floats, pattern: str) -> str:
    """Return the mean of the runs, and from where to where they go."""
    mean = format(float(values.mean()), pattern)
    low, high = format(float(values.min()), pattern), format(float(values.max()), pattern)
    return mean if low == high else f"{mean} ({low} to {high})"


def _say_both(values: Mapping[str, Floats], pattern: str) -> str:
    return "; ".join(f"{label} {_say(values[name], pattern)}" for name, label in _LABELS.items())


def claims_of(rows: Sequence[Row]) -> list[Claim]:
    """Return what the paper says, and what the runs of one sampler say to it."""
    return [
        _claim_of_topic(rows),
        _claim_of_typical(rows),
        _claim_of_entropies(rows),
        _claim_of_every_year(rows),
        _claim_of_time(rows),
        _claim_of_centre(rows),
        _claim_of_short(rows),
        _claim_of_weighted(rows),
        _claim_of_weights(rows),
        _claim_of_agreement(rows),
    ]


def _claim_of_topic(rows: Sequence[Row]) -> Claim:
    high, other, short = {}, {}, {}
    for name in _LABELS:
        high[name], other[name] = np.array([_high_and_other(row)[name] for row in rows]).T
        short[name] = np.array([_short_buckets(row, name) for row in rows])

    def most(condition: NDArray[np.bool_]) -> bool:
        return bool(condition.mean() > 0.5)

    return Claim(
        "A well-known topic of LDA, and the nearest topic of mpLDA: that of mpLDA has more weight in the"
        " years in which both have much, less in the others, and its short buckets are shorter.",
        "a figure, no number",
        f"mean weight in years above the mean of both, in %: {_say_both(_percent(high), '.2f')}; in other"
        f" years: {_say_both(_percent(other), '.3f')}; mean length of the shorter half of the"
        f" {SHOWN_GAMMA}-quantile buckets, in years: {_say_both(short, '.1f')}",
        {
            "more weight in the years of much weight, in most runs": most(high["multipath"] > high["lda"]),
            "less weight in other years, in most runs": most(other["multipath"] < other["lda"]),
            "shorter short buckets, in most runs": most(short["multipath"] < short["lda"]),
        },
        f"The topic of LDA is the one that gives most probability to the stem {SHOWN_STEM}. One topic a run"
        " is little; the next claim is about all of them.",
    )


def _percent(values: Mapping[str, Floats]) -> dict[str, Floats]:
    return {name: 100.0 * value for name, value in values.items()}


def _high_and_other(row: Row) -> dict[str, tuple[float, float]]:
    """Return mean weights of the shown topics in the years in which both exceed their means, and others."""
    held = ~np.isnan(_entropies(row, "lda"))  # years with documents
    topics = {name: np.array(row[f"{name}_topic"])[held] for name in _LABELS}
    high = np.logical_and.reduce([topic > topic.mean() for topic in topics.values()])
    return {name: (_mean_where(topic, high), _mean_where(topic, ~high)) for name, topic in topics.items()}


def _mean_where(values: Floats, where: NDArray[np.bool_]) -> float:
    return float(values[where].mean()) if where.any() else float("nan")


def _short_buckets(row: Row, name: str) -> float:
    lengths = np.sort(bucket_lengths(np.array(row[f"{name}_topic"])[:, None], SHOWN_GAMMA)[0])
    return float(lengths[: len(lengths) // 2].mean())


def _claim_of_typical(rows: Sequence[Row]) -> Claim:
    forth = np.array([row["concentrated"] for row in rows])
    back = np.array([row["concentrated_back"] for row in rows])
    return Claim(
        "That is typical for most topics.",
        "no number",
        f"of LDA's topics, {_say(forth, '.0%')} have a nearest topic of mpLDA that is spread over fewer"
        f" years; of mpLDA's, {_say(back, '.0%')} have one of LDA that is spread over more",
        {
            "for more than half of LDA's topics, in every run": bool(forth.min() > 0.5),
            "for more than half of mpLDA's topics, in every run": bool(back.min() > 0.5),
        },
        "A topic is spread over exp(entropy of its weights over the years) years.",
    )


def _claim_of_entropies(rows: Sequence[Row]) -> Claim:
    means = _mean_entropies(rows)
    return Claim(
        "The years of mpLDA are made of fewer topics: the entropy of a year's topics is lower.",
        "a figure, no number",
        f"mean entropy in nats: {_say_both(means, '.3f')}; mpLDA - LDA: {_say(_gap(means), '+.3f')}",
        {"every run of mpLDA has a lower mean than every run of LDA": _below(means)},
    )


def _mean_entropies(rows: Sequence[Row]) -> dict[str, Floats]:
    return _by_model(rows, lambda row, name: float(np.nanmean(_entropies(row, name))))


def _gap(values: Mapping[str, Floats]) -> Floats:
    return values["multipath"] - values["lda"]


def _claim_of_time(rows: Sequence[Row]) -> Claim:
    """Compare with the years dealt out at random: documents of fewer topics make years of fewer topics."""
    gaps = _gap(_mean_entropies(rows))
    random = _gap(_by_model(rows, lambda row, name: float(row[f"{name}_shuffled_entropy"])))
    timed, back = (np.array([row[key] for row in rows]) for key in ("timed", "timed_back"))
    return Claim(
        "mpLDA redistributes topics in a more time-concentrated fashion: the difference is one of time.",
        "no number",
        f"difference of the entropies {_say(gaps, '+.3f')}, with the years dealt out to the documents at"
        f" random {_say(random, '+.3f')}; of LDA's topics, {_say(timed, '.0%')} have a nearest topic of mpLDA"
        " whose spread is a smaller share of what it would be with the years at random; of mpLDA's,"
        f" {_say(back, '.0%')} have one of LDA for which it is a larger share",
        {
            "mpLDA's entropy is lower, and by more than with the years at random, in every run": bool(
                (gaps < np.minimum(random, 0.0)).all()
            ),
            "more than half of LDA's topics, in every run": bool(timed.min() > 0.5),
            "more than half of mpLDA's topics, in every run": bool(back.min() > 0.5),
        },
        "With the years dealt out at random, a difference comes from documents that have fewer topics,"
        " whenever they were written.",
    )


def _claim_of_every_year(rows: Sequence[Row]) -> Claim:
    entropies = {name: np.array([_entropies(row, name) for row in rows]) for name in _LABELS}
    held = ~np.isnan(entropies["lda"][0])
    lower = (entropies["multipath"] < entropies["lda"])[:, held].mean(axis=1)
    means = {name: values[:, held].mean(axis=0) for name, values in entropies.items()}
    of_means = means["multipath"] < means["lda"]
    return Claim(
        "The entropy is lower in every year.",
        "every year",
        f"{of_means.sum()} of {len(of_means)} years, by the means of the runs; in single runs"
        f" {_say(lower, '.1%')} of the years",
        {
            "in every year, by the means of the runs": bool(of_means.all()),
            "in nine years of ten or more, in every run": bool(lower.min() >= 0.9),
        },
        f"Of the {_n_years(rows[0])} years, {len(rows[0]['empty_years'])} have no address"
        f" ({', '.join(map(str, rows[0]['empty_years']))}).",
    )


def _claim_of_centre(rows: Sequence[Row]) -> Claim:
    mean = _mean_length(rows[0])
    medians = _medians(rows)["lda"]
    random = np.array([np.median(row["lda_shuffled_lengths"]) for row in rows])
    return Claim(
        f"The lengths of LDA's {GAMMA}-quantile buckets are centred around their mean: most topics are more"
        " or less uniform over time.",
        f"mean {mean:.1f} years",
        f"mean {mean:.1f} years, median {_say(medians, '.2f')} years",
        {
            f"the median is within {CENTRED:.0%} of the mean, in every run": bool(
                (np.abs(medians - mean) <= CENTRED * mean).all()
            )
        },
        "The mean is the same for any topics. If the years are dealt out to the documents at random, the"
        f" median is {_say(random, '.2f')}: such are topics that are uniform over time.",
    )


def _medians(rows: Sequence[Row], weighted: bool = False) -> dict[str, Floats]:
    def median(row: Row, name: str) -> float:
        lengths = _lengths(row, name)
        return weighted_median(lengths, _bucket_weights(row, name)) if weighted else float(np.median(lengths))

    return _by_model(rows, median)


def _short_share(row: Row, name: str) -> float:
    return float((_lengths(row, name) < _mean_length(row) / 2.0).mean())


def _claim_of_short(rows: Sequence[Row]) -> Claim:
    medians = _medians(rows)
    shares = _by_model(rows, _short_share)
    skew = _by_model(rows, lambda row, name: skewness(_lengths(row, name)))
    random = _by_model(rows, lambda row, name: float(np.median(row[f"{name}_shuffled_lengths"])))
    return Claim(
        f"The lengths of mpLDA's {GAMMA}-quantile buckets are skewed to the left: more of them are short.",
        "a figure, no number",
        f"median in years: {_say_both(medians, '.2f')}; shorter than half the mean:"
        f" {_say_both(shares, '.1%')}",
        {
            "every run of mpLDA has a lower median than every run of LDA": _below(medians),
            "every run of mpLDA has more buckets shorter than half the mean than every run of LDA": bool(
                shares["multipath"].min() > shares["lda"].max()
            ),
        },
        "The means are the same, so the other buckets are longer. With the years dealt out at random the"
        f" medians are: {_say_both(random, '.2f')}. The skewness in the sense of the third moment is a matter"
        f" of the longest buckets: {_say_both(skew, '.2f')}.",
    )


def _claim_of_weighted(rows: Sequence[Row]) -> Claim:
    medians = _medians(rows, weighted=True)
    moved = _by_model(
        rows, lambda row, name: _variation(_histogram(row, name, True)[1], _histogram(row, name, False)[1])
    )
    return Claim(
        "Buckets weighted by the weight of their topic: the histograms remain practically unchanged.",
        "a figure, no number",
        f"weighted median in years: {_say_both(medians, '.2f')}; total variation distance of the histogram to"
        f" that without weights: {_say_both(moved, '.3f')}",
        {
            f"the histograms differ by at most {SAME} from those without weights, in every run": bool(
                max(values.max() for values in moved.values()) <= SAME
            ),
        },
    )


def _claim_of_weights(rows: Sequence[Row]) -> Claim:
    distances = np.array(
        [_variation(_sorted_shares(row, "lda"), _sorted_shares(row, "multipath")) for row in rows]
    )
    largest = _by_model(rows, lambda row, name: float(_sorted_shares(row, name)[0]))
    return Claim(
        "The weights of the topics, sorted, are practically the same for both models: no topic takes a large"
        " part of every document.",
        "a figure, no number",
        f"total variation distance {_say(distances, '.3f')}; share of the largest topic:"
        f" {_say_both(largest, '.1%')}",
        {
            f"the sorted weights differ by at most {SAME}, in every run": bool(distances.max() <= SAME),
            f"no topic of mpLDA has {DOMINANT:.0%} of the weight, in any run": bool(
                largest["multipath"].max() < DOMINANT
            ),
        },
    )


def _claim_of_agreement(rows: Sequence[Row]) -> Claim:
    unanimous = np.array([row["multipath_unanimous"] for row in rows])
    agreement = np.array([row["multipath_agreement"] for row in rows])
    return Claim(
        "Typically, all paths of mpLDA give a token the same topic.",
        "most tokens",
        f"{_say(unanimous, '.0%')} of the tokens; a token's most common topic has"
        f" {_say(agreement, '.0%')} of the paths, on average",
        {"more than half of the tokens, in every run": bool(unanimous.min() > 0.5)},
        f"The paper says so of runs that have converged; these have {rows[0]['sweeps']} sweeps.",
    )


def tables_of(rows: Sequence[Row]) -> list[Table]:
    """Return the numbers and the shown topic of every run."""
    return [_table_of_runs(rows), _table_of_topics(rows)]


def _table_of_runs(rows: Sequence[Row]) -> Table:
    heads = (
        "sampler, seed",
        "model",
        "entropy",
        "median length",
        "weighted",
        "short",
        "skewness",
        "all paths agree",
        "log P(w, p | phi)",
    )
    body = [
        (
            f"{row['sampler']}, {row['seed']}",
            _LABELS[name],
            f"{np.nanmean(_entropies(row, name)):.3f}",
            f"{np.median(_lengths(row, name)):.2f}",
            f"{weighted_median(_lengths(row, name), _bucket_weights(row, name)):.2f}",
            f"{_short_share(row, name):.1%}",
            f"{skewness(_lengths(row, name)):.2f}",
            f"{row[f'{name}_unanimous']:.1%}" if name == "multipath" else "",
            f"{row[f'{name}_fit']:.3f}",
        )
        for row in rows
        for name in _LABELS
    ]
    title = (
        f"All runs: mean entropy of a year in nats; lengths of {GAMMA}-quantile buckets in years, and the"
        " share of those shorter than half the mean; fit of the first path, a token"
    )
    return Table(title, heads, body)


def _table_of_topics(rows: Sequence[Row]) -> Table:
    body = [
        (
            f"{row['sampler']}, {row['seed']}",
            _LABELS[name],
            ", ".join(row[f"{name}_words"]),
            f"{row[f'{name}_spread']:.0f}",
            f"{row['distance']:.2f}" if name == "multipath" else "",
        )
        for row in rows
        for name in _LABELS
    ]
    heads = ("sampler, seed", "model", "words", "spread over years", "total variation distance")
    return Table("The topic that is shown, of every run", heads, body)


def differences_of(row: Row) -> list[str]:
    """Return how runs like this one differ from the paper's."""
    return [
        f"The paper's corpus has about 21000 documents and 767000 tokens, this one {row['documents']} and"
        f" {row['tokens']}: its texts, stop words and stemmer are not given.",
        *(
            [f"The paper has T = {PAPER_TOPICS} topics, here there are {row['topics']}."]
            if row["topics"] != PAPER_TOPICS
            else []
        ),
        f"The paper does not give the number of sweeps; here it is {row['sweeps']}. The last figure shows"
        " whether that is enough.",
        "The text does not say which topic the paper's first two figures show; the label of one is welfare."
        f" Here it is chosen by the stem {SHOWN_STEM}.",
        "Total variation is half the L1 norm here, from 0 to 1. (The paper's formula in another section is"
        " the L1 norm itself; the nearest topic is the same.)",
        f"{len(row['empty_years'])} years have no address. Topics have no weight there, but the years count"
        " on the axis, as in the paper.",
        "The paper's alternating sampler is left out: its text does not define it.",
        "Algorithm 4 prints T eta in a denominator where the derivation gives W eta, as used here.",
        "That years dealt out at random show what would be there without time is plait's addition.",
    ]


# ---------------------------------------------------------------------------------------------------------
# Figures
# ---------------------------------------------------------------------------------------------------------


def figures_of(rows: Sequence[Row], folder: Path) -> list[Figure]:
    """Draw the paper's figures of the runs of one sampler; a topic is shown of the first."""
    return [
        _draw_topic(rows[0], folder),
        _draw_buckets(rows[0], folder),
        _draw_lengths(rows, folder),
        _draw_weights(rows, folder),
        _draw_course(rows, folder),
    ]


def _draw_topic(row: Row, folder: Path) -> Figure:
    """Draw the weights over the years of the topic of LDA and of the nearest one of mpLDA."""
    figure, axes = figures.new_figure(height=3.4)
    axis = axes[0][0]
    for name, label in _LABELS.items():
        words = ", ".join(row[f"{name}_words"])
        years, weights = _curve(row, name)
        axis.plot(years, weights, color=_COLOURS[name], linewidth=0.7, alpha=0.6)
        smooth = _running_mean(weights)
        axis.plot(years, smooth, color=_COLOURS[name], linewidth=2.2, label=f"{label}: {words}")
    axis.set(xlabel="year", ylabel="topic weight (%)", xlim=row["years"], ylim=(0, None))
    figure.legend(loc="outside upper left", fontsize=9)
    figures.save(figure, folder, "sotu-topic")
    return Figure(
        "sotu-topic",
        "Weight over the years of a topic of LDA and of the nearest topic of mpLDA, with their nine most"
        f" probable words. Thick: mean of {_SMOOTHING} years. Total variation distance {row['distance']:.2f};"
        f" spread over {row['lda_spread']:.0f} and {row['multipath_spread']:.0f} years.",
    )


def _curve(row: Row, name: str) -> tuple[Floats, Floats]:
    """Return the years, and the weights of the shown topic in %; NaN in years without an address."""
    first, last = row["years"]
    years = np.arange(first, last + 1).astype(float)
    weights = 100.0 * np.array(row[f"{name}_topic"])
    weights[np.isnan(_entropies(row, name))] = np.nan
    return years, weights


def _running_mean(values: Floats) -> Floats:
    """Return the mean of the years around each; fewer at the ends, and none without documents."""
    around = np.ones(_SMOOTHING)
    known = ~np.isnan(values)
    half = _SMOOTHING // 2
    sums, counts = (np.convolve(x, around)[half : half + len(values)] for x in (np.nan_to_num(values), known))
    means: Floats = sums / np.maximum(counts, 1)
    return means


def _draw_buckets(row: Row, folder: Path) -> Figure:
    """Draw the buckets of the same two topics."""
    figure, axes = figures.new_figure(1, 2, 4.2, sharex=True, sharey=True)
    first, last = row["years"]
    top = 105.0 * max(max(row[f"{name}_topic"]) for name in _LABELS)
    for axis, (name, label) in zip(axes[:, 0], _LABELS.items(), strict=True):
        weights = np.array(row[f"{name}_topic"])
        edges = first + quantile_edges(weights[:, None], SHOWN_GAMMA)[0]
        years = np.arange(first, last + 2)
        for k in range(len(edges) - 1):
            axis.axvspan(
                edges[k], edges[k + 1], color=figures.GREY, alpha=0.3 if k % 2 else 0.08, linewidth=0
            )
        axis.stairs(100.0 * weights, years, color=_COLOURS[name], fill=True, alpha=0.85)
        lengths = np.sort(np.diff(edges))
        half = len(lengths) // 2
        axis.set_title(
            f"{label}: the {half} shortest buckets last {lengths[:half].mean():.1f} years on average",
            loc="left",
        )
        axis.set(ylabel="topic weight (%)", xlim=(first, last + 1), ylim=(0, top))
    axes[-1, 0].set_xlabel("year")
    figures.save(figure, folder, "sotu-buckets")
    return Figure(
        "sotu-buckets",
        f"The {SHOWN_GAMMA}-quantile buckets of the same topics, light and dark in turn: each holds"
        f" {SHOWN_GAMMA:.0%} of the topic's weight.",
    )


def _draw_lengths(rows: Sequence[Row], folder: Path) -> Figure:
    """Draw the histograms of the lengths of all buckets, and the entropies of the years."""
    figure, (panels,) = figures.new_figure(2, 1, 3.4)
    longer = _draw_histograms(panels[0], rows, weighted=False)
    first, last = rows[0]["years"]
    for name in _LABELS:
        entropies = np.array([_entropies(row, name) for row in rows])
        years = np.arange(first, last + 1)
        panels[1].fill_between(
            years, entropies.min(axis=0), entropies.max(axis=0), color=_COLOURS[name], alpha=0.3, linewidth=0
        )
        panels[1].plot(years, entropies.mean(axis=0), color=_COLOURS[name], linewidth=0.9)
    panels[1].set(xlabel="year", ylabel="entropy of a year (nats)", xlim=(first, last))
    figures.legend_above(figure, panels[0], tuple(_LABELS.values()))
    figures.save(figure, folder, "sotu-lengths")
    return Figure(
        "sotu-lengths",
        f"Left: lengths of the {GAMMA}-quantile buckets of all topics ({longer}). Dotted: LDA with the years"
        " dealt out to the documents at random, which is what topics without any concentration would give."
        " Right: entropies of the years, mean and range of the runs.",
    )


def _draw_weights(rows: Sequence[Row], folder: Path) -> Figure:
    """Draw the histograms weighted by the topics' weights, and the sorted weights."""
    figure, (panels,) = figures.new_figure(2, 1, 3.4)
    longer = _draw_histograms(panels[0], rows, weighted=True)
    for name in _LABELS:
        shares = np.array([_sorted_shares(row, name) for row in rows]).mean(axis=0)
        rank = np.arange(1, len(shares) + 1)
        panels[1].plot(rank[shares > 0], 100.0 * shares[shares > 0], color=_COLOURS[name], linewidth=1.5)
    panels[1].set(xlabel="rank of the topic", ylabel="share of all weight (%)", yscale="log")
    low, high = panels[1].get_ylim()
    ticks = [tick for power in range(-6, 3) for tick in (10.0**power, 2 * 10.0**power, 5 * 10.0**power)]
    panels[1].set_yticks([tick for tick in ticks if low <= tick <= high])
    panels[1].yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    panels[1].minorticks_off()
    figures.legend_above(figure, panels[0], tuple(_LABELS.values()))
    figures.save(figure, folder, "sotu-weights")
    return Figure(
        "sotu-weights",
        f"Left: lengths of the {GAMMA}-quantile buckets, weighted by the weight of their topic ({longer})."
        " Right: the topics' shares of all weight, sorted; means of the runs.",
    )


def _draw_histograms(axis: Any, rows: Sequence[Row], *, weighted: bool) -> str:
    """Draw the mean histogram of each model, and say how many buckets are longer than those drawn."""
    if not weighted:
        shuffled = [{**row, "lda_lengths": row["lda_shuffled_lengths"]} for row in rows]
        edges, shares = _mean_histogram(shuffled, "lda", weighted=False)
        axis.stairs(100.0 * shares, edges, color=figures.BLACK, linestyle=":", label="LDA, years at random")
    longer = []
    for name, label in _LABELS.items():
        edges, shares = _mean_histogram(rows, name, weighted=weighted)
        axis.stairs(100.0 * shares, edges, color=_COLOURS[name], fill=True, alpha=0.25)
        axis.stairs(100.0 * shares, edges, color=_COLOURS[name], linewidth=1.5, label=label)
        longer.append(f"{label} {1.0 - shares.sum():.1%}")
    mean = _mean_length(rows[0])
    axis.axvline(mean, color=figures.BLACK, linestyle="--", linewidth=1.0, label=f"mean {mean:.1f}")
    axis.set(
        xlabel="length of a bucket (years)",
        ylabel=f"share of the {'weight' if weighted else 'buckets'} (%)",
        xlim=(0, edges[-1]),
        ylim=(0, None),
    )
    return f"longer than {edges[-1]:.3g} years: {', '.join(longer)}"


def _mean_histogram(rows: Sequence[Row], name: str, *, weighted: bool) -> tuple[Floats, Floats]:
    """Return the edges of the bins and the mean share of each, without the last one, which has no end."""
    histograms = [_histogram(row, name, weighted) for row in rows]
    return histograms[0][0][:-1], np.mean([shares for _, shares in histograms], axis=0)[:-1]


def _draw_course(rows: Sequence[Row], folder: Path) -> Figure:
    """Draw the mean entropy of the years along the runs."""
    figure, axes = figures.new_figure(height=2.8)
    axis = axes[0][0]
    for name, label in _LABELS.items():
        for k, row in enumerate(rows):
            sweeps, values = zip(*row[f"{name}_course"], strict=True)
            axis.plot(sweeps, values, color=_COLOURS[name], linewidth=1.0, label=None if k else label)
    axis.set(xlabel="sweep", ylabel="mean entropy (nats)", xlim=(0, rows[0]["sweeps"]))
    figures.legend_above(figure, axis, tuple(_LABELS.values()))
    figures.save(figure, folder, "sotu-course")
    return Figure("sotu-course", "Mean entropy of the years along each run.")
