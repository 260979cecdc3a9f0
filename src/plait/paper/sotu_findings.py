"""Findings on the State of the Union addresses: claims, tables, and differences from the paper."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plait.evaluate.timeconc import bucket_lengths
from plait.paper.findings import Claim, Table
from plait.paper.results import Row
from plait.paper.sotu_rows import (
    EXAMPLE_GAMMA,
    EXAMPLE_STEM,
    GAMMA,
    LABELS,
    Floats,
    bucket_weights_of,
    entropies_of,
    histogram_of,
    lengths_of,
    mean_length_of,
    n_years_of,
    sorted_shares_of,
)

CENTRED: Final = 0.1
"""Lengths count as centred on their mean if the median differs from it by at most this share."""

SAME: Final = 0.05
"""Distributions within this total variation distance count as practically the same."""

DOMINANT: Final = 0.1
"""A topic with this share of all weight would make the others look concentrated."""

PAPER_TOPICS: Final = 500
"""Number of topics in the paper."""


def weighted_median(values: ArrayLike, weights: ArrayLike) -> float:
    """Return the smallest value such that the values up to it have half of the weight."""
    values, weights = np.asarray(values, float), np.asarray(weights, float)
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(reached, reached[-1] / 2.0)])


def skewness(values: ArrayLike) -> float:
    """Return the third standardised moment."""
    given = np.asarray(values, np.float64)
    deviations = given - given.mean()
    return float(np.mean(deviations**3) / np.mean(deviations**2) ** 1.5)


def _variation(first: ArrayLike, second: ArrayLike) -> float:
    """Return the total variation distance of two distributions: half the L1 distance, from 0 to 1."""
    return float(np.abs(np.asarray(first) - np.asarray(second)).sum() / 2.0)


def _by_model(rows: Sequence[Row], measure: Callable[[Row, str], float]) -> dict[str, Floats]:
    """Return a measure of every run, by model."""
    return {name: np.array([measure(row, name) for row in rows]) for name in LABELS}


def _below(values: Mapping[str, Floats]) -> bool:
    """Return whether every run of mpLDA is below every run of LDA."""
    return bool(values["multipath"].max() < values["lda"].min())


def _describe(values: Floats, pattern: str) -> str:
    """Return the mean of the runs and, in brackets, their range."""
    mean = format(float(values.mean()), pattern)
    low, high = format(float(values.min()), pattern), format(float(values.max()), pattern)
    return mean if low == high else f"{mean} ({low} to {high})"


def _describe_both(values: Mapping[str, Floats], pattern: str) -> str:
    return "; ".join(f"{label} {_describe(values[name], pattern)}" for name, label in LABELS.items())


def claims_of(rows: Sequence[Row]) -> list[Claim]:
    """Return the paper's claims, checked against the runs of one sampler."""
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
    for name in LABELS:
        high[name], other[name] = np.array([_high_and_other(row)[name] for row in rows]).T
        short[name] = np.array([_short_buckets(row, name) for row in rows])

    def most(condition: NDArray[np.bool_]) -> bool:
        return bool(condition.mean() > 0.5)

    return Claim(
        "A well-known topic of LDA and the nearest topic of mpLDA: the latter has more weight in the years in"
        " which both have a high weight and less in the others, and its short buckets are shorter.",
        "a figure, no number",
        "mean weight in % in years in which both topics are above their means:"
        f" {_describe_both(_percent(high), '.2f')}; in other years: {_describe_both(_percent(other), '.3f')};"
        f" mean length in years of the shorter half of the {EXAMPLE_GAMMA}-quantile buckets:"
        f" {_describe_both(short, '.1f')}",
        {
            "more weight in the years of high weight, in most runs": most(high["multipath"] > high["lda"]),
            "less weight in other years, in most runs": most(other["multipath"] < other["lda"]),
            "shorter short buckets, in most runs": most(short["multipath"] < short["lda"]),
        },
        f"The topic of LDA is the one that gives the stem {EXAMPLE_STEM} the highest probability. One topic"
        " per run is little evidence; the next claim covers all topics.",
    )


