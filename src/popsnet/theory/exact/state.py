"""States of the exact chains: the number of pending packets between any two groups.

Also the first state of the exact chains, or its distribution.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import permutations, product
from math import comb, factorial, perm, prod
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from popsnet.model.network import Network

Line: TypeAlias = tuple[int, ...]
"""The pending packets of one group, by the group at their other end."""

State: TypeAlias = tuple[Line, ...]
"""A line for each group: the conflict graph, a bipartite multigraph, as its table of edges."""

Outcome = TypeVar("Outcome")


class Weights(NamedTuple, Generic[Outcome]):
    """A distribution as integers over a common total, which avoids reducing fractions."""

    weights: dict[Outcome, int]
    total: int


@cache
def canonical(state: State) -> State:
    """Return the canonical form of all states that differ only in the names of groups.

    It is the least table over all orders of the columns, with its lines sorted. The next state does
    not depend on names, because coins are uniform. O(g!·g log g) time.
    """
    columns = tuple(zip(*state, strict=True))
    return min(tuple(sorted(zip(*order, strict=True))) for order in permutations(columns))


def without(state: State, packets: Iterable[tuple[int, int]]) -> State:
    """Return the state after packets leave, each given by its line and column."""
    left = [list(line) for line in state]
    for line, column in packets:
        left[line][column] -= 1
    return canonical(tuple(map(tuple, left)))


def pending(state: State) -> int:
    """Return the number of pending packets."""
    return sum(map(sum, state))


def is_done(state: State) -> bool:
    """Return whether no packet is pending."""
    return not any(map(any, state))


Start = dict[State, Fraction]
"""The probability of each first state."""


def by_residues(network: Network, destination: Sequence[int]) -> State:
    """Count the packets of each group by temporary group, the destination mod g (mei-rizzi)."""
    return _table(network, [(network.group(a), b % network.g) for a, b in enumerate(destination)])


def between_groups(network: Network, destination: Sequence[int]) -> State:
    """Count the packets for each group by source group, without fixed points (relay)."""
    moving = [(a, b) for a, b in enumerate(destination) if a != b]
    return _table(network, [(network.group(b), network.group(a)) for a, b in moving])


def _table(network: Network, ends: Iterable[tuple[int, int]]) -> State:
    count, groups = Counter(ends), range(network.g)
    return canonical(tuple(tuple(count[row, column] for column in groups) for row in groups))


def of_tables(network: Network) -> Start:
    """Return the distribution of the table of a uniform permutation.

    The table counts packets from each group to each class of d destinations. A table N occurs with
    probability d!^(2g) / (n!·∏ N!), whether the classes are groups or residues.
    """
    start: defaultdict[State, Fraction] = defaultdict(Fraction)
    for table, probability in _tables(network):
        start[canonical(table)] += probability
    return dict(start)


def without_fixed_points(network: Network) -> Start:
    """Return the distribution of the table without packets that start at their destinations.

    Of the N packets that stay in their group, f are at their destinations with the probability that
    a random injection of N of d numbers has f fixed points, independently for every group.
    """
    start: defaultdict[State, Fraction] = defaultdict(Fraction)
    for table, probability in _tables(network):
        stay = [_fixed_points(table[group][group], network.d) for group in range(network.g)]
        for outcome in product(*map(dict.items, stay)):
            fixed = ((group, group) for group, (f, _) in enumerate(outcome) for _ in range(f))
            start[without(table, fixed)] += probability * prod(likely for _, likely in outcome)
    return dict(start)


def _tables(network: Network) -> Iterator[tuple[State, Fraction]]:
    """Yield every table whose rows and columns all sum to d, with its probability."""
    d, g = network.d, network.g
    ways = Fraction(factorial(d) ** (2 * g), factorial(network.n))
    for table in _fill((d,) * g, d, g):
        yield table, ways / prod(factorial(count) for line in table for count in line)


def _fill(room: Line, size: int, lines: int) -> Iterator[State]:
    """Yield all tables with this many lines of this size, and with these sums of columns."""
    if lines == 1:
        yield (room,)
        return
    for line in product(*(range(min(size, free) + 1) for free in room)):
        if sum(line) == size:
            left = tuple(free - used for free, used in zip(room, line, strict=True))
            yield from ((line, *rest) for rest in _fill(left, size, lines - 1))


def _fixed_points(moved: int, size: int) -> dict[int, Fraction]:
    """Return the distribution of the fixed points of a random injection into [0, size).

    The injection maps ``moved`` random numbers of [0, size). A given set of j numbers is fixed with
    probability (moved)_j / (size)_j². So the mean number of such sets is known, and inclusion and
    exclusion gives the distribution.
    """
    sets = [comb(size, j) * Fraction(perm(moved, j), perm(size, j) ** 2) for j in range(moved + 1)]
    distribution = {}
    for fixed in range(moved + 1):
        terms = ((-1) ** (j - fixed) * comb(j, fixed) * sets[j] for j in range(fixed, moved + 1))
        if probability := sum(terms, Fraction(0)):
            distribution[fixed] = probability
    return distribution
