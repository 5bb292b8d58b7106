"""Tables as text, read with care: any usual form, and every fault is named with its cell.

The first line that is not empty decides the separator: a semicolon if it has one, otherwise a tab,
otherwise a comma, otherwise spaces. Between semicolons or tabs a comma is a decimal comma. Lines
that begin with # before the first row are comments, and empty lines are skipped.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np

from popsnet.base.errors import InputError
from popsnet.base.tables.table import LARGEST, FileTable, names_of_list

_QUOTED_MOST = 2**14
"""The most characters of a quoted cell with several lines in the first row."""
_QUOTED = re.compile(r'"(?:[^"]|"")*"?')
_POINT = re.compile(r"\s*[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\s*", re.ASCII)
_COMMA = re.compile(r"\s*[+-]?[0-9]+,[0-9]+(?:[eE][+-]?[0-9]+)?\s*", re.ASCII)
_INTEGER = re.compile(r"\s*[+-]?[0-9]+\s*", re.ASCII)
_THOUSANDS = re.compile(r"\s*[+-]?[1-9][0-9]{0,2}[.,][0-9]{3}\s*", re.ASCII)
_NO_LABEL = re.compile(
    r"\s*(?:|[-.?]+|[+-]?(?:nan|inf|infinity)|n/?a|#n/a|null|none"
    r"|[+-]?[0-9]+,[0-9]+|[+-]?[0-9]{1,3}(?:[ ,'’\u00a0\u202f][0-9]{3})+(?:[.,][0-9]+)?)\s*",
    re.IGNORECASE,
)
"""Cells that stand for a number that is missing or is written in a way that is not read."""

CellTest: TypeAlias = Callable[[str], bool]


class NoRows(InputError):
    """A file has a heading and no rows."""

    def __init__(self, path: Path, heading: tuple[str, ...]) -> None:
        super().__init__(f"{path} has no row of numbers; give at least one.")
        self.path, self.heading = path, heading


class Row(NamedTuple):
    """A row of a text that is not empty."""

    line: int
    cells: list[str]


class Head(NamedTuple):
    """The lines before the rows of numbers."""

    lines: int
    """Lines before the first row."""
    separator: str
    first: str
    """The first row that is not a comment."""


def find_head(text: str) -> Head:
    """Find the first row and its separator.

    A comment that is the heading of a list, as ``numpy.savetxt`` writes it, is its first row.
    """
    comment, begin = None, 0
    for number, line in enumerate(io.StringIO(text, newline="")):
        plain, begin = line.strip(" \r\n"), begin + len(line)
        if plain.startswith("#"):
            comment = Head(number, _separator(plain), plain.lstrip("# "))
        elif plain:
            rest = text[begin : begin + _QUOTED_MOST] if plain.count('"') % 2 else ""
            head = Head(number, _separator(f"{plain}\n{rest}"), plain)
            is_heading = comment is not None and comment.separator == head.separator
            if comment and is_heading and names_of_list(split(comment.first, head.separator)):
                return comment
            return head
    return Head(0, ",", "")


def split(line: str, separator: str) -> list[str]:
    """Split a line without quotes into its cells."""
    return line.split() if separator == " " else line.split(separator)


def _separator(line: str) -> str:
    line = _QUOTED.sub("", line).partition("\n")[0]
    return next((sign for sign in ";\t," if sign in line), " ")


def number_test(separator: str) -> CellTest:
    """Return a function that says whether a cell is a number."""
    if separator in ";\t":
        return lambda cell: bool(_POINT.fullmatch(cell) or _COMMA.fullmatch(cell))
    return lambda cell: bool(_POINT.fullmatch(cell))


def read_any(path: Path, data: bytes, has_labels: bool = True) -> FileTable:
    """Read any text with a table, in which rows may have labels or not."""
    try:
        text = data.decode("utf-8-sig")
        head = find_head(text)
        rows = _rows(text, head)
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(
            f"{path} is not a CSV text file ({error}). Save it as CSV in UTF-8."
        ) from error
    if not rows:
        raise InputError(f"{path} has no row of numbers; give at least one.")
    return _table(path, rows, head.separator, not text.endswith(("\n", "\r")), has_labels)


def _rows(text: str, head: Head) -> list[Row]:
    lines = list(io.StringIO(text, newline=""))[head.lines :]
    if lines and head.first:
        lines[0] = lines[0].lstrip("\t #") if lines[0].lstrip().startswith("#") else lines[0]
    if head.separator == " ":
        lines = [line.strip() for line in lines]
    reader = csv.reader(lines, delimiter=head.separator, skipinitialspace=True)
    rows = [
        Row(head.lines + reader.line_num, cells) for cells in reader if any(map(str.strip, cells))
    ]
    while len(rows) > 1 and all(len(row.cells) > 1 and not row.cells[-1].strip() for row in rows):
        for row in rows:  # separators at the ends of all lines
            row.cells.pop()
    return rows


def _table(
    path: Path, rows: list[Row], separator: str, is_torn: bool, has_labels: bool
) -> FileTable:
    is_number = number_test(separator)
    has_heading = _begins_with_heading(rows, is_number, has_labels)
    heading, body = (rows[0].cells, rows[1:]) if has_heading else ([], rows)
    if not body:
        raise NoRows(path, tuple(heading))
    names, width = names_of_list(heading), len(body[0].cells)
    _require_width(path, heading, names is not None, body, is_torn)
    if names:
        cols = [k for k, name in enumerate(names) if name]
    else:
        labelled = has_labels and _begins_with_labels(heading, body, width, is_number)
        cols = list(range(int(labelled), width))
    labels = None if names or not cols or cols[0] == 0 else tuple(r.cells[0].strip() for r in body)
    above = [heading[k] for k in cols] if names else heading[len(heading) - len(cols) :]
    return FileTable(
        path,
        _numbers(path, body, cols, separator),
        tuple(cell.strip() for cell in above) if heading else None,
        labels,
        [row.line for row in body],
        [k + 1 for k in cols],
        is_torn,
        (rows[0].line, heading[0].strip()) if any(map(is_number, heading)) else None,
    )


def can_be_heading(cells: list[str]) -> bool:
    """Say whether a row without numbers can be labels: its cells are not all faulty numbers."""
    return not all(_NO_LABEL.fullmatch(cell) for cell in cells)


def _begins_with_heading(rows: list[Row], is_number: CellTest, has_labels: bool) -> bool:
    """Say whether the first row has labels.

    It has if no cell of it is a number, unless all are faulty numbers. Numbers are labels only
    where rows may have labels too: if the first cell is empty, or if only the first cell is not a
    number, there is one row more than columns of numbers, and the rows have labels.
    """
    first, body = rows[0].cells, rows[1:]
    are = [is_number(cell) for cell in first]
    if not any(are):
        return can_be_heading(first)
    if not has_labels or are[0] or not body:
        return False
    if not first[0].strip():
        return True
    if not all(are[1:]) or len(first) != len(rows):
        return False
    return _begins_with_labels(first, body, len(body[0].cells), is_number)


def _begins_with_labels(
    heading: list[str], body: list[Row], width: int, is_number: CellTest
) -> bool:
    """Say whether the first column has labels.

    It has if no cell of it is a number. Below a heading its labels may be numbers: the heading then
    has an empty first cell or none for this column, or there is one column more than rows and the
    numbers are those of the heading, or count from 0 or 1.
    """
    if width > 1 and not any(is_number(row.cells[0]) for row in body):
        return any(row.cells[0].strip() for row in body)
    if not heading:
        return False
    if len(heading) == width - 1 or not heading[0].strip():
        return True
    labels = [row.cells[0].strip() for row in body]
    counted = ([str(first + i) for i in range(len(labels))] for first in (0, 1))
    above = [cell.strip() for cell in heading[1:]]
    return width == len(body) + 1 and labels in (above, *counted)


def _require_width(
    path: Path, heading: list[str], is_list: bool, body: list[Row], is_torn: bool
) -> None:
    width = len(body[0].cells)
    for row in body:
        if len(row.cells) != width:
            torn = is_torn and row is body[-1]
            raise InputError(
                f"{path}, line {row.line} has {_columns(len(row.cells))}; all rows must have "
                f"{width}, as the first has."
                + (" The file ends within this row: it may be incomplete." if torn else "")
            )
    if heading and len(heading) not in ((width,) if is_list else (width, width - 1)):
        raise InputError(
            f"{path} has a heading of {_columns(len(heading))}, and line {body[0].line} has "
            f"{width}; all rows must have the same number of columns."
        )


def _columns(count: int) -> str:
    return f"{count} column" if count == 1 else f"{count} columns"


def _numbers(path: Path, body: list[Row], cols: Sequence[int], separator: str) -> np.ndarray:
    """Return the numbers of the cells, as integers if all are."""
    signs = _Signs(path)
    numbers: list[list[float]] = []
    all_integers = True
    for row in body:
        values: list[float] = []
        for k in cols:
            cell = row.cells[k]
            if len(cell) < 19 and cell.isascii() and cell.isdigit():
                number: float = int(cell)
            elif _INTEGER.fullmatch(cell) and len(cell) < 99:
                number = int(cell)
                if abs(number) > LARGEST:
                    number, all_integers = float(number), False
            else:
                all_integers = False
                number = _decimal(path, row, k, separator, signs)
            values.append(number)
        numbers.append(values)
    signs.require_clear()
    return np.array(numbers, np.int64 if all_integers else np.float64)


def _decimal(path: Path, row: Row, k: int, separator: str, signs: _Signs) -> float:
    cell = row.cells[k]
    where = f"{path}, line {row.line}, column {k + 1}"
    is_local = separator in ";\t"  # where a comma is a decimal comma
    if _POINT.fullmatch(cell) or (is_local and _COMMA.fullmatch(cell)):
        if sign := next((sign for sign in ",." if sign in cell), ""):
            signs.seen.setdefault(sign, (where, cell.strip()))
            signs.is_clear |= not (is_local and _THOUSANDS.fullmatch(cell))
    elif not cell.strip():
        raise InputError(f"{where} is empty; write a number, 0 for nothing.")
    else:
        cure = _cure(cell, separator)
        raise InputError(f"{where}: {cell!r:.60} is not a number{cure}.")
    number = float(cell.replace(",", "."))
    if not np.isfinite(number):
        raise InputError(f"{where}: {cell.strip()!r:.60} is too large for a number.")
    return number


def _cure(cell: str, separator: str) -> str:
    if "," in cell and separator == ",":
        return "; separate columns by semicolons where numbers have decimal signs"
    if re.fullmatch(r"\s*[+-]?[0-9]{1,3}(?:[ ,.'’_\u00a0\u202f][0-9]{3})+(?:[.,][0-9]*)?\s*", cell):
        return "; write it without separators of thousands"
    if re.match(r"\s*[+-]?[0-9.,]+\s*[^\W\d_%]", cell):
        return "; write numbers without their unit"
    return "; only the first row and the first column of a matrix may have labels"


class _Signs:
    """The decimal signs of a file, which must not be separators of thousands."""

    def __init__(self, path: Path) -> None:
        self.path, self.is_clear = path, False
        self.seen: dict[str, tuple[str, str]] = {}  # the place and the cell of the first of each

    def require_clear(self) -> None:
        comma, point = self.seen.get(","), self.seen.get(".")
        if comma and point:
            raise InputError(
                f"{comma[0]}: {comma[1]!r} has a comma, and {point[1]!r} in "
                f"{point[0].removeprefix(f'{self.path}, ')} a point; a file must have one kind of "
                "decimal sign, and no separators of thousands."
            )
        if self.is_clear or not (sign := comma or point):
            return
        where, plain = sign
        decimal, whole = plain.replace(",", "."), re.sub("[.,]", "", plain)
        cure = f"write {whole} without a separator, or the decimal with a 0 at its end"
        if comma:
            cure = "write it with a decimal point, or without a comma"
        raise InputError(f"{where}: {plain!r} could be {decimal} or {whole}; {cure}.")
