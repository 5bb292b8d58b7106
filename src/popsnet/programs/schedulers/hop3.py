"""hop3: three hops, which fix the index and the group one after the other."""

from __future__ import annotations

from functools import partial
from itertools import count

import numpy as np

from popsnet.hardware.propagation import Propagation, rounded_up
from popsnet.model.coins import Coins
from popsnet.model.faults.live_parts import LiveParts
from popsnet.model.frame import Frame, Meeting
from popsnet.model.network import Bools, Ints, Network
from popsnet.model.slot import NO_PACKET, Inbox
from popsnet.model.traffic_memory import TrafficMemory
from popsnet.programs.facts import Explanation
from popsnet.programs.queues import Queues
from popsnet.programs.scheduler import DEAD, Running, register_scheduler
from popsnet.programs.schedulers import two_hops

_PHASES = ("spread", "fix the index", "fix the group")


def _delay(network: Network) -> float | None:
    """Return the mean delay of a single packet for d ≤ g, exactly for uniform-with-self traffic.

    The wait for a slot of the first kind takes 2 slots on average, the packet's own included. With
    probability 1 - 1/d the index is wrong, and a slot of the second kind that corrects it is
    1 + 3x slots later, x uniform in [0, d). With probability 1 - 1/g the group is wrong, and the
    third kind comes 1 + 3y slots later, y uniform in [0, g), or 2 + 3y if the index was right.
    """
    d, g = network.d, network.g
    if d > g:
        return None
    return 2 + (1 - 1 / d) * (1.5 * d - 0.5) + (1 - 1 / g) * (1.5 * g - 0.5 + 1 / d)


def _lengthen(network: Network, delay: float, hops: float, tau: int) -> float:
    """Return the delay if the second slots of three come later by τ', and the third by 2τ'.

    τ' is τ rounded up to a multiple of three, so slots stay in threes. What is heard has then
    arrived before the slot that may use it, and every decision is the same. A packet that is
    delivered in a first or second slot takes less.
    """
    return delay + tau + 2 * rounded_up(tau, 3)


_PROPAGATION = Propagation("later hops 3⌈τ/3⌉ slots later each: + τ per hop", _lengthen, "bound", 3)


@register_scheduler(
    "hop3",
    summary="three hops: spread, fix the index, fix the group",
    period=lambda network: 3 * network.n,
    saturation=lambda network: two_hops.relayed_capacity(network) / 3,
    any_traffic=lambda network: two_hops.relayed_capacity(network) / 3,
    saturation_formula="min(1, g/d)/3, times ⌊d/g⌋/⌈d/g⌉ for d > g; the same for any traffic whose "
    "rows and columns are at most this",
    delay=_delay,
    delay_formula="about 4 + 1.5(d + g - 2) (d ≤ g)",
    hops="1 to 3",
    messages="none",
    randomness="public",
    reference="D. Amir, T. Wilson and others, 2022 and 2024 (oblivious reconfigurable networks)",
    propagation=lambda network, tau: _PROPAGATION,
    paths="three hops",
    survives_known=DEAD,
    uses_fault_map=True,
    words=Explanation(
        "Slots come in threes. A packet is spread to any processor, goes on to one whose index is "
        "that of its destination (mod g), and from there to the destination's group.",
        {_PHASES[0]: "Every source sends its oldest packet to the processor that it meets.",
         _PHASES[1]: "Packets go to processors with the index of their destinations.",
         _PHASES[2]: "Packets go to the groups of their destinations."},
    ),
)  # fmt: skip
def hop3(
    network: Network, public: Coins, coins: Coins, memory: TrafficMemory,
    fault_map: LiveParts | None = None,
) -> Running:  # fmt: skip
    """Spread packets, then fix index and group, with periods of d and g cycles instead of n.

    Three hops carry a third of the load of one, and the waits are of the order of d + g instead of
    n: h + 1 hops with h = 2, for any traffic whose rows and columns are at most this. The groups of
    the second hop come from public coins, because a fixed rotation is in step with some
    permutations. Processors that know the dead parts send the oldest packet that the relay they
    meet can pass on.
    """
    frame, own, index, group = Frame(network), Queues(), Queues(), Queues()
    for t in count():
        arrived = yield None
        own.push(arrived.processors, 0 * arrived.packets, arrived.packets)
        k, phase = divmod(t, 3)
        if phase == 0:
            meeting, queues, keys = _spread(frame, k, own)
        elif phase == 1:
            meeting, queues, keys = _fix_index(frame, k, public, index)
        else:
            meeting, queues, keys = _fix_group(frame, k, group)
        if fault_map is None or phase == 2:
            packets = queues.heads(meeting.senders, keys)
        else:
            may = partial(_may, memory, fault_map, frame, phase, meeting.classes)
            packets = queues.first(meeting.senders, keys, may)
            packets[~fault_map.couplers[meeting.groups, network.group(meeting.senders)]] = NO_PACKET
        has = packets >= 0
        inbox = yield two_hops.frame_slot(meeting, packets, _PHASES[phase])
        queues.remove(meeting.senders[has], keys[has], packets[has])
        memory.drop(meeting.senders[has], packets[has])
        if phase == 2:
            two_hops.deliver(inbox, memory)
        else:
            transit = two_hops.deliver_or_keep(inbox, frame, t, public, memory)
            _sort(transit, frame, index, group, fault_map)


