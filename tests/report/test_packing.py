"""Packing: what goes into a page comes out of it."""

from __future__ import annotations

import numpy as np
import pytest

from plait.report.packing import pack, rounded, sixteenths, small_integers, unpack


def test_a_payload_comes_back_as_it_was():
    payload = {
        "text": "</script> \u202e \x00 👩‍👩‍👧‍👦 שלום",
        "list": [1, 2.5, None, True, {"inner": np.arange(5, dtype=np.uint8)}],
        "shares": np.array([[0.5, np.nan], [1.0, -2.0]], np.float32),
        "counts": np.array([70_000, 3], np.uint32),
        "nothing": np.empty((0, 3), np.uint16),
    }
    found = unpack(pack(payload))
    assert found["text"] == payload["text"]
    assert found["list"][:4] == payload["list"][:4]
    np.testing.assert_array_equal(found["list"][4]["inner"], np.arange(5))
    for name in ("shares", "counts", "nothing"):
        np.testing.assert_array_equal(found[name], payload[name])
        assert found[name].dtype == payload[name].dtype


def test_the_text_is_safe_in_html_and_the_same_each_time():
    payload = {"text": "</script><!--", "array": np.arange(1000, dtype=np.int32)}
    text = pack(payload)
    assert set(text) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=")
    assert pack(payload) == text


def test_numbers_that_json_lacks_become_null():
    found = unpack(pack({"a": float("nan"), "b": [np.float64("inf")], "c": np.int64(3)}))
    assert found == {"a": None, "b": [None], "c": 3}


def test_lone_surrogates_do_not_stop_a_report():
    assert unpack(pack({"a": "x\ud800y"})) == {"a": "x?y"}


@pytest.mark.parametrize("payload", [{"a": np.zeros(2)}, {"a": np.array(["x"])}, {"a": {"$array": 0}}])
def test_what_a_page_cannot_hold_is_refused(payload):
    with pytest.raises(TypeError):
        pack(payload)


@pytest.mark.parametrize(
    ("most", "dtype"), [(0, "u1"), (255, "u1"), (256, "u2"), (65535, "u2"), (65536, "u4")]
)
def test_whole_numbers_take_as_few_bytes_as_they_need(most, dtype):
    assert small_integers([0, most]).dtype == np.dtype(dtype)
    assert small_integers([0, most])[1] == most


def test_rounded_numbers_have_three_digits_and_compress():
    values = np.random.default_rng(0).gamma(0.5, size=5000)
    found = rounded(values)
    np.testing.assert_allclose(found, values, rtol=2.0**-12)
    assert len(pack({"v": found})) < 0.8 * len(pack({"v": values.astype(np.float32)}))
    np.testing.assert_array_equal(rounded([np.nan, np.inf, 0.0]), np.array([np.nan, np.inf, 0.0]))


def test_shares_are_kept_in_sixteen_steps():
    assert sixteenths([-0.1, 0.0, 0.5, 1.0, 1.2]).tolist() == [0, 0, 8, 15, 15]
