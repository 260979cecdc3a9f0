"""Checks of arrays, one function for each kind: no array from a user or a file reaches a kernel without one.

Kernels run without bounds checks: a wrong index, offset or shape makes them read or write beyond their
arrays. So an array is checked for dtype, shape, range and order where it enters, and what is kept of it is
read-only. Checks that read every number are made once, when data or results are built, and once per sweep
for the paths; `check_form` takes constant time, so it can precede every call of a kernel.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from mmap import mmap
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from plait.checks import short_repr
from plait.errors import Argument, Part, PlaitError

Floats = NDArray[np.float64]

Form = tuple[tuple[int, ...], DTypeLike]
"""Shape and dtype of an array."""


# -----------------------------------------------------------------------------------------------------
# Read-only arrays
# -----------------------------------------------------------------------------------------------------


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Make the array read-only and return it."""
    array.flags.writeable = False
    return array


def frozen_copy(array: ArrayLike) -> NDArray[Any]:
    """Return a read-only copy of the array in C order."""
    return frozen(np.array(array, order="C"))


def with_row(array: NDArray[Any], k: int, row: ArrayLike) -> NDArray[Any]:
    """Return a copy of the array with row k replaced."""
    changed = np.array(array, order="C")
    changed[k] = row
    return changed


def is_frozen(array: NDArray[Any]) -> bool:
    """Return whether neither the array nor any array that it is a view of can be written to.

    A file that is mapped read-only counts as frozen, although another program may write to it.
    """
    owner: object = array
    while isinstance(owner, np.ndarray):
        if owner.flags.writeable:
            return False
        owner = owner.base
    is_map = isinstance(owner, mmap) and memoryview(owner).readonly
    return owner is None or isinstance(owner, bytes) or is_map


def place_of(wrong: NDArray[np.bool_]) -> tuple[str, tuple[int, ...]]:
    """Return the first True entry, as text for messages ("[2][0]") and as an index."""
    index = tuple(int(i) for i in np.argwhere(wrong)[0])
    return "".join(f"[{i}]" for i in index), index


# -----------------------------------------------------------------------------------------------------
# Whole numbers: indices, offsets, paths
# -----------------------------------------------------------------------------------------------------


def check_integer_array(name: str, values: ArrayLike, dtype: type[np.signedinteger[Any]]) -> NDArray[Any]:
    """Return one-dimensional whole numbers as a contiguous read-only array of the given dtype.

    An array of that dtype and layout that nobody can write to is returned as it is; others are copied.
    """
    try:
        given = np.asarray(values)
    except ValueError:
        raise PlaitError(
            Argument(name),
            " must be a one-dimensional array, got entries of different lengths: put all numbers into one",
        ) from None
    if given.ndim != 1:
        raise PlaitError(Argument(name), f" must be a one-dimensional array, got {given.ndim} dimensions")
    # An empty list becomes an array of floats.
    if given.dtype.kind not in ("iu" if given.size else "iuf"):
        raise PlaitError(Argument(name), f" must be an array of whole numbers, got dtype {given.dtype}")
    limits = np.iinfo(dtype)
    if given.size and (int(given.max()) > limits.max or int(given.min()) < limits.min):
        raise PlaitError(
            Argument(name), f" must fit into {limits.dtype}, got numbers from {given.min()} to {given.max()}"
        )
    result = np.require(given, dtype, ["C", "A"])
    fresh = isinstance(values, (list, tuple))
    if not fresh and np.may_share_memory(result, given) and not is_frozen(result):
        result = result.copy()
    return frozen(result)


def check_indices(name: str, values: ArrayLike, n: int, what: str) -> NDArray[np.int32]:
    """Return indices, each at least 0 and less than `n`, as a read-only array of int32.

    Parameters
    ----------
    name : str
        Name of the argument.
    values : array of int, (N,)
        The indices as they were given.
    n : int
        Number of things that they number, at most 2**31.
    what : str
        What `n` is, for messages, such as "the size of the vocabulary".
    """
    indices = check_integer_array(name, values, np.int32)
    if indices.size and (indices.min() < 0 or indices.max() >= n):
        at = int(np.argmax((indices < 0) | (indices >= n)))
        raise PlaitError(
            Argument(name), f"[{at}] must be at least 0 and less than {n}, {what}, got {indices[at]}"
        )
    return indices


def check_range_of_sites(first: Any, last: Any, n_sites: int) -> None:
    """Raise an error unless the sites `first` to `last` are some of the `n_sites` sites."""
    are_whole = isinstance(first, (int, np.integer)) and isinstance(last, (int, np.integer))
    if not are_whole or not 0 <= first <= last <= n_sites:
        raise PlaitError(
            Argument("first"),
            " and ",
            Argument("last"),
            f" must be whole numbers from 0 to {n_sites}, the number of sites, in this order, got"
            f" {short_repr(first)} and {short_repr(last)}",
        )


