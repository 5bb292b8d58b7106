"""Patterns given as a matrix of rates, between processors or between groups.

A matrix is a file, which :mod:`popsnet.base.tables` reads, or an array. Entry (i, j) is the rate
from i to j, in any unit: all rates are scaled to the load. An n × n matrix has a row for every
processor. In a g × g matrix the rate from group a to group b is divided evenly among their
processors, and no processor sends to itself unless it is alone in its group. On POPS(1, g) both
readings are the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from popsnet.base.arrays import digest, named_errors
from popsnet.base.errors import InputError, wrong
from popsnet.base.tables import FileTable, table_of
from popsnet.base.tables.reading import require_suffix
from popsnet.model.network import F64, Network
from popsnet.workloads.largest_loads import Rates
from popsnet.workloads.patterns import Pattern
from popsnet.workloads.targets import Targets, by_rows


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
        return by_rows(self.values, self._d)

    def flows(self) -> F64:
        """Return the entries, divided among the processors of a group; none sends to itself."""
        d = self._d
        if d == 1:
            return self.values
        shares = np.full((d, d), 1 / (d * d))
        within = (1 - np.eye(d)) / (d * (d - 1))
        inner = np.diag(np.diag(self.values))
        rates: F64 = np.kron(self.values - inner, shares) + np.kron(inner, within)
        return rates

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
        A file with a table, such as ``.csv`` or ``.npy``, or an array: n × n rates between
        processors, or g × g rates between groups.
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
    >>> from popsnet.workloads.matrices import resolve_matrix
    >>> resolve_matrix([[0, 3], [1, 0]], Network(2, 2)).sources()
    array([1.5, 1.5, 0.5, 0.5])
    """
    if isinstance(matrix, str | Path):
        path = Path(matrix)
        table, data = _read(path)
        name = f"matrix{path.suffix.lower()}:{digest(data)}"
        return Matrix(network, name, str(path.resolve()), values=_scaled(table, network))
    try:
        array = None if np.ma.isMaskedArray(matrix) else np.asarray(matrix)
    except ValueError:  # rows of different lengths
        array = None
    if array is None or array.ndim == 0 or array.dtype.kind not in "iuf":
        raise wrong("matrix", f"{matrix!r:.60}")("give a file, or a square array of numbers.")
    values = _scaled(FileTable(Path("matrix"), array), network)
    return Matrix(network, f"matrix:{digest(array.astype('<f8').tobytes())}", values=values)


def _scaled(table: FileTable, network: Network) -> F64:
    """Return the rates scaled to a mean of one packet per processor and slot."""
    n, g, shape = network.n, network.g, table.values.shape
    if shape not in ((n, n), (g, g)):
        raise InputError(
            f"{table.path} has shape {' × '.join(map(str, shape))}; a matrix of rates on {network} "
            f"is {n} × {n}, a row and a column for every processor"
            + (f", or {g} × {g}, for every group." if g < n else ".")
        )
    rates = table.values.astype(np.float64)
    wrong = np.argwhere(~(np.isfinite(rates) & (rates >= 0)))
    if len(wrong):
        i, j = (int(k) for k in wrong[0])
        raise InputError(
            f"{table.where(i, j)} is {table.values[i, j]}; a rate must be a finite number of at "
            "least 0."
        )
    if not (largest := rates.max()) > 0:
        raise InputError(f"{table.path} has no rate above 0; give at least one.")
    rates /= largest  # so that sums cannot overflow
    rates *= n / rates.sum()
    return rates


def _read(path: Path) -> tuple[FileTable, bytes]:
    """Read a matrix, and return the bytes of its file too."""
    require_suffix(path, "the name of a matrix of rates")
    with named_errors(path):
        data = path.read_bytes()
    table = table_of(path, data)
    if table.names is not None:
        raise InputError(
            f"{path} is a list with the columns {', '.join(table.columns or ())}; rates must be a "
            "matrix, with a row for every source and a column for every destination."
        )
    table.require_order()
    return table, data
