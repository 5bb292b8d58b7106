"""Patterns given as a matrix of rates, between processors or between groups.

A matrix is a ``.csv`` or ``.npy`` file or an array. Entry (i, j) is the rate from i to j, in any
unit: all rates are scaled to the load. An n × n matrix has a row for every processor. In a g × g
matrix the rate from group a to group b is divided evenly among their processors, and no processor
sends to itself unless it is alone in its group. On POPS(1, g) both readings are the same.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from popsnet.arrays import named_errors, read_npy, read_rows
from popsnet.errors import InputError
from popsnet.network import Network
from popsnet.traffic.bounds import Rates
from popsnet.traffic.patterns import Pattern
from popsnet.traffic.targets import Rows, Targets

F64 = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False, kw_only=True)
class Matrix(Pattern):
    """Rates between processors, or between groups if ``d`` is the size of a group."""

    values: F64
    """The rates, which add up to n."""

    @property
    def _d(self) -> int:
        """The number of processors of a row."""
        return self.network.n // len(self.values)

    def sources(self) -> F64:
        """Return the sums of rows, divided among the processors of each."""
        return np.repeat(self.values.sum(axis=1) / self._d, self._d)

    def targets(self) -> Targets:
        """Return a table of the entries above zero."""
        return Rows.of(self.values, self._d)

    def rates(self) -> Rates:
        """Add up rows, columns and the entries of each pair of groups."""
        pairs, g, d = self.values, self.network.g, self.network.d
        rows, columns = pairs.sum(axis=1), pairs.sum(axis=0)
        if self._d == 1:
            pairs = pairs.reshape(g, d, g, d).sum(axis=(1, 3))
        return Rates.of(
            source=rows.max() / self._d, destination=columns.max() / self._d,
            group_out=pairs.sum(axis=1).max(), group_in=pairs.sum(axis=0).max(),
            pairs=pairs.ravel(),
        )  # fmt: skip


def resolve_matrix(matrix: str | Path | npt.ArrayLike, network: Network) -> Matrix:
    """Return the pattern of a matrix of rates, and refuse one that does not fit the network.

    Parameters
    ----------
    matrix : str, Path or array
        A ``.csv`` or ``.npy`` file, or an array: n × n rates between processors, or g × g rates
        between groups.
    network : Network
        The network.

    Returns
    -------
    Pattern
        The pattern. Its name is ``matrix`` with a digest.

    Raises
    ------
    InputError
        If the file cannot be read, or the matrix is not one of rates on this network.

    Examples
    --------
    >>> from popsnet import Network
    >>> from popsnet.traffic.matrices import resolve_matrix
    >>> resolve_matrix([[0, 3], [1, 0]], Network(2, 2)).sources()
    array([1.5, 1.5, 0.5, 0.5])
    """
    if isinstance(matrix, str | Path):
        path = Path(matrix)
        values, digest = _read_unchanged(path)
        name = f"matrix{path.suffix.lower()}:{digest}"
        rates = _scaled(values, network, str(path))
        return Matrix(network, name, str(path.resolve()), values=rates)
    try:
        given = None if np.ma.isMaskedArray(matrix) else np.asarray(matrix)
    except ValueError:  # rows of different lengths
        given = None
    if given is None or given.ndim == 0 or given.dtype.kind not in "iuf":
        raise InputError(f"matrix = {matrix!r:.60}: give a file, or a square array of numbers.")
    values = _scaled(given, network, "matrix")
    return Matrix(network, f"matrix:{_digest(given.astype('<f8').tobytes())}", values=values)


def _scaled(values: npt.NDArray[Any], network: Network, origin: str) -> F64:
    """Return the rates scaled to a mean of one packet per processor and slot."""
    _require_shape(values.shape, network, origin)
    rates = values.astype(np.float64)
    wrong = np.argwhere(~(np.isfinite(rates) & (rates >= 0)))
    if len(wrong):
        i, j = (int(k) for k in wrong[0])
        raise InputError(
            f"{origin}, row {i}, column {j} (counted from 0) is {values[i, j]}; a rate must be a "
            "finite number of at least 0."
        )
    if not (largest := rates.max()) > 0:
        raise InputError(f"{origin} has no rate above 0; give at least one.")
    rates /= largest  # so that sums cannot overflow
    rates *= network.n / rates.sum()
    return rates


def _require_shape(shape: tuple[int, ...], network: Network, origin: str) -> None:
    n, g = network.n, network.g
    if shape not in ((n, n), (g, g)):
        raise InputError(
            f"{origin} has shape {' × '.join(map(str, shape))}; a matrix of rates on {network} is "
            f"{n} × {n}, a row and a column for every processor"
            + (f", or {g} × {g}, for every group." if g < n else ".")
        )


def _read_unchanged(path: Path) -> tuple[npt.NDArray[Any], str]:
    """Read a matrix and the digest of its file."""
    values = _read(path)
    with named_errors(path, InputError):
        digest = _digest(path.read_bytes())
        if not np.array_equal(values, _read(path), equal_nan=True):
            raise InputError(f"{path} changed while it was being read; try again.")
    return values, digest


def _read(path: Path) -> npt.NDArray[Any]:
    if path.suffix.lower() not in (".csv", ".npy"):
        raise InputError(f"{path}: a matrix of rates must end in .csv or .npy.")
    with named_errors(path, InputError):
        if path.suffix.lower() == ".csv":
            quick = _read_plain_csv(path)
            return _read_any_csv(path) if quick is None else quick
        values = read_npy(path)
    if values.dtype.kind not in "iuf":
        raise InputError(f"{path} holds an array of {values.dtype}; give an array of numbers.")
    return values


def _read_plain_csv(path: Path) -> F64 | None:
    """Read a file that has nothing but rows of numbers, as large ones are; None for all others."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # NumPy warns of an empty file, for example
            return np.loadtxt(path, delimiter=",", ndmin=2, comments=None, encoding="ascii")
    except (ValueError, Warning):  # UnicodeDecodeError is a ValueError
        return None


def _read_any_csv(path: Path) -> F64:
    """Read a file that may have a heading, quotes and faults; each fault is named with its line."""
    rows = read_rows(path)
    if rows and all(_number(cell) is None for cell in rows[0][1]):
        rows = rows[1:]  # a heading
    if not rows:
        raise InputError(f"{path} has no row of numbers; give a square matrix of rates.")
    return np.array([_numbers(path, line, row, len(rows[0][1])) for line, row in rows])


def _numbers(path: Path, line: int, row: list[str], width: int) -> list[float]:
    if len(row) != width:
        raise InputError(
            f"{path}, line {line} has {len(row)} columns and the first row has {width}; give a "
            "square matrix of rates. The file may be incomplete."
        )
    numbers = []
    for cell in row:
        number = _number(cell)
        if number is None:
            raise InputError(f"{path}, line {line}: {cell!r:.60} is not a number.")
        numbers.append(number)
    return numbers


def _number(cell: str) -> float | None:
    try:
        return float(cell) if cell.isascii() and "_" not in cell else None
    except ValueError:
        return None


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()
