"""Deal packets to slots so that every set of two nested families is dealt evenly.

An item has a number of equal packets, and belongs to sets: on the left to an inner and an outer
set, on the right as well. Inner sets are parts of outer ones. With T slots, every item, every inner
and every outer set has ⌊x/T⌋ or ⌈x/T⌉ of its x packets in each slot. For items that are the cells
of a matrix, with its rows on the left and its columns on the right, this is a balanced colouring of
the edges of a bipartite multigraph (de Werra, 1971).

**Two slots.** Each item gives half of its packets to either slot. The items with one left over are
paired in every inner set, and those that stay alone are paired in the outer set. Every item then
has at most one partner on the left and one on the right: walks along partners are paths and even
cycles, and the two slots get its items alternately. **2^k slots**: halve k times. **Other T**: with
the largest power of two p < T, round the share p/T of every item so that the sums of all sets are
rounded up or down too, and deal the rest to T - p slots. The share is rounded bit by bit from the
last one: items with an odd bit are paired, and one half of them is rounded up. A set whose share is
whole must keep it, although the bits of its items add up to a little less. A blank item makes up
for that. Of the blanks at most half are rounded up, and so none is left after the first bit.

The time is O(log T) per item that still has packets, and O(m log T) at most for m packets.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from popsnet.compiled import compiled

I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]

NO_SET = -1
_BITS = 48
"""The most bits of a rounded share, of which 4·items·slots uses its logarithm."""


def deal_evenly(counts: I64, sets: I32, slots: int) -> I32:
    """Return the slot of every packet, item by item and in order for each item.

    Parameters
    ----------
    counts : array of int64
        The packets of every item.
    sets : array of int32, shape (4, items)
        The inner and outer set on the left and the same on the right; an inner set may be
        ``NO_SET``.
    slots : int
        The number of slots, at least 1.
    """
    bits = int(4 * max(1, len(counts)) * slots).bit_length()
    if bits > _BITS:
        raise AssertionError(f"{len(counts)} items and {slots} slots need {bits} bits")
    return _deal(counts, sets, np.int64(slots), np.int64(bits))


@compiled
def _deal(counts: I64, sets: I32, slots: int, bits: int) -> I32:
    rest, begins = counts.copy(), np.cumsum(counts) - counts
    dealt = np.empty(counts.sum(), dtype=np.int32)
    base = 0
    while slots > 0:
        power = 1
        while 2 * power <= slots:
            power *= 2
        part = rest if power == slots else _round_share(rest, sets, power, slots, bits)
        _halve(part, sets, power, base, begins, dealt)
        if power < slots:
            rest = rest - part
        base += power
        slots -= power
    return dealt


@compiled
def _round_share(counts: I64, sets: I32, power: int, slots: int, bits: int) -> I64:
    """Return power/slots of every count, rounded so that the sums of all sets are rounded too."""
    items, half = len(counts), _BITS // 2
    exact = counts * power
    share = exact // slots
    last = np.zeros(items + 4 * items, dtype=np.int64)
    for i in range(items):
        high, low = divmod(exact[i] % slots << half, slots)
        last[i] = (high << half | (low << half) // slots) >> (_BITS - bits)
    every = np.full((4, 5 * items), NO_SET, dtype=np.int32)
    every[:, :items] = sets
    end = items
    for family in range(4):
        number = sets[family].max() + 1 if items else 0
        whole, near = np.zeros(number, dtype=np.int64), np.zeros(number, dtype=np.int64)
        outer = np.full(number, NO_SET, dtype=np.int32)
        for i in range(end):
            s = every[family, i]
            if s != NO_SET:
                near[s] += last[i]
                outer[s] = every[family | 1, i]
                if i < items:
                    whole[s] += exact[i] % slots
        for s in range(number):
            short = (whole[s] // slots << bits) - near[s]
            if whole[s] % slots == 0 and short > 0:
                every[family, end] = s
                every[family | 1, end] = outer[s]
                last[end] = short
                end += 1
    scratch = np.full((4, max(1, sets.max() + 1)), NO_SET, dtype=np.int32)
    walks = np.empty((3, end), dtype=np.int32)
    odd, sides = np.empty(end, dtype=np.int32), np.empty(end, dtype=np.uint8)
    for _ in range(bits):
        number = 0
        for i in range(end):
            if last[i] & 1:
                odd[number] = i
                number += 1
            last[i] >>= 1
        _divide(odd[:number], every, items, scratch, walks, sides)
        for k in range(number):
            last[odd[k]] += sides[k]
    return share + last[:items]


@compiled
def _halve(counts: I64, sets: I32, power: int, base: int, begins: I64, dealt: I32) -> None:
    """Deal to a power of two slots; ``begins`` is moved on by the packets that were dealt."""
    levels = 1
    while 1 << (levels - 1) < power:
        levels += 1
    items = len(counts)
    numbers, left = np.empty((levels, items), dtype=np.int32), np.empty((levels, items), np.int64)
    size, turn = np.zeros(levels, dtype=np.int64), np.zeros(levels, dtype=np.int64)
    scratch = np.full((4, max(1, sets.max() + 1 if items else 1)), NO_SET, dtype=np.int32)
    walks = np.empty((3, items), dtype=np.int32)
    odd, sides = np.empty(items, dtype=np.int32), np.empty(items, dtype=np.uint8)
    for i in range(items):
        if counts[i]:
            numbers[0, size[0]], left[0, size[0]] = i, counts[i]
            size[0] += 1
    depth, slot = 0, base
    while depth >= 0:
        if depth == levels - 1:
            for k in range(size[depth]):
                i = numbers[depth, k]
                dealt[begins[i]] = slot
                begins[i] += 1
            slot += 1
            depth -= 1
        elif turn[depth] == 2:
            turn[depth] = 0
            depth -= 1
        elif turn[depth] == 1:  # the second half is what the first has left
            turn[depth] = 2
            number = 0
            for k in range(size[depth]):
                if left[depth, k]:
                    numbers[depth + 1, number] = numbers[depth, k]
                    left[depth + 1, number] = left[depth, k]
                    number += 1
            size[depth + 1] = number
            depth += 1
        else:
            turn[depth] = 1
            number = 0
            for k in range(size[depth]):
                if left[depth, k] & 1:
                    odd[number] = numbers[depth, k]
                    number += 1
            _divide(odd[:number], sets, items, scratch, walks, sides)
            given, number = 0, 0
            for k in range(size[depth]):
                more = left[depth, k] >> 1
                if left[depth, k] & 1:
                    more += sides[given]
                    given += 1
                if more:
                    numbers[depth + 1, number], left[depth + 1, number] = numbers[depth, k], more
                    number += 1
                    left[depth, k] -= more
            size[depth + 1] = number
            depth += 1


@compiled
def _divide(
    odd: I32, sets: I32, items: int, scratch: I32, walks: I32, sides: npt.NDArray[np.uint8]
) -> None:
    """Divide items in two so that no set has two more in one part than in the other.

    The first part has side 1. It gets at most half of the blanks, which are numbered from
    ``items`` on, and the parts are about equal.
    """
    number = len(odd)
    for hand in range(2):
        partner = walks[hand]
        for k in range(number):
            partner[k] = NO_SET
        for family in (2 * hand, 2 * hand + 1):
            waiting, names = scratch[family], sets[family]
            for k in range(number):
                s = names[odd[k]]
                if s != NO_SET and partner[k] == NO_SET:
                    other = waiting[s]
                    if other == NO_SET:
                        waiting[s] = k
                    else:
                        partner[k], partner[other] = other, k
                        waiting[s] = NO_SET
            for k in range(number):
                s = names[odd[k]]
                if s != NO_SET:
                    waiting[s] = NO_SET
    walk, unseen = walks[2], np.uint8(2)
    sides[:number] = unseen
    surplus = 0
    for k in range(number):
        if sides[k] != unseen:
            continue
        walk[0], sides[k], length = k, 1, 1
        for hand in range(2):
            turn, side, at = hand, 0, k
            while True:
                at = walks[turn, at]
                if at == NO_SET or sides[at] != unseen:
                    break
                sides[at] = side
                walk[length] = at
                length += 1
                turn, side = 1 - turn, 1 - side
        blanks, more = 0, 0
        for j in range(length):
            sign = 2 * np.int64(sides[walk[j]]) - 1
            more += sign
            if odd[walk[j]] >= items:
                blanks += sign
        if blanks > 0 or (blanks == 0 and more * surplus > 0):
            more = -more
            for j in range(length):
                sides[walk[j]] = 1 - sides[walk[j]]
        surplus += more
