"""What there is to tell about states as a table; `plait.interop.tables` has those of topics.

It is a module of its own because topic models do not need the code of the models that have states.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from plait.data.sequences import Sequences
from plait.evaluate.states import hmm_model, state_names
from plait.fitting.restarts import state_order
from plait.inference.states import decode
from plait.interop.source import run_of
from plait.interop.tables import Column
from plait.models.mixture import MixtureModel


def states_table(run: Any) -> list[Column]:
    """Return a table with one row per observation of a hidden Markov model, or of a mixture.

    The state is the most probable one given the parameters, and its probability is given, too. States have
    the numbers and names under which estimators and commands show them.
    """
    run = run_of(run)
    parameters = run.parameters()
    order = state_order(run, parameters)
    parameters, names = parameters.permuted(order), state_names(run, order)
    if isinstance(run.model, MixtureModel):
        probabilities, _ = run.model.posteriors(parameters)
        known: list[Column] = [Column("observation", range(len(probabilities)))]
    else:
        sequences: Sequences = hmm_model(run).sequences
        pieces = decode(parameters, sequences, algorithm="map")
        probabilities = np.concatenate([piece.probabilities for piece in pieces])
        own = sequences.names or tuple(map(str, range(sequences.n_sequences)))
        lengths = sequences.lengths.tolist()
        known = [
            Column("observation", range(sequences.n_sites)),
            Column("sequence", [name for name, n in zip(own, lengths, strict=True) for _ in range(n)]),
            Column("position", [position for n in lengths for position in range(n)]),
        ]
    states = probabilities.argmax(axis=1).tolist()
    return [
        *known,
        Column("state", states),
        *([Column("name", [names.get(state) for state in states])] if names else []),
        Column("probability", probabilities.max(axis=1).tolist()),
    ]