def _percent(values: Mapping[str, Floats]) -> dict[str, Floats]:
    return {name: 100.0 * value for name, value in values.items()}


def _high_and_other(row: Row) -> dict[str, tuple[float, float]]:
    """Return the example topics' mean weights in years in which both exceed their means, and in others."""
    has_documents = ~np.isnan(entropies_of(row, "lda"))
    topics = {name: np.array(row[f"{name}_topic"])[has_documents] for name in LABELS}
    high = np.logical_and.reduce([topic > topic.mean() for topic in topics.values()])
    return {name: (_mean_where(topic, high), _mean_where(topic, ~high)) for name, topic in topics.items()}


def _mean_where(values: Floats, where: NDArray[np.bool_]) -> float:
    return float(values[where].mean()) if where.any() else float("nan")


def _short_buckets(row: Row, name: str) -> float:
    lengths = np.sort(bucket_lengths(np.array(row[f"{name}_topic"])[:, None], EXAMPLE_GAMMA)[0])
    return float(lengths[: len(lengths) // 2].mean())


def _claim_of_typical(rows: Sequence[Row]) -> Claim:
    forth = np.array([row["concentrated"] for row in rows])
    back = np.array([row["concentrated_back"] for row in rows])
    return Claim(
        "This is typical of most topics.",
        "no number",
        f"for {_describe(forth, '.0%')} of LDA's topics, the nearest topic of mpLDA is spread over fewer"
        f" years; for {_describe(back, '.0%')} of mpLDA's topics, the nearest topic of LDA is spread over"
        " more years",
        {
            "for more than half of LDA's topics, in every run": bool(forth.min() > 0.5),
            "for more than half of mpLDA's topics, in every run": bool(back.min() > 0.5),
        },
        "The spread of a topic in years is exp(entropy of its weights over the years).",
    )


def _claim_of_entropies(rows: Sequence[Row]) -> Claim:
    means = _mean_entropies(rows)
    return Claim(
        "mpLDA explains a year with fewer topics: the entropy of a year's topics is lower.",
        "a figure, no number",
        f"mean entropy in nats: {_describe_both(means, '.3f')}; mpLDA - LDA:"
        f" {_describe(_gap(means), '+.3f')}",
        {"every run of mpLDA has a lower mean than every run of LDA": _below(means)},
    )


def _mean_entropies(rows: Sequence[Row]) -> dict[str, Floats]:
    return _by_model(rows, lambda row, name: float(np.nanmean(entropies_of(row, name))))


def _gap(values: Mapping[str, Floats]) -> Floats:
    return values["multipath"] - values["lda"]


def _claim_of_time(rows: Sequence[Row]) -> Claim:
    """Compare with shuffled years: documents with fewer topics alone make years with fewer topics."""
    gaps = _gap(_mean_entropies(rows))
    shuffled = _gap(_by_model(rows, lambda row, name: float(row[f"{name}_shuffled_entropy"])))
    timed, back = (np.array([row[key] for row in rows]) for key in ("timed", "timed_back"))
    return Claim(
        "mpLDA concentrates topics in time: the difference is a matter of time.",
        "no number",
        f"difference of the entropies {_describe(gaps, '+.3f')}, with the years shuffled among the documents"
        f" {_describe(shuffled, '+.3f')}; relative to its spread with shuffled years, the nearest topic of"
        f" mpLDA is less spread for {_describe(timed, '.0%')} of LDA's topics, and the nearest topic of LDA"
        f" is more spread for {_describe(back, '.0%')} of mpLDA's topics",
        {
            "mpLDA's entropy is lower, and by more than with shuffled years, in every run": bool(
                (gaps < np.minimum(shuffled, 0.0)).all()
            ),
            "more than half of LDA's topics, in every run": bool(timed.min() > 0.5),
            "more than half of mpLDA's topics, in every run": bool(back.min() > 0.5),
        },
        "A difference that remains with shuffled years comes from documents that have fewer topics, whenever"
        " they were written.",
    )


def _claim_of_every_year(rows: Sequence[Row]) -> Claim:
    entropies = {name: np.array([entropies_of(row, name) for row in rows]) for name in LABELS}
    has_documents = ~np.isnan(entropies["lda"][0])
    lower = (entropies["multipath"] < entropies["lda"])[:, has_documents].mean(axis=1)
    means = {name: values[:, has_documents].mean(axis=0) for name, values in entropies.items()}
    of_means = means["multipath"] < means["lda"]
    return Claim(
        "The entropy is lower in every year.",
        "every year",
        f"{of_means.sum()} of {len(of_means)} years for the mean of the runs; {_describe(lower, '.1%')} of"
        " the years in single runs",
        {
            "in every year, for the mean of the runs": bool(of_means.all()),
            "in at least nine years of ten, in every run": bool(lower.min() >= 0.9),
        },
        f"Of the {n_years_of(rows[0])} years, {len(rows[0]['empty_years'])} have no address"
        f" ({', '.join(map(str, rows[0]['empty_years']))}).",
    )


def _claim_of_centre(rows: Sequence[Row]) -> Claim:
    mean = mean_length_of(rows[0])
    medians = _medians(rows)["lda"]
    shuffled = np.array([np.median(row["lda_shuffled_lengths"]) for row in rows])
    return Claim(
        f"The lengths of LDA's {GAMMA}-quantile buckets are centred on their mean: most topics are more or"
        " less uniform over time.",
        f"mean {mean:.1f} years",
        f"mean {mean:.1f} years, median {_describe(medians, '.2f')} years",
        {
            f"the median is within {CENTRED:.0%} of the mean, in every run": bool(
                (np.abs(medians - mean) <= CENTRED * mean).all()
            )
        },
        "The mean is the same for any topics. With the years shuffled among the documents, which makes topics"
        f" uniform over time, the median is {_describe(shuffled, '.2f')}.",
    )


def _medians(rows: Sequence[Row], weighted: bool = False) -> dict[str, Floats]:
    def median(row: Row, name: str) -> float:
        lengths = lengths_of(row, name)
        return (
            weighted_median(lengths, bucket_weights_of(row, name)) if weighted else float(np.median(lengths))
        )

    return _by_model(rows, median)


def _short_share(row: Row, name: str) -> float:
    return float((lengths_of(row, name) < mean_length_of(row) / 2.0).mean())


def _claim_of_short(rows: Sequence[Row]) -> Claim:
    medians = _medians(rows)
    shares = _by_model(rows, _short_share)
    skew = _by_model(rows, lambda row, name: skewness(lengths_of(row, name)))
    shuffled = _by_model(rows, lambda row, name: float(np.median(row[f"{name}_shuffled_lengths"])))
    return Claim(
        f"The lengths of mpLDA's {GAMMA}-quantile buckets are skewed to the left: more of them are short.",
        "a figure, no number",
        f"median in years: {_describe_both(medians, '.2f')}; shorter than half the mean:"
        f" {_describe_both(shares, '.1%')}",
        {
            "every run of mpLDA has a lower median than every run of LDA": _below(medians),
            "every run of mpLDA has more buckets shorter than half the mean than every run of LDA": bool(
                shares["multipath"].min() > shares["lda"].max()
            ),
        },
        "The means are the same, so the other buckets are longer. Medians with shuffled years:"
        f" {_describe_both(shuffled, '.2f')}. Skewness as the third standardised moment, which depends mostly"
        f" on the longest buckets: {_describe_both(skew, '.2f')}.",
    )


def _claim_of_weighted(rows: Sequence[Row]) -> Claim:
    medians = _medians(rows, weighted=True)
    moved = _by_model(
        rows,
        lambda row, name: _variation(
            histogram_of(row, name, weighted=True)[1], histogram_of(row, name, weighted=False)[1]
        ),
    )
    return Claim(
        "If buckets are weighted by the weight of their topic, the histograms remain practically unchanged.",
        "a figure, no number",
        f"weighted median in years: {_describe_both(medians, '.2f')}; total variation distance between the"
        f" histograms with and without weights: {_describe_both(moved, '.3f')}",
        {
            f"the distance is at most {SAME}, in every run": bool(
                max(values.max() for values in moved.values()) <= SAME
            ),
        },
    )


def _claim_of_weights(rows: Sequence[Row]) -> Claim:
    distances = np.array(
        [_variation(sorted_shares_of(row, "lda"), sorted_shares_of(row, "multipath")) for row in rows]
    )
    largest = _by_model(rows, lambda row, name: float(sorted_shares_of(row, name)[0]))
    return Claim(
        "The sorted weights of the topics are practically the same for both models: no topic takes a large"
        " part of every document.",
        "a figure, no number",
        f"total variation distance {_describe(distances, '.3f')}; share of the largest topic:"
        f" {_describe_both(largest, '.1%')}",
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
        "All paths of mpLDA typically assign the same topic to a token.",
        "most tokens",
        f"{_describe(unanimous, '.0%')} of the tokens; on average, {_describe(agreement, '.0%')} of the paths"
        " agree on a token's most common topic",
        {"more than half of the tokens, in every run": bool(unanimous.min() > 0.5)},
        f"The paper says this of runs that have converged; these have {rows[0]['sweeps']} sweeps.",
    )


def tables_of(rows: Sequence[Row]) -> list[Table]:
    """Return the numbers and the example topic of every run."""
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
            LABELS[name],
            f"{np.nanmean(entropies_of(row, name)):.3f}",
            f"{np.median(lengths_of(row, name)):.2f}",
            f"{weighted_median(lengths_of(row, name), bucket_weights_of(row, name)):.2f}",
            f"{_short_share(row, name):.1%}",
            f"{skewness(lengths_of(row, name)):.2f}",
            f"{row[f'{name}_unanimous']:.1%}" if name == "multipath" else "",
            f"{row[f'{name}_fit']:.3f}",
        )
        for row in rows
        for name in LABELS
    ]
    title = (
        f"All runs: mean entropy of a year in nats; lengths of {GAMMA}-quantile buckets in years, and the"
        " share of those shorter than half the mean; log-likelihood of the first path per token"
    )
    return Table(title, heads, body)


