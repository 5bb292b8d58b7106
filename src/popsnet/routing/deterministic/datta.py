"""datta: strips are sorted by class, classes go to their groups, and from there to destinations."""

from __future__ import annotations

from collections.abc import Generator

import numpy as np
import numpy.typing as npt

from popsnet.coins import Coins
from popsnet.memory import Memory
from popsnet.network import Network
from popsnet.routing.deterministic.batcher import SORTING_PHASES, place_wires, strips
from popsnet.routing.deterministic.exchange import SortedPackets, sorting_bytes, swap_values
from popsnet.routing.deterministic.pairs import pair_up
from popsnet.routing.deterministic.reservations import PHASES, Reservations, delivery_slots
from popsnet.routing.facts import Claims, Expectation, Words
from popsnet.routing.router import register
from popsnet.slot import Inbox, Ints, Slot, Slots
from popsnet.sorting import merge_exchange, merge_exchange_depth
from popsnet.theory.bounds import Bound


def datta_slots(network: Network) -> int:
    """Return the slots of datta, the same for every permutation.

    Parameters
    ----------
    network : Network
        The network.

    Returns
    -------
    int
        k(4·lg² + 2·lg + 9) - ⌈k/g⌉ for d = kg and g = 2^lg.

    Notes
    -----
    In general each strip of w ≤ g indices takes two slots for each stage of merge exchange on wg
    wires and for the keys of neighbours (one slot if d = 1), and twice ⌈g/d⌉ + 1 slots to make
    reservations. Then come the slots of delivery to class groups, and k = ⌈d/g⌉ slots to the
    destinations.

    Examples
    --------
    >>> from popsnet import Network
    >>> from popsnet.routing.deterministic import datta_slots
    >>> datta_slots(Network(8, 8))
    50
    """
    d, g = network.d, network.g
    k, reports = network.blocks, -(-g // d)
    hops = 1 if d == 1 < g else 2
    whole, rest = divmod(d, g)  # strips of g indices, and the indices of a last one
    stages = whole * (merge_exchange_depth(g * g) + 1)
    stages += merge_exchange_depth(rest * g) + 1 if rest else 0
    return hops * stages + 2 * k * (reports + 1) + delivery_slots(network) + k


def _class_of(network: Network, destination: Ints) -> npt.NDArray[np.int64]:
    """Return (l + b) mod g for the destination (b, l): d destinations per class."""
    wide = destination.astype(np.int64)
    return (network.group(wide) + network.index(wide)) % network.g


_CLAIMS = Claims(
    Expectation(datta_slots, exact=True, reason="formula: strips sorted by merge exchange"),
    (Bound("datta", "upper", "k(4 lg² + 2 lg + 9) - ⌈k/g⌉ for d = kg, g = 2^lg; similar otherwise",
           "always", "any d, g",
           "popsnet's documentation, page 'deterministic', after Datta and Soundaralakshmi",
           slots=datta_slots),),
)  # fmt: skip


def _working(network: Network) -> int:
    strip = min(network.d, network.g) * network.g
    return sorting_bytes(network, merge_exchange_depth(strip))


@register(
    "datta",
    summary="sorts strips of g indices by class; classes go to their groups, then on",
    slots="k(4 lg² + 2 lg + 9) - ⌈k/g⌉ for d = kg, g = 2^lg; always",
    buffers=2,
    messages="two numbers up to n",
    randomness="none",
    faults="survives none: packets are lost, and many end at wrong processors",
    reference="after Datta and Soundaralakshmi, 2003; a reconstruction, "
    "page 'deterministic' of the documentation",
    online=True,
    claims=_CLAIMS,
    working=_working,
    words=Words(
        "Sorts the packets by class, sends classes to their groups, and from there every packet to "
        "its destination without a collision.",
        {
            **PHASES,
            "*neighbours: *": "Neighbours in the sorted order exchange their keys, by a relay.",
            **SORTING_PHASES,
            "to class groups": "Sorted packets go to the groups of their classes, each on a "
            "coupler of its own.",
            "to destination": "Packets go to their destinations, each on a coupler of its own.",
        },
    ),
)
def datta(network: Network, destination: Ints, coins: Coins, memory: Memory) -> Slots:
    """Route any permutation on-line without coins, in :func:`datta_slots` slots.

    Each strip sorts its packets by class, where the class of (b, l) is (l + b) mod g. A sorted
    class can go to its group g packets per slot, and groups take reservations, so that strips do
    not meet. From group c to b there is one packet of each block of g indices, so k slots deliver
    all.

    Notes
    -----
    A reconstruction of the method of Datta and Soundaralakshmi (IEEE Transactions on Parallel and
    Distributed Systems, 2003). Takes O(n) time per stage.

    Examples
    --------
    >>> import popsnet
    >>> popsnet.route(4, 4, router="datta").slots == popsnet.routing.deterministic.datta_slots(
    ...     popsnet.Network(4, 4)
    ... )
    array([ True])
    """
    classes = _class_of(network, destination)
    sorted_packets = SortedPackets(network, destination, classes * network.n + destination, memory)
    reservations = Reservations(network)
    for number, strip in enumerate(strips(network), start=1):
        place = place_wires(network, strip)
        classes = yield from _sort_strip(sorted_packets, place, f"strip {number},")
        yield from reservations.make(place, classes)
    yield from _to_classes(sorted_packets, reservations)
    yield from _deliver_all(sorted_packets)


def _sort_strip(
    sorted_packets: SortedPackets, place: Ints, of: str
) -> Generator[Slot, Inbox, npt.NDArray[np.int64]]:
    """Sort a strip by class and destination, and return the classes by position.

    The last stage of merge exchange compares positions 2i + 1 and 2i + 2, so these have seen each
    other's packets. Positions 2i and 2i + 1 tell each other their keys in two more slots. So each
    finds out whether a class begins or ends there.
    """
    network = sorted_packets.network
    yield from sorted_packets.sort(merge_exchange(len(place)), place, of)
    paired = len(place) // 2 * 2
    keys, position = sorted_packets.keys, np.arange(len(place))
    if paired:
        pairs = pair_up(network, place[:paired:2], place[1::2])
        bits = (network.g * network.n).bit_length()
        keys = yield from swap_values(pairs, keys, f"{of} neighbours: ", bits)
        position[:paired] ^= 1  # each position now has the key of its pair
    else:  # a single wire has no neighbour, and the slots stay empty
        yield Slot(phase=f"{of} neighbours: none")
        yield Slot(phase=f"{of} neighbours: none")
    classes: npt.NDArray[np.int64] = keys[place][position] // network.n
    return classes


def _to_classes(sorted_packets: SortedPackets, reservations: Reservations) -> Slots:
    """Send every packet to the group of its class, where one processor expects it."""
    network, processors = sorted_packets.network, sorted_packets.network.processors
    received, targets = sorted_packets.packets.copy(), sorted_packets.destinations.copy()
    for slot in range(delivery_slots(network)):
        senders = processors[reservations.sends_in == slot]
        listeners = processors[reservations.hears_in == slot]
        groups = sorted_packets.keys[senders] // network.n
        listening = listeners, reservations.hears_from[listeners]
        inbox = yield from sorted_packets.send(senders, groups, listening, "to class groups")
        sorted_packets.memory.store(inbox.receivers, inbox.packets)
        received[inbox.receivers], targets[inbox.receivers] = inbox.packets, inbox.destinations
    sorted_packets.packets, sorted_packets.destinations = received, targets


def _deliver_all(sorted_packets: SortedPackets) -> Slots:
    """Deliver the packets for indices τg to τg + g - 1 in slot τ, one on every coupler."""
    network, destinations = sorted_packets.network, sorted_packets.destinations
    g, processors = network.g, network.processors
    group, index = network.group(processors), network.index(processors)
    for block in range(network.blocks):
        senders = processors[network.index(destinations) // g == block]
        listening = index // g == block
        listened = processors[listening], ((group + index) % g)[listening]
        targets = network.group(destinations[senders])
        inbox = yield from sorted_packets.send(senders, targets, listened, "to destination")
        sorted_packets.memory.deliver(inbox.receivers, inbox.packets)
