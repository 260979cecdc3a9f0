"""Topics, documents and sequences as users name them: by number or by name."""

from __future__ import annotations

import re

from plait.checks import check_integer, list_names, short_repr
from plait.data.corpus import Corpus
from plait.data.sequences import Sequences
from plait.errors import Argument, PlaitError
from plait.inference.fitted import lda_model
from plait.run import Run

_NUMBER = re.compile("[0-9]{1,15}", re.ASCII)


def topic_number(run: Run, topic: int | str) -> int:
    """Return the number of a topic, which is given by its number, also as text, or by its name."""
    n_topics = lda_model(run).n_topics
    if isinstance(topic, str):
        numbers = [t for t, name in run.names.items() if name == topic]
        if numbers:
            return numbers[0]
        if not _NUMBER.fullmatch(topic):
            named = f" or one of {list_names(list(run.names.values())[:10])}" if run.names else ""
            raise PlaitError(
                Argument("topic"),
                f" must be a number from 0 to {n_topics - 1}{named}, got {short_repr(topic)}",
            )
        topic = int(topic)
    return check_integer("topic", topic, least=0, most=n_topics - 1)


def document_number(corpus: Corpus, document: int | str) -> int:
    """Return the number of a document, which is given by its name or by its number, also as text."""
    return _number_of("document", document, corpus.names, corpus.n_documents)


def sequence_number(sequences: Sequences, sequence: int | str) -> int:
    """Return the number of a sequence, which is given by its name or by its number, also as text."""
    return _number_of("sequence", sequence, sequences.names, sequences.n_sequences)


def _number_of(what: str, given: int | str, names: tuple[str, ...] | None, n: int) -> int:
    if isinstance(given, str):
        numbers = [k for k, name in enumerate(names or ()) if name == given]
        if len(numbers) > 1:
            raise PlaitError(
                Argument(what),
                f": {len(numbers)} {what}s are called {short_repr(given)}: give the number of one, such"
                f" as {numbers[0]} or {numbers[1]}",
            )
        if numbers:
            return numbers[0]
        if not _NUMBER.fullmatch(given):
            named = "" if names is None else f" or a name, such as {short_repr(names[0])}"
            raise PlaitError(
                Argument(what), f" must be a number from 0 to {n - 1}{named}, got {short_repr(given)}"
            )
        given = int(given)
    return check_integer(what, given, least=0, most=n - 1)
