"""relay, compiled: the four slots of a cycle are decided at its attempt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from popsnet.compiled import compiled
from popsnet.network import I32, I64
from popsnet.splitmix import step_key
from popsnet.traffic.block import Block
from popsnet.traffic.fused.couplers import Couplers, new_couplers
from popsnet.traffic.fused.frame import draw, reduced
from popsnet.traffic.fused.register import Opening, register_kernel
from popsnet.traffic.fused.session import FusedSession
from popsnet.traffic.fused.state import (
    COLLISIONS,
    DESTINATION,
    DESTROYED,
    MESSAGES,
    MOST_RELAYED,
    NEXT,
    OWN,
    RELAYED,
    KernelState,
    LogBuffers,
    accept,
    deliver,
    gather,
    join,
    note_slot,
    release,
)
from popsnet.traffic.fused.tries import (
    Chances,
    Tries,
    chances_of,
    make_keys,
    mark_alone,
    new_tries,
    passes,
    pick,
    put,
    unlink,
)
from popsnet.traffic.schedulers.relay import relay_patience

_TRIED, _HEARD, _COLLISIONS, _DESTROYED, _DELIVERED = range(5)


class Cycle(NamedTuple):
    """The sources that have packets, and what is decided about the slots of a cycle."""

    public: np.uint64
    place: np.uint64
    """The seed and the purpose of the coins of the cycles."""
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

    def advance(self, state: KernelState, block: Block, log: LogBuffers) -> None:
        """Execute the slots of a block."""
        _advance(state, block, log, self.couplers, self.chances, self.tries, self.cycle)


@register_kernel("relay")
def open_relay(opening: Opening) -> FusedSession:
    """Open a session of relay."""
    d, g, n = opening.network.d, opening.network.g, opening.network.n
    chances = chances_of(opening, relay_patience(n))
    active, is_active, through, heard = (np.zeros(n, dtype=np.int32) for _ in range(4))
    size, shift, plan = (np.zeros(size, dtype=np.int64) for size in (1, g, 5))
    coins = opening.public, opening.purpose("place")
    cycle = Cycle(*coins, active, is_active, size, shift, through, heard, plan)
    return FusedSession(opening, Relay(new_couplers(d, g), chances, new_tries(n), cycle))


@compiled
def _advance(
    state: KernelState,
    block: Block,
    log: LogBuffers,
    couplers: Couplers,
    chances: Chances,
    tries: Tries,
    cycle: Cycle,
) -> None:
    d, g, counters, counts, plan = state.d, state.g, state.counters, log.counts, cycle.plan
    state.hops[:] = 2
    for row in range(len(block.starts) - 1):
        t = block.begin + row
        m = accept(row, block, state, log)
        join(m, state)
        _activate(row, block, state, cycle)
        k, phase = t // 4, t % 4
        if phase == 0:
            key = step_key(cycle.public, cycle.place, k)
            for b in range(g):
                cycle.shift[b] = draw(key, g, b)
            make_keys(chances, k)
            out = _choose((k * d) % g, state, chances, tries, cycle)
            for q in range(out):
                a = int(state.group[tries.sources[q]])
                tries.couplers[q] = a * g + cycle.through[q]
            met = put(couplers, tries.couplers, tries.cells, out)
            counts[COLLISIONS, row], counts[DESTROYED, row] = met
            mark_alone(couplers, tries.cells, out, tries.alone)
            _forward(out, state, couplers, tries, cycle)
            counts[MESSAGES, row] = out
            counters[RELAYED] = plan[_HEARD]
            counters[MOST_RELAYED] = max(counters[MOST_RELAYED], min(plan[_HEARD], 1))
        elif phase == 1:
            heard = pick(plan[_TRIED], tries, state)
            gather(heard, state)
            deliver(t, heard, state, log)
            counts[MESSAGES, row], counts[COLLISIONS, row] = plan[_HEARD], plan[_COLLISIONS]
            counts[DESTROYED, row] = plan[_DESTROYED]
        elif phase == 2:
            counts[MESSAGES, row] = plan[_DELIVERED]
        else:
            _conclude(plan[_TRIED], state, tries)
            heard = pick(plan[_TRIED], tries, state)
            release(heard, state)
            counters[OWN] -= heard
            counters[RELAYED] = 0
            counts[MESSAGES, row] = heard
            plan[:] = 0
        state.kept[0] = int(counters[RELAYED] > 0)  # for the most at the start of the next block
        note_slot(row, m, block, state, log)


@compiled
def _activate(k: int, block: Block, state: KernelState, cycle: Cycle) -> None:
    """Note sources at which packets arrived."""
    head, active, is_active, size = state.head, cycle.active, cycle.is_active, cycle.size
    for row in range(block.starts[k], block.starts[k + 1]):
        source = block.sources[row]
        if is_active[source] == 0 and head[source] >= 0:
            is_active[source] = 1
            active[size[0]] = source
            size[0] += 1


@compiled
def _choose(turn: int, state: KernelState, chances: Chances, tries: Tries, cycle: Cycle) -> int:
    """Write what sources try, and return how many do. Sources without packets become inactive.

    The residue of an index, mod min(d, g), is its residue mod g.
    """
    d, g, group, residue = state.d, state.g, state.group, state.residue
    pool, fails, keys, most = state.pool, state.fails, chances.keys, chances.most
    active, size, shift = cycle.active, cycle.size, cycle.shift
    m = left = 0
    for q in range(size[0]):
        source = active[q]
        row, last = state.head[source], -1
        if row < 0:
            cycle.is_active[source] = 0
            continue
        active[left] = source
        left += 1
        a = reduced(int(group[source]) - turn, g)
        for w in range(len(keys)):
            to = pool[row, DESTINATION]
            relays = reduced(int(residue[to]) + shift[group[to]], g)
            exists = d >= g or reduced(a - relays, g) < d
            if exists and passes(keys, w, source, fails[row], most, -1):
                tries.sources[m], tries.rows[m], tries.before[m] = source, row, last
                cycle.through[m] = relays
                m += 1
                break
            last, row = row, pool[row, NEXT]
            if row < 0:
                break
    size[0] = left
    return m


@compiled
def _forward(m: int, state: KernelState, couplers: Couplers, tries: Tries, cycle: Cycle) -> None:
    """Decide what is delivered when relays forward what they heard, and write it to ``alone``."""
    g, heard, reaches, plan, alone = state.g, cycle.heard, state.keys, cycle.plan, tries.alone
    h = 0
    for q in range(m):
        if alone[q] != 0:
            to = state.group[state.pool[tries.rows[q], DESTINATION]]
            tries.couplers[h] = int(cycle.through[q]) * g + to
            heard[h] = q
            h += 1
    plan[_TRIED], plan[_HEARD] = m, h
    plan[_COLLISIONS], plan[_DESTROYED] = put(couplers, tries.couplers, tries.cells, h)
    mark_alone(couplers, tries.cells, h, reaches)
    plan[_DELIVERED] = 0
    for q in range(h):
        alone[heard[q]] = reaches[q]
        plan[_DELIVERED] += reaches[q]


@compiled
def _conclude(m: int, state: KernelState, tries: Tries) -> None:
    """Remove packets that were acknowledged from their queues, and count failures of others."""
    pool, head, tail = state.pool, state.head, state.tail
    for q in range(m):
        row, source = tries.rows[q], tries.sources[q]
        if tries.alone[q] == 0:
            state.fails[row] += 1
            continue
        before = tries.before[q]
        head[source], tail[source] = unlink(row, before, pool, head[source], tail[source])
        state.fails[row] = 0
        state.held[source] -= 1
