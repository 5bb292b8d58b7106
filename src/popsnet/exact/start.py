"""Where the exact chains start: the law of the first state over all permutations, or one state."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from math import comb, factorial, perm, prod

from popsnet.exact.state import Line, State, canonical
from popsnet.network import Network

__all__ = ["Start", "between_groups", "by_residues", "of_tables", "without_homes"]

Start = dict[State, Fraction]
"""The probability of each first state."""


def by_residues(network: Network, destination: Sequence[int]) -> State:
    """For mei-rizzi: the packets of each group by temporary group, the destination mod g."""
    lines = [[0] * network.g for _ in range(network.g)]
    for source, target in enumerate(destination):
        lines[source // network.d][target % network.g] += 1
    return canonical(tuple(map(tuple, lines)))


def between_groups(network: Network, destination: Sequence[int]) -> State:
    """For relay: the packets for each group by group of their source; not those at home."""
    lines = [[0] * network.g for _ in range(network.g)]
    for source, target in enumerate(destination):
        if source != target:
            lines[target // network.d][source // network.d] += 1
    return canonical(tuple(map(tuple, lines)))


def of_tables(network: Network) -> Start:
    """The table of a uniform permutation: from each group to each class of d destinations.

    A table N has d!^(2g) / (n!·∏ N!) of all permutations, whether classes are groups or residues.
    """
    start: defaultdict[State, Fraction] = defaultdict(Fraction)
    for table, chance in _tables(network):
        start[canonical(table)] += chance
    return dict(start)


def without_homes(network: Network) -> Start:
    """The same for packets that are not at home from the start.

    Of N packets that stay in their group f are home with the chance that a random injection of N
    of d numbers has f fixed points, independently for every group.
    """
    start: defaultdict[State, Fraction] = defaultdict(Fraction)
    for table, chance in _tables(network):
        stay = [_fixed_points(table[group][group], network.d) for group in range(network.g)]
        for home in product(*map(dict.items, stay)):
            lines = [list(line) for line in table]
            part = chance
            for group, (fixed, likely) in enumerate(home):
                lines[group][group] -= fixed
                part *= likely
            start[canonical(tuple(map(tuple, lines)))] += part
    return dict(start)


def _tables(network: Network) -> Iterator[tuple[State, Fraction]]:
    """Every table with all sums d, with its probability."""
    d, g = network.d, network.g
    ways = Fraction(factorial(d) ** (2 * g), factorial(network.n))
    for table in _fill((d,) * g, d, g):
        yield table, ways / prod(factorial(count) for line in table for count in line)


def _fill(room: Line, size: int, lines: int) -> Iterator[State]:
    """All tables of so many lines of one sum, with the room that columns have left."""
    if lines == 0:
        yield ()
        return
    for line in _line(room, size):
        left = tuple(free - used for free, used in zip(room, line, strict=True))
        for rest in _fill(left, size, lines - 1):
            yield (line, *rest)


def _line(room: Line, size: int) -> Iterator[Line]:
    if len(room) == 1:
        if size <= room[0]:
            yield (size,)
        return
    for count in range(min(size, room[0]) + 1):
        for rest in _line(room[1:], size - count):
            yield (count, *rest)


def _fixed_points(moved: int, size: int) -> dict[int, Fraction]:
    """The law of the fixed points of a random injection of some of [0, size) into [0, size).

    A given set of j numbers is fixed with probability (moved)_j / (size)_j²; so the mean number of
    such sets is known, and inclusion and exclusion gives the law.
    """
    sets = [comb(size, j) * Fraction(perm(moved, j), perm(size, j) ** 2) for j in range(moved + 1)]
    law = {
        fixed: sum(
            ((-1) ** (j - fixed) * comb(j, fixed) * sets[j] for j in range(fixed, moved + 1)),
            Fraction(0),
        )
        for fixed in range(moved + 1)
    }
    return {fixed: chance for fixed, chance in law.items() if chance}
