"""The g² couplers during one slot: which message, if any, each of them carries."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from popsnet.compiled import compiled
from popsnet.network import Network
from popsnet.splitmix import mix

I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
U64 = np.uint64

_SILENT = -1
_COLLIDED = -2
_UNUSED = -1
_CELL_BYTES = 12
_PADDING = 16  # without it, if g is a power of two, a column would share a few cache lines


class Transmitted(NamedTuple):
    """What the couplers did in a slot. The arrays are valid until the next slot."""

    listeners: I32  # positions of the listeners that heard a message
    heard: I32  # positions of the transmissions they heard
    collided: int  # couplers with two or more messages
    destroyed: int  # arrivals at those couplers


def table_bytes(network: Network) -> int:
    """Return the memory of a table of all couplers, or 0 if cells are found by hashing."""
    return 4 * network.g * (network.g + _PADDING) if _has_table(network) else 0


def hashed_bytes(network: Network, messages: int) -> int:
    """Return the memory of the cells of a slot with this many messages, or 0 if there is a table.

    >>> hashed_bytes(Network(1, 1000), 1000), hashed_bytes(Network(1000, 2), 1000)
    (24576, 0)
    """
    return 0 if _has_table(network) else _CELL_BYTES * _cells(messages)


def _has_table(network: Network) -> bool:
    return network.couplers <= max(4 * network.n, 2**16)


def _cells(messages: int) -> int:
    """Return a power of two, at least twice the messages, so that half of the cells stay free."""
    return 2 << messages.bit_length()


class Couplers:
    """All couplers of a network, in rows: c(b, a) is number a of row b.

    A table with one cell per coupler is kept while g² is within a small multiple of n. Where groups
    are many and small (d much less than g) only the couplers in use have cells, found by hashing,
    so POPS(1, 65536) needs memory for its 65,536 messages, not for its 2^32 couplers.
    """

    def __init__(self, network: Network) -> None:
        self._d, self._g, self._wavelengths = network.d, network.g, network.wavelengths
        self._row = U64(network.g + _PADDING)
        # j // d for every j < 2^31 is j · factor >> shift (Granlund and Montgomery, 1994)
        shift = 31 + (network.d - 1).bit_length()
        self._divisor = U64((1 << shift) // network.d + 1), U64(shift)
        self._at, self._heard = (np.empty(network.n, dtype=np.int32) for _ in range(2))
        self._table: I32 | None = None
        if _has_table(network):
            self._table = np.full(network.g * int(self._row), _SILENT, dtype=np.int32)

    def carry(
        self,
        senders: I32,
        groups: I32,
        listeners: I32,
        listened: I32,
        tuned: tuple[I32, I32] | None = None,
    ) -> Transmitted:
        """Send from each sender to a group, then find what each listener hears from its group.

        A coupler with two or more messages on one wavelength delivers none of them. ``tuned`` has
        the wavelengths of the messages and of the listeners, which are all 0 by default.
        """
        if tuned is not None:
            return self._carry_tuned(senders, groups, listeners, listened, tuned)
        table, numbers = self._table, None
        if table is None:
            size = _cells(len(groups))
            table = np.full(size, _SILENT, dtype=np.int32)
            numbers = np.full(size, _UNUSED, dtype=np.int64)
        shape = self._row, *self._divisor
        collided, destroyed = _send(table, numbers, *shape, senders, groups)
        count = _listen(table, numbers, *shape, listeners, listened, self._at, self._heard)
        if numbers is None:
            _silence(table, *shape, senders, groups)
        return Transmitted(self._at[:count], self._heard[:count], collided, destroyed)

    def _carry_tuned(
        self, senders: I32, groups: I32, listeners: I32, listened: I32, tuned: tuple[I32, I32]
    ) -> Transmitted:
        """Carry messages on several wavelengths: each coupler and wavelength has its own cell."""
        size = _cells(len(groups))
        table = np.full(size, _SILENT, dtype=np.int32)
        numbers = np.full(size, _UNUSED, dtype=np.int64)
        sent = self._channel(groups, self._group(senders), tuned[0])
        collided, destroyed = _send_tuned(table, numbers, sent)
        heard = self._channel(self._group(listeners), listened, tuned[1])
        count = _listen_tuned(table, numbers, heard, self._at, self._heard)
        return Transmitted(self._at[:count], self._heard[:count], collided, destroyed)

    def _group(self, processors: I32) -> I32:
        return processors // np.int32(self._d)

    def _channel(self, to: I32, by: I32, wavelengths: I32) -> I64:
        """Return the numbers of couplers with wavelengths."""
        coupler = to.astype(np.int64) * self._g + by
        channel: I64 = coupler * self._wavelengths + wavelengths
        return channel


@compiled(inline=True)
def _cell(numbers: I64, coupler: np.uint64) -> np.uint64:
    """Find the cell of a coupler, or the one that it would get."""
    last = U64(len(numbers) - 1)
    at = mix(coupler) & last
    while numbers[at] != _UNUSED and numbers[at] != np.int64(coupler):
        at = (at + U64(1)) & last
    return at


@compiled
def _send(
    table: I32, numbers: I64 | None, row: np.uint64, factor: np.uint64, shift: np.uint64,
    senders: I32, groups: I32,
) -> tuple[int, int]:  # fmt: skip
    """Put transmissions on couplers, and count collided couplers and destroyed messages."""
    collided, met = 0, 0
    for k in range(len(groups)):
        coupler = U64(groups[k]) * row + (U64(senders[k]) * factor >> shift)
        at = coupler if numbers is None else _cell(numbers, coupler)
        carried = table[at]
        table[at] = k if carried == _SILENT else _COLLIDED
        if numbers is not None:
            numbers[at] = coupler
        collided += int(carried >= 0)
        met += int(carried != _SILENT)
    return collided, met + collided


@compiled
def _listen(
    table: I32, numbers: I64 | None, row: np.uint64, factor: np.uint64, shift: np.uint64,
    listeners: I32, listened: I32, at: I32, heard: I32,
) -> int:  # fmt: skip
    """Write down which listeners hear which transmission, and return how many do."""
    s = 0
    for i in range(len(listeners)):
        coupler = (U64(listeners[i]) * factor >> shift) * row + U64(listened[i])
        carried = table[coupler if numbers is None else _cell(numbers, coupler)]
        at[s] = i
        heard[s] = carried
        s += int(carried >= 0)
    return s


@compiled
def _send_tuned(table: I32, numbers: I64, channels: I64) -> tuple[int, int]:
    """Put transmissions on channels, and count collided channels and destroyed messages."""
    collided, met = 0, 0
    for k in range(len(channels)):
        at = _cell(numbers, U64(channels[k]))
        carried = table[at]
        table[at] = k if carried == _SILENT else _COLLIDED
        numbers[at] = channels[k]
        collided += int(carried >= 0)
        met += int(carried != _SILENT)
    return collided, met + collided


@compiled
def _listen_tuned(table: I32, numbers: I64, channels: I64, at: I32, heard: I32) -> int:
    """Write down which listeners hear which transmission, and return how many do."""
    s = 0
    for i in range(len(channels)):
        carried = table[_cell(numbers, U64(channels[i]))]
        at[s] = i
        heard[s] = carried
        s += int(carried >= 0)
    return s


@compiled
def _silence(
    table: I32, row: np.uint64, factor: np.uint64, shift: np.uint64, senders: I32, groups: I32
) -> None:
    if len(groups) > len(table) // 16:
        table[:] = _SILENT
        return
    for k in range(len(groups)):
        table[U64(groups[k]) * row + (U64(senders[k]) * factor >> shift)] = _SILENT
