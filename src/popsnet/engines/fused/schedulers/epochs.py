"""epochs: schedules are made by compiled code, and their slots are counted without messages."""

from __future__ import annotations

from collections import deque

import numpy as np

from popsnet.base.compiled import compiled
from popsnet.engines.fused.schedulers import packets
from popsnet.engines.fused.schedulers.packets import KernelState, LogBuffers
from popsnet.engines.fused.schedulers.register import NOTHING, Opening
from popsnet.engines.fused.schedulers.session import SchedulerSession
from popsnet.model.network import I32
from popsnet.programs.schedulers.epochs import around
from popsnet.programs.schedules import Demand
from popsnet.programs.schedules.construction import make_two_hops
from popsnet.programs.schedules.schedule import TO_DESTINATION, Messages
from popsnet.workloads.block import Block


class Epochs(SchedulerSession):
    """The kernel of epochs: schedules of the packets that wait, one after another.

    No message collides, and a relay holds a packet for one slot only, so nothing is lost. Where
    parts are dead, they are known.
    """

    survives = NOTHING

    def __init__(self, opening: Opening) -> None:
        super().__init__(opening)
        self._waiting: list[I32] = []
        self._packets = np.empty(0, dtype=np.int32)
        self._slots: deque[Messages] = deque()

    def execute(self, block: Block, log: LogBuffers) -> None:
        """Execute the slots of a block, and write the log."""
        for k in range(block.slots):
            m = packets.accept(k, block, self.state, log)
            self._waiting.append(self.state.nodes[:m].copy())
            if not self._slots:
                self._schedule()
            if self._slots:
                slot = self._slots.popleft()
                log.counts[packets.MESSAGES, k] = self._send(block.begin + k, slot, log)
            packets.note_slot(k, m, block, self.state, log)

    def _schedule(self) -> None:
        """Begin a schedule of all packets that wait."""
        self._packets, self._waiting = np.concatenate(self._waiting), []
        if not len(self._packets):
            return
        rows = self.state.pool[self._packets].astype(np.int64)
        demand = Demand(
            self._opening.network, rows[:, packets.SOURCE], rows[:, packets.DESTINATION]
        )
        schedule, dead = make_two_hops(demand), self._opening.dead
        slots = schedule.messages if dead is None else around(schedule, demand, dead.live)
        self._slots.extend(slots)

    def _send(self, t: int, slot: Messages, log: LogBuffers) -> int:
        """Execute a slot of the schedule, and return the number of its messages."""
        state, m, relays = self.state, len(slot.packets), slot.senders[slot.from_relay]
        state.held[slot.senders[~slot.from_relay]] -= 1
        state.transit[relays] -= 1
        state.counters[packets.OWN] -= m - len(relays)
        state.counters[packets.RELAYED] -= len(relays)
        if slot.phase == TO_DESTINATION:
            state.sent[:m], state.senders[:m] = self._packets[slot.packets], slot.senders
            state.hops[:m] = 1 + slot.from_relay
            _deliver(t, m, state, log)
        else:
            state.transit[slot.listeners] += 1
            state.counters[packets.RELAYED] += m
            most = state.transit[slot.listeners].max(initial=state.counters[packets.MOST_RELAYED])
            state.counters[packets.MOST_RELAYED] = most
        return m


@compiled
def _deliver(t: int, m: int, state: KernelState, log: LogBuffers) -> None:
    """Deliver the packets that are sent. Passing a state from Python takes longer than the work."""
    packets.gather(m, state)
    packets.deliver(t, m, state, log)
    packets.release(m, state)
