"""A row times a matrix, and draws from products of two rows, by vector instructions: for many states.

What LLVM makes of plain loops keeps the sums in memory, or adds one number at a time. Here the sums of 32
columns are vectors in registers, one set for even rows of the matrix and one for odd ones, so that additions
need not wait for each other. Draws lay their weights out in lanes, as `plait.kernels.vectors` does, and four
of them are made side by side, for the same reason. What does not fill a vector is read and written through a
mask. Multiplications and additions are fused, and the order of the additions is fixed, so the bits do not
depend on the processor. The Python functions of the same names define what is computed, and run where
compilation is switched off.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic, overload

COLUMNS: Final = 32
"""Columns of the matrix at a time."""

_NARROW: Final = (8, 16)  # columns at a time if no more are left

_INDEX, _INTEGER, _NUMBER = ir.IntType(64), ir.IntType(32), ir.DoubleType()

LANES: Final = 8
"""Lanes of the weights of a draw."""


def _fused(x, y, z):
    """Return x y + z, rounded once."""
    return float(Fraction(x) * Fraction(y) + Fraction(z))


def multiply_row(source, row, matrix, factors, factor, target, to):
    """Set target(r) = factor(r) sum_s source(s) matrix(s, r), each a row of an array; return the sum over r.

    `source` and `target` may be the same array, if the rows are different ones. Even and odd s are added up
    separately. The sum over r is that of the sums over columns r, r + 32, r + 64, ..., added up in halves.
    """
    n_states = matrix.shape[0]
    sums = np.zeros(COLUMNS)
    for r in range(n_states):
        totals = [0.0, 0.0]
        for s in range(n_states):
            totals[s % 2] = _fused(source[row, s], matrix[s, r], totals[s % 2])
        target[to, r] = (totals[0] + totals[1]) * factors[factor, r]
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
        # As whole numbers, for which LLVM chooses a cheaper instruction.
        kind = ir.VectorType(_INDEX, self.width)
        order = [k - distance if 0 <= k - distance < self.width else self.width for k in range(self.width)]
        bits = self.builder.bitcast(values, kind)
        bits = self.builder.shuffle_vector(bits, ir.Constant(kind, [0] * self.width), self._order(order))
        return self.builder.bitcast(bits, self.numbers)

    def fused(self, x: Any, y: Any, z: Any) -> Any:
        """Return x y + z, rounded once."""
        kind = ir.FunctionType(self.numbers, [self.numbers] * 3)
        name = f"llvm.fma.v{self.width}f64"
        return self.builder.call(cgutils.get_or_insert_function(self.builder.module, kind, name), [x, y, z])

    def widened(self, values: Any, width: int) -> Any:
        """Return the numbers, followed by zeros up to another width."""
        order = [min(k, self.width) for k in range(width)]
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
        return ir.Constant(ir.VectorType(_INTEGER, len(order)), order)

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
        row_of = _rows_of(context, builder, signature, args)
        matrix = context.make_array(signature.args[2])(context, builder, args[2])
        n = cgutils.unpack_tuple(builder, matrix.shape)[0]
        message, factor, result = row_of(0, args[1]), row_of(3, args[4]), row_of(5, args[6])
        wide = _Vectors(builder, COLUMNS)
        sums = cgutils.alloca_once_value(builder, wide.zeros)

        def add_columns(vectors: _Vectors, first: Any, mask: Any) -> None:
            totals = [cgutils.alloca_once_value(builder, vectors.zeros) for _ in range(2)]
            for total in totals:
                builder.store(vectors.zeros, total)

            def add_row(s: Any, total: Any) -> None:
                values = vectors.load(builder.gep(row_of(2, s), [first]), mask)
                weight = vectors.everywhere(builder.load(builder.gep(message, [s])))
                builder.store(vectors.fused(weight, values, builder.load(total)), total)

            even = builder.and_(n, _INDEX(-2))
            with cgutils.for_range_slice(builder, _INDEX(0), even, _INDEX(2), inc=True) as (s, _count):
                add_row(s, totals[0])
                add_row(builder.add(s, _INDEX(1)), totals[1])
            with builder.if_then(builder.icmp_unsigned("!=", even, n)):
                add_row(even, totals[0])
            values = builder.fadd(*(builder.load(total) for total in totals))
            values = builder.fmul(values, vectors.load(builder.gep(factor, [first]), mask))
            vectors.store(values, builder.gep(result, [first]), mask)
            builder.store(builder.fadd(builder.load(sums), vectors.widened(values, COLUMNS)), sums)

        def add_rest(first: Any, widths: list[int]) -> None:
            left = builder.sub(n, first)
            vectors = _Vectors(builder, widths[0])
            if len(widths) == 1:
                add_columns(vectors, first, vectors.mask(left))
                return
            fits = builder.icmp_unsigned("<=", left, _INDEX(widths[0]))
            with builder.if_else(fits) as (then, otherwise):
                with then:
                    add_columns(vectors, first, vectors.mask(left))
                with otherwise:
                    add_rest(first, widths[1:])

        def add(first: Any, mask: Any) -> None:
            if mask is None:
                add_columns(wide, first, None)
            else:
                add_rest(first, [*_NARROW, COLUMNS])

        wide.for_rows(n, add)
        total, half = builder.load(sums), COLUMNS // 2
        while half:
            total = builder.fadd(total, wide.moved(total, -half))
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


def draw_products(left, row, right, lines, variates):
    """Return a tuple of states, drawn with the weights left(s) right(s), one for each line of a tuple.

    The weights of a draw are a row of `left`, which all share, times its own line of `right`; its variate is
    from 0 to 1. Weights are added down the lanes s % 8, and the lanes from left to right. The draw picks a
    lane by these sums, and a state within the lane. Sums that do not exceed the position are counted, not
    searched. Rounding may lead beyond the last weight of a lane, or to a weight of zero: the caller takes
    care of it.
    """
    return tuple(_draw_product(left[row], right[line], u) for line, u in zip(lines, variates, strict=True))


def _draw_product(left, right, u):
    sums = np.zeros(LANES)
    for s in range(left.size):
        sums[s % LANES] = _fused(left[s], right[s], sums[s % LANES])
    distance = 1
    while distance < LANES:
        sums[distance:] = sums[distance:] + sums[:-distance]
        distance *= 2
    x = u * sums[-1]
    lane = min(int(np.sum(sums <= x)), LANES - 1)
    x -= sums[lane - 1] if lane > 0 else 0.0
    chosen, total = lane, 0.0
    for s in range(lane, left.size - LANES, LANES):
        total = _fused(left[s], right[s], total)
        chosen += LANES * (total <= x)
    return np.uint64(chosen)


@intrinsic
def _draw_products(_: Any, left: Any, row: Any, right: Any, lines: Any, variates: Any) -> Any:
    signature = types.UniTuple(types.uint64, len(lines))(left, row, right, lines, variates)
    draws = range(len(lines))

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        vectors = _Vectors(builder, LANES)
        row_of = _rows_of(context, builder, signature, args)
        array = context.make_array(signature.args[0])(context, builder, args[0])
        n = cgutils.unpack_tuple(builder, array.shape)[1]
        lines, variates = (cgutils.unpack_tuple(builder, args[k], len(draws)) for k in (3, 4))
        left, right = row_of(0, args[1]), [row_of(2, line) for line in lines]
        sums = [cgutils.alloca_once_value(builder, vectors.zeros) for _ in draws]
        for j in draws:
            builder.store(vectors.zeros, sums[j])

        def add_row(first: Any, mask: Any) -> None:
            shared = vectors.load(builder.gep(left, [first]), mask)
            for j in draws:
                own = vectors.load(builder.gep(right[j], [first]), mask)
                builder.store(vectors.fused(shared, own, builder.load(sums[j])), sums[j])

        vectors.for_rows(n, add_row)
        values, distance = [builder.load(sums[j]) for j in draws], 1
        while distance < LANES:
            values = [builder.fadd(value, vectors.moved(value, distance)) for value in values]
            distance *= 2
        totals = [builder.extract_element(value, _INTEGER(LANES - 1)) for value in values]
        places = [builder.fmul(*pair) for pair in zip(variates, totals, strict=True)]
        lanes = []
        for j in draws:
            past = builder.fcmp_ordered("<=", values[j], vectors.everywhere(places[j]))
            count = builder.zext(builder.ctpop(builder.bitcast(past, ir.IntType(LANES))), _INDEX)
            is_beyond = builder.icmp_unsigned(">=", count, _INDEX(LANES))
            lanes.append(builder.select(is_beyond, _INDEX(LANES - 1), count))
        for j in draws:
            before = builder.extract_element(vectors.moved(values[j], 1), builder.trunc(lanes[j], _INTEGER))
            places[j] = builder.fsub(places[j], before)

        chosen = [cgutils.alloca_once_value(builder, lane) for lane in lanes]
        totals = [cgutils.alloca_once_value(builder, _NUMBER(0.0)) for _ in draws]
        for j in draws:
            builder.store(lanes[j], chosen[j])
            builder.store(_NUMBER(0.0), totals[j])
        bounds = builder.sub(n, _INDEX(LANES))  # states before this have others after them in their lanes
        stop = builder.and_(builder.sub(n, _INDEX(1)), _INDEX(-LANES))
        with cgutils.for_range_slice(builder, _INDEX(0), stop, _INDEX(LANES), inc=True) as (start, _count):
            for j in draws:
                state = builder.add(start, lanes[j])
                weights = (builder.load(builder.gep(side, [state])) for side in (left, right[j]))
                total = builder.fma(*weights, builder.load(totals[j]))
                builder.store(total, totals[j])
                is_past = builder.fcmp_ordered("<=", total, places[j])
                is_past = builder.and_(is_past, builder.icmp_unsigned("<", state, bounds))
                step = builder.select(is_past, _INDEX(LANES), _INDEX(0))
                builder.store(builder.add(builder.load(chosen[j]), step), chosen[j])
        return context.make_tuple(builder, signature.return_type, [builder.load(state) for state in chosen])

    return signature, generate


@overload(draw_products, inline="always")
def _compiled_draw_products(left, row, right, lines, variates):
    _check_arrays(left, right)

    def compiled(left, row, right, lines, variates):
        return _draw_products(left, np.uint64(row), right, lines, variates)  # type: ignore[call-arg]

    return compiled
