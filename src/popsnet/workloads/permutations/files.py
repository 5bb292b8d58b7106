"""Permutations in files.

``.npy``   a one-dimensional array of integers
``.json``  a list of integers, or an object whose "destination" is one
``.csv``   one destination per row, in order of the packets; or two columns, source and
           destination, in any order. A first row without numbers is taken as a header line;
           if it is "destination,source", the columns are read in that order. Columns may be
           separated as in other tables.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from popsnet.base.arrays import named_errors, read_npy
from popsnet.base.errors import InputError, PermutationError
from popsnet.base.files import require_writable, write_whole
from popsnet.base.tables import FileTable, read_table
from popsnet.base.tables.table import require_integers
from popsnet.model.network import I32, I64
from popsnet.model.slot import Ints


def read_permutation(path: Path, n: int) -> I32:
    """Read a permutation of [0, n) from a file.

    Parameters
    ----------
    path : Path
        A file that ends in ``.npy``, ``.csv`` or ``.json``.
    n : int
        The number of packets.

    Returns
    -------
    array of int32
        The destination of each packet.

    Raises
    ------
    PermutationError
        If the file cannot be read or does not hold a permutation.

    Examples
    --------
    >>> from pathlib import Path
    >>> from popsnet.workloads.permutations import read_permutation
    >>> _ = Path("reversal.csv").write_text("2 1 0".replace(" ", chr(10)))
    >>> read_permutation(Path("reversal.csv"), 3)
    array([2, 1, 0], dtype=int32)
    """
    _require_suffix(path)
    try:
        with named_errors(path):
            values = _READERS[path.suffix.lower()](path)
    except ValueError as error:
        raise PermutationError(str(error)) from error
    return require_permutation(values, n, str(path))


def require_permutation_file(path: Path) -> None:
    """Refuse a path at which a permutation cannot be written, before any work is done.

    Parameters
    ----------
    path : Path
        The file to write later.

    Raises
    ------
    InputError
        If the ending is not known, or the file cannot be written.

    Examples
    --------
    >>> from pathlib import Path
    >>> from popsnet.workloads.permutations import require_permutation_file
    >>> require_permutation_file(Path("worst.txt"))
    Traceback (most recent call last):
        ...
    popsnet.base.errors.PermutationError: worst.txt: a permutation file ends in .npy, .csv, .json.
    """
    _require_suffix(path)
    require_writable(path)


def write_permutation(path: Path, permutation: Ints) -> None:
    """Write a permutation in the format that the ending of the file name gives.

    Parameters
    ----------
    path : Path
        A file that ends in ``.npy``, ``.csv`` or ``.json``.
    permutation : array of int
        The destination of each packet.

    Raises
    ------
    InputError
        If the ending is not known, or the file cannot be written.

    Examples
    --------
    >>> from pathlib import Path
    >>> from popsnet.workloads.permutations import write_permutation
    >>> write_permutation(Path("worst.json"), np.array([2, 1, 0]))
    >>> Path("worst.json").read_text()
    '[2, 1, 0]'
    """
    require_permutation_file(path)
    with write_whole(path) as file:
        if path.suffix.lower() == ".npy":
            np.save(file.buffer, permutation)
        elif path.suffix.lower() == ".json":
            json.dump(permutation.tolist(), file)
        else:
            file.write("\n".join(map(str, permutation.tolist())) + "\n")


def require_permutation(values: npt.NDArray[Any], n: int, origin: str) -> I32:
    """Return the values as destinations, and refuse them if they are not a permutation.

    Parameters
    ----------
    values : array
        The destinations of packets 0 to n - 1.
    n : int
        The number of packets.
    origin : str
        What to call the values in an error.

    Returns
    -------
    array of int32
        The destinations.

    Raises
    ------
    PermutationError
        If the values are not a permutation of [0, n).

    Examples
    --------
    >>> from popsnet.workloads.permutations import require_permutation
    >>> require_permutation(np.array([2, 0, 1]), 3, "permutation")
    array([2, 0, 1], dtype=int32)
    """
    if fault := _fault(values, n):
        raise PermutationError(f"{origin} {fault}")
    return values.astype(np.int32)


def _fault(values: npt.NDArray[Any], n: int) -> str:
    """Return why the values are not a permutation of [0, n), or an empty text."""
    if values.ndim != 1:
        return f"has shape {values.shape}; a permutation is a row of n = {n} integers."
    if len(values) != n:
        return (
            f"has {len(values)} entries; the network has n = {n} processors and needs one "
            "destination for each."
        )
    if values.dtype.kind not in "iu":
        return f"has values of type {values.dtype}; destinations must be integers."
    outside = (values < 0) | (values >= n)
    if outside.any():
        i = int(np.argmax(outside))
        return f"is not a permutation: entry {i} is {values[i]}, outside 0 to {n - 1}."
    times = np.bincount(values.astype(np.int32), minlength=n)
    if (times == 1).all():
        return ""
    twice, never = int(np.argmax(times > 1)), int(np.argmax(times == 0))
    first, second = np.flatnonzero(values == twice)[:2]
    return (
        f"is not a permutation: entries {first} and {second} are both {twice}, and no entry is "
        f"{never}."
    )


def _require_suffix(path: Path) -> None:
    if path.suffix.lower() not in SUFFIXES:
        raise PermutationError(f"{path}: a permutation file ends in {', '.join(SUFFIXES)}.")


def _read_json(path: Path) -> npt.NDArray[Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not a complete JSON file ({error}).") from error
    if isinstance(data, dict):
        data = data.get("destination")
    if not isinstance(data, list):
        raise InputError(
            f"{path} does not contain a list of destinations; give [1, 0, …] or "
            '{"destination": [1, 0, …]}.'
        )
    for i, value in enumerate(data):
        if type(value) is not int:
            raise InputError(f"{path}: entry {i} is {value!r}, not an integer.")
    try:
        return np.array(data, dtype=np.int64)
    except OverflowError:
        raise InputError(
            f"{path} contains a number that is too large; destinations are less than n."
        ) from None


def _read_csv(path: Path) -> I64:
    """Read one column, of destinations, or two; an index without a name is one of sources."""
    table, columns = read_table(path), list[I64]()
    if table.rows is not None:
        columns.append(np.array(table.rows).astype(np.int64))
    for k, column in enumerate(table.values.T):
        where = partial(table.where, column=k)
        columns.append(require_integers(column, where, "sources and destinations are."))
    if len(columns) == 1:
        return columns[0]
    if len(columns) != 2:
        raise InputError(
            f"{path} has {len(columns)} columns; give one (destination) or two (source, "
            "destination) in every row."
        )
    return _by_source(table, *columns[:: -1 if table.names == ("destination", "source") else 1])


def _by_source(table: FileTable, source: I64, destination: I64) -> I64:
    """Return the destinations in order of the packets; every source must occur once."""
    first = np.unique(source, return_index=True)[1]
    is_wrong = (source < 0) | (source >= len(source)) | ~np.isin(np.arange(len(source)), first)
    if is_wrong.any():
        i = int(np.argmax(is_wrong))
        fault = f"there is no source {source[i]}"
        if 0 <= source[i] < len(source):
            fault = f"source {source[i]} has a packet already"
        raise InputError(
            f"{table.where(i)}: {fault}; the first column is the source and must contain each of "
            f"0 to {len(source) - 1} once."
        )
    values = np.empty_like(destination)
    values[source] = destination
    return values


_READERS: dict[str, Callable[[Path], npt.NDArray[Any]]] = {
    ".npy": read_npy,
    ".csv": _read_csv,
    ".json": _read_json,
}
SUFFIXES = tuple(_READERS)
