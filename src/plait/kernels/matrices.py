"""A row times a matrix, and a draw from the product of two rows, by vector instructions: for many states.

What LLVM makes of plain loops keeps the sums in memory, or adds one number at a time. Here the sums of 16
columns are four vectors in registers, and all rows of the matrix are added to them. A draw lays its weights
out in lanes, as `plait.kernels.vectors` does. What does not fill a vector is read and written through a mask.
The order of the additions is fixed, so the bits do not depend on the processor. The Python functions of the
same names define what is computed, and run where compilation is switched off.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic, overload

COLUMNS: Final = 16
"""Columns of the matrix at a time."""

_INDEX, _INTEGER = ir.IntType(64), ir.IntType(32)

LANES: Final = 8
"""Lanes of the weights of a draw."""


def multiply_row(source, row, matrix, factors, factor, target, to):
    """Set target(r) = factor(r) sum_s source(s) matrix(s, r), each a row of an array; return the sum over r.

    `source` and `target` may be the same array, if the rows are different ones. The sum over r is that of the
    sums over columns r, r + 16, r + 32, ..., added up in halves.
    """
    n_states = matrix.shape[0]
    sums = np.zeros(COLUMNS)
    for r in range(n_states):
        total = 0.0
        for s in range(n_states):
            total += source[row, s] * matrix[s, r]
        target[to, r] = total * factors[factor, r]
        sums[r % COLUMNS] += target[to, r]
    half = COLUMNS // 2
    while half:
        sums[:half] += sums[half : 2 * half]
        half //= 2
    return sums[0]


class _Vectors:
    """Builds instructions on vectors of `width` numbers, whole or through a mask."""

    def __init__(self, builder: Any, width: int) -> None:
        self.builder, self.width = builder, width
        self.numbers = ir.VectorType(ir.DoubleType(), width)
        self.zeros = ir.Constant(self.numbers, [0.0] * width)

    def everywhere(self, value: Any) -> Any:
        """Return a vector with one value in all lanes."""
        nothing = ir.Constant(ir.VectorType(value.type, self.width), ir.Undefined)
        single = self.builder.insert_element(nothing, value, _INTEGER(0))
        return self.builder.shuffle_vector(single, nothing, self._order([0] * self.width))

    def mask(self, n: Any) -> Any:
        """Return the mask of the first n lanes."""
        lanes = ir.Constant(ir.VectorType(_INDEX, self.width), list(range(self.width)))
        return self.builder.icmp_unsigned("<", lanes, self.everywhere(n))

    def load(self, place: Any, mask: Any = None) -> Any:
        """Return the numbers at a place; zeros where there is a mask and it says no."""
        place = self.builder.bitcast(place, self.numbers.as_pointer())
        if mask is None:
            return self.builder.load(place, align=8)
        kinds = [place.type, _INTEGER, mask.type, self.numbers]
        load = self._function("load", self.numbers, kinds)
        return self.builder.call(load, [place, _INTEGER(8), mask, self.zeros])

    def store(self, values: Any, place: Any, mask: Any = None) -> None:
        """Write numbers to a place, only where the mask says so if there is one."""
        place = self.builder.bitcast(place, self.numbers.as_pointer())
        if mask is None:
            self.builder.store(values, place, align=8)
            return
        store = self._function("store", ir.VoidType(), [self.numbers, place.type, _INTEGER, mask.type])
        self.builder.call(store, [values, place, _INTEGER(8), mask])

    def moved(self, values: Any, distance: int) -> Any:
        """Return a vector whose lane k is lane k - distance of `values`, zero if there is no such lane."""
        order = [k - distance if 0 <= k - distance < self.width else self.width for k in range(self.width)]
        return self.builder.shuffle_vector(values, self.zeros, self._order(order))

    def for_rows(self, n: Any, do: Callable[[Any, Any], None]) -> None:
        """Call `do` with the start and the mask of each row of n numbers; a whole row has no mask."""
        whole = self.builder.mul(self.builder.udiv(n, _INDEX(self.width)), _INDEX(self.width))
        with cgutils.for_range_slice(self.builder, _INDEX(0), whole, _INDEX(self.width), inc=True) as (
            first,
            _count,
        ):
            do(first, None)
        left = self.builder.sub(n, whole)
        with self.builder.if_then(self.builder.icmp_unsigned("!=", left, _INDEX(0))):
            do(whole, self.mask(left))

    def _order(self, order: list[int]) -> Any:
        return ir.Constant(ir.VectorType(_INTEGER, self.width), order)

    def _function(self, name: str, result: Any, kinds: list[Any]) -> Any:
        kind = ir.FunctionType(result, kinds)
        name = f"llvm.masked.{name}.v{self.width}f64.p0"
        return cgutils.get_or_insert_function(self.builder.module, kind, name)


def _check_arrays(*arrays: Any) -> None:
    if any(array.layout != "C" or array.dtype != types.float64 for array in arrays):
        raise TypingError("rows and matrices must be contiguous arrays of float64")


def _rows_of(context: Any, builder: Any, signature: Any, args: Any) -> Callable[[int, Any], Any]:
    """Return a function that takes the position of an array among the arguments, and returns a row of it."""

    def row_of(position: int, row: Any) -> Any:
        array = context.make_array(signature.args[position])(context, builder, args[position])
        width = cgutils.unpack_tuple(builder, array.shape)[1]
        return builder.gep(array.data, [builder.mul(row, width)])

    return row_of


@intrinsic
def _multiply_row(
    _: Any, source: Any, row: Any, matrix: Any, factors: Any, factor: Any, target: Any, to: Any
) -> Any:
    signature = types.float64(source, row, matrix, factors, factor, target, to)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        vectors = _Vectors(builder, COLUMNS)
        row_of = _rows_of(context, builder, signature, args)
        matrix = context.make_array(signature.args[2])(context, builder, args[2])
        n = cgutils.unpack_tuple(builder, matrix.shape)[0]
        message, factor, result = row_of(0, args[1]), row_of(3, args[4]), row_of(5, args[6])
        sums = cgutils.alloca_once_value(builder, vectors.zeros)
        column = cgutils.alloca_once_value(builder, vectors.zeros)

        def add_columns(first: Any, mask: Any) -> None:
            builder.store(vectors.zeros, column)
            with cgutils.for_range(builder, n) as loop:
                values = vectors.load(builder.gep(row_of(2, loop.index), [first]), mask)
                weight = vectors.everywhere(builder.load(builder.gep(message, [loop.index])))
                builder.store(builder.fadd(builder.load(column), builder.fmul(weight, values)), column)
            factors = vectors.load(builder.gep(factor, [first]), mask)
            values = builder.fmul(builder.load(column), factors)
            vectors.store(values, builder.gep(result, [first]), mask)
            builder.store(builder.fadd(builder.load(sums), values), sums)

        vectors.for_rows(n, add_columns)
        total, half = builder.load(sums), COLUMNS // 2
        while half:
            total = builder.fadd(total, vectors.moved(total, -half))
            half //= 2
        return builder.extract_element(total, _INTEGER(0))

    return signature, generate


@overload(multiply_row, inline="always")
def _compiled_multiply_row(source, row, matrix, factors, factor, target, to):
    _check_arrays(source, matrix, factors, target)

    def compiled(source, row, matrix, factors, factor, target, to):
        return _multiply_row(  # type: ignore[call-arg]
            source, np.uint64(row), matrix, factors, np.uint64(factor), target, np.uint64(to)
        )

    return compiled


def draw_product(left, row, right, line, u):
    """Return a state drawn with the weights left(s) right(s), each a row of an array, at u from 0 to 1.

    Weights are added down the lanes s % 8, and the lanes from left to right. The draw picks a lane by these
    sums, and a state within the lane. Sums that do not exceed the position are counted, not searched.
    Rounding may lead beyond the last weight of a lane, or to a weight of zero: the caller takes care of it.
    """
    n_states = left.shape[1]
    sums = np.zeros(LANES)
    for s in range(n_states):
        sums[s % LANES] += left[row, s] * right[line, s]
    distance = 1
    while distance < LANES:
        sums[distance:] = sums[distance:] + sums[:-distance]
        distance *= 2
    x = u * sums[-1]
    lane = min(int(np.sum(sums <= x)), LANES - 1)
    x -= sums[lane - 1] if lane > 0 else 0.0
    chosen, total = lane, 0.0
    for s in range(lane, n_states - LANES, LANES):
        total += left[row, s] * right[line, s]
        chosen += LANES * (total <= x)
    return np.uint64(chosen)


@intrinsic
def _draw_product(_: Any, left: Any, row: Any, right: Any, line: Any, u: Any) -> Any:
    signature = types.uint64(left, row, right, line, u)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        vectors = _Vectors(builder, LANES)
        row_of = _rows_of(context, builder, signature, args)
        array = context.make_array(signature.args[0])(context, builder, args[0])
        n = cgutils.unpack_tuple(builder, array.shape)[1]
        left, right = row_of(0, args[1]), row_of(2, args[3])
        sums = cgutils.alloca_once_value(builder, vectors.zeros)

        def add_row(first: Any, mask: Any) -> None:
            weights = (vectors.load(builder.gep(side, [first]), mask) for side in (left, right))
            builder.store(builder.fadd(builder.load(sums), builder.fmul(*weights)), sums)

        vectors.for_rows(n, add_row)
        values, distance = builder.load(sums), 1
        while distance < LANES:
            values = builder.fadd(values, vectors.moved(values, distance))
            distance *= 2
        x = builder.fmul(args[4], builder.extract_element(values, _INTEGER(LANES - 1)))
        past = builder.fcmp_ordered("<=", values, vectors.everywhere(x))
        count = builder.zext(builder.ctpop(builder.bitcast(past, ir.IntType(LANES))), _INDEX)
        is_beyond = builder.icmp_unsigned(">=", count, _INDEX(LANES))
        lane = builder.select(is_beyond, _INDEX(LANES - 1), count)
        before = builder.extract_element(vectors.moved(values, 1), builder.trunc(lane, _INTEGER))
        x = builder.fsub(x, before)

        chosen = cgutils.alloca_once_value(builder, lane)
        total = cgutils.alloca_once_value(builder, ir.DoubleType()(0.0))
        stop = builder.select(
            builder.icmp_unsigned(">", n, _INDEX(LANES)), builder.sub(n, _INDEX(LANES)), _INDEX(0)
        )
        with cgutils.for_range_slice(builder, lane, stop, _INDEX(LANES), inc=True) as (state, _count):
            weights = (builder.load(builder.gep(side, [state])) for side in (left, right))
            builder.store(builder.fadd(builder.load(total), builder.fmul(*weights)), total)
            is_past = builder.fcmp_ordered("<=", builder.load(total), x)
            step = builder.select(is_past, _INDEX(LANES), _INDEX(0))
            builder.store(builder.add(builder.load(chosen), step), chosen)
        return builder.load(chosen)

    return signature, generate


@overload(draw_product, inline="always")
def _compiled_draw_product(left, row, right, line, u):
    _check_arrays(left, right)

    def compiled(left, row, right, line, u):
        return _draw_product(left, np.uint64(row), right, np.uint64(line), u)  # type: ignore[call-arg]

    return compiled
