"""Dates in any form become ISO dates; the column tells whether the day or the month comes first."""

import pytest

from plait.data.dates import DAY_FIRST, MONTH_FIRST, parse_iso, read_dates
from plait.errors import PlaitError


def error(row, *parts):
    return PlaitError(f"row {row}: ", *parts)


def read(*texts, format=None):
    return read_dates(texts, format, error)


@pytest.mark.parametrize("text", ["x", "1863-2", "1863-02-30", "1863-00", "18631119", "1863-11-19x", "-44"])
def test_what_is_no_iso_date_is_not_read(text):
    assert parse_iso(text) is None


def test_iso_dates_are_read_to_the_part_that_is_known():
    days = [parse_iso(text) for text in ("0044", "1863-11", " 1863-11-19T24:00Z ")]
    assert [day.precision for day in days] == [1, 2, 3]
    assert [day.iso for day in days] == ["0044", "1863-11", "1863-11-19"]


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("2016-12-30T07:11:00Z", "2016-12-30"),
        ("2016-12-30 07:11:00.123456+01:00", "2016-12-30"),
        ("2017/2/7", "2017-02-07"),
        ("2017.2.7 1:02", "2017-02-07"),
        ("2017-2", "2017-02"),
        ("20161230", "2016-12-30"),
        ("30.12.2016 7:11", "2016-12-30"),
        ("30. 12. 2016", "2016-12-30"),
        ("12/30/2016 7:11 PM", "2016-12-30"),
        ("5/5/2016", "2016-05-05"),
        ("12/2016", "2016-12"),
        ("1863", "1863"),
        ("44", "0044"),
        ("1863.0", "1863"),
        ("December 30th, 2016", "2016-12-30"),
        ("the 3rd of May, 1863", "1863-05-03"),
        ("Friday, 30 December 2016", "2016-12-30"),
        ("Fri Dec 30 07:11:00 +0000 2016", "2016-12-30"),
        ("Fri, 30 Dec 2016 07:11:00 GMT", "2016-12-30"),
        ("5-Jan-2017", "2017-01-05"),
        ("Sept. 1999", "1999-09"),
        ("30. Dezember 2016, 7:11 Uhr", "2016-12-30"),
        ("März 1920", "1920-03"),
        ("7 februari 2014 om 12:30 uur", "2014-02-07"),
        ("sábado 7 de mayo de 2011", "2011-05-07"),
        ("martes 7 mar 2017", "2017-03-07"),
        ("1er août 2015", "2015-08-01"),
        ("3 maj 2016", "2016-05-03"),
        ("2017年2月7日", "2017-02-07"),
        ("", ""),
        (" ", " "),
    ],
)
def test_forms_of_dates(text, iso):
    found = read(text)
    assert (found.texts, found.unreadable) == ((iso,), ())


@pytest.mark.parametrize(
    "text",
    ["soon", "circa 1863", "30.12.16", "2016-13-01", "31.02.2016", "99/99/2016", "30 jui 2016", "May",
     "25:00", "30 May 2016 2017", "3 4 May 2016", "201612", "1863 or 1864", "1" * 100, "May " * 50],
)  # fmt: skip
def test_other_texts_stay_as_they_are(text):
    found = read("1863", text)
    assert (found.texts, found.unreadable) == (("1863", text), (1,))


class TestOrder:
    def test_one_date_tells_the_order_of_the_column(self):
        assert read("3/4/2017", "13/4/2017").texts == ("2017-04-03", "2017-04-13")
        assert read("3/4/2017", "4/13/2017").texts == ("2017-03-04", "2017-04-13")
        assert read("3/4/2017", "4/13/2017").format == MONTH_FIRST

    def test_dots_mean_that_the_day_comes_first(self):
        assert read("3.4.2017").texts == ("2017-04-03",)
        assert read("3/4/2017", "5.6.2017").texts == ("2017-04-03", "2017-06-05")
        assert read("3.4.2017", "4.13.2017").texts == ("2017-03-04", "2017-04-13")

    def test_an_order_that_nothing_tells_must_be_given(self):
        with pytest.raises(
            PlaitError, match=r"^row 1: the date '3/4/2017' can be read in two ways"
        ) as caught:
            read("1999", "3/4/2017", "5/5/2017")
        assert caught.value.argument == "date_format"
        assert read("3/4/2017", format=MONTH_FIRST).texts == ("2017-03-04",)
        assert read("3/4/2017", format=DAY_FIRST).texts == ("2017-04-03",)

    def test_two_orders_in_one_column_are_refused(self):
        message = r"^row 2: the date '4/13/2017' has the month first, but '13/4/2017' above it the day: pass"
        with pytest.raises(PlaitError, match=message):
            read("13/4/2017", "3/4/2017", "4/13/2017")
        found = read("13/4/2017", "3/4/2017", "4/13/2017", format=DAY_FIRST)
        assert (found.texts[:2], found.unreadable) == (("2017-04-13", "2017-04-03"), (2,))

    def test_dates_that_need_no_order_have_no_format(self):
        assert read("5/5/2017", "1999", "May 1999").format is None


class TestPattern:
    @pytest.mark.parametrize(
        ("pattern", "text", "iso"),
        [("%d.%m.%y", "30.12.16", "2016-12-30"), ("%b %y", "Dec 16", "2016-12"), ("Q %Y", "Q 1999", "1999")],
    )
    def test_a_pattern_reads_what_it_names(self, pattern, text, iso):
        found = read(text, "", "1/2/3", format=pattern)
        assert (found.texts, found.unreadable, found.format) == ((iso, "", "1/2/3"), (2,), pattern)

    @pytest.mark.parametrize("pattern", ["%q", "%d.%m", "first", 3, ""])
    def test_a_pattern_must_have_a_year(self, pattern):
        with pytest.raises(PlaitError, match="date_format must be 'day-first', 'month-first' or a pattern"):
            read("1999", format=pattern)
