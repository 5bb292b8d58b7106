"""What the couplers did in a slot of a trace: whose light got through, and to whom."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from popsnet.network import Network
from popsnet.trace import Listen, Send

__all__ = ["Coupler", "count_load", "find_heard"]

Coupler: TypeAlias = tuple[int, int]
"""The groups that it leads to and comes from."""


def count_load(network: Network, sends: Sequence[Send]) -> Counter[Coupler]:
    """How many messages each coupler was given."""
    return Counter((to, sender // network.d) for sender, groups, _, _ in sends for to in groups)


def find_heard(
    network: Network, load: Counter[Coupler], listens: Sequence[Listen]
) -> Iterator[tuple[Coupler, int]]:
    """The couplers with one message, each with those who heard it."""
    for listener, group in listens:
        coupler = (listener // network.d, group)
        if load[coupler] == 1:
            yield coupler, listener
