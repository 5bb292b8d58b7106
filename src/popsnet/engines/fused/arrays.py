"""Arrays for compiled code: their types, records, and workspaces of many.

The fields of records have names in Python and in compiled code. A workspace is a named tuple of
arrays in one block of memory. Each array begins on a cache line of its own, so that threads do not
share one by accident. A large block gets large pages from the operating system, which small arrays
would not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias, TypeVar, get_type_hints

import numpy as np
import numpy.typing as npt

W = TypeVar("W")
T = TypeVar("T", bound=np.generic)

U8: TypeAlias = npt.NDArray[np.uint8]
U16: TypeAlias = npt.NDArray[np.uint16]
U32: TypeAlias = npt.NDArray[np.uint32]
U64: TypeAlias = npt.NDArray[np.uint64]
I64: TypeAlias = npt.NDArray[np.int64]
Records: TypeAlias = npt.NDArray[np.void]
"""Rows with the fields of a class, as :func:`record_type` makes them."""


def record_type(fields: type) -> np.dtype[np.void]:
    """Return the data type of records with the annotated fields of a class."""
    kinds = {int: np.int64, np.uint64: np.uint64}
    return np.dtype([(name, kinds[kind]) for name, kind in get_type_hints(fields).items()])


Table: TypeAlias = Mapping[str, tuple[int | tuple[int, ...], npt.DTypeLike]]
"""The shape and the type of each array by name."""

_LINE = 128
_LARGE_PAGES = 2**22
"""NumPy asks for large pages for arrays of four megabytes and more."""


def allocate(workspace: Callable[..., W], table: Table, **others: object) -> W:
    """Return a workspace of arrays of zeros, and of the other fields given."""
    memory = np.zeros(size_of(table), dtype=np.uint8)
    start, arrays = -memory.ctypes.data % _LINE, {}
    for name, (shape, kind) in table.items():
        arrays[name] = np.ndarray(shape, kind, memory, start)
        start += _span((shape, kind))
    return workspace(**arrays, **others)


def size_of(table: Table) -> int:
    """Return the bytes of a workspace of arrays."""
    total = sum(map(_span, table.values())) + _LINE
    return max(total, _LARGE_PAGES) if total > _LARGE_PAGES // 4 else total


def with_more(array: npt.NDArray[T], more: int) -> npt.NDArray[T]:
    """Return an array with the rows of another, and more rows that are not filled yet."""
    larger = np.empty((len(array) + more, *array.shape[1:]), dtype=array.dtype)
    larger[: len(array)] = array
    return larger


def _span(array: tuple[int | tuple[int, ...], npt.DTypeLike]) -> int:
    """Return the bytes of an array, rounded up to whole cache lines."""
    shape, kind = array
    return -(-int(np.prod(shape)) * np.dtype(kind).itemsize // _LINE) * _LINE
