"""One large run on several threads, its couplers taken a cache-full at a time.

A packet's fate in a step depends only on the packets that drew the same intermediate group. So
the survivors of slot 1 are thrown into buckets by that group, and the couplers of a bucket fit
in the cache. Threads own blocks in two phases (``throw``, ``strike``) and buckets
in the one between (``settle``), and never write to the same place: no locks, and results that
do not depend on their number.

What is pending is a list of codes. Where that would take too much memory it is one bit a packet:
the permutation is then computed, the names in entries are local numbers, and nothing else is
kept for a packet. If even the survivors of a step would be too many, the intermediate groups are
taken in several rounds, and the draws of slot 1 are made again in each.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from popsnet.compiled import compiled
from popsnet.engines.fused.bits import lowest_bit
from popsnet.engines.fused.passes import (
    I64,
    U8,
    U16,
    U32,
    U64,
    Layout,
    clear,
    count,
    draw,
    encode,
    pick,
    rename,
    select,
    take_part,
)
from popsnet.permutations.keyed import permute, place
from popsnet.splitmix import origin

__all__ = ["Buckets", "Hands", "Packets", "settle", "strike", "throw"]

_6, _63, _1 = np.uint64(6), np.uint64(63), np.uint64(1)
_TOP, _FULL = np.uint64(2**63), np.uint64(2**64 - 1)
_ALONE = np.uint8(1)


class Packets(NamedTuple):
    """The packets that are pending: by code, or if there are no codes by number.

    A bit says that what its name stands for is still pending: the code at a position of a
    block, or the packet of a number. Every block begins a word of its own.
    """

    codes: U32  # block after block
    sizes: I64  # how many of each block
    bits: U64
    residues: U16  # temporary groups, if the permutation is stored, or
    n: np.uint64  # the keyed permutation, if it is computed
    half: np.uint64
    keys: U64


class Buckets(NamedTuple):
    """Survivors of slot 1 by intermediate group, of each thread in the order of its blocks."""

    entries: U64
    starts: I64  # by thread and bucket
    ends: I64
    bounds: U32  # by lot and bucket: where the lot's entries end, counted from the start
    low: int  # the first intermediate group of this round, and
    high: int  # the one behind its last
    shift: int  # of an entry, to find its bucket


class Hands(NamedTuple):
    """Scratch of one thread."""

    numbers: U32
    taking: U32
    taken: U32
    couplers: U32
    drawn: U64
    survivors: U64
    first_words: U64  # slot 1 of a block, eight couplers in a word
    first: U8
    second_words: U64  # slot 2 of a bucket
    second: U8
    read: U32  # how far the entries of each bucket have been read


@compiled
def load(layout: Layout, packets: Packets, block: int, codes: U32, scratch: U64) -> int:
    """All packets of a block, which are pending at the start."""
    first = block * layout.rows * layout.d
    m = min(layout.rows * layout.d, layout.d * layout.g - first)
    if len(packets.residues) > 0:
        encode(packets.residues[first:], m, layout.number_bits, codes)
    else:
        for k in range(m):
            scratch[k] = k
        aim(layout, packets, scratch, m, first, 0, layout.number_bits)
        for k in range(m):
            codes[k] = scratch[k]
    return m


@compiled
def aim(
    layout: Layout, packets: Packets, words: U64, m: int, first: int, first_name: int, bits: int
) -> None:
    """Put the temporary groups into words that have the packets' numbers in their lowest bits."""
    start, shift, mask = np.uint64(first - first_name), np.uint64(bits), np.uint64((1 << bits) - 1)
    n, half, keys = packets.n, packets.half, packets.keys
    divisor, per_group = np.uint64(layout.g), 1.0 / layout.g
    k0, k1, k2, k3 = keys[0], keys[1], keys[2], keys[3]
    outside = 0
    for q in range(m):
        where = permute(start + (words[q] & mask), half, k0, k1, k2, k3)
        outside += int(where >= n)
        rest = where - np.uint64(float(where) * per_group) * divisor
        rest += divisor * np.uint64(rest > _TOP)  # the quotient was one too large, or
        rest -= divisor * np.uint64(rest >= divisor)  # one too small
        words[q] |= (rest << shift) * np.uint64(where < n)
    if outside > 0:
        for q in range(m):
            packet = start + (words[q] & mask)
            if permute(packet, half, k0, k1, k2, k3) >= n:
                words[q] |= (place(packet, n, half, keys) % divisor) << shift


