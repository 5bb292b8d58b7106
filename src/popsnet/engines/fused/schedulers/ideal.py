"""ideal, compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from popsnet.base.compiled import compiled
from popsnet.engines.fused.schedulers import packets
from popsnet.engines.fused.schedulers.attempts import Couplers, cell, empty, new_couplers, unlink
from popsnet.engines.fused.schedulers.dead import DeadParts
from popsnet.engines.fused.schedulers.frame import draw_at
from popsnet.engines.fused.schedulers.lists import FROM, SINCE, TO
from popsnet.engines.fused.schedulers.packets import KernelState, LogBuffers
from popsnet.engines.fused.schedulers.register import Opening
from popsnet.engines.fused.schedulers.session import SchedulerSession
from popsnet.workloads.block import Block

_LOW = 0xFFFFFFFF


class Order(NamedTuple):
    """The order in which sources are visited, and which of their packets are considered."""

    public: np.uint64
    start: np.uint64
    step: np.uint64
    window: int
    """The packets of a source that are considered."""
    wait: int
    """The control delay."""


class Ideal(SchedulerSession):
    """The kernel of ideal: one list of packets per source, in order of arrival.

    ``last`` is about destinations.
    """

    def __init__(self, opening: Opening) -> None:
        super().__init__(opening)
        window = 1 if opening.variant == "fifo" else 1 << 62
        wait = int(opening.variant) if opening.variant.isdecimal() else 0
        self._couplers = new_couplers(opening.network.d, opening.network.g)
        coins = opening.coins("public", "start", "step")
        self._order = Order._make([*coins, window, wait])

    @staticmethod
    def has_variant(variant: str) -> bool:
        """Return whether the kernel runs a variant."""
        return variant in ("voq", "fifo") or variant.isdecimal()

    def execute(self, block: Block, log: LogBuffers) -> None:
        """Execute the slots of a block, and write the log."""
        _advance(self.state, block, log, self._couplers, self._order, self.dead)


@compiled
def _advance(
    state: KernelState,
    block: Block,
    log: LogBuffers,
    couplers: Couplers,
    order: Order,
    dead: DeadParts | None,
) -> None:
    n = len(state.held)
    state.hops[:] = 1
    for k in range(len(block.starts) - 1):
        t = block.begin + k
        m = packets.accept(k, block, state, log)
        packets.join(m, state)
        start = draw_at(order.public, order.start, t, n, 0)
        step = coprime(1 + draw_at(order.public, order.step, t, n, 0), n)
        out = _match(t, start, step, state, couplers, order)
        state.counters[packets.OWN] -= out
        packets.gather(out, state)
        heard = out
        if dead is not None:
            heard = _lose(t, out, state, log, dead)
            log.counts[packets.LOST, k] = out - heard
        packets.deliver(t, heard, state, log)
        packets.release(out, state)
        log.counts[packets.MESSAGES, k] = out
        packets.note_slot(k, m, block, state, log)


@compiled
def coprime(step: int, n: int) -> int:
    """Return the smallest number from ``step`` on that has no divisor in common with n."""
    while True:
        a, b = step, n
        while b > 0:
            a, b = b, a % b
        if a == 1:
            return step
        step += 1


@compiled(inline=True)
def _match(
    t: int, start: int, step: int, state: KernelState, couplers: Couplers, order: Order
) -> int:
    """Visit all processors, and let each send its oldest packet that does not conflict."""
    g, group, pool, head, tail = state.g, state.group, state.pool, state.head, state.tail
    last, counts, cells = state.last, couplers.counts, state.keys
    n, m, p, step = len(state.held), 0, start, step % len(state.held)
    for _ in range(n):
        if head[p] >= 0:
            before, row, left = -1, int(head[p]), order.window
            base = int(group[p]) * g
            while row >= 0 and left > 0:
                if ((t - int(pool[row, packets.ARRIVAL])) & _LOW) < order.wait:
                    break
                to = pool[row, packets.DESTINATION]
                if last[to] != t:
                    at = cell(couplers, base + int(group[to]))
                    if counts[at] == 0:
                        counts[at] = 1
                        last[to] = t
                        head[p], tail[p] = unlink(row, before, pool, head[p], tail[p])
                        state.held[p] -= 1
                        cells[m], state.sent[m], state.senders[m] = at, row, p
                        m += 1
                        break
                before, row = row, int(pool[row, packets.NEXT])
                left -= 1
        p += step
        p = p - n if p >= n else p
    empty(couplers, cells, m)
    return m


@compiled(inline=True)
def _lose(t: int, m: int, state: KernelState, log: LogBuffers, dead: DeadParts) -> int:
    """Move packets that their destinations hear up in ``events``, and return how many there are.

    No other processor listens.
    """
    events, slot, into = state.events, t + 1, 0
    for q in range(m):
        p, to = events[q, FROM], events[q, TO]
        works = dead.couplers[state.group[to], state.group[p]] > slot and dead.hears[to] > slot
        if works and dead.sends[p] > slot:
            for column in range(4):
                events[into, column] = events[q, column]
            into += 1
        else:
            packets.note_lost(
                t, p, to, events[q, SINCE], log.lost, state.counters[packets.LOST_ROWS]
            )
            state.counters[packets.LOST_ROWS] += 1
            state.counters[packets.UNHEARD] += dead.sends[p] > slot
    return into
