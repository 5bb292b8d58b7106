"""relay, compiled: the four slots of a cycle are decided at its attempt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from popsnet.compiled import compiled
from popsnet.network import I32, I64
from popsnet.splitmix import step_key
from popsnet.traffic.arrivals import Block
from popsnet.traffic.fused.aloha import Chances, Tries, new_tries, pick
from popsnet.traffic.fused.couplers import Couplers, new_couplers
from popsnet.traffic.fused.frame import draw, reduced
from popsnet.traffic.fused.parts import (
    COLLISIONS,
    DESTINATION,
    DESTROYED,
    MESSAGES,
    MOST_RELAYED,
    NEXT,
    OWN,
    RELAYED,
    U64,
    Paper,
    Parts,
    accept,
    deliver,
    gather,
    join,
    note_slot,
    release,
)  # fmt: skip
from popsnet.traffic.fused.tries import make_keys, mark_alone, passes, put, unlink
from popsnet.traffic.schedulers.attempts import Patience

_TRIED, _HEARD, _COLLISIONS, _DESTROYED, _DELIVERED = range(5)


class Cycle(NamedTuple):
    """The sources that have packets, and what is decided about the slots of a cycle."""

    active: I32
    is_active: I32
    size: I64
    """The number of active sources."""
    shift: I64
    """The public number of each group."""
    through: I32
    """The relay group of each packet that is tried."""
    heard: I32
    """Which of these were heard by their relays."""
    plan: I64
    """Packets tried, heard, and delivered; collisions and messages destroyed when forwarded."""


@dataclass
class Relay:
    """The kernel of relay: one list of packets per source, and a list of the active sources."""

    couplers: Couplers
    chances: Chances
    tries: Tries
    cycle: Cycle
    public: np.uint64
    place: np.uint64

    def advance(self, parts: Parts, block: Block, paper: Paper) -> None:
        """Execute the slots of a block."""
        _advance(
            parts, block, paper, self.couplers, self.chances, self.tries, self.cycle, self.public,
            self.place,
        )  # fmt: skip


def open_relay(
    d: int, g: int, private: np.uint64, patience: Patience, purposes: U64, public: np.uint64,
    place: np.uint64,
) -> Relay:  # fmt: skip
    """Return the kernel, with both seeds and the numbers of purposes."""
    n = d * g
    chances = Chances(private, purposes, np.empty_like(purposes), patience.most, patience.fixed)
    active, is_active, through, heard = (np.zeros(n, dtype=np.int32) for _ in range(4))
    size, shift, plan = (np.zeros(size, dtype=np.int64) for size in (1, g, 5))
    cycle = Cycle(active, is_active, size, shift, through, heard, plan)
    return Relay(new_couplers(d, g), chances, new_tries(n), cycle, public, place)


@compiled
def _advance(
    parts: Parts, block: Block, paper: Paper, couplers: Couplers, chances: Chances, tries: Tries,
    cycle: Cycle, public: np.uint64, place: np.uint64,
) -> None:  # fmt: skip
    pool, fails, held, state, nodes = parts.pool, parts.fails, parts.held, parts.state, parts.nodes
    sent, hops, d, g, plan = parts.sent, parts.hops, parts.d, parts.g, cycle.plan
    sources, destinations, starts = block.sources, block.destinations, block.starts
    counts = paper.counts
    hops[:] = 2
    for row in range(len(starts) - 1):
        t, low, high = block.begin + row, starts[row], starts[row + 1]
        m = accept(
            t, low, high, sources, destinations, parts.buffer, pool, parts.free, held, state,
            nodes, paper.refused_rows,
        )  # fmt: skip
        join(nodes, m, pool, parts.head, parts.tail)
        _activate(sources, low, high, parts.head, cycle.active, cycle.is_active, cycle.size)
        k, phase = t // 4, t % 4
        if phase == 0:
            key = step_key(public, place, k)
            for b in range(g):
                cycle.shift[b] = draw(key, g, b)
            make_keys(chances.private, chances.purposes, k, chances.keys)
            out = _choose(
                (k * d) % g, d, g, parts.group, parts.residue, pool, fails, parts.head,
                cycle.active, cycle.is_active, cycle.size, cycle.shift, chances.keys,
                chances.most, tries.sources, tries.rows, tries.before, cycle.through,
            )  # fmt: skip
            for q in range(out):
                a = int(parts.group[tries.sources[q]])
                tries.couplers[q] = a * g + cycle.through[q]
            counts[COLLISIONS, row], counts[DESTROYED, row] = put(
                couplers.names, couplers.counts, tries.couplers, tries.cells, out
            )
            mark_alone(couplers.names, couplers.counts, tries.cells, out, tries.alone)
            _forward(
                out, g, parts.group, pool, tries.rows, tries.alone, tries.couplers, tries.cells,
                cycle.through, cycle.heard, parts.keys, couplers.names, couplers.counts, plan,
            )  # fmt: skip
            counts[MESSAGES, row] = out
            state[RELAYED] = plan[_HEARD]
            state[MOST_RELAYED] = max(state[MOST_RELAYED], min(plan[_HEARD], 1))
        elif phase == 1:
            heard = pick(tries.rows, tries.alone, plan[_TRIED], sent)
            gather(sent, 0, heard, pool, parts.events)
            deliver(
                t, parts.events, hops, heard, state, parts.words, parts.places, paper.arrival,
                paper.source, paper.destination, paper.hops,
            )  # fmt: skip
            counts[MESSAGES, row], counts[COLLISIONS, row] = plan[_HEARD], plan[_COLLISIONS]
            counts[DESTROYED, row] = plan[_DESTROYED]
        elif phase == 2:
            counts[MESSAGES, row] = plan[_DELIVERED]
        else:
            _conclude(
                plan[_TRIED], pool, fails, held, parts.head, parts.tail, tries.sources, tries.rows,
                tries.before, tries.alone,
            )  # fmt: skip
            heard = pick(tries.rows, tries.alone, plan[_TRIED], sent)
            release(sent, 0, heard, parts.free, state)
            state[OWN] -= heard
            state[RELAYED] = 0
            counts[MESSAGES, row] = heard
            plan[:] = 0
        parts.kept[0] = int(state[RELAYED] > 0)  # for the most at the start of the next block
        note_slot(row, low, high, m, sources, held, state, counts, paper.ends)


@compiled
def _activate(
    sources: I32, low: int, high: int, head: I32, active: I32, is_active: I32, size: I64
) -> None:
    """Note sources at which packets arrived."""
    for k in range(low, high):
        source = sources[k]
        if is_active[source] == 0 and head[source] >= 0:
            is_active[source] = 1
            active[size[0]] = source
            size[0] += 1


@compiled
def _choose(
    turn: int, d: int, g: int, group: I32, residue: I32, pool: I32, fails: I32, head: I32,
    active: I32, is_active: I32, size: I64, shift: I64, keys: U64, most: int, sources: I32,
    rows: I32, before: I32, through: I32,
) -> int:  # fmt: skip
    """Write what sources try, and return how many do. Sources without packets become inactive.

    The residue of an index, mod min(d, g), is its residue mod g.
    """
    m = left = 0
    for q in range(size[0]):
        source = active[q]
        row, last = head[source], -1
        if row < 0:
            is_active[source] = 0
            continue
        active[left] = source
        left += 1
        a = reduced(int(group[source]) - turn, g)
        for w in range(len(keys)):
            to = pool[row, DESTINATION]
            relays = reduced(int(residue[to]) + shift[group[to]], g)
            exists = d >= g or reduced(a - relays, g) < d
            if exists and passes(keys, w, source, fails[row], most, -1):
                sources[m], rows[m], before[m], through[m] = source, row, last, relays
                m += 1
                break
            last, row = row, pool[row, NEXT]
            if row < 0:
                break
    size[0] = left
    return m


@compiled
def _forward(
    m: int, g: int, group: I32, pool: I32, rows: I32, alone: I32, couplers: I64, cells: I32,
    through: I32, heard: I32, reaches: I32, names: I64, counts: I32, plan: I64,
) -> None:  # fmt: skip
    """Decide what is delivered when relays forward what they heard, and write it to ``alone``."""
    h = 0
    for q in range(m):
        if alone[q] != 0:
            couplers[h] = int(through[q]) * g + group[pool[rows[q], DESTINATION]]
            heard[h] = q
            h += 1
    plan[_TRIED], plan[_HEARD] = m, h
    plan[_COLLISIONS], plan[_DESTROYED] = put(names, counts, couplers, cells, h)
    mark_alone(names, counts, cells, h, reaches)
    plan[_DELIVERED] = 0
    for q in range(h):
        alone[heard[q]] = reaches[q]
        plan[_DELIVERED] += reaches[q]


@compiled
def _conclude(
    m: int, pool: I32, fails: I32, held: I32, head: I32, tail: I32, sources: I32, rows: I32,
    before: I32, alone: I32,
) -> None:  # fmt: skip
    """Remove packets that were acknowledged from their queues, and count failures of others."""
    for q in range(m):
        row, source = rows[q], sources[q]
        if alone[q] == 0:
            fails[row] += 1
            continue
        head[source], tail[source] = unlink(row, before[q], pool, head[source], tail[source])
        fails[row] = 0
        held[source] -= 1
