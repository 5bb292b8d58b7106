"""Stages of relay with turned bijections: where d = g, all from the fifth on.

The fifth bijection is the fourth, moved on by r(b) modulo g for each group b, r a permutation of
the groups, and so on. What happens next depends on where packets are, so from the fourth stage on
places are in the state: a line for each destination group as ever, with a column for each source
group and place, source · g + place. All r are equally likely. So nothing changes if groups change
their names, if all places are moved on together, or if all are multiplied by a unit modulo g.
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
from popsnet.exact.transition import NOBODY, Cells, Transition, add_line, choose_by_bijection

FRESH = 4
"""This many stages have bijections of their own."""

Packet: TypeAlias = tuple[int, int, int]
"""Destination group, source group, place."""


def place(state: State) -> Transition:
    """The last fresh stage: like any other, but what is left keeps its places.

    Cells are kept in order while lines are put together, and are then given every order. Packets
    that are for the only destination group of their source group meet no other.
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
    return tuple(end if cell.count(end) > 1 else NOBODY for end in cell)


def _packets(cells: Sequence[Cells], places: Sequence[int]) -> Iterable[Packet]:
    for cell, at in zip(cells, places, strict=True):
        yield from ((line, end, at) for line, end in enumerate(cell) if end != NOBODY)


@cache
def turn(state: State) -> Transition:
    """A stage whose bijections are the last ones, turned: one outcome for each permutation r."""
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
    """The one form of all states that are alike: the least table, with its lines sorted."""
    return min(tuple(sorted(map(order, state))) for order in _orders(len(state)))


@cache
def _orders(g: int) -> list[Callable[[Line], Line]]:
    """Every order of the columns that makes no difference."""
    units = [unit for unit in range(g) if gcd(unit, g) == 1]
    return [
        itemgetter(*(source * g + (unit * at + moved) % g for source in names for at in range(g)))
        for names, unit, moved in product(permutations(range(g)), units, range(g))
    ]
