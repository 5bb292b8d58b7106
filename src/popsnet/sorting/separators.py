"""Separators: a few random matchings that move the smallest and the largest of m keys outwards.

A halver compares two halves of a row of keys by h random matchings: most keys end up in the half
they belong to. Where random matchings expand, as nearly all do, few are left in the wrong one
(Ajtai, Komlós, Szemerédi, "Sorting in c log n parallel steps", 1983). A separator halves again what
came out lowest and highest, until the extreme parts are as small as the fringe that is wanted
(Paterson, "Improved sorting networks with O(log N) depth", 1990).

Whether a matching that was drawn expands is not checked: nobody knows how to do that quickly.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from popsnet.coins import Coins
from popsnet.slot import Ints
from popsnet.sorting.batcher import merge_exchange, merge_exchange_depth

MATCHING = "bag tree matching"
"""The purpose of the coins that matchings are drawn by."""

Pairs = tuple[Ints, Ints]


@dataclass
class Matchings:
    """Random matchings, one after the other: the same ones for the same seed."""

    coins: Coins
    drawn: int = 0

    def draw(self, low: int, middle: int, high: int) -> Pairs:
        """Pairs of positions in [low, middle) and [middle, high), as many as there can be."""
        words = self.coins.words(MATCHING, self.drawn, np.arange(low, high, dtype=np.int32))
        self.drawn += 1
        first = low + np.argsort(words[: middle - low])
        second = middle + np.argsort(words[middle - low :])
        pairs = min(len(first), len(second))
        return first[:pairs], second[:pairs]


def halvings(m: int, fringe: int) -> int:
    """How often m keys are halved until the extreme parts have at most the size of the fringe."""
    if fringe == 0:
        return 1
    return max(1, (-(-m // fringe) - 1).bit_length())


def separator(m: int, fringe: int, count: int, matchings: Matchings) -> Iterator[Pairs]:
    """Stages on positions 0 … m - 1 that bring the fringes, smallest and largest, to the ends.

    Each halving is ``count`` matchings deep. Where Batcher's network is not deeper, it is used
    instead, and m keys are sorted.
    """
    times = halvings(m, fringe)
    if merge_exchange_depth(m) <= times * count:
        for stage in merge_exchange(m):
            yield stage.low, stage.high
        return
    part = m // 2
    for _ in range(count):
        yield matchings.draw(0, part, m)
    for _ in range(times - 1):
        for _ in range(count):
            yield _outwards(m, part, matchings)
        part //= 2


def _outwards(m: int, part: int, matchings: Matchings) -> Pairs:
    """Halve the lowest and the highest ``part`` of m positions once."""
    low = matchings.draw(0, part // 2, part)
    high = matchings.draw(m - part, m - part // 2, m)
    return np.concatenate((low[0], high[0])), np.concatenate((low[1], high[1]))
