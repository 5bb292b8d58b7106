"""aloha, compiled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from popsnet.compiled import compiled
from popsnet.network import I32, I64
from popsnet.traffic.arrivals import Block
from popsnet.traffic.fused.couplers import Couplers, new_couplers
from popsnet.traffic.fused.frame import reduced
from popsnet.traffic.fused.parts import (
    COLLISIONS,
    DESTINATION,
    DESTROYED,
    MESSAGES,
    NEXT,
    OWN,
    PENDING,
    SOURCE,
    U64,
    Paper,
    Parts,
    accept,
    deliver,
    gather,
    note_slot,
    release,
)  # fmt: skip
from popsnet.traffic.fused.shelf import (
    HEAD,
    KEY,
    LENGTH,
    TAIL,
    Shelf,
    enqueue,
    find,
    larger_records,
    new_shelf,
    remove,
    settled,
)  # fmt: skip
from popsnet.traffic.fused.tries import make_keys, mark_alone, passes, put, unlink
from popsnet.traffic.schedulers.attempts import Patience


class Chances(NamedTuple):
    """The private seed and the purposes of the window; when packets that failed are tried again."""

    private: np.uint64
    purposes: U64
    keys: U64
    most: int
    fixed: int


class Tries(NamedTuple):
    """What sources try in a data slot, until the ack slot."""

    sources: I32
    rows: I32
    before: I32
    alone: I32
    cells: I32
    couplers: I64


@dataclass
class Aloha:
    """The kernel of aloha: packets by turn. The queues of a turn are scanned in its data slots."""

    turns: Shelf
    couplers: Couplers
    chances: Chances
    tries: Tries

    def advance(self, parts: Parts, block: Block, paper: Paper) -> None:
        """Execute the slots of a block."""
        records = _advance(parts, block, paper, self.turns, self.couplers, self.chances, self.tries)
        self.turns = settled(self.turns, records)


def open_aloha(d: int, g: int, private: np.uint64, patience: Patience, purposes: U64) -> Aloha:
    """Return the kernel of a variant, with the private seed and the numbers of purposes."""
    empty = np.empty_like(purposes)
    chances = Chances(private, purposes, empty, patience.most, patience.fixed)
    return Aloha(new_shelf(g), new_couplers(d, g), chances, new_tries(d * g))


def new_tries(n: int) -> Tries:
    """Return room for what n sources try."""
    one, two, three, four, five = (np.empty(n, dtype=np.int32) for _ in range(5))
    return Tries(one, two, three, four, five, np.empty(n, dtype=np.int64))


@compiled
def _advance(
    parts: Parts, block: Block, paper: Paper, turns: Shelf, couplers: Couplers, chances: Chances,
    tries: Tries,
) -> I32:  # fmt: skip
    pool, fails, held, state = parts.pool, parts.fails, parts.held, parts.state
    nodes, stripes, keys, lengths = parts.nodes, parts.stripes, parts.keys, parts.lengths
    sent, hops, group, residue, g = parts.sent, parts.hops, parts.group, parts.residue, parts.g
    records, base, sizes = turns.records, turns.base, turns.sizes
    used, meta = turns.used, turns.meta
    sources, destinations, starts = block.sources, block.destinations, block.starts
    counts = paper.counts
    hops[:] = 1
    for k in range(len(starts) - 1):
        t, low, high = block.begin + k, starts[k], starts[k + 1]
        m = accept(
            t, low, high, sources, destinations, parts.buffer, pool, parts.free, held, state,
            nodes, paper.refused_rows,
        )  # fmt: skip
        _by_turn(nodes, m, pool, group, residue, g, stripes, keys)
        done = 0
        while done < m:
            done = enqueue(
                records, base, sizes, used, meta, pool, nodes, stripes, keys, lengths, done, m
            )
            if done < m:
                records = larger_records(records, base, sizes, meta, stripes[done])
        s = t // 2
        if t % 2 == 0:
            make_keys(chances.private, chances.purposes, s, chances.keys)
            out = _choose(
                s % g, records, base, sizes, used, pool, fails, chances.keys, chances.most,
                chances.fixed, tries.sources, tries.rows, tries.before,
            )  # fmt: skip
            for q in range(out):
                a = int(group[tries.sources[q]])
                tries.couplers[q] = a * g + group[pool[tries.rows[q], DESTINATION]]
            counts[COLLISIONS, k], counts[DESTROYED, k] = put(
                couplers.names, couplers.counts, tries.couplers, tries.cells, out
            )
            mark_alone(couplers.names, couplers.counts, tries.cells, out, tries.alone)
            heard = pick(tries.rows, tries.alone, out, sent)
            gather(sent, 0, heard, pool, parts.events)
            deliver(
                t, parts.events, hops, heard, state, parts.words, parts.places, paper.arrival,
                paper.source, paper.destination, paper.hops,
            )  # fmt: skip
            state[PENDING], counts[MESSAGES, k] = out, out
        else:
            out = state[PENDING]
            _conclude(
                s % g, out, records, base, sizes, used, pool, fails, held, tries.sources,
                tries.rows, tries.before, tries.alone,
            )  # fmt: skip
            heard = pick(tries.rows, tries.alone, out, sent)
            release(sent, 0, heard, parts.free, state)
            state[OWN] -= heard
            state[PENDING], counts[MESSAGES, k] = 0, heard
        note_slot(k, low, high, m, sources, held, state, counts, paper.ends)
    return records


@compiled
def _by_turn(
    nodes: I32, m: int, pool: I32, group: I32, residue: I32, g: int, stripes: I32, keys: I32
) -> None:
    """Write the turns of packets: when their destinations listen to the groups of their sources.

    The residue of an index, mod min(d, g), is its residue mod g.
    """
    for k in range(m):
        source, to = pool[nodes[k], SOURCE], pool[nodes[k], DESTINATION]
        stripes[k] = reduced(reduced(group[source] - group[to], g) - residue[to], g)
        keys[k] = source


@compiled
def _choose(
    turn: int, records: I32, base: I64, sizes: I32, used: I32, pool: I32, fails: I32, keys: U64,
    most: int, fixed: int, sources: I32, rows: I32, before: I32,
) -> int:  # fmt: skip
    """Write what sources try in a data slot, and return how many do."""
    m = 0
    if used[turn] == 0:
        return m
    for at in range(base[turn], base[turn] + sizes[turn]):
        source = records[at, KEY]
        if source < 0:
            continue
        last, row = -1, records[at, HEAD]
        for w in range(len(keys)):
            if passes(keys, w, source, fails[row], most, fixed):
                sources[m], rows[m], before[m] = source, row, last
                m += 1
                break
            last, row = row, pool[row, NEXT]
            if row < 0:
                break
    return m


@compiled
def pick(rows: I32, alone: I32, m: int, chosen: I32) -> int:
    """Write the packets that are alone on their couplers, and return how many there are."""
    heard = 0
    for q in range(m):
        chosen[heard] = rows[q]
        heard += alone[q]
    return heard


@compiled
def _conclude(
    turn: int, m: int, records: I32, base: I64, sizes: I32, used: I32, pool: I32, fails: I32,
    held: I32, sources: I32, rows: I32, before: I32, alone: I32,
) -> None:  # fmt: skip
    """Remove packets that were acknowledged from their queues, and count failures of others."""
    for q in range(m):
        row = rows[q]
        if alone[q] == 0:
            fails[row] += 1
            continue
        source = sources[q]
        record = find(records, base, sizes, turn, source)
        if records[record, LENGTH] == 1:
            remove(records, base, sizes, used, turn, record)
        else:
            records[record, HEAD], records[record, TAIL] = unlink(
                row, before[q], pool, records[record, HEAD], records[record, TAIL]
            )
            records[record, LENGTH] -= 1
        fails[row] = 0
        held[source] -= 1