def check_offsets(values: ArrayLike, n: int, of: str) -> NDArray[np.int64]:
    """Return offsets that go from 0 to `n`, the number `of` things, as a read-only array of int64."""
    offsets = check_integer_array("offsets", values, np.int64)
    # Compare rather than subtract: the difference of two extreme numbers overflows.
    decreases = offsets[1:] < offsets[:-1]
    if offsets.size < 2 or offsets[0] != 0 or offsets[-1] != n:
        got = f"{offsets[0]} to {offsets[-1]}" if offsets.size else "none"
    elif decreases.any():
        i = int(np.argmax(decreases))
        got = f"{offsets[i + 1]} after {offsets[i]}"
    else:
        return offsets
    raise PlaitError(
        Argument("offsets"), f" must go from 0 to {n}, the number of {of}, and never decrease, got {got}"
    )


def check_form_of_paths(paths: Any, n_paths: int | None = None, n_sites: int | None = None) -> None:
    """Raise an error unless paths are integers of shape (m, N); None stands for any number."""
    is_array = isinstance(paths, np.ndarray) and paths.ndim == 2 and paths.dtype.kind in "ui"
    is_array = is_array and paths.dtype.isnative
    given = {"m": n_paths, "N": n_sites}.items()
    if not is_array or any(n not in (None, got) for (_, n), got in zip(given, paths.shape, strict=True)):
        shape = ", ".join(letter if n is None else str(n) for letter, n in given)
        got = f"{paths.dtype} of shape {paths.shape}" if isinstance(paths, np.ndarray) else short_repr(paths)
        raise PlaitError(Argument("paths"), f" must be an array of integers of shape ({shape}), got {got}")


def check_paths(
    paths: Any,
    n_sites: int,
    n_states: int,
    *,
    n_paths: int | None = None,
    dtype: type[np.unsignedinteger[Any]] | None = None,
) -> NDArray[Any]:
    """Return paths whose states are whole numbers from 0 to `n_states` - 1.

    They are returned as they are, not copied, if they have the right dtype and layout.

    Parameters
    ----------
    paths : ndarray of int, (m, N)
        The paths.
    n_sites, n_states : int
        Numbers of sites N and of states.
    n_paths : int, optional
        Number of paths m; by default there may be any number.
    dtype : type, optional
        The dtype of the result, which holds all states; by default that of `paths`, if it does.
    """
    check_form_of_paths(paths, n_paths, n_sites)
    at_least_0 = paths.dtype.kind == "u" or not paths.size or int(paths.min()) >= 0
    if paths.size and not (at_least_0 and int(paths.max()) < n_states):
        place, index = place_of((paths < 0) | (paths >= n_states))
        raise PlaitError(Argument("paths"), f"{place} must be from 0 to {n_states - 1}, got {paths[index]}")
    if dtype is not None:
        return np.require(paths, dtype, ["C", "A"])
    if np.iinfo(paths.dtype).max < n_states - 1:
        raise PlaitError(
            Argument("paths"), f" must have a dtype that holds {n_states} states, got {paths.dtype}"
        )
    return paths


# -----------------------------------------------------------------------------------------------------
# Real numbers
# -----------------------------------------------------------------------------------------------------


def check_numbers(name: str, value: ArrayLike) -> Floats:
    """Return real numbers as an array of float64."""
    try:
        given = np.asarray(value)
        # NumPy would also convert complex numbers, strings and None.
        if given.dtype.kind in "biufO" and value is not None:
            with np.errstate(over="ignore"):  # a number that is too large becomes infinite
                return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        pass
    raise PlaitError(Argument(name), f" must be a number or an array of numbers, got {short_repr(value)}")


def check_form(name: Part, array: Any, shape: tuple[int, ...], dtype: DTypeLike = np.float64) -> None:
    """Raise an error unless `array` is an array of this dtype and shape; its numbers are not looked at.

    The name is an `Argument`, or text such as "the start probabilities".
    """
    if not isinstance(array, np.ndarray) or array.dtype != dtype:
        got = f"dtype {array.dtype}" if isinstance(array, np.ndarray) else short_repr(array)
        raise PlaitError(name, f" must be an array of {np.dtype(dtype)}, got {got}")
    if array.shape != shape:
        raise PlaitError(name, f" must have shape {shape}, got {array.shape}")


def check_changeable(name: Part, array: NDArray[Any]) -> None:
    """Raise an error if an array that a kernel is to change is read-only; the name is as in `check_form`."""
    if not array.flags.writeable:
        raise PlaitError(name, " must not be read-only, as they are changed in place: pass a copy")


