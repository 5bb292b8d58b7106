"""Many runs of relay for d = g, a block of threads for each, all of it in shared memory.

Thread t has the packets t, t + T, t + 2T, …, and two bits for each in registers: whether its source
waits for an ack, and whether it is undelivered. In a stage all contention is on couplers from a
source group to a relay group. Slots of a window are executed one after another with the same
cells.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import cuda, types
from popsnet.base.splitmix import run_key, scaled, step_key, word
from popsnet.engines.fused.arrays import I64, U32, U64
from popsnet.engines.fused.relay.bijections import WORDS
from popsnet.engines.fused.relay.kernel import RelayKernel
from popsnet.engines.fused.relay.program import FOLD, PARK, SHOWER
from popsnet.model.network import Network

from popsnet_cuda.arguments import ManyRuns, Shape
from popsnet_cuda.cells import clear, is_alone, lowest, put
from popsnet_cuda.jit import device, kernel
from popsnet_cuda.launching import Launch
from popsnet_cuda.many import threads_for
from popsnet_cuda.relay.places import (
    FIRST,
    KIND,
    SECOND,
    SLOTS,
    STAGE,
    RelaySteps,
    draw_bijection,
    most_slots,
    place_of,
    row_of,
    stage_numbers,
)
from popsnet_cuda.shuffling import SCRATCH, fill, shuffle
from popsnet_cuda.tallying import COLLISIONS, DELIVERED, DESTROYED, MESSAGES, add_run

ACKED, MOVING, LATEST, BITS, MISSED = range(4, 9)
FACTS = 9
"""Numbers of a run that all threads share: the totals of ``tallying``, then these."""

SEED_BITS = 64
"""Of the broadcast that a run begins with."""

_0, _1, _5, _31 = np.uint32(0), np.uint32(1), np.uint32(5), np.uint32(31)
_NONE, _ONE = np.uint64(0), np.uint64(1)
_FIRST_WAITS = np.uint32(2**16)
"""What a group counts for its first member, besides 1."""


class ManyRelay:
    """Many runs of a schedule on one network."""

    def __init__(self, kernel: RelayKernel) -> None:
        network, program, threads = kernel.network, kernel.program, threads_for(kernel.network.n)
        assert threads is not None
        self.most_slots = most_slots(program, kernel.max_steps)
        self.launch = Launch(route_many, threads, shared_bytes(network, program.copies))
        self.fixed = (
            Shape.of(network),
            RelaySteps.of(network, program),
            *map(cuda.to_device, stage_numbers(program)),
        )


def shared_bytes(network: Network, copies: int) -> int:
    """Return the shared memory of a block."""
    g, threads = network.g, threads_for(network.n) or 0
    words = 2 * copies * WORDS * g + SCRATCH + threads + 2 * g
    words += -(-network.couplers // 16) + -(-network.couplers // 32)
    return 4 * words + 2 * network.n


@device
def tries_at(key: np.uint64, packet: np.uint64, window: np.uint64) -> np.uint64:
    """Return the slot of a window in which a source tries."""
    if window == _ONE:
        return _NONE
    return np.uint64(scaled(np.uint64(word(key, packet)), window))


@device
def attempt(
    shape: Shape, program: RelaySteps, key: np.uint64, window: np.uint64, places: Any, rows: U64,
    cells: U32, held: U32, pending: np.uint32, facts: U64, is_fold: bool,
) -> np.uint32:  # fmt: skip
    """Execute a window, and return the packets of this thread that are stored."""
    t, threads, g = np.uint32(cuda.threadIdx.x), np.uint32(cuda.blockDim.x), np.uint32(shape.g)
    tried, alone, stored, collided, turn = _0, _0, _0, _0, _NONE
    while turn < window:
        rest = pending
        while rest != _0:
            s = lowest(rest)
            rest &= rest - _1
            i = t + s * threads
            if tries_at(key, np.uint64(i), window) == turn:
                tried += _1
                put(cells, i // g * g + place_of(program, rows, _0, g, np.uint32(places[i])))
        cuda.syncthreads()
        rest = pending
        while rest != _0:
            s = lowest(rest)
            rest &= rest - _1
            i = t + s * threads
            if tries_at(key, np.uint64(i), window) == turn:
                at = i // g * g + place_of(program, rows, _0, g, np.uint32(places[i]))
                if is_alone(cells, at):
                    alone += _1
                    bit = _1 << (at & _31)
                    if cuda.atomic.or_(held, at >> _5, bit) & bit == _0:
                        stored |= _1 << s
        cuda.syncthreads()
        collided += clear(cells, t, threads)
        cuda.syncthreads()
        turn += _ONE
    count = np.uint64(cuda.popc(stored))
    # a packet that is stored, its ack, and in a fold also the ack of the destination
    more = count + count + (count if is_fold else _NONE)
    cuda.atomic.add(facts, MESSAGES, np.uint64(tried) + more)
    cuda.atomic.add(facts, DESTROYED, np.uint64(tried - alone))
    cuda.atomic.add(facts, COLLISIONS, np.uint64(collided))
    if stored != _0:
        cuda.atomic.max(facts, BITS, window)
    return stored


@device
def is_new(
    program: RelaySteps, rows: U64, copy: np.uint32, g: np.uint32, target: np.uint32,
    relay: np.uint32,
) -> bool:  # fmt: skip
    """Return whether no earlier copy of a packet goes to the same relay group."""
    u = _0
    while u < copy:
        if place_of(program, rows, u, g, target) == relay:
            return False
        u += _1
    return True


@device
def shower(
    shape: Shape, program: RelaySteps, copies: np.uint32, places: Any, rows: U64, cells: U32,
    pending: np.uint32, undelivered: np.uint32, facts: U64,
) -> np.uint32:  # fmt: skip
    """Execute a shower, and return the packets of this thread that it delivers."""
    t, threads, g = np.uint32(cuda.threadIdx.x), np.uint32(cuda.blockDim.x), np.uint32(shape.g)
    messages, arrivals, heard, delivered, latest = _0, _0, _0, _0, _0
    rest = pending
    while rest != _0:
        s = lowest(rest)
        rest &= rest - _1
        i = t + s * threads
        target, u = np.uint32(places[i]), _0
        messages += _1
        while u < copies:
            relay = place_of(program, rows, u, g, target)
            if is_new(program, rows, u, g, target, relay):
                put(cells, i // g * g + relay)
                arrivals += _1
            u += _1
    cuda.syncthreads()
    rest = pending
    while rest != _0:
        s = lowest(rest)
        rest &= rest - _1
        i = t + s * threads
        target, u = np.uint32(places[i]), _0
        while u < copies:
            relay = place_of(program, rows, u, g, target)
            if is_alone(cells, i // g * g + relay):
                messages += _1
                if is_new(program, rows, u, g, target, relay):
                    heard += _1
                if (undelivered >> s) & _1 != _0 and (delivered >> s) & _1 == _0:
                    delivered |= _1 << s
                    latest = max(latest, u + np.uint32(2))
            u += _1
    cuda.syncthreads()
    collided = clear(cells, t, threads)
    cuda.atomic.add(facts, MESSAGES, np.uint64(messages))
    cuda.atomic.add(facts, DESTROYED, np.uint64(arrivals - heard))
    cuda.atomic.add(facts, COLLISIONS, np.uint64(collided))
    cuda.atomic.max(facts, LATEST, np.uint64(latest))
    return delivered


@device
def global_or(shape: Shape, places: Any, undelivered: np.uint32, waiting: U32, facts: U64) -> None:
    """Count the two slots of the global OR, as ``global_or`` of ``fused`` does."""
    t, threads, g = np.uint32(cuda.threadIdx.x), np.uint32(cuda.blockDim.x), np.uint32(shape.g)
    a = t
    while a < g:
        waiting[a] = _0
        a += threads
    cuda.syncthreads()
    rest = undelivered
    while rest != _0:
        s = lowest(rest)
        rest &= rest - _1
        target = np.uint32(places[t + s * threads])
        group = target // g
        cuda.atomic.add(waiting, group, _1 + (_FIRST_WAITS if target == group * g else _0))
    cuda.syncthreads()
    messages, collided, destroyed, missed, a = _NONE, _NONE, _NONE, _NONE, t
    while a < g:
        count = waiting[a] & (_FIRST_WAITS - _1)
        senders = np.uint64(count + _1 - (waiting[a] // _FIRST_WAITS))
        messages += senders
        if senders > _ONE:
            collided += shape.g
            destroyed += shape.g * senders
        if count > _0:
            missed += _ONE
        a += threads
    cuda.atomic.add(facts, MISSED, missed)
    cuda.syncthreads()
    if t == _0:
        senders = facts[MISSED] + (_ONE if waiting[_0] == _0 else _NONE)
        facts[MISSED] = _NONE
        messages += shape.g * senders
        if senders > _ONE:
            collided += shape.g
            destroyed += shape.g * senders
    cuda.atomic.add(facts, MESSAGES, messages)
    cuda.atomic.add(facts, DESTROYED, destroyed)
    cuda.atomic.add(facts, COLLISIONS, collided)


@kernel
def route_many(
    shape: Shape, program: RelaySteps, many: ManyRuns, stages: U64, windows: U64, log: I64,
    steps: I64, histograms: U64, totals: U64,
) -> None:  # fmt: skip
    """Execute runs, each block one after another."""
    t, threads = np.uint32(cuda.threadIdx.x), np.uint32(cuda.blockDim.x)
    n, g = np.uint32(shape.n), np.uint32(shape.g)
    count = np.uint64(len(stages) // STAGE)
    couplers = int(g) * int(g)
    rows, words = cuda.shared.array(0, types.uint64), cuda.shared.array(0, types.uint32)
    places, facts = cuda.shared.array(0, types.uint16), cuda.shared.array(FACTS, types.uint64)
    copies = _ONE
    for number in range(count):
        stage = np.uint64(number) * np.uint64(STAGE)
        if stages[stage + np.uint64(KIND)] == np.uint64(SHOWER):
            copies = max(copies, stages[stage + np.uint64(FIRST)])
    start = 2 * WORDS * int(g) * int(copies)
    flags, start = words[start : start + SCRATCH], start + SCRATCH
    drawn, start = words[start : start + int(threads)], start + int(threads)
    turn, start = words[start : start + int(g)], start + int(g)
    waiting, start = words[start : start + int(g)], start + int(g)
    cells, start = words[start : start + (couplers + 15) // 16], start + (couplers + 15) // 16
    held, start = words[start : start + (couplers + 31) // 32], start + (couplers + 31) // 32
    places = places[2 * start :]
    if t == _0:
        for c in range(SCRATCH):
            flags[c] = _0
    clear(cells, t, threads)
    clear(held, t, threads)
    cuda.syncthreads()
    at = np.uint64(cuda.blockIdx.x)
    while at < many.runs:
        run = many.first + at
        seed = np.uint64(run_key(many.permutations, program.purposes.run, run))
        key = np.uint64(step_key(seed, program.purposes.permutation, _ONE))
        fill(places, n, n)
        shuffle(places, n, g * g, key, cells, drawn, flags)
        private = np.uint64(run_key(many.coins, program.purposes.run, run))
        key = np.uint64(step_key(private, program.purposes.seed, _NONE))
        public = np.uint64(word(key, _NONE))
        if t == _0:
            for c in range(FACTS):
                facts[c] = _NONE
            facts[MESSAGES], facts[BITS] = _ONE, np.uint64(SEED_BITS)
        b = t
        while b < g:
            turn[b] = _0
            b += threads
        pending, i, s = _0, t, _0
        while i < n:
            if np.uint32(places[i]) != i:
                pending |= _1 << s
            i += threads
            s += _1
        cuda.syncthreads()
        cuda.atomic.add(facts, MOVING, np.uint64(cuda.popc(pending)))
        cuda.syncthreads()
        undelivered, moving = pending, facts[MOVING]
        step, left, slots, last = _NONE, moving, _ONE, _ONE if moving < shape.n else _NONE
        bijections, drawn_windows, fresh = _NONE, _NONE, _NONE
        while True:
            if left > _NONE:
                stage = row_of(step, count, program.repeated) * np.uint64(STAGE)
                kind, first = stages[stage + np.uint64(KIND)], stages[stage + np.uint64(FIRST)]
                is_shower, is_fold = kind == np.uint64(SHOWER), kind == np.uint64(FOLD)
                u = _0
                while np.uint64(u) < (first if is_shower else _ONE):
                    fresh = draw_bijection(
                        program, public, bijections, fresh, g, turn, rows, u, t, threads
                    )
                    bijections += _ONE
                    u += _1
                cuda.syncthreads()
                if is_shower:
                    found = shower(
                        shape, program, np.uint32(first), places, rows, cells, pending,
                        undelivered, facts,
                    )  # fmt: skip
                    undelivered ^= found
                    cuda.atomic.add(facts, DELIVERED, np.uint64(cuda.popc(found)))
                    global_or(shape, places, undelivered, waiting, facts)
                else:
                    second = stages[stage + np.uint64(SECOND)]
                    if is_fold:
                        first, second = _NONE, _ONE
                    before, stored, w = _NONE, _0, first
                    while w < second:
                        window = _ONE
                        if kind == np.uint64(PARK):
                            window = windows[w]
                            purpose = program.purposes.attempt
                            key = np.uint64(step_key(private, purpose, drawn_windows))
                            drawn_windows += _ONE
                        found = attempt(
                            shape, program, key, window, places, rows, cells, held,
                            pending ^ stored, facts, is_fold,
                        )  # fmt: skip
                        stored |= found
                        before += window
                        w += _ONE
                    if second - first > _ONE:
                        before += second - first
                    newly = undelivered & stored
                    pending ^= stored
                    undelivered ^= newly
                    cuda.atomic.add(facts, ACKED, np.uint64(cuda.popc(stored)))
                    cuda.atomic.add(facts, DELIVERED, np.uint64(cuda.popc(newly)))
                    if newly != _0:
                        cuda.atomic.max(facts, LATEST, before + _ONE)
                    clear(held, t, threads)
                cuda.syncthreads()
                left = moving - facts[ACKED]
                if is_shower and facts[DELIVERED] == moving:
                    left = _NONE
                if facts[LATEST] > _NONE:
                    last = slots + facts[LATEST]
                slots += stages[stage + np.uint64(SLOTS)]
                cuda.syncthreads()  # all have read the facts, which thread 0 changes from here on
                if t == _0:
                    facts[LATEST] = _NONE
            if t == _0 and step < many.room:
                row = at * many.room + step
                log[row, 0] = moving - facts[DELIVERED]
                log[row, 1] = left
                log[row, 2] = slots
                log[row, 3] = last
                log[row, 4] = facts[MESSAGES]
                log[row, 5] = facts[COLLISIONS]
                log[row, 6] = facts[DESTROYED]
                log[row, 7] = facts[BITS]
            step += _ONE
            if left == _NONE or step == many.max_steps:
                break
        if t == _0:
            if many.room > _NONE:
                steps[at] = step
            else:
                add_run(many, histograms, step, slots, last, left > _NONE)
            facts[DELIVERED] += shape.n - moving
            for c in range(ACKED):
                cuda.atomic.add(totals, c, facts[c])
        cuda.syncthreads()
        at += np.uint64(cuda.gridDim.x)
