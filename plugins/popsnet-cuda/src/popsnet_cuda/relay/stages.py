"""One large run of relay for d = g: a launch or two per stage, and one read of counts.

In a stage all contention is on couplers from one source group, so a block executes the whole stage
for some groups, with their couplers in shared memory, and waits for no other block. There are two
bits per packet in device memory, and the destinations if they are not computed.
"""

from __future__ import annotations

import numpy as np
from numba import cuda, types
from popsnet.engines.fused.arrays import U32, U64
from popsnet.workloads.permutations.keyed import permute

from popsnet_cuda.arguments import Rounds, Shape
from popsnet_cuda.cells import clear, is_alone, lowest, put
from popsnet_cuda.jit import device, kernel
from popsnet_cuda.mei_rizzi.steps import first_packet
from popsnet_cuda.relay.many import ACKED, BITS, FACTS, LATEST, MOVING, is_new, tries_at
from popsnet_cuda.relay.places import RelaySteps, draw_bijection, place_of
from popsnet_cuda.tallying import COLLISIONS, DELIVERED, DESTROYED, MESSAGES

_0, _1, _2, _5, _31, _32 = (np.uint32(value) for value in (0, 1, 2, 5, 31, 32))
_NONE, _ONE = np.uint64(0), np.uint64(1)


@device
def destination(shape: Shape, rounds: Rounds, targets: U32, packet: np.uint64) -> np.uint32:
    """Return the destination of a packet."""
    if len(targets) > 0:
        return targets[packet]  # type: ignore[no-any-return]
    k0, k1, k2, k3 = rounds.keys
    place = np.uint64(permute(packet, rounds.half, k0, k1, k2, k3))
    while place >= shape.n:
        place = np.uint64(permute(place, rounds.half, k0, k1, k2, k3))
    return np.uint32(place)


@device
def empty(facts: U64) -> None:
    """Set the facts of a block to 0."""
    if cuda.threadIdx.x == 0:
        for c in range(FACTS):
            facts[c] = _NONE
    cuda.syncthreads()


@device
def publish(facts: U64, counters: U64) -> None:
    """Add the facts of a block to those of the stage: sums, and two maxima."""
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        for c in range(FACTS):
            if facts[c] == _NONE:
                continue
            if c in (LATEST, BITS):
                cuda.atomic.max(counters, c, facts[c])
            else:
                cuda.atomic.add(counters, c, facts[c])