def check_parts(
    name: str, given: Any, kind: type, forms: Mapping[str, Form], *, changed: bool = False
) -> None:
    """Raise an error unless several arrays in one object have the forms that kernels take.

    Like `check_form`, it takes constant time.

    Parameters
    ----------
    name : str
        Name of the argument.
    given : object
        What was given.
    kind : type
        The class that it must have.
    forms : mapping of str to (shape, dtype)
        The forms of its arrays, by the names of its attributes.
    changed : bool
        Whether kernels change the arrays in place.
    """
    if not isinstance(given, kind):
        raise PlaitError(Argument(name), f" must be {kind.__name__}, got {short_repr(given)}")
    for part, (shape, dtype) in forms.items():
        text, array = f"{part} of the {name}", getattr(given, part)
        check_form(text, array, shape, dtype)
        if not array.flags.c_contiguous:
            raise PlaitError(text, " must be in C order: copy them with numpy.ascontiguousarray")
        if changed:
            check_changeable(text, array)


def check_finite(name: Part, array: Any, shape: tuple[int, ...] | None = None) -> None:
    """Raise an error for numbers that are not finite or, if a shape is given, not an array of that shape.

    The name is as in `check_form`.
    """
    if shape is not None:
        check_form(name, array, shape)
    if not np.isfinite(array).all():
        place, index = place_of(~np.isfinite(array))
        raise PlaitError(name, f"{place} must be finite, got {array[index]:g}")


def check_distributions(name: str, value: ArrayLike, shape: tuple[int, ...]) -> Floats:
    """Return an attribute as an array of distributions, one per row, or raise an error."""
    array = np.ascontiguousarray(check_numbers(name, value))
    if array.shape != shape:
        raise PlaitError(Argument(name), f" must have shape {shape}, got {array.shape}")
    if not np.all(array >= 0):
        place, index = place_of(~(array >= 0))
        raise PlaitError(Argument(name), f"{place} must be from 0 to 1, got {array[index]:g}")
    sums = np.atleast_1d(array.sum(axis=-1))
    wrong = np.flatnonzero(~np.isclose(sums, 1))
    if len(wrong):
        row = f"row {wrong[0]} of " if len(shape) > 1 else ""
        raise PlaitError(row, Argument(name), f" must sum to 1, got {sums[wrong[0]]:.6g}")
    return array


# -----------------------------------------------------------------------------------------------------
# Arrays of a file
# -----------------------------------------------------------------------------------------------------


def stored(arrays: Mapping[str, NDArray[Any]], name: str, dtype: DTypeLike = np.float64) -> NDArray[Any]:
    """Return an array of a file, of any shape but exactly this dtype."""
    if name not in arrays:
        raise PlaitError(f"it has no array {name!r}")
    array = arrays[name]
    check_form(Argument(name), array, np.shape(array), dtype)
    return array


def stored_shapes(
    arrays: Mapping[str, NDArray[Any]], shapes: Mapping[str, tuple[int, ...]]
) -> dict[str, NDArray[Any]]:
    """Return arrays of real numbers of a file, by name.

    Each must have the full shape that was written. A smaller one could be broadcast to it, but then a few
    bytes in a file could stand for gigabytes in memory.
    """
    for name, shape in shapes.items():
        check_form(Argument(name), stored(arrays, name), shape)
    return {name: arrays[name] for name in shapes}


def rows_of(arrays: Mapping[str, NDArray[Any]], name: str) -> int:
    """Return the length of the first axis of an array of real numbers in a file: the number of its rows."""
    array = stored(arrays, name)
    if not array.ndim:
        raise PlaitError(Argument(name), " must have a row for each state, got one number")
    return len(array)


# -----------------------------------------------------------------------------------------------------
# Sparse matrices
# -----------------------------------------------------------------------------------------------------


def check_sparse(X: Any) -> None:
    """Raise an error if a sparse matrix of SciPy is not consistent; do nothing for other objects.

    SciPy checks little when a matrix is built and nothing when its arrays are changed, and trusts them in
    compiled code. So this comes before anything that walks the matrix, scikit-learn's validation included.
    """
    if not hasattr(X, "tocsr") or not hasattr(X, "format"):
        return
    shape = tuple(X.shape)
    if len(shape) != 2:
        raise PlaitError(f"the matrix has {len(shape)} dimensions: pass counts of shape (documents, words)")
    try:
        wrong = _WRONG_WITH[X.format](X, *shape) if X.format in _WRONG_WITH else ""
    except (AttributeError, LookupError, TypeError, ValueError, OverflowError) as error:
        wrong = f"its parts are not arrays that fit together ({short_repr(error)})"
    if wrong:
        raise PlaitError(f"the sparse matrix ({X.format}, {shape}) is damaged: {wrong}; build it again")


