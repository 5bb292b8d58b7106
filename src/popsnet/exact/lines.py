"""What the packets of one line do in a step: which of them is heard in which cell.

A cell is what packets choose: an intermediate group in mei-rizzi, a place in relay. All draws are
uniform, so that a distribution does not change if cells change their names.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import permutations
from typing import TypeAlias

from popsnet.exact.state import Line, Weights

NOBODY = -1
_MANY = -2

Cells: TypeAlias = tuple[int, ...]
"""For each cell the group at the other end of the packet that is heard there, or ``NOBODY``."""


@cache
def choose_by_coin(line: Line, cells: int, probability: Fraction) -> Weights[Cells]:
    """Slot 1 of mei-rizzi: a packet takes part with this probability and chooses a cell.

    All do so independently. A cell that two or more choose hears nothing. Packets are added one by
    one, which takes O(m·cells·(groups + 2)^cells) for m packets.
    """
    one, none = probability.numerator, (probability.denominator - probability.numerator) * cells
    weights: Counter[Cells] = Counter({(NOBODY,) * cells: 1})
    for end, count in enumerate(line):
        for _ in range(count):
            after: Counter[Cells] = Counter()
            for outcome, weight in weights.items():
                if none:
                    after[outcome] += weight * none
                for cell in range(cells):
                    after[_with(outcome, cell, end)] += weight * one
            weights = after
    heard: Counter[Cells] = Counter()
    for outcome, weight in weights.items():
        heard[tuple(NOBODY if one == _MANY else one for one in outcome)] += weight
    return Weights(dict(heard), (probability.denominator * cells) ** sum(line))


def _with(outcome: Cells, cell: int, end: int) -> Cells:
    content = end if outcome[cell] == NOBODY else _MANY
    return (*outcome[:cell], content, *outcome[cell + 1 :])


@cache
def choose_by_bijection(line: Line, cells: int) -> Weights[Cells]:
    """An attempt of relay: the packets for one group have different cells, each way equally likely.

    That is what a uniform bijection of the group's destinations gives. O(cells!) time.
    """
    ends = [end for end, count in enumerate(line) for _ in range(count)]
    ends += [NOBODY] * (cells - len(ends))
    weights = Counter(permutations(ends))
    return Weights(dict(weights), sum(weights.values()))
