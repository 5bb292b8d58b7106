"""Linear equations of chains, in rational numbers."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from popsnet.exact.state import State


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
        row = {to: probability / goes for to, probability in row.items()}
        for other, probabilities in left.items():
            if probability := probabilities.pop(state, Fraction(0)):
                sums[other] += probability * sums[state]
                for to, part in row.items():
                    probabilities[to] = probabilities.get(to, Fraction(0)) + probability * part
        expressed.append((state, row))
    for state, row in reversed(expressed):
        sums[state] += sum((part * sums[to] for to, part in row.items()), Fraction(0))
    return sums
