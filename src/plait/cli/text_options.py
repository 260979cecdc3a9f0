"""Options for how text becomes words, which several commands share."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import click

from plait.cli.common import together
from plait.display import say
from plait.errors import PlaitError

if TYPE_CHECKING:
    from plait.data.text import TextRecipe


class GroupedOption(click.Option):
    """An option that `--help` lists below a heading."""

    def __init__(self, *args: Any, group: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.group = group


class GroupedCommand(click.Command):
    """A command whose `--help` lists grouped options below their headings."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write all options, those without a group first."""
        groups: dict[str, list[tuple[str, str]]] = {"Options": []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and isinstance(parameter, click.Option):
                group = parameter.group if isinstance(parameter, GroupedOption) else "Options"
                groups.setdefault(group, []).append(record)
        for group, records in groups.items():
            with formatter.section(group):
                formatter.write_dl(records)


_language = functools.partial(click.option, cls=GroupedOption, group="Language and words")
_token = functools.partial(click.option, cls=GroupedOption, group="Addresses, markup and numbers")
_choice = functools.partial(click.option, cls=GroupedOption, group="Choice of the vocabulary")

text_options = together(
    "text",
    _language(
        "--language",
        default="auto",
        show_default=True,
        metavar="auto|none|LANGUAGE",
        help="Language of the texts, e.g. de or german; auto finds it out.",
    ),
    _language(
        "--stop-words",
        default="auto",
        show_default=True,
        metavar="auto|none|LANGUAGE|FILE",
        help="Words to remove: by default those of the language; a file has one per line.",
    ),
    _language(
        "--stem",
        is_flag=False,
        flag_value="auto",
        metavar="[LANGUAGE]",
        help="Reduce words to their stems; without a value, those of the language.",
    ),
    _language("--keep-case", is_flag=True, help="Do not convert words to lower case."),
    _language("--fold-accents", is_flag=True, help="Write words without accents."),
    _language(
        "--min-length", type=int, default=1, metavar="N", help="Remove words of fewer than N characters."
    ),
    _language(
        "--phrases",
        is_flag=False,
        flag_value="auto",
        metavar="[X]",
        help="Join words that belong together, such as 'united states'; X is from 0 (by chance) to 1"
        " (always), normally 0.5.",
    ),
    _language(
        "--phrase-count",
        type=int,
        default=10,
        show_default=True,
        metavar="N",
        help="Times a phrase occurs at least.",
    ),
    _language(
        "--tokenizer",
        type=click.Choice(["auto", "words", "icu"]),
        default="auto",
        show_default=True,
        help="How words are found: runs of letters, or word breaks of ICU (Chinese, Japanese, Thai).",
    ),
    _language(
        "--token-pattern", metavar="REGEX", help="Regular expression of a word, instead of runs of letters."
    ),
    *(
        _token(f"--{name}", type=click.Choice(choices), default=choices[0], show_default=True, help=what)
        for name, choices, what in (
            ("urls", ["drop", "keep", "split"], "Web addresses; split takes their parts for words."),
            ("emails", ["drop", "keep", "split"], "E-mail addresses."),
            ("mentions", ["drop", "keep", "split"], "Mentions such as @who, and RT of retweets."),
            ("hashtags", ["keep", "drop", "split"], "Hashtags such as #climate."),
            ("markup", ["drop", "keep"], "HTML tags and entities."),
            ("numbers", ["drop", "keep", "replace"], "Numbers; replace makes one word of all."),
        )
    ),
    _choice(
        "--min-count", type=int, default=1, metavar="N", help="Remove words that occur fewer than N times."
    ),
    _choice("--min-df", default="1", metavar="N|SHARE", help="... or in fewer documents: 3, or 0.01."),
    _choice("--max-df", default="1.0", metavar="N|SHARE", help="... or in more documents: 900, or 0.5."),
    _choice("--remove-top", type=int, default=0, help="Remove the N most common words.", metavar="N"),
    _choice("--paragraphs", is_flag=True, help="Make every paragraph a document."),
)


def recipe_of(
    *,
    encoding: str,
    max_unpacked: int | None,
    language: str,
    stop_words: str,
    stem: str | None,
    keep_case: bool,
    phrases: str | None,
    min_df: str,
    max_df: str,
    paragraphs: bool,
    **others: Any,
) -> TextRecipe:
    """Return the recipe for the values of the options; `others` have the names of its settings."""
    from plait.data.text import TextRecipe

    return TextRecipe(
        language=None if language == "none" else language,
        stop_words=_stop_words(stop_words, encoding, max_unpacked),
        stem=True if stem == "auto" else None if stem == "none" else stem,
        lowercase=not keep_case,
        phrases=phrases == "auto" if phrases in (None, "auto") else _share("--phrases", phrases),
        min_df=_number("--min-df", min_df),
        max_df=_number("--max-df", max_df),
        split_paragraphs=paragraphs,
        **others,
    )


def describe_language(asked: TextRecipe, used: TextRecipe) -> None:
    """Say which language was found, and what follows from that."""
    from plait.data.languages import describe

    if asked.language != "auto":
        return
    if used.language is None:
        if asked.stop_words == "auto":
            say("Language: not clear, so no stop words are removed. --language chooses one.")
        return
    effects = []
    if used.stop_words == "auto" and used.stop_list():
        effects.append("its stop words are removed")
    if used.stem is True and used.stemmer:
        effects.append("words are stemmed")
    what = f"; {' and '.join(effects)}" if effects else ""
    say(f"Language: {describe(used.language)}, detected{what}. --language chooses another, or none.")


def _stop_words(value: str, encoding: str, max_unpacked: int | None) -> str | tuple[str, ...] | None:
    from plait.data.files import read_text
    from plait.data.languages import find_language

    if value == "none":
        return None
    if value == "auto" or find_language(value):
        return value
    lines = (line.strip() for line in read_text(value, encoding, max_unpacked).splitlines())
    return tuple(dict.fromkeys(line for line in lines if line))


def _share(option: str, text: str | None) -> float:
    from plait.checks import short_repr

    try:
        return float(str(text))
    except ValueError:
        raise PlaitError(f"{option} must be a number from 0 to 1, got {short_repr(text)}") from None


def _number(option: str, text: str) -> int | float:
    """Read a whole number as a count, any other number as a share."""
    from plait.checks import short_repr

    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    raise PlaitError(
        f"{option} must be a number of documents (3) or a share of them (0.01), got {short_repr(text)}"
    )
