"""vlb: Valiant's load balancing, two hops in alternating frames."""

from __future__ import annotations

from itertools import count

from popsnet.hardware.propagation import Propagation, rounded_up
from popsnet.model.coins import Coins
from popsnet.model.faults.live_parts import LiveParts
from popsnet.model.frame import Frame
from popsnet.model.network import Network
from popsnet.model.traffic_memory import TrafficMemory
from popsnet.programs.facts import Explanation
from popsnet.programs.queues import Queues
from popsnet.programs.scheduler import DEAD, Running, register_scheduler
from popsnet.programs.schedulers import two_hops

_SPREAD, _DELIVER = "spread", "to destination"


def _lengthen(network: Network, delay: float, hops: float, tau: int) -> float:
    """Return the delay if all odd slots come later, by τ rounded up to an even number.

    Then a packet that was spread has arrived at its relay in time, and every decision is the same:
    the second hop is this much later, and τ slots pass until the last one has arrived.
    """
    return delay + tau + (hops - 1) * rounded_up(tau, 2)


_PROPAGATION = Propagation("second hops 2⌈τ/2⌉ slots later: + τ per hop", _lengthen, "bound", 2)


@register_scheduler(
    "vlb",
    summary="two hops: every packet is spread to the processor met, then delivered",
    period=lambda network: 2 * network.n,
    saturation=lambda network: two_hops.relayed_capacity(network) / 2,
    any_traffic=lambda network: two_hops.relayed_capacity(network) / 2,
    saturation_formula="min(1, g/d)/2, times ⌊d/g⌋/⌈d/g⌉ for d > g; the same for any traffic not "
    "in step with it whose rows and columns are at most this",
    delay=lambda network: network.n + 0.5 if network.d <= network.channels else None,
    delay_formula="n + 1/2 (d ≤ g)",
    hops="2, or 1 if the relay is the destination",
    messages="none",
    wavelengths=True,
    randomness="public, which of ⌈d/g⌉ hearers relays; none for d ≤ g",
    reference="C.-S. Chang, D.-S. Lee, Y.-S. Jou, 2002 (load-balanced switch)",
    propagation=lambda network, tau: _PROPAGATION,
    paths="two hops",
    survives_known=DEAD,
    uses_fault_map=True,
    words=Explanation(
        "Slots alternate. Packets are spread over all processors, and from there they go to their "
        "destinations, both in the frame of n slots.",
        {_SPREAD: "Every source sends its oldest packet to the processor that it meets.",
         _DELIVER: "Relays send packets to the destinations that they meet."},
    ),
)  # fmt: skip
def vlb(
    network: Network, public: Coins, coins: Coins, memory: TrafficMemory,
    fault_map: LiveParts | None = None,
) -> Running:  # fmt: skip
    """Spread the oldest packet to whomever is met, in even slots; deliver in odd slots.

    A flow is spread evenly over all relays, so that each relay meets a destination as often as it
    needs to. Traffic in step with the frame is an exception: packets for one destination that all
    arrive when their sources meet one relay wait there. A source that knows the dead parts sends
    the oldest packet that the relay can pass on.
    """
    frame, own, relayed = Frame(network), Queues(), Queues()
    for t in count():
        arrived = yield None
        own.push(arrived.processors, 0 * arrived.packets, arrived.packets)
        meeting = frame.meeting(t // 2)
        if fault_map is not None:
            meeting = fault_map.meeting(meeting)
        spreads = t % 2 == 0
        queues, keys = (own, 0 * meeting.senders) if spreads else (relayed, meeting.classes)
        if fault_map is not None and spreads:
            packets = two_hops.spread_first(queues, meeting, fault_map, memory)
        else:
            packets = queues.heads(meeting.senders, keys)
        has = packets >= 0
        inbox = yield two_hops.frame_slot(meeting, packets, _SPREAD if spreads else _DELIVER)
        queues.remove(meeting.senders[has], keys[has], packets[has])
        memory.drop(meeting.senders[has], packets[has])
        if spreads:
            transit = two_hops.deliver_or_keep(inbox, frame, t, public, memory)
            relayed.push(transit.receivers, frame.classes(transit.destinations), transit.packets)
        else:
            two_hops.deliver(inbox, memory)