@kernel
def begin(
    shape: Shape, rounds: Rounds, targets: U32, pending: U32, undelivered: U32, counters: U64
) -> None:
    """Mark the packets that are not at their destinations, and count them."""
    facts = cuda.shared.array(FACTS, types.uint64)
    empty(facts)
    w, stride, moving = np.uint64(cuda.grid(1)), np.uint64(cuda.gridsize(1)), _NONE
    while w < np.uint64(len(pending)):
        packet, bits, bit = first_packet(shape, w), _0, _0
        end = (packet // shape.d + _ONE) * shape.d
        while bit < _32 and packet + np.uint64(bit) < end:
            i = packet + np.uint64(bit)
            if np.uint64(destination(shape, rounds, targets, i)) != i:
                bits |= _1 << bit
            bit += _1
        pending[w], undelivered[w] = bits, bits
        moving += np.uint64(cuda.popc(bits))
        w += stride
    cuda.atomic.add(facts, MOVING, moving)
    publish(facts, counters)


@kernel
def draw(
    shape: Shape, program: RelaySteps, public: np.uint64, bijections: np.uint64,
    fresh: np.uint64, number: np.uint64, turn: U32, rows: U64,
) -> None:  # fmt: skip
    """Write the rows of a bijection."""
    thread, threads = np.uint32(cuda.grid(1)), np.uint32(cuda.gridsize(1))
    draw_bijection(
        program, public, bijections, fresh, np.uint32(shape.g), turn, rows, np.uint32(number),
        thread, threads,
    )  # fmt: skip


@device
def base_of(shape: Shape, w: np.uint64) -> np.uint32:
    """Return the first cell of the group of a word, both counted from the block's first."""
    return np.uint32(w) // np.uint32(shape.words) * np.uint32(shape.g)


@kernel
def attempt(
    shape: Shape, program: RelaySteps, rounds: Rounds, groups: np.uint64, is_fold: np.uint64,
    before: np.uint64, windows: U64, keys: U64, targets: U32, rows: U64, pending: U32,
    undelivered: U32, counters: U64,
) -> None:  # fmt: skip
    """Execute a stage of park, sweep or fold, each block for some groups at a time.

    A thread writes the words that it reads in every pass, and no others. Packets that are stored
    leave ``pending`` at once, because each tries once in a window.
    """
    t, threads, g = np.uint32(cuda.threadIdx.x), np.uint32(cuda.blockDim.x), np.uint32(shape.g)
    size = (int(groups) * int(g) + 15) // 16
    words = cuda.shared.array(0, types.uint32)
    cells, held = words[:size], words[size : size + (size + 1) // 2]
    facts = cuda.shared.array(FACTS, types.uint64)
    empty(facts)
    clear(cells, t, threads)
    all_words, span = np.uint64(len(pending)), groups * shape.words
    tried, alone, stored, delivered, collided = _NONE, _NONE, _NONE, _NONE, _NONE
    widest, unit = _NONE, np.uint64(cuda.blockIdx.x) * span
    while unit < all_words:
        end = min(unit + span, all_words)
        clear(held, t, threads)
        cuda.syncthreads()
        i = _NONE
        while i < np.uint64(len(windows)):
            turn = _NONE
            while turn < windows[i]:
                w = unit + np.uint64(t)
                while w < end:
                    rest, packet, base = (
                        pending[w],
                        first_packet(shape, w),
                        base_of(shape, w - unit),
                    )
                    while rest != _0:
                        source = packet + np.uint64(lowest(rest))
                        rest &= rest - _1
                        if tries_at(keys[i], source, windows[i]) == turn:
                            target = destination(shape, rounds, targets, source)
                            put(cells, base + place_of(program, rows, _0, g, target))
                            tried += _ONE
                    w += np.uint64(threads)
                cuda.syncthreads()
                w = unit + np.uint64(t)
                while w < end:
                    rest, packet, base = (
                        pending[w],
                        first_packet(shape, w),
                        base_of(shape, w - unit),
                    )
                    found = _0
                    while rest != _0:
                        bit = lowest(rest)
                        source = packet + np.uint64(bit)
                        rest &= rest - _1
                        if tries_at(keys[i], source, windows[i]) == turn:
                            target = destination(shape, rounds, targets, source)
                            at = base + place_of(program, rows, _0, g, target)
                            if is_alone(cells, at):
                                alone += _ONE
                                mark = _1 << (at & _31)
                                if cuda.atomic.or_(held, at >> _5, mark) & mark == _0:
                                    found |= _1 << bit
                    if found != _0:
                        newly = undelivered[w] & found
                        pending[w] ^= found
                        undelivered[w] ^= newly
                        stored += np.uint64(cuda.popc(found))
                        delivered += np.uint64(cuda.popc(newly))
                        widest = max(widest, windows[i])
                    w += np.uint64(threads)
                cuda.syncthreads()
                collided += np.uint64(clear(cells, t, threads))
                cuda.syncthreads()
                turn += _ONE
            i += _ONE
        unit += np.uint64(cuda.gridDim.x) * span
    cuda.atomic.add(facts, MESSAGES, tried + stored + stored + is_fold * stored)
    cuda.atomic.add(facts, DESTROYED, tried - alone)
    cuda.atomic.add(facts, COLLISIONS, collided)
    cuda.atomic.add(facts, DELIVERED, delivered)
    cuda.atomic.add(facts, ACKED, stored)
    cuda.atomic.max(facts, BITS, widest)
    if delivered > _NONE:
        cuda.atomic.max(facts, LATEST, before + _ONE)
    publish(facts, counters)


@kernel
def shower(
    shape: Shape, program: RelaySteps, rounds: Rounds, groups: np.uint64, copies: np.uint64,
    targets: U32, rows: U64, pending: U32, undelivered: U32, waiting: U32, counters: U64,
) -> None:  # fmt: skip
    """Execute a shower, and count by group the destinations that still wait.

    ``waiting`` has a number per group, and then one that is 1 if its first member waits.
    """
    t, threads, g = np.uint32(cuda.threadIdx.x), np.uint32(cuda.blockDim.x), np.uint32(shape.g)
    words = cuda.shared.array(0, types.uint32)
    cells = words[: (int(groups) * int(g) + 15) // 16]
    facts = cuda.shared.array(FACTS, types.uint64)
    empty(facts)
    clear(cells, t, threads)
    cuda.syncthreads()
    all_words, span, most = np.uint64(len(pending)), groups * shape.words, np.uint32(copies)
    messages, arrivals, heard, delivered, collided = _NONE, _NONE, _NONE, _NONE, _NONE
    latest, unit = _0, np.uint64(cuda.blockIdx.x) * span
    while unit < all_words:
        end = min(unit + span, all_words)
        w = unit + np.uint64(t)
        while w < end:
            rest, packet, base = pending[w], first_packet(shape, w), base_of(shape, w - unit)
            while rest != _0:
                target = destination(shape, rounds, targets, packet + np.uint64(lowest(rest)))
                rest &= rest - _1
                messages += _ONE
                u = _0
                while u < most:
                    relay = place_of(program, rows, u, g, target)
                    if is_new(program, rows, u, g, target, relay):
                        put(cells, base + relay)
                        arrivals += _ONE
                    u += _1
            w += np.uint64(threads)
        cuda.syncthreads()
        w = unit + np.uint64(t)
        while w < end:
            rest, packet, base = pending[w], first_packet(shape, w), base_of(shape, w - unit)
            wait = undelivered[w]
            while rest != _0:
                bit = lowest(rest)
                rest &= rest - _1
                target, u = destination(shape, rounds, targets, packet + np.uint64(bit)), _0
                while u < most:
                    relay = place_of(program, rows, u, g, target)
                    if is_alone(cells, base + relay):
                        messages += _ONE
                        if is_new(program, rows, u, g, target, relay):
                            heard += _ONE
                        if (wait >> bit) & _1 != _0:
                            wait ^= _1 << bit
                            delivered += _ONE
                            latest = max(latest, u + _2)
                    u += _1
                if (wait >> bit) & _1 != _0:
                    group = target // g
                    cuda.atomic.add(waiting, group, _1)
                    if target == group * g:
                        waiting[g + group] = _1
            undelivered[w] = wait
            w += np.uint64(threads)
        cuda.syncthreads()
        collided += np.uint64(clear(cells, t, threads))
        cuda.syncthreads()
        unit += np.uint64(cuda.gridDim.x) * span
    cuda.atomic.add(facts, MESSAGES, messages)
    cuda.atomic.add(facts, DESTROYED, arrivals - heard)
    cuda.atomic.add(facts, COLLISIONS, collided)
    cuda.atomic.add(facts, DELIVERED, delivered)
    cuda.atomic.max(facts, LATEST, np.uint64(latest))
    publish(facts, counters)
