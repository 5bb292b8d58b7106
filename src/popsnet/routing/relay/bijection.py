"""The public bijections: random-looking permutations of [0, size), one a group, from one seed.

A processor that has heard the seed can evaluate them anywhere in constant time, so that a source, a
relay and a destination agree on a packet's way without talking. A value goes through eight rounds
of multiplying by an odd number, adding and folding the upper half of its bits onto the lower,
modulo the smallest 2^m ≥ size, 32 at least: each of them a bijection. What falls outside [0, size)
goes through again (cycle walking), less than twice on average for sizes above 16.

The key depends on the group. With one permutation for all groups, packets that meet once meet for
ever; the tests show it.

Where d = g, only the first four bijections are drawn afresh. Each later one is the one before it,
turned: group b's places are moved on by r(b), modulo g, r a public permutation of the groups. Two
packets that have just met, which are for different groups, then go different ways for certain,
where fresh bijections would bring them together again with probability 1/g. Late in a run that is
the likeliest way to fail, for packets are few and fail in pairs.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
import numpy.typing as npt

from popsnet.coins import Coins
from popsnet.compiled import compiled
from popsnet.slot import Ints

CELLS = "relay cells"
"""The purpose of the words that public bijections are made of."""

ROUNDS = 8
FEWEST_BITS = 5
"""Pairs of places are uniform over a million keys. With four rounds they are not for sizes 22 to
24 and 64, say, nor with eight on fewer bits."""

FRESH = 4
"""Bijections from this number on are turned, where d = g."""

_32 = np.uint64(32)
U64 = npt.NDArray[np.uint64]


class Bijection:
    """Bijection number ``number`` of the seed: of [0, size) for each group."""

    def __init__(self, seed: int, number: int, groups: int, size: int) -> None:
        self.size = size
        self._multipliers = multipliers(seed, number, groups)
        self._turn = np.zeros(groups, dtype=np.int32)

    def __call__(self, groups: Ints, values: Ints) -> npt.NDArray[np.int32]:
        """The place of each value under the bijection of its group."""
        places = np.empty(len(values), dtype=np.int32)
        bits = max((self.size - 1).bit_length(), FEWEST_BITS)
        _write_places(self._multipliers, self._turn, groups, values, self.size, bits, places)
        return places

    def turned(self, turn: Ints) -> Bijection:
        """The same, with the places of each group moved on."""
        other = copy(self)
        other._turn = ((self._turn + turn) % self.size).astype(np.int32)
        return other


def multipliers(seed: int, number: int, groups: int) -> U64:
    """What the rounds multiply by and add: a row for each group."""
    words = Coins(seed).words(CELLS, number, np.arange(groups * ROUNDS))
    return (words | np.uint64(1)).reshape(groups, ROUNDS)


@compiled(inline=True)
def place(
    row: U64, value: np.uint64, size: np.uint64, mask: np.uint64, half: np.uint64
) -> np.uint64:
    """Where one value goes, given the row of its group; mask = 2^m - 1, half = ⌈m / 2⌉."""
    x = value
    while True:
        for r in range(ROUNDS):
            x = (x * row[r] + (row[r] >> _32)) & mask
            x ^= x >> half
        if x < size:
            return x


@compiled
def _write_places(
    rows: U64,
    turn: npt.NDArray[np.int32],
    groups: npt.NDArray[np.integer[Any]],
    values: npt.NDArray[np.integer[Any]],
    size: int,
    bits: int,
    places: npt.NDArray[np.int32],
) -> None:
    mask, half = np.uint64((1 << bits) - 1), np.uint64((bits + 1) // 2)
    for q in range(len(values)):
        at = place(rows[groups[q]], np.uint64(values[q]), np.uint64(size), mask, half)
        moved = np.int64(at) + turn[groups[q]]
        places[q] = moved if moved < size else moved - size
