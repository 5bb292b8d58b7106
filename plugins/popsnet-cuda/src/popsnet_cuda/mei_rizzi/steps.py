"""One large run of the paper's router: all blocks of the device loop over steps together.

There is a bit per packet for "pending" and for "survived slot 1", and two bits per coupler of slot
2. Nothing else is stored if the permutation is computed. A thread has a word of bits at a time.

1. Each block takes some source groups. Couplers of slot 1 are in its shared memory: packets are put
   on them, and those that are alone are put on their couplers of slot 2, in device memory.
2. Survivors that are alone there are delivered.
3. The couplers of slot 2 are cleared, and collisions counted.

After each of these all blocks wait for each other. If the couplers of a group do not fit in shared
memory, its intermediate groups are taken in parts.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import cuda, types
from popsnet.base.splitmix import scaled, step_key, word
from popsnet.engines.fused.arrays import U32, U64
from popsnet.engines.fused.bits import remainder
from popsnet.workloads.permutations.keyed import permute

from popsnet_cuda.arguments import Rounds, Shape
from popsnet_cuda.cells import clear, is_alone, is_alone_far, lowest, put, put_far
from popsnet_cuda.jit import device, kernel

SENT, HEARD, COLLIDED, TAKEN = range(4)
COUNTS = 4
"""The numbers of a step, in this order."""

_0, _1, _32 = np.uint32(0), np.uint32(1), np.uint32(32)
_NONE, _ONE, _FIVE, _LOWER = np.uint64(0), np.uint64(1), np.uint64(5), np.uint64(0xFFFFFFFF)
_COLLIDED = np.uint32(0xAAAAAAAA)
_ALL = np.uint32(0xFFFFFFFF)


class LargeRunSteps(NamedTuple):
    """The steps of a launch."""

    seed: np.uint64
    purpose: np.uint64
    """Of the draws of intermediate groups."""
    first: np.uint64
    last: np.uint64
    """The step to stop before."""
    pending: np.uint64
    """The packets that are pending at the start."""
    rows: np.uint64
    """Groups that a block takes at a time."""
    span: np.uint64
    """Intermediate groups of a part."""


@device
def first_packet(shape: Shape, w: np.uint64) -> np.uint64:
    """Return the packet of the lowest bit of a word."""
    if shape.is_padded == _NONE:
        return w << _FIVE
    group = w // shape.words
    return group * shape.d + ((w - group * shape.words) << _FIVE)


@device
def temporary_group(shape: Shape, rounds: Rounds, residues: Any, packet: np.uint64) -> np.uint64:
    """Return the destination of a packet, mod g."""
    if len(residues) > 0:
        return np.uint64(residues[packet])
    k0, k1, k2, k3 = rounds.keys
    place = np.uint64(permute(packet, rounds.half, k0, k1, k2, k3))
    while place >= shape.n:
        place = np.uint64(permute(place, rounds.half, k0, k1, k2, k3))
    if shape.g & (shape.g - _ONE) == _NONE:
        return place & (shape.g - _ONE)
    return np.uint64(remainder(place, shape.g, shape.per_g))


@device
def chance(thresholds: U64, step: np.uint64) -> np.uint64:
    """Return the coins below which packets take part in a step."""
    return thresholds[step] if step < np.uint64(len(thresholds)) else _LOWER + _ONE


@kernel
def fill_pending(shape: Shape, pending: U32) -> None:
    """Set the bits of all packets."""
    w, stride = np.uint64(cuda.grid(1)), np.uint64(cuda.gridsize(1))
    while w < np.uint64(len(pending)):
        bits = _ALL
        if shape.is_padded != _NONE:
            left = shape.d - ((w % shape.words) << _FIVE)
            bits = _ALL if left >= np.uint64(_32) else (_1 << np.uint32(left)) - _1
        pending[w] = bits
        w += stride


@device
def first_cell(shape: Shape, plan: LargeRunSteps, w: np.uint64) -> np.uint32:
    """Return the first cell of the group of a word, both counted from the block's first."""
    if plan.rows == _ONE:
        return _0
    return np.uint32(w) // np.uint32(shape.words) * np.uint32(plan.span)


