"""One step of an exact chain: the distributions of all lines, put together cell by cell.

Lines choose independently. Packets of different lines that are heard in one cell and have the same
group at the other end meet on a coupler there: in mei-rizzi in slot 2, on the way from the cell to
the temporary group; in relay on the way from the source group to the cell. A packet that meets no
other is delivered.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

from popsnet.exact.lines import NOBODY, Cells
from popsnet.exact.state import Line, State, Weights, canonical

Lines: TypeAlias = Callable[[Line], Weights[Cells]]
"""The distribution of a line."""

_FREE, _TAKEN = -1, -2

Cell: TypeAlias = tuple[int, ...]
"""By the group at the other end: free, the line whose packet is alone, or taken by several."""


Transition: TypeAlias = Weights[State]
"""Where a state goes."""


def transition_of(state: State, lines: Lines) -> Transition:
    """The distribution of the next state, up to the names of groups.

    Cells are kept in order, since their names do not matter; so there are few ways to fill them.
    """
    distributions = [lines(line) for line in state]
    size = len(next(iter(distributions[0].weights)))
    total, filled = 1, Counter({((_FREE,) * len(state[0]),) * size: 1})
    for number, distribution in enumerate(distributions):
        filled = add_line(filled, distribution, partial(_with, number=number))
        total *= distribution.total
    weights: Counter[State] = Counter()
    for cells, weight in filled.items():
        weights[_without(state, cells)] += weight
    return Weights(dict(weights), total)


def add_line(
    filled: Counter[tuple[Cell, ...]], line: Weights[Cells], join: Callable[[Cell, int], Cell]
) -> Counter[tuple[Cell, ...]]:
    """One line more: every way to fill the cells with every outcome of the line."""
    after: Counter[tuple[Cell, ...]] = Counter()
    for cells, weight in filled.items():
        for outcome, ways in line.weights.items():
            after[tuple(sorted(map(join, cells, outcome)))] += weight * ways
    return after


def _with(cell: Cell, end: int, number: int) -> Cell:
    if end == NOBODY:
        return cell
    content = number if cell[end] == _FREE else _TAKEN
    return (*cell[:end], content, *cell[end + 1 :])


def _without(state: State, cells: Sequence[Cell]) -> State:
    """What is left when all that are alone in their cell are delivered."""
    left = [list(line) for line in state]
    for cell in cells:
        for end, number in enumerate(cell):
            if number >= 0:
                left[number][end] -= 1
    return canonical(tuple(map(tuple, left)))