def _table_of_topics(rows: Sequence[Row]) -> Table:
    body = [
        (
            f"{row['sampler']}, {row['seed']}",
            LABELS[name],
            ", ".join(row[f"{name}_words"]),
            f"{row[f'{name}_spread']:.0f}",
            f"{row['distance']:.2f}" if name == "multipath" else "",
        )
        for row in rows
        for name in LABELS
    ]
    heads = ("sampler, seed", "model", "words", "spread over years", "total variation distance")
    return Table("The example topic of every run", heads, body)


def differences_of(row: Row) -> list[str]:
    """Return the differences between runs like this one and the paper's."""
    return [
        f"The paper's corpus has about 21000 documents and 767000 tokens, this one {row['documents']} and"
        f" {row['tokens']}. The paper does not give its texts, stop words and stemmer.",
        *(
            [f"The paper has T = {PAPER_TOPICS} topics; here there are {row['topics']}."]
            if row["topics"] != PAPER_TOPICS
            else []
        ),
        f"The paper does not give the number of sweeps; here it is {row['sweeps']}. The last figure shows"
        " whether that is enough.",
        "The paper does not say which topic its first two figures show; the label of one is welfare. Here the"
        f" topic is chosen by the stem {EXAMPLE_STEM}.",
        "Total variation is half the L1 norm here, from 0 to 1. (A formula in another section of the paper is"
        " the L1 norm itself; the nearest topic is the same.)",
        f"{len(row['empty_years'])} years have no address. Topics have no weight there, but the years count"
        " on the axis, as in the paper.",
        "The paper's alternating sampler is left out, because the text does not define it.",
        "Algorithm 4 prints T eta in a denominator where the derivation gives W eta, which plait uses.",
        "The comparison with shuffled years is plait's addition.",
    ]
