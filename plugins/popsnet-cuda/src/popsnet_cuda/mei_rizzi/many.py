"""Many runs of the paper's router, a block of threads for each, all of it in shared memory.

Thread t has the packets t, t + T, t + 2T, …, at most 32 of them, and a bit for each in a register.
A step has three passes with a barrier after each: all packets draw intermediate groups and go to
their couplers of slot 1; those that are alone go to their couplers of slot 2; those that are alone
again are delivered. Draws are made again in each pass, since that is faster than to store them.

The permutation is that of ``shuffle``, mod g.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import cuda, types
from popsnet.base.splitmix import run_key, scaled, step_key, word
from popsnet.engines.fused.arrays import I64, U64
from popsnet.engines.fused.bits import divide
from popsnet.engines.fused.mei_rizzi import MeiRizziKernel
from popsnet.engines.fused.mei_rizzi.layout import MeiRizziPurposes
from popsnet.model.network import Network

from popsnet_cuda.arguments import ManyRuns, Shape
from popsnet_cuda.cells import clear, is_alone, lowest, put
from popsnet_cuda.jit import device, kernel
from popsnet_cuda.launching import Launch
from popsnet_cuda.many import threads_for
from popsnet_cuda.shuffling import SCRATCH, fill, shuffle
from popsnet_cuda.tallying import COLLISIONS, DELIVERED, DESTROYED, MESSAGES, TOTALS, add_run

COUNTERS = 8
"""Words at the start of shared memory: counts of a step, the last step with a delivery, packets
that are left, and room for more."""

FIELDS = 5
"""Of a row of the log: those of ``MeiRizziLogRow``."""

SLOTS_PER_STEP = 5

_0, _1, _3 = np.uint32(0), np.uint32(1), np.uint32(3)
_NONE, _ONE, _LOWER = np.uint64(0), np.uint64(1), np.uint64(0xFFFFFFFF)
_SENT, _HEARD, _COLLIDED, _TAKEN, _LAST, _LEFT = range(6)


class MeiRizziSteps(NamedTuple):
    """The steps of a run."""

    purposes: MeiRizziPurposes
    is_executed: np.uint64
    """1 if packets are delivered in slot 5 and acknowledged, 0 if they count as delivered."""


class ManyMeiRizzi:
    """Many runs of a variant on one network."""

    def __init__(self, kernel: MeiRizziKernel) -> None:
        network, program, threads = kernel.network, kernel.program, threads_for(kernel.network.n)
        assert threads is not None
        self.most_slots = SLOTS_PER_STEP * kernel.max_steps
        self.launch = Launch(make_kernel(kind_of(network.g)), threads, shared_bytes(network))
        self.fixed = (
            Shape.of(network),
            MeiRizziSteps(program.purposes, np.uint64(program.executed)),
            cuda.to_device(program.thresholds),
        )


def kind_of(g: int) -> Any:
    """Return the type of temporary groups."""
    return types.uint8 if g <= 2**8 else types.uint16


def shared_bytes(network: Network) -> int:
    """Return the shared memory of a block."""
    threads, cells = threads_for(network.n) or 0, -(-network.couplers // 16)
    words = COUNTERS + SCRATCH + threads + 2 * cells
    return 4 * words + network.n * int(kind_of(network.g).bitwidth) // 8


@device
def draw_group(shape: Shape, key: np.uint64, packet: np.uint32) -> np.uint32:
    """Return the intermediate group of a packet."""
    return np.uint32(scaled(np.uint64(word(key, np.uint64(packet))), shape.g))


@device
def takes_part(key: np.uint64, packet: np.uint64, thresholds: U64, step: np.uint64) -> bool:
    """Return whether a packet takes part in a step."""
    if step >= np.uint64(len(thresholds)):
        return True
    return bool(np.uint64(word(key, packet)) & _LOWER < thresholds[step])


@cache
def make_kernel(kind: types.Type) -> Any:
    """Return the kernel for temporary groups of a type."""

    @kernel
    def route_many(
        shape: Shape, program: MeiRizziSteps, many: ManyRuns, thresholds: U64, log: I64,
        steps: I64, histograms: U64, totals: U64,
    ) -> None:  # fmt: skip
        """Execute runs, each block one after another."""
        t, threads = np.uint32(cuda.threadIdx.x), np.uint32(cuda.blockDim.x)
        n, g = np.uint32(shape.n), np.uint32(shape.g)
        size, start = (int(g) * int(g) + 15) // 16, COUNTERS + SCRATCH
        words, places = cuda.shared.array(0, types.uint32), cuda.shared.array(0, kind)
        counters, flags = words[:COUNTERS], words[COUNTERS:start]
        drawn = words[start : start + int(threads)]
        start += int(threads)
        first, second = words[start : start + size], words[start + size : start + 2 * size]
        places = places[(start + 2 * size) * 4 // places.itemsize :]
        sums = cuda.shared.array(TOTALS, types.uint64)
        if t == _0:
            for c in range(COUNTERS + SCRATCH):
                words[c] = _0
            for c in range(TOTALS):
                sums[c] = _NONE
        clear(first, t, threads)
        clear(second, t, threads)
        cuda.syncthreads()
        sent, heard, taken = _NONE, _NONE, _NONE
        collided = _NONE
        at = np.uint64(cuda.blockIdx.x)
        while at < many.runs:
            run, row = many.first + at, at * many.room
            seed = np.uint64(run_key(many.permutations, program.purposes.run, run))
            key = np.uint64(step_key(seed, program.purposes.permutation, _ONE))
            fill(places, n, g)
            shuffle(places, n, g * g, key, first, drawn, flags)
            coins = np.uint64(run_key(many.coins, program.purposes.run, run))
            own = (n - t + threads - _1) // threads if t < n else _0
            pending = np.uint32((_ONE << np.uint64(own)) - _ONE)
            step, left, last = _NONE, 1, _0
            while left != 0 and step < many.max_steps:
                key = np.uint64(step_key(coins, program.purposes.intermediate, step))
                rest, taking, survivors = pending, _0, _0
                while rest != _0:
                    s = lowest(rest)
                    rest &= rest - _1
                    i = t + s * threads
                    if takes_part(key, np.uint64(i), thresholds, step):
                        taking |= _1 << s
                        row_of = np.uint32(divide(np.uint64(i), shape.by_d))
                        put(first, row_of * g + draw_group(shape, key, i))
                cuda.syncthreads()
                rest = taking
                while rest != _0:
                    s = lowest(rest)
                    rest &= rest - _1
                    i = t + s * threads
                    group = draw_group(shape, key, i)
                    if is_alone(first, np.uint32(divide(np.uint64(i), shape.by_d)) * g + group):
                        survivors |= _1 << s
                        put(second, group * g + np.uint32(places[i]))
                cuda.syncthreads()
                rest, before = survivors, pending
                while rest != _0:
                    s = lowest(rest)
                    rest &= rest - _1
                    i = t + s * threads
                    if is_alone(second, draw_group(shape, key, i) * g + np.uint32(places[i])):
                        pending ^= _1 << s
                step += _ONE
                if pending != before:
                    last = np.uint32(step)
                left = cuda.syncthreads_or(np.int32(pending != _0))
                found = clear(first, t, threads) + clear(second, t, threads)
                now_sent, now_heard = np.uint32(cuda.popc(taking)), np.uint32(cuda.popc(survivors))
                now_taken = np.uint32(cuda.popc(before ^ pending))
                sent += np.uint64(now_sent)
                heard += np.uint64(now_heard)
                taken += np.uint64(now_taken)
                collided += np.uint64(found)
                if many.room > _NONE:
                    cuda.atomic.add(counters, _SENT, now_sent)
                    cuda.atomic.add(counters, _HEARD, now_heard)
                    cuda.atomic.add(counters, _COLLIDED, found)
                    cuda.atomic.add(counters, _LEFT, np.uint32(cuda.popc(pending)))
                cuda.syncthreads()
                if t == _0 and many.room > _NONE:
                    if step <= many.room:
                        at_row = row + step - _ONE
                        log[at_row, 0] = counters[_LEFT]
                        log[at_row, 1] = counters[_SENT]
                        log[at_row, 2] = counters[_HEARD]
                        log[at_row, 3] = counters[_COLLIDED]
                        log[at_row, 4] = np.uint64(SLOTS_PER_STEP) * step
                    for c in range(COUNTERS):
                        counters[c] = _0
            if many.room > _NONE:
                if t == _0:
                    steps[at] = step
            elif left == 0:
                if t == _0:
                    slots = np.uint64(SLOTS_PER_STEP) * step
                    delivered = slots - np.uint64(_3) * (_ONE - program.is_executed)
                    add_run(many, histograms, step, slots, delivered, False)
            else:
                cuda.atomic.max(counters, _LAST, last)
                cuda.syncthreads()
                if t == _0:
                    slots = np.uint64(SLOTS_PER_STEP) * step
                    delivered = np.uint64(SLOTS_PER_STEP) * np.uint64(counters[_LAST])
                    if delivered > _NONE:
                        delivered -= np.uint64(_3) * (_ONE - program.is_executed)
                    add_run(many, histograms, step, slots, delivered, True)
                    counters[_LAST] = _0
            cuda.syncthreads()
            at += np.uint64(cuda.gridDim.x)
        cuda.atomic.add(sums, COLLISIONS, collided)
        cuda.atomic.add(sums, DESTROYED, sent - taken)
        more = np.uint64(_3) * program.is_executed
        cuda.atomic.add(sums, MESSAGES, sent + heard + more * taken)
        cuda.atomic.add(sums, DELIVERED, taken)
        cuda.syncthreads()
        if t == _0:
            for c in range(TOTALS):
                cuda.atomic.add(totals, c, sums[c])

    return route_many
