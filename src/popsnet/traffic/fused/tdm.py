"""tdm, compiled."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from popsnet.compiled import compiled
from popsnet.network import I32, I64
from popsnet.traffic.arrivals import Block
from popsnet.traffic.fused.frame import frame_slot
from popsnet.traffic.fused.parts import (
    DESTINATION, MESSAGES, OWN, SOURCE, Paper, Parts, accept, deliver, note_slot, release,
)  # fmt: skip
from popsnet.traffic.fused.shelf import (
    Shelf, enqueue, larger_records, new_shelf, pop_stripe, settled,
)  # fmt: skip


@dataclass
class Tdm:
    """The kernel of tdm: own packets by the slot of the frame in which their class is met."""

    own: Shelf
    last: I64
    spare: I32

    def advance(self, parts: Parts, block: Block, paper: Paper) -> None:
        """Execute the slots of a block."""
        records = _advance(parts, block, paper, self.own, self.last, self.spare)
        self.own = settled(self.own, records)


def open_tdm(n: int) -> Tdm:
    """Return the kernel for n processors."""
    return Tdm(new_shelf(n), np.full(n, -1, dtype=np.int64), np.empty((n + 1, 4), dtype=np.int32))


@compiled
def _advance(parts: Parts, block: Block, paper: Paper, own: Shelf, last: I64, spare: I32) -> I32:
    pool, held, state, nodes = parts.pool, parts.held, parts.state, parts.nodes
    stripes, keys, lengths = parts.stripes, parts.keys, parts.lengths
    sent, hops, senders = parts.sent, parts.hops, parts.senders
    records, base, sizes, used, meta = own.records, own.base, own.sizes, own.used, own.meta
    group, index, residue, d, g = parts.group, parts.index, parts.residue, parts.d, parts.g
    sources, destinations, starts = block.sources, block.destinations, block.starts
    hops[:] = 1
    for k in range(len(starts) - 1):
        t, low, high = block.begin + k, starts[k], starts[k + 1]
        m = accept(
            t, low, high, sources, destinations, parts.buffer, pool, held, state, nodes,
            paper.refused_rows,
        )  # fmt: skip
        by_source(nodes, m, pool, keys)
        by_meeting(nodes, keys, m, pool, group, index, residue, d, g, stripes)
        done = 0
        while done < m:
            done = enqueue(
                records, base, sizes, used, meta, pool, nodes, stripes, keys, lengths, done, m
            )
            if done < m:
                records = larger_records(records, base, sizes, meta, stripes[done])
        out = pop_stripe(
            records, base, sizes, used, pool, t % (d * g), last, t, senders, sent, 0, spare
        )
        for q in range(out):
            held[senders[q]] -= 1
        state[OWN] -= out
        deliver(
            t, sent, hops, out, pool, state, parts.words, parts.places, paper.arrival,
            paper.source, paper.destination, paper.hops,
        )  # fmt: skip
        release(sent, out, pool, state)
        paper.counts[MESSAGES, k] = out
        note_slot(k, low, high, m, sources, held, state, paper.counts, paper.ends)
    return records


@compiled
def by_source(nodes: I32, m: int, pool: I32, keys: I32) -> None:
    """Write the sources of packets."""
    for k in range(m):
        keys[k] = pool[nodes[k], SOURCE]


@compiled
def by_meeting(
    nodes: I32, keys: I32, m: int, pool: I32, group: I32, index: I32, residue: I32, d: int, g: int,
    stripes: I32,
) -> None:  # fmt: skip
    """Write when the processors that hold packets meet the classes of their destinations."""
    for k in range(m):
        p, to = keys[k], pool[nodes[k], DESTINATION]
        a, i = np.int64(group[p]), np.int64(index[p])
        stripes[k] = frame_slot(a, i, np.int64(group[to]), np.int64(residue[to]), d, g)
