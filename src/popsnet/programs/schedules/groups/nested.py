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

from typing import NamedTuple

import numpy as np

from popsnet.base.compiled import compiled
from popsnet.model.network import I32, I64, U8

NO_SET = -1
_UNSEEN = 2
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
    rest, begins = counts.copy(), np.cumsum(counts) - counts
    dealt = np.empty(counts.sum(), dtype=np.int32)
    base = 0
    while slots > base and len(counts):
        power = 1 << ((slots - base).bit_length() - 1)
        part = rest if base + power == slots else _round_share(rest, sets, power, slots - base)
        room = np.empty((2, power.bit_length(), len(counts)), dtype=np.int64)
        _halve(part, sets, base, begins, dealt, room, _space(sets))
        rest = rest - part
        base += power
    return dealt


def _round_share(counts: I64, sets: I32, power: int, slots: int) -> I64:
    """Return power/slots of every count, rounded so that the sums of all sets are rounded too."""
    items = len(counts)
    bits = (4 * items * slots).bit_length()
    if bits > _BITS:
        raise AssertionError(f"{items} items and {slots} slots need {bits} bits")
    share, missing = np.divmod(counts * power, slots)
    high, low = np.divmod(missing << _BITS // 2, slots)
    last = (high << _BITS // 2 | (low << _BITS // 2) // slots) >> (_BITS - bits)
    parts = missing
    for family in range(4):
        names = sets[family]
        here = np.flatnonzero(names != NO_SET)
        whole, near = np.zeros((2, 1 + names.max()), dtype=np.int64)
        np.add.at(whole, names[here], parts[here])
        np.add.at(near, names[here], last[here])
        outer = np.full(len(whole), NO_SET, dtype=np.int32)
        outer[names[here]] = sets[family | 1, here]
        short = (whole // slots << bits) - near
        blank = np.flatnonzero((whole % slots == 0) & (short > 0))
        more = np.full((4, len(blank)), NO_SET, dtype=np.int32)
        more[family], more[family | 1] = blank, outer[blank] if family % 2 == 0 else blank
        sets = np.concatenate((sets, more), axis=1)
        last = np.concatenate((last, short[blank]))
        parts = np.concatenate((parts, np.zeros(len(blank), dtype=np.int64)))
    _round_bits(last, sets, items, bits, _space(sets))
    rounded: I64 = share + last[:items]
    return rounded


class _Space(NamedTuple):
    """What :func:`_divide` works in: who waits in each set, then partners, then sides."""

    waiting: I32
    walks: I32
    sides: U8


def _space(sets: I32) -> _Space:
    waiting, items = np.full((4, 1 + sets.max()), NO_SET, dtype=np.int32), sets.shape[1]
    return _Space(waiting, np.empty((4, items), np.int32), np.empty(items, np.uint8))


@compiled
def _round_bits(last: I64, sets: I32, items: int, bits: int, space: _Space) -> None:
    """Divide numbers by 2^bits, one bit at a time."""
    odd, sides = space.walks[3], space.sides
    for _ in range(bits):
        number = 0
        for i in range(len(last)):
            if last[i] & 1:
                odd[number] = i
                number += 1
            last[i] >>= 1
        _divide(number, sets, items, space)
        for k in range(number):
            last[odd[k]] += sides[k]


@compiled
def _halve(
    counts: I64, sets: I32, base: int, begins: I64, dealt: I32, room: I64, space: _Space
) -> None:
    """Deal to a power of two slots; ``begins`` is moved on by the packets that were dealt.

    ``room`` has items and their packets at each depth.
    """
    numbers, left, levels, odd = room[0], room[1], room.shape[1], space.walks[3]
    size, turn = np.zeros(levels, dtype=np.int64), np.zeros(levels, dtype=np.int64)
    for i in range(len(counts)):
        if counts[i]:
            numbers[0, size[0]], left[0, size[0]] = i, counts[i]
            size[0] += 1
    depth, slot = 0, base
    while depth >= 0:
        number = 0
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
            for k in range(size[depth]):
                if left[depth, k]:
                    numbers[depth + 1, number] = numbers[depth, k]
                    left[depth + 1, number] = left[depth, k]
                    number += 1
            depth += 1
            size[depth] = number
        else:
            turn[depth] = 1
            for k in range(size[depth]):
                if left[depth, k] & 1:
                    odd[number] = numbers[depth, k]
                    number += 1
            _divide(number, sets, len(counts), space)
            side, number = 0, 0
            for k in range(size[depth]):
                more = left[depth, k] >> 1
                if left[depth, k] & 1:
                    more += space.sides[side]
                    side += 1
                if more:
                    numbers[depth + 1, number], left[depth + 1, number] = numbers[depth, k], more
                    number += 1
                    left[depth, k] -= more
            depth += 1
            size[depth] = number


@compiled
def _divide(number: int, sets: I32, items: int, space: _Space) -> None:
    """Divide the items ``walks[3]`` in two: no set has two more in one part than in the other.

    The first part has side 1. It gets at most half of the blanks, which are numbered from
    ``items`` on, and the parts are about equal.
    """
    waiting, walks, sides = space
    odd, walk = walks[3], walks[2]
    for hand in range(2):
        partner = walks[hand]
        for k in range(number):
            partner[k] = NO_SET
        for family in (2 * hand, 2 * hand + 1):
            alone, names = waiting[family], sets[family]
            for k in range(number):
                s = names[odd[k]]
                if s != NO_SET and partner[k] == NO_SET:
                    other = alone[s]
                    if other == NO_SET:
                        alone[s] = k
                    else:
                        partner[k], partner[other] = other, k
                        alone[s] = NO_SET
            for k in range(number):
                s = names[odd[k]]
                if s != NO_SET:
                    alone[s] = NO_SET
    for k in range(number):
        sides[k] = _UNSEEN
    surplus = 0
    for k in range(number):
        if sides[k] != _UNSEEN:
            continue
        walk[0], sides[k], length = k, 1, 1
        for hand in range(2):
            turn, side, at = hand, 0, k
            while True:
                at = walks[turn, at]
                if at == NO_SET or sides[at] != _UNSEEN:
                    break
                sides[at] = side
                walk[length] = at
                length += 1
                turn, side = 1 - turn, 1 - side
        blanks, more = 0, 0
        for j in range(length):
            sign = 2 * int(sides[walk[j]]) - 1
            more += sign
            if odd[walk[j]] >= items:
                blanks += sign
        if blanks > 0 or (blanks == 0 and more * surplus > 0):
            more = -more
            for j in range(length):
                sides[walk[j]] = 1 - sides[walk[j]]
        surplus += more
