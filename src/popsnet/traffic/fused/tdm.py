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
def _advance(
    parts: Parts, block: Block, paper: Paper, own: Shelf, last: I64, spare: I32
) -> I32:
    pool, held, state, nodes, stripes = parts.pool, parts.held, parts.state, parts.nodes, parts.stripes
    keys, lengths, sent, hops, senders = parts.keys, parts.lengths, parts.sent, parts.hops, parts.senders
    records, base, sizes, used, meta = own.records, own.base, own.sizes, own.used, own.meta
    sources, destinations, starts = block.sources, block.destinations, block.starts
    n = len(held)
    hops[:] = 1
    for k in range(len(starts) - 1):
        t, low, high = block.begin + k, starts[k], starts[k + 1]
        m = accept(
            t, low, high, sources, destinations, parts.buffer, pool, held, state, nodes,
            paper.refused_rows,
        )  # fmt: skip
        by_meeting(nodes, m, pool, parts.group, parts.index, parts.residue, parts.d, parts.g, stripes, keys)
        done = 0
        while done < m:
            done = enqueue(
                records, base, sizes, used, meta, pool, nodes, stripes, keys, lengths, done, m
            )
            if done < m:
                records = larger_records(records, base, sizes, meta, stripes[done])
        m_sent = pop_stripe(
            records, base, sizes, used, pool, t % n, last, t, senders, sent, 0, spare
        )
        for q in range(m_sent):
            held[senders[q]] -= 1
        state[OWN] -= m_sent
        deliver(
            t, sent, hops, m_sent, pool, state, parts.words, parts.places, paper.arrival,
            paper.source, paper.destination, paper.hops,
        )  # fmt: skip
        release(sent, m_sent, pool, state)
        paper.counts[MESSAGES, k] = m_sent
        note_slot(k, low, high, m, sources, held, state, paper.counts, paper.ends)
    return records


@compiled
def by_meeting(
    nodes: I32, m: int, pool: I32, group: I32, index: I32, residue: I32, d: int, g: int,
    stripes: I32, keys: I32,
) -> None:  # fmt: skip
    """Write when the sources of packets meet the classes of their destinations."""
    for k in range(m):
        source, to = pool[nodes[k], SOURCE], pool[nodes[k], DESTINATION]
        a, i = np.int64(group[source]), np.int64(index[source])
        stripes[k] = frame_slot(a, i, np.int64(group[to]), np.int64(residue[to]), d, g)
        keys[k] = source
