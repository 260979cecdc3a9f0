"""The command that judges topic models."""
# ruff: noqa: D301 - click takes a backspace character as "do not wrap this paragraph"

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from plait.cli.common import jobs_option, json_option, load_run, seed_option
from plait.cli.output import print_columns, print_json, print_lines
from plait.cli.reading import document_options, read_for_model
from plait.display import say
from plait.errors import PlaitError

if TYPE_CHECKING:
    from plait.data.corpus import Corpus
    from plait.evaluate import Coherence, HeldOut, Stability, TopicScores
    from plait.evaluate.sources import TopicSource

_METHODS: dict[str, tuple[str, ...]] = {
    "completion": ("completion",),
    "left-to-right": ("left-to-right",),
    "both": ("completion", "left-to-right"),
}


class _Judged(NamedTuple):
    """Everything that was measured of one model."""

    path: Path
    source: TopicSource
    held_out: dict[str, HeldOut]
    coherence: dict[str, Coherence]
    diversity: TopicScores
    exclusivity: TopicScores


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="MODEL... [TEST]", type=click.Path(path_type=Path))
@click.option(
    "--method",
    type=click.Choice(list(_METHODS)),
    default="completion",
    show_default=True,
    help="How TEST is scored: half of each document given the other half, or all of it.",
)
@click.option("--particles", type=int, default=20, show_default=True, help="Particles of left-to-right.")
@click.option(
    "--measure",
    "measures",
    type=click.Choice(["npmi", "u_mass", "c_uci", "c_npmi", "c_v"]),
    multiple=True,
    default=["npmi"],
    show_default=True,
    help="Measure of coherence; may be repeated.",
)
@click.option(
    "--coherence-on",
    type=click.Choice(["fitted", "test"]),
    default="fitted",
    show_default=True,
    help="Count words in the documents that a model was fitted to, or in TEST.",
)
@click.option("--top", type=int, default=10, show_default=True, help="Top words per topic.")
@click.option("--window", type=int, help="Tokens in a window of coherence.  [default: by the measure]")
@click.option("--exact-windows", is_flag=True, help="Count repeated words in windows as gensim does not.")
@seed_option
@jobs_option
@document_options
@json_option
def evaluate(
    files: tuple[Path, ...],
    method: str,
    particles: int,
    measures: tuple[str, ...],
    coherence_on: str,
    top: int,
    window: int | None,
    exact_windows: bool,
    seed: int,
    jobs: int | None,
    as_json: bool,
    reading: dict[str, Any],
) -> None:
    """Judge topic models: held-out likelihood, coherence, diversity, exclusivity and stability.

    The last file is TEST, documents that the models were not fitted to, unless it is a model, too. Its text
    is processed as when the model was fitted. Without TEST there is no held-out likelihood. Several models
    get a column each; if they have the same words and number of topics, as fits with different seeds have,
    their stability follows. docs/evaluating.md explains the measures.

    \b
    Examples:
      plait evaluate model.plait test.csv
      plait evaluate model.plait test.csv --method both --measure npmi --measure c_v
      plait evaluate seed1.plait seed2.plait seed3.plait --json
    """
    from plait import evaluate as library
    from plait.evaluate.sources import resolve
    from plait.inference.fitted import lda_model

    models, test = _models_and_test(files)
    if test is None and coherence_on == "test":
        raise PlaitError("--coherence-on test needs TEST: give a file of documents after the models")
    judged: list[_Judged] = []
    documents: Corpus | None = None
    for path in models:
        run = load_run(path, "lda", "`plait evaluate` judges topic models")
        source = resolve(run, n_jobs=jobs)
        fitted = source.corpus
        assert fitted is not None
        if coherence_on == "fitted":
            lda_model(run)  # which has documents to count words in
        if test is not None and not (judged and _reads_alike(judged[-1].source.corpus, fitted)):
            documents = read_for_model(test, fitted, reading)
        scores = {}
        if documents is not None:
            for name in _METHODS[method]:
                scores[name] = library.held_out(
                    source, documents, method=name, n_particles=particles, seed=seed, n_jobs=jobs
                )
        counted_in = documents if coherence_on == "test" and documents is not None else fitted
        coherences = {
            measure: library.coherence(
                source,
                counted_in,
                measure=measure,
                top=top,
                window=None if measure == "u_mass" else window,
                forgetful=not exact_windows,
                n_jobs=jobs,
            )
            for measure in dict.fromkeys(measures)
        }
        judged.append(
            _Judged(
                path,
                source,
                scores,
                coherences,
                library.diversity(source, top=top),
                library.exclusivity(source, top=top),
            )
        )
    stability = None
    if len(judged) > 1 and _is_comparable(judged):
        sources = [one.source for one in judged]
        stability = library.stability(sources, top=top, seed=seed, n_jobs=jobs)
    if as_json:
        print_json(_as_json(judged, test, coherence_on, stability))
        return
    if test is None:
        say("Note: no documents to score; give a file of them after the models for the held-out likelihood")
    if len(judged) > 1 and stability is None:
        say("Note: the models differ in words or number of topics, so their topics are not compared")
    _print_measures(judged, coherence_on)
    if stability is not None:
        _print_stability(stability)


