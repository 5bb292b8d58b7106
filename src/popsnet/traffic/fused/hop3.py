"""hop3, compiled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from popsnet.compiled import compiled
from popsnet.network import I32, I64
from popsnet.splitmix import step_key
from popsnet.traffic.arrivals import Block
from popsnet.traffic.fused.frame import draw_at, reduced
from popsnet.traffic.fused.parts import (
    DESTINATION, LOST, MESSAGES, OWN, RELAYED, SOURCE, Paper, Parts, accept, deliver, gather, join,
    note_slot, release,
)  # fmt: skip
from popsnet.traffic.fused.shelf import (
    Shelf, enqueue, find, larger_records, new_shelf, pop, settled,
)  # fmt: skip
from popsnet.traffic.fused.spread import hear, take_oldest


class Draws(NamedTuple):
    """The public seed, and the numbers of purposes."""

    public: np.uint64
    keeper: np.uint64
    rotation: np.uint64
    offset: np.uint64


@dataclass
class Hop3:
    """The kernel of hop3. A relay has a queue per residue r, key r, and per group b, key M + b."""

    relayed: Shelf
    draws: Draws

    def advance(self, parts: Parts, block: Block, paper: Paper) -> None:
        """Execute the slots of a block."""
        self.relayed = settled(
            self.relayed, _advance(parts, block, paper, self.relayed, self.draws)
        )


def open_hop3(n: int, draws: Draws) -> Hop3:
    """Return the kernel for n processors."""
    return Hop3(new_shelf(n), draws)


@compiled
def _advance(parts: Parts, block: Block, paper: Paper, relayed: Shelf, draws: Draws) -> I32:
    pool, held, kept, state, nodes = parts.pool, parts.held, parts.kept, parts.state, parts.nodes
    stripes, keys, lengths = parts.stripes, parts.keys, parts.lengths
    sent, hops, senders = parts.sent, parts.hops, parts.senders
    records, base, sizes = relayed.records, relayed.base, relayed.sizes
    used, meta = relayed.used, relayed.meta
    group, index, residue, d, g = parts.group, parts.index, parts.residue, parts.d, parts.g
    sources, destinations, starts = block.sources, block.destinations, block.starts
    for row in range(len(starts) - 1):
        t, low, high = block.begin + row, starts[row], starts[row + 1]
        m = accept(
            t, low, high, sources, destinations, parts.buffer, pool, parts.free, held, state,
            nodes, paper.refused_rows,
        )  # fmt: skip
        join(nodes, m, pool, parts.head, parts.tail)
        k, phase = t // 3, t % 3
        t0, t2 = _slot_of(k, phase, d, g, draws.public, draws.rotation)
        if phase == 0:
            out = take_oldest(t0, d, g, parts.head, pool, held, senders, sent)
            state[OWN] -= out
        elif phase == 1:
            out = _take_for_residue(
                t0, t2, d, g, records, base, sizes, used, pool, kept, senders, sent
            )
            state[RELAYED] -= out
        else:
            turn = draw_at(draws.public, draws.offset, k // g, g, 0)
            out = _take_for_group(
                (k + turn) % g, k // g, d, g, records, base, sizes, used, pool, kept, sent
            )
            state[RELAYED] -= out
        delivered, stored = out, 0
        if phase < 2:
            delivered, stored = hear(
                t0, t2, step_key(draws.public, draws.keeper, t), senders, sent, 0, out, d, g,
                group, index, residue, parts.buffer, pool, parts.free, kept, state, nodes, keys,
            )  # fmt: skip
            hops[:delivered] = phase + 1
            _sort(phase, nodes, keys, stripes, stored, pool, group, residue, min(d, g))
        else:
            _count_hops(sent, hops, out, pool)
        done = 0
        while done < stored:
            done = enqueue(
                records, base, sizes, used, meta, pool, nodes, stripes, keys, lengths, done, stored
            )
            if done < stored:
                records = larger_records(records, base, sizes, meta, stripes[done])
        gather(sent, 0, delivered, pool, parts.events)
        deliver(
            t, parts.events, hops, delivered, state, parts.words, parts.places, paper.arrival,
            paper.source, paper.destination, paper.hops,
        )  # fmt: skip
        release(sent, 0, delivered, parts.free, state)
        paper.counts[LOST, row] = out - delivered - stored
        paper.counts[MESSAGES, row] = out
        note_slot(row, low, high, m, sources, held, state, paper.counts, paper.ends)
    return records


@compiled
def _slot_of(
    k: int, phase: int, d: int, g: int, public: np.uint64, rotation: np.uint64
) -> tuple[int, int]:
    """Return the slot (t0, t2) of the frame that phase 0 or 1 of cycle k uses."""
    if phase != 1:
        u = k % (d * g)
        return u % max(d, g), u // max(d, g)
    if d <= g:
        return draw_at(public, rotation, k, g, 0), k % d
    return k % d, draw_at(public, rotation, k // d, g, 0)


@compiled
def _take_for_residue(
    t0: int, t2: int, d: int, g: int, records: I32, base: I64, sizes: I32, used: I32, pool: I32,
    kept: I32, senders: I32, sent: I32,
) -> int:  # fmt: skip
    """Remove the packets that relays send to fix the residue."""
    m = 0
    for a in range(g):
        for x in range(min(d, g)):
            p = a * d + (x if d <= g else reduced(t0 + x, d))
            if used[p] == 0:
                continue
            record = find(records, base, sizes, p, reduced(x + t2, min(d, g)))
            if record >= 0:
                senders[m], sent[m] = p, pop(records, base, sizes, used, pool, p, record)
                kept[p] -= 1
                m += 1
    return m


@compiled
def _take_for_group(
    s: int, turn: int, d: int, g: int, records: I32, base: I64, sizes: I32, used: I32, pool: I32,
    kept: I32, sent: I32,
) -> int:  # fmt: skip
    """Remove the packets that relays send to fix the group."""
    m, residues = 0, min(d, g)
    for r in range(residues):
        i = r + residues * (turn % ((d - 1 - r) // residues + 1))
        shift = reduced(r + s, g)
        for a in range(g):
            p = a * d + i
            if used[p] == 0:
                continue
            record = find(records, base, sizes, p, residues + reduced(a + shift, g))
            if record >= 0:
                sent[m] = pop(records, base, sizes, used, pool, p, record)
                kept[p] -= 1
                m += 1
    return m


@compiled
def _sort(
    phase: int, nodes: I32, keys: I32, stripes: I32, m: int, pool: I32, group: I32, residue: I32,
    residues: int,
) -> None:  # fmt: skip
    """Replace keepers in ``keys`` by the keys of queues. The source of a packet that has
    been sent in phase 1 is complemented until it is delivered."""
    for q in range(m):
        keeper, row = keys[q], nodes[q]
        to = pool[row, DESTINATION]
        stripes[q] = keeper
        if residue[keeper] == residue[to]:
            keys[q] = residues + group[to]
        else:
            keys[q] = residue[to]
        if phase == 1:
            pool[row, SOURCE] = ~pool[row, SOURCE]


@compiled
def _count_hops(sent: I32, hops: I32, m: int, pool: I32) -> None:
    for q in range(m):
        source = pool[sent[q], SOURCE]
        hops[q] = 3 if source < 0 else 2
        pool[sent[q], SOURCE] = ~source if source < 0 else source
