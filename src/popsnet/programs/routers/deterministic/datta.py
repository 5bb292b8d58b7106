"""datta: strips are sorted by class, classes go to their groups, and from there to destinations.

Reservations are slots and couplers by which packets of a class come to the group of the class.
"""

from __future__ import annotations

import numpy as np

from popsnet.model.coins import Coins
from popsnet.model.memory import Memory
from popsnet.model.network import I64, Network
from popsnet.model.slot import Exchange, Ints, Slot, SlotOptions, Slots
from popsnet.programs.facts import Claims, Expectation, explained
from popsnet.programs.router import register
from popsnet.programs.routers.deterministic.batcher import place_wires, strips
from popsnet.programs.routers.deterministic.exchange import (
    SortedPackets,
    sorting_bytes,
    swap_values,
)
from popsnet.programs.routers.deterministic.pairs import pair_up
from popsnet.programs.routers.to_all import one_per_coupler
from popsnet.theory.bounds import Bound
from popsnet.theory.sorting import merge_exchange, merge_exchange_depth


def delivery_slots(network: Network) -> int:
    """Return ⌊(d + kg - k)/g⌋, the slots in which all packets go to the groups of their classes.

    A class has d packets, c_s of them in strip s, and ⌈c_s/g⌉ ≤ (c_s + g - 1)/g slots for them.
    """
    d, g, k = network.d, network.g, network.blocks
    return (d + k * g - k) // g


class Reservations:
    """What processors remember of the reservations, strip after strip.

    Every processor of group c knows R, the packets of class c that were announced, and B, the slots
    reserved for them. Its member number l takes packet l of the class: it learns when to listen,
    and to which group. The holder of a packet learns when to send it.
    """

    def __init__(self, network: Network) -> None:
        self.network = network
        self.sends_in, self.hears_in = np.full((2, network.n), -1, dtype=np.int64)
        self.hears_from, self._announced, self._reserved = np.zeros((3, network.n), dtype=np.int64)
        self._bits = 2 * max(network.n, delivery_slots(network)).bit_length()

    def make(self, place: Ints, classes: I64) -> Slots:
        """Reserve slots for a strip, in 2⌈g/d⌉ + 2 slots with two numbers up to n per message.

        ``place`` has the processor at each position of the sorted strip, ``classes`` the class of
        its packet: each processor knows whether it is the first or the last of its class.
        """
        g = self.network.g
        begins = np.ones(len(classes) + 1, dtype=np.bool_)
        begins[1:-1] = classes[1:] != classes[:-1]
        leads, trails = begins[:-1], begins[1:]
        position = np.arange(len(place), dtype=np.int64)
        first = np.column_stack((position, np.zeros_like(position)))
        heard_by, starts = yield from self._report(
            "leaders", place[leads], classes[leads], first[leads]
        )
        start, base = yield from self._answer(place, classes, heard_by, starts[:, 0])
        self.sends_in[place] = np.where(base < 0, -1, base + (position - start) // g)
        count = np.column_stack((start, position + 1 - start))
        trails &= (base >= 0) & (start <= position)  # others heard no answer, because of a fault
        heard_by, runs = yield from self._report(
            "trailers", place[trails], classes[trails], count[trails]
        )
        yield from self._repeat(heard_by, runs)

    def _report(
        self, who: str, speakers: Ints, classes: I64, contents: I64
    ) -> Exchange[tuple[Ints, I64]]:
        """Let one holder of every class tell the group of the class, where (c, a) listens to a.

        If d < g the processors of group c listen to d groups at a time.
        """
        network, d, g = self.network, self.network.d, self.network.g
        heard_by, heard = [], []
        for turn in range(-(-g // d)):
            now = network.group(speakers) // d == turn
            ends = speakers[now], classes[now], one_per_coupler(network, turn * d)
            phase = f"reserve: {who}" + (f", part {turn + 1}" if d < g else "")
            inbox = yield Slot.send_control(
                *ends, contents=contents[now], bits=self._bits, phase=phase, conflict_free=True
            )
            heard_by.append(inbox.receivers)
            heard.append(inbox.contents)
        at, first = np.unique(np.concatenate(heard_by), return_index=True)
        return at, np.concatenate(heard)[first]

    def _answer(
        self, place: Ints, classes: I64, speakers: Ints, starts: I64
    ) -> Exchange[tuple[I64, I64]]:
        """Let processors that heard a leader tell where the class begins, and its first slot."""
        answers = np.column_stack((starts, self._reserved[speakers]))
        options = SlotOptions(phase="reserve: answers", conflict_free=True)
        inbox = yield Slot.broadcast(
            speakers, self.network.g, (place, classes), contents=answers, bits=self._bits, **options
        )
        answer_at = np.full((self.network.n, 2), -1, dtype=np.int64)
        answer_at[inbox.receivers] = inbox.contents
        return answer_at[place, 0], answer_at[place, 1]

    def _repeat(self, speakers: Ints, runs: I64) -> Slots:
        """Let a processor that heard a trailer tell its own group, which keeps the reservations."""
        network, g = self.network, self.network.g
        own, listened = network.group(speakers), network.group(network.processors)
        options = SlotOptions(phase="reserve: totals", conflict_free=True)
        inbox = yield Slot.send_control(
            speakers, own, listened, contents=runs, bits=self._bits, **options
        )
        at, (start, count) = inbox.receivers, inbox.contents.T
        number = network.index(at) - self._announced[at]
        mine = (number >= 0) & (number < count)
        self.hears_in[at[mine]] = (self._reserved[at] + number // g)[mine]
        self.hears_from[at[mine]] = ((start + number) % g)[mine]
        self._announced[at] += count
        self._reserved[at] += -(-count // g)


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
    >>> from popsnet.programs.routers.deterministic import datta_slots
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


def _class_of(network: Network, destination: Ints) -> I64:
    """Return (l + b) mod g for the destination (b, l): d destinations per class."""
    wide = destination.astype(np.int64)
    return (network.group(wide) + network.index(wide)) % network.g


_CLAIMS = Claims(
    Expectation(datta_slots, exact=True, reason="formula: strips sorted by merge exchange"),
    (Bound("datta", "upper", "k(4 lg² + 2 lg + 9) - ⌈k/g⌉ for d = kg, g = 2^lg; similar otherwise",
           "always", "any d, g",
           "docs/explanation/deterministic.md, after Datta and Soundaralakshmi",
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
    "docs/explanation/deterministic.md",
    online=True,
    claims=_CLAIMS,
    working=_working,
    words=explained("datta", "reserving", "sorting", "datta"),
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
    >>> from popsnet.programs.routers.deterministic import datta_slots
    >>> popsnet.route(4, 4, router="datta").slots == datta_slots(popsnet.Network(4, 4))
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


def _sort_strip(sorted_packets: SortedPackets, place: Ints, of: str) -> Exchange[I64]:
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
    return keys[place][position] // network.n


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
