"""Arrivals that are listed in a file, packet by packet.

A ``.csv`` file has a row ``slot,source,destination`` for every packet, or
``slot,source,destination,packets`` for several packets that are alike. Slots count from 0. A first
row with these names is a heading, and may give the columns in another order.

Rows may be in any order, since lists of several sources are often joined: they are sorted by slot
and source, and packets of one source and slot arrive in the order of the file.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from hashlib import blake2b
from io import StringIO
from pathlib import Path

import numpy as np
import numpy.typing as npt

from popsnet.arrays import named_errors, parse_integers, read_rows
from popsnet.errors import InputError
from popsnet.network import Network
from popsnet.traffic.block import Block
from popsnet.traffic.bounds import Rates

I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]

COLUMNS = ("slot", "source", "destination", "packets")
_FORM = "slot,source,destination or slot,source,destination,packets"
_MOST_SLOTS = 2**48
_MOST_PACKETS = 2**24
_LARGEST = 2**62


@dataclass(frozen=True, eq=False)
class PacketList:
    r"""The arrivals of a file. After its last slot nothing arrives.

    Examples
    --------
    >>> from pathlib import Path
    >>> from popsnet import Network
    >>> from popsnet.traffic.packet_list import read_packet_list
    >>> _ = Path("list.csv").write_text("slot,source,destination,packets\n3,1,0,2\n0,2,3,1\n")
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
    """The slot of each row, in ascending order."""
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
        A ``.csv`` file with a row ``slot,source,destination`` or
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
    path = Path(path)
    if path.suffix.lower() != ".csv":
        raise InputError(f"{path}: a list of packets must be a file that ends in .csv.")
    with named_errors(path, InputError):
        data = path.read_bytes()
        table = _read_plain(data)
        table = _read_any(path, data) if table is None else table
        _require_fitting(path, table, network)
    slot, source, destination, packets = _sorted(table)
    ends = np.concatenate(([0], np.cumsum(packets)))
    name = f"packets.csv:{blake2b(data, digest_size=16).hexdigest()}"
    return PacketList(
        network, name, str(path.resolve()), slot, source.astype(np.int32),
        destination.astype(np.int32), ends,
    )  # fmt: skip


def _sorted(table: I64) -> I64:
    """Return the rows by slot and source, those that are equal in their order."""
    slot, source = table[0], table[1]
    later = slot[1:] > slot[:-1]
    if (later | ((slot[1:] == slot[:-1]) & (source[1:] >= source[:-1]))).all():
        return table
    return table[:, np.lexsort((source, slot))]


def _read_plain(data: bytes) -> I64 | None:
    """Read a file of numbers below a heading or none, as large ones are; None for all others.

    The result has a row for each of ``COLUMNS``.
    """
    try:
        text = data.decode("ascii")
        first = _cells(text.partition("\n")[0].split(","))
        is_heading = sorted(first) in (sorted(COLUMNS), sorted(COLUMNS[:3]))
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # NumPy warns of an empty file, for example
            table: I64 = np.loadtxt(
                StringIO(text), np.int64, comments=None, delimiter=",", ndmin=2,
                skiprows=int(is_heading),
            )  # fmt: skip
    except (ValueError, OverflowError, Warning):  # UnicodeDecodeError is a ValueError
        return None
    if table.shape[1] not in (3, 4) or (is_heading and len(first) != table.shape[1]):
        return None
    return _in_order(table, first if is_heading else [])


def _read_any(path: Path, data: bytes) -> I64:
    """Read a file that may have quotes and faults; each fault is named with its line."""
    rows = _numbered(path)
    if not rows:
        raise InputError(f"{path} lists no packet; give at least one row {_FORM}.")
    heading = _heading(path)
    width = len(heading or rows[0][1])
    table = []
    for line, row in rows:
        if len(row) != width or width not in (3, 4):
            torn = line == rows[-1][0] and not data.endswith(b"\n")
            raise InputError(
                f"{path}, line {line} has {len(row)} columns; every row must be "
                f"{','.join(heading) if heading else _FORM}, as the first is."
                + (" The file ends within this row: it may be incomplete." if torn else "")
            )
        numbers = parse_integers(path, line, row)
        if max(map(abs, numbers)) > _LARGEST:
            number = max(numbers, key=abs)
            raise InputError(f"{path}, line {line}: {number} is too large for any column.")
        table.append(numbers)
    return _in_order(np.array(table, np.int64), heading)


def _in_order(table: I64, heading: list[str]) -> I64:
    """Return the columns as rows in the order of ``COLUMNS``, one packet per row by default."""
    order = [heading.index(name) for name in COLUMNS if name in heading] or [0, 1, 2, 3]
    columns = [table[:, k] for k in order if k < table.shape[1]]
    if len(columns) == 3:
        columns.append(np.ones(len(table), np.int64))
    return np.array(columns)


def _heading(path: Path) -> list[str]:
    """Return the names of columns if the first row has names, and refuse other names."""
    rows = read_rows(path)
    if not rows or any(cell.strip().lstrip("+-")[:1].isdigit() for cell in rows[0][1]):
        return []
    names = _cells(rows[0][1])
    if sorted(names) not in (sorted(COLUMNS), sorted(COLUMNS[:3])):
        raise InputError(
            f"{path}, line {rows[0][0]}: {','.join(names)!r:.60} is not a heading of a list of "
            f"packets; give {_FORM}, or no heading."
        )
    return names


def _numbered(path: Path) -> list[tuple[int, list[str]]]:
    """Return the rows below the heading, each with its line number."""
    return read_rows(path)[1 if _heading(path) else 0 :]


def _cells(cells: list[str]) -> list[str]:
    return [cell.strip().lower() for cell in cells]


def _require_fitting(path: Path, table: I64, network: Network) -> None:
    """Refuse the first row with a number that cannot be, naming its line."""
    low, high = (0, 0, 0, 1), (_MOST_SLOTS, network.n, network.n, _MOST_PACKETS + 1)
    wrong = (table < np.array(low)[:, None]) | (table >= np.array(high)[:, None])
    if not wrong.any():
        return
    k = int(np.argmax(wrong.any(axis=0)))
    column = int(np.argmax(wrong[:, k]))
    cure = "split the row, or use a smaller number" if column == 3 else "count slots from 0"
    if column in (1, 2):
        cure = f"{network} has n = {network.n} processors"
    raise InputError(
        f"{path}, line {_numbered(path)[k][0]}: {COLUMNS[column]} {table[column, k]} must be from "
        f"{low[column]} to {high[column] - 1}; {cure}."
    )
