"""The bag tree: a sorting network of logarithmic depth with random separators.

It follows Ajtai, Komlós and Szemerédi ("Sorting in c log n parallel steps", 1983), in the form of
Paterson ("Improved sorting networks with O(log N) depth", 1990) and Seiferas ("Sorting networks of
logarithmic depth, further simplified", 2009). Keys move down a binary tree of bags to the part of
the output they belong to; keys that look misplaced in a bag go back up.

Their theorem is that depth O(log n) is enough, for separators of a quality that is not checked here
and for constants far larger than these. That this network sorts is only tested. So a program that
uses it should check the result and fall back on a network that is proved to sort, as
``sort_certified`` does.

A halver compares two halves of a row of keys by h random matchings, which brings most keys to the
half they belong to. If the random matchings expand, as nearly all do, few keys are left in the
wrong half (Ajtai, Komlós, Szemerédi 1983). A separator halves the lowest and the highest part
again, until the extreme parts are as small as the wanted fringe (Paterson 1990).

Whether a matching expands is not checked: no fast way to do that is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from math import floor

import numpy as np
import numpy.typing as npt

from popsnet.base.errors import InputError
from popsnet.model.coins import Coins
from popsnet.model.slot import Ints
from popsnet.theory.sorting.batcher import merge_exchange, merge_exchange_depth, odd_even_merge
from popsnet.theory.sorting.comparators import ComparatorNetwork, ComparatorStage, standard_form

Bag = npt.NDArray[np.int32]
Bags = list[list[Bag]]
"""The bags by level and place; bag j of a level has the children 2j and 2j + 1 of the next."""

Pairs = tuple[Ints, Ints]

MATCHING = "bag tree matching"
"""The purpose of the coins that draw matchings."""


@dataclass(frozen=True)
class BagTree:
    """The constants of a bag tree; the defaults were found by trial.

    Examples
    --------
    >>> from popsnet.theory.sorting import BagTree, bag_tree
    >>> bag_tree(64, constants=BagTree(matchings=3)).depth < bag_tree(64).depth
    True
    """

    growth: float = 2.0
    """A: the ratio of a bag's capacity to that of its parent."""
    decay: float = 0.80
    """ν: the factor by which all capacities shrink in every step."""
    share: float = 1 / 16
    """λ: the part of its capacity that a bag sends back from either end."""
    rounding: float = 0.5
    """θ: added before a fringe is rounded down."""
    matchings: int = 5
    """h: the depth of a halver."""
    block: int = 32
    """The wires of a bag at the bottom, when all keys have arrived; a power of two."""

    def __post_init__(self) -> None:
        if not (self.growth > 1 and 0 < self.decay < 1 and 0 < self.share < 0.5):
            raise InputError(
                f"growth = {self.growth}, decay = {self.decay}, share = {self.share}: a bag tree "
                "needs growth > 1, 0 < decay < 1 and 0 < share < 1/2."
            )
        if not 0 <= self.rounding < 1:
            raise InputError(
                f"rounding = {self.rounding} must be at least 0 and below 1; otherwise the network "
                "would never end."
            )
        if self.matchings < 1 or self.block < 2 or self.block & (self.block - 1):
            raise InputError(
                f"matchings = {self.matchings}, block = {self.block}: a bag tree needs matchings "
                ">= 1 and a power of two >= 2 for block."
            )

    def fringe(self, wires: int, step: int, level: int) -> int:
        """Return how many keys a bag sends back from either end: ⌊λ·capacity + θ⌋."""
        capacity = wires * self.decay**step * self.growth**level
        return floor(self.share * capacity + self.rounding)


def bag_tree(n: int, seed: int = 0, constants: BagTree | None = None) -> ComparatorNetwork:
    """Build the bag-tree network, of depth about 124 log2 n - 609.

    Parameters
    ----------
    n : int
        The number of wires, any n ≥ 1.
    seed : int
        The random seed of the matchings. The depth does not depend on it.
    constants : BagTree, optional
        The constants of the construction.

    Returns
    -------
    ComparatorNetwork
        The network, which is tested but not proved to sort.

    Notes
    -----
    The network is built for the next power of two and cut to n wires. Up to ``constants.block``
    wires it is Batcher's merge exchange. Building it takes O(n log n) time and the memory of a few
    stages.

    Examples
    --------
    >>> from popsnet.theory.sorting import bag_tree
    >>> bag_tree(64).depth
    142
    """
    coins, constants = Coins(seed), constants or BagTree()
    if n <= constants.block:
        return ComparatorNetwork("bag-tree", n, lambda: merge_exchange(n))
    wires = 1 << (n - 1).bit_length()
    whole = ComparatorNetwork(
        "bag-tree", wires, lambda: standard_form(wires, _pairs(wires, coins, constants))
    )
    return whole.first(n)


