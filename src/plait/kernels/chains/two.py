"""The single-site sampler for two states and symbols: sites of one colour are drawn eight at a time.

Given the sites of the other colour, sites of one colour do not depend on each other (see
`plait.kernels.chains.sites`). What makes the kernel fast:

- The random bits of a site are a hash of its position, so nothing waits for a generator's last step.
- The state is 1 if they are at least a limit, P(p_i = 0 | p_i-1, p_i+1, w_i) as a whole number. A block of
  sites is drawn for all paths while its limits, four per site, are in the nearest cache.
- All sites of the first colour in a block are drawn, and then those of the second that lie between them: the
  last site of a block waits for the next one. So each pass over the data draws both colours.

Numba has no vector types, so a draw of eight sites is written in LLVM's own instructions. The Python function
of the same name defines what is computed, and runs where compilation is switched off. Sites at both ends of a
sequence, and those that do not fill a vector, are drawn one by one.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload
from numpy.typing import NDArray

from plait.jit import kernel, local_array
from plait.rng import GOLDEN, MULTIPLY_B, hash_position, open_stream

_BLOCK: Final = np.uint64(512)  # sites; even
_SLOTS: Final = 257  # sites of one colour in a block and the last of the block before
_LIMITS: Final = 4 * 2 * _SLOTS
_LANES: Final = 8  # sites at once
_SPAN: Final = np.uint64(2 * _LANES)
_BITS: Final = 63  # of a limit: its values are 0 to 2**63, so that probabilities 0 and 1 are exact
_ONE, _TWO = np.uint64(1), np.uint64(2)


def limits_of(thresholds: NDArray[np.float64]) -> NDArray[np.uint64]:
    """Return P(p_i = 0 | p_i-1 = a, p_i+1 = c, w_i) as limits[w, a, c], from a table of `fill_thresholds`."""
    return (np.minimum(thresholds[..., 0], 1.0) * 2.0**_BITS).astype(np.uint64)


@kernel
def resample_two(first, last, path_range, offsets, rows, table, paths, streams, key):
    """Draw each site given its neighbours by the table of `limits_of`, for a range of paths."""
    limits = local_array(_LIMITS, np.uint64).reshape((4, 2, _SLOTS))
    for k in range(first, last):
        start, stop = np.uint64(offsets[k]), np.uint64(offsets[k + 1])
        for j in range(path_range[0], path_range[1]):
            open_stream(streams[j], key.seed, key.sweep, j, k)
        for block in range(start, stop, _BLOCK):
            end = min(block + _BLOCK, stop)
            base = block - _TWO if block > start else block
            for i in range(base, end):
                row, colour, slot = np.uint64(rows[i]), (i - base) & _ONE, (i - base) >> _ONE
                limits[0, colour, slot] = table[row, 0, 0]
                limits[1, colour, slot] = table[row, 0, 1]
                limits[2, colour, slot] = table[row, 1, 0]
                limits[3, colour, slot] = table[row, 1, 1]
            for j in range(path_range[0], path_range[1]):
                site = start, stop, base, rows, table, limits, paths[j], streams[j, 0], streams[j, 1]
                _draw_colour(block, end, site)
                _draw_colour(base + _ONE, end if end == stop else end - _ONE, site)


@kernel
def _draw_colour(i, end, site):
    """Draw the sites i, i + 2, ... before `end`, of a sequence from `start` to `stop`."""
    start, stop, base, rows, table, limits, path, x, y = site
    while i < end:
        if i > start and i + _SPAN < stop and i + _SPAN < end + _TWO:
            draw_eight(i - start, (i - base) & _ONE, (i - base) >> _ONE, limits, path, i, x, y)
            i += _SPAN
        else:
            before = np.uint64(path[i - _ONE]) if i > start else _TWO
            after = np.uint64(path[i + _ONE]) if i + _ONE < stop else _TWO
            path[i] = _is_one(table[np.uint64(rows[i]), before, after], i - start, x, y)
            i += _TWO


@kernel
def _is_one(limit, position, x, y):
    """Return whether a site is in state 1; `x` and `y` are the opened stream of the path."""
    return (hash_position(x, y, position) >> _ONE) >= limit


def draw_eight(position, colour, slot, limits, path, i, x, y):
    """Draw the sites i, i + 2, ..., i + 14 of a path, all of which have neighbours.

    `position` is the place of the first in its sequence, and `slot` its place among those of the colour in
    the block. The path must go on until i + 16, which is read.
    """
    for lane in range(_LANES):
        here = int(i) + 2 * lane
        cell = 2 * int(path[here - 1]) + int(path[here + 1])
        limit = limits[cell, int(colour), int(slot) + lane]
        path[here] = _is_one(limit, np.uint64(int(position) + 2 * lane), x, y)


@intrinsic
def _draw_eight(
    _: Any, position: Any, colour: Any, slot: Any, limits: Any, path: Any, i: Any, x: Any, y: Any
) -> Any:
    signature = types.void(position, colour, slot, limits, path, i, x, y)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        position, colour, slot, _limits, _path, i, x, y = args
        limits, path = (context.make_array(signature.args[k])(context, builder, args[k]).data for k in (3, 4))
        index = ir.IntType(64)
        wide = ir.VectorType(index, _LANES)

        def everywhere(value: Any) -> Any:
            nothing = ir.Constant(ir.VectorType(value.type, _LANES), ir.Undefined)
            single = builder.insert_element(nothing, value, ir.IntType(32)(0))
            return builder.shuffle_vector(
                single, nothing, ir.Constant(ir.VectorType(ir.IntType(32), _LANES), [0] * _LANES)
            )

        def folded(bits: Any, n: int) -> Any:
            return builder.xor(bits, builder.lshr(bits, everywhere(index(n))))

        # The bits of `hash_position`
        steps = [(2 * lane + 1) * int(GOLDEN) % 2**64 for lane in range(_LANES)]
        bits = everywhere(builder.add(x, builder.mul(position, index(int(GOLDEN)))))
        bits = builder.add(bits, ir.Constant(wide, steps))
        bits = builder.mul(folded(bits, 30), everywhere(builder.or_(y, index(1))))
        bits = folded(builder.mul(folded(bits, 27), everywhere(index(int(MULTIPLY_B)))), 31)

        # A pair of states is read as one number: the first is its lower half.
        size = path.type.pointee.width
        pair = ir.IntType(2 * size)
        pairs = ir.VectorType(pair, _LANES)

        def place_of(data: Any, first: Any, kind: Any) -> Any:
            return builder.bitcast(builder.gep(data, [first]), kind.as_pointer())

        def first_of_pairs(where: Any) -> Any:
            loaded = builder.load(place_of(path, where, pairs), align=size // 8)
            return builder.and_(loaded, everywhere(pair(2**size - 1)))

        nothing = ir.Constant(pairs, None)
        before = first_of_pairs(builder.sub(i, index(1)))
        after = first_of_pairs(builder.add(i, index(1)))
        is_after = builder.icmp_unsigned("!=", after, nothing)
        slot = builder.add(slot, builder.mul(colour, index(_SLOTS)))

        def limit(before: int) -> Any:
            cells = (builder.add(slot, index((2 * before + after) * 2 * _SLOTS)) for after in (1, 0))
            values = (builder.load(place_of(limits, cell, wide), align=8) for cell in cells)
            return builder.select(is_after, *values)

        limit = builder.select(builder.icmp_unsigned("!=", before, nothing), limit(1), limit(0))
        is_one = builder.icmp_unsigned(">=", builder.lshr(bits, everywhere(index(64 - _BITS))), limit)
        drawn = builder.select(is_one, everywhere(pair(2**size)), nothing)
        place = place_of(path, builder.sub(i, index(1)), pairs)
        builder.store(builder.or_(before, drawn), place, align=size // 8)
        return context.get_dummy_value()

    return signature, generate


@overload(draw_eight, inline="always")
def _compiled_draw_eight(position, colour, slot, limits, path, i, x, y):
    if path.layout != "C":  # such as a view that a user passes

        def plain(position, colour, slot, limits, path, i, x, y):
            for lane in range(_LANES):
                here = i + np.uint64(2 * lane)
                before, after = np.uint64(path[here - _ONE]), np.uint64(path[here + _ONE])
                limit = limits[_TWO * before + after, colour, slot + np.uint64(lane)]
                path[here] = _is_one(limit, position + np.uint64(2 * lane), x, y)

        return plain

    def compiled(position, colour, slot, limits, path, i, x, y):
        _draw_eight(position, colour, slot, limits, path, i, x, y)  # type: ignore[call-arg]

    return compiled
