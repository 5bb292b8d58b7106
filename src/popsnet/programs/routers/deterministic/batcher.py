"""batcher: routing by sorting the packets by destination.

The layout of comparator networks: the processor of each wire.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from popsnet.base.errors import InputError
from popsnet.model.coins import Coins
from popsnet.model.memory import Memory
from popsnet.model.network import I32, I64, Network
from popsnet.model.slot import Ints, Slots
from popsnet.programs.facts import Claims, Expectation, explained
from popsnet.programs.router import register
from popsnet.programs.routers.deterministic.exchange import SortedPackets, sorting_bytes
from popsnet.programs.schedules.slots_needed import permutation_slots
from popsnet.theory.bounds import Bound
from popsnet.theory.sorting import merge_exchange, merge_exchange_depth


def strips(network: Network) -> Iterator[range]:
    """Yield the indices of each of k = ⌈d/g⌉ strips: g of them, and in the last the rest.

    A strip of w ≤ g indices of every group has w·g wires, which can be sorted together.
    """
    for first in range(0, network.d, network.g):
        yield range(first, min(first + network.g, network.d))


def place_wires(network: Network, indices: range | None = None) -> I32:
    """Return the processor of each wire of a strip with these indices, or of the network.

    Wire q is in group q mod g, at index first + q div g. So neighbours are in different groups, and
    g consecutive wires can all send to one group at once.
    """
    indices = range(network.d) if indices is None else indices
    wires = np.arange(len(indices) * network.g, dtype=np.int32)
    row, group = np.divmod(wires, np.int32(network.g))
    return network.processor(group, row + np.int32(indices.start))


def wire_of(network: Network, processors: Ints) -> I64:
    """Return the wire of each processor, if the strip is the whole network."""
    wide = processors.astype(np.int64)
    return network.index(wide) * network.g + network.group(wide)


def batcher_slots(network: Network) -> int:
    """Return the slots of Batcher's merge exchange for d ≤ g.

    Parameters
    ----------
    network : Network
        The network, with d ≤ g.

    Returns
    -------
    int
        t(t + 1) with t = ⌈log2 n⌉, half of it for d = 1.

    Raises
    ------
    InputError
        If d > g.

    Examples
    --------
    >>> from popsnet import Network
    >>> from popsnet.programs.routers.deterministic import batcher_slots
    >>> batcher_slots(Network(4, 4)), batcher_slots(Network(1, 16))
    (20, 10)
    """
    if reason := _for_few(network):
        raise InputError(f"{network}: batcher does not apply; {reason}")
    return merge_exchange_depth(network.n) * permutation_slots(network)


def _for_few(network: Network) -> str | None:
    if network.d <= network.g:
        return None
    return "it needs d <= g, so that a stage takes two slots. Use datta or aks."


_CLAIMS = Claims(
    Expectation(batcher_slots, True, "formula: t(t + 1), t = ⌈log2 n⌉; half for d = 1"),
    (Bound("merge exchange", "upper", "t(t + 1)/2 stages of 2 (1 if d = 1), t = ⌈log2 n⌉",
           "always", "d <= g", "Batcher 1968; Knuth 5.2.2 M",
           lambda network: network.d <= network.g, batcher_slots),),
)  # fmt: skip


@register(
    "batcher",
    summary="sorts the packets by destination with Batcher's merge exchange",
    slots="t(t + 1) with t = ⌈log2 n⌉, half of it for d = 1; always",
    buffers=2,
    messages="none",
    randomness="none",
    faults="survives none: packets are lost, and many end at wrong processors",
    applies="d <= g",
    obstacle=_for_few,
    reference="Batcher, 1968; stages by Mei and Rizzi's off-line routing, 2003",
    online=True,
    claims=_CLAIMS,
    working=lambda network: sorting_bytes(network, merge_exchange_depth(network.n)),
    words=explained("batcher", "sorting"),
)
def batcher(network: Network, destination: Ints, coins: Coins, memory: Memory) -> Slots:
    """Route for d ≤ g by sorting, in t(t + 1)/2 stages of two slots, t = ⌈log2 n⌉.

    For d = 1 a stage is one slot. Every stage is a fixed involution, known to all from d and g, and
    what a processor keeps depends on the two packets that it has seen. In the end processor j has
    packet number j in the order of destinations, which is its own.

    Notes
    -----
    Takes O(n) time per stage. K. E. Batcher, "Sorting networks and their applications", 1968.

    Examples
    --------
    >>> import popsnet
    >>> popsnet.route(4, 4, router="batcher").slots
    array([20])
    """
    sorted_packets = SortedPackets(network, destination, wire_of(network, destination), memory)
    yield from sorted_packets.sort(merge_exchange(network.n), place_wires(network), "sort,")
    memory.deliver(network.processors, sorted_packets.packets)
