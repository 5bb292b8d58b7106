"""Sorting networks by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from popsnet.errors import InputError, abbreviated, did_you_mean, require_text
from popsnet.sorting.bag_tree import bag_tree
from popsnet.sorting.batcher import bitonic, merge_exchange
from popsnet.sorting.comparators import ComparatorNetwork


class NetworkFamily(NamedTuple):
    """A function that builds a network of n wires with a seed, and whether it is proved to sort."""

    make: Callable[[int, int], ComparatorNetwork]
    proved: bool


NETWORKS: Mapping[str, NetworkFamily] = {
    "merge-exchange": NetworkFamily(lambda n, seed: merge_exchange(n), proved=True),
    "bitonic": NetworkFamily(lambda n, seed: bitonic(n), proved=True),
    "bag-tree": NetworkFamily(bag_tree, proved=False),
}
"""The families of sorting networks, by name."""


def make_network(name: str, n: int, seed: int = 0) -> ComparatorNetwork:
    """Build the sorting network of this name.

    Parameters
    ----------
    name : {"merge-exchange", "bitonic", "bag-tree"}
        The name of the family.
    n : int
        The number of wires.
    seed : int
        The random seed; only the bag tree depends on it.

    Returns
    -------
    ComparatorNetwork
        The network.

    Examples
    --------
    >>> from popsnet.sorting import make_network
    >>> make_network("merge-exchange", 8).depth
    6
    """
    require_text("name", name)
    if not isinstance(n, int) or n < 1:
        raise InputError(f"n = {abbreviated(n)}: a network needs at least one wire; give n >= 1.")
    if name not in NETWORKS:
        raise InputError(
            f"There is no sorting network {name!r}.{did_you_mean(name, NETWORKS)} Give one of: "
            f"{', '.join(NETWORKS)}."
        )
    return NETWORKS[name].make(n, seed)
