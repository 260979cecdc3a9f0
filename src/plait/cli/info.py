"""The command that says what a file holds."""
# ruff: noqa: D301 - click takes a backspace character as "do not wrap this paragraph"

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from plait.cli.common import json_option, model_argument, verdict_text
from plait.cli.output import print_json, print_lines


@click.command(short_help="Say what a model is, and how its fit went.")
@model_argument
@json_option
def info(model: Path, as_json: bool) -> None:
    """Say what a file holds: model, data, settings, priors, likelihoods, and whether the fit has converged.

    It works for models of any kind.

    \b
    Examples:
      plait info model.plait
      plait info model.plait --json
    """
    from plait.answers import describe
    from plait.answers.wording import data_in_words, model_in_words, progress_in_words, settings_in_words
    from plait.run import load

    run = load(model)
    about: dict[str, Any] = {"file": str(model), "bytes": model.stat().st_size} | describe(run)
    if as_json:
        print_json(about)
        return
    rows = [("file", f"{about['file']}, {_size(about['bytes'])}, written by plait {about['version']}")]
    rows += [("model", model_in_words(about)), ("data", data_in_words(about["data"])), *_text(about["data"])]
    rows += [
        ("settings", settings_in_words(about["settings"])),
        ("progress", progress_in_words(about["progress"])),
    ]
    rows += _priors(about["model"])
    rows += [("log-likelihood", f"of {own.pop('of')}: {_numbers(own)}") for own in about["likelihoods"]]
    rows.append(("verdict", verdict_text(run.best, model)))
    width = max(len(name) for name, _ in rows)
    print_lines(*(f"{name.ljust(width)}  {text}" for name, text in rows))


def _size(n_bytes: int) -> str:
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if n_bytes >= size:
            return f"{n_bytes / size:.1f} {unit}"
    return f"{n_bytes} bytes"


def _text(data: dict[str, Any]) -> list[tuple[str, str]]:
    """Return how text became words: the settings of the recipe, long lists cut off."""
    if not data.get("recipe"):
        return []
    parts = []
    for name, value in data["recipe"].items():
        if isinstance(value, list):
            value = f"{len(value)} of them" if value else "none"
        elif isinstance(value, bool) or value is None:
            value = {True: "yes", False: "no", None: "none"}[value]
        parts.append(f"{name.replace('_', ' ')} {value}")
    return [("text", ", ".join(parts))]


def _priors(model: dict[str, Any]) -> list[tuple[str, str]]:
    if "priors" not in model:
        return []
    own = model["priors"]
    alpha, learnt = own["alpha"], own["learnt"]
    texts = {
        "alpha": f"{alpha['least']:.4g} to {alpha['most']:.4g} per topic, {alpha['sum']:.4g} in all",
        "eta": f"{own['eta']['mean']:.4g} per word",
    }
    return [(name, f"{text}, {'learnt' if name in learnt else 'given'}") for name, text in texts.items()]


def _numbers(likelihood: dict[str, Any]) -> str:
    (total, *per) = likelihood.items()
    parts = [f"{value:.4f} {name.replace('_', ' ')}" for name, value in per]
    return f"{', '.join(parts)} ({total[1]:.2f} in all)"
