"""A table of numbers, with its names and the places of its cells in the file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from popsnet.base.errors import InputError

LARGEST = 2**62
"""Up to here integers stay integers."""

_SOURCES = (
    "source", "src", "from", "from_group", "src_group", "source_group", "source group",
)  # fmt: skip
_DESTINATIONS = (
    "destination", "dst", "dest", "to", "to_group", "target", "dst_group", "destination_group",
    "destination group",
)  # fmt: skip
_SYNONYMS = {
    "slot": "slot",
    **dict.fromkeys(_SOURCES, "source"),
    **dict.fromkeys(_DESTINATIONS, "destination"),
    **dict.fromkeys(("amount", "packets", "count", "value", "weight", "bytes"), "amount"),
}


@dataclass(frozen=True, eq=False)
class FileTable:
    r"""The numbers of a file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from popsnet.base.tables import read_table
    >>> _ = Path("rates.csv").write_text("rack;r0;r1\nr0;0;2,5\nr1;4;0\n")
    >>> table = read_table(Path("rates.csv"))
    >>> table.values.tolist(), table.rows
    ([[0.0, 2.5], [4.0, 0.0]], ('r0', 'r1'))
    >>> table.where(0, 1)
    'rates.csv, line 2, column 3'
    """

    path: Path
    """The file."""
    values: npt.NDArray[Any]
    """The numbers: 64-bit integers if all cells of a text are integers, otherwise floats."""
    columns: tuple[str, ...] | None = None
    """The labels of the columns, if there are any, as the file has them."""
    rows: tuple[str, ...] | None = None
    """The labels of the rows, if there are any."""
    lines: Sequence[int] | None = None
    """The line of each row; None if the file is not a text."""
    positions: Sequence[int] | None = None
    """The number of each column in a text, from 1, since labels and unnamed columns count."""
    is_torn: bool = False
    """Whether the last line of a text has no end, as in a file that is incomplete."""

    corner: tuple[int, str] | None = None
    """The line and the first cell of a heading whose labels are numbers."""

    @property
    def names(self) -> tuple[str, ...] | None:
        """What each column of a list is, such as source; None if the table is not a list."""
        return names_of_list(self.columns or ())

    def where(self, row: int, column: int | None = None) -> str:
        """Say where a row or a cell is in the file."""
        if self.lines is None or self.positions is None:
            at = "" if column is None else f", column {column} (counted from 0)"
            return f"{self.path}, row {row}{at}"
        at = "" if column is None else f", column {self.positions[column]}"
        return f"{self.path}, line {self.lines[row]}{at}"

    def require_order(self) -> None:
        """Refuse a matrix whose rows and columns have the same labels in two orders."""
        rows, columns = self.rows or (), self.columns or ()
        if rows != columns and sorted(rows) == sorted(columns):
            i = next(i for i in range(len(rows)) if rows[i] != columns[i])
            raise InputError(
                f"{self.where(i)}: row {i + 1} is labelled {rows[i]!r:.60} and column {i + 1} "
                f"{columns[i]!r:.60}; rows and columns must have their labels in the same order. "
                "Sort them."
            )


def names_of_list(heading: Sequence[str]) -> tuple[str, ...] | None:
    """Return what the columns of a list are by its heading, or None if it is not one of a list.

    A heading with two columns known by name, at least, is one of a list. A column that is not
    known keeps its name.
    """
    cells = [cell.strip().lower() for cell in heading]
    names = tuple(_SYNONYMS.get(cell, cell) for cell in cells)
    return names if len(set(names) & set(_SYNONYMS.values())) >= 2 else None


def name_in_list(name: str) -> str | None:
    """Return what a column of a list with this name is, or None if it is not known."""
    return _SYNONYMS.get(name.strip().lower())


def require_integers(
    values: npt.NDArray[Any], where: Callable[[int], str], rule: str
) -> npt.NDArray[np.int64]:
    """Return numbers of one dimension as integers, and refuse the first that is not one."""
    if values.dtype.kind in "iu":
        wrong = (values > LARGEST) | (values < -LARGEST)
    else:
        with np.errstate(invalid="ignore"):
            wrong = ~((np.rint(values) == values) & (np.abs(values) <= LARGEST))
    if wrong.any():
        i = int(np.argmax(wrong))
        if np.rint(values[i]) == values[i]:
            raise InputError(f"{where(i)}: {values[i]} is too large; the largest is 2^62.")
        raise InputError(f"{where(i)}: {values[i]} is not an integer; {rule}")
    return values.astype(np.int64, copy=False)
