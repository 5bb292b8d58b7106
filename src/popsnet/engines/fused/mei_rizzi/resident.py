"""Whole runs in the cache, one thread per run, for networks whose couplers fit in it."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from popsnet.compiled import compiled
from popsnet.engines.fused.arrays import I64, Records, record_type
from popsnet.engines.fused.kernel import Seeds, draw_permutation
from popsnet.engines.fused.mei_rizzi import passes
from popsnet.engines.fused.mei_rizzi.layout import (
    MeiRizziLayout,
    MeiRizziProgram,
    MeiRizziWorkspace,
)
from popsnet.splitmix import origin, run_key, step_key

SLOTS_PER_STEP = 5


class MeiRizziLogRow(Protocol):
    """A step in the log."""

    undelivered: int
    sent: int
    survivors: int
    """Of slot 1."""
    collisions: int
    slots: int


LOG = record_type(MeiRizziLogRow)


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
    filled, done, purposes = 0, 0, program.purposes
    for run in range(first, last):
        if len(log) - filled < program.max_steps or work.stop[0] != 0:
            break
        coins = seeds.coins
        if drawn:
            draw_permutation(
                work.targets, layout.g, purposes, seeds.permutations, run, work.shuffled
            )
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
    size, bits = layout.rows * layout.d, layout.name_bits
    blocks, n, number_bits = len(work.sizes), layout.d * layout.g, layout.number_bits
    thresholds = program.thresholds
    first, second = work.first.view(np.uint8), work.second.view(np.uint8)
    for block in range(blocks):
        low = block * size
        m = min(size, n - low)
        work.sizes[block] = m
        passes.encode(work.targets[low:], m, number_bits, work.codes[low:])
    step, pending = 0, n
    while pending > 0 and step < program.max_steps and work.stop[0] == 0:
        key = step_key(seed, program.purposes.intermediate, step)
        sent, collided, filled = 0, 0, 0
        begin, stride = origin(key, np.uint64(0)), origin(np.uint64(0), np.uint64(size - 1))
        for block in range(blocks):
            m, codes, entries = work.sizes[block], work.codes[block * size :], work.entries[filled:]
            if step < len(thresholds):
                m = passes.take_part(codes, m, number_bits, begin, thresholds[step], work.taking)
                passes.pick(codes, work.taking, m, work.taken)
                codes = work.taken
            passes.draw(layout, codes, m, begin, 0, work.couplers, work.drawn)
            passes.count(work.couplers, m, 0, first)
            survivors = passes.select(work.couplers, m, 0, first, work.drawn, work.flags, entries)
            collided += passes.clear(work.first)
            passes.count(entries, survivors, bits, second)
            if step < len(thresholds):
                passes.rename(entries, survivors, bits, work.taking, 0)
            sent += m
            filled += survivors
            work.ends[block] = filled
            begin += stride
        start, pending = 0, 0
        for block in range(blocks):
            m, entries, codes = work.ends[block] - start, work.entries[start:], work.codes
            alone = passes.select(entries, m, bits, second, entries, work.flags, work.delivered)
            left = passes.remove(
                work.delivered, alone, bits, codes[block * size :], work.sizes[block]
            )
            work.sizes[block] = left
            pending += left
            start += m
        collided += passes.clear(work.second)
        row = log[step]
        row.undelivered, row.sent, row.survivors, row.collisions = pending, sent, filled, collided
        step += 1
        row.slots = SLOTS_PER_STEP * step
    return step


@compiled
def summarize(
    layout: MeiRizziLayout, program: MeiRizziProgram, log: Records, steps: I64, table: Records,
    survivors: I64,
) -> None:  # fmt: skip
    """Sum up the log, as :meth:`CompiledRuns.summarize` says."""
    executed, n = program.executed, layout.d * layout.g
    start = 0
    for run in range(len(steps)):
        sent, heard, collided, last, before = 0, 0, 0, 0, n
        for step in range(start, start + steps[run]):
            row = log[step]
            if row.undelivered < before:
                last = row.slots if executed else row.slots - SLOTS_PER_STEP + 2
            before = row.undelivered
            survivors[step] = before
            sent += row.sent
            heard += row.survivors
            collided += row.collisions
        start += steps[run]
        counts, delivered = table[run], n - before
        more = 3 * delivered if executed else 0  # acks and last hops
        counts.slots, counts.slots_delivered = SLOTS_PER_STEP * steps[run], last
        counts.steps, counts.delivered, counts.lost = steps[run], delivered, 0
        counts.collisions, counts.destroyed = collided, sent - delivered
        counts.messages, counts.control_bits = sent + heard + more, int(more > 0)
        counts.capped = int(before > 0)
