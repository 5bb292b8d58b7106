"""Read the table of a file, whichever its format."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from decimal import Decimal
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from popsnet.base.arrays import load_npy, named_errors
from popsnet.base.errors import InputError, how_to_install
from popsnet.base.tables.table import LARGEST, FileTable, name_in_list, names_of_list
from popsnet.base.tables.text import can_be_heading, find_head, number_test, read_any, split

_MARK = b"\xef\xbb\xbf"
_BEGINNING = 2**14
"""Bytes in which the heading and the first row must be."""


def read_plain(path: Path, data: bytes, has_labels: bool = True) -> FileTable | None:
    """Read a plain text, or return None."""
    plain = data.removeprefix(_MARK).replace(b"\r\n", b"\n")
    begin = plain[:_BEGINNING]
    if not begin.isascii() or b"\r" in begin:
        return None
    head = find_head(begin.decode("ascii"))
    if head.first.count('"') % 2:
        return None
    reader = csv.reader([head.first], delimiter=head.separator, skipinitialspace=True)
    heading = [cell.strip() for cell in next(reader, [])]
    are_numbers = list(map(number_test(head.separator), heading))
    if all(are_numbers) and '"' not in head.first:
        heading = []
    elif any(are_numbers) or not can_be_heading(heading):
        return None
    above = head.lines + bool(heading)
    body = plain.split(b"\n", above)[-1].rstrip()
    first = body.partition(b"\n")[0].decode("ascii", "replace")
    width = len(split(first.strip(), head.separator))
    if len(heading) not in (0, width):
        return None
    values = _parse(body, head.separator, width)
    if values is None:
        return None
    names, columns = names_of_list(heading), list(range(width))
    if names:
        columns = [k for k in columns if names[k]]
        heading = [heading[k] for k in columns]
        values = values if len(columns) == width else values[:, columns]
    elif heading and has_labels and (not heading[0] or width == len(values) + 1):
        return None  # labels of rows, which may be numbers
    return FileTable(
        path, values, tuple(heading) if heading else None, None,
        range(above + 1, above + 1 + len(values)), [k + 1 for k in columns],
        not data.endswith((b"\n", b"\r")),
    )  # fmt: skip


def _parse(body: bytes, separator: str, columns: int) -> npt.NDArray[Any] | None:
    """Return the numbers of lines, or None if something else is there."""
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
    if kind is np.int64 and max(values.max(), -values.min()) > LARGEST:
        return None
    return np.asarray(values)


_LARGE = 2**16
"""From this many bytes on, plain texts are read by NumPy, without an object per cell."""


def read_table(path: Path, has_labels: bool = True) -> FileTable:
    r"""Read the table of a file; the name of the file says its format.

    Parameters
    ----------
    path : Path
        A file with one of the endings ``SUFFIXES``.
    has_labels : bool
        Whether rows may have labels. Otherwise every cell below the heading must be a number.

    Returns
    -------
    FileTable
        Its numbers, and the labels and names that it has.

    Raises
    ------
    InputError
        If the file cannot be read. The message names the wrong cell.

    Examples
    --------
    >>> from pathlib import Path
    >>> from popsnet.base.tables import read_table
    >>> _ = Path("list.tsv").write_text("from\tto\tbytes\n0\t1\t1500\n2\t0\t64\n")
    >>> table = read_table(Path("list.tsv"))
    >>> table.names, table.values.tolist()
    (('source', 'destination', 'amount'), [[0, 1, 1500], [2, 0, 64]])
    """
    require_suffix(path)
    with named_errors(path):
        return table_of(path, path.read_bytes(), has_labels)


def require_suffix(path: Path, what: str = "the name of a table") -> None:
    """Refuse a file whose name does not say its format."""
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(
            f"{path}: {what} must end in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}."
        )


def table_of(path: Path, data: bytes, has_labels: bool = True) -> FileTable:
    r"""Return the table of a file whose bytes have been read.

    Parameters
    ----------
    path : Path
        The name of the file, for its format and for errors.
    data : bytes
        What it contains.
    has_labels : bool
        Whether rows may have labels.

    Returns
    -------
    FileTable
        As :func:`read_table` returns it.

    Examples
    --------
    >>> from pathlib import Path
    >>> from popsnet.base.tables import table_of
    >>> table_of(Path("matrix.csv"), b"0 3\n1 0\n").values.tolist()
    [[0, 3], [1, 0]]
    """
    return _READERS.get(path.suffix.lower(), _read_text)(path, data, has_labels)


def _read_text(path: Path, data: bytes, has_labels: bool) -> FileTable:
    quick = read_plain(path, data, has_labels) if len(data) >= _LARGE else None
    return read_any(path, data, has_labels) if quick is None else quick


def _read_npy(path: Path, data: bytes, has_labels: bool) -> FileTable:
    values, names = load_npy(path, BytesIO(data)), None
    if values.dtype.names is not None and values.ndim == 1:
        fields = [values[name] for name in values.dtype.names]
        if any(field.ndim != 1 or field.dtype.kind not in "iuf" for field in fields):
            raise InputError(f"{path} has columns that are not numbers; save numbers only.")
        names = values.dtype.names if names_of_list(values.dtype.names) else None
        values = np.stack(fields, axis=1)
    if values.dtype.kind not in "iuf":
        raise InputError(f"{path} holds an array of {values.dtype}; give an array of numbers.")
    return FileTable(path, values, names)


_INDEX = re.compile(r"__index_level_[0-9]+__")


def _read_parquet(path: Path, data: bytes, has_labels: bool) -> FileTable:
    """Read numbers, and labels of rows if one column has texts, as the index of pandas has.

    A column of a list is never one of labels. Only the sources of a matrix may be labels, as the
    index of a pivot table is.
    """
    table = _arrow(path, data)
    labels: tuple[str, ...] | None = None
    names, columns = [], []
    is_list = names_of_list(table.column_names) is not None
    for name, column in zip(table.column_names, table.columns, strict=True):
        if column.null_count:
            raise InputError(
                f"{path}, column {name!r:.60} has an empty cell; write 0 in its place."
            )
        values = _without_decimals(column.to_numpy())
        is_index = _INDEX.fullmatch(name) is not None
        known = None if name_in_list(name) == "source" and not is_list else name_in_list(name)
        if values.dtype.kind in "iuf" and not is_index:
            names.append(name)
            columns.append(values)
        elif known or not (has_labels or is_index):
            raise InputError(
                f"{path}, column {name!r:.60} holds {column.type}; it must hold numbers. Convert "
                "it before the file is written, or remove it."
            )
        elif labels is None and values.dtype.kind in "OTUiu":
            labels = tuple(map(str, values.tolist()))
        else:
            raise InputError(
                f"{path}, column {name!r:.60} holds {column.type}; give columns of numbers, and at "
                "most one of labels."
            )
    if not columns:
        raise InputError(f"{path} has no column of numbers; give at least one.")
    has_names = labels is not None or names_of_list(names) is not None
    return FileTable(path, np.stack(columns, axis=1), tuple(names) if has_names else None, labels)


def _without_decimals(values: np.ndarray) -> np.ndarray:
    """Return decimals as integers if all are, otherwise as floats, and anything else as it is."""
    if not (values.dtype.kind == "O" and len(values) and isinstance(values[0], Decimal)):
        return values
    if all(value == value.to_integral_value() and abs(value) < 2**63 for value in values):
        return np.array([int(value) for value in values], np.int64)
    return values.astype(np.float64)


def _arrow(path: Path, data: bytes) -> Any:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise InputError(
            f"{path}: Parquet needs pyarrow ({error}). {how_to_install('parquet')} Or save the "
            "table as .csv."
        ) from error
    try:
        return parquet.read_table(pa.BufferReader(data))
    except (pa.ArrowException, OSError, ValueError) as error:
        raise InputError(f"{path} is not a complete Parquet file ({error}).") from error


_READERS: dict[str, Callable[[Path, bytes, bool], FileTable]] = {
    ".npy": _read_npy,
    ".parquet": _read_parquet,
}
TEXTS = (".csv", ".tsv", ".txt")
"""The endings of texts."""
SUFFIXES = (*TEXTS, *_READERS)
"""The endings of files with tables."""
