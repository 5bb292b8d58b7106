"""The g² couplers during one slot: which message, if any, each of them carries."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from popsnet.network import Network
from popsnet.slot import Ints

__all__ = ["Couplers", "Light"]

_SILENT = -1
_COLLIDED = -2


class Light(NamedTuple):
    """What happened on the couplers: counts, and what each listener's coupler brought."""

    heard: npt.NDArray[np.int32]  # position of the message heard by each listener, or < 0
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

    def carry(
        self, to: Ints, sent_by: Ints, messages: Ints, listening_in: Ints, listened: Ints
    ) -> Light:
        """Put ``messages[i]`` on coupler c(to[i], sent_by[i]); hear at c(listening_in, listened).

        A coupler with two or more messages delivers nothing.
        """
        used: Ints = to.astype(np.int64) * self._g + sent_by
        wanted: Ints = listening_in.astype(np.int64) * self._g + listened
        table = self._table
        if table is None:
            numbers = np.unique(used)
            table = np.full(len(numbers) + 1, _SILENT, dtype=np.int32)  # the last one stays silent
            used, wanted = np.searchsorted(numbers, used), _positions(numbers, wanted)
        light = _shine(table, used, messages, wanted)
        table[used] = _SILENT
        return light


def _positions(numbers: Ints, wanted: Ints) -> Ints:
    """Where each wanted coupler stands among the used ones; past the end if it is not."""
    found = np.searchsorted(numbers, wanted)
    known = found < len(numbers)
    known[known] = numbers[found[known]] == wanted[known]
    return np.where(known, found, len(numbers))


def _shine(table: npt.NDArray[np.int32], used: Ints, messages: Ints, wanted: Ints) -> Light:
    """Each transmission writes its number; whoever was overwritten reveals a collision."""
    order = np.arange(len(used), dtype=np.int32)
    table[used] = order
    overwritten = table[used] != order
    table[used[overwritten]] = _COLLIDED
    alone = table[used] == order
    table[used[alone]] = messages[alone]
    destroyed = len(used) - int(np.count_nonzero(alone))
    return Light(
        heard=table[wanted],
        collided=destroyed - int(np.count_nonzero(overwritten)),
        destroyed=destroyed,
        victim=int(np.argmin(alone)) if destroyed else -1,
    )
