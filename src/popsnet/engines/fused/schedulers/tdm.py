"""tdm, compiled."""

from __future__ import annotations

import numpy as np

from popsnet.base.compiled import compiled
from popsnet.engines.fused.schedulers import lists, packets
from popsnet.engines.fused.schedulers.dead import DeadParts, lose, meet
from popsnet.engines.fused.schedulers.frame import frame_slot
from popsnet.engines.fused.schedulers.lists import FROM, KEY, SINCE, TO, Lists
from popsnet.engines.fused.schedulers.packets import KernelState, LogBuffers
from popsnet.engines.fused.schedulers.register import Opening
from popsnet.engines.fused.schedulers.session import SchedulerSession
from popsnet.workloads.block import Block


class Tdm(SchedulerSession):
    """The kernel of tdm: own packets by the slot of the frame in which their class is met."""

    wavelengths = True

    def __init__(self, opening: Opening) -> None:
        super().__init__(opening)
        self._own = lists.new_lists(opening.network.n)

    def execute(self, block: Block, log: LogBuffers) -> None:
        """Execute the slots of a block, and write the log."""
        self._own = lists.with_chunks(self._own, len(block.sources))
        _advance(self.state, block, log, self._own, self.dead)


@compiled
def _advance(
    state: KernelState, block: Block, log: LogBuffers, own: Lists, dead: DeadParts | None
) -> None:
    held, counters, events = state.held, state.counters, state.events
    state.hops[:] = 1
    for k in range(len(block.starts) - 1):
        t = block.begin + k
        m = _accept(k, block, state, log)
        lists.append_all(own, state.stripes, state.coming, 0, m)
        out = lists.take(own, t % len(held), t, state, 0)
        for q in range(out):
            held[events[q, KEY]] -= 1
        counters[packets.OWN] -= out
        heard = out
        if dead is not None:
            meet(t, t % len(held), state, dead)
            heard = lose(t, np.uint64(0), (0, out), 0, state, log, dead)
            log.counts[packets.LOST, k] = out - heard
        packets.deliver(t, heard, state, log)
        log.counts[packets.MESSAGES, k] = out
        packets.note_slot(k, m, block, state, log)


@compiled(inline=True)
def _accept(k: int, block: Block, state: KernelState, log: LogBuffers) -> int:
    """Write the arrivals of a slot that are not refused, and their lists; return how many."""
    buffer, held, coming, numbers = state.buffer, state.held, state.coming, state.stripes
    group, index, residue, d, g = state.group, state.indices, state.residue, state.d, state.g
    channels = state.channels
    m, refused, now = 0, state.counters[packets.REFUSED], np.int32(block.begin + k)
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
    state.counters[packets.REFUSED] = refused
    state.counters[packets.OWN] += m
    return m
