"""aloha, compiled."""

from __future__ import annotations

from dataclasses import dataclass

from popsnet.compiled import compiled
from popsnet.traffic.block import Block
from popsnet.traffic.fused.couplers import Couplers, new_couplers
from popsnet.traffic.fused.frame import reduced
from popsnet.traffic.fused.register import Opening, register_kernel
from popsnet.traffic.fused.session import FusedSession
from popsnet.traffic.fused.state import (
    COLLISIONS,
    DESTINATION,
    DESTROYED,
    MESSAGES,
    NEXT,
    OWN,
    PENDING,
    SOURCE,
    KernelState,
    LogBuffers,
    accept,
    deliver,
    gather,
    note_slot,
    release,
)
from popsnet.traffic.fused.stripes import (
    HEAD,
    KEY,
    LENGTH,
    TAIL,
    QueuesByStripe,
    enlarge,
    enqueue,
    find,
    new_queues,
    remove,
    settled,
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
from popsnet.traffic.schedulers.aloha import aloha_patience
from popsnet.traffic.schedulers.attempts import one_coin


@dataclass
class Aloha:
    """The kernel of aloha: packets by turn. The queues of a turn are scanned in its data slots."""

    turns: QueuesByStripe
    couplers: Couplers
    chances: Chances
    tries: Tries

    def advance(self, state: KernelState, block: Block, log: LogBuffers) -> None:
        """Execute the slots of a block."""
        grown = _advance(state, block, log, self.turns, self.couplers, self.chances, self.tries)
        self.turns = settled(self.turns, grown)


def _has_variant(variant: str) -> bool:
    try:
        return variant == "backoff" or 0 < float(variant) <= 1
    except ValueError:
        return False


@register_kernel("aloha", has_variant=_has_variant)
def open_aloha(opening: Opening) -> FusedSession:
    """Open a session of a variant of aloha."""
    d, g, variant = opening.network.d, opening.network.g, opening.variant
    patience = aloha_patience(d) if variant == "backoff" else one_coin(float(variant))
    chances = chances_of(opening, patience)
    kernel = Aloha(new_queues(g), new_couplers(d, g), chances, new_tries(d * g))
    return FusedSession(opening, kernel)


@compiled
def _advance(
    state: KernelState,
    block: Block,
    log: LogBuffers,
    turns: QueuesByStripe,
    couplers: Couplers,
    chances: Chances,
    tries: Tries,
) -> QueuesByStripe:
    counters, counts, g = state.counters, log.counts, state.g
    state.hops[:] = 1
    for k in range(len(block.starts) - 1):
        t = block.begin + k
        m = accept(k, block, state, log)
        _by_turn(m, state)
        done = 0
        while done < m:
            done = enqueue(turns, state, done, m)
            if done < m:
                turns = enlarge(turns, state.stripes[done])
        s = t // 2
        if t % 2 == 0:
            make_keys(chances, s)
            out = _choose(s % g, turns, state, chances, tries)
            for q in range(out):
                a = int(state.group[tries.sources[q]])
                tries.couplers[q] = a * g + state.group[state.pool[tries.rows[q], DESTINATION]]
            met = put(couplers, tries.couplers, tries.cells, out)
            counts[COLLISIONS, k], counts[DESTROYED, k] = met
            mark_alone(couplers, tries.cells, out, tries.alone)
            heard = pick(out, tries, state)
            gather(heard, state)
            deliver(t, heard, state, log)
            counters[PENDING], counts[MESSAGES, k] = out, out
        else:
            out = counters[PENDING]
            _conclude(s % g, out, turns, state, tries)
            heard = pick(out, tries, state)
            release(heard, state)
            counters[OWN] -= heard
            counters[PENDING], counts[MESSAGES, k] = 0, heard
        note_slot(k, m, block, state, log)
    return turns


@compiled
def _by_turn(m: int, state: KernelState) -> None:
    """Write the turns of packets: when their destinations listen to the groups of their sources.

    The residue of an index, mod min(d, g), is its residue mod g.
    """
    nodes, pool, group, residue, g = state.nodes, state.pool, state.group, state.residue, state.g
    for k in range(m):
        source, to = pool[nodes[k], SOURCE], pool[nodes[k], DESTINATION]
        state.stripes[k] = reduced(reduced(group[source] - group[to], g) - residue[to], g)
        state.keys[k] = source


@compiled
def _choose(
    turn: int, turns: QueuesByStripe, state: KernelState, chances: Chances, tries: Tries
) -> int:
    """Write what sources try in a data slot, and return how many do."""
    records, pool, fails = turns.records, state.pool, state.fails
    keys, most, fixed = chances.keys, chances.most, chances.fixed
    m = 0
    if turns.used[turn] == 0:
        return m
    for at in range(turns.base[turn], turns.base[turn] + turns.sizes[turn]):
        source = records[at, KEY]
        if source < 0:
            continue
        last, row = -1, records[at, HEAD]
        for w in range(len(keys)):
            if passes(keys, w, source, fails[row], most, fixed):
                tries.sources[m], tries.rows[m], tries.before[m] = source, row, last
                m += 1
                break
            last, row = row, pool[row, NEXT]
            if row < 0:
                break
    return m


@compiled
def _conclude(turn: int, m: int, turns: QueuesByStripe, state: KernelState, tries: Tries) -> None:
    """Remove packets that were acknowledged from their queues, and count failures of others."""
    records, pool, fails, held = turns.records, state.pool, state.fails, state.held
    for q in range(m):
        row = tries.rows[q]
        if tries.alone[q] == 0:
            fails[row] += 1
            continue
        source = tries.sources[q]
        record = find(turns, turn, source)
        if records[record, LENGTH] == 1:
            remove(turns, turn, record)
        else:
            records[record, HEAD], records[record, TAIL] = unlink(
                row, tries.before[q], pool, records[record, HEAD], records[record, TAIL]
            )
            records[record, LENGTH] -= 1
        fails[row] = 0
        held[source] -= 1
