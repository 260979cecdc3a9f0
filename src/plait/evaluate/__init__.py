"""Evaluation: how good and how certain a result is.

`held_out`, `coherence`, `diversity`, `exclusivity` and `stability` judge topics, from any source: a run, its
file, a fitted estimator or a matrix. `compare` compares ways to fit topics at equal time, and `select`
chooses the number of topics. They are imported when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from plait.evaluate.comparing import Comparison as Comparison
    from plait.evaluate.comparing import compare as compare
    from plait.evaluate.distinctness import diversity as diversity
    from plait.evaluate.distinctness import exclusivity as exclusivity
    from plait.evaluate.heldout import HeldOut as HeldOut
    from plait.evaluate.heldout import held_out as held_out
    from plait.evaluate.selecting import Selection as Selection
    from plait.evaluate.selecting import select as select
    from plait.evaluate.topic_coherence import Coherence as Coherence
    from plait.evaluate.topic_coherence import coherence as coherence
    from plait.evaluate.topic_scores import TopicScores as TopicScores
    from plait.evaluate.topic_stability import Agreement as Agreement
    from plait.evaluate.topic_stability import Stability as Stability
    from plait.evaluate.topic_stability import stability as stability

_HOMES = {
    "Agreement": "topic_stability",
    "Coherence": "topic_coherence",
    "Comparison": "comparing",
    "HeldOut": "heldout",
    "Selection": "selecting",
    "Stability": "topic_stability",
    "TopicScores": "topic_scores",
    "coherence": "topic_coherence",
    "compare": "comparing",
    "diversity": "distinctness",
    "exclusivity": "distinctness",
    "held_out": "heldout",
    "select": "selecting",
    "stability": "topic_stability",
}

__all__ = [
    "Agreement",
    "Coherence",
    "Comparison",
    "HeldOut",
    "Selection",
    "Stability",
    "TopicScores",
    "coherence",
    "compare",
    "diversity",
    "exclusivity",
    "held_out",
    "select",
    "stability",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'plait.evaluate' has no attribute {name!r}")
    return getattr(import_module(f"plait.evaluate.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
