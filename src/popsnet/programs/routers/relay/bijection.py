"""Public bijections: pseudorandom permutations of [0, size), one per group, from one seed.

A processor that has heard the seed can evaluate them anywhere in constant time, so a source, a
relay and a destination agree on the way of a packet without exchanging messages. A value goes
through eight rounds of multiplying by an odd number, adding, and folding the upper half of its bits
onto the lower, modulo the smallest 2^m ≥ size, at least 32: each round is a bijection. A value
outside [0, size) goes through again (cycle walking), less than twice on average for sizes above 16.

The key depends on the group. With one permutation for all groups, packets that meet once would
meet in every stage, as the tests show.

If d = g, only the first four bijections are drawn afresh. Each later one is the one before it,
turned: the places of group b are shifted by r(b), modulo g, where r is a public permutation of the
groups. Two packets that have just met, which are for different groups, then certainly take
different ways, while fresh bijections would bring them together again with probability 1/g. Late in
a run that is the most likely way to fail, because packets are few and fail in pairs.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
import numpy.typing as npt

from popsnet.base.compiled import compiled
from popsnet.model.coins import Coins
from popsnet.model.network import I32, U64
from popsnet.model.slot import Ints

CELLS = "relay cells"
"""The purpose of the words from which public bijections are made."""

ROUNDS = 8
FEWEST_BITS = 5
"""With these, pairs of places are uniform over a million keys. With four rounds they are not, for
sizes 22 to 24 and 64 for example, nor with eight rounds on fewer bits."""

FRESH = 4
"""If d = g, bijections from this number on are turned."""

_32 = np.uint64(32)


class Bijection:
    """A bijection of [0, size) for each group, given by a seed and a number.

    Parameters
    ----------
    seed : int
        The public seed.
    number : int
        The number of the bijection in the run.
    groups : int
        The number of groups.
    size : int
        The number of places.

    Examples
    --------
    >>> import numpy as np
    >>> from popsnet.programs.routers.relay import Bijection
    >>> places = Bijection(seed=1, number=0, groups=2, size=4)
    >>> sorted(places(np.zeros(4, dtype=np.int32), np.arange(4)).tolist())
    [0, 1, 2, 3]
    """

    def __init__(self, seed: int, number: int, groups: int, size: int) -> None:
        self.size = size
        self._multipliers = multipliers(seed, number, groups)
        self._turn = np.zeros(groups, dtype=np.int32)

    def __call__(self, groups: Ints, values: Ints) -> I32:
        """Return the place of each value under the bijection of its group."""
        places = np.empty(len(values), dtype=np.int32)
        bits = max((self.size - 1).bit_length(), FEWEST_BITS)
        _write_places(self._multipliers, self._turn, groups, values, self.size, bits, places)
        return places

    def turned(self, turn: Ints) -> Bijection:
        """Return the same bijection with the places of each group shifted."""
        other = copy(self)
        other._turn = ((self._turn + turn) % self.size).astype(np.int32)
        return other


def multipliers(seed: int, number: int, groups: int) -> U64:
    """Return the numbers by which the rounds multiply and which they add, a row per group."""
    words = Coins(seed).words(CELLS, number, np.arange(groups * ROUNDS))
    return (words | np.uint64(1)).reshape(groups, ROUNDS)


@compiled(inline=True)
def place(
    row: U64, value: np.uint64, size: np.uint64, mask: np.uint64, half: np.uint64
) -> np.uint64:
    """Return the place of a value by the row of its group, mask = 2^m - 1, half = ⌈m / 2⌉."""
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
    turn: I32,
    groups: npt.NDArray[np.integer[Any]],
    values: npt.NDArray[np.integer[Any]],
    size: int,
    bits: int,
    places: I32,
) -> None:
    mask, half = np.uint64((1 << bits) - 1), np.uint64((bits + 1) // 2)
    for q in range(len(values)):
        at = place(rows[groups[q]], np.uint64(values[q]), np.uint64(size), mask, half)
        moved = np.int64(at) + turn[groups[q]]
        places[q] = moved if moved < size else moved - size
