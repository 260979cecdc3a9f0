"""Values in cells of tables as text."""

from __future__ import annotations

import json
import math
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, Final

import numpy as np

_LARGEST_WHOLE: Final = 2**53  # beyond it, a float stands for several whole numbers
_MISSING: Final = frozenset(("NoneType", "NaTType", "NAType"))  # the last two are pandas' own
_MIDNIGHT: Final = time()


def cell_text(value: Any) -> str:
    """Return the text of a cell's value; empty if the value is missing.

    Whole numbers have no decimal point, as programs write a column of whole numbers with gaps as 3.0; times
    are in ISO format, dates without a time of day.
    """
    if isinstance(value, str):
        return str(value)
    if type(value).__name__ in _MISSING:
        return ""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (float, np.floating)):
        number = float(value)
        if math.isnan(number):
            return ""
        return str(int(number)) if abs(number) < _LARGEST_WHOLE and number == int(number) else str(value)
    if isinstance(value, Decimal):
        is_small = value.is_finite() and -_LARGEST_WHOLE < value < _LARGEST_WHOLE
        return str(int(value)) if is_small and value == int(value) else str(value)
    if isinstance(value, datetime):
        return (value.date() if value.timetz() == _MIDNIGHT else value).isoformat()
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, (list, tuple, dict)):
        return json.dumps(value, ensure_ascii=False, default=cell_text)
    return str(value)
