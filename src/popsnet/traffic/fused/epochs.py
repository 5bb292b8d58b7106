"""epochs: schedules are made by compiled code, and their slots are counted without messages."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from popsnet.network import I32, I64
from popsnet.schedules import Demand
from popsnet.schedules.construction import make_two_hops
from popsnet.schedules.schedule import TO_DESTINATION, Schedule
from popsnet.traffic.arrivals import Block
from popsnet.traffic.fused.register import Opening, register_kernel
from popsnet.traffic.log import Log

_COUNTS = 7
_REFUSED, _MESSAGES, _OWN, _RELAYED = 0, 2, 5, 6


class _Epoch(NamedTuple):
    """A schedule that is executed, with the source of each packet and the slot of its arrival."""

    schedule: Schedule
    source: I64
    arrival: I64


@register_kernel("epochs")
class EpochsSession:
    """Executes schedules of the packets that wait, one after another.

    No message collides, and a relay holds a packet for one slot only, so nothing is lost.
    """

    def __init__(self, opening: Opening) -> None:
        self._network, self._most = opening.network, opening.buffer or np.iinfo(np.int64).max
        self._held = np.zeros(opening.network.n, dtype=np.int64)
        self._waiting: list[I64] = []
        self._epoch: _Epoch | None = None
        self._number = 0
        self._relayed = 0

    def advance(self, block: Block) -> Log:
        """Execute the slots of a block and return what happened."""
        slots = len(block.starts) - 1
        counts = np.zeros((_COUNTS, slots), dtype=np.int32)
        refused: list[I64] = []
        delivered: list[I64] = []
        most_own, most_relayed = int(self._held.max()), int(self._relayed > 0)
        ends = np.zeros(slots, dtype=np.int64)
        for k in range(slots):
            rows = np.arange(block.starts[k], block.starts[k + 1])
            taken = self._admit(block.sources[rows])
            refused.append(rows[~taken])
            counts[_REFUSED, k] = len(rows) - taken.sum()
            self._wait(block, rows[taken], block.begin + k)
            counts[_MESSAGES, k], home = self._execute()
            delivered.append(home)
            ends[k] = home.shape[1]
            counts[_OWN, k], counts[_RELAYED, k] = self._held.sum(), self._relayed
            most_own = max(most_own, int(self._held.max()))
            most_relayed = max(most_relayed, int(self._relayed > 0))
        arrival, *rest = np.concatenate(delivered, axis=1)
        source, destination, hops = (column.astype(np.int32) for column in rest)
        ends = np.cumsum(ends)
        refused_now, lost, messages, collisions, destroyed, own, relayed = counts
        return Log(
            refused_now, lost, messages, collisions, destroyed, own, relayed, ends, arrival.copy(),
            source, destination, hops, np.concatenate(refused), most_own, most_relayed,
        )  # fmt: skip

    def close(self) -> None:
        """Free the memory of the session."""
        self._epoch, self._waiting = None, []

    def _admit(self, sources: I32) -> np.ndarray:
        """Return which packets their sources have room for, and count those."""
        if len(np.unique(sources)) == len(sources):
            taken = self._held[sources] < self._most
            self._held[sources[taken]] += 1
            return taken
        taken = np.zeros(len(sources), dtype=np.bool_)
        for row, source in enumerate(sources.tolist()):
            taken[row] = self._held[source] < self._most
            self._held[source] += taken[row]
        return taken

    def _wait(self, block: Block, rows: I64, slot: int) -> None:
        packets = block.sources[rows], block.destinations[rows], np.full(len(rows), slot)
        self._waiting.append(np.array(packets, dtype=np.int64))
        if self._epoch is None:
            sources, destinations, arrival = np.concatenate(self._waiting, axis=1)
            self._waiting, self._number = [], 0
            if len(sources):
                demand = Demand(self._network, sources, destinations)
                self._epoch = _Epoch(make_two_hops(demand), sources, arrival)

    def _execute(self) -> tuple[int, I64]:
        """Execute a slot; return the messages, and a column per delivered packet."""
        nothing = np.empty((4, 0), dtype=np.int64)
        if self._epoch is None:
            return 0, nothing
        schedule, source, arrival = self._epoch
        senders, listeners, packets, from_relay, _, phase = schedule.messages[self._number]
        if not from_relay.any():
            np.subtract.at(self._held, senders, 1)
        is_last = phase == TO_DESTINATION
        self._relayed = 0 if is_last else len(packets)
        self._number += 1
        if self._number == schedule.slots:
            self._epoch = None
        if not is_last:
            return len(packets), nothing
        order = np.argsort(listeners)
        hops = 1 + from_relay
        home = np.array((arrival[packets], source[packets], listeners, hops))
        return len(packets), home[:, order]