@device
def scatter(
    shape: Shape, plan: LargeRunSteps, rounds: Rounds, residues: Any, key: np.uint64,
    coin: np.uint64, pending: U32, survived: U32, near: U32, far: U32, counts: U64,
) -> None:  # fmt: skip
    """Execute slot 1 of all groups, and put survivors on their couplers of slot 2."""
    t, threads = np.uint32(cuda.threadIdx.x), np.uint32(cuda.blockDim.x)
    all_words = np.uint64(len(pending))
    sent, heard, collided = _NONE, _NONE, _NONE
    clear(near, t, threads)
    cuda.syncthreads()
    begin, stride = np.uint64(cuda.blockIdx.x), np.uint64(cuda.gridDim.x)
    unit = begin * plan.rows * shape.words
    while unit < all_words:
        end = min(unit + plan.rows * shape.words, all_words)
        low = _NONE
        while low < shape.g:
            high = low + plan.span
            w = unit + np.uint64(t)
            while w < end:
                rest, packet = pending[w], first_packet(shape, w)
                base = first_cell(shape, plan, w - unit)
                while rest != _0:
                    bit = lowest(rest)
                    rest &= rest - _1
                    drawn = np.uint64(word(key, packet + np.uint64(bit)))
                    group = np.uint64(scaled(drawn, shape.g))
                    if low <= group < high and drawn & _LOWER < coin:
                        put(near, base + np.uint32(group - low))
                        sent += _ONE
                w += np.uint64(threads)
            cuda.syncthreads()
            w = unit + np.uint64(t)
            while w < end:
                rest, packet = pending[w], first_packet(shape, w)
                base = first_cell(shape, plan, w - unit)
                found = _0
                while rest != _0:
                    bit = lowest(rest)
                    rest &= rest - _1
                    drawn = np.uint64(word(key, packet + np.uint64(bit)))
                    group = np.uint64(scaled(drawn, shape.g))
                    if (
                        low <= group < high
                        and drawn & _LOWER < coin
                        and is_alone(near, base + np.uint32(group - low))
                    ):
                        found |= _1 << bit
                        to = temporary_group(shape, rounds, residues, packet + np.uint64(bit))
                        put_far(far, group * shape.g + to)
                survived[w] = found if low == _NONE else survived[w] | found
                heard += np.uint64(cuda.popc(found))
                w += np.uint64(threads)
            cuda.syncthreads()
            collided += np.uint64(clear(near, t, threads))
            cuda.syncthreads()
            low = high
        unit += stride * plan.rows * shape.words
    cuda.atomic.add(counts, SENT, sent)
    cuda.atomic.add(counts, HEARD, heard)
    cuda.atomic.add(counts, COLLIDED, collided)


@device
def settle(
    shape: Shape, rounds: Rounds, residues: Any, key: np.uint64, pending: U32, survived: U32,
    far: U32, counts: U64,
) -> None:  # fmt: skip
    """Deliver survivors that are alone on their couplers of slot 2."""
    w, stride = np.uint64(cuda.grid(1)), np.uint64(cuda.gridsize(1))
    all_words, taken = np.uint64(len(pending)), _NONE
    while w < all_words:
        rest, packet, found = survived[w], first_packet(shape, w), _0
        while rest != _0:
            bit = lowest(rest)
            rest &= rest - _1
            i = packet + np.uint64(bit)
            group = np.uint64(scaled(np.uint64(word(key, i)), shape.g))
            to = temporary_group(shape, rounds, residues, i)
            if is_alone_far(far, group * shape.g + to):
                found |= _1 << bit
        if found != _0:
            pending[w] ^= found
            taken += np.uint64(cuda.popc(found))
        w += stride
    cuda.atomic.add(counts, TAKEN, taken)


@device
def clear_far(far: U32, counts: U64) -> None:
    """Clear the couplers of slot 2, and count those that had collided."""
    at, stride = np.uint64(cuda.grid(1)), np.uint64(cuda.gridsize(1))
    size, collided = np.uint64(len(far)), _NONE
    while at < size:
        collided += np.uint64(cuda.popc(far[at] & _COLLIDED))
        far[at] = _0
        at += stride
    cuda.atomic.add(counts, COLLIDED, collided)


@device
def publish(counts: U64, counters: U64, row: np.uint64) -> None:
    """Add the counts of a block to those of the step, and set them to 0."""
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        for c in range(COUNTS):
            if counts[c] != _NONE:
                cuda.atomic.add(counters, row * np.uint64(COUNTS) + np.uint64(c), counts[c])
            counts[c] = _NONE


@device
def wait(grid: Any) -> None:
    """Wait until all threads of all blocks are here, which tools that look for races see, too."""
    grid.sync()
    cuda.syncthreads()


@kernel
def route_large(
    shape: Shape, plan: LargeRunSteps, rounds: Rounds, residues: Any, thresholds: U64,
    pending: U32, survived: U32, far: U32, counters: U64,
) -> None:  # fmt: skip
    """Execute steps until no packet is pending. ``counters`` has zeros for each of them."""
    near = cuda.shared.array(0, types.uint32)
    span_cells = int(plan.rows * plan.span)
    near = near[: (span_cells + 15) // 16]
    counts = cuda.shared.array(COUNTS, types.uint64)
    left = cuda.shared.array(1, types.uint64)
    if cuda.threadIdx.x == 0:
        for c in range(COUNTS):
            counts[c] = _NONE
        left[0] = plan.pending
    cuda.syncthreads()
    grid = cuda.cg.this_grid()
    step = plan.first
    while step < plan.last and left[0] > _NONE:
        row = step - plan.first
        key = np.uint64(step_key(plan.seed, plan.purpose, step))
        coin = chance(thresholds, step)
        scatter(shape, plan, rounds, residues, key, coin, pending, survived, near, far, counts)
        wait(grid)
        settle(shape, rounds, residues, key, pending, survived, far, counts)
        publish(counts, counters, row)
        wait(grid)
        clear_far(far, counts)
        publish(counts, counters, row)
        if cuda.threadIdx.x == 0:  # nothing is added: this reads what all blocks have added
            at = row * np.uint64(COUNTS) + np.uint64(TAKEN)
            left[0] -= cuda.atomic.add(counters, at, _NONE)
        wait(grid)
        step += _ONE
