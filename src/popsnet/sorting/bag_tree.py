"""A network of logarithmic depth that can be built: the bag tree, with random separators.

It is of the kind of Ajtai, Komlós and Szemerédi ("Sorting in c log n parallel steps", 1983), in
the form of Paterson ("Improved sorting networks with O(log N) depth", 1990) and Seiferas ("Sorting
networks of logarithmic depth, further simplified", 2009). Keys trickle down a binary tree of bags
to the part of the output they belong to; what looks misplaced in a bag goes back up.

That O(log n) is enough is their theorem, for separators of a quality that is not checked here, and
for constants far larger than these. That this network sorts is only tested. So whoever uses it
looks at the result, and has a network that is proved at hand: see ``certified``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from math import floor

import numpy as np

from popsnet.coins import Coins
from popsnet.errors import InputError
from popsnet.slot import Ints
from popsnet.sorting.bags import Bag, Bags, is_settled, move, put_in_root, sizes_of
from popsnet.sorting.batcher import merge_exchange, odd_even_merge
from popsnet.sorting.comparators import ComparatorNetwork, standard_form
from popsnet.sorting.separators import Matchings, separator

Pairs = tuple[Ints, Ints]


@dataclass(frozen=True)
class BagTree:
    """The constants of a bag tree; the defaults were found by trial."""

    growth: float = 2.0
    """A: a bag may hold so many times what its parent may."""
    decay: float = 0.80
    """ν: all capacities shrink by it in every step."""
    share: float = 1 / 16
    """λ: the part of its capacity that a bag sends back from either end."""
    rounding: float = 0.5
    """θ: added before a fringe is rounded down."""
    matchings: int = 5
    """h: the depth of a halver."""
    block: int = 32
    """The wires of a bag at the bottom, when all have arrived; a power of two."""

    def __post_init__(self) -> None:
        if not (self.growth > 1 and 0 < self.decay < 1 and 0 < self.share < 0.5):
            raise InputError("a bag tree needs growth > 1, 0 < decay < 1, 0 < share < 1/2.")
        if not 0 <= self.rounding < 1:
            raise InputError(f"rounding = {self.rounding}: with 1 or more it would never end.")
        if self.matchings < 1 or self.block < 2 or self.block & (self.block - 1):
            raise InputError("a bag tree needs matchings >= 1, and block a power of two >= 2.")

    def fringe(self, wires: int, step: int, level: int) -> int:
        """How many keys a bag sends back from either end: ⌊λ·capacity + θ⌋."""
        capacity = wires * self.decay**step * self.growth**level
        return floor(self.share * capacity + self.rounding)


def bag_tree(n: int, seed: int = 0, constants: BagTree | None = None) -> ComparatorNetwork:
    """The bag-tree network on n wires, any n; depth about 124 log2 n - 600.

    It is made for the next power of two and cut. Up to ``block`` wires it is Batcher's network.
    The depth does not depend on the seed. Making it takes O(n log n) time and the memory of a
    few stages.
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
    """The separators of all bags of these levels, side by side; one for all bags of a size."""
    separators = []
    for level, fringe in fringes.items():
        wanted = fringe if level else 0
        for size, places in sizes_of(bags[level]).items():
            if size <= 2 * wanted or (level == len(bags) - 1 and not wanted):
                continue  # all go to the parent, or none goes anywhere
            table = np.stack([bags[level][place] for place in places])
            separators.append(_on_rows(table, separator(size, wanted, count, matchings)))
    for together in zip_longest(*separators):
        pairs = [one for one in together if one is not None]
        yield np.concatenate([low for low, _ in pairs]), np.concatenate([high for _, high in pairs])


def _on_rows(table: Bag, stages: Iterable[Pairs]) -> Iterator[Pairs]:
    """Stages on positions, as stages on the wires of every row."""
    for low, high in stages:
        yield table[:, low].ravel(), table[:, high].ravel()


def _clean_up(blocks: list[Bag]) -> Iterator[Pairs]:
    """Sort every block, then merge each with the one before it or after it, and with the other."""
    if len({len(block) for block in blocks}) > 1:
        raise InputError("with these constants the blocks have different sizes; choose others.")
    block = len(blocks[0])
    wires = np.concatenate(blocks)
    sort = ((stage.low, stage.high) for stage in merge_exchange(block))
    yield from _on_rows(wires.reshape(-1, block), sort)
    for start in (0, block):
        twos = wires[start : len(wires) - start].reshape(-1, 2 * block)
        merge = ((stage.low, stage.high) for stage in odd_even_merge(block))
        yield from _on_rows(twos, merge) if len(twos) else ()
