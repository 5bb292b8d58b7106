"""One step of an exact chain: the distributions of all lines, combined cell by cell.

In a line every packet chooses a cell: an intermediate group in mei-rizzi, a place in relay. All
draws are uniform, so a distribution does not change if cells are renamed.

Lines choose independently. Packets of different lines that are heard in one cell and have the same
group at the other end collide on a coupler: in mei-rizzi in slot 2, on the way from the cell to the
temporary group; in relay on the way from the source group to the cell. A packet that collides with
no other is delivered.

Also the stages of relay with turned bijections: for d = g, all stages from the fifth on.

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
from fractions import Fraction
from functools import cache, partial
from itertools import permutations, product
from math import factorial, gcd
from operator import itemgetter
from typing import TypeAlias

from popsnet.theory.exact.state import Line, State, Weights, without

EMPTY = -1
_MANY = -2

Cells: TypeAlias = tuple[int, ...]
"""For each cell the group at the other end of the packet that is heard there, or ``EMPTY``."""


@cache
def choose_by_coin(line: Line, cells: int, probability: Fraction) -> Weights[Cells]:
    """Return the distribution of slot 1 of mei-rizzi.

    Each packet takes part with this probability and chooses a cell, independently of the others. A
    cell that two or more choose hears nothing. Packets are added one by one, which takes
    O(m·cells·(groups + 2)^cells) time for m packets.
    """
    chosen, none = probability.numerator, (probability.denominator - probability.numerator) * cells
    weights: Counter[Cells] = Counter({(EMPTY,) * cells: 1})
    for end, count in enumerate(line):
        for _ in range(count):
            after: Counter[Cells] = Counter()
            for outcome, weight in weights.items():
                if none:
                    after[outcome] += weight * none
                for cell in range(cells):
                    after[_put(outcome, cell, end)] += weight * chosen
            weights = after
    heard: Counter[Cells] = Counter()
    for outcome, weight in weights.items():
        heard[tuple(EMPTY if cell == _MANY else cell for cell in outcome)] += weight
    return Weights(dict(heard), (probability.denominator * cells) ** sum(line))


def _put(places: tuple[int, ...], at: int, content: int) -> tuple[int, ...]:
    """Return the places with this content at one of them, or with many if it was not empty."""
    new = content if places[at] == EMPTY else _MANY
    return (*places[:at], new, *places[at + 1 :])


@cache
def choose_by_bijection(line: Line, cells: int) -> Weights[Cells]:
    """Return the distribution of an attempt of relay.

    The packets for one group have different cells, and all assignments are equally likely, as a
    uniform bijection of the group's destinations gives. O(cells!) time.
    """
    ends = [end for end, count in enumerate(line) for _ in range(count)]
    ends += [EMPTY] * (cells - len(ends))
    return Weights(dict(Counter(permutations(ends))), factorial(cells))


Lines: TypeAlias = Callable[[Line], Weights[Cells]]
"""The distribution of a line."""

Cell: TypeAlias = tuple[int, ...]
"""For each group at the other end: the line whose packet is alone, or that it has none or many."""


Transition: TypeAlias = Weights[State]
"""The distribution of the next state."""


def transition_of(state: State, lines: Lines) -> Transition:
    """Return the distribution of the next state, up to the names of groups.

    All packets that are alone in their cell are delivered.
    Cells are kept sorted, since their names do not matter, so there are few ways to fill them.
    """
    distributions = [lines(line) for line in state]
    size = len(next(iter(distributions[0].weights)))
    total, filled = 1, Counter({((EMPTY,) * len(state[0]),) * size: 1})
    for number, distribution in enumerate(distributions):
        filled = add_line(filled, distribution, partial(_with, number=number))
        total *= distribution.total
    weights: Counter[State] = Counter()
    for cells, weight in filled.items():
        gone = ((n, end) for cell in cells for end, n in enumerate(cell) if n >= 0)
        weights[without(state, gone)] += weight
    return Weights(dict(weights), total)


def add_line(
    filled: Counter[tuple[Cell, ...]], line: Weights[Cells], join: Callable[[Cell, int], Cell]
) -> Counter[tuple[Cell, ...]]:
    """Combine every way to fill the cells with every outcome of one more line."""
    after: Counter[tuple[Cell, ...]] = Counter()
    for cells, weight in filled.items():
        for outcome, ways in line.weights.items():
            after[tuple(sorted(map(join, cells, outcome)))] += weight * ways
    return after


def _with(cell: Cell, end: int, number: int) -> Cell:
    return cell if end == EMPTY else _put(cell, end, number)


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
        weights[_table(g, (packet for packet in moved if crowd[packet[1:]] > 1))] += 1
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
