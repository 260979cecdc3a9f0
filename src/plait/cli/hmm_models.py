"""The models that the options of `plait fit hmm` describe."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any

from plait.errors import Argument, PlaitError

if TYPE_CHECKING:
    from plait.data.sequences import Sequences
    from plait.models.hmm import HmmModel


def families_of(text: str) -> str | dict[str, str]:
    """Return the name of a family, or those of columns."""
    from plait.checks import check_choice, short_repr
    from plait.models.emissions import FAMILIES

    if "=" not in text:
        return check_choice("emissions", text, FAMILIES)
    families: dict[str, str] = {}
    for item in next(csv.reader([text], skipinitialspace=True)):
        column, _, family = item.rpartition("=")
        if not column or column in families:
            raise PlaitError(
                Argument("emissions"),
                f" must name each column once, as in step=gamma,angle=vonmises, got {short_repr(text)}",
            )
        families[column] = check_choice("emissions", family, FAMILIES)
    return families


def _emissions(
    sequences: Sequences, n_states: int, families: str | dict[str, str], covariance: str | None, prior: float
) -> Any:
    from plait.checks import list_names, short_repr
    from plait.models.emissions import FAMILIES, mixed_emissions

    options: dict[str, dict[str, Any]] = {"categorical": {"prior": prior}}
    if covariance is not None:
        options["gaussian"] = {"covariance": covariance}
    if isinstance(families, str):
        return FAMILIES[families](sequences, n_states, **options.get(families, {}))
    places = {name: d for d, name in enumerate(sequences.columns or ())}
    if set(places) != set(families):
        raise PlaitError(
            Argument("emissions"),
            f" must name the columns {list_names(map(short_repr, places))}, got"
            f" {list_names(map(short_repr, families))}",
        )
    parts = [((places[name],), family, options.get(family, {})) for name, family in families.items()]
    return mixed_emissions(sequences, n_states, parts)


def model_of(
    sequences: Sequences,
    n_states: int,
    families: str | dict[str, str],
    covariance: str | None,
    prior: float,
    left_right: bool,
    method: str,
) -> HmmModel:
    """Return the model that the options of `plait fit hmm` describe."""
    import numpy as np

    from plait.models.hmm import HmmModel

    starts, moves = np.ones(n_states), np.ones((n_states, n_states))
    if left_right:
        starts[1:] = 0
        moves = np.eye(n_states) + np.eye(n_states, k=1)
    emissions = _emissions(sequences, n_states, families, covariance, prior)
    return HmmModel(emissions, prior * starts, prior * moves, blocked=method != "single-site")
