"""One large run on several threads, with as many couplers at a time as fit in the cache.

A packet's fate in a step depends only on the packets that drew the same intermediate group. So
the survivors of slot 1 are scattered to buckets by that group, and the couplers of a bucket fit in
the cache. A step has two phases. In one, a piece of work is a part of the blocks: ``remove`` the
packets that the step before delivered, and ``scatter`` the others. In the other it is a bucket, to
``resolve``. Pieces of one phase never write to the same place, and results do not depend on which
thread executes them. Threads take pieces by drawing tickets (``do_pieces``), without returning to
Python between the phases: sixteen threads that do so 24 times in a run would wait for the
interpreter.

Pending packets are a list of codes. If that would take too much memory, each is a single bit:
the permutation is then computed, the names in entries are local numbers, and nothing else is
kept for a packet. If even the survivors of a step would be too many, the intermediate groups are
taken in several rounds, and the draws of slot 1 are made again in each.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from popsnet.base.compiled import compiled
from popsnet.base.splitmix import origin, step_key
from popsnet.engines.fused.arrays import I64, U8, U16, U32, U64, Records, record_type
from popsnet.engines.fused.bits import LANES, add_shared, load_shared, pack, remainder, unpack
from popsnet.engines.fused.kernel import KeyedRounds
from popsnet.engines.fused.mei_rizzi import passes
from popsnet.engines.fused.mei_rizzi.layout import MeiRizziLayout, MeiRizziProgram
from popsnet.engines.fused.team import GAP
from popsnet.workloads.permutations.keyed import permute, place

TAKEN, DONE, STOP, HELD = 0, GAP, 2 * GAP, 3 * GAP
"""In the numbers that threads share: tickets drawn, pieces done, whether to stop, and for each
thread one more than the ticket that it holds."""

WAITING = 1
"""What ``work`` returns if other threads have been busy for long."""

_LOOKS = 2**14
"""How often a thread checks whether the others are done, a fraction of a millisecond in all."""

_6, _63, _1 = np.uint64(6), np.uint64(63), np.uint64(1)
_FULL, _BYTE = np.uint64(2**64 - 1), np.uint64(2**8 - 1)
_ALONE = np.uint8(1)


class PartitionedPackets(NamedTuple):
    """The pending packets, by code, or by number if there are no codes.

    A bit says that what its name stands for is still pending: the code at a position of a
    block, or the packet of a number. Every block begins a word of its own.
    """

    codes: U32  # block after block
    sizes: I64  # how many of each block
    bits: U64
    residues: U16  # temporary groups, if the permutation is stored, or
    keyed: KeyedRounds  # how it is computed


class Buckets(NamedTuple):
    """The survivors of slot 1 by intermediate group, of each part in the order of its blocks."""

    entries: U32 | U64
    starts: I64  # by part and bucket
    ends: I64
    bounds: U32  # by batch and bucket: where its entries end, counted from the start
    low: int  # the first intermediate group of this round, and
    high: int  # the one behind its last
    shift: int  # of an entry with its whole group, to find its bucket


class PartitionTally(Protocol):
    """The counts of a thread in a step."""

    sent: int
    survivors: int
    collisions: int
    delivered: int


TALLY = record_type(PartitionTally)


class PartitionPlan(NamedTuple):
    """The pieces of work, and those that are done."""

    program: MeiRizziProgram
    seed: np.uint64
    rounds: int
    span: int  # intermediate groups of a round
    cuts: I64  # the first block of each part, and the end
    last: int  # the step to stop before
    shared: I64
    delivered: I64  # by each thread, over all steps
    tallies: Records  # by thread and step


class PartitionWorkspace(NamedTuple):
    """The memory of one thread."""

    numbers: U32
    taking: U32
    taken: U32
    couplers: U32
    drawn: U32 | U64
    survivors: U32 | U64
    scattered: U32  # the couplers of narrow survivors
    flags: U8
    first: U64  # slot 1 of a block, eight couplers in a word
    second: U64  # slot 2 of a bucket


@compiled
def load(
    layout: MeiRizziLayout, packets: PartitionedPackets, block: int, codes: U32, scratch: U32 | U64
) -> int:
    """Load all packets of a block, which are pending at the start."""
    first = block * layout.rows * layout.d
    m = min(layout.rows * layout.d, layout.d * layout.g - first)
    if len(packets.residues) > 0:
        passes.encode(packets.residues[first:], m, layout.number_bits, codes)
    else:
        for k in range(m):
            scratch[k] = k
        aim(layout, packets, scratch, m, first, 0, layout.number_bits)
        for k in range(m):
            codes[k] = scratch[k]
    return m


@compiled
def aim(
    layout: MeiRizziLayout, packets: PartitionedPackets, words: U32 | U64, m: int, first: int,
    first_name: int, bits: int,
) -> None:  # fmt: skip
    """Put the temporary groups into words that have the packets' numbers in their lowest bits."""
    start, shift, mask = np.uint64(first - first_name), np.uint64(bits), np.uint64((1 << bits) - 1)
    n, half, keys = packets.keyed
    divisor, per_group = np.uint64(layout.g), 1.0 / layout.g
    k0, k1, k2, k3 = keys[0], keys[1], keys[2], keys[3]
    outside = 0
    for q in range(m):
        where = permute(start + (words[q] & mask), half, k0, k1, k2, k3)
        outside += int(where >= n)
        rest = remainder(where, divisor, per_group)
        words[q] |= (rest << shift) * np.uint64(where < n)
    if outside > 0:
        for q in range(m):
            packet = start + (words[q] & mask)
            if permute(packet, half, k0, k1, k2, k3) >= n:
                words[q] |= (place(packet, n, half, keys) % divisor) << shift


