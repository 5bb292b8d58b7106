"""Absorbing Markov chains over conflict graphs, solved in rational numbers.

A step only delivers, so a state is left for states with fewer packets, or kept. In order of pending
packets the matrix of the chain is triangular, and each row of (I - Q)x = b is solved by one
division: O(transitions) operations on fractions for the mean and as many for the variance.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import count
from math import lcm
from typing import NamedTuple

from popsnet.exact.start import Start
from popsnet.exact.state import State, is_done, pending
from popsnet.exact.transition import Lines, Transition, transition_of

__all__ = ["Chain", "Moments", "Progress"]

Progress = Callable[[int], None]
"""Told how many transitions have been worked out."""


class Moments(NamedTuple):
    """The means of a number of steps and of its square."""

    first: Fraction
    second: Fraction


class _Weights(NamedTuple):
    """A law of the state as whole numbers over one total: sums of fractions would be reduced."""

    weights: dict[State, int]
    total: int

    @property
    def done(self) -> Fraction:
        done = sum(weight for state, weight in self.weights.items() if is_done(state))
        return Fraction(done, self.total)


_NOTHING_LEFT = Moments(Fraction(0), Fraction(0))


@dataclass
class Chain:
    """A first state by chance, the laws of the first steps, and the law of all later ones."""

    start: Start
    early: Sequence[Lines]
    later: Lines
    progress: Progress | None = None
    _known: dict[tuple[int, State], Transition] = field(init=False, default_factory=dict)

    @property
    def states(self) -> int:
        """Different states met so far, the last one not counted."""
        return len({state for _, state in self._known})

    def moments(self) -> Moments:
        """The exact mean of the steps and of their square.

        With P(steps > s) for the first S steps, and the moments of what then remains:
        E T = Σ P(T > s) and E T² = Σ (2s + 1) P(T > s), both cut at S.
        """
        steps, first, second = len(self.early), Fraction(0), Fraction(0)
        for step, law in enumerate(self._laws()):
            if step == steps:
                break
            first += 1 - law.done
            second += (2 * step + 1) * (1 - law.done)
        for state, rest in self._remaining(law.weights).items():
            chance = Fraction(law.weights.get(state, 0), law.total)
            first += chance * rest.first
            second += chance * (rest.second + 2 * steps * rest.first)
        return Moments(first, second)

    def within(self) -> Iterator[Fraction]:
        """P(steps ≤ s) for s = 0, 1, …, without end."""
        return (law.done for law in self._laws())

    def _laws(self) -> Iterator[_Weights]:
        """The law of the state after s = 0, 1, … steps."""
        total = lcm(*(chance.denominator for chance in self.start.values()))
        law = _Weights({state: int(part * total) for state, part in self.start.items()}, total)
        for step in count():
            yield law
            law = self._after(step, law)

    def _after(self, step: int, law: _Weights) -> _Weights:
        moves = {state: self.move(step, state) for state in law.weights}
        common = lcm(*(move.total for move in moves.values()))
        after: Counter[State] = Counter()
        for state, (targets, total) in moves.items():
            factor = law.weights[state] * (common // total)
            for target, ways in targets.items():
                after[target] += factor * ways
        return _Weights(after, law.total * common)

    def move(self, step: int, state: State) -> Transition:
        """Where a state goes in a step 0, 1, …"""
        if is_done(state):
            return Transition({state: 1}, 1)
        step = min(step, len(self.early))
        if (step, state) not in self._known:
            lines = self.early[step] if step < len(self.early) else self.later
            self._known[step, state] = transition_of(state, lines)
            if self.progress is not None:
                self.progress(len(self._known))
        return self._known[step, state]

    def _remaining(self, first: Iterable[State]) -> dict[State, Moments]:
        """The moments from every state that can be reached, once all steps have one law."""
        steps, found = len(self.early), set(first)
        waiting = list(found)
        while waiting:
            new = set(self.move(steps, waiting.pop()).weights) - found
            found |= new
            waiting += new
        moments: dict[State, Moments] = {}
        for state in sorted(found, key=pending):
            moments[state] = self._solve(state, self.move(steps, state), moments)
        return moments

    @staticmethod
    def _solve(state: State, move: Transition, solved: dict[State, Moments]) -> Moments:
        """From T = 1 + T', and T' is T again with the probability to stay."""
        if is_done(state):
            return _NOTHING_LEFT
        goes = move.total - move.weights.get(state, 0)
        rest = [(ways, solved[to]) for to, ways in move.weights.items() if to != state]
        mean = (move.total + sum(ways * one.first for ways, one in rest)) / Fraction(goes)
        square = move.total * (2 * mean - 1) + sum(ways * one.second for ways, one in rest)
        return Moments(mean, square / Fraction(goes))
