"""rotor: one hop where it is enough, and two for queues of two or more packets."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from itertools import count

import numpy as np

from popsnet.coins import Coins
from popsnet.hardware.propagation import Propagation
from popsnet.network import Network
from popsnet.routing.facts import Words
from popsnet.slot import NO_PACKET, Ints
from popsnet.traffic.frame import Frame, Meeting
from popsnet.traffic.live_parts import LiveParts
from popsnet.traffic.memory import Arrived, TrafficMemory
from popsnet.traffic.queues import Queues
from popsnet.traffic.scheduler import DEAD, Running, register_scheduler
from popsnet.traffic.schedulers.two_hops import (
    deliver_or_keep,
    frame_slot,
    relayed_capacity,
    without_own,
)

_PHASE = "meeting"


class _Surplus:
    """The classes for which a processor has, or had, more than one packet.

    A processor that knows that the coupler to a class is dead counts its first packet as well.
    """

    def __init__(self, own: Queues) -> None:
        self._own = own
        self._classes: defaultdict[int, deque[int]] = defaultdict(deque)

    def _least(self, processors: Ints, classes: Ints) -> Ints:
        """Return the length of a queue from which on it is spread."""
        return np.full(len(processors), 2)

    def note(self, processors: Ints, classes: Ints) -> None:
        """Note packets that are about to join queues, if those are not empty."""
        joins = self._own.lengths(processors, classes) >= self._least(processors, classes) - 1
        for processor, one in zip(processors[joins].tolist(), classes[joins].tolist(), strict=True):
            self._classes[processor].append(one)

    def next(self, processors: Ints, met: Ints) -> Ints:
        """Return the first class of each processor with two packets or more, -1 if none has."""
        pairs = zip(processors.tolist(), met.tolist(), strict=True)
        return np.array([self._next(*pair) for pair in pairs], dtype=np.int64)

    def _next(self, processor: int, met: int) -> int:
        classes, passed = self._classes[processor], []
        found = -1
        while classes and found < 0:
            one = classes.popleft()
            queue = np.array([processor]), np.array([one])
            if self._own.lengths(*queue)[0] < self._least(*queue)[0]:
                continue
            if self._forwards(met, one):
                found = one
            else:
                passed.append(one)
        classes.extendleft(reversed(passed))
        return found

    def _forwards(self, met: int, to: int) -> bool:
        """Return whether the class that is met can pass on packets for another class."""
        return True


class _KnownSurplus(_Surplus):
    """The same, if the dead parts are known."""

    def __init__(self, own: Queues, known: LiveParts, residues: int) -> None:
        super().__init__(own)
        self._known, self._residues = known, residues

    def _least(self, processors: Ints, classes: Ints) -> Ints:
        at = self._known.network.group(processors)
        return np.where(self._known.couplers[classes // self._residues, at], 2, 1)

    def _forwards(self, met: int, to: int) -> bool:
        works = self._known.couplers[to // self._residues, met // self._residues]
        return bool(self._known.relays[met] and works)


def _lengthen(network: Network, delay: float, hops: float, tau: int) -> float:
    """Return the mean delay if relays meet destinations at any time in the frame.

    A packet reaches its relay τ slots later. If the slot in which this happens is independent of
    the slot in which the relay meets the destination, the wait for it is as long as before. It is
    an estimate: some meetings are missed, and others are made, and the queues are not the same.
    """
    return delay + hops * tau


_PROPAGATION = Propagation("+ τ per hop", _lengthen, "estimate", 2)


@register_scheduler(
    "rotor",
    summary="one hop in the frame; queues of two or more packets are spread over relays",
    saturation=relayed_capacity,
    saturation_to_others=lambda network: without_own(network) * relayed_capacity(network),
    any_traffic=lambda network: relayed_capacity(network) / 2,
    saturation_formula="min(1, g/d), and at least this times ⌊d/g⌋/⌈d/g⌉ if g does not divide "
    "d > g; times (n - 1)/n if no source sends to itself; half of it for any traffic whose rows "
    "and columns are at most that",
    delay=lambda network: (network.n + 1) / 2,
    delay_formula="(n + 1)/2",
    hops="1 or 2",
    messages="none",
    wavelengths=True,
    randomness="public, which of ⌈d/g⌉ hearers relays; none for d ≤ g",
    reference="W. M. Mellette et al., 2017 (RotorNet, RotorLB)",
    propagation=lambda network, tau: _PROPAGATION,
    paths="two hops",
    survives_known=DEAD,
    takes_map=True,
    words=Words(
        "In a frame of n slots every processor meets every other one. It sends a relayed packet "
        "for it, else one of its own, else it spreads a packet of a queue of two or more.",
        {_PHASE: "Packets go to the processors that are met: destinations, or relays."},
    ),
)
def rotor(
    network: Network, public: Coins, coins: Coins, memory: TrafficMemory,
    known: LiveParts | None = None,
) -> Running:  # fmt: skip
    """Send relayed packets first, then own ones, and use free slots to spread long queues.

    Spreading every packet whenever a slot is free would use up all spare capacity. A queue of one
    packet loses nothing by waiting for its slot, unless the coupler is known to be dead.
    """
    frame, own, relayed = Frame(network), Queues(), Queues()
    surplus = _Surplus(own) if known is None else _KnownSurplus(own, known, frame.residues)
    for t in count():
        arrived: Arrived = yield None
        for rows in _each_source_once(arrived.processors):
            sources, classes = arrived.processors[rows], frame.classes(arrived.destinations[rows])
            surplus.note(sources, classes)
            own.push(sources, classes, arrived.packets[rows])
        meeting = frame.meeting(t)
        if known is not None:
            meeting = known.meeting(meeting)
        packets = _take(meeting, own, relayed, surplus)
        has = packets >= 0
        inbox = yield frame_slot(meeting, packets, _PHASE)
        memory.drop(meeting.senders[has], packets[has])
        kept = deliver_or_keep(inbox, frame, t, public, memory)
        relayed.push(kept.receivers, frame.classes(kept.destinations), kept.packets)


def _each_source_once(sources: Ints) -> Iterator[Ints]:
    """Yield rows in which every source occurs once: first packets, then second ones, and so on."""
    rows: Ints = np.arange(len(sources))
    while len(rows):
        _, first = np.unique(sources[rows], return_index=True)
        yield rows[first]
        rows = np.delete(rows, first)


def _take(meeting: Meeting, own: Queues, relayed: Queues, surplus: _Surplus) -> Ints:
    """Remove the packet that each sender sends from its queue, and return them; -1 for none."""
    packets = np.full(len(meeting.senders), NO_PACKET, dtype=np.int64)
    for queues in (relayed, own):
        has = (packets < 0) & (queues.lengths(meeting.senders, meeting.classes) > 0)
        packets[has] = queues.pop(meeting.senders[has], meeting.classes[has])
    free = np.flatnonzero(packets < 0)
    classes = surplus.next(meeting.senders[free], meeting.classes[free])
    spreads = classes >= 0
    packets[free[spreads]] = own.pop(meeting.senders[free[spreads]], classes[spreads])
    return packets
