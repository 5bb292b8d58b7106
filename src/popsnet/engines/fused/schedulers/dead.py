"""Dead parts for compiled code: who meets whom, what is not heard, and who can pass on packets.

Kernels get ``dead`` as an argument of its own, which is None if everything works: what they do
with it is then not even compiled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from popsnet.base.compiled import compiled
from popsnet.engines.fused.schedulers import packets
from popsnet.engines.fused.schedulers.attempts import unlink
from popsnet.engines.fused.schedulers.frame import keeper_of, met, turn_of
from popsnet.engines.fused.schedulers.lists import FROM, KEY, SINCE, TO
from popsnet.engines.fused.schedulers.packets import KernelState, LogBuffers
from popsnet.model.network import I32, I64, Bools
from popsnet.programs.scheduler_faults import TrafficFaults

_NEVER = np.iinfo(np.int64).max


class DeadParts(NamedTuple):
    """When parts die, and what processors know of it."""

    couplers: I64
    """The slot, counted from 1, from which on coupler c(b, a) is dead: entry (b, a)."""
    sends: I64
    hears: I64
    """The same for transmitters and receivers."""
    meets: I32
    """Of each processor in the present slot: the class that it meets, or -1; the channel."""
    is_known: bool
    """Whether every processor knows all parts that are or will be dead."""
    blocked: Bools
    """Whether coupler c(b, a) is known to be dead, now or later."""
    relays: Bools
    """Whether a class relays."""
    fixes: Bools
    """Whether relays of a group can pass on packets for a class in two hops."""


def dead_parts(faults: TrafficFaults) -> DeadParts:
    """Return the dead parts of a run."""
    network, live, parts = faults.network, faults.live, faults.active.faults
    g, classes = network.g, network.g * min(network.d, network.channels)
    has_fixes = faults.known and faults.paths == "three hops"
    return DeadParts(
        couplers=_ends((g, g), parts.dead("couplers")),
        sends=_ends((network.n,), (*parts.transmitters, *parts.processors)),
        hears=_ends((network.n,), (*parts.receivers, *parts.processors)),
        meets=np.full((network.n, 2), -1, dtype=np.int32),
        is_known=faults.known,
        blocked=~live.couplers,
        relays=live.relays,
        fixes=live.fixes if has_fixes else np.zeros((0, classes), dtype=np.bool_),
    )


def _ends(shape: tuple[int, ...], dead: Sequence[tuple[int, ...]]) -> I64:
    """Return the first slot in which each part is dead."""
    ends = np.full(shape, _NEVER)
    for *part, slot in dead:
        ends[tuple(part)] = min(ends[tuple(part)], slot)
    return ends


@compiled
def meet(t: int, u: int, state: KernelState, dead: DeadParts) -> None:
    """Write whom each processor meets in a slot of the frame.

    A processor that knows that the coupler is dead counts as one that has sent.
    """
    d, g, channels, meets = state.d, state.g, state.channels, dead.meets
    t0, t2 = turn_of(u, d, g, channels)
    for p in range(d * g):
        a = int(state.group[p])
        j, b, r = met(a, int(state.indices[p]), t0, t2, d, g, channels)
        is_blocked = dead.is_known and dead.blocked[b, a]
        meets[p, 0], meets[p, 1] = b * min(d, channels) + r, j
        if j >= channels or is_blocked:
            meets[p, 0], state.last[p] = -1, t


@compiled
def lose(
    t: int,
    key: np.uint64,
    rows: tuple[int, int],
    into: int,
    state: KernelState,
    log: LogBuffers,
    dead: DeadParts,
) -> int:
    """Move rows low … high - 1 of ``events`` that are heard up to ``into``, and return their end.

    A packet is heard if the destination hears it, or the processor that would keep it. The others
    are lost.
    """
    d, g, channels, events = state.d, state.g, state.channels, state.events
    residues, slot = min(d, channels), t + 1
    low, high = rows
    for q in range(low, high):
        p, to = events[q, KEY], events[q, TO]
        a, met_class = int(state.group[p]), int(dead.meets[p, 0])
        b, r, listener = met_class // residues, met_class % residues, int(to)
        if state.class_of[to] != met_class:
            listener = keeper_of(key, a, b, r, int(dead.meets[p, 1]), d, g, channels)
        works = dead.couplers[b, a] > slot
        if dead.sends[p] > slot:
            for other in range(b * d + r, (b + 1) * d, residues):
                state.counters[packets.UNHEARD] += not (works and dead.hears[other] > slot)
            works = works and dead.hears[listener] > slot
        else:
            works = False
        if works:
            for column in range(4):
                events[into, column] = events[q, column]
            into += 1
        else:
            at = state.counters[packets.LOST_ROWS]
            packets.note_lost(t, events[q, FROM], to, events[q, SINCE], log.lost, at)
            state.counters[packets.LOST_ROWS] += 1
    return into


@compiled(inline=True)
def can_pass_on(by: int, to: int, residues: int, blocked: Bools, relays: Bools) -> bool:
    """Return whether class ``by`` is, or can relay packets to, class ``to``."""
    return bool(by == to or (relays[by] and not blocked[to // residues, by // residues]))


@compiled
def take_passed_on(t: int, hops: int, state: KernelState, dead: DeadParts) -> int:
    """Remove the oldest packet of every source that the class it meets can pass on.

    ``hops`` is how many the packet may take, this one included: 2, or 3 if the second one fixes
    the residue.
    """
    head, tail, pool, class_of = state.head, state.tail, state.pool, state.class_of
    blocked, relays, fixes = dead.blocked, dead.relays, dead.fixes
    residues, m = min(state.d, state.channels), 0
    for p in range(len(head)):
        by = int(dead.meets[p, 0])
        before, row = -1, int(head[p]) if by >= 0 else -1
        while row >= 0:
            to = int(class_of[pool[row, packets.DESTINATION]])
            passes = can_pass_on(by, to, residues, blocked, relays)
            if hops == 3:
                passes = passes and by % residues == to % residues
                passes = passes or (relays[by] and fixes[by // residues, to])
            if passes:
                head[p], tail[p] = unlink(row, before, pool, head[p], tail[p])
                state.senders[m], state.sent[m] = p, row
                state.held[p] -= 1
                m += 1
                break
            before, row = row, int(pool[row, packets.NEXT])
    return m