def _wrong_with_indices(name: str, indices: NDArray[Any], n: int) -> str:
    if indices.ndim != 1 or indices.dtype.kind not in "iu":
        return f"{name} must be one row of integers, got {indices.dtype} of shape {indices.shape}"
    if indices.size and not (int(indices.min()) >= 0 and int(indices.max()) < n):
        at = int(np.argmax((indices < 0) | (indices >= n)))
        return f"{name}[{at}] must be from 0 to {n - 1}, got {indices[at]}"
    return ""


def _wrong_with_compressed(X: Any, n_major: int, n_minor: int) -> str:
    indptr, indices = X.indptr, X.indices
    if indptr.dtype.kind not in "iu" or indptr.shape != (n_major + 1,):
        return f"indptr must be {n_major + 1} integers, got {indptr.dtype} of shape {indptr.shape}"
    most = min(len(indices), len(X.data))
    if indptr[0] != 0 or (indptr[1:] < indptr[:-1]).any() or indptr[-1] > most:
        return f"indptr must start with 0, never decrease, and end with at most {most}, the number of entries"
    return _wrong_with_indices("indices", indices[: indptr[-1]], n_minor)


def _wrong_with_rows(X: Any, n_rows: int, n_columns: int) -> str:
    return _one_dimensional(X.data) or _wrong_with_compressed(X, n_rows, n_columns)


def _wrong_with_columns(X: Any, n_rows: int, n_columns: int) -> str:
    return _one_dimensional(X.data) or _wrong_with_compressed(X, n_columns, n_rows)


def _wrong_with_blocks(X: Any, n_rows: int, n_columns: int) -> str:
    _, height, width = X.data.shape
    if not height or not width or n_rows % height or n_columns % width:
        return f"blocks of shape {(height, width)} do not divide it"
    return _wrong_with_compressed(X, n_rows // height, n_columns // width)


def _wrong_with_coordinates(X: Any, n_rows: int, n_columns: int) -> str:
    if not X.data.shape == X.row.shape == X.col.shape:
        return f"data, row and col have the shapes {X.data.shape}, {X.row.shape} and {X.col.shape}"
    return (
        _one_dimensional(X.data)
        or _wrong_with_indices("row", X.row, n_rows)
        or _wrong_with_indices("col", X.col, n_columns)
    )


def _wrong_with_lists(X: Any, n_rows: int, n_columns: int) -> str:
    if X.rows.shape != (n_rows,) or X.data.shape != (n_rows,):
        return f"rows and data have the shapes {X.rows.shape} and {X.data.shape}"
    for i, (columns, values) in enumerate(zip(X.rows, X.data, strict=True)):
        if not isinstance(columns, list) or not isinstance(values, list) or len(columns) != len(values):
            return f"rows[{i}] and data[{i}] must be lists of the same length"
    return _wrong_with_indices("rows", np.fromiter(chain.from_iterable(X.rows), np.int64), n_columns)


def _wrong_with_keys(X: Any, n_rows: int, n_columns: int) -> str:
    keys = np.array(list(X.keys()), np.int64).reshape(-1, 2)
    if len(keys) != len(X.keys()):
        return "its keys must be pairs of a row and a column"
    return _wrong_with_indices("rows of keys", keys[:, 0], n_rows) or _wrong_with_indices(
        "columns of keys", keys[:, 1], n_columns
    )


def _wrong_with_diagonals(X: Any, n_rows: int, n_columns: int) -> str:
    offsets = X.offsets
    if X.data.ndim != 2 or offsets.shape != (len(X.data),) or offsets.dtype.kind not in "iu":
        return f"data and offsets have the shapes {X.data.shape} and {offsets.shape}"
    if len(np.unique(offsets)) != len(offsets):
        return "offsets must not have duplicates"
    if offsets.size and not (-n_rows <= int(offsets.min()) and int(offsets.max()) <= n_columns):
        return f"offsets must be from {-n_rows} to {n_columns}, got {offsets.min()} to {offsets.max()}"
    return ""


def _one_dimensional(data: NDArray[Any]) -> str:
    return "" if data.ndim == 1 else f"data must have one dimension, got {data.ndim}"


_WRONG_WITH = {
    "bsr": _wrong_with_blocks,
    "coo": _wrong_with_coordinates,
    "csc": _wrong_with_columns,
    "csr": _wrong_with_rows,
    "dia": _wrong_with_diagonals,
    "dok": _wrong_with_keys,
    "lil": _wrong_with_lists,
}
"""By format, functions that return what is wrong with a sparse matrix of some shape, or ""."""
