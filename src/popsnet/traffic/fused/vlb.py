"""vlb, compiled."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from popsnet.compiled import compiled
from popsnet.network import I32, I64
from popsnet.splitmix import step_key
from popsnet.traffic.arrivals import Block
from popsnet.traffic.fused.parts import (
    LOST, MESSAGES, OWN, RELAYED, Paper, Parts, accept, deliver, join, note_slot, release,
)  # fmt: skip
from popsnet.traffic.fused.shelf import (
    Shelf, enqueue, larger_records, new_shelf, pop_stripe, settled,
)  # fmt: skip
from popsnet.traffic.fused.spread import hear, take_oldest
from popsnet.traffic.fused.tdm import by_meeting


@dataclass
class Vlb:
    """The kernel of vlb: relayed packets by the slot of the frame in which their class is met."""

    relayed: Shelf
    last: I64
    spare: I32
    public: np.uint64
    keeper: np.uint64

    def advance(self, parts: Parts, block: Block, paper: Paper) -> None:
        """Execute the slots of a block."""
        records = _advance(
            parts, block, paper, self.relayed, self.last, self.spare, self.public, self.keeper
        )
        self.relayed = settled(self.relayed, records)


def open_vlb(n: int, public: np.uint64, keeper: np.uint64) -> Vlb:
    """Return the kernel for n processors, with the public seed and the number of a purpose."""
    last, spare = np.full(n, -1, dtype=np.int64), np.empty((n + 1, 4), dtype=np.int32)
    return Vlb(new_shelf(n), last, spare, public, keeper)


@compiled
def _advance(
    parts: Parts, block: Block, paper: Paper, relayed: Shelf, last: I64, spare: I32,
    public: np.uint64, keeper: np.uint64,
) -> I32:  # fmt: skip
    pool, held, kept, state, nodes = parts.pool, parts.held, parts.kept, parts.state, parts.nodes
    stripes, keys, lengths = parts.stripes, parts.keys, parts.lengths
    sent, hops, senders = parts.sent, parts.hops, parts.senders
    records, base, sizes = relayed.records, relayed.base, relayed.sizes
    used, meta = relayed.used, relayed.meta
    group, index, residue, d, g = parts.group, parts.index, parts.residue, parts.d, parts.g
    sources, destinations, starts = block.sources, block.destinations, block.starts
    for k in range(len(starts) - 1):
        t, low, high = block.begin + k, starts[k], starts[k + 1]
        m = accept(
            t, low, high, sources, destinations, parts.buffer, pool, held, state, nodes,
            paper.refused_rows,
        )  # fmt: skip
        join(nodes, m, pool, parts.head, parts.tail)
        u = (t // 2) % (d * g)
        if t % 2 == 0:
            t0, t2 = u % max(d, g), u // max(d, g)
            out = take_oldest(t0, d, g, parts.head, pool, held, senders, sent)
            state[OWN] -= out
            delivered, stored = hear(
                t0, t2, step_key(public, keeper, t), senders, sent, 0, out, d, g, group, index,
                residue, parts.buffer, pool, kept, state, nodes, keys,
            )  # fmt: skip
            by_meeting(nodes, keys, stored, pool, group, index, residue, d, g, stripes)
            done = 0
            while done < stored:
                done = enqueue(
                    records, base, sizes, used, meta, pool, nodes, stripes, keys, lengths, done,
                    stored,
                )  # fmt: skip
                if done < stored:
                    records = larger_records(records, base, sizes, meta, stripes[done])
            paper.counts[LOST, k] = out - delivered - stored
        else:
            out = pop_stripe(records, base, sizes, used, pool, u, last, t, senders, sent, 0, spare)
            for q in range(out):
                kept[senders[q]] -= 1
            state[RELAYED] -= out
            delivered = out
        hops[:delivered] = 1 + t % 2
        deliver(
            t, sent, hops, delivered, pool, state, parts.words, parts.places, paper.arrival,
            paper.source, paper.destination, paper.hops,
        )  # fmt: skip
        release(sent, delivered, pool, state)
        paper.counts[MESSAGES, k] = out
        note_slot(k, low, high, m, sources, held, state, paper.counts, paper.ends)
    return records
