"""vlb, compiled."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from popsnet.compiled import compiled
from popsnet.network import I64
from popsnet.splitmix import step_key
from popsnet.traffic.arrivals import Block
from popsnet.traffic.fused.lists import KEY, Lists, new_lists, take, with_chunks
from popsnet.traffic.fused.parts import (
    LOST,
    MESSAGES,
    OWN,
    RELAYED,
    Paper,
    Parts,
    accept,
    deliver,
    gather,
    join,
    note_slot,
    release,
)  # fmt: skip
from popsnet.traffic.fused.spread import hear, take_oldest


@dataclass
class Vlb:
    """The kernel of vlb: relayed packets by the slot of the frame in which their class is met."""

    relayed: Lists
    last: I64
    public: np.uint64
    keeper: np.uint64

    def advance(self, parts: Parts, block: Block, paper: Paper) -> None:
        """Execute the slots of a block."""
        self.relayed = with_chunks(self.relayed, int(parts.state[OWN]) + len(block.sources))
        _advance(parts, block, paper, self.relayed, self.last, self.public, self.keeper)


def open_vlb(n: int, public: np.uint64, keeper: np.uint64) -> Vlb:
    """Return the kernel for n processors, with the public seed and the number of a purpose."""
    return Vlb(new_lists(n), np.full(n, -1, dtype=np.int64), public, keeper)


@compiled
def _advance(
    parts: Parts, block: Block, paper: Paper, relayed: Lists, last: I64, public: np.uint64,
    keeper: np.uint64,
) -> None:  # fmt: skip
    pool, held, kept, state, nodes = parts.pool, parts.held, parts.kept, parts.state, parts.nodes
    d, g, events = parts.d, parts.g, parts.events
    sent, hops, senders = parts.sent, parts.hops, parts.senders
    sources, destinations, starts = block.sources, block.destinations, block.starts
    for k in range(len(starts) - 1):
        t, low, high = block.begin + k, starts[k], starts[k + 1]
        m = accept(
            t, low, high, sources, destinations, parts.buffer, pool, parts.free, held, state,
            nodes, paper.refused_rows,
        )  # fmt: skip
        join(nodes, m, pool, parts.head, parts.tail)
        u = (t // 2) % (d * g)
        if t % 2 == 0:
            t0, t2 = u % max(d, g), u // max(d, g)
            out = take_oldest(t0, d, g, parts.head, pool, held, senders, sent)
            state[OWN] -= out
            gather(sent, 0, out, pool, events)
            for q in range(out):
                events[q, KEY] = senders[q]
            release(sent, 0, out, parts.free, state)
            delivered, stored = hear(
                t0, t2, step_key(public, keeper, t), events, 0, out, d, g, parts.group,
                parts.indices, parts.residue, parts.buffer, kept, state, parts.stripes,
                parts.coming, relayed.rows, relayed.after, relayed.first, relayed.end,
                relayed.free, relayed.top,
            )  # fmt: skip
            paper.counts[LOST, k] = out - delivered - stored
        else:
            out = take(
                relayed.rows, relayed.after, relayed.first, relayed.end, relayed.free, relayed.top,
                u, last, t, events, 0,
            )  # fmt: skip
            for q in range(out):
                kept[events[q, KEY]] -= 1
            state[RELAYED] -= out
            delivered = out
        hops[:delivered] = 1 + t % 2
        deliver(
            t, events, hops, delivered, state, parts.words, parts.places, paper.arrival,
            paper.source, paper.destination, paper.hops,
        )  # fmt: skip
        paper.counts[MESSAGES, k] = out
        note_slot(k, low, high, m, sources, held, state, paper.counts, paper.ends)