@compiled
def close_up(codes: U32, m: int, bits: U64) -> int:
    """Keep the codes at the positions whose bit is set, and set all bits again."""
    s, whole = np.uint64(0), m // LANES * LANES
    for w in range((m + 63) // 64):
        word = bits[w]
        for k in range(w * 64, min(w * 64 + 64, whole), LANES):
            s += pack(word & _BYTE, codes, np.uint64(k), codes, s)
            word >>= np.uint64(LANES)
        for k in range(max(w * 64, whole), min(w * 64 + 64, m)):
            codes[s] = codes[k]
            s += word & _1
            word >>= _1
        bits[w] = _FULL
    return int(np.int64(s))


@compiled
def within(couplers: U32, entries: U32 | U64, m: int, group_bits: int, low: int, high: int) -> int:
    """Keep the packets whose intermediate group is of this round."""
    s, mask = np.uint64(0), np.uint32((1 << group_bits) - 1)
    start, span = np.uint32(low), np.uint32(high - low)
    for k in range(m):
        coupler = couplers[k]
        couplers[s], entries[s] = coupler, entries[k]
        s += np.uint64(np.uint32((coupler & mask) - start) < span)
    return int(np.int64(s))


@compiled
def do_pieces(
    layout: MeiRizziLayout, packets: PartitionedPackets, buckets: Buckets,
    work: PartitionWorkspace, plan: PartitionPlan, thread: int,
) -> int:  # fmt: skip
    """Execute pieces of work until all steps are done, or the wait for others is too long.

    Tickets are drawn in the order of pieces. A piece may be begun when all those of earlier phases
    are done. These have been drawn by threads that work, so no number of threads deadlocks.
    """
    parts, count = len(plan.cuts) - 1, buckets.bounds.shape[1]
    shared, held = plan.shared, HELD + GAP * thread
    while True:
        if shared[held] == 0:
            shared[held] = 1 + add_shared(shared, TAKEN, 1)
        turn, piece = divmod(shared[held] - 1, parts + count)
        scattering, (step, turn_of_step) = piece < parts, divmod(turn, plan.rounds)
        if step >= plan.last:
            return 0
        if not wait_for(shared, turn * (parts + count) + (0 if scattering else parts)):
            return 0 if load_shared(shared, STOP) != 0 else WAITING
        if load_shared(shared, STOP) != 0:
            return 0
        if scattering and turn_of_step == 0 and plan.delivered[::GAP].sum() == layout.d * layout.g:
            shared[STOP] = 1  # others may hold tickets for pieces that will never come
            return 0
        low = min(turn_of_step * plan.span, layout.g)
        high = min(low + plan.span, layout.g)
        now = Buckets(
            buckets.entries, buckets.starts, buckets.ends, buckets.bounds, low, high, buckets.shift
        )
        tally = plan.tallies[thread, step % plan.tallies.shape[1]]
        if scattering:
            if turn > 0:
                remove(layout, packets, now, piece, plan.cuts)
            scatter(layout, packets, now, work, plan, piece, turn, tally)
        else:
            delivered = resolve(layout, now, work, piece - parts, tally)
            tally.delivered += delivered
            plan.delivered[GAP * thread] += delivered
        shared[held] = 0
        add_shared(shared, DONE, 1)


@compiled
def wait_for(shared: I64, pieces: int) -> bool:
    """Wait until this many pieces are done, and return whether they are."""
    for _ in range(_LOOKS):
        if load_shared(shared, DONE) >= pieces:
            return True
        if load_shared(shared, STOP) != 0:
            return False
    return False


@compiled
def scatter(
    layout: MeiRizziLayout, packets: PartitionedPackets, buckets: Buckets,
    work: PartitionWorkspace, plan: PartitionPlan, part: int, turn: int, tally: PartitionTally,
) -> None:  # fmt: skip
    """Execute slot 1 of the blocks of a part, and put the survivors into their buckets."""
    size, name_bits, listed = layout.rows * layout.d, layout.name_bits, len(packets.codes) > 0
    words, step, thresholds = (size + 63) // 64, turn // plan.rounds, plan.program.thresholds
    key = step_key(plan.seed, plan.program.purposes.intermediate, step)
    all_groups = buckets.low == 0 and buckets.high == layout.g
    first_table, entries = work.first.view(np.uint8), work.survivors
    narrow, all_take_part = entries.itemsize == 4, step >= len(thresholds)
    for block in range(plan.cuts[part], plan.cuts[part + 1]):
        first, first_name = block * size, block % layout.batch * words * 64
        bits, begin = packets.bits[block * words :], origin(key, np.uint64(first))
        if listed:
            codes = packets.codes[first:]
            if turn == 0:
                m = load(layout, packets, block, codes, work.drawn)
            else:
                m = close_up(codes, packets.sizes[block], bits)
            packets.sizes[block] = m
        else:
            codes, m = work.numbers, unpack(bits, words, work.numbers)
        if not all_take_part:
            m = passes.take_part(codes, m, layout.number_bits, begin, thresholds[step], work.taking)
            passes.pick(codes, work.taking, m, work.taken)
            codes = work.taken
        passes.draw(layout, codes, m, begin, first_name, work.couplers, work.drawn)
        if not all_groups:
            m = within(work.couplers, work.drawn, m, layout.group_bits, buckets.low, buckets.high)
        passes.count(work.couplers, m, 0, first_table)
        if narrow:
            survivors = passes.select_pairs(
                work.couplers, m, first_table, work.drawn, work.flags, work.scattered, entries
            )
        else:
            survivors = passes.select(
                work.couplers, m, 0, first_table, work.drawn, work.flags, entries
            )
        tally.sent += m
        tally.survivors += survivors
        tally.collisions += passes.clear(work.first)
        if not listed:
            passes.rename(entries, survivors, name_bits, codes, first_name)
            aim(layout, packets, entries, survivors, first, first_name, name_bits)
        elif not all_take_part:
            passes.rename(entries, survivors, name_bits, work.taking, first_name)
        if narrow:
            append(layout, buckets, work.scattered, entries, survivors, part)
        else:
            append_wide(layout, buckets, entries, survivors, part)
        bounds = buckets.bounds[block // layout.batch]
        for bucket in range(len(bounds)):
            bounds[bucket] = buckets.ends[part, bucket] - buckets.starts[part, bucket]


@compiled
def append(
    layout: MeiRizziLayout, buckets: Buckets, couplers: U32, survivors: U32 | U64, m: int, part: int
) -> None:
    """Put narrow survivors of a block into their buckets, given by their couplers."""
    entries, ends, low = buckets.entries, buckets.ends[part], np.uint32(buckets.low)
    groups = np.uint32((1 << layout.group_bits) - 1)
    shift = np.uint64(buckets.shift - layout.group_bits - layout.name_bits)
    mask = np.uint32((1 << buckets.shift) - 1)
    for q in range(m):
        bucket = np.uint64(np.uint32((couplers[q] & groups) - low)) >> shift
        entries[np.uint64(ends[bucket])] = survivors[q] & mask
        ends[bucket] += 1


@compiled
def append_wide(
    layout: MeiRizziLayout, buckets: Buckets, survivors: U32 | U64, m: int, part: int
) -> None:
    """Put survivors of a block into their buckets, given by their groups."""
    entries, ends, shift = buckets.entries, buckets.ends[part], np.uint64(buckets.shift)
    low = np.uint64(buckets.low) << np.uint64(layout.group_bits + layout.name_bits)
    mask = (_1 << shift) - _1
    for q in range(m):
        entry = survivors[q] - low
        bucket = entry >> shift
        entries[np.uint64(ends[bucket])] = entry & mask
        ends[bucket] += 1


@compiled
def resolve(
    layout: MeiRizziLayout, buckets: Buckets, work: PartitionWorkspace, bucket: int,
    tally: PartitionTally,
) -> int:  # fmt: skip
    """Execute slot 2 of a bucket, and return how many packets are delivered."""
    delivered, second = 0, work.second.view(np.uint8)
    for part in range(len(buckets.ends)):
        start, end = buckets.starts[part, bucket], buckets.ends[part, bucket]
        passes.count(buckets.entries[start:end], end - start, layout.name_bits, second)
    for part in range(len(buckets.ends)):
        start, end = buckets.starts[part, bucket], buckets.ends[part, bucket]
        delivered += decide(buckets.entries[start:end], layout.name_bits, second)
        buckets.ends[part, bucket] = start
    tally.collisions += passes.clear(work.second)
    return delivered


@compiled
def decide(entries: U32 | U64, name_bits: int, table: U8) -> int:
    """Replace entries by a packet's name and, in the lowest bit, whether it is delivered."""
    to_cell, mask, delivered = np.uint64(name_bits), np.uint64((1 << name_bits) - 1), np.uint64(0)
    for k in range(len(entries)):
        entry = np.uint64(entries[k])
        alone = np.uint64(table[entry >> to_cell] == _ALONE)
        entries[k] = (entry & mask) << _1 | alone
        delivered += alone
    return int(np.int64(delivered))


@compiled
def remove(
    layout: MeiRizziLayout, packets: PartitionedPackets, buckets: Buckets, part: int, cuts: I64
) -> None:
    """Remove delivered packets from those that are pending, in all blocks of a part.

    It goes bucket by bucket, since the decisions of a bucket are contiguous in memory, and the bits
    of a part fit in a cache.
    """
    words = (layout.rows * layout.d + 63) // 64
    for bucket in range(buckets.bounds.shape[1]):
        begin = buckets.starts[part, bucket]
        start = begin
        for block in range(cuts[part], cuts[part + 1], layout.batch):
            end = begin + np.int64(buckets.bounds[block // layout.batch, bucket])
            clear_bits(buckets.entries[start:end], packets.bits[block * words :])
            start = end


@compiled
def clear_bits(decisions: U32 | U64, bits: U64) -> None:
    """Clear the bits of packets that are delivered."""
    for k in range(len(decisions)):
        decision = np.uint64(decisions[k])
        name = decision >> _1
        bits[name >> _6] &= ~((decision & _1) << (name & _63))
