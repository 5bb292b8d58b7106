"""Absorbing Markov chains over conflict graphs, solved in exact fractions.

A step can only deliver packets, so a state leads to states with fewer packets or to one with the
same number, most often itself. With states ordered by pending packets the matrix is triangular
except for blocks of states with the same number, and (I - Q)x = b is solved block by block. A block
takes one division per state if no state of it leads to another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import count, groupby
from math import lcm
from typing import NamedTuple, TypeAlias

from popsnet.theory.exact.state import Start, State, Weights, is_done, pending
from popsnet.theory.exact.transition import Transition

Step: TypeAlias = Callable[[State], Transition]
"""The distribution of the next state."""

Progress = Callable[[int], None]
"""Called with the number of transitions computed so far."""


class Moments(NamedTuple):
    """The first and second moment of a number of steps."""

    first: Fraction
    second: Fraction


_NOTHING_LEFT = Moments(Fraction(0), Fraction(0))


@dataclass
class Chain:
    """An absorbing Markov chain that ends when no packet is pending.

    Examples
    --------
    >>> from popsnet import Network
    >>> from popsnet.theory.exact import mei_rizzi_chain
    >>> chain = mei_rizzi_chain(Network(2, 2))
    >>> chain.moments().first
    Fraction(136, 45)
    """

    start: Start
    """The distribution of the first state."""
    early: Sequence[Step]
    """The first steps, each with its own transitions."""
    later: Step
    """The transitions of all later steps."""
    progress: Progress | None = None
    _known: dict[tuple[Step, State], Transition] = field(init=False, default_factory=dict)

    @property
    def states(self) -> int:
        """The number of states met so far, without the final one."""
        return len({state for _, state in self._known})

    def moments(self) -> Moments:
        """Compute the exact mean of the number of steps T and of T².

        The sums E T = Σ P(T > s) and E T² = Σ (2s + 1) P(T > s) are taken over the S early steps,
        and the moments of the remaining steps are added.
        """
        steps, first, second = len(self.early), Fraction(0), Fraction(0)
        for step, distribution in enumerate(self._distributions()):
            if step == steps:
                break
            going = 1 - _done(distribution)
            first += going
            second += (2 * step + 1) * going
        for state, rest in self._remaining(distribution.weights).items():
            probability = Fraction(distribution.weights.get(state, 0), distribution.total)
            first += probability * rest.first
            second += probability * (rest.second + 2 * steps * rest.first)
        return Moments(first, second)

    def within(self) -> Iterator[Fraction]:
        """Yield P(steps ≤ s) for s = 0, 1, …, without end."""
        return map(_done, self._distributions())

    def _distributions(self) -> Iterator[Weights[State]]:
        """Yield the distribution of the state after s = 0, 1, … steps."""
        total = lcm(*(probability.denominator for probability in self.start.values()))
        first = {state: int(part * total) for state, part in self.start.items()}
        distribution = Weights(first, total)
        for step in count():
            yield distribution
            distribution = self._after(step, distribution)

    def _after(self, step: int, distribution: Weights[State]) -> Weights[State]:
        moves = {state: self.move(step, state) for state in distribution.weights}
        common = lcm(*(move.total for move in moves.values()))
        after: Counter[State] = Counter()
        for state, (targets, total) in moves.items():
            factor = distribution.weights[state] * (common // total)
            for target, ways in targets.items():
                after[target] += factor * ways
        return Weights(after, distribution.total * common)

    def move(self, step: int, state: State) -> Transition:
        """Return the distribution of the state that follows ``state`` in step 0, 1, ….

        Transitions are computed once and kept.
        """
        if is_done(state):
            return Weights({state: 1}, 1)
        goes = self.early[step] if step < len(self.early) else self.later
        if (goes, state) not in self._known:
            self._known[goes, state] = goes(state)
            if self.progress is not None:
                self.progress(len(self._known))
        return self._known[goes, state]

    def _remaining(self, first: Iterable[State]) -> dict[State, Moments]:
        """Compute the moments from every state that can be reached once all steps are alike."""
        steps, states = len(self.early), set(first)
        waiting = list(states)
        while waiting:
            new = set(self.move(steps, waiting.pop()).weights) - states
            states |= new
            waiting += new
        moments: dict[State, Moments] = {}
        for packets, level in groupby(sorted(states, key=pending), pending):
            moves = {state: self.move(steps, state) for state in level}
            moments |= _solve(moves, moments) if packets else dict.fromkeys(moves, _NOTHING_LEFT)
        return moments


def _done(distribution: Weights[State]) -> Fraction:
    """Return the probability that no packet is pending."""
    done = sum(weight for state, weight in distribution.weights.items() if is_done(state))
    return Fraction(done, distribution.total)


def _solve(moves: dict[State, Transition], solved: dict[State, Moments]) -> dict[State, Moments]:
    """Solve T = 1 + T' for states with the same number of packets.

    T' is the time from another of these states, or from one that is solved already.
    """
    among: dict[State, dict[State, Fraction]] = {}
    first: dict[State, Fraction] = {}
    second: dict[State, Fraction] = {}
    for state, (weights, total) in moves.items():
        rest = [(ways, solved[to]) for to, ways in weights.items() if to not in moves]
        among[state] = {to: Fraction(ways, total) for to, ways in weights.items() if to in moves}
        first[state] = 1 + sum(ways * moments.first for ways, moments in rest) / Fraction(total)
        second[state] = sum(ways * moments.second for ways, moments in rest) / Fraction(total)
    means = eliminate(among, first)
    squares = eliminate(among, {state: second[state] + 2 * means[state] - 1 for state in moves})
    return {state: Moments(means[state], squares[state]) for state in moves}


def eliminate(
    moves: Mapping[State, Mapping[State, Fraction]], known: Mapping[State, Fraction]
) -> dict[State, Fraction]:
    """Solve x = known + moves·x by Gaussian elimination.

    One division per state if no state leads to another; O(m³) time for m states that all do.
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
