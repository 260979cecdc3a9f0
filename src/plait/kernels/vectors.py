"""Weights of all topics at once, by vector instructions, and a draw from them.

The compiler does not vectorise a cumulative sum, because each term waits for the one before it. So weights
are laid out in rows of `LANES`, and cumulative sums run down the lanes, one vector addition per row. For 40
weights x_0, ..., x_39:

    row 0    x_0               x_1               ...  x_15
    row 1    x_0 + x_16        x_1 + x_17        ...  x_15 + x_31
    row 2    x_0 + x_16 + x_32 x_1 + x_17 + x_33 ...  x_15 + x_31     (padded with zeros)

The last row holds the sum of each lane. A draw picks a lane by these sums, and a row by the lane's cumulative
sums. The order of the additions is part of this layout, so the bits do not depend on the processor.

Numba has no vector types, and what LLVM makes of plain loops is slower, so both steps are written in LLVM's
own instructions. The Python functions of the same names define what is computed, and run where compilation is
switched off.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

LANES: Final = 16
"""Numbers in a row: as many of single precision as fit into 512 bits, or into two vectors of 256."""


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


def draw_topic(u, n_topics, old, excess, cumulative, sums):
    """Return the topic at u, from 0 to 1, in the cumulative sums of `weigh_topics`.

    `excess` is subtracted from the weight of the topic `old`. `sums` (LANES,) is scratch for cumulative sums
    over the lanes, which are added up in pairs, then pairs of pairs, and so on. Sums that do not exceed the
    position are counted, not searched, because a branch that cannot be predicted costs more. Rounding may
    lead to the end of a lane; the topic is one of the `n_topics` in any case, also if weights are not
    numbers.
    """
    own_row, own_lane = int(old) // LANES, int(old) % LANES
    sums[:] = cumulative[-LANES:]
    sums[own_lane] -= np.float32(excess)
    distance = 1
    while distance < LANES:
        sums[distance:] = sums[distance:] + sums[:-distance]
        distance *= 2
    x = np.float32(u) * sums[-1]
    lane = min(int(np.sum(sums <= x)), LANES - 1)
    x = x - (sums[lane - 1] if lane > 0 else np.float32(0))
    beyond = x + np.float32(excess) if lane == own_lane else x
    row = 0
    for k in range(cumulative.size // LANES - 1):
        row += int(cumulative[k * LANES + lane] <= (x if k < own_row else beyond))
    return np.uint64(min(row * LANES + lane, n_topics - 1))


@intrinsic
def _draw_topic(_: Any, u: Any, n_topics: Any, old: Any, excess: Any, cumulative: Any, sums: Any) -> Any:
    signature = types.uint64(u, n_topics, old, excess, cumulative, sums)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        integer, index, real = ir.IntType(32), ir.IntType(64), ir.FloatType()
        floats, integers = ir.VectorType(real, LANES), ir.VectorType(integer, LANES)
        zeros = ir.Constant(floats, [0.0] * LANES)
        u, n_topics, old, excess, *_ = args
        weights, sums = (context.make_array(signature.args[k])(context, builder, args[k]) for k in (4, 5))
        size = cgutils.unpack_tuple(builder, weights.shape)[0]
        own_row, own_lane = builder.udiv(old, index(LANES)), builder.urem(old, index(LANES))

        last = builder.gep(weights.data, [builder.sub(size, index(LANES))])
        values = builder.load(builder.bitcast(last, floats.as_pointer()), align=4)
        values = builder.fsub(values, builder.insert_element(zeros, excess, own_lane))
        distance = 1
        while distance < LANES:
            order = [k - distance if k >= distance else LANES for k in range(LANES)]  # LANES: a zero
            moved = builder.shuffle_vector(values, zeros, ir.Constant(integers, order))
            values = builder.fadd(values, moved)
            distance *= 2
        builder.store(values, builder.bitcast(sums.data, floats.as_pointer()), align=4)

        total = builder.extract_element(values, integer(LANES - 1))
        x = builder.fmul(builder.fptrunc(u, real), total)
        everywhere = builder.insert_element(zeros, x, integer(0))
        everywhere = builder.shuffle_vector(everywhere, zeros, ir.Constant(integers, [0] * LANES))
        past = builder.bitcast(builder.fcmp_ordered("<=", values, everywhere), ir.IntType(LANES))
        lane = _least(builder, builder.zext(builder.ctpop(past), index), index(LANES - 1))
        is_first = builder.icmp_unsigned("==", lane, index(0))
        before = builder.select(is_first, index(0), builder.sub(lane, index(1)))
        before = builder.load(builder.gep(sums.data, [before]))
        x = builder.fsub(x, builder.select(is_first, real(0.0), before))
        is_own = builder.icmp_unsigned("==", lane, own_lane)
        beyond = builder.select(is_own, builder.fadd(x, excess), x)

        row = cgutils.alloca_once_value(builder, index(0))
        n_rows = builder.udiv(size, index(LANES))
        with cgutils.for_range(builder, builder.sub(n_rows, index(1))) as loop:
            limit = builder.select(builder.icmp_unsigned("<", loop.index, own_row), x, beyond)
            place = builder.add(builder.mul(loop.index, index(LANES)), lane)
            # Atomic, though no other thread writes: else LLVM gathers four at a time, which is slower.
            value = builder.load_atomic(builder.gep(weights.data, [place]), "monotonic", 4)
            is_past = builder.zext(builder.fcmp_ordered("<=", value, limit), index)
            builder.store(builder.add(builder.load(row), is_past), row)
        topic = builder.add(builder.mul(builder.load(row), index(LANES)), lane)
        return _least(builder, topic, builder.sub(n_topics, index(1)))

    return signature, generate


def _least(builder: Any, a: Any, b: Any) -> Any:
    return builder.select(builder.icmp_unsigned("<", a, b), a, b)


@overload(draw_topic, inline="always")
def _compiled_draw_topic(u, n_topics, old, excess, cumulative, sums):
    def compiled(u, n_topics, old, excess, cumulative, sums):
        return _draw_topic(u, np.uint64(n_topics), old, excess, cumulative, sums)  # type: ignore[call-arg]

    return compiled
