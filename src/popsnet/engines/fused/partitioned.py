"""One large run on several threads, its couplers taken a cache-full at a time.

A packet's fate in a step depends only on the packets that drew the same intermediate group. So
the survivors of slot 1 are thrown into buckets by that group, and the couplers of a bucket fit
in the cache. Threads own source groups in one phase and buckets in the next, and never write
to the same place: no locks, and results that do not depend on their number.

What is pending is one bit a packet. If the permutation is computed, nothing else is kept for a
packet; if even the survivors of a step would be too many, the intermediate groups are taken in
several rounds, and the draws of slot 1 are made again in each.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from popsnet.compiled import compiled
from popsnet.engines.fused.bits import lowest_bit
from popsnet.engines.fused.passes import (
    U8,
    U16,
    U32,
    clear,
    count,
    draw,
    pick,
    select,
    take_part,
)
from popsnet.permutations.keyed import permute, place

__all__ = ["Buckets", "Sources", "clear_bits", "settle", "throw"]

U64 = npt.NDArray[np.uint64]
I64 = npt.NDArray[np.int64]

_WHOLE = 31  # bits of a number that has no residue beside it
_40, _LOW_40 = np.uint64(40), np.uint64(2**40 - 1)
_6, _63, _1 = np.uint64(6), np.uint64(63), np.uint64(1)
_TOP, _FULL = np.uint64(2**63), np.uint64(2**64 - 1)
_ONE = np.uint8(1)


class Sources(NamedTuple):
    """The packets, and how to find out where they go."""

    pending: U64  # a bit a packet; every block begins a word of its own
    residues: U16  # temporary groups, if the permutation is stored; else empty
    n: np.uint64  # and the keyed permutation, if it is not
    half: np.uint64
    keys: U64


class Buckets(NamedTuple):
    """Survivors of slot 1 by intermediate group: a cell of the bucket, a packet's number."""

    entries: U64
    starts: I64  # by thread and bucket
    ends: I64
    low: int  # the first intermediate group of this round, and
    high: int  # the one behind its last
    shift: int  # a bucket has 2^shift intermediate groups


class Hands(NamedTuple):
    """Scratch of one thread."""

    numbers: U32
    couplers: U32
    targets: U32
    picked: U32
    alone: U32
    table: U8  # slot 1 of a block
    cells: U8  # slot 2 of a bucket


@compiled
def unpack(pending: U64, first_word: int, words: int, numbers: U32) -> int:
    """The numbers, in their block, of the packets whose bit is set."""
    s = 0
    for w in range(words):
        rest = pending[first_word + w]
        if rest == _FULL:  # all of them, as in the first step
            for bit in range(64):
                numbers[s + bit] = w * 64 + bit
            s += 64
            continue
        while rest != 0:
            numbers[s] = w * 64 + lowest_bit(rest)
            rest &= rest - _1
            s += 1
    return s


@compiled
def within(numbers: U32, couplers: U32, m: int, low: int, high: int) -> int:
    """Keep the packets whose intermediate group is of this round; blocks of one group only."""
    s, start, span = 0, np.uint32(low), np.uint32(high - low)
    for k in range(m):
        coupler = couplers[k]
        numbers[s] = numbers[k]
        couplers[s] = coupler
        s += int(np.uint32(coupler - start) < span)
    return s


@compiled
def throw(
    sources: Sources, buckets: Buckets, hands: Hands, thread: int, d: int, g: int, rows: int,
    magic: int, key: np.uint64, threshold: np.uint64, first_block: int, last_block: int,
    tally: I64,
) -> None:  # fmt: skip
    """Slot 1 of some blocks: the survivors go to their buckets."""
    size, words = rows * d, (rows * d + 63) // 64
    all_groups = buckets.low == 0 and buckets.high == g
    numbers, couplers, targets = hands.numbers, hands.couplers, hands.targets
    for block in range(first_block, last_block):
        first = block * size
        m = unpack(sources.pending, block * words, words, numbers)
        if threshold < np.uint64(2**32):
            m = take_part(numbers, m, _WHOLE, first, key, threshold, hands.alone)
            pick(numbers, hands.alone, m, numbers)
        draw(numbers, m, _WHOLE, first, key, g, magic, couplers)
        if not all_groups:
            m = within(numbers, couplers, m, buckets.low, buckets.high)
        count(couplers, m, hands.table)
        survivors = select(couplers, m, hands.table, hands.alone)
        tally[0] += m
        tally[1] += survivors
        tally[2] += clear(couplers, m, hands.table, rows * g)
        if len(sources.residues) > 0:
            aim(numbers, hands.alone, survivors, sources.residues[first:], targets)
        else:
            pick(numbers, hands.alone, survivors, hands.picked)
            aim_keyed(hands.picked, survivors, first, g, sources, targets)
        append(
            numbers, couplers, hands.alone, targets, survivors, g, magic, block * words * 64,
            buckets, buckets.ends[thread],
        )  # fmt: skip