@compiled
def unpack(bits: U64, words: int, numbers: U32) -> int:
    """The numbers, in their block, of the packets whose bit is set."""
    s = 0
    for w in range(words):
        rest = bits[w]
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
def close_up(codes: U32, m: int, bits: U64) -> int:
    """Keep the codes at the positions whose bit is set, and set all bits again."""
    s = np.uint64(0)
    for w in range((m + 63) // 64):
        word, some = bits[w], codes[w * 64 : m]
        for bit in range(min(64, len(some))):
            codes[s] = some[bit]
            s += word & _1
            word >>= _1
        bits[w] = _FULL
    return int(np.int64(s))


@compiled
def within(couplers: U32, entries: U64, m: int, group_bits: int, low: int, high: int) -> int:
    """Keep the packets whose intermediate group is of this round."""
    s, mask = np.uint64(0), np.uint32((1 << group_bits) - 1)
    start, span = np.uint32(low), np.uint32(high - low)
    for k in range(m):
        coupler = couplers[k]
        couplers[s], entries[s] = coupler, entries[k]
        s += np.uint64(np.uint32((coupler & mask) - start) < span)
    return int(np.int64(s))


@compiled
def throw(
    layout: Layout, packets: Packets, buckets: Buckets, hands: Hands, thread: int, step: int,
    key: np.uint64, threshold: np.uint64, first_block: int, last_block: int, tally: I64,
) -> None:  # fmt: skip
    """Slot 1 of some blocks: the survivors go to their buckets."""
    size, name_bits, listed = layout.rows * layout.d, layout.name_bits, len(packets.codes) > 0
    words, everybody = (size + 63) // 64, threshold == np.uint64(2**32)
    all_groups = buckets.low == 0 and buckets.high == layout.g
    for block in range(first_block, last_block):
        first, first_name, names = block * size, block % layout.lot * words * 64, hands.taking
        bits, begin = packets.bits[block * words :], origin(key, np.uint64(first))
        if listed:
            codes = packets.codes[first:]
            if step == 0:
                m = load(layout, packets, block, codes, hands.drawn)
            else:
                m = close_up(codes, packets.sizes[block], bits)
            packets.sizes[block] = m
        else:
            codes, m = hands.numbers, unpack(bits, words, hands.numbers)
        if not everybody:
            m = take_part(codes, m, layout.number_bits, begin, threshold, hands.taking)
            pick(codes, hands.taking, m, hands.taken)
            codes = hands.taken
        draw(layout, codes, m, begin, first_name, hands.couplers, hands.drawn)
        if not all_groups:
            m = within(hands.couplers, hands.drawn, m, layout.group_bits, buckets.low, buckets.high)
        count(hands.couplers, m, 0, hands.first)
        entries = hands.survivors
        survivors = select(
            hands.couplers, m, 0, hands.first, hands.drawn, hands.second, entries
        )
        tally[0] += m
        tally[1] += survivors
        tally[2] += clear(hands.first_words)
        if not listed:
            rename(entries, survivors, name_bits, codes, first_name)
            aim(layout, packets, entries, survivors, first, first_name, name_bits)
        elif not everybody:
            rename(entries, survivors, name_bits, names, first_name)
        append(layout, buckets, entries, survivors, thread, block // layout.lot)


@compiled
def append(layout: Layout, buckets: Buckets, survivors: U64, m: int, thread: int, lot: int) -> None:
    """Put the survivors of a block into their buckets."""
    entries, ends, shift = buckets.entries, buckets.ends[thread], np.uint64(buckets.shift)
    low = np.uint64(buckets.low) << np.uint64(layout.group_bits + layout.name_bits)
    mask = (_1 << shift) - _1
    for q in range(m):
        entry = survivors[q] - low
        bucket = entry >> shift
        entries[np.uint64(ends[bucket])] = entry & mask
        ends[bucket] += 1
    for bucket in range(buckets.bounds.shape[1]):
        buckets.bounds[lot, bucket] = ends[bucket] - buckets.starts[thread, bucket]


@compiled
def settle(
    layout: Layout, buckets: Buckets, hands: Hands, first: int, last: int, tally: I64
) -> None:
    """Slot 2 of some buckets."""
    for bucket in range(first, last):
        for thread in range(len(buckets.ends)):
            start, end = buckets.starts[thread, bucket], buckets.ends[thread, bucket]
            count(buckets.entries[start:end], end - start, layout.name_bits, hands.second)
        for thread in range(len(buckets.ends)):
            start, end = buckets.starts[thread, bucket], buckets.ends[thread, bucket]
            tally[3] += judge(buckets.entries[start:end], layout.name_bits, hands.second)
            buckets.ends[thread, bucket] = start
        tally[2] += clear(hands.second_words)


@compiled
def judge(entries: U64, name_bits: int, table: U8) -> int:
    """Turn entries into verdicts: the packet's name, and in the lowest bit whether it is home."""
    to_cell, mask, home = np.uint64(name_bits), np.uint64((1 << name_bits) - 1), np.uint64(0)
    for k in range(len(entries)):
        alone = np.uint64(table[entries[k] >> to_cell] == _ALONE)
        entries[k] = (entries[k] & mask) << _1 | alone
        home += alone
    return int(np.int64(home))


@compiled
def strike(
    layout: Layout, packets: Packets, buckets: Buckets, hands: Hands, thread: int,
    first_block: int, last_block: int,
) -> None:  # fmt: skip
    """Those that are home are no longer pending, in all blocks of a thread."""
    starts, read, words = buckets.starts[thread], hands.read, (layout.rows * layout.d + 63) // 64
    read[:] = 0
    for block in range(first_block, last_block, layout.lot):
        bounds, bits = buckets.bounds[block // layout.lot], packets.bits[block * words :]
        for bucket in range(len(bounds)):
            start, end = starts[bucket] + read[bucket], starts[bucket] + bounds[bucket]
            read[bucket] = bounds[bucket]
            clear_bits(buckets.entries[start:end], bits)


@compiled
def clear_bits(verdicts: U64, bits: U64) -> None:
    """Clear the bits of packets that are home."""
    for k in range(len(verdicts)):
        name = verdicts[k] >> _1
        bits[name >> _6] &= ~((verdicts[k] & _1) << (name & _63))
