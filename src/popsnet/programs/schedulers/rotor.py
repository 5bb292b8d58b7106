"""rotor: one hop where it is enough, and two for queues of two or more packets."""

from __future__ import annotations

from collections import defaultdict, deque
from itertools import count

import numpy as np

from popsnet.hardware.propagation import Propagation
from popsnet.model.coins import Coins
from popsnet.model.faults.live_parts import LiveParts
from popsnet.model.frame import Frame, Meeting
from popsnet.model.network import Network
from popsnet.model.slot import NO_PACKET, Ints
from popsnet.model.traffic_memory import NewPackets, TrafficMemory
from popsnet.programs.facts import Explanation
from popsnet.programs.queues import Queues
from popsnet.programs.scheduler import DEAD, Running, register_scheduler
from popsnet.programs.schedulers import two_hops

_PHASE = "meeting"


class _OwnQueues(Queues):
    """The queues of own packets, by class, with the classes that have, or had, a surplus.

    That is more than one packet. A processor that knows that the coupler to a class is dead counts
    its first packet as well.
    """

    def __init__(self, frame: Frame, fault_map: LiveParts | None) -> None:
        super().__init__()
        self._d, self._residues = frame.network.d, frame.residues
        self._couplers = [] if fault_map is None else fault_map.couplers.tolist()
        self._relays = [] if fault_map is None else fault_map.relays.tolist()
        self._surplus: defaultdict[int, deque[int]] = defaultdict(deque)

    def push(self, processors: Ints, keys: Ints, packets: Ints) -> None:
        """Append a packet to each queue, and note those that then have a surplus."""
        own, couplers, d, residues = self._queues, self._couplers, self._d, self._residues
        rows = zip(processors.tolist(), keys.tolist(), packets.tolist(), strict=True)
        for processor, to, packet in rows:
            queue = own.setdefault((processor, to), deque())
            if queue or (couplers and not couplers[to // residues][processor // d]):
                self._surplus[processor].append(to)
            queue.append(packet)

    def pop_surplus(self, processors: Ints, met: Ints) -> Ints:
        """Remove and return a packet of the first class with a surplus that ``met`` can relay to.

        It is -1 for a processor that has none.
        """
        own, couplers, relays = self._queues, self._couplers, self._relays
        packets = []
        for processor, over in zip(processors.tolist(), met.tolist(), strict=True):
            classes, passed, packet = self._surplus[processor], [], NO_PACKET
            while classes and packet < 0:
                to = classes.popleft()
                queue, group = own.get((processor, to)), to // self._residues
                direct = not couplers or couplers[group][processor // self._d]
                if queue is None or len(queue) < 1 + direct:
                    continue
                if not couplers or (relays[over] and couplers[group][over // self._residues]):
                    packet = queue.popleft()
                    if not queue:
                        del own[processor, to]
                else:
                    passed.append(to)
            classes.extendleft(reversed(passed))
            packets.append(packet)
        return np.array(packets, dtype=np.int64)


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
    saturation=two_hops.relayed_capacity,
    saturation_to_others=lambda network: (
        two_hops.without_own(network) * two_hops.relayed_capacity(network)
    ),
    any_traffic=lambda network: two_hops.relayed_capacity(network) / 2,
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
    uses_fault_map=True,
    words=Explanation(
        "In a frame of n slots every processor meets every other one. It sends a relayed packet "
        "for it, else one of its own, else it spreads a packet of a queue of two or more.",
        {_PHASE: "Packets go to the processors that are met: destinations, or relays."},
    ),
)
def rotor(
    network: Network, public: Coins, coins: Coins, memory: TrafficMemory,
    fault_map: LiveParts | None = None,
) -> Running:  # fmt: skip
    """Send relayed packets first, then own ones, and use free slots to spread long queues.

    Spreading every packet whenever a slot is free would use up all spare capacity. A queue of one
    packet loses nothing by waiting for its slot, unless the coupler is known to be dead.
    """
    frame, relayed = Frame(network), Queues()
    own = _OwnQueues(frame, fault_map)
    for t in count():
        arrived: NewPackets = yield None
        own.push(arrived.processors, frame.classes(arrived.destinations), arrived.packets)
        meeting = frame.meeting(t)
        if fault_map is not None:
            meeting = fault_map.meeting(meeting)
        packets = _take(meeting, own, relayed)
        has = packets >= 0
        inbox = yield two_hops.frame_slot(meeting, packets, _PHASE)
        memory.drop(meeting.senders[has], packets[has])
        transit = two_hops.deliver_or_keep(inbox, frame, t, public, memory)
        relayed.push(transit.receivers, frame.classes(transit.destinations), transit.packets)


def _take(meeting: Meeting, own: _OwnQueues, relayed: Queues) -> Ints:
    """Remove the packet that each sender sends from its queue, and return them; -1 for none."""
    senders, classes = meeting.senders, meeting.classes
    packets = relayed.pop(senders, classes)
    for pop in (own.pop, own.pop_surplus):
        free = packets < 0
        packets[free] = pop(senders[free], classes[free])
    return packets
