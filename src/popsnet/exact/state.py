"""States of the exact chains: how many packets are pending between which two groups."""

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
    """A distribution as whole numbers over one total: fractions would be reduced at every sum."""

    weights: dict[Outcome, int]
    total: int


@cache
def canonical(state: State) -> State:
    """The one form of all states that differ in the names of groups alone, at either end.

    The least table over all orders of the columns, with its lines sorted. What happens next does
    not depend on names, because coins are uniform: O(g!·g log g).
    """
    columns = tuple(zip(*state, strict=True))
    tables = (tuple(sorted(zip(*order, strict=True))) for order in permutations(columns))
    return min(tables)


def pending(state: State) -> int:
    """How many packets are pending."""
    return sum(map(sum, state))


def is_done(state: State) -> bool:
    """Whether none is."""
    return not any(map(any, state))
