"""Read demands and traffic matrices, from files or arrays.

A demand has a row for every packet with its source and its destination, or a third column with an
amount. A traffic matrix has a row for each source group and a column for each destination group. It
may be given as a list too, with a row for each pair of groups that has packets: source, destination
and amount. Files are read by :mod:`popsnet.base.tables`.

A file for a matrix is a list if its heading says so. Without a heading, three columns are a list,
unless there are 3 or g rows, or 3 groups: then they are a matrix.

Amounts are numbers of packets, or anything else if ``unit`` is the amount of one packet. Then they
are divided by the unit and rounded up; an amount that exceeds a multiple of the unit by less than
10^-12 of itself counts as this multiple, as the sum of the floats 0.1 and 0.2 does for 0.1. Floats
of 16 or 32 bits may exceed it by their error of rounding too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from popsnet.base.errors import InputError, wrong
from popsnet.base.report import plural
from popsnet.base.tables import FileTable, read_table
from popsnet.base.tables.table import names_of_list, require_integers
from popsnet.model.network import I64, Network
from popsnet.programs.schedules.demand import Demand
from popsnet.programs.schedules.groups.plan import packet_groups
from popsnet.programs.schedules.schedule import ranks

_MOST_PACKETS = 2**27
_TOLERANCE = 1e-12
_LIST = ("source", "destination", "amount")
FileOrArray: TypeAlias = str | Path | npt.ArrayLike


@dataclass(frozen=True)
class Rounding:
    """How amounts became packets.

    Examples
    --------
    >>> from popsnet.programs.schedules.files import Rounding
    >>> print(Rounding(unit=2.5, amount=54.6, packets=24))
    54.6 is sent as 24 packets of 2.5; rounding up adds 5.4 (9.9%)
    """

    unit: float
    """The amount of one packet."""
    amount: float
    """The sum of all amounts."""
    packets: int
    """The number of packets."""

    @property
    def error(self) -> float:
        """The amount that rounding up adds."""
        return self.packets * self.unit - self.amount

    def __str__(self) -> str:
        error = self.error if self.error > _TOLERANCE * self.amount else 0.0
        share = f" ({error / self.amount:.1%})" if self.amount else ""
        return (
            f"{self.amount:,.10g} is sent as {plural(self.packets, 'packet')} of "
            f"{self.unit:,.10g}; rounding up adds {error:,.6g}{share}"
        )


class ReadDemand(NamedTuple):
    """A demand and, if there was a unit, how its amounts were rounded."""

    demand: Demand
    rounding: Rounding | None = None


class ReadMatrix(NamedTuple):
    """The counts of packets between groups or processors, and how they were rounded by a unit."""

    counts: I64
    rounding: Rounding | None = None


def read_demand(packets: FileOrArray, network: Network, unit: float | None = None) -> ReadDemand:
    r"""Read a demand from a file or an array.

    Parameters
    ----------
    packets : str, Path or array
        Two columns, source and destination, with a row for every packet, or a third column with
        amounts. The heading of a file, or a data frame, may name them in another order.
    network : Network
        The network.
    unit : float, optional
        The amount of one packet. By default amounts are numbers of packets.

    Returns
    -------
    ReadDemand
        The demand. Packets are numbered in the order of the rows.

    Raises
    ------
    InputError
        If there is something else. The message names the row or the cell.

    Examples
    --------
    >>> from pathlib import Path
    >>> from popsnet import Network
    >>> from popsnet.programs.schedules.files import read_demand
    >>> _ = Path("demand.csv").write_text("source;destination;amount\n0;3;1500\n5;3;1501\n")
    >>> read = read_demand("demand.csv", Network(4, 3), unit=1500)
    >>> read.demand.source, read.rounding.error
    (array([0, 5, 5], dtype=int32), 1499.0)
    """
    require_unit(unit)
    table = as_table(packets, "packets", has_labels=False)
    at = _columns_of_list(table, "a demand")
    source, destination = _ends(table, at)
    rows = Demand(network, source, destination, table.where)
    if at[2] is None:
        _require_no_unit(table, unit)
        return ReadDemand(Demand(network, rows.source, rows.destination))  # without the table
    amounts, where = table.values[:, at[2]], partial(table.where, column=at[2])
    counts, rounding = to_packets(amounts, unit, where, str(table.path))
    sources, destinations = np.repeat(rows.source, counts), np.repeat(rows.destination, counts)
    return ReadDemand(Demand(network, sources, destinations), rounding)


def read_matrix(matrix: FileOrArray, network: Network, unit: float | None = None) -> ReadMatrix:
    r"""Read a traffic matrix from a file or an array.

    Parameters
    ----------
    matrix : str, Path or array
        A g × g matrix with a row for each source group, an n × n matrix with a row for each source,
        or a list of groups with the columns source, destination and amount. Rows of a list with the
        same groups are added up. The columns of a data frame have the names that the heading of a
        file has.
    network : Network
        The network.
    unit : float, optional
        The amount of one packet. By default amounts are numbers of packets.

    Returns
    -------
    ReadMatrix
        The numbers of packets.

    Raises
    ------
    InputError
        If there is something else. The message names the cell.

    Examples
    --------
    >>> from popsnet import Network
    >>> from popsnet.programs.schedules.files import read_matrix
    >>> read = read_matrix([[0, 22.5], [9.8, 0]], Network(4, 2), unit=2.5)
    >>> read.counts.tolist()
    [[0, 9], [4, 0]]
    >>> print(read.rounding)
    32.3 is sent as 13 packets of 2.5; rounding up adds 0.2 (0.6%)
    """
    require_unit(unit)
    table = as_table(matrix, "matrix")
    if _is_list(table, network):
        return _of_list(table, network, unit)
    shape = table.values.shape
    if shape not in ((network.g, network.g), (network.n, network.n)):
        raise InputError(_wrong_shape(table, network))
    table.require_order()
    what = "group" if shape[0] == network.g else "processor"

    def where(i: int) -> str:
        a, b = divmod(i, shape[0])
        return f"{table.where(a, b)} (from {what} {a} to {what} {b})"

    counts, rounding = to_packets(table.values.ravel(), unit, where, str(table.path))
    return ReadMatrix(counts.reshape(shape), rounding)


def to_packets(
    amounts: npt.NDArray[Any], unit: float | None, where: Callable[[int], str], origin: str
) -> tuple[I64, Rounding | None]:
    """Return the packets of each amount, and refuse amounts that cannot be.

    ``where`` names the place of an amount in messages, and ``origin`` all of them.
    """
    _require_amounts(amounts, where)
    if unit is None:
        rule = (
            "without a unit every amount is a number of packets. Give the amount of one packet "
            "(--unit, in Python unit=); amounts are then rounded up."
        )
        counts = require_integers(amounts, where, rule)
        if counts.sum(dtype=np.float64) > _MOST_PACKETS:
            _require_few(sum(counts.tolist()), origin, "a unit, the amount of one packet")
        return counts, None
    with np.errstate(over="ignore"):
        exact = amounts.astype(np.float64) / float(unit)
    near = np.rint(exact)
    is_short = amounts.dtype.kind == "f" and amounts.dtype.itemsize < 8
    tolerance = _TOLERANCE + (float(np.finfo(amounts.dtype).eps) / 2 if is_short else 0.0)
    with np.errstate(invalid="ignore"):
        packets = np.where(np.abs(exact - near) <= tolerance * near, near, np.ceil(exact))
    _require_few(float(packets.sum()), origin, f"a unit larger than {unit:g}")
    counts = packets.astype(np.int64)
    return counts, Rounding(float(unit), float(amounts.sum(dtype=np.float64)), int(counts.sum()))


def require_unit(unit: float | None) -> None:
    """Refuse a unit that is not a number above 0."""
    if unit is not None and not (
        isinstance(unit, int | float | np.integer | np.floating) and isfinite(unit) and unit > 0
    ):
        raise wrong("unit", f"{unit!r:.60}")(
            "the amount of one packet must be a finite number above 0."
        )


def demand_of_matrix(network: Network, counts: npt.NDArray[Any]) -> Demand:
    """Make a demand of a traffic matrix: packets from each group (row) to each group (column).

    A matrix of n rows has packets from each processor to each processor. Those between groups are
    dealt to the processors of a group in turn, so the numbers of packets of two processors of a
    group differ by at most one. For d > 1 no processor sends a packet to itself:
    the packets of a group for itself are dealt in the same order at both ends, so it is enough to
    shift the receivers by one.
    """
    g, d = network.g, network.d
    by, to = packet_groups(counts.astype(np.int64))
    if len(counts) != g:
        return Demand(network, by, to)
    source, turns = network.processor(by, ranks(by, g) % d), ranks(to, g)
    at_home = np.zeros(g, dtype=np.int32)
    to_itself = network.processor(to, turns % d) == source
    at_home[to[to_itself]] = 1  # in such a group the next one receives
    return Demand(network, source, network.processor(to, (turns + at_home[to]) % d))


def as_table(data: FileOrArray, name: str, has_labels: bool = True) -> FileTable:
    """Return the table of a file, or an array or a frame, which has names of columns, as one."""
    if isinstance(data, str | Path):
        return read_table(Path(data), has_labels)
    try:
        values = None if np.ma.isMaskedArray(data) else np.asarray(data)
    except ValueError as error:  # rows of different lengths
        raise InputError(f"{name}: its rows must have the same length.") from error
    if values is None or values.dtype.kind not in "iuf":
        kind = "a masked array" if values is None else f"an array of {values.dtype}"
        raise InputError(f"{name} is {kind}; give a file, or an array of numbers.")
    above = _labels(getattr(data, "column_names", getattr(data, "columns", None)))  # Arrow, pandas
    if above is None or above == tuple(map(str, range(len(above)))):
        return FileTable(Path(name), values)
    below = _labels(getattr(data, "index", None)) if names_of_list(above) is None else None
    return FileTable(Path(name), values, above, below)


def _labels(names: Any) -> tuple[str, ...] | None:
    """Return the labels of a frame; an array has none, and a list has a method of this name."""
    return None if names is None or callable(names) else tuple(map(str, names))


def _is_list(table: FileTable, network: Network) -> bool:
    if table.names is not None:
        return True
    has_labels = table.columns is not None or table.rows is not None
    if has_labels or table.values.ndim != 2 or table.values.shape[1] != 3:
        return False
    return network.g != 3 and len(table.values) not in (3, network.g)


def _columns_of_list(table: FileTable, what: str) -> tuple[int, int, int | None]:
    """Return which columns are the source, the destination and, if there is one, the amount."""
    names, columns, shape = table.names, table.columns or (), table.values.shape
    if names is None:
        if len(shape) != 2 or shape[1] not in (2, 3):
            raise InputError(
                f"{table.path} is {_size(shape)}; {what} must have two columns, source and "
                "destination, or three, with an amount. A row per group or processor is a matrix."
            )
        return (0, 1, 2 if shape[1] == 3 else None)
    for name in names:
        same = [f"{columns[k]!r:.60}" for k, other in enumerate(names) if other == name]
        if name not in _LIST or len(same) > 1:
            fault = f"the column {same[0]} is not known"
            if name in _LIST:
                fault = f"{len(same)} columns are the {name}: {', '.join(same)}"
            raise InputError(
                f"{table.path}: {fault}; {what} has the columns source, destination and amount. "
                "Remove the others."
            )
    for name in _LIST[:2]:
        if name not in names:
            raise InputError(f"{table.path} has no column {name}; {what} must have one.")
    amount = names.index("amount") if "amount" in names else None
    return names.index("source"), names.index("destination"), amount


def _ends(table: FileTable, at: tuple[int, int, int | None]) -> tuple[I64, I64]:
    """Return the sources and the destinations of a list."""
    rule = "sources and destinations are."
    source, destination = (
        require_integers(table.values[:, column], partial(table.where, column=column), rule)
        for column in at[:2]
    )
    return source, destination


def _of_list(table: FileTable, network: Network, unit: float | None) -> ReadMatrix:
    """Add up the amounts of a list between groups."""
    g, at = network.g, _columns_of_list(table, "a list of packets between groups")
    ends = _ends(table, at)
    for end, column in zip(ends, at[:2], strict=True):
        wrong = (end < 0) | (end >= g)
        if wrong.any():
            i = int(np.argmax(wrong))
            raise InputError(
                f"{table.where(i, column)}: {_LIST[column == at[1]]} {end[i]} is outside 0 to "
                f"{g - 1}, the groups of {network}."
            )
    cells = ends[0] * g + ends[1]
    if at[2] is None:
        _require_no_unit(table, unit)
        counts = np.bincount(cells, minlength=g * g)
        _require_few(int(counts.sum()), str(table.path), "fewer rows")
        return ReadMatrix(counts.reshape(g, g))
    amounts, where = table.values[:, at[2]], partial(table.where, column=at[2])
    if unit is None:
        packets, rounding = to_packets(amounts, None, where, str(table.path))
        counts = np.bincount(cells, packets, g * g).astype(np.int64)
    else:
        _require_amounts(amounts, where)
        sums = np.bincount(cells, amounts, g * g)
        counts, rounding = to_packets(sums, unit, lambda i: str(table.path), str(table.path))
    return ReadMatrix(counts.reshape(g, g), rounding)


def _require_amounts(amounts: npt.NDArray[Any], where: Callable[[int], str]) -> None:
    wrong = ~(amounts >= 0) | ~np.isfinite(amounts)
    if wrong.any():
        i = int(np.argmax(wrong))
        raise InputError(f"{where(i)}: {amounts[i]} must be a finite number of at least 0.")


def _require_few(packets: float, origin: str, cure: str) -> None:
    if packets > _MOST_PACKETS:
        number = f"{packets:,}" if isinstance(packets, int) else f"{packets:,.0f}"
        raise InputError(
            f"{origin} has {number} packets in all; at most 2^27 can be scheduled. Give {cure}."
        )


def _require_no_unit(table: FileTable, unit: float | None) -> None:
    if unit is not None:
        raise wrong("unit", f"{unit:g}")(
            f"{table.path} has no amounts, and every row is one packet. Leave the unit out, or add "
            "a column amount."
        )


def _wrong_shape(table: FileTable, network: Network) -> str:
    g, shape = network.g, table.values.shape
    cure = ""
    if table.corner is not None and shape[0] < g:
        line, cell = table.corner
        cure = (
            f" Line {line} counts as a heading, because its column 1 "
            + (f"is {cell!r:.60}" if cell else "is empty")
            + "; write a number there if it is a row of the matrix."
        )
    elif shape == (g + 1, g + 1) and table.rows is None and table.columns is None:
        labels = "If the first row and column have labels, leave"
        cure = f" {labels} {'them out' if table.lines is None else 'their common cell empty'}."
    elif len(shape) == 2 and shape[1] in (2, 3):
        cure = " Name the columns of a list source,destination,amount " + (
            "in a data frame." if table.lines is None else "in its first line."
        )
    n = network.n
    processors = f", or {n} × {n}, for every processor" if n > g else ""
    return (
        f"{table.path} is {_size(shape)}; a traffic matrix of {network} must be {g} × {g}, with a "
        f"row for every source group and a column for every destination group{processors}.{cure}"
    )


def _size(shape: tuple[int, ...]) -> str:
    return " × ".join(map(str, shape)) if shape else "one number"
