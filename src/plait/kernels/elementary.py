"""Elementary functions without branches, so that the compiler turns loops over them into vector code.

All are polynomials, with an error below 1e-11, for the logarithm and the exponential a relative one. They
consist of additions and multiplications in a fixed order, so their bits do not depend on the processor, nor
on a library.
"""

from __future__ import annotations

import math

import numpy as np

from plait.jit import kernel

_HALF_ROOT = np.int64(0x3FE6A09E667F3BCD)  # the bits of the square root of 1/2
_MANTISSA = np.int64(52)
_BIAS = np.int64(1023)
_LOG_2 = math.log(2.0)
_TURN = 2.0 * math.pi
_LOG_2_HIGH = float.fromhex("0x1.62e42fee00000p-1")  # times a small whole number, it is exact
_LOG_2_LOW = float.fromhex("0x1.a39ef35793c76p-33")


@kernel
def log_of(x):
    """Return log x for a normal x > 0.

    x = 2^k m with m between the square roots of 1/2 and 2, and log m = 2 artanh s with s = (m - 1) / (m + 1),
    as a series in s, whose square is at most 0.03.
    """
    bits = np.float64(x).view(np.int64)
    k = (bits - _HALF_ROOT) >> _MANTISSA
    m = np.int64(bits - (k << _MANTISSA)).view(np.float64)
    s = (m - 1.0) / (m + 1.0)
    z = s * s
    series = 1.0 / 9.0 + z * (1.0 / 11.0 + z * (1.0 / 13.0))
    series = 1.0 + z * (1.0 / 3.0 + z * (1.0 / 5.0 + z * (1.0 / 7.0 + z * series)))
    return np.float64(np.int32(k)) * _LOG_2 + 2.0 * s * series


@kernel
def cos_of_turns(x):
    """Return cos(2 pi x) for x from 0 to 1.

    With r = |x - 1/2| - 1/4, from -1/4 to 1/4, that is sin(2 pi r), and a series in (2 pi r)^2, at most 2.5.
    """
    r = _TURN * (abs(x - 0.5) - 0.25)
    z = r * r
    series = 1.0 / 6227020800.0 - z * (1.0 / 1307674368000.0 - z * (1.0 / 355687428096000.0))
    series = 1.0 / 362880.0 - z * (1.0 / 39916800.0 - z * series)
    return r * (1.0 - z * (1.0 / 6.0 - z * (1.0 / 120.0 - z * (1.0 / 5040.0 - z * series))))


@kernel
def exp_of(x):
    """Return exp x for x from -700 to 700.

    x = k log 2 + r with |r| at most log 2 / 2, and exp r as a series.
    """
    k = np.floor(x * (1.0 / _LOG_2) + 0.5)
    r = x - k * _LOG_2_HIGH - k * _LOG_2_LOW
    series = 1.0 / 5040.0 + r * (1.0 / 40320.0 + r * (1.0 / 362880.0 + r * (1.0 / 3628800.0)))
    series = 1.0 / 24.0 + r * (1.0 / 120.0 + r * (1.0 / 720.0 + r * series))
    series = 1.0 + r * (1.0 + r * (0.5 + r * (1.0 / 6.0 + r * series)))
    return series * np.int64((np.int64(np.int32(k)) + _BIAS) << _MANTISSA).view(np.float64)
