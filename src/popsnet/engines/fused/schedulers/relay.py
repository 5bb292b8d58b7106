"""relay, compiled: the four slots of a cycle are decided at its attempt."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from popsnet.base.compiled import compiled
from popsnet.base.splitmix import step_key
from popsnet.engines.fused.schedulers import attempts, packets
from popsnet.engines.fused.schedulers.attempts import Chances, Couplers, Tries
from popsnet.engines.fused.schedulers.dead import DeadParts
from popsnet.engines.fused.schedulers.frame import draw, reduced
from popsnet.engines.fused.schedulers.packets import KernelState, LogBuffers
from popsnet.engines.fused.schedulers.register import COUPLERS, Opening
from popsnet.engines.fused.schedulers.session import SchedulerSession
from popsnet.model.network import I32, I64
from popsnet.programs.schedulers.relay import relay_patience
from popsnet.workloads.block import Block

_TRIED, _HEARD, _COLLISIONS, _DESTROYED, _DELIVERED, _CONFIRMED, _UNHEARD = range(7)
"""Places in a plan. The last one is that of the last slot but two; the others follow."""


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
    """Packets tried, heard, delivered and confirmed; what was destroyed when forwarded."""
    delivers: I32
    """Which of the packets that are tried are delivered, and were not before."""


class Relay(SchedulerSession):
    """The kernel of relay: one list of packets per source, and a list of the active sources."""

    survives = survives_known = COUPLERS

    def __init__(self, opening: Opening) -> None:
        super().__init__(opening)
        d, g, n = opening.network.d, opening.network.g, opening.network.n
        self._couplers, self._tries = attempts.new_couplers(d, g), attempts.new_tries(n)
        self._chances = attempts.chances_of(opening, relay_patience(n))
        active, is_active, through, heard, delivers = np.zeros((5, n), dtype=np.int32)
        size, shift, plan = (np.zeros(size, dtype=np.int64) for size in (1, g, 9))
        arrays = active, is_active, size, shift, through, heard, plan, delivers
        self._cycle = Cycle._make([*opening.coins("public", "place"), *arrays])

    def execute(self, block: Block, log: LogBuffers) -> None:
        """Execute the slots of a block, and write the log."""
        parts = self._couplers, self._chances, self._tries, self._cycle
        _advance(self.state, block, log, *parts, self.dead)


@compiled
def _advance(
    state: KernelState,
    block: Block,
    log: LogBuffers,
    couplers: Couplers,
    chances: Chances,
    tries: Tries,
    cycle: Cycle,
    dead: DeadParts | None,
) -> None:
    d, g, counters, counts, plan = state.d, state.g, state.counters, log.counts, cycle.plan
    state.hops[:] = 2
    for row in range(len(block.starts) - 1):
        t = block.begin + row
        m = packets.accept(row, block, state, log)
        packets.join(m, state)
        _activate(row, block, state, cycle)
        k, phase = t // 4, t % 4
        if phase == 0:
            key = step_key(cycle.public, cycle.place, k)
            for b in range(g):
                cycle.shift[b] = draw(key, g, b)
            attempts.make_keys(chances, k)
            out = _choose((k * d) % g, state, chances, tries, cycle)
            for q in range(out):
                a = int(state.group[tries.sources[q]])
                tries.couplers[q] = a * g + cycle.through[q]
            met = attempts.put(couplers, tries.couplers, tries.cells, out)
            counts[packets.COLLISIONS, row], counts[packets.DESTROYED, row] = met
            attempts.mark_alone(couplers, tries.cells, out, tries.alone)
            if dead is not None:
                _miss(t, out, state, tries, cycle, dead)
            _forward(out, state, couplers, tries, cycle)
            if dead is not None:
                _plan_around(t, state, tries, cycle, dead)
            counts[packets.MESSAGES, row] = out
            counters[packets.RELAYED] = plan[_HEARD]
            most = max(counters[packets.MOST_RELAYED], min(plan[_HEARD], 1))
            counters[packets.MOST_RELAYED] = most
        elif phase == 1:
            chosen = tries.alone if dead is None else cycle.delivers
            heard = attempts.pick(plan[_TRIED], chosen, tries, state)
            packets.gather(heard, state)
            packets.deliver(t, heard, state, log)
            counts[packets.MESSAGES, row] = plan[_HEARD]
            counts[packets.COLLISIONS, row] = plan[_COLLISIONS]
            counts[packets.DESTROYED, row] = plan[_DESTROYED]
        elif phase == 2:
            counts[packets.MESSAGES, row] = plan[_DELIVERED]
        else:
            _conclude(plan[_TRIED], state, tries)
            heard = attempts.pick(plan[_TRIED], tries.alone, tries, state)
            packets.release(heard, state)
            counters[packets.OWN] -= heard
            counters[packets.RELAYED] = 0
            counts[packets.MESSAGES, row] = heard if dead is None else plan[_CONFIRMED]
            plan[:_UNHEARD] = 0
        if dead is not None and phase > 0:
            counters[packets.UNHEARD] += plan[_UNHEARD + phase - 1]
            plan[_UNHEARD + phase - 1] = 0
        # For the most at the start of the next block.
        state.transit[0] = int(counters[packets.RELAYED] > 0)
        packets.note_slot(row, m, block, state, log)


@compiled(inline=True)
def _activate(k: int, block: Block, state: KernelState, cycle: Cycle) -> None:
    """Note sources at which packets arrived."""
    head, active, is_active, size = state.head, cycle.active, cycle.is_active, cycle.size
    for row in range(block.starts[k], block.starts[k + 1]):
        source = block.sources[row]
        if is_active[source] == 0 and head[source] >= 0:
            is_active[source] = 1
            active[size[0]] = source
            size[0] += 1


@compiled(inline=True)
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
            to = pool[row, packets.DESTINATION]
            relays = reduced(int(residue[to]) + shift[group[to]], g)
            exists = d >= g or reduced(a - relays, g) < d
            failed = fails[row] if fails[row] >= 0 else ~fails[row]
            if exists and attempts.passes(keys, w, source, failed, most, -1):
                tries.sources[m], tries.rows[m], tries.before[m] = source, row, last
                cycle.through[m] = relays
                m += 1
                break
            last, row = row, pool[row, packets.NEXT]
            if row < 0:
                break
    size[0] = left
    return m


@compiled(inline=True)
def _forward(m: int, state: KernelState, couplers: Couplers, tries: Tries, cycle: Cycle) -> None:
    """Decide what is delivered when relays forward what they heard, and write it to ``alone``."""
    g, heard, reaches, plan, alone = state.g, cycle.heard, state.keys, cycle.plan, tries.alone
    h = 0
    for q in range(m):
        if alone[q] != 0:
            to = state.group[state.pool[tries.rows[q], packets.DESTINATION]]
            tries.couplers[h] = int(cycle.through[q]) * g + to
            heard[h] = q
            h += 1
    plan[_TRIED], plan[_HEARD] = m, h
    plan[_COLLISIONS], plan[_DESTROYED] = attempts.put(couplers, tries.couplers, tries.cells, h)
    attempts.mark_alone(couplers, tries.cells, h, reaches)
    plan[_DELIVERED] = 0
    for q in range(h):
        alone[heard[q]] = reaches[q]
        plan[_DELIVERED] += reaches[q]


@compiled(inline=True)
def _miss(t: int, m: int, state: KernelState, tries: Tries, cycle: Cycle, dead: DeadParts) -> None:
    """Take out what relays do not hear because of dead couplers."""
    for q in range(m):
        a = state.group[tries.sources[q]]
        if tries.alone[q] != 0 and dead.couplers[cycle.through[q], a] <= t + 1:
            tries.alone[q] = 0
            state.counters[packets.UNHEARD] += 1


@compiled
def _plan_around(t: int, state: KernelState, tries: Tries, cycle: Cycle, dead: DeadParts) -> None:
    """Decide what is delivered, confirmed and acknowledged where couplers are dead.

    The failures of a packet that was delivered, and whose source does not know it, are
    complemented: it is not delivered again.
    """
    couplers, fails, plan, slot = dead.couplers, state.fails, cycle.plan, t + 1
    residues = min(state.d, state.g)
    plan[_DELIVERED] = 0
    for q in range(plan[_TRIED]):
        cycle.delivers[q] = 0
        if tries.alone[q] == 0:
            continue
        row, via, tries.alone[q] = tries.rows[q], cycle.through[q], 0
        to, a = state.pool[row, packets.DESTINATION], state.group[tries.sources[q]]
        b = state.group[to]
        if couplers[b, via] <= slot + 1:  # of all who listen
            plan[_UNHEARD] += (state.d - 1 - state.residue[to]) // residues + 1
            continue
        plan[_DELIVERED] += 1
        cycle.delivers[q] = fails[row] >= 0
        fails[row] = fails[row] if fails[row] < 0 else ~fails[row]
        if couplers[via, b] <= slot + 2:
            plan[_UNHEARD + 1] += 1
            continue
        plan[_CONFIRMED] += 1
        tries.alone[q] = couplers[a, via] > slot + 3
        plan[_UNHEARD + 2] += couplers[a, via] <= slot + 3


@compiled(inline=True)
def _conclude(m: int, state: KernelState, tries: Tries) -> None:
    """Remove packets that were acknowledged from their queues, and count failures of others."""
    pool, head, tail = state.pool, state.head, state.tail
    for q in range(m):
        row, source = tries.rows[q], tries.sources[q]
        if tries.alone[q] == 0:
            state.fails[row] += 1 if state.fails[row] >= 0 else -1
            continue
        before = tries.before[q]
        head[source], tail[source] = attempts.unlink(row, before, pool, head[source], tail[source])
        state.fails[row] = 0
        state.held[source] -= 1
