"""Compiled loops over processors, packets and messages: those of the memory, medium and machine.

They are in a module of their own, because an edit to it compiles every kernel again.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from popsnet.base.compiled import compiled
from popsnet.base.splitmix import mix

I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
U64 = np.uint64
Bools = npt.NDArray[np.bool_]

FREE = -2
"""Stands for a free buffer: never the number of a packet, nor that of no packet."""

NOTHING = -1
"""Stands for what a processor without a message has heard."""

SILENT = -1
"""Stands for a coupler without a message."""

UNUSED = -1
"""Stands for a cell that no coupler has."""

SOURCE, DESTINATION, ARRIVAL, OWN, COPIES = range(5)
"""The rows of what is known of packets that come and go: where each starts and ends, the slot in
which it arrived, whether its source holds it, and how many copies are held."""

_COLLIDED = -2
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_INT32 = np.dtype(np.int32)


class Table(NamedTuple):
    """Pairs of a processor and a packet in a hash table with linear probing."""

    pairs: I64
    values: I32
    """A number for each pair, or nothing."""
    held: I32
    """The pairs of each processor."""


def plain(numbers: npt.NDArray[np.integer[Any]]) -> I32:
    """Return numbers of the type that loops are compiled for, clipped to its range."""
    return plain_each(numbers)[0]


def plain_each(*arrays: npt.NDArray[np.integer[Any]]) -> list[I32]:
    """Return arrays of the type that loops are compiled for, clipped to its range."""
    converted: list[Any] = []
    for numbers in arrays:
        if numbers.dtype is not _INT32 or not numbers.flags.c_contiguous:
            if numbers.dtype != np.int32:
                wide = numbers.astype(np.int64, casting="same_kind", copy=False)
                numbers = np.minimum(np.maximum(wide, -(2**31)), 2**31 - 1)  # faster than clip
            numbers = np.ascontiguousarray(numbers, dtype=np.int32)
        converted.append(numbers)
    return converted


@compiled
def inside(numbers: I32, low: int, bound: int) -> bool:
    """Return whether all numbers are in [low, bound), without a branch, so in vectors."""
    least, most, all_inside = np.int32(low), np.int32(bound - 1), True
    for k in range(len(numbers)):
        all_inside &= numbers[k] >= least
        all_inside &= numbers[k] <= most
    return all_inside


@compiled
def first_outside(numbers: I32, low: int, bound: int) -> int:
    """Return the position of the first number that is not in [low, bound), or -1."""
    if inside(numbers, low, bound):
        return -1
    k = 0
    while low <= numbers[k] < bound:
        k += 1
    return k


@compiled
def rises(numbers: I32) -> bool:
    """Return whether each number is larger than the one before."""
    larger = True
    for k in range(1, len(numbers)):
        larger &= numbers[k - 1] < numbers[k]
    return larger


@compiled
def differ(seen: I32, loop: int, processors: I32) -> bool:
    """Return whether processors are all different, as they are if in ascending order."""
    if rises(processors):
        return True
    for k in range(len(processors)):
        if seen[processors[k]] == loop:
            return False
        seen[processors[k]] = loop
    return True


@compiled
def put_in(cells: I32, processors: I32, packets: I32) -> tuple[int, int]:
    """Store packets in cells; return the first without a free one, or -1, and the most held."""
    peak = 0
    for k in range(len(processors)):
        j, free, held = processors[k], -1, 1
        for b in range(len(cells)):
            if cells[b, j] == FREE:
                free = b
            else:
                held += 1
        if free < 0:
            return k, peak
        cells[free, j] = packets[k]
        peak = max(peak, held)
    return -1, peak


@compiled
def most_held(cells: I32, processors: I32) -> int:
    """Return the most packets in the cells of one of these processors."""
    most = 0
    for j in processors:
        held = 0
        for b in range(len(cells)):
            held += int(cells[b, j] != FREE)
        most = max(most, held)
    return most


@compiled
def take_out(cells: I32, processors: I32, packets: I32) -> int:
    """Free the cell of each packet, and return the first that is in none, or -1."""
    for k in range(len(processors)):
        j, at = processors[k], -1
        for b in range(len(cells)):  # to the end: a branch would not be predictable
            at = b if cells[b, j] == packets[k] else at
        if at < 0:
            return k
        cells[at, j] = FREE
    return -1


@compiled
def find(cells: I32, processors: I32, packets: I32, held: Bools) -> None:
    """Write down whether each packet is in a cell of its processor."""
    for k in range(len(processors)):
        j, is_held = processors[k], False
        for b in range(len(cells)):
            is_held |= cells[b, j] == packets[k]
        held[k] = is_held and packets[k] >= 0


@compiled
def hold_all(cells: I32, processors: I32, packets: I32) -> bool:
    """Return whether every packet is in a cell of its processor."""
    for k in range(len(processors)):
        j, is_held = processors[k], False
        for b in range(len(cells)):
            is_held |= cells[b, j] == packets[k]
        if not is_held or packets[k] < 0:
            return False
    return True


@compiled
def _pair(processor: int, packet: int) -> np.int64:
    return np.int64(processor) << 32 | np.int64(packet)


@compiled
def _place(pair: np.int64, size: int) -> np.int64:
    """Return where a pair is looked for first, in a table of a power of two."""
    word = np.uint64(pair) * _FACTOR
    return np.int64((word ^ (word >> np.uint64(32))) & np.uint64(size - 1))


@compiled
def _where(pairs: I64, pair: np.int64) -> np.int64:
    """Return the place of a pair, or of the free entry at which the search for it ends."""
    at = _place(pair, len(pairs))
    while pairs[at] not in (FREE, pair):
        at = (at + 1) & (len(pairs) - 1)
    return at


@compiled
def insert_all(table: Table, before: Table) -> None:
    """Put the pairs of a table into a larger one."""
    pairs, values = table.pairs, table.values
    for k in range(len(before.pairs)):
        pair = before.pairs[k]
        if pair != FREE:
            at = _place(pair, len(pairs))
            while pairs[at] != FREE:
                at = (at + 1) & (len(pairs) - 1)
            pairs[at] = pair
            if len(values):
                values[at] = before.values[k]


@compiled
def insert(table: Table, most: int, processors: I32, packets: I32, values: I32) -> tuple[int, int]:
    """Put pairs into a table; return the first beyond the most, or -1, and the most held."""
    peak, pairs, held = 0, table.pairs, table.held
    for k in range(len(processors)):
        j = processors[k]
        if held[j] >= most:
            return k, peak
        at = _place(_pair(j, packets[k]), len(pairs))
        while pairs[at] != FREE:
            at = (at + 1) & (len(pairs) - 1)
        pairs[at] = _pair(j, packets[k])
        if len(values):
            table.values[at] = values[k]
        held[j] += 1
        peak = max(peak, held[j])
    return -1, peak


@compiled
def _take(table: Table, processor: int, packet: int) -> bool:
    """Remove a pair from a table, and return whether it was there."""
    pairs, values, last = table.pairs, table.values, len(table.pairs) - 1
    gap = _where(pairs, _pair(processor, packet))
    if pairs[gap] == FREE:
        return False
    table.held[processor] -= 1
    at = (gap + 1) & last
    while pairs[at] != FREE:  # move up what would not be found beyond the gap
        if (at - _place(pairs[at], len(pairs))) & last >= (at - gap) & last:
            pairs[gap] = pairs[at]
            if len(values):
                values[gap] = values[at]
            gap = at
        at = (at + 1) & last
    pairs[gap] = FREE
    return True


@compiled
def remove(table: Table, processors: I32, packets: I32) -> int:
    """Remove pairs from a table, and return the first that is not there, or -1."""
    for k in range(len(processors)):
        if not _take(table, processors[k], packets[k]):
            return k
    return -1


@compiled
def look_up(pairs: I64, processors: I32, packets: I32, held: Bools) -> None:
    """Write down whether each pair is in a table."""
    for k in range(len(processors)):
        is_held = pairs[_where(pairs, _pair(processors[k], packets[k]))] != FREE
        held[k] = is_held and packets[k] >= 0


@compiled
def note(heard: I64, slot: int, receivers: I32, packets: I32) -> None:
    """Remember which packet each receiver hears in a slot."""
    for k in range(len(receivers)):
        heard[receivers[k]] = slot << 32 | packets[k]


@compiled
def take_heard(heard: I64, slot: int, count: int, processors: I32, packets: I32) -> bool:
    """Return whether all exist, are different, and have just heard their packets.

    If so, what they heard is taken, so that no processor can store it twice.
    """
    for k in range(len(processors)):
        j, packet = processors[k], packets[k]
        fits = 0 <= j < len(heard) and 0 <= packet < count
        if not fits or heard[j] != slot << 32 | packet:
            for i in range(k):
                heard[processors[i]] = slot << 32 | packets[i]
            return False
        heard[j] = NOTHING
    return True


@compiled
def may_drop(arrived: Bools, destination: I32, n: int, processors: I32, packets: I32) -> bool:
    """Return whether all exist, and no packet was delivered to its processor."""
    for k in range(len(processors)):
        j, packet = processors[k], packets[k]
        if j < 0 or j >= n or packet < 0 or packet >= len(arrived):
            return False
        if arrived[packet] and destination[packet] == j:
            return False
    return True


@compiled
def may_deliver(
    arrived: Bools, destination: I32, seen: I32, loop: int, processors: I32, packets: I32
) -> bool:
    """Return whether all exist, are different, and their packets are due to them."""
    for k in range(len(processors)):
        j, packet = processors[k], packets[k]
        if j < 0 or j >= len(seen) or packet < 0 or packet >= len(arrived):
            return False
        if arrived[packet] or destination[packet] != j or seen[j] == loop:
            return False
        seen[j] = loop
    return True


@compiled
def mark(packets: I32, marks: Bools) -> None:
    """Mark all packets."""
    for packet in packets:
        marks[packet] = True


@compiled
def admit(
    facts: I32, first: int, slot: int, most: int, held: I32, sources: I32, destinations: I32,
    rows: I32,
) -> int:  # fmt: skip
    """Let packets arrive at sources with room, write down their rows, and return how many."""
    count = 0
    for k in range(len(sources)):
        j = sources[k]
        if held[j] < most:
            packet = first + count
            facts[SOURCE, packet] = j
            facts[DESTINATION, packet] = destinations[k]
            facts[ARRIVAL, packet] = slot
            facts[OWN, packet] = 1
            facts[COPIES, packet] = 1
            held[j] += 1
            rows[count] = k
            count += 1
    return count


@compiled
def hold_each(table: Table, facts: I32, processors: I32, packets: I32, held: Bools) -> bool:
    """Write down whether each processor holds its packet, and return whether all do."""
    every = True
    for k in range(len(processors)):
        j, packet, has = processors[k], packets[k], False
        if 0 <= packet < facts.shape[1]:
            has = facts[OWN, packet] == 1 and facts[SOURCE, packet] == j
            has = has or table.pairs[_where(table.pairs, _pair(j, packet))] != FREE
        held[k] = has
        every &= has
    return every


@compiled
def note_hops(
    table: Table, heard: I64, hops: I32, slot: int, senders: I32, messages: I32, receivers: I32,
    packets: I32,
) -> None:  # fmt: skip
    """Remember which packet each receiver hears in a slot, and its hops, those of the sender's + 1.

    A sender that has stored a packet sends that copy, even if it is the source.
    """
    for k in range(len(receivers)):
        j = receivers[k]
        heard[j] = slot << 32 | packets[k]
        at = _where(table.pairs, _pair(senders[messages[k]], packets[k]))
        hops[j] = 1 if table.pairs[at] == FREE else table.values[at] + 1


@compiled
def count_copies(facts: I32, packets: I32) -> None:
    """Count one more copy of each packet."""
    for packet in packets:
        facts[COPIES, packet] += 1


@compiled
def drop_each(
    table: Table, facts: I32, held: I32, processors: I32, packets: I32
) -> tuple[int, int]:
    """Drop a copy of each packet, a stored one first.

    Return the first that is not held, or -1, and how many stored copies were dropped.
    """
    stored = 0
    for k in range(len(processors)):
        j, packet = processors[k], packets[k]
        if packet < 0 or packet >= facts.shape[1]:
            return k, stored
        if _take(table, j, packet):
            stored += 1
        elif facts[OWN, packet] == 1 and facts[SOURCE, packet] == j:
            facts[OWN, packet] = 0
            held[j] -= 1
        else:
            return k, stored
        facts[COPIES, packet] -= 1
    return -1, stored


@compiled
def take_due(facts: I32, arrived: Bools, processors: I32, packets: I32) -> int:
    """Mark packets as delivered; return the first not due, or delivered before, or -1."""
    for k in range(len(processors)):
        packet = packets[k]
        if packet < 0 or packet >= len(arrived) or arrived[packet]:
            return k
        if facts[DESTINATION, packet] != processors[k]:
            return k
        arrived[packet] = True
    return -1


@compiled
def find_hops(
    table: Table, heard: I64, hops: I32, slot: int, processors: I32, packets: I32, made: I32
) -> int:
    """Write down the hops of packets that are heard or else stored; return the first of neither."""
    for k in range(len(processors)):
        j = processors[k]
        at = _where(table.pairs, _pair(j, packets[k]))
        if heard[j] == slot << 32 | packets[k]:
            made[k] = hops[j]
        elif table.pairs[at] != FREE:
            made[k] = table.values[at]
        else:
            return k
    return -1


@compiled(inline=True)
def _cell(numbers: I64, coupler: np.uint64) -> np.uint64:
    """Find the cell of a coupler, or the one that it would get."""
    last = U64(len(numbers) - 1)
    at = mix(coupler) & last
    while numbers[at] != UNUSED and numbers[at] != np.int64(coupler):
        at = (at + U64(1)) & last
    return at


@compiled
def send(
    table: I32, numbers: I64 | None, row: np.uint64, factor: np.uint64, shift: np.uint64,
    senders: I32, groups: I32,
) -> tuple[int, int]:  # fmt: skip
    """Put transmissions on couplers, and count collided couplers and destroyed messages."""
    collided, met = 0, 0
    for k in range(len(groups)):
        coupler = U64(groups[k]) * row + (U64(senders[k]) * factor >> shift)
        at = coupler if numbers is None else _cell(numbers, coupler)
        carried = table[at]
        table[at] = k if carried == SILENT else _COLLIDED
        if numbers is not None:
            numbers[at] = coupler
        collided += int(carried >= 0)
        met += int(carried != SILENT)
    return collided, met + collided


@compiled
def listen(
    table: I32, numbers: I64 | None, row: np.uint64, factor: np.uint64, shift: np.uint64,
    listeners: I32, listened: I32, at: I32, heard: I32,
) -> int:  # fmt: skip
    """Write down which listeners hear which transmission, and return how many do."""
    s = 0
    for i in range(len(listeners)):
        coupler = (U64(listeners[i]) * factor >> shift) * row + U64(listened[i])
        carried = table[coupler if numbers is None else _cell(numbers, coupler)]
        at[s] = i
        heard[s] = carried
        s += int(carried >= 0)
    return s


@compiled
def silence(
    table: I32, row: np.uint64, factor: np.uint64, shift: np.uint64, senders: I32, groups: I32
) -> None:
    """Make the couplers of these messages silent again."""
    if len(groups) > len(table) // 16:
        table[:] = SILENT
        return
    for k in range(len(groups)):
        table[U64(groups[k]) * row + (U64(senders[k]) * factor >> shift)] = SILENT


@compiled
def may_send(
    seen: I32, loop: int, senders: I32, groups: I32, packets: I32, g: int, least: int, count: int
) -> bool:
    """Return whether senders exist and are different, and groups and packets, if any, exist."""
    exist = inside(senders, 0, len(seen)) and inside(groups, 0, g)
    return exist and inside(packets, least, count) and differ(seen, loop, senders)


@compiled
def may_listen(seen: I32, loop: int, listeners: I32, listened: I32, g: int) -> bool:
    """Return whether listeners exist and are different, and groups exist."""
    exist = inside(listeners, 0, len(seen)) and inside(listened, 0, g)
    return exist and differ(seen, loop, listeners)


@compiled
def receive(
    listeners: I32, listened: I32, sent: I32, destination: I32, at: I32, messages: I32,
    receivers: I32, groups: I32, packets: I32, destinations: I32,
) -> None:  # fmt: skip
    """Write down which group and packet each receiver hears, and the packet's destination.

    Positions are unsigned, because Numba checks an index that might be negative, and every loop
    gathers from one array.
    """
    for s in range(len(at)):
        receivers[s] = listeners[np.uint32(at[s])]
    for s in range(len(at)):
        groups[s] = listened[np.uint32(at[s])]
    for s in range(len(messages)):
        packets[s] = sent[np.uint32(messages[s])]
    for s in range(len(messages)):
        packet = packets[s]
        destinations[s] = destination[np.uint32(packet)] if packet >= 0 else packet
