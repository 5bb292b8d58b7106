"""The ``deferred`` variant, compiled: the same passes, and the copies that wait.

A copy that waits blocks the processor that has it: what is sent to it in slots 1 and 2 is not
heard. Waiting copies have one number per processor, ordered by index, so that the processors that
listen in a step are g whole rows, in the order of the couplers that they listen to.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from popsnet.compiled import compiled
from popsnet.engines.fused.arrays import I64, U8, U16, U32, Records, record_type
from popsnet.engines.fused.kernel import Seeds, draw_permutation
from popsnet.engines.fused.mei_rizzi import passes
from popsnet.engines.fused.mei_rizzi.layout import (
    MeiRizziLayout,
    MeiRizziProgram,
    MeiRizziWorkspace,
)
from popsnet.engines.fused.mei_rizzi.resident import SLOTS_PER_STEP
from popsnet.splitmix import origin, run_key, step_key

_FREE = np.uint32(0)
_ALONE, _UNHEARD = np.uint8(1), np.uint8(0x40)


class DeferredLogRow(Protocol):
    """A step in the log: messages alone on, and heard from, couplers of slots 1 and 2."""

    undelivered: int
    sent: int
    alone_1: int
    heard_1: int
    alone_2: int
    heard_2: int
    collisions: int
    slots: int
    """In the last step, with the slots of kind 5 after it."""


LOG = record_type(DeferredLogRow)


def route(
    layout: MeiRizziLayout, program: MeiRizziProgram, work: MeiRizziWorkspace, seed: np.uint64,
    log: Records,
) -> int:  # fmt: skip
    """Route one permutation, and return the number of steps."""
    steps = np.zeros(1, dtype=np.int64)
    route_runs(layout, program, work, Seeds(seed, seed), 0, 1, log, steps, False)
    return int(steps[0])


def route_many(
    layout: MeiRizziLayout, program: MeiRizziProgram, work: MeiRizziWorkspace, seeds: Seeds,
    first: int, last: int, log: Records, steps: I64,
) -> int:  # fmt: skip
    """Execute runs, as :meth:`CompiledRuns.route_many` says."""
    return route_runs(layout, program, work, seeds, first, last, log, steps, True)


@compiled
def route_runs(
    layout: MeiRizziLayout, program: MeiRizziProgram, work: MeiRizziWorkspace, seeds: Seeds,
    first: int, last: int, log: Records, steps: I64, drawn: bool,
) -> int:  # fmt: skip
    """Execute runs on permutations drawn from seeds, or one on that in memory with its seed."""
    filled, done, purposes, n = 0, 0, program.purposes, layout.d * layout.g
    for run in range(first, last):
        if len(log) - filled < program.max_steps or work.stop[0] != 0:
            break
        coins = seeds.coins
        if drawn:
            draw_permutation(work.targets, n, purposes, seeds.permutations, run, work.shuffled)
            coins = run_key(seeds.coins, purposes.run, run)
        steps[done] = do_steps(layout, program, work, coins, log[filled:])
        filled += steps[done]
        done += 1
    return done


@compiled
def do_steps(
    layout: MeiRizziLayout, program: MeiRizziProgram, work: MeiRizziWorkspace, seed: np.uint64,
    log: Records,
) -> int:  # fmt: skip
    """Execute steps until no packet is pending, and return their number."""
    d, g, size, bits = layout.d, layout.g, layout.rows * layout.d, layout.name_bits
    blocks, kinds, n, waiting = len(work.sizes), -(-d // g), d * g, work.waiting
    first, second = work.first.view(np.uint8), work.second.view(np.uint8)
    thresholds = program.thresholds
    waiting[:] = _FREE
    for block in range(blocks):
        low = block * size
        m = min(size, n - low)
        work.sizes[block] = m
        encode_destinations(layout, work.targets[low:], m, work.codes[low:])
    step, pending, delivered = 0, n, 0
    while pending > 0 and step < program.max_steps and work.stop[0] == 0:
        key, turn = step_key(seed, program.purposes.intermediate, step), step % kinds
        sent, alone_1, heard_1, heard_2, collided = 0, 0, 0, 0, 0
        for block in range(blocks):
            begin, codes = origin(key, np.uint64(block * size)), work.codes[block * size :]
            m, number_bits = work.sizes[block], layout.number_bits
            if step < len(thresholds):
                m = passes.take_part(codes, m, number_bits, begin, thresholds[step], work.taking)
                passes.pick(codes, work.taking, m, work.taken)
                codes = work.taken
            passes.draw(layout, codes, m, begin, 0, work.couplers, work.drawn)
            passes.count(work.couplers, m, 0, first)
            alone_1 += mask(layout, first, block * layout.rows, turn, waiting)
            entries = work.entries[heard_1:]
            heard = passes.select(work.couplers, m, 0, first, work.drawn, work.flags, entries)
            collided += passes.clear(work.first)
            passes.count(entries, heard, bits, second)
            if step < len(thresholds):
                passes.rename(entries, heard, bits, work.taking, 0)
            sent += m
            heard_1 += heard
            work.ends[block] = heard_1
        alone_2 = mask(layout, second, 0, turn, waiting)
        start, pending = 0, 0
        for block in range(blocks):
            low = block * size
            m, codes, entries = work.ends[block] - start, work.codes[low:], work.entries[start:]
            heard = passes.select(entries, m, bits, second, entries, work.flags, work.drawn)
            wait(layout, work, heard, codes, work.targets[low:], turn)
            left = passes.remove(work.delivered, heard, bits, codes, work.sizes[block])
            work.sizes[block] = left
            heard_2 += heard
            pending += left
            start += m
        collided += passes.clear(work.second)
        delivered += deliver(waiting, turn)
        row = log[step]
        row.undelivered, row.sent, row.collisions = n - delivered, sent, collided
        row.alone_1, row.heard_1, row.alone_2, row.heard_2 = alone_1, heard_1, alone_2, heard_2
        step += 1
        row.slots = SLOTS_PER_STEP * step
    more = 0
    while pending == 0 and delivered < n:
        delivered += deliver(waiting, (step + more) % kinds)
        more += 1
    if step > 0:
        log[step - 1].undelivered = n - delivered
        log[step - 1].slots += more
    return step


@compiled
def encode_destinations(layout: MeiRizziLayout, destination: U16 | U32, m: int, codes: U32) -> None:
    """Write the codes of all packets of a block."""
    g, bits = np.uint32(layout.g), np.uint32(layout.number_bits)
    for k in range(m):
        codes[k] = (destination[k] % g) << bits | np.uint32(k)


@compiled
def mask(layout: MeiRizziLayout, table: U8, first_group: int, turn: int, waiting: U32) -> int:
    """Mark messages to processors with a waiting copy, and return how many were alone."""
    alone, width = 0, 1 << layout.group_bits
    for row in range(len(table) // width):
        group = first_group + row
        if group >= layout.g:
            break
        cells = table[row << layout.group_bits :]
        busy = waiting[listener(layout, turn, group) << layout.group_bits :]
        for k in range(width):
            alone += int(cells[k] == _ALONE)
            cells[k] |= _UNHEARD if busy[k] != _FREE else np.uint8(0)
    return alone


@compiled(inline=True)
def listener(layout: MeiRizziLayout, turn: int, group: int) -> int:
    """Return the index of the processor that listens to a group in slots 1 and 2."""
    index = turn * layout.g + group
    return index if index < layout.d else group


@compiled
def wait(
    layout: MeiRizziLayout, work: MeiRizziWorkspace, m: int, codes: U32,
    destination: U16 | U32, turn: int,
) -> None:  # fmt: skip
    """Let copies that arrived wait, and leave their names for ``remove``."""
    name_mask, number_mask = (1 << layout.name_bits) - 1, (1 << layout.number_bits) - 1
    group_mask, entries = (1 << layout.group_bits) - 1, work.drawn
    for q in range(m):
        name = np.int64(entries[q]) & name_mask
        cell = np.int64(entries[q]) >> layout.name_bits
        sender, here = cell >> layout.group_bits, cell & group_mask
        block = np.int64(destination[codes[name] & number_mask]) % layout.d // layout.g
        at = listener(layout, turn, int(sender)) << layout.group_bits | here
        work.waiting[at] = block + 1
        work.delivered[q] = name


@compiled
def deliver(waiting: U32, turn: int) -> int:
    """Execute slot 5, which delivers the copies for a block, and return how many."""
    delivered, block = 0, np.uint32(turn + 1)
    for k in range(len(waiting)):
        here = waiting[k] == block
        delivered += int(here)
        waiting[k] = _FREE if here else waiting[k]
    return delivered


@compiled
def summarize(
    layout: MeiRizziLayout, program: MeiRizziProgram, log: Records, steps: I64, table: Records,
    survivors: I64,
) -> None:  # fmt: skip
    """Sum up the log, as :meth:`CompiledRuns.summarize` says.

    If there are slots after the last step, the last of them delivers the last copy.
    """
    start, n = 0, layout.d * layout.g
    for run in range(len(steps)):
        sent, alone, heard_1, heard_2, collided, last, before = 0, 0, 0, 0, 0, 0, n
        for step in range(start, start + steps[run]):
            row = log[step]
            if row.undelivered < before:
                last = row.slots
            before = row.undelivered
            survivors[step] = before
            sent += row.sent
            alone += row.alone_1 + row.alone_2
            heard_1 += row.heard_1
            heard_2 += row.heard_2
            collided += row.collisions
        start += steps[run]
        counts, delivered, slots = table[run], n - before, log[start - 1].slots
        counts.slots = slots
        counts.slots_delivered = slots if slots > SLOTS_PER_STEP * steps[run] else last
        counts.steps, counts.delivered, counts.lost = steps[run], delivered, 0
        counts.collisions, counts.destroyed = collided, sent + heard_1 - alone
        counts.messages, counts.control_bits = sent + heard_1 + 2 * heard_2 + delivered, heard_2 > 0
        counts.capped = heard_2 < n
