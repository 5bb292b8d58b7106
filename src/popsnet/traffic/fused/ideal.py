"""ideal, compiled."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from popsnet.compiled import compiled
from popsnet.network import I32, I64
from popsnet.traffic.arrivals import Block
from popsnet.traffic.fused.couplers import Couplers, cell, empty, new_couplers
from popsnet.traffic.fused.frame import draw_at
from popsnet.traffic.fused.parts import (
    ARRIVAL,
    DESTINATION,
    MESSAGES,
    NEXT,
    OWN,
    Paper,
    Parts,
    accept,
    deliver,
    gather,
    join,
    note_slot,
    release,
)  # fmt: skip
from popsnet.traffic.fused.tries import unlink

_LOW = 0xFFFFFFFF


@dataclass
class Ideal:
    """The kernel of ideal: one list of packets per source, in order of arrival."""

    couplers: Couplers
    last: I64
    """The last slot in which each destination got a packet."""
    public: np.uint64
    start: np.uint64
    step: np.uint64
    window: int
    """The packets of a source that are considered."""
    wait: int
    """The control delay."""

    def advance(self, parts: Parts, block: Block, paper: Paper) -> None:
        """Execute the slots of a block."""
        _advance(
            parts, block, paper, self.couplers, self.last, self.public, self.start, self.step,
            self.window, self.wait,
        )  # fmt: skip


def open_ideal(
    d: int, g: int, variant: str, public: np.uint64, start: np.uint64, step: np.uint64
) -> Ideal:
    """Return the kernel of a variant, with the public seed and the numbers of purposes."""
    window = 1 if variant == "fifo" else 1 << 62
    wait = int(variant) if variant.isdecimal() else 0
    last = np.full(d * g, -1, dtype=np.int64)
    return Ideal(new_couplers(d, g), last, public, start, step, window, wait)


@compiled
def _advance(
    parts: Parts, block: Block, paper: Paper, couplers: Couplers, last: I64, public: np.uint64,
    start: np.uint64, step: np.uint64, window: int, wait: int,
) -> None:  # fmt: skip
    pool, held, state, nodes = parts.pool, parts.held, parts.state, parts.nodes
    sent, hops, head, tail = parts.sent, parts.hops, parts.head, parts.tail
    sources, destinations, starts = block.sources, block.destinations, block.starts
    n = len(held)
    hops[:] = 1
    for k in range(len(starts) - 1):
        t, low, high = block.begin + k, starts[k], starts[k + 1]
        m = accept(
            t, low, high, sources, destinations, parts.buffer, pool, parts.free, held, state,
            nodes, paper.refused_rows,
        )  # fmt: skip
        join(nodes, m, pool, head, tail)
        out = _match(
            t, draw_at(public, start, t, n, 0), coprime(1 + draw_at(public, step, t, n, 0), n),
            window, wait, parts.g, parts.group, pool, held, head, tail, last, couplers.names,
            couplers.counts, parts.keys, sent,
        )  # fmt: skip
        state[OWN] -= out
        gather(sent, 0, out, pool, parts.events)
        deliver(
            t, parts.events, hops, out, state, parts.words, parts.places, paper.arrival,
            paper.source, paper.destination, paper.hops,
        )  # fmt: skip
        release(sent, 0, out, parts.free, state)
        paper.counts[MESSAGES, k] = out
        note_slot(k, low, high, m, sources, held, state, paper.counts, paper.ends)


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
    t: int, start: int, step: int, window: int, wait: int, g: int, group: I32, pool: I32,
    held: I32, head: I32, tail: I32, last: I64, names: I64, counts: I32, cells: I32, sent: I32,
) -> int:  # fmt: skip
    """Visit all processors, and let each send its oldest packet that does not conflict."""
    n, m, p, step = len(held), 0, start, step % len(held)
    for _ in range(n):
        if head[p] >= 0:
            before, row, left = -1, int(head[p]), window
            base = int(group[p]) * g
            while row >= 0 and left > 0:
                if ((t - int(pool[row, ARRIVAL])) & _LOW) < wait:
                    break
                to = pool[row, DESTINATION]
                if last[to] != t:
                    at = cell(names, base + int(group[to]))
                    if counts[at] == 0:
                        counts[at] = 1
                        last[to] = t
                        head[p], tail[p] = unlink(row, before, pool, head[p], tail[p])
                        held[p] -= 1
                        cells[m], sent[m] = at, row
                        m += 1
                        break
                before, row = row, int(pool[row, NEXT])
                left -= 1
        p += step
        p = p - n if p >= n else p
    empty(names, counts, cells, m)
    return m
