"""Read the table of a file, whichever its format."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from popsnet.arrays import load_npy, named_errors
from popsnet.errors import InputError, how_to_install
from popsnet.tables.plain import read_plain
from popsnet.tables.table import Table, name_in_list, names_of_list
from popsnet.tables.text import read_any

_LARGE = 2**16
"""From this many bytes on, plain texts are read by NumPy, without an object per cell."""


def read_table(path: Path, has_labels: bool = True) -> Table:
    r"""Read the table of a file; the name of the file says its format.

    Parameters
    ----------
    path : Path
        A file with one of the endings ``SUFFIXES``.
    has_labels : bool
        Whether rows may have labels. Otherwise every cell below the heading must be a number.

    Returns
    -------
    Table
        Its numbers, and the labels and names that it has.

    Raises
    ------
    InputError
        If the file cannot be read. The message names the wrong cell.

    Examples
    --------
    >>> from pathlib import Path
    >>> from popsnet.tables import read_table
    >>> _ = Path("list.tsv").write_text("from\tto\tbytes\n0\t1\t1500\n2\t0\t64\n")
    >>> table = read_table(Path("list.tsv"))
    >>> table.names, table.values.tolist()
    (('source', 'destination', 'amount'), [[0, 1, 1500], [2, 0, 64]])
    """
    require_suffix(path)
    with named_errors(path, InputError):
        return table_of(path, path.read_bytes(), has_labels)


def require_suffix(path: Path, what: str = "the name of a table") -> None:
    """Refuse a file whose name does not say its format."""
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(
            f"{path}: {what} must end in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}."
        )


def table_of(path: Path, data: bytes, has_labels: bool = True) -> Table:
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
    Table
        As :func:`read_table` returns it.

    Examples
    --------
    >>> from pathlib import Path
    >>> from popsnet.tables import table_of
    >>> table_of(Path("matrix.csv"), b"0 3\n1 0\n").values.tolist()
    [[0, 3], [1, 0]]
    """
    read = _READERS.get(path.suffix.lower())
    return (_read_text if read is None else read)(path, data, has_labels)


def _read_text(path: Path, data: bytes, has_labels: bool) -> Table:
    quick = read_plain(path, data, has_labels) if len(data) >= _LARGE else None
    return read_any(path, data, has_labels) if quick is None else quick


def _read_npy(path: Path, data: bytes, has_labels: bool) -> Table:
    values, names = load_npy(path, BytesIO(data)), None
    if values.dtype.names is not None and values.ndim == 1:
        fields = [values[name] for name in values.dtype.names]
        if any(field.ndim != 1 or field.dtype.kind not in "iuf" for field in fields):
            raise InputError(f"{path} has columns that are not numbers; save numbers only.")
        names = values.dtype.names if names_of_list(values.dtype.names) else None
        values = np.stack(fields, axis=1)
    if values.dtype.kind not in "iuf":
        raise InputError(f"{path} holds an array of {values.dtype}; give an array of numbers.")
    return Table(path, values, names)


_INDEX = re.compile(r"__index_level_[0-9]+__")


def _read_parquet(path: Path, data: bytes, has_labels: bool) -> Table:
    """Read numbers, and labels of rows if one column has texts, as the index of pandas has.

    A column of a list is never one of labels. Only the sources of a matrix may be labels, as the
    index of a pivot table is.
    """
    found = _arrow(path, data)
    labels: tuple[str, ...] | None = None
    names, columns = [], []
    is_list = names_of_list(found.column_names) is not None
    for name, column in zip(found.column_names, found.columns, strict=True):
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
    return Table(path, np.stack(columns, axis=1), tuple(names) if has_names else None, labels)


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


_READERS: dict[str, Callable[[Path, bytes, bool], Table]] = {
    ".npy": _read_npy,
    ".parquet": _read_parquet,
}
TEXTS = (".csv", ".tsv", ".txt")
"""The endings of texts."""
SUFFIXES = (*TEXTS, *_READERS)
"""The endings of files with tables."""
