"""What plait says when something is wrong.

Every message names the value, the place and the remedy, in one line: the command prints it as it is.
"""

from __future__ import annotations


class PlaitError(ValueError):
    """Bad input or a file that cannot be read or written; the message is one line for the user."""


class PlaitWarning(UserWarning):
    """Something the user should know that did not stop the work, such as empty documents."""


class NotOffered(PlaitError, NotImplementedError):
    """A model does not have what was asked for, such as a collapsed sampler."""
