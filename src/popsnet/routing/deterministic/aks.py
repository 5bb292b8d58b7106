"""aks: sorting by destination with a network of logarithmic depth, and a certificate."""

from __future__ import annotations

from functools import lru_cache
from itertools import chain

from popsnet.coins import Coins
from popsnet.memory import Memory
from popsnet.network import Network
from popsnet.routing.deterministic.batcher import sort_packets
from popsnet.routing.deterministic.exchange import SortedPackets
from popsnet.routing.deterministic.layout import place_wires, wire_of
from popsnet.routing.deterministic.pairs import pair_slots
from popsnet.routing.global_or import global_or, global_or_slots
from popsnet.routing.router import register
from popsnet.slot import Ints, Slots
from popsnet.sorting import ComparatorNetwork, bag_tree, merge_exchange

__all__ = ["aks", "aks_slots", "certified"]

_SEED = 0
"""Of the separators: part of the algorithm, and known to every processor."""


@lru_cache(maxsize=16)
def aks_slots(network: Network, repaired: bool = False) -> int:
    """Slots, always: those of every stage of the bag tree, and the global OR.

    A stage takes one slot for d = 1, two for d ≤ g, and for d > g at most 2⌈d/g⌉, fewer if few take
    part. Repaired, Batcher's stages come on top. O(n) time a stage.
    """
    place = place_wires(network)
    networks = [bag_tree(network.n, _SEED), *([merge_exchange(network.n)] if repaired else [])]
    stages = chain.from_iterable(networks)
    sorting = sum(pair_slots(network, place[one.low], place[one.high]) for one in stages)
    return sorting + global_or_slots(network)


@register(
    "aks",
    summary="sorts by a bag tree of O(log n) depth; if any objects, Batcher's network repairs",
    slots="O(⌈d/g⌉ log n): 2⌈d/g⌉ a stage of about 124 log2 n - 600, and ⌈g/d⌉ + 1; "
    "a second step if it had to be repaired",
    buffers=lambda network: 2 if network.d <= network.g else 3,
    memory="2 packets a processor for d <= g, else 3",
    messages="bits",
    reference="Ajtai, Komlós and Szemerédi, 1983, as Paterson, 1990, and Seiferas, 2009",
)
def aks(network: Network, destination: Ints, coins: Coins, memory: Memory) -> Slots:
    """Sort the packets by destination with the bag tree; O(⌈d/g⌉ log n) slots if it sorts.

    See :func:`certified` for what happens if it does not. The order is that of the processors, so
    "is my packet mine?" is all the certificate there is. O(n log d) time a stage.
    """
    return certified(bag_tree(network.n, _SEED), network, destination, memory)


def certified(
    comparators: ComparatorNetwork, network: Network, destination: Ints, memory: Memory
) -> Slots:
    """Sort by any comparator network; always right, whether the network sorts or not.

    After the last stage every processor whose packet is not its own objects, and a global OR, of
    ⌈g/d⌉ + 1 slots, tells all whether any does. If so, Batcher's merge exchange sorts what is
    there. That is a second step: a run of one step is one in which the network sorted.
    """
    processors = network.processors
    place = place_wires(network)
    sorted_packets = SortedPackets(destination, wire_of(network, destination), memory)
    yield from sort_packets(network, sorted_packets, comparators, place, "sort,")
    objectors = processors[sorted_packets.destinations != processors]
    if (yield from global_or(network, objectors, phase="is my packet mine?", step=0)):
        yield from sort_packets(
            network, sorted_packets, merge_exchange(network.n), place, "repair,", step=1
        )
    memory.deliver(processors, sorted_packets.packets)
