"""States of the exact chains: the number of pending packets between any two groups."""

from __future__ import annotations

from functools import cache
from itertools import permutations
from typing import Generic, NamedTuple, TypeAlias, TypeVar

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
    tables = (tuple(sorted(zip(*order, strict=True))) for order in permutations(columns))
    return min(tables)


def pending(state: State) -> int:
    """Return the number of pending packets."""
    return sum(map(sum, state))


def is_done(state: State) -> bool:
    """Return whether no packet is pending."""
    return not any(map(any, state))
