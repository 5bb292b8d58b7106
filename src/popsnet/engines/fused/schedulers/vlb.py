"""vlb, compiled."""

from __future__ import annotations

import numpy as np

from popsnet.base.compiled import compiled
from popsnet.base.splitmix import step_key
from popsnet.engines.fused.schedulers import packets
from popsnet.engines.fused.schedulers.dead import DeadParts, lose, meet, take_passed_on
from popsnet.engines.fused.schedulers.lists import KEY, Lists, new_lists, take, with_chunks
from popsnet.engines.fused.schedulers.packets import KernelState, LogBuffers
from popsnet.engines.fused.schedulers.register import Opening
from popsnet.engines.fused.schedulers.session import SchedulerSession
from popsnet.engines.fused.schedulers.spread import hear, take_oldest
from popsnet.workloads.block import Block


class Vlb(SchedulerSession):
    """The kernel of vlb: relayed packets by the slot of the frame in which their class is met."""

    wavelengths = True

    def __init__(self, opening: Opening) -> None:
        super().__init__(opening)
        self._relayed = new_lists(opening.network.n)
        self._coins = opening.coins("public", "keeper")

    def execute(self, block: Block, log: LogBuffers) -> None:
        """Execute the slots of a block, and write the log."""
        room = int(self.state.counters[packets.OWN]) + len(block.sources)
        self._relayed = with_chunks(self._relayed, room)
        _advance(self.state, block, log, self._relayed, self._coins, self.dead)


@compiled
def _advance(
    state: KernelState,
    block: Block,
    log: LogBuffers,
    relayed: Lists,
    coins: tuple[np.uint64, np.uint64],
    dead: DeadParts | None,
) -> None:
    held, transit, counters, events = state.held, state.transit, state.counters, state.events
    public, keeper = coins
    for k in range(len(block.starts) - 1):
        t = block.begin + k
        m = packets.accept(k, block, state, log)
        packets.join(m, state)
        u, key = (t // 2) % len(held), step_key(public, keeper, t)
        if dead is not None:
            meet(t, u, state, dead)
        if t % 2 == 0:
            if dead is None or not dead.is_known:
                out = take_oldest(u, state)
            else:
                out = take_passed_on(t, 2, state, dead)
            counters[packets.OWN] -= out
            packets.gather(out, state)
            packets.release(out, state)
        else:
            out = take(relayed, u, t, state, 0)
            for q in range(out):
                transit[events[q, KEY]] -= 1
            counters[packets.RELAYED] -= out
        delivered, stored = out, 0
        if dead is not None:
            delivered = lose(t, key, (0, out), 0, state, log, dead)
        if t % 2 == 0:
            delivered, stored = hear(t, u, key, (0, delivered), state, relayed, log)
        log.counts[packets.LOST, k] = out - delivered - stored
        state.hops[:delivered] = 1 + t % 2
        packets.deliver(t, delivered, state, log)
        log.counts[packets.MESSAGES, k] = out
        packets.note_slot(k, m, block, state, log)
