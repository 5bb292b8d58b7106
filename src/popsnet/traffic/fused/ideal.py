"""ideal, compiled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from popsnet.compiled import compiled
from popsnet.traffic.block import Block
from popsnet.traffic.fused.couplers import Couplers, cell, empty, new_couplers
from popsnet.traffic.fused.frame import draw_at
from popsnet.traffic.fused.register import Opening, register_kernel
from popsnet.traffic.fused.session import FusedSession
from popsnet.traffic.fused.state import (
    ARRIVAL,
    DESTINATION,
    MESSAGES,
    NEXT,
    OWN,
    KernelState,
    LogBuffers,
    accept,
    deliver,
    gather,
    join,
    note_slot,
    release,
)
from popsnet.traffic.fused.tries import unlink

_LOW = 0xFFFFFFFF


class Order(NamedTuple):
    """In which order sources are visited, and which of their packets are considered."""

    public: np.uint64
    start: np.uint64
    step: np.uint64
    window: int
    """The packets of a source that are considered."""
    wait: int
    """The control delay."""


@dataclass
class Ideal:
    """The kernel of ideal: one list of packets per source, in order of arrival.

    ``last`` is about destinations.
    """

    couplers: Couplers
    order: Order

    def advance(self, state: KernelState, block: Block, log: LogBuffers) -> None:
        """Execute the slots of a block."""
        _advance(state, block, log, self.couplers, self.order)


@register_kernel(
    "ideal", has_variant=lambda variant: variant in ("voq", "fifo") or variant.isdecimal()
)
def open_ideal(opening: Opening) -> FusedSession:
    """Open a session of a variant of ideal."""
    window = 1 if opening.variant == "fifo" else 1 << 62
    wait = int(opening.variant) if opening.variant.isdecimal() else 0
    purposes = opening.purpose("start"), opening.purpose("step")
    couplers = new_couplers(opening.network.d, opening.network.g)
    order = Order(opening.public, *purposes, window, wait)
    return FusedSession(opening, Ideal(couplers, order))


@compiled
def _advance(
    state: KernelState, block: Block, log: LogBuffers, couplers: Couplers, order: Order
) -> None:
    n = len(state.held)
    state.hops[:] = 1
    for k in range(len(block.starts) - 1):
        t = block.begin + k
        m = accept(k, block, state, log)
        join(m, state)
        start = draw_at(order.public, order.start, t, n, 0)
        step = coprime(1 + draw_at(order.public, order.step, t, n, 0), n)
        out = _match(t, start, step, state, couplers, order)
        state.counters[OWN] -= out
        gather(out, state)
        deliver(t, out, state, log)
        release(out, state)
        log.counts[MESSAGES, k] = out
        note_slot(k, m, block, state, log)


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


@compiled
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
                if ((t - int(pool[row, ARRIVAL])) & _LOW) < order.wait:
                    break
                to = pool[row, DESTINATION]
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
                before, row = row, int(pool[row, NEXT])
                left -= 1
        p += step
        p = p - n if p >= n else p
    empty(couplers, cells, m)
    return m
