"""FIFO queues of packets, for schedulers: any number per processor."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

import numpy as np

from popsnet.model.network import I64, Bools, Ints
from popsnet.model.slot import NO_PACKET

_Key = tuple[int, int]


class Queues:
    """Queues of packets, first in, first out: one for each processor and key.

    A key is any integer: a destination, its class, its group. The methods take arrays of equal
    length: entry k concerns the queue of ``processors[k]`` and ``keys[k]``.

    Examples
    --------
    >>> import numpy as np
    >>> from popsnet.traffic import Queues
    >>> queues = Queues()
    >>> queues.push(np.array([0, 0, 1]), np.array([5, 5, 5]), np.array([10, 11, 12]))
    >>> queues.heads(np.array([0, 1, 2]), np.array([5, 5, 5]))
    array([10, 12, -1])
    >>> queues.pop(np.array([0]), np.array([5]))
    array([10])
    >>> queues.lengths(np.array([0, 1]), np.array([5, 5]))
    array([1, 1])
    """

    def __init__(self) -> None:
        self._queues: dict[_Key, deque[int]] = {}  # none is empty, so memory goes with packets

    def push(self, processors: Ints, keys: Ints, packets: Ints) -> None:
        """Append a packet to each queue."""
        for key, packet in zip(_pairs(processors, keys), packets.tolist(), strict=True):
            self._queues.setdefault(key, deque()).append(packet)

    def heads(self, processors: Ints, keys: Ints, place: int = 0) -> I64:
        """Return the oldest packet of each queue, or the one at a place; -1 if there is none."""
        get = self._queues.get
        queues = [get(key, ()) for key in _pairs(processors, keys)]
        heads = [queue[place] if len(queue) > place else NO_PACKET for queue in queues]
        return np.array(heads, dtype=np.int64)

    def oldest(self, processors: Ints, keys: Ints, most: int) -> tuple[I64, I64, I64]:
        """Return the oldest packets of each queue, up to a number, one queue after another.

        The packets are preceded by the row of each, which says whose it is, and its place.
        """
        oldest = [
            (row, place, packet)
            for row, key in enumerate(_pairs(processors, keys))
            for place, packet in zip(range(most), self._queues.get(key, ()), strict=False)
        ]
        rows, places, packets = np.array(oldest, dtype=np.int64).reshape(-1, 3).T
        return rows, places, packets

    def first(self, processors: Ints, keys: Ints, may: Callable[[Ints, Ints], Bools]) -> I64:
        """Return the oldest packet of each queue that may be taken, -1 if there is none.

        ``may(rows, packets)`` says whether the queue of each row may give the packet.
        """
        matches = np.full(len(processors), NO_PACKET, dtype=np.int64)
        rows, place = np.arange(len(processors)), 0
        while len(rows):
            packets = self.heads(processors[rows], keys[rows], place)
            rows, packets = rows[packets >= 0], packets[packets >= 0]
            taken = may(rows, packets)
            matches[rows[taken]] = packets[taken]
            rows, place = rows[~taken], place + 1
        return matches

    def lengths(self, processors: Ints, keys: Ints) -> I64:
        """Return the number of packets in each queue."""
        get = self._queues.get
        return np.array([len(get(key, ())) for key in _pairs(processors, keys)], dtype=np.int64)

    def pop(self, processors: Ints, keys: Ints) -> I64:
        """Remove and return the oldest packet of each queue, -1 if there is none."""
        taken, get = [], self._queues.get
        for key in _pairs(processors, keys):
            queue = get(key)
            taken.append(queue.popleft() if queue else NO_PACKET)
            if queue is not None and not queue:
                self._queues.pop(key)
        return np.array(taken, dtype=np.int64)

    def remove(self, processors: Ints, keys: Ints, packets: Ints) -> None:
        """Remove a packet from each queue, at whatever place it is."""
        for key, packet in zip(_pairs(processors, keys), packets.tolist(), strict=True):
            queue = self._queues[key]
            queue.remove(packet)
            if not queue:
                self._queues.pop(key)


def _pairs(processors: Ints, keys: Ints) -> Iterator[_Key]:
    return zip(processors.tolist(), keys.tolist(), strict=True)
