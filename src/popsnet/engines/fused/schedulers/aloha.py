"""aloha, compiled."""

from __future__ import annotations

from popsnet.base.compiled import compiled
from popsnet.engines.fused.schedulers import attempts, packets
from popsnet.engines.fused.schedulers.attempts import Chances, Couplers, Tries
from popsnet.engines.fused.schedulers.frame import reduced
from popsnet.engines.fused.schedulers.packets import KernelState, LogBuffers
from popsnet.engines.fused.schedulers.register import COUPLERS, NOTHING, Opening
from popsnet.engines.fused.schedulers.segments import Segments, enlarge, new_segments, settled
from popsnet.engines.fused.schedulers.session import SchedulerSession
from popsnet.engines.fused.schedulers.stripes import HEAD, KEY, LENGTH, TAIL, enqueue, find, remove
from popsnet.programs.schedulers.aloha import aloha_patience
from popsnet.programs.schedulers.attempts import one_coin
from popsnet.workloads.block import Block


class Aloha(SchedulerSession):
    """The kernel of aloha: packets by turn. The queues of a turn are scanned in its data slots."""

    survives, survives_known = NOTHING, COUPLERS

    def __init__(self, opening: Opening) -> None:
        super().__init__(opening)
        d, g, variant = opening.network.d, opening.network.g, opening.variant
        patience = aloha_patience(d) if variant == "backoff" else one_coin(float(variant))
        self._chances = attempts.chances_of(opening, patience)
        self._couplers, self._tries = attempts.new_couplers(d, g), attempts.new_tries(d * g)
        self._turns = new_segments(g, 4)

    @staticmethod
    def has_variant(variant: str) -> bool:
        """Return whether the kernel runs a variant."""
        try:
            return variant == "backoff" or 0 < float(variant) <= 1
        except ValueError:
            return False

    def execute(self, block: Block, log: LogBuffers) -> None:
        """Execute the slots of a block, and write the log."""
        # No packet that is inside needs a dead coupler: they are known, or there are none.
        parts = self._couplers, self._chances, self._tries
        self._turns = settled(self._turns, _advance(self.state, block, log, self._turns, *parts))


@compiled
def _advance(
    state: KernelState,
    block: Block,
    log: LogBuffers,
    turns: Segments,
    couplers: Couplers,
    chances: Chances,
    tries: Tries,
) -> Segments:
    counters, counts, g = state.counters, log.counts, state.g
    state.hops[:] = 1
    for k in range(len(block.starts) - 1):
        t = block.begin + k
        m = packets.accept(k, block, state, log)
        _by_turn(m, state)
        done = 0
        while done < m:
            done = enqueue(turns, state, done, m)
            if done < m:
                turns = enlarge(turns, state.stripes[done])
        s = t // 2
        if t % 2 == 0:
            attempts.make_keys(chances, s)
            out = _choose(s % g, turns, state, chances, tries)
            for q in range(out):
                a = int(state.group[tries.sources[q]])
                to = state.pool[tries.rows[q], packets.DESTINATION]
                tries.couplers[q] = a * g + state.group[to]
            met = attempts.put(couplers, tries.couplers, tries.cells, out)
            counts[packets.COLLISIONS, k], counts[packets.DESTROYED, k] = met
            attempts.mark_alone(couplers, tries.cells, out, tries.alone)
            heard = attempts.pick(out, tries.alone, tries, state)
            packets.gather(heard, state)
            packets.deliver(t, heard, state, log)
            counters[packets.PENDING], counts[packets.MESSAGES, k] = out, out
        else:
            out = counters[packets.PENDING]
            _conclude(s % g, out, turns, state, tries)
            heard = attempts.pick(out, tries.alone, tries, state)
            packets.release(heard, state)
            counters[packets.OWN] -= heard
            counters[packets.PENDING], counts[packets.MESSAGES, k] = 0, heard
        packets.note_slot(k, m, block, state, log)
    return turns


@compiled
def _by_turn(m: int, state: KernelState) -> None:
    """Write the turns of packets: when their destinations listen to the groups of their sources.

    The residue of an index, mod min(d, g), is its residue mod g.
    """
    nodes, pool, group, residue, g = state.nodes, state.pool, state.group, state.residue, state.g
    for k in range(m):
        source, to = pool[nodes[k], packets.SOURCE], pool[nodes[k], packets.DESTINATION]
        state.stripes[k] = reduced(reduced(group[source] - group[to], g) - residue[to], g)
        state.keys[k] = source


@compiled(inline=True)
def _choose(turn: int, turns: Segments, state: KernelState, chances: Chances, tries: Tries) -> int:
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
            if attempts.passes(keys, w, source, fails[row], most, fixed):
                tries.sources[m], tries.rows[m], tries.before[m] = source, row, last
                m += 1
                break
            last, row = row, pool[row, packets.NEXT]
            if row < 0:
                break
    return m


@compiled(inline=True)
def _conclude(turn: int, m: int, turns: Segments, state: KernelState, tries: Tries) -> None:
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
            records[record, HEAD], records[record, TAIL] = attempts.unlink(
                row, tries.before[q], pool, records[record, HEAD], records[record, TAIL]
            )
            records[record, LENGTH] -= 1
        fails[row] = 0
        held[source] -= 1
