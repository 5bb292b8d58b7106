"""Strips of a network with d > g: at most g indices of every group, which can be sorted at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from popsnet.network import Network


class Strip(NamedTuple):
    """The processors with index ``first`` to first + width - 1, and so width·g wires."""

    first: int
    width: int


def strips(network: Network) -> Iterator[Strip]:
    """There are k = ⌈d/g⌉ strips; all have g indices but the last, which has the rest."""
    for first in range(0, network.d, network.g):
        yield Strip(first, min(network.g, network.d - first))
