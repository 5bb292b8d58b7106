"""rotor: one hop where it is enough, and two for queues of two or more packets."""

from __future__ import annotations

from collections import defaultdict, deque
from itertools import count

import numpy as np

from popsnet.coins import Coins
from popsnet.network import Network
from popsnet.routing.facts import Words
from popsnet.slot import NO_PACKET, Ints
from popsnet.traffic.frame import Frame, Meeting
from popsnet.traffic.memory import Arrived, TrafficMemory
from popsnet.traffic.queues import Queues
from popsnet.traffic.scheduler import Running, register_scheduler
from popsnet.traffic.schedulers.two_hops import deliver_or_keep, frame_slot, relayed_capacity

_PHASE = "meeting"


class _Surplus:
    """The classes for which a processor has, or had, more than one packet."""

    def __init__(self, own: Queues) -> None:
        self._own = own
        self._classes: defaultdict[int, deque[int]] = defaultdict(deque)

    def note(self, processors: Ints, classes: Ints) -> None:
        """Note packets that are about to join queues, if those are not empty."""
        joins = self._own.lengths(processors, classes) > 0
        for processor, one in zip(processors[joins].tolist(), classes[joins].tolist(), strict=True):
            self._classes[processor].append(one)

    def next(self, processors: Ints) -> Ints:
        """Return the first class of each processor with two packets or more, -1 if none has."""
        return np.array([self._next(one) for one in processors.tolist()], dtype=np.int64)

    def _next(self, processor: int) -> int:
        classes = self._classes[processor]
        while classes:
            one = classes.popleft()
            if self._own.lengths(np.array([processor]), np.array([one]))[0] >= 2:
                return one
        return -1


@register_scheduler(
    "rotor",
    summary="one hop in the frame; queues of two or more packets are spread over relays",
    saturation=relayed_capacity,
    saturation_formula="min(1, g/d), times ⌊d/g⌋/⌈d/g⌉ for d > g; in the worst case half of it",
    delay=lambda network: (network.n + 1) / 2,
    delay_formula="(n + 1)/2",
    hops="1 or 2",
    messages="none",
    wavelengths=True,
    randomness="public, which of ⌈d/g⌉ hearers relays; none for d ≤ g",
    reference="W. M. Mellette et al., 2017 (RotorNet, RotorLB)",
    words=Words(
        "In a frame of n slots every processor meets every other one. It sends a relayed packet "
        "for it, else one of its own, else it spreads a packet of a queue of two or more.",
        {_PHASE: "Packets go to the processors that are met: destinations, or relays."},
    ),
)
def rotor(network: Network, public: Coins, coins: Coins, memory: TrafficMemory) -> Running:
    """Send relayed packets first, then own ones, and use free slots to spread long queues.

    Spreading every packet whenever a slot is free would use up all spare capacity. A queue of one
    packet loses nothing by waiting for its slot.
    """
    frame, own, relayed = Frame(network), Queues(), Queues()
    surplus = _Surplus(own)
    for t in count():
        arrived: Arrived = yield None
        for row in range(len(arrived.packets)):  # one by one: a source may get several
            one = arrived.processors[row : row + 1]
            key = frame.classes(arrived.destinations[row : row + 1])
            surplus.note(one, key)
            own.push(one, key, arrived.packets[row : row + 1])
        meeting = frame.meeting(t)
        packets = _take(meeting, own, relayed, surplus)
        has = packets >= 0
        inbox = yield frame_slot(meeting, packets, _PHASE)
        memory.drop(meeting.senders[has], packets[has])
        kept = deliver_or_keep(inbox, frame, t, public, memory)
        relayed.push(kept.receivers, frame.classes(kept.destinations), kept.packets)


def _take(meeting: Meeting, own: Queues, relayed: Queues, surplus: _Surplus) -> Ints:
    """Remove the packet that each sender sends from its queue, and return them; -1 for none."""
    packets = np.full(len(meeting.senders), NO_PACKET, dtype=np.int64)
    for queues in (relayed, own):
        has = (packets < 0) & (queues.lengths(meeting.senders, meeting.classes) > 0)
        packets[has] = queues.pop(meeting.senders[has], meeting.classes[has])
    free = np.flatnonzero(packets < 0)
    classes = surplus.next(meeting.senders[free])
    spreads = classes >= 0
    packets[free[spreads]] = own.pop(meeting.senders[free[spreads]], classes[spreads])
    return packets
