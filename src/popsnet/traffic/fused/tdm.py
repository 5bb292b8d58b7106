"""tdm, compiled."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from popsnet.compiled import compiled
from popsnet.traffic.block import Block
from popsnet.traffic.fused.frame import frame_slot
from popsnet.traffic.fused.lists import (
    FROM,
    KEY,
    SINCE,
    TO,
    Lists,
    append_all,
    new_lists,
    take,
    with_chunks,
)
from popsnet.traffic.fused.register import Opening, register_kernel
from popsnet.traffic.fused.session import FusedSession
from popsnet.traffic.fused.state import (
    MESSAGES,
    OWN,
    REFUSED,
    KernelState,
    LogBuffers,
    deliver,
    note_slot,
)


@dataclass
class Tdm:
    """The kernel of tdm: own packets by the slot of the frame in which their class is met."""

    own: Lists

    def advance(self, state: KernelState, block: Block, log: LogBuffers) -> None:
        """Execute the slots of a block."""
        self.own = with_chunks(self.own, len(block.sources))
        _advance(state, block, log, self.own)


@register_kernel("tdm", most_wavelengths=inf)
def open_tdm(opening: Opening) -> FusedSession:
    """Open a session of tdm."""
    return FusedSession(opening, Tdm(new_lists(opening.network.n)))


@compiled
def _advance(state: KernelState, block: Block, log: LogBuffers, own: Lists) -> None:
    held, counters, events = state.held, state.counters, state.events
    state.hops[:] = 1
    for k in range(len(block.starts) - 1):
        t = block.begin + k
        m = _accept(k, block, state, log)
        append_all(own, state.stripes, state.coming, 0, m)
        out = take(own, t % len(held), t, state, 0)
        for q in range(out):
            held[events[q, KEY]] -= 1
        counters[OWN] -= out
        deliver(t, out, state, log)
        log.counts[MESSAGES, k] = out
        note_slot(k, m, block, state, log)


@compiled
def _accept(k: int, block: Block, state: KernelState, log: LogBuffers) -> int:
    """Write the arrivals of a slot that are not refused, and their lists; return how many."""
    buffer, held, coming, numbers = state.buffer, state.held, state.coming, state.stripes
    group, index, residue, d, g = state.group, state.indices, state.residue, state.d, state.g
    channels = state.channels
    m, refused, now = 0, state.counters[REFUSED], np.int32(block.begin + k)
    for row in range(block.starts[k], block.starts[k + 1]):
        source, to = block.sources[row], block.destinations[row]
        if buffer > 0 and held[source] >= buffer:
            log.refused_rows[refused] = row
            refused += 1
            continue
        held[source] += 1
        a, i = int(group[source]), int(index[source])
        numbers[m] = frame_slot(a, i, int(group[to]), int(residue[to]), d, g, channels)
        coming[m, KEY], coming[m, TO], coming[m, FROM] = source, to, source
        coming[m, SINCE] = now
        m += 1
    state.counters[REFUSED] = refused
    state.counters[OWN] += m
    return m
