"""datta: strips are sorted by class, classes go to their groups, and from there home."""

from __future__ import annotations

from collections.abc import Generator

import numpy as np
import numpy.typing as npt

from popsnet.coins import Coins
from popsnet.memory import Memory
from popsnet.network import Network
from popsnet.routing.deterministic.batcher import SORTING_PHASES, sort_packets
from popsnet.routing.deterministic.exchange import SortedPackets, swap_values
from popsnet.routing.deterministic.layout import place_wires
from popsnet.routing.deterministic.pairs import pair_up
from popsnet.routing.deterministic.reservations import (
    RESERVATION_PHASES,
    PacketRun,
    Reservations,
    delivery_slots,
)
from popsnet.routing.deterministic.strips import Strip, strips
from popsnet.routing.facts import Claims, Expectation, Words
from popsnet.routing.router import register
from popsnet.slot import Inbox, Ints, Slot, Slots
from popsnet.sorting import merge_exchange, merge_exchange_depth
from popsnet.theory.bounds import Bound


def datta_slots(network: Network) -> int:
    """Slots on every permutation; k(4·lg² + 2·lg + 9) - ⌈k/g⌉ for d = kg, g = 2^lg.

    In general each strip of w ≤ g indices takes two slots for each stage of merge exchange on wg
    wires and for the keys of neighbours (one slot if d = 1), and ⌈g/d⌉ + 1 slots, twice, to make
    reservations; then come the slots of delivery to class groups, and k = ⌈d/g⌉ slots home.
    """
    d, g = network.d, network.g
    k, reports = network.blocks, -(-g // d)
    hops = 1 if d == 1 < g else 2
    stages = sum(merge_exchange_depth(one.width * g) + 1 for one in strips(network))
    return hops * stages + 2 * k * (reports + 1) + delivery_slots(network) + k


def _class_of(network: Network, destination: Ints) -> npt.NDArray[np.int64]:
    """(l + b) mod g for the destination (b, l): d destinations a class, for any d and g."""
    wide = destination.astype(np.int64)
    return (network.group(wide) + network.index(wide)) % network.g


_CLAIMS = Claims(
    Expectation(datta_slots, exact=True, reason="formula: strips sorted by merge exchange"),
    (Bound("datta", "upper", "k(4 lg² + 2 lg + 9) - ⌈k/g⌉ for d = kg, g = 2^lg; else alike",
           "always", "any d, g",
           "popsnet, docs/explanation/deterministic.md, after Datta and Soundaralakshmi",
           slots=datta_slots),),
)  # fmt: skip


@register(
    "datta",
    summary="sorts strips of g indices by class; classes go to their groups, then home",
    slots="k(4 lg² + 2 lg + 9) - ⌈k/g⌉ for d = kg, g = 2^lg; always",
    buffers=2,
    messages="two numbers up to n",
    reference="after Datta and Soundaralakshmi, 2003; a reconstruction, "
    "docs/explanation/deterministic.md",
    claims=_CLAIMS,
    words=Words(
        "Sorts the packets by class, sends classes to their groups, and from there every packet to "
        "its destination without a collision.",
        {
            **RESERVATION_PHASES,
            "*neighbours: *": "Neighbours in the sorted order tell each other what they have, by "
            "way of a relay.",
            **SORTING_PHASES,
            "to class groups": "Sorted packets go to the groups of their classes, each on a "
            "coupler of its own.",
            "to destination": "Packets go to their destinations, each on a coupler of its own.",
        },
    ),
)
def datta(network: Network, destination: Ints, coins: Coins, memory: Memory) -> Slots:
    """Route any permutation on-line without coins; see :func:`datta_slots` for the slots.

    In the manner of Datta and Soundaralakshmi (IEEE Transactions on Parallel and Distributed
    Systems, 2003); a reconstruction. Each strip sorts its packets by class, where the class of
    (b, l) is (l + b) mod g. A class that is together in order can go to its group g packets a slot,
    and groups take reservations, so that strips do not meet. From group c to b there is one
    packet of each block of g indices, so that k slots bring all home. O(n) time a stage.
    """
    classes = _class_of(network, destination)
    sorted_packets = SortedPackets(destination, classes * network.n + destination, memory)
    reservations = Reservations(network)
    for number, strip in enumerate(strips(network), start=1):
        run = yield from _sort_strip(network, sorted_packets, strip, f"strip {number},")
        yield from reservations.make(run)
    yield from _to_classes(network, sorted_packets, reservations)
    yield from _home(network, sorted_packets)


def _sort_strip(
    network: Network, sorted_packets: SortedPackets, strip: Strip, of: str
) -> Generator[Slot, Inbox, PacketRun]:
    """Sort a strip by class and destination; then each finds out whether a class begins there.

    The last stage of merge exchange compares positions 2i + 1 and 2i + 2, so that these have seen
    each other's packets. Positions 2i and 2i + 1 tell each other their keys, in two more slots.
    """
    place = place_wires(network, strip.first, strip.width)
    yield from sort_packets(network, sorted_packets, merge_exchange(len(place)), place, of)
    even = place[: len(place) // 2 * 2 : 2]
    keys = sorted_packets.keys
    if len(even):
        pairs = pair_up(network, even, place[1::2])
        bits = (network.g * network.n).bit_length()
        keys = yield from swap_values(pairs, sorted_packets.keys, f"{of} neighbours: ", bits)
    else:  # a single wire has no neighbour; it lets the time pass
        yield Slot(phase=f"{of} neighbours: none")
        yield Slot(phase=f"{of} neighbours: none")
    classes = keys[place] // network.n
    return _with_ends(place, _untangled(classes))


def _untangled(told: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The classes by position, when each position has its pair's."""
    classes = told.copy()
    paired = len(told) // 2 * 2
    classes[:paired:2], classes[1:paired:2] = told[1:paired:2], told[:paired:2]
    return classes


def _with_ends(place: Ints, classes: npt.NDArray[np.int64]) -> PacketRun:
    begins = np.ones(len(classes) + 1, dtype=np.bool_)
    begins[1:-1] = classes[1:] != classes[:-1]
    return PacketRun(place, classes, begins[:-1], begins[1:])


def _to_classes(
    network: Network, sorted_packets: SortedPackets, reservations: Reservations
) -> Slots:
    """Every packet goes to the group of its class, where one processor awaits it."""
    processors = network.processors
    received, homes = sorted_packets.packets.copy(), sorted_packets.destinations.copy()
    for slot in range(delivery_slots(network)):
        senders = processors[reservations.sends_in == slot]
        listeners = processors[reservations.hears_in == slot]
        inbox = yield Slot.send_packets(
            senders,
            sorted_packets.keys[senders] // network.n,
            (listeners, reservations.hears_from[listeners]),
            packets=sorted_packets.packets[senders],
            phase="to class groups",
            conflict_free=True,
        )
        sorted_packets.memory.drop(senders, sorted_packets.packets[senders])
        sorted_packets.memory.store(inbox.receivers, inbox.packets)
        received[inbox.receivers], homes[inbox.receivers] = inbox.packets, inbox.destinations
    sorted_packets.packets, sorted_packets.destinations = received, homes


def _home(network: Network, sorted_packets: SortedPackets) -> Slots:
    """In slot τ packets for indices τg to τg + g - 1 go home: one by every coupler."""
    g, memory, processors = network.g, sorted_packets.memory, network.processors
    group, index = network.group(processors), network.index(processors)
    for block in range(network.blocks):
        senders = processors[network.index(sorted_packets.destinations) // g == block]
        listeners = processors[index // g == block]
        inbox = yield Slot.send_packets(
            senders,
            network.group(sorted_packets.destinations[senders]),
            (listeners, ((group + index) % g)[listeners]),
            packets=sorted_packets.packets[senders],
            phase="to destination",
            conflict_free=True,
        )
        memory.drop(senders, sorted_packets.packets[senders])
        memory.deliver(inbox.receivers, inbox.packets)
