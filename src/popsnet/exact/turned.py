"""Stages of relay with turned bijections: for d = g, all stages from the fifth on.

The fifth bijection is the fourth, shifted by r(b) modulo g for each group b, where r is a
permutation of the groups, and so on. The next state depends on the places of packets, so from the
fourth stage on places are part of the state: a line for each destination group as before, with a
column for each source group and place, source · g + place. All r are equally likely. So nothing
changes if groups are renamed, if all places are shifted together, or if all places are multiplied
by a unit modulo g.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import permutations, product
from math import factorial, gcd
from operator import itemgetter
from typing import TypeAlias

from popsnet.exact.state import Line, State, Weights
from popsnet.exact.transition import EMPTY, Cells, Transition, add_line, choose_by_bijection

FRESH = 4
"""This many stages have bijections of their own."""

Packet: TypeAlias = tuple[int, int, int]
"""Destination group, source group, place."""


def place(state: State) -> Transition:
    """Return the outcome of the last fresh stage, with the places of the packets that are left.

    Cells are kept sorted while lines are combined, and are then given every order. If all packets
    of a source group are for one destination group, they meet no other.
    """
    g, total = len(state), factorial(len(state) - 1)
    filled: Counter[tuple[Cells, ...]] = Counter({((),) * g: 1})
    sums = [sum(column) for column in zip(*state, strict=True)]
    for line in state:
        crowded = tuple(n if n < of_all else 0 for n, of_all in zip(line, sums, strict=True))
        distribution = choose_by_bijection(crowded, g)
        filled = add_line(filled, distribution, lambda cell, end: (*cell, end))
        total *= distribution.total
    met: Counter[tuple[Cells, ...]] = Counter()
    for cells, weight in filled.items():
        met[tuple(sorted(map(_those_that_met, cells)))] += weight
    weights: Counter[State] = Counter()
    for cells, weight in met.items():
        for order in permutations(range(1, g)):
            weights[_table(g, _packets(cells, (0, *order)))] += weight
    return Weights(dict(weights), total)


@cache
def _those_that_met(cell: Cells) -> Cells:
    return tuple(end if cell.count(end) > 1 else EMPTY for end in cell)


def _packets(cells: Sequence[Cells], places: Sequence[int]) -> Iterable[Packet]:
    for cell, at in zip(cells, places, strict=True):
        yield from ((line, end, at) for line, end in enumerate(cell) if end != EMPTY)


@cache
def turn(state: State) -> Transition:
    """Return the outcome of a turned stage, with one case for each permutation r."""
    g = len(state)
    packets = [
        (line, *divmod(column, g))
        for line, row in enumerate(state)
        for column, here in enumerate(row)
        if here
    ]
    weights: Counter[State] = Counter()
    for r in permutations(range(g)):
        moved = [(line, source, (at + r[line]) % g) for line, source, at in packets]
        crowd = Counter((source, at) for _, source, at in moved)
        weights[_table(g, (one for one in moved if crowd[one[1:]] > 1))] += 1
    return Weights(dict(weights), factorial(g))


def _table(g: int, packets: Iterable[Packet]) -> State:
    lines = [[0] * (g * g) for _ in range(g)]
    for line, source, at in packets:
        lines[line][source * g + at] = 1
    return _canonical(tuple(map(tuple, lines)))


@cache
def _canonical(state: State) -> State:
    """Return the canonical form of all equivalent states: the least table with sorted lines."""
    return min(tuple(sorted(map(order, state))) for order in _orders(len(state)))


@cache
def _orders(g: int) -> list[Callable[[Line], Line]]:
    """Return every order of the columns that gives an equivalent state."""
    units = [unit for unit in range(g) if gcd(unit, g) == 1]
    return [
        itemgetter(*(source * g + (unit * at + moved) % g for source in names for at in range(g)))
        for names, unit, moved in product(permutations(range(g)), units, range(g))
    ]
