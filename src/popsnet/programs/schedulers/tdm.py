"""tdm: one hop in a fixed frame, time-division multiplexing."""

from __future__ import annotations

from itertools import count

from popsnet.hardware.propagation import ONE_HOP
from popsnet.model.coins import Coins
from popsnet.model.frame import Frame
from popsnet.model.network import Network
from popsnet.model.traffic_memory import TrafficMemory
from popsnet.programs.facts import Explanation
from popsnet.programs.queues import Queues
from popsnet.programs.scheduler import DEAD, Running, register_scheduler
from popsnet.programs.schedulers.two_hops import capacity, deliver, frame_slot, without_own

_PHASE = "to destination"


@register_scheduler(
    "tdm",
    summary="one hop in a fixed frame of n slots",
    saturation=capacity,
    saturation_to_others=lambda network: without_own(network) * capacity(network),
    saturation_formula="1/⌈d/g⌉; times (n - 1)/n if no source sends to itself",
    delay=lambda network: (network.n + 1) / 2,
    delay_formula="(n + 1)/2",
    hops="1",
    messages="none",
    wavelengths=True,
    randomness="none",
    reference="S. S. Lam, 1977 (time-division multiple access)",
    propagation=lambda network, tau: ONE_HOP,
    paths="one hop",
    survives=DEAD,
    survives_known=DEAD,
    words=Explanation(
        "In a frame of n slots every processor meets every other one. It sends the oldest packet "
        "for the processor that it meets.",
        {_PHASE: "Packets go to their destinations, each on a coupler of its own."},
    ),
)
def tdm(network: Network, public: Coins, coins: Coins, memory: TrafficMemory) -> Running:
    """Send the oldest packet for the class that is met, in the conflict-free frame.

    A queue is served once in a frame of n slots. If ρ packets arrive for it per frame, Bernoulli,
    the mean delay is (n + 1)/2 + (n - 1)ρ/(2(1 - ρ)) slots, exactly.
    """
    frame, own = Frame(network), Queues()
    for t in count():
        arrived = yield None
        own.push(arrived.processors, frame.classes(arrived.destinations), arrived.packets)
        meeting = frame.meeting(t)
        packets = own.pop(meeting.senders, meeting.classes)
        has = packets >= 0
        inbox = yield frame_slot(meeting, packets, _PHASE)
        memory.drop(meeting.senders[has], packets[has])
        deliver(inbox, memory)