def _models_and_test(files: Sequence[Path]) -> tuple[Sequence[Path], Path | None]:
    """Return the models, and the documents if the last file holds some."""
    from plait.storage import is_model

    last = files[-1]
    if len(files) == 1 or last.suffix == ".plait" or is_model(last):
        return files, None
    return files[:-1], last


def _reads_alike(one: Corpus | None, other: Corpus) -> bool:
    """Tell whether documents are the same for two models."""
    return one is not None and one.recipe == other.recipe and one.vocabulary == other.vocabulary


def _is_comparable(judged: Sequence[_Judged]) -> bool:
    first, *others = (one.source for one in judged)
    return all(
        other.topics.shape == first.topics.shape
        and other.corpus is not None
        and first.corpus is not None
        and other.corpus.vocabulary == first.corpus.vocabulary
        for other in others
    )


# -----------------------------------------------------------------------------------------------------
# Output
# -----------------------------------------------------------------------------------------------------


def _print_measures(judged: Sequence[_Judged], coherence_on: str) -> None:
    rows = [["topics", *(str(len(one.source.topics)) for one in judged)]]
    for method in judged[0].held_out:
        results = [one.held_out[method] for one in judged]
        rows += [
            [f"held-out log-likelihood per token, {method}", *(f"{r.per_token:.4f}" for r in results)],
            ["  standard error", *(f"{r.standard_error:.4f}" for r in results)],
            ["  perplexity", *(f"{r.perplexity:.2f}" for r in results)],
        ]
        if len(judged) > 1 and all(_same_documents(results[0], r) for r in results[1:]):
            pairs = [r.difference(results[0]) for r in results[1:]]
            rows += [
                ["  above the first model", "", *(f"{value:.4f}" for value, _ in pairs)],
                ["  standard error of that", "", *(f"{error:.4f}" for _, error in pairs)],
            ]
        rows.append(["  scored tokens", *(str(r.n_tokens) for r in results)])
    for measure in judged[0].coherence:
        values = [f"{one.coherence[measure].overall:.4f}" for one in judged]
        rows.append([f"coherence, {measure}, in the {coherence_on} documents", *values])
    rows.append(["diversity", *(f"{one.diversity.overall:.4f}" for one in judged)])
    rows.append(["exclusivity", *(f"{one.exclusivity.overall:.4f}" for one in judged)])
    print_columns(["", *(str(one.path) for one in judged)], rows)


def _same_documents(one: HeldOut, other: HeldOut) -> bool:
    return one.document_tokens.tolist() == other.document_tokens.tolist()


def _print_stability(stability: Stability) -> None:
    names = {
        "cosine": "cosine of matched topics",
        "overlap": f"overlap of their {stability.top} top words",
        "found": f"found in every model (cosine above {stability.threshold:g})",
    }
    print_lines("")
    print_columns(
        [f"stability of {len(stability.certainty)} models", "models", "unrelated topics"],
        [
            [text, f"{getattr(stability.agreement, name):.4f}", f"{getattr(stability.unrelated, name):.4f}"]
            for name, text in names.items()
        ],
    )


def _as_json(
    judged: Sequence[_Judged], test: Path | None, coherence_on: str, stability: Stability | None
) -> dict[str, Any]:
    found: dict[str, Any] = {
        "test": None if test is None else str(test),
        "coherence_on": coherence_on,
        "models": [
            {
                "model": str(one.path),
                "topics": len(one.source.topics),
                "words": one.source.topics.shape[1],
                "held_out": {method: _held_out_json(result) for method, result in one.held_out.items()},
                "coherence": {
                    measure: _topics_json(result) | {"window": result.window, "unseen": result.n_unseen}
                    for measure, result in one.coherence.items()
                },
                "diversity": _topics_json(one.diversity),
                "exclusivity": _topics_json(one.exclusivity),
            }
            for one in judged
        ],
        "stability": None,
    }
    if stability is not None:
        found["stability"] = {
            **stability.agreement._asdict(),
            "unrelated": stability.unrelated._asdict(),
            "threshold": stability.threshold,
            "top": stability.top,
            "certainty": stability.certainty.tolist(),
            "matches": stability.matches.tolist(),
        }
    return found


def _held_out_json(result: HeldOut) -> dict[str, Any]:
    names = ("log_likelihood", "per_token", "standard_error", "perplexity", "n_tokens", "n_documents")
    values = {name: getattr(result, name) for name in names}
    # JSON has no infinite numbers, nor NaN.
    return {name: value if math.isfinite(value) else None for name, value in values.items()}


def _topics_json(scores: TopicScores) -> dict[str, Any]:
    return {"overall": scores.overall, "per_topic": scores.per_topic.tolist(), "top": scores.top}
