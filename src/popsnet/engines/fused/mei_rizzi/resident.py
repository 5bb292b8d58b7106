"""Whole runs in the cache, one thread per run, for networks whose couplers fit in it."""

from __future__ import annotations

import numpy as np

from popsnet.base.compiled import compiled
from popsnet.base.splitmix import origin, step_key
from popsnet.engines.fused.arrays import I64, Records
from popsnet.engines.fused.kernel import RunSequence, begin_run
from popsnet.engines.fused.mei_rizzi import deferred, passes
from popsnet.engines.fused.mei_rizzi.layout import (
    MeiRizziLayout,
    MeiRizziProgram,
    MeiRizziWorkspace,
)
from popsnet.engines.fused.mei_rizzi.passes import SLOTS_PER_STEP


@compiled
def route_runs(
    waits: bool | None, layout: MeiRizziLayout, program: MeiRizziProgram, work: MeiRizziWorkspace,
    runs: RunSequence, log: Records, steps: I64,
) -> int:  # fmt: skip
    """Execute runs, as :attr:`CompiledRuns.route` says. Copies wait in them unless that is None."""
    filled, done = 0, 0
    modulus = layout.g if waits is None else layout.d * layout.g
    for run in range(runs.first, runs.last):
        if len(log) - filled < program.max_steps or work.stop[0] != 0:
            break
        seed = begin_run(work.targets, modulus, program.purposes, runs, run, work.shuffled)
        steps[done] = do_steps(layout, program, work, seed, log[filled:], waits)
        filled += steps[done]
        done += 1
    return done


@compiled
def do_steps(
    layout: MeiRizziLayout, program: MeiRizziProgram, work: MeiRizziWorkspace, seed: np.uint64,
    log: Records, waits: bool | None,
) -> int:  # fmt: skip
    """Execute steps until no packet is pending, and return their number."""
    size, bits = layout.rows * layout.d, layout.name_bits
    blocks, n, number_bits = len(work.sizes), layout.d * layout.g, layout.number_bits
    thresholds, kinds = program.thresholds, -(-layout.d // layout.g)
    first, second = work.first.view(np.uint8), work.second.view(np.uint8)
    work.waiting[:] = 0
    for block in range(blocks):
        low = block * size
        m = min(size, n - low)
        work.sizes[block] = m
        if waits is None:
            passes.encode(work.targets[low:], m, number_bits, work.codes[low:])
        else:
            deferred.encode(layout, work.targets[low:], m, work.codes[low:])
    step, pending, undelivered = 0, n, n
    while pending > 0 and step < program.max_steps and work.stop[0] == 0:
        key, turn = step_key(seed, program.purposes.intermediate, step), step % kinds
        sent, collided, filled, alone = 0, 0, 0, 0
        begin, stride = origin(key, np.uint64(0)), origin(np.uint64(0), np.uint64(size - 1))
        for block in range(blocks):
            m, codes, entries = work.sizes[block], work.codes[block * size :], work.entries[filled:]
            if step < len(thresholds):
                m = passes.take_part(codes, m, number_bits, begin, thresholds[step], work.taking)
                passes.pick(codes, work.taking, m, work.taken)
                codes = work.taken
            passes.draw(layout, codes, m, begin, 0, work.couplers, work.drawn)
            passes.count(work.couplers, m, 0, first)
            if waits is not None:
                alone += deferred.mask(layout, first, block * layout.rows, turn, work.waiting)
            survivors = passes.select(work.couplers, m, 0, first, work.drawn, work.flags, entries)
            collided += passes.clear(work.first)
            passes.count(entries, survivors, bits, second)
            if step < len(thresholds):
                passes.rename(entries, survivors, bits, work.taking, 0)
            sent += m
            filled += survivors
            work.ends[block] = filled
            begin += stride
        if waits is not None:
            alone += deferred.mask(layout, second, 0, turn, work.waiting)
        start, pending, heard = 0, 0, 0
        for block in range(blocks):
            low, m, entries = block * size, work.ends[block] - start, work.entries[start:]
            codes, names = work.codes[low:], work.delivered
            if waits is None:
                arrived = passes.select(entries, m, bits, second, entries, work.flags, names)
            else:
                arrived = passes.select(entries, m, bits, second, entries, work.flags, work.drawn)
                deferred.wait(layout, work, arrived, codes, work.targets[low:], turn)
            left = passes.remove(names, arrived, bits, codes, work.sizes[block])
            work.sizes[block] = left
            heard += arrived
            pending += left
            start += m
        collided += passes.clear(work.second)
        row = log[step]
        row.sent, row.survivors, row.collisions = sent, filled, collided
        row.undelivered = pending
        if waits is not None:
            undelivered -= deferred.deliver(work.waiting, turn)
            row.undelivered, row.alone, row.heard = undelivered, alone, heard
        step += 1
        row.slots = SLOTS_PER_STEP * step
        if waits is not None and pending == 0:
            deferred.deliver_rest(layout, work.waiting, undelivered, step, row)
    return step


@compiled
def summarize(
    waits: bool | None, layout: MeiRizziLayout, program: MeiRizziProgram, log: Records, steps: I64,
    table: Records, survivors: I64,
) -> None:  # fmt: skip
    """Sum up the log, as :attr:`CompiledRuns.summarize` says.

    If there are slots after the last step, the last of them delivers the last copy.
    """
    executed, n = program.executed, layout.d * layout.g
    start = 0
    for run in range(len(steps)):
        sent, heard, alone, arrived, collided, last, before = 0, 0, 0, 0, 0, 0, n
        for step in range(start, start + steps[run]):
            row = log[step]
            if row.undelivered < before:
                last = row.slots if executed else row.slots - SLOTS_PER_STEP + 2
            before = row.undelivered
            survivors[step] = before
            sent += row.sent
            heard += row.survivors
            collided += row.collisions
            if waits is not None:
                alone += row.alone
                arrived += row.heard
        start += steps[run]
        counts, delivered, slots = table[run], n - before, log[start - 1].slots
        if waits is None:
            alone, arrived = heard + delivered, delivered
        more = 2 * arrived + delivered if executed else 0  # acks and last hops
        counts.slots = slots
        counts.slots_delivered = slots if slots > SLOTS_PER_STEP * steps[run] else last
        counts.steps, counts.delivered, counts.lost = steps[run], delivered, 0
        counts.collisions, counts.destroyed = collided, sent + heard - alone
        counts.messages, counts.control_bits = sent + heard + more, int(more > 0)
        counts.capped = int(arrived < n)
