"""Large plain tables as text, read fast by NumPy: numbers below a heading, or below none.

What is read here is read by :func:`~popsnet.tables.text.read_any` with the same result; everything
else is left to it.
"""

from __future__ import annotations

import csv
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from popsnet.tables.table import Table, names_of_list
from popsnet.tables.text import Head, can_be_heading, find_head, number_test, split

_MARK = b"\xef\xbb\xbf"
_BEGINNING = 2**14
"""Bytes in which the heading and the first row must be."""
_MOST = 2**62
"""Up to here integers stay integers, as they do in :mod:`popsnet.tables.text`."""


def read_plain(path: Path, data: bytes, has_labels: bool = True) -> Table | None:
    """Read a plain text, or return None."""
    found = _beginning(data)
    if found is None:
        return None
    head, heading, line, begin = found
    end = data.find(b"\n", begin)
    first = data[begin : len(data) if end < 0 else end].decode("ascii", "replace").strip()
    cells = split(first, head.separator)
    if len(heading) not in (0, len(cells)):
        return None
    values = _parse(data, begin, head.separator, len(cells))
    if values is None or not len(values):
        return None
    names = names_of_list(heading)
    kept = list(range(len(cells)))
    if names:
        kept = [k for k in kept if names[k]]
        heading = [heading[k] for k in kept]
        values = values if len(kept) == len(cells) else values[:, kept]
    elif heading and has_labels and (not heading[0] or len(cells) == len(values) + 1):
        return None  # labels of rows, which may be numbers
    return Table(
        path, values, tuple(heading) if heading else None, None, range(line, line + len(values)),
        [k + 1 for k in kept], not data.endswith((b"\n", b"\r")),
    )  # fmt: skip


def _beginning(data: bytes) -> tuple[Head, list[str], int, int] | None:
    """Return the first row, the heading, and the line and the place of the first numbers."""
    skipped = len(_MARK) if data.startswith(_MARK) else 0
    begin = data[skipped : skipped + _BEGINNING]
    if not begin.isascii() or b"\r" in begin.rstrip(b"\r").replace(b"\r\n", b""):
        return None
    head = find_head(begin.decode("ascii"))
    if head.first.count('"') % 2:
        return None
    place, line = skipped, head.lines
    for _ in range(head.lines):
        place = data.find(b"\n", place) + 1
    reader = csv.reader([head.first], delimiter=head.separator, skipinitialspace=True)
    cells = [cell.strip() for cell in next(reader, [])]
    are_numbers = list(map(number_test(head.separator), cells))
    if all(are_numbers) and '"' not in head.first:
        return head, [], line + 1, place
    if any(are_numbers) or not can_be_heading(cells):
        return None
    place = data.find(b"\n", place) + 1
    return (head, cells, line + 2, place) if place else None


def _parse(
    data: bytes, begin: int, separator: str, columns: int
) -> npt.NDArray[np.int64] | npt.NDArray[np.float64] | None:
    """Return the numbers from a place on, or None if something else is there."""
    body = data[begin:].replace(b"\r\n", b"\n").rstrip()
    if not body or body.translate(None, f"+-. 0123456789\n{separator}".encode()):
        return None
    kind: type = np.float64 if b"." in body else np.int64
    if kind is np.float64 and separator in ";\t":
        return None  # the point could separate thousands
    try:
        values: npt.NDArray[Any] = np.loadtxt(
            BytesIO(body), kind, comments=None, delimiter=separator.strip(" ") or None, ndmin=2
        )
    except ValueError:
        return None
    if values.shape != (body.count(b"\n") + 1, columns):
        return None  # NumPy skips empty lines
    if kind is np.int64 and max(values.max(), -values.min()) > _MOST:
        return None
    return np.asarray(values)
