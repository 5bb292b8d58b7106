"""Read demands and traffic matrices from files.

A demand has a row for every packet with its source and its destination: a ``.csv`` file of two
columns, whose first row may be a heading, or a ``.npy`` array of shape (packets, 2). A traffic
matrix has a row for each source group and a column for each destination group: g × g counts of
packets, as ``.csv`` or ``.npy``.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from popsnet.arrays import named_errors, parse_integers, read_npy, read_rows
from popsnet.errors import InputError
from popsnet.network import Network
from popsnet.schedules.construction import ranks
from popsnet.schedules.demand import Demand

_MOST_PACKETS = 2**27


def read_demand(path: Path, network: Network) -> Demand:
    """Read a demand from a file; errors name the wrong row."""
    table, lines = _read(path)
    if table.ndim != 2 or table.shape[1] != 2:
        raise InputError(
            f"{path} has shape {table.shape}; a demand must have two columns, source and "
            "destination, and a row for every packet."
        )
    return Demand(network, table[:, 0], table[:, 1], _row(path, lines))


def read_matrix(path: Path, network: Network) -> npt.NDArray[Any]:
    """Read a traffic matrix from a file; errors name the wrong row."""
    table, lines = _read(path)
    g = network.g
    if table.shape != (g, g):
        shape = " × ".join(map(str, table.shape))
        raise InputError(
            f"{path} is {shape}; a traffic matrix of {network} must be {g} × {g}, with a row for "
            "every source group and a column for every destination group."
        )
    require_counts(table, str(path), _row(path, lines))
    return table


def require_counts(
    counts: npt.NDArray[Any], origin: str, where: Callable[[int], str] = "row {}".format
) -> None:
    """Refuse a traffic matrix with negative counts, or with too many packets in all."""
    wrong = np.argwhere(counts < 0)
    if len(wrong):
        a, b = wrong[0]
        raise InputError(
            f"{where(a)}: {counts[a, b]} packets from group {a} to group {b}; a number of packets "
            "must be at least 0."
        )
    if (total := sum(counts.ravel().tolist())) > _MOST_PACKETS:
        raise InputError(
            f"{origin} has {total:,} packets in all; at most 2^27 can be scheduled. Use a larger "
            "unit."
        )


def demand_of_matrix(network: Network, counts: npt.NDArray[Any]) -> Demand:
    """Make a demand of a traffic matrix: packets from each group (row) to each group (column).

    Packets are dealt to the processors of a group in turn, so the numbers of packets of two
    processors of a group differ by at most one. For d > 1 no processor sends a packet to itself:
    the packets of a group for itself are dealt in the same order at both ends, so it is enough to
    shift the receivers by one.
    """
    g, d = network.g, network.d
    pairs = np.repeat(np.arange(g * g), counts.ravel().astype(np.int64))
    by, to = (ends.astype(np.int32) for ends in np.divmod(pairs, g))
    source, turns = network.processor(by, ranks(by, g) % d), ranks(to, g)
    at_home = np.zeros(g, dtype=np.int32)
    to_itself = network.processor(to, turns % d) == source
    at_home[to[to_itself]] = 1  # in such a group the next one receives
    return Demand(network, source, network.processor(to, (turns + at_home[to]) % d))


def _row(path: Path, lines: list[int]) -> Callable[[int], str]:
    return lambda i: f"{path}, line {lines[i]}" if lines else f"{path}, row {i}"


def _read(path: Path) -> tuple[npt.NDArray[Any], list[int]]:
    """Read a table of integers, with the line number of each row if it is a text file."""
    if path.suffix.lower() not in (".csv", ".npy"):
        raise InputError(f"{path} must end in .csv or .npy.")
    with named_errors(path, InputError):
        if path.suffix.lower() == ".csv":
            return _read_csv(path)
        table = read_npy(path)
    if table.dtype.kind not in "iu":
        raise InputError(f"{path} holds an array of {table.dtype}; give an array of integers.")
    return table, []


def _read_csv(path: Path) -> tuple[npt.NDArray[Any], list[int]]:
    rows = read_rows(path)
    if rows and not any(cell.strip().lstrip("+-")[:1].isdigit() for cell in rows[0][1]):
        rows = rows[1:]  # a heading
    if not rows:
        raise InputError(f"{path} has no row of numbers; give at least one.")
    width, table = len(rows[0][1]), []
    for line, row in rows:
        if len(row) != width:
            raise InputError(
                f"{path}, line {line} has {len(row)} columns; all rows must have {width}, as the "
                "first has."
            )
        table.append(parse_integers(path, line, row))
        if any(abs(number) > 2**62 for number in table[-1]):
            number = max(table[-1], key=abs)
            raise InputError(f"{path}, line {line}: {number} is too large; the largest is 2^62.")
    return np.array(table), [line for line, _ in rows]
