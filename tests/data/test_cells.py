"""Values of any type as the text of a cell."""

from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from plait.data.cells import cell_text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("3.0", "3.0"),
        (3, "3"),
        (3.0, "3"),
        (-2.5, "-2.5"),
        (1e300, "1e+300"),
        (np.float32(0.1), "0.1"),
        (np.int64(7), "7"),
        (True, "true"),
        (np.False_, "false"),
        (Decimal("3.00"), "3"),
        (Decimal("1E+1000000"), "1E+1000000"),
        (float("inf"), "inf"),
        (None, ""),
        (float("nan"), ""),
        (pd.NA, ""),
        (pd.NaT, ""),
        (datetime(2016, 12, 30), "2016-12-30"),
        (datetime(2016, 12, 30, 7, 11), "2016-12-30T07:11:00"),
        (datetime(2016, 12, 30, tzinfo=timezone(timedelta(hours=1))), "2016-12-30T00:00:00+01:00"),
        (pd.Timestamp("2016-12-30"), "2016-12-30"),
        (date(2016, 12, 30), "2016-12-30"),
        (time(7, 11), "07:11:00"),
        (b"caf\xc3\xa9", "café"),
        (["é", 1, date(2016, 1, 1)], '["é", 1, "2016-01-01"]'),
    ],
)
def test_text_of_a_cell(value, text):
    assert cell_text(value) == text
