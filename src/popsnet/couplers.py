"""The g² couplers during one slot: which message, if any, each of them carries."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from popsnet.compiled import compiled
from popsnet.network import Network
from popsnet.slot import Ints

__all__ = ["Couplers", "Light"]

I64 = npt.NDArray[np.int64]

_SILENT = -1
_COLLIDED = -2


class Light(NamedTuple):
    """What happened on the couplers in a slot."""

    listeners: Ints  # positions of the listeners that heard a message
    heard: Ints  # positions of the transmissions they heard
    collided: int  # couplers with two or more messages
    destroyed: int  # arrivals at those couplers
    victim: int  # position of a transmission that collided, -1 if there is none


class Couplers:
    """All couplers of a network, numbered b·g + a for c(b, a).

    A table with a cell a coupler is kept while g² is within a small multiple of n. Where groups
    are many and small (d much less than g) the used couplers are renumbered by sorting, so that
    POPS(1, 65536) needs memory for its 65,536 messages, not for its 2^32 couplers.
    """

    def __init__(self, network: Network) -> None:
        self._g = network.g
        self._table: npt.NDArray[np.int32] | None = None
        if network.couplers <= max(4 * network.n, 2**16):
            self._table = np.full(network.couplers, _SILENT, dtype=np.int32)

    def carry(self, to: Ints, sent_by: Ints, listening_in: Ints, listened: Ints) -> Light:
        """Send a message on each coupler c(to, sent_by); hear at each c(listening_in, listened).

        A coupler with two or more messages delivers nothing.
        """
        used = to.astype(np.int64) * self._g + sent_by
        wanted = listening_in.astype(np.int64) * self._g + listened
        table = self._table
        if table is None:
            numbers = np.unique(used)
            table = np.full(len(numbers) + 1, _SILENT, dtype=np.int32)  # the last one stays silent
            used, wanted = np.searchsorted(numbers, used), _positions(numbers, wanted)
        listeners = np.empty(len(wanted), dtype=np.int32)
        heard = np.empty(len(wanted), dtype=np.int32)
        collided, destroyed, victim = _send(table, used)
        count = _listen(table, wanted, listeners, heard)
        _silence(table, used)
        return Light(listeners[:count], heard[:count], collided, destroyed, victim)


def _positions(numbers: I64, wanted: I64) -> I64:
    """Where each wanted coupler stands among the used ones; past the end if it is not."""
    found = np.searchsorted(numbers, wanted)
    known = found < len(numbers)
    known[known] = numbers[found[known]] == wanted[known]
    return np.where(known, found, len(numbers))


@compiled
def _send(table: npt.NDArray[np.int32], used: I64) -> tuple[int, int, int]:
    """Put each transmission on its coupler: collided couplers, destroyed messages, a victim."""
    collided, destroyed, victim = 0, 0, -1
    for k in range(len(used)):
        carried = table[used[k]]
        if carried == _SILENT:
            table[used[k]] = k
            continue
        if carried >= 0:
            table[used[k]] = _COLLIDED
            collided += 1
            destroyed += 1
            victim = carried if victim < 0 else victim
        destroyed += 1
    return collided, destroyed, victim


@compiled
def _listen(table: npt.NDArray[np.int32], wanted: I64, listeners: Ints, heard: Ints) -> int:
    """Who hears which transmission; returns how many do."""
    s = 0
    for i in range(len(wanted)):
        carried = table[wanted[i]]
        listeners[s] = i
        heard[s] = carried
        s += int(carried >= 0)
    return s


@compiled
def _silence(table: npt.NDArray[np.int32], used: I64) -> None:
    for k in range(len(used)):
        table[used[k]] = _SILENT