def _pairs(wires: int, coins: Coins, constants: BagTree) -> Iterator[Pairs]:
    bottom = (wires // constants.block).bit_length() - 1
    matchings = Matchings(coins)
    bags, step = put_in_root(wires, bottom), 0
    while not is_settled(bags) or constants.fringe(wires, step, bottom):
        levels = range(step % 2, bottom + 1, 2)
        fringes = {level: constants.fringe(wires, step, level) for level in levels}
        yield from _step(bags, fringes, constants.matchings, matchings)
        bags = move(bags, fringes)
        step += 1
    yield from _clean_up(bags[bottom])


def _step(bags: Bags, fringes: dict[int, int], count: int, matchings: Matchings) -> Iterator[Pairs]:
    """Yield the separators of all bags of these levels, side by side; one per size of bag."""
    separators = []
    for level, fringe in fringes.items():
        wanted = fringe if level else 0
        for size in dict.fromkeys(len(bag) for bag in bags[level]):
            if size <= 2 * wanted or (level == len(bags) - 1 and not wanted):
                continue  # all go to the parent, or none goes anywhere
            table = np.stack([bag for bag in bags[level] if len(bag) == size])
            separators.append(_on_rows(table, separator(size, wanted, count, matchings)))
    for together in zip_longest(*separators):
        yield _together([pairs for pairs in together if pairs is not None])


def _together(parts: list[Pairs]) -> Pairs:
    low, high = map(np.concatenate, zip(*parts, strict=True))
    return low, high


def _on_rows(table: Bag, stages: Iterable[Pairs]) -> Iterator[Pairs]:
    """Turn stages on positions into stages on the wires of every row."""
    for low, high in stages:
        yield table[:, low].ravel(), table[:, high].ravel()


def _pairs_of(stages: Iterable[ComparatorStage]) -> Iterator[Pairs]:
    return ((stage.low, stage.high) for stage in stages)


def _clean_up(blocks: list[Bag]) -> Iterator[Pairs]:
    """Sort every block, then merge each block with both of its neighbours."""
    if len({len(block) for block in blocks}) > 1:
        raise InputError(
            "With these constants of the bag tree the blocks at the bottom have different sizes; "
            "choose other constants."
        )
    block, wires = len(blocks[0]), np.concatenate(blocks)
    yield from _on_rows(wires.reshape(-1, block), _pairs_of(merge_exchange(block)))
    for start in (0, block):
        twos = wires[start : len(wires) - start].reshape(-1, 2 * block)
        yield from _on_rows(twos, _pairs_of(odd_even_merge(block))) if len(twos) else ()


def put_in_root(wires: int, bottom: int) -> Bags:
    """Put all wires in the root of a tree of levels 0 … bottom."""
    bags: Bags = [[np.empty(0, np.int32)] * 2**level for level in range(bottom + 1)]
    bags[0][0] = np.arange(wires, dtype=np.int32)
    return bags


def is_settled(bags: Bags) -> bool:
    """Return whether all wires are at the bottom."""
    return not any(len(bag) for level in bags[:-1] for bag in level)


def move(bags: Bags, fringes: Mapping[int, int]) -> Bags:
    """Move the fringes of each bag of these levels to its parent, and the rest to its children.

    Each child gets half of the rest. The root has no parent and sends everything down; a bag at the
    bottom has no children and keeps the rest. A bag that is no larger than both fringes goes to the
    parent as a whole.
    """
    totals = _totals(bags)
    parts = [
        [[bag[:0] if level in fringes else bag] for bag in row] for level, row in enumerate(bags)
    ]
    for level, fringe in fringes.items():
        for place, bag in enumerate(bags[level]):
            low, rest, high = _split(bag, fringe if level else 0)
            if level:
                parts[level - 1][place // 2] += [low, high]
            if level == len(bags) - 1:
                parts[level][place].append(rest)
                continue
            left, right = 2 * place, 2 * place + 1
            middle = _middle(len(rest), totals[level + 1][left], totals[level + 1][right])
            parts[level + 1][left].append(rest[:middle])
            parts[level + 1][right].append(rest[middle:])
    return [[np.concatenate(bag) for bag in row] for row in parts]


def _split(bag: Bag, fringe: int) -> tuple[Bag, Bag, Bag]:
    if len(bag) <= 2 * fringe:
        return bag, bag[:0], bag[:0]
    return bag[:fringe], bag[fringe : len(bag) - fringe], bag[len(bag) - fringe :]


def _middle(rest: int, left: int, right: int) -> int:
    """Return how many wires go left, so that both subtrees get nearly the same number."""
    return min(max((rest + right - left + 1) // 2, 0), rest)


def _totals(bags: Bags) -> list[list[int]]:
    """Count the wires in every subtree."""
    totals = [[len(bag) for bag in level] for level in bags]
    for level in range(len(bags) - 2, -1, -1):
        below = totals[level + 1]
        for place in range(len(totals[level])):
            totals[level][place] += below[2 * place] + below[2 * place + 1]
    return totals


@dataclass
class Matchings:
    """A sequence of random matchings, the same for the same coins."""

    coins: Coins
    drawn: int = 0

    def draw(self, low: int, middle: int, high: int) -> Pairs:
        """Draw a maximal matching of positions in [low, middle) and [middle, high)."""
        words = self.coins.words(MATCHING, self.drawn, np.arange(low, high, dtype=np.int32))
        self.drawn += 1
        first = low + np.argsort(words[: middle - low])
        second = middle + np.argsort(words[middle - low :])
        pairs = min(len(first), len(second))
        return first[:pairs], second[:pairs]


def halvings(m: int, fringe: int) -> int:
    """Return how often m keys are halved until the extreme parts are no larger than the fringe."""
    return max(1, (-(-m // fringe) - 1).bit_length()) if fringe else 1


def separator(m: int, fringe: int, count: int, matchings: Matchings) -> Iterator[Pairs]:
    """Yield stages on positions 0 … m - 1 that bring the smallest and largest keys to the ends.

    Each halving is ``count`` matchings deep. If Batcher's network is not deeper, it is used instead
    and sorts all m keys.
    """
    times = halvings(m, fringe)
    if merge_exchange_depth(m) <= times * count:
        yield from _pairs_of(merge_exchange(m))
        return
    part = m // 2
    for _ in range(count):
        yield matchings.draw(0, part, m)
    for _ in range(times - 1):
        for _ in range(count):
            low = matchings.draw(0, part // 2, part)
            high = matchings.draw(m - part, m - part // 2, m)
            yield _together([low, high])
        part //= 2
