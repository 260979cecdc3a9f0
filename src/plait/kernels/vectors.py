"""Weights of all topics at once, by vector instructions, and a draw from them.

The compiler does not vectorise a cumulative sum, because each term waits for the one before it. So weights
are laid out in rows of `LANES`, and cumulative sums run down the lanes, one vector addition per row. For 20
weights x_0, ..., x_19:

    row 0    x_0              x_1              ...  x_7
    row 1    x_0 + x_8        x_1 + x_9        ...  x_7 + x_15
    row 2    x_0 + x_8 + x_16 x_1 + x_9 + x_17 ...  x_7 + x_15     (padded with zeros)

The last row holds the sum of each lane. A draw picks a lane by these eight sums, and a row by the lane's
cumulative sums. The order of the additions is part of this layout, so the bits do not depend on the
processor.

Numba has no vector types, so `weigh_topics` is written in LLVM's own instructions; it is the only loop here
that needs them. The Python functions of the same names define what is computed, and run where compilation is
switched off.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from plait.jit import kernel

LANES: Final = 8
"""Numbers in a vector: as many of single precision as fit into 256 bits."""

_LINE = 16  # numbers of four bytes in a line of the cache


def padded(n: int) -> int:
    """Return n, rounded up to whole rows."""
    return -(-n // LANES) * LANES


def weigh_topics(word, eta, inverse, shares, cumulative):
    """Fill `cumulative` with the sums down the lanes of (word_t + eta_t) inverse_t shares_t.

    `word` (T,) is int32, the other arrays are float32 with T rounded up to whole rows. Beyond T, `shares`
    must be zero.
    """
    for t in range(cumulative.size):
        above = cumulative[t - LANES] if t >= LANES else np.float32(0)
        count = np.float32(word[t]) if t < word.size else np.float32(0)
        cumulative[t] = above + (count + eta[t]) * (inverse[t] * shares[t])


@intrinsic
def _weigh_topics(_: Any, word: Any, eta: Any, inverse: Any, shares: Any, cumulative: Any) -> Any:
    signature = types.void(word, eta, inverse, shares, cumulative)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        integer, index = ir.IntType(32), ir.IntType(64)
        floats, integers = ir.VectorType(ir.FloatType(), LANES), ir.VectorType(integer, LANES)
        arrays = [
            context.make_array(kind)(context, builder, array)
            for kind, array in zip(signature.args, args, strict=True)
        ]
        n_topics = cgutils.unpack_tuple(builder, arrays[0].shape)[0]
        n_whole = builder.udiv(n_topics, index(LANES))
        sums = cgutils.alloca_once_value(builder, ir.Constant(floats, [0.0] * LANES))

        def row_of(array: Any, row: Any, kind: Any) -> Any:
            start = builder.gep(array.data, [builder.mul(row, index(LANES))])
            return builder.bitcast(start, kind.as_pointer())

        def add_row(row: Any, counts: Any) -> None:
            eta, inverse, shares = (
                builder.load(row_of(array, row, floats), align=4) for array in arrays[1:4]
            )
            weights = builder.fadd(builder.sitofp(counts, floats), eta)
            weights = builder.fmul(weights, builder.fmul(inverse, shares))
            builder.store(builder.fadd(builder.load(sums), weights), sums)
            builder.store(builder.load(sums), row_of(arrays[4], row, floats), align=4)

        with cgutils.for_range(builder, n_whole) as loop:
            add_row(loop.index, builder.load(row_of(arrays[0], loop.index, integers), align=4))
        n_left = builder.urem(n_topics, index(LANES))
        with builder.if_then(builder.icmp_unsigned("!=", n_left, index(0))):
            # The rest of a row must not be read beyond the last topic.
            flags = ir.VectorType(ir.IntType(1), LANES)
            lanes = ir.Constant(integers, list(range(LANES)))
            limit: Any = ir.Constant(integers, ir.Undefined)
            for lane in range(LANES):
                limit = builder.insert_element(limit, builder.trunc(n_left, integer), integer(lane))
            name = f"llvm.masked.load.v{LANES}i32.p0"
            kind = ir.FunctionType(integers, [integers.as_pointer(), integer, flags, integers])
            load = cgutils.get_or_insert_function(builder.module, kind, name)
            place = row_of(arrays[0], n_whole, integers)
            mask = builder.icmp_unsigned("<", lanes, limit)
            nothing = ir.Constant(integers, [0] * LANES)
            add_row(n_whole, builder.call(load, [place, integer(4), mask, nothing]))
        return context.get_dummy_value()

    return signature, generate


@overload(weigh_topics, inline="always")
def _compiled_weigh_topics(word, eta, inverse, shares, cumulative):
    def compiled(word, eta, inverse, shares, cumulative):
        _weigh_topics(word, eta, inverse, shares, cumulative)  # type: ignore[call-arg]

    return compiled


@kernel
def draw_topic(u, n_topics, cumulative, sums):
    """Return the topic at u, from 0 to 1, in the cumulative sums of `weigh_topics`.

    `sums` (LANES,) is scratch. Sums are counted, not searched, because a branch that cannot be predicted
    costs more. Rounding may lead to the end of a lane; the topic is one of the `n_topics` in any case, also
    if weights are not numbers.
    """
    n_rows = np.uint64(cumulative.size // LANES)
    last = (n_rows - np.uint64(1)) * np.uint64(LANES)
    total = np.float32(0.0)
    for k in range(np.uint64(LANES)):
        total += cumulative[last + k]
        sums[k] = total
    x = np.float32(u) * total
    lane = np.uint64(0)
    before = np.float32(0.0)
    for k in range(np.uint64(LANES - 1)):
        is_past = sums[k] <= x
        lane += np.uint64(is_past)
        before = sums[k] if is_past else before
    x -= before
    row = np.uint64(0)
    for k in range(n_rows - np.uint64(1)):
        row += np.uint64(cumulative[k * np.uint64(LANES) + lane] <= x)
    return min(row * np.uint64(LANES) + lane, np.uint64(n_topics - 1))


def prefetch(row):
    """Tell the processor that a row of int32 will be needed soon."""


@intrinsic
def _prefetch(_: Any, row: Any) -> Any:
    signature = types.void(row)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, args[0])
        integer, pointer = ir.IntType(32), ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [pointer, integer, integer, integer])
        call = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        n = cgutils.unpack_tuple(builder, array.shape)[0]
        with cgutils.for_range_slice(builder, n.type(0), n, n.type(_LINE), inc=True) as (k, _count):
            place = builder.bitcast(builder.gep(array.data, [k]), pointer)
            builder.call(call, [place, integer(1), integer(3), integer(1)])  # to be written, to all caches
        return context.get_dummy_value()

    return signature, generate


@overload(prefetch, inline="always")
def _compiled_prefetch(row):
    def compiled(row):
        _prefetch(row)  # type: ignore[call-arg]

    return compiled
