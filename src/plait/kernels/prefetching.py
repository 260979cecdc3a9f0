"""Requests for memory that will be needed soon.

Tables of words and topics are larger than the caches of one core, and words come in no order. A row that has
to be fetched when it is needed costs up to 100 ns, more than drawing a topic from it.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

LINE: Final = 64
"""Bytes in a line of the cache."""


def prefetch_row(table, row):
    """Request all lines of a row of a contiguous table."""


def prefetch_cell(table, row, column):
    """Request the line of one cell of a contiguous table."""


def _request(builder: Any, place: Any) -> None:
    integer, pointer = ir.IntType(32), ir.IntType(8).as_pointer()
    kind = ir.FunctionType(ir.VoidType(), [pointer, integer, integer, integer])
    call = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
    builder.call(call, [builder.bitcast(place, pointer), integer(0), integer(3), integer(1)])  # to all caches


@intrinsic
def _prefetch_row(_: Any, table: Any, row: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, args[0])
        n = cgutils.unpack_tuple(builder, array.shape)[1]
        start = builder.gep(array.data, [builder.mul(args[1], n)])
        step = LINE // (signature.args[0].dtype.bitwidth // 8)
        with cgutils.for_range_slice(builder, n.type(0), n, n.type(step), inc=True) as (k, _count):
            _request(builder, builder.gep(start, [k]))
        return context.get_dummy_value()

    return types.void(table, row), generate


@intrinsic
def _prefetch_cell(_: Any, table: Any, row: Any, column: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, args[0])
        n = cgutils.unpack_tuple(builder, array.shape)[1]
        _request(builder, builder.gep(array.data, [builder.add(builder.mul(args[1], n), args[2])]))
        return context.get_dummy_value()

    return types.void(table, row, column), generate


@overload(prefetch_row, inline="always")
def _compiled_prefetch_row(table, row):
    def compiled(table, row):
        _prefetch_row(table, np.uint64(row))  # type: ignore[call-arg]

    return compiled


@overload(prefetch_cell, inline="always")
def _compiled_prefetch_cell(table, row, column):
    def compiled(table, row, column):
        _prefetch_cell(table, np.uint64(row), np.uint64(column))  # type: ignore[call-arg]

    return compiled
