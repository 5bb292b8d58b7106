"""Arrivals that are listed in a file, packet by packet.

A file has a row ``slot,source,destination`` for every packet, or
``slot,source,destination,packets`` for several packets that are alike. Slots count from 1. A first
row with these names is a heading, and may give the columns in another order. The separator may be
any that :mod:`popsnet.base.tables` knows.

Rows may be in any order, since lists of several sources are often joined: they are sorted by slot
and source, and packets of one source and slot arrive in the order of the file.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from popsnet.base.arrays import digest, named_errors
from popsnet.base.errors import InputError, as_path
from popsnet.base.tables import FileTable, table_of
from popsnet.base.tables.reading import TEXTS
from popsnet.base.tables.table import require_integers
from popsnet.model.network import F64, I32, I64, Network
from popsnet.workloads.block import Block
from popsnet.workloads.largest_loads import Rates

COLUMNS = ("slot", "source", "destination", "packets")
_FORM = "slot,source,destination or slot,source,destination,packets"
_MOST_SLOTS = 2**48
_MOST_PACKETS = 2**24
_NAMES = ("slot", "source", "destination", "amount")


@dataclass(frozen=True, eq=False)
class PacketList:
    r"""The arrivals of a file. After its last slot nothing arrives.

    Examples
    --------
    >>> from pathlib import Path
    >>> from popsnet import Network
    >>> from popsnet.workloads.packet_list import read_packet_list
    >>> _ = Path("list.csv").write_text("slot,source,destination,packets\n4,1,0,2\n1,2,3,1\n")
    >>> packets = read_packet_list("list.csv", Network(2, 2))
    >>> packets.load, packets.slots
    (0.1875, 4)
    >>> packets.block(2, 2).destinations
    array([0, 0], dtype=int32)
    """

    network: Network
    """The network."""
    name: str
    """The kind and a digest of the file."""
    file: str
    """The file."""
    slot: I64
    """The slot of each row, in ascending order, from 0."""
    source: I32
    """The source of each row."""
    destination: I32
    """The destination of each row."""
    ends: I64
    """The packets of all rows before each row, and of all rows."""

    @property
    def slots(self) -> int:
        """The number of slots up to the last arrival."""
        return int(self.slot[-1]) + 1

    @property
    def packets(self) -> int:
        """The number of packets."""
        return int(self.ends[-1])

    @property
    def load(self) -> float:
        """The mean number of packets per processor and slot up to the last arrival."""
        return self.packets / (self.network.n * self.slots)

    def block(self, begin: int, slots: int) -> Block:
        """Return the arrivals of some slots, which may be any."""
        rows = np.searchsorted(self.slot, np.arange(begin, begin + slots + 1))
        part, ends = slice(rows[0], rows[-1]), self.ends[rows[0] : rows[-1] + 1]
        source, destination = self.source[part], self.destination[part]
        if ends[-1] - ends[0] != len(source):
            counts = np.diff(ends)
            source, destination = np.repeat(source, counts), np.repeat(destination, counts)
        return Block(begin, self.ends[rows] - ends[0], source, destination)

    def flows(self) -> F64:
        """Return the rates from each processor to each, n × n, scaled to a mean load of 1."""
        n, counts = self.network.n, np.diff(self.ends)
        codes = self.source.astype(np.int64) * n + self.destination
        rates = np.bincount(codes, counts, n * n).reshape(n, n) * (n / self.packets)
        return rates.astype(np.float64, copy=False)

    def rates(self) -> Rates:
        """Return how the packets load processors and groups, scaled to a mean load of 1."""
        d, g, n = self.network.d, self.network.g, self.network.n
        counts, scale = np.diff(self.ends), n / self.packets
        by_source = np.bincount(self.source, counts, n) * scale
        by_destination = np.bincount(self.destination, counts, n) * scale
        codes = self.source.astype(np.int64) // d * g + self.destination // d
        places = np.unique(codes, return_inverse=True)[1]
        return Rates.of(
            source=by_source.max(), destination=by_destination.max(),
            group_out=by_source.reshape(g, d).sum(axis=1).max(),
            group_in=by_destination.reshape(g, d).sum(axis=1).max(),
            pairs=np.bincount(places, counts) * scale,
        )  # fmt: skip


def read_packet_list(path: str | Path, network: Network) -> PacketList:
    """Read the arrivals of a file.

    Parameters
    ----------
    path : str or Path
        A text file, such as ``.csv``, with a row ``slot,source,destination`` or
        ``slot,source,destination,packets`` for each packet or number of packets.
    network : Network
        The network.

    Returns
    -------
    PacketList
        The arrivals.

    Raises
    ------
    InputError
        If the file cannot be read, or a row does not fit the network. The message names the line.
    """
    path = as_path("packets", path)
    if path.suffix.lower() not in TEXTS:
        raise InputError(
            f"{path}: a list of packets must be a file that ends in {', '.join(TEXTS)}."
        )
    with named_errors(path):
        data = path.read_bytes()
    table = table_of(path, data, has_labels=False)
    rows = _fitting(table, _columns(table), network)
    slot, source, destination, packets = rows[:, np.lexsort((rows[1], rows[0]))]  # stable
    ends = np.concatenate(([0], np.cumsum(packets)))
    return PacketList(
        network, f"list.csv:{digest(data)}", str(path.resolve()), slot, source.astype(np.int32),
        destination.astype(np.int32), ends,
    )  # fmt: skip


def _columns(table: FileTable) -> list[int]:
    """Return which columns are slot, source, destination and, if it is there, packets."""
    names, width = table.names, table.values.shape[1]
    if names is None and table.columns is None and width in (3, 4):
        return list(range(width))
    if names is not None and sorted(names) in (sorted(_NAMES), sorted(_NAMES[:3])):
        return [names.index(name) for name in _NAMES if name in names]
    shape = f"{width} columns"
    if table.columns is not None:
        shape = f"the heading {','.join(table.columns)!r:.60}"
    raise InputError(
        f"{table.path} has {shape}; a list of packets must have {_FORM}, with these names as a "
        "heading or with no heading."
    )


def _fitting(table: FileTable, columns: list[int], network: Network) -> I64:
    """Return the columns as rows in the order of ``COLUMNS``, one packet per row by default.

    Slots are from 0 there.

    The first number that cannot be is refused, with its line.
    """
    high, n = (_MOST_SLOTS + 1, network.n, network.n, _MOST_PACKETS + 1), network.n
    cures = ("slots count from 1; add 1 to each slot", *[f"{network} has n = {n} processors"] * 2,
             "split the row, or use a smaller number")  # fmt: skip
    numbers = np.ones((len(COLUMNS), len(table.values)), np.int64)
    for k, column in enumerate(columns):
        low = 1 if k in (0, 3) else 0
        numbers[k] = require_integers(
            table.values[:, column], partial(table.where, column=column), "give integers."
        )
        wrong = (numbers[k] < low) | (numbers[k] >= high[k])
        if wrong.any():
            i = int(np.argmax(wrong))
            raise InputError(
                f"{table.where(i)}: {COLUMNS[k]} {numbers[k, i]} must be from {low} to "
                f"{high[k] - 1}; {cures[k]}."
            )
    numbers[0] -= 1
    return numbers