_Turn = tuple[Meeting, Queues, Ints]


def _spread(frame: Frame, k: int, own: Queues) -> _Turn:
    meeting = frame.meeting(k)
    return meeting, own, 0 * meeting.senders


def _fix_index(frame: Frame, k: int, public: Coins, index: Queues) -> _Turn:
    """Use the frame with a period of d: every sender meets every residue once."""
    d, g = frame.network.d, frame.network.g
    if d <= g:
        meeting = frame.meeting_at(public.draw(g, "rotation", k, 0), k % d)
    else:
        meeting = frame.meeting_at(k % d, public.draw(g, "rotation", k // d, 0))
    return meeting, index, meeting.classes % frame.residues


def _fix_group(frame: Frame, k: int, group: Queues) -> _Turn:
    """Let one processor of each residue send, to the same residue of another group."""
    network, residues = frame.network, frame.residues
    g = network.g
    here, at = (axis.ravel() for axis in np.mgrid[0:g, 0:residues])
    senders = network.processor(here, at + residues * ((k // g) % frame.members(at)))
    groups = (here + at + k) % g
    mine = network.index(network.processors) % residues
    listening = (network.group(network.processors) - mine - k) % g
    return Meeting(senders, groups, groups * residues + at, listening), group, groups


def _may(
    memory: TrafficMemory, fault_map: LiveParts, frame: Frame, phase: int, met: Ints, rows: Ints,
    packets: Ints,
) -> Bools:  # fmt: skip
    """Return whether the class that each sender meets can pass on the packet."""
    to, classes = memory.destinations(packets), met[rows]
    is_last = fault_map.forwards(classes, to)
    if phase == 1:
        return is_last
    at, same = classes // frame.residues, classes % frame.residues
    is_last &= same == frame.classes(to) % frame.residues
    return is_last | (fault_map.relays[classes] & fault_map.fixes[at, frame.classes(to)])


def _sort(
    transit: Inbox, frame: Frame, index: Queues, group: Queues, fault_map: LiveParts | None
) -> None:
    """Put packets that were kept into queues, by what is to be fixed next.

    A packet whose index is right goes to another group first if the last coupler is known to be
    dead.
    """
    residue = frame.network.index(transit.destinations) % frame.residues
    fixed = frame.network.index(transit.receivers) % frame.residues == residue
    to = frame.network.group(transit.destinations)
    if fault_map is not None:
        fixed &= fault_map.couplers[to, frame.network.group(transit.receivers)]
    index.push(transit.receivers[~fixed], residue[~fixed], transit.packets[~fixed])
    group.push(transit.receivers[fixed], to[fixed], transit.packets[fixed])
