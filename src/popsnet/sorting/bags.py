"""The bags of a binary tree: which wires are in which, and how they move."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Bag = npt.NDArray[np.int32]
Bags = list[list[Bag]]
"""By level and place; bag j of a level has the children 2j and 2j + 1 of the next."""


def put_in_root(wires: int, bottom: int) -> Bags:
    """All wires in the root of a tree of levels 0 … bottom."""
    bags: Bags = [[np.empty(0, np.int32)] * 2**level for level in range(bottom + 1)]
    bags[0][0] = np.arange(wires, dtype=np.int32)
    return bags


def is_settled(bags: Bags) -> bool:
    """Whether all wires are at the bottom."""
    return not any(len(bag) for level in bags[:-1] for bag in level)


def sizes_of(level: list[Bag]) -> dict[int, list[int]]:
    """The places of a level's bags by their size, empty ones left out."""
    places: dict[int, list[int]] = {}
    for place, bag in enumerate(level):
        if len(bag):
            places.setdefault(len(bag), []).append(place)
    return places


def move(bags: Bags, fringes: Mapping[int, int]) -> Bags:
    """Each bag of these levels sends its fringes to its parent, halves of the rest to its children.

    The root has no parent and sends everything down; the bottom has no children and keeps the
    rest. A bag no larger than both fringes goes to the parent as a whole.
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
    """How many go left, so that both subtrees come to the same number of wires, or nearly."""
    return min(max((rest + right - left + 1) // 2, 0), rest)


def _totals(bags: Bags) -> list[list[int]]:
    """The wires in every subtree."""
    totals = [[len(bag) for bag in level] for level in bags]
    for level in range(len(bags) - 2, -1, -1):
        below = totals[level + 1]
        for place in range(len(totals[level])):
            totals[level][place] += below[2 * place] + below[2 * place + 1]
    return totals
