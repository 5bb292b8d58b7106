"""Linear equations of chains, in rational numbers."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from popsnet.exact.state import State

__all__ = ["eliminate"]


def eliminate(
    moves: Mapping[State, Mapping[State, Fraction]], known: Mapping[State, Fraction]
) -> dict[State, Fraction]:
    """The x with x = known + moves·x: each is expressed by later ones; they are found backwards.

    One division a state if none goes to another; O(m³) for m states that all do.
    """
    left, sums = {state: dict(row) for state, row in moves.items()}, dict(known)
    expressed: list[tuple[State, dict[State, Fraction]]] = []
    for state in moves:
        row = left.pop(state)
        goes = 1 - row.pop(state, Fraction(0))
        sums[state] /= goes
        row = {to: chance / goes for to, chance in row.items()}
        for other, chances in left.items():
            if chance := chances.pop(state, Fraction(0)):
                sums[other] += chance * sums[state]
                for to, part in row.items():
                    chances[to] = chances.get(to, Fraction(0)) + chance * part
        expressed.append((state, row))
    for state, row in reversed(expressed):
        sums[state] += sum((part * sums[to] for to, part in row.items()), Fraction(0))
    return sums
