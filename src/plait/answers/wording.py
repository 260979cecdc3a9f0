"""What `describe` and the summaries of states tell, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from plait.progress import describe_seconds

_KINDS: Final = {
    "factorial-hmm": "factorial hidden Markov model",
    "hmm": "hidden Markov model",
    "lda": "topic model",
    "mixture": "mixture",
    "potts": "Potts field",
    "slim-lda": "topic model without its documents, for inference",
}

_COUNTED: Final = {
    "documents": "documents",
    "tokens": "tokens",
    "words": "distinct words",
    "sequences": "sequences",
    "observations": "observations",
    "symbols": "symbols",
    "features": "features",
    "sites": "sites",
}
_UNUSUAL: Final = {"empty_documents": "empty documents", "missing": "missing observations"}


def model_in_words(about: dict[str, Any]) -> str:
    """Return the model of a run in words: "topic model: 20 topics"."""
    own = about["model"]
    parts = [_number(own[what], what) for what in ("topics", "chains", "states") if what in own]
    parts += [f"{own['emissions']} emissions"] if "emissions" in own else []
    parts += [f"{name} {own[name]}" for name in ("covariance", "coupling", "neighbours") if name in own]
    named = f", {len(own['names'])} of them named" if own["names"] else ""
    return f"{_KINDS.get(about['kind'], about['kind'])}: {', '.join(parts)}{named}"


def data_in_words(data: dict[str, Any]) -> str:
    """Return the data of a run in words: "23 documents, 769 tokens"."""
    parts = [_number(data[name], nouns) for name, nouns in _COUNTED.items() if name in data]
    parts += [_number(data[name], nouns) for name, nouns in _UNUSUAL.items() if data.get(name)]
    if "shape" in data:
        parts.append(f"a grid of {' x '.join(map(str, data['shape']))}")
    if data.get("dates"):
        parts.append(f"dates from {data['dates'][0]} to {data['dates'][1]}")
    if data.get("columns"):
        parts.append(f"columns {', '.join(data['columns'])}")
    if data.get("texts"):
        parts.append("with their texts")
    return ", ".join(parts)


def settings_in_words(settings: dict[str, Any]) -> str:
    """Return the stages of a run and its seed in words."""
    stages = [f"{_number(stage['sweeps'], 'sweeps')} {stage['description']}" for stage in settings["stages"]]
    return f"{'; '.join(stages) or 'EM alone'}; seed {settings['seed']}"


def progress_in_words(progress: dict[str, Any]) -> str:
    """Return how far a run is, and how long it took, in words."""
    state = "finished" if progress["finished"] else "not finished"
    parts = [f"{state}, at {progress['position']}"]
    if progress["em_iterations"]:
        parts.append(f"{progress['em_iterations']} iterations of EM")
    if progress.get("restarts", 1) > 1:
        parts.append(f"best of {progress['restarts']} restarts")
    return f"{', '.join(parts)}, {describe_seconds(progress['seconds'])}"


def emissions_in_words(emissions: Mapping[str, tuple[Any, ...]]) -> tuple[str, str]:
    """Return the heading of a column and the cell for the emissions of a state."""
    if "parts" in emissions:
        headings, cells = [], []
        for part in emissions["parts"]:
            heading, cell = emissions_in_words(part)
            headings.append(f"{', '.join(part['features'])}: {heading}")
            cells.append(f"{part['features'][0]}:({heading} {cell})" if "symbols" in part else cell)
        return "; ".join(headings), "  ".join(cells)
    if "symbols" in emissions:
        texts = [f"{p:.3f}" for p in emissions["probabilities"]]
        return "symbols", _named(emissions["symbols"], texts)
    features = emissions["features"]
    if "rates" in emissions:
        header, texts = "rate", [f"{rate:.4g}" for rate in emissions["rates"]]
    elif "probabilities" in emissions:
        header, texts = "probability of 1", [f"{p:.3f}" for p in emissions["probabilities"]]
    elif "standard_deviations" in emissions:
        header = "mean (standard deviation)"
        both = zip(emissions["means"], emissions["standard_deviations"], strict=True)
        texts = [f"{mean:.4g} ({deviation:.4g})" for mean, deviation in both]
    else:  # the first parameter says where the numbers are, the others how they spread
        names = [name for name in emissions if name != "features"]
        first, *others = (name.removesuffix("s").replace("_", " ") for name in names)
        header = f"{first} ({', '.join(others)})" if others else first
        texts = []
        for place, *spread in zip(*(emissions[name] for name in names), strict=True):
            texts.append(f"{place:.4g}" + (f" ({', '.join(f'{x:.4g}' for x in spread)})" if spread else ""))
    return header, texts[0] if features == ("0",) else _named(features, texts)


def _named(names: tuple[str, ...], texts: list[str]) -> str:
    return "  ".join(f"{name}:{text}" for name, text in zip(names, texts, strict=True))


def _number(n: int, nouns: str) -> str:
    return f"{n} {nouns.removesuffix('s') if n == 1 else nouns}"
