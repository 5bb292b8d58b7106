"""vlb, compiled."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from popsnet.compiled import compiled
from popsnet.splitmix import step_key
from popsnet.traffic.block import Block
from popsnet.traffic.fused.lists import KEY, Lists, new_lists, take, with_chunks
from popsnet.traffic.fused.register import Opening, register_kernel
from popsnet.traffic.fused.session import FusedSession
from popsnet.traffic.fused.spread import hear, take_oldest
from popsnet.traffic.fused.state import (
    LOST,
    MESSAGES,
    OWN,
    RELAYED,
    KernelState,
    LogBuffers,
    accept,
    deliver,
    gather,
    join,
    note_slot,
    release,
)


@dataclass
class Vlb:
    """The kernel of vlb: relayed packets by the slot of the frame in which their class is met."""

    relayed: Lists
    public: np.uint64
    keeper: np.uint64

    def advance(self, state: KernelState, block: Block, log: LogBuffers) -> None:
        """Execute the slots of a block."""
        self.relayed = with_chunks(self.relayed, int(state.counters[OWN]) + len(block.sources))
        _advance(state, block, log, self.relayed, self.public, self.keeper)


@register_kernel("vlb", most_wavelengths=inf)
def open_vlb(opening: Opening) -> FusedSession:
    """Open a session of vlb."""
    relayed = new_lists(opening.network.n)
    return FusedSession(opening, Vlb(relayed, opening.public, opening.purpose("keeper")))


@compiled
def _advance(
    state: KernelState,
    block: Block,
    log: LogBuffers,
    relayed: Lists,
    public: np.uint64,
    keeper: np.uint64,
) -> None:
    held, kept, counters, events = state.held, state.kept, state.counters, state.events
    for k in range(len(block.starts) - 1):
        t = block.begin + k
        m = accept(k, block, state, log)
        join(m, state)
        u = (t // 2) % len(held)
        if t % 2 == 0:
            out = take_oldest(u, state)
            counters[OWN] -= out
            gather(out, state)
            release(out, state)
            key = step_key(public, keeper, t)
            delivered, stored = hear(u, key, 0, out, state, relayed)
            log.counts[LOST, k] = out - delivered - stored
        else:
            out = take(relayed, u, t, state, 0)
            for q in range(out):
                kept[events[q, KEY]] -= 1
            counters[RELAYED] -= out
            delivered = out
        state.hops[:delivered] = 1 + t % 2
        deliver(t, delivered, state, log)
        log.counts[MESSAGES, k] = out
        note_slot(k, m, block, state, log)
