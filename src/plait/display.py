"""Text from outside, made safe for terminals, tables, JSON and shells.

Words, labels and names come from files that others wrote. Printed as they are, they could move the cursor,
recolour the terminal, reverse the order of a line, split a row, or start a formula in a spreadsheet.
"""

from __future__ import annotations

import codecs
import json
import logging
import os
import re
import shlex
import sys
from contextlib import suppress
from typing import Any, TextIO

_log = logging.getLogger("plait")

MESSAGE_LIMIT = 2000
"""Maximum number of characters of a message before it is escaped; what is cut out is the middle."""

_HIDDEN = re.compile(
    "["
    "\x00-\x1f\x7f-\x9f"  # controls: C0, DEL and C1
    "\u2028\u2029"  # line and paragraph separators
    "\u202a-\u202e\u2066-\u2069"  # direction: embeddings, overrides and isolates
    "\ufeff"  # byte order mark
    "\ud800-\udfff"  # surrogates, in which file names carry bytes that are not text
    "]"
)
"""Characters that act on the terminal instead of showing. Joiners stay, which some scripts need."""

# Spreadsheets also accept the wide signs of Chinese and Japanese keyboards.
_FORMULA = re.compile("['\" ]*[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def visible(text: str, stream: TextIO | None = None) -> str:
    r"""Return the text with control characters written as escapes, such as \x1b, \n and \u202e.

    Bytes of a file name that are not text are written as \xff, which is what they are.

    Parameters
    ----------
    text : str
        Text of any origin.
    stream : TextIO, optional
        Where the text goes: characters that its encoding lacks are written as escapes too.

    Returns
    -------
    str
        Text that fits on one line. A backslash stays as it is, so this is for reading, not for decoding.
    """
    if not text.isprintable():  # no hidden character is printable
        text = _HIDDEN.sub(lambda found: _escape(found[0]), text)
    return text if stream is None else encodable(text, stream)


def _escape(character: str) -> str:
    if _is_byte(character):
        return f"\\x{ord(character) - 0xDC00:02x}"
    return character.encode("unicode_escape").decode("ascii")


def _is_byte(character: str) -> bool:
    """Return whether the character is how Python represents a byte of a file name that is not text."""
    return "\udc80" <= character <= "\udcff"


def encodable(text: str, stream: TextIO) -> str:
    r"""Return the text with the characters that the encoding of a stream lacks written as escapes."""
    if text.isascii():
        return text
    encoding = stream.encoding or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


def one_line(text: str) -> str:
    """Return a message as one visible line; the middle of a very long one is cut out."""
    if len(text) > MESSAGE_LIMIT:
        half = (MESSAGE_LIMIT - 5) // 2  # the end says what to do
        text = f"{text[:half]} ... {text[-half:]}"
    return visible(text)


def table_cell(text: str, stream: TextIO | None = None) -> str:
    """Return the text for a cell of a table: one visible line that no spreadsheet takes for a formula.

    A cell that starts like a formula gets an apostrophe in front, unless it is a plain number. So does one
    that starts with apostrophes, quotation marks or spaces and then like a formula. Removing one apostrophe
    from such a cell therefore restores it.
    """
    return without_formula(visible(text, stream))


def without_formula(text: str) -> str:
    """Return the text, with an apostrophe in front if a spreadsheet could take it for a formula."""
    if _FORMULA.match(text) and not _NUMBER.fullmatch(text):
        return f"'{text}"
    return text


def json_text(value: Any, stream: TextIO | None = None) -> str:
    r"""Return a value as JSON on one line, with hidden characters as \uXXXX; reading it gives the value back.

    Parameters
    ----------
    value : object
        Anything that `json.dumps` takes.
    stream : TextIO, optional
        Where the text goes: unless that is UTF-8, all characters outside ASCII are written as \uXXXX.
    """
    encoding = (stream and stream.encoding) or "utf-8"
    text = json.dumps(value, ensure_ascii=codecs.lookup(encoding).name != "utf-8")
    if text.isprintable():
        return text
    return _HIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def shell_word(path: str | os.PathLike[str]) -> str:
    """Return a path as a word that can be pasted into a shell, after the name of a command.

    A path with characters that standard error would not show is quoted in the form $'...', which bash, zsh
    and ksh take.
    """
    text = os.fspath(path)
    if text.startswith(("-", "=")):  # not an option; and zsh looks up =name among the commands
        text = f"./{text}"
    if os.name == "nt":
        from subprocess import list2cmdline

        return list2cmdline([text])
    if visible(text, sys.stderr) == text:
        return shlex.quote(text)
    return f"$'{''.join(map(_shell_character, text))}'"


def _shell_character(character: str) -> str:
    if character in "\\'":
        return f"\\{character}"
    if visible(character, sys.stderr) == character:
        return character
    octets = character.encode("utf-8", "surrogateescape" if _is_byte(character) else "surrogatepass")
    return "".join(f"\\{octet:03o}" for octet in octets)


def is_listened_to() -> bool:
    """Return whether the program has set up logging such that the logger "plait" may tell it something."""
    return _log.isEnabledFor(logging.INFO) and _log.hasHandlers()


def tell(*lines: str, shown: bool = True) -> None:
    """Log lines at the level INFO if the program listens to these; else `say` them, if `shown`."""
    if is_listened_to():
        for line in lines:
            _log.info("%s", visible(line))
    elif shown:
        say(*lines)


def say(*lines: str) -> None:
    """Print lines to standard error, with control characters as escapes.

    If they cannot be written, nothing happens: a long run does not end because its log is gone.
    """
    stream = sys.stderr
    if stream is not None:
        with suppress(OSError):
            stream.write("".join(f"{visible(line, stream)}\n" for line in lines))
            stream.flush()
