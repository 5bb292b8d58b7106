"""aks: routing by sorting with a network of logarithmic depth, and a certificate."""

from __future__ import annotations

from functools import lru_cache
from itertools import chain
from math import log2, sqrt

from popsnet.model.coins import Coins
from popsnet.model.memory import Memory
from popsnet.model.network import Network
from popsnet.model.slot import Ints, Slots
from popsnet.programs.facts import Claims, Expectation, explained
from popsnet.programs.router import register
from popsnet.programs.routers.deterministic.batcher import place_wires, wire_of
from popsnet.programs.routers.deterministic.exchange import SortedPackets, sorting_bytes
from popsnet.programs.routers.deterministic.pairs import pair_slots
from popsnet.programs.routers.to_all import global_or, global_or_slots
from popsnet.theory.bounds import Bound
from popsnet.theory.sorting import ComparatorNetwork, bag_tree, merge_exchange

_SEED = 0
"""The seed of the separators: a part of the algorithm, known to every processor."""


_TREE_BYTES = 100
"""The memory of the bag tree per wire, measured."""

_QUICKLY_MADE = 2**12
"""The most wires of a bag tree that takes little time to make."""


@lru_cache(maxsize=16)
def aks_slots(network: Network, repaired: bool = False) -> int:
    """Return the slots of all stages of the bag tree and of the global OR.

    Parameters
    ----------
    network : Network
        The network.
    repaired : bool
        Whether to add the stages of Batcher's network, which are needed if the bag tree fails.

    Returns
    -------
    int
        The slots, the same for every permutation.

    Notes
    -----
    A stage takes one slot for d = 1, two for d ≤ g, and at most 2⌈d/g⌉ for d > g, fewer if few
    take part. Takes O(n) time per stage.

    Examples
    --------
    >>> from popsnet import Network
    >>> from popsnet.programs.routers.deterministic import aks_slots
    >>> aks_slots(Network(4, 4)) < aks_slots(Network(4, 4), repaired=True)
    True
    """
    place = place_wires(network)
    networks = [bag_tree(network.n, _SEED), *([merge_exchange(network.n)] if repaired else [])]
    stages = chain.from_iterable(networks)
    sorting = sum(pair_slots(network, place[stage.low], place[stage.high]) for stage in stages)
    return sorting + global_or_slots(network)


def _expected_slots(network: Network) -> float:
    """Return the slots, or for large networks those by a line through the depths.

    In a stage 0.55 of all processors take part on average, and somewhat more of the group with the
    most. For d > g the rounds of networks up to 2^16 are within a fifth of 0.55k + 0.5√k,
    k = ⌈d/g⌉.
    """
    if network.n <= _QUICKLY_MADE:
        return aks_slots(network)
    k = network.blocks
    rounds = 0.55 * k + 0.5 * sqrt(k) if k > 1 else 1
    hops = 1 if network.d == 1 else 2 * rounds
    return hops * (124 * log2(network.n) - 600) + global_or_slots(network)


_CLAIMS = Claims(
    Expectation(_expected_slots, exact=False, reason="depth of its network, not proved to sort"),
    (Bound("aks", "upper", "2⌈d/g⌉ slots or fewer per stage of the bag tree and of merge exchange; "
           "⌈g/d⌉ + 1", "always", "any d, g; usually merge exchange is not needed",
           "docs/explanation/deterministic.md, after Ajtai, Komlós and Szemerédi, 1983",
           lambda network: 1 < network.n <= _QUICKLY_MADE,
           lambda network: aks_slots(network, repaired=True)),),
)  # fmt: skip


def _working(network: Network) -> int:
    """Return the bytes of sorting, if half of all processors take part in a stage, and the tree."""
    stages = max(124 * log2(network.n) - 600, 0)
    return sorting_bytes(network, int(stages / 2)) + _TREE_BYTES * network.n


@register(
    "aks",
    summary="sorts by a bag tree of O(log n) depth; if that fails, Batcher's network repairs it",
    slots="O(⌈d/g⌉ log n): 2⌈d/g⌉ per stage of about 124 log2 n - 600, and ⌈g/d⌉ + 1; "
    "a second step if a repair is needed",
    buffers=lambda network: 2 if network.d <= network.g else 3,
    memory="2 packets per processor for d <= g, else 3",
    messages="single bits",
    randomness="none",
    faults="survives none: packets are lost, and many end at wrong processors",
    reference="Ajtai, Komlós and Szemerédi, 1983, as Paterson, 1990, and Seiferas, 2009",
    online=True,
    claims=_CLAIMS,
    working=_working,
    words=explained("aks", "global-or", "sorting"),
)
def aks(network: Network, destination: Ints, coins: Coins, memory: Memory) -> Slots:
    """Route by sorting with the bag tree, in O(⌈d/g⌉ log n) slots if the tree sorts.

    If it does not, Batcher's network repairs the result, as in :func:`certified`. The order is that
    of the processors, so the certificate is that every processor has its own packet.

    Notes
    -----
    Takes O(n log d) time per stage. M. Ajtai, J. Komlós and E. Szemerédi, "Sorting in c log n
    parallel steps", 1983, as presented by Paterson, 1990, and Seiferas, 2009.

    Examples
    --------
    >>> import popsnet
    >>> popsnet.route(2, 2, router="aks").lost
    array([0])
    """
    return certified(bag_tree(network.n, _SEED), network, destination, memory)


def certified(
    comparators: ComparatorNetwork, network: Network, destination: Ints, memory: Memory
) -> Slots:
    """Route by any comparator network, correctly whether the network sorts or not.

    After the last stage every processor whose packet is not its own objects, and a global OR of
    ⌈g/d⌉ + 1 slots tells all whether any does. If so, Batcher's merge exchange sorts the packets.
    That is a second step: a run of one step is one in which the network sorted.
    """
    processors, place = network.processors, place_wires(network)
    sorted_packets = SortedPackets(network, destination, wire_of(network, destination), memory)
    yield from sorted_packets.sort(comparators, place, "sort,")
    objectors = processors[sorted_packets.destinations != processors]
    if (yield from global_or(network, objectors, phase="is my packet mine?", step=0)):
        yield from sorted_packets.sort(merge_exchange(network.n), place, "repair,", step=1)
    memory.deliver(processors, sorted_packets.packets)
