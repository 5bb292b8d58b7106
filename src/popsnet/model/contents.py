"""The contents of messages that carry lists of different lengths."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from typing import Any, overload

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.integer[Any]]
Bools = npt.NDArray[np.bool_]


class RaggedArray:
    """Lists of different lengths, one per row: the contents of messages.

    All lists are kept one after another in one array. A selection of rows shares it, so that the
    listeners of a message get the number of its list, and no copy.

    Parameters
    ----------
    values : array
        The numbers of all lists, one list after another. If the items of a list have several
        fields, a row per item and a column per field.
    offsets : array of int
        List k is ``values[offsets[k]:offsets[k + 1]]``: one offset more than there are lists, from
        0 to ``len(values)``.

    Attributes
    ----------
    values, offsets : array
        As given; the values can be read, but not changed. A selection of rows has those of all
        lists.
    numbers : array of int
        Row i has list ``numbers[i]``. Rows with equal numbers have the same list.

    Raises
    ------
    ValueError
        If the values are not numbers, or the offsets do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> from popsnet import RaggedArray
    >>> lists = RaggedArray(np.array([7, 8, 9]), np.array([0, 2, 2, 3]))
    >>> lists.tolist(), lists.lengths
    ([[7, 8], [], [9]], array([2, 0, 1]))
    >>> heard = lists[np.array([2, 0, 2])]
    >>> heard.tolist(), heard.numbers
    ([[9], [7, 8], [9]], array([2, 0, 2]))

    All numbers in one array, and the row of each:

    >>> heard.flatten()
    (array([0, 1, 1, 2]), array([9, 7, 8, 9]))
    """

    __slots__ = ("numbers", "offsets", "values")

    def __init__(self, values: npt.NDArray[Any], offsets: Ints) -> None:
        self.values, self.offsets = np.asarray(values).view(), np.asarray(offsets)
        self.values.flags.writeable = False
        if self.dtype.kind not in "biufc" or self.values.ndim not in (1, 2) or not self.fields:
            raise ValueError(
                f"values have shape {self.values.shape} and dtype {self.dtype}; they must "
                "be numbers, in one dimension, or in two for items of several fields."
            )
        if self.offsets.ndim != 1 or self.offsets.dtype.kind not in "iu" or not len(self.offsets):
            raise ValueError(
                f"offsets have shape {self.offsets.shape} and dtype {self.offsets.dtype}; they "
                "must be integers in one dimension, one more than there are lists."
            )
        self.offsets = self.offsets.astype(np.int64, copy=False)
        first, last = int(self.offsets[0]), int(self.offsets[-1])
        if first or last != len(values) or (np.diff(self.offsets) < 0).any():
            raise ValueError(
                f"offsets go from {first} to {last}; they must go from 0 to the number of values, "
                f"{len(values)}, and never fall."
            )
        self.numbers: Ints = np.arange(len(self.offsets) - 1)

    @classmethod
    def of(cls, lists: Sequence[npt.ArrayLike], dtype: npt.DTypeLike = np.int64) -> RaggedArray:
        """Return an array of these lists.

        Parameters
        ----------
        lists : sequence of array_like
            A list of numbers, or of items of equally many fields, per row.
        dtype : data type
            The type of all numbers.

        Returns
        -------
        RaggedArray
            The array.

        Raises
        ------
        ValueError
            If numbers of a list are not of this type, as fractions are no integers.

        Examples
        --------
        >>> RaggedArray.of([[3, 1], [], [2]]).offsets
        array([0, 2, 2, 3])
        """
        rows = []
        for number, row in enumerate(lists):
            values = np.asarray(row)
            if values.size and not np.can_cast(values.dtype, dtype, "same_kind"):
                raise ValueError(
                    f"list {number} has numbers of type {values.dtype}, which are not of type "
                    f"{np.dtype(dtype)}; give dtype=."
                )
            rows.append(np.asarray(row, dtype=dtype))
        offsets = np.cumsum([0, *map(len, rows)])
        items = [row for row in rows if len(row)] or rows[:1] or [np.empty(0, dtype)]
        return cls(np.concatenate(items), offsets)

    @overload
    def __getitem__(self, rows: int) -> npt.NDArray[Any]: ...
    @overload
    def __getitem__(self, rows: Ints | Bools | slice) -> RaggedArray: ...
    def __getitem__(self, rows: Any) -> Any:
        """Return the list of a row, or some of the rows, which share the values."""
        chosen = self.numbers[rows]
        if np.ndim(chosen) == 0:
            return self.values[self.offsets[chosen] : self.offsets[chosen + 1]]
        selection = copy(self)
        selection.numbers = chosen
        return selection

    def __len__(self) -> int:
        return len(self.numbers)

    def __iter__(self) -> Iterator[npt.NDArray[Any]]:
        return (self[row] for row in range(len(self)))

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the numbers."""
        return self.values.dtype

    @property
    def size(self) -> int:
        """The number of numbers in all lists."""
        return self.values.size

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """The number of items in each row."""
        return self.offsets[self.numbers + 1] - self.offsets[self.numbers]

    @property
    def fields(self) -> int:
        """The number of fields of an item."""
        return 1 if self.values.ndim == 1 else self.values.shape[1]

    def flatten(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[Any]]:
        """Return the items of all rows in one array, after the row of each of them.

        Returns
        -------
        tuple of two arrays
            The row of each item, and the items.
        """
        lengths = self.lengths
        rows = np.repeat(np.arange(len(self)), lengths)
        before = np.cumsum(lengths) - lengths
        at = self.offsets[self.numbers] - before  # of a row's first item, less its place in rows
        return rows, self.values[np.arange(len(rows)) + at[rows]]

    def tolist(self) -> list[Any]:
        """Return the rows as lists."""
        return [row.tolist() for row in self]
