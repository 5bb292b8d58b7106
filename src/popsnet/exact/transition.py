"""One step of an exact chain: the laws of all lines, put together cell by cell.

Lines choose independently. Packets of different lines that are heard in one cell and have the same
group at the other end meet on a coupler there: in mei-rizzi in slot 2, on the way from the cell to
the temporary group; in relay on the way from the source group to the cell. A packet that meets no
other is delivered.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from popsnet.exact.lines import NOBODY, LineLaw
from popsnet.exact.state import Line, State, canonical

__all__ = ["Lines", "Transition", "transition_of"]

Lines: TypeAlias = Callable[[Line], LineLaw]
"""The law of a line."""

_FREE, _TAKEN = -1, -2

Cell: TypeAlias = tuple[int, ...]
"""By the group at the other end: free, the line whose packet is alone, or taken by several."""


class Transition(NamedTuple):
    """Where a state goes, as whole numbers in proportion to the probabilities."""

    weights: dict[State, int]
    total: int


def transition_of(state: State, lines: Lines) -> Transition:
    """The law of the next state, up to the names of groups.

    Cells are kept in order, since their names do not matter; so there are few ways to fill them.
    """
    laws = [lines(line) for line in state]
    total, filled = 1, Counter({((_FREE,) * len(state[0]),) * _count_cells(laws): 1})
    for number, law in enumerate(laws):
        filled = _add(filled, number, law)
        total *= law.total
    weights: Counter[State] = Counter()
    for cells, weight in filled.items():
        weights[_without(state, cells)] += weight
    return Transition(dict(weights), total)


def _count_cells(laws: Sequence[LineLaw]) -> int:
    return len(next(iter(laws[0].weights)))


def _add(filled: Counter[tuple[Cell, ...]], number: int, law: LineLaw) -> Counter[tuple[Cell, ...]]:
    """One line more: every way to fill the cells with every outcome of the line."""
    after: Counter[tuple[Cell, ...]] = Counter()
    for cells, weight in filled.items():
        for outcome, ways in law.weights.items():
            joined = [
                cell if end == NOBODY else _with(cell, end, number)
                for cell, end in zip(cells, outcome, strict=True)
            ]
            after[tuple(sorted(joined))] += weight * ways
    return after


def _with(cell: Cell, end: int, number: int) -> Cell:
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