@compiled
def aim(numbers: U32, alone: U32, m: int, residues: U16, targets: U32) -> None:
    """The temporary groups of the survivors, where they are stored."""
    for q in range(m):
        targets[q] = residues[numbers[alone[q]]]


@compiled
def aim_keyed(numbers: U32, m: int, first: int, g: int, sources: Sources, targets: U32) -> None:
    """The temporary groups of packets, where they are computed."""
    start, divisor, per_group = np.uint64(first), np.uint64(g), 1.0 / g
    n, half = sources.n, sources.half
    k0, k1, k2, k3 = sources.keys[0], sources.keys[1], sources.keys[2], sources.keys[3]
    outside = 0
    for q in range(m):
        where = permute(start + np.uint64(numbers[q]), half, k0, k1, k2, k3)
        outside += int(where >= n)
        rest = where - np.uint64(float(where) * per_group) * divisor
        rest += divisor * np.uint64(rest > _TOP)  # the quotient was one too large, or
        targets[q] = rest - divisor * np.uint64(rest >= divisor)  # one too small
    if outside > 0:
        for q in range(m):
            packet = start + np.uint64(numbers[q])
            targets[q] = place(packet, n, half, sources.keys) % divisor


@compiled
def append(
    numbers: U32, couplers: U32, alone: U32, targets: U32, m: int, g: int, magic: int, base: int,
    buckets: Buckets, ends: I64,
) -> None:  # fmt: skip
    """Put the survivors into their buckets."""
    entries, shift = buckets.entries, np.uint64(buckets.shift)
    mask, bound = np.uint64((1 << buckets.shift) - 1), np.uint64(np.uint32(g))
    low, start, to_row = np.uint64(buckets.low), np.uint64(base), np.uint64(np.uint32(magic))
    for q in range(m):
        number = np.uint64(numbers[alone[q]])
        row = (number * to_row) >> np.uint64(32)
        group = np.uint64(couplers[alone[q]]) - row * bound - low
        cell = (group & mask) * bound + np.uint64(targets[q])
        bucket = group >> shift
        entries[ends[bucket]] = cell << _40 | (start + number)
        ends[bucket] += 1


@compiled
def settle(buckets: Buckets, cells: U8, first: int, last: int, tally: I64) -> None:
    """Slot 2 of some buckets: only the packets that are alone stay in them."""
    threads = len(buckets.ends)
    for bucket in range(first, last):
        for thread in range(threads):
            start, end = buckets.starts[thread, bucket], buckets.ends[thread, bucket]
            hit(buckets.entries[start:end], cells)
        for thread in range(threads):
            start, end = buckets.starts[thread, bucket], buckets.ends[thread, bucket]
            buckets.ends[thread, bucket] = start + keep_alone(buckets.entries[start:end], cells)
        tally[2] += sweep(cells)


@compiled
def hit(entries: U64, cells: U8) -> None:
    """``count``, on the entries of a bucket."""
    for k in range(len(entries)):
        cell = entries[k] >> _40
        cells[cell] = (cells[cell] << _ONE) | _ONE


@compiled
def keep_alone(entries: U64, cells: U8) -> int:
    """``select``, on the entries of a bucket; they move up."""
    s = 0
    for k in range(len(entries)):
        entry = entries[k]
        entries[s] = entry
        s += int(cells[entry >> _40] == _ONE)
    return s


@compiled
def sweep(cells: U8) -> int:
    """Make all cells silent, and say how many had collided."""
    collided = 0
    for cell in range(len(cells)):
        collided += int(cells[cell] > _ONE)
        cells[cell] = 0
    return collided


@compiled
def clear_bits(pending: U64, buckets: Buckets, thread: int) -> int:
    """The packets left in a thread's buckets are delivered: no longer pending."""
    delivered = 0
    for bucket in range(buckets.ends.shape[1]):
        start, end = buckets.starts[thread, bucket], buckets.ends[thread, bucket]
        for k in range(start, end):
            number = buckets.entries[k] & _LOW_40
            pending[number >> _6] &= ~(_1 << (number & _63))
        delivered += end - start
        buckets.ends[thread, bucket] = start
    return delivered
