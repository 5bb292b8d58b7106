"""What schedulers that spread packets over relays in the frame have in common."""

from __future__ import annotations

import numpy as np

from popsnet.model.coins import Coins
from popsnet.model.faults.live_parts import LiveParts
from popsnet.model.frame import Frame, Meeting
from popsnet.model.network import I64, Bools, Ints, Network
from popsnet.model.slot import Inbox, Slot
from popsnet.model.traffic_memory import TrafficMemory
from popsnet.programs.queues import Queues


def capacity(network: Network) -> float:
    """Return 1/⌈d/g⌉, the largest uniform load of one hop in the frame; 1/⌈d/gW⌉ in general.

    A class of ⌈d/g⌉ destinations is met once in a frame of n slots by every source, and a load of
    λ brings λ·⌈d/g⌉ packets for it in this time.
    """
    return 1 / -(-network.d // network.channels)


def without_own(network: Network) -> float:
    """Return (n - 1)/n, the part of its slots that a source uses if it does not send to itself.

    It meets its own class once in a frame. If that has no other member, this slot is of no use.
    Otherwise all other classes get n/(n - 1) times as much.
    """
    return (network.n - 1) / network.n


def relayed_capacity(network: Network) -> float:
    """Return the largest load of two hops in one slot each, of which alternation takes a half.

    A class of c members of a group gets as many packets to relay as any other, 1/(gM) of all, and
    each member 1/(gMc). A relay meets every class once in n slots, and a class of c' destinations
    gets c'·λ packets per slot. So λ·c'/(gMc) ≤ 1/n for the smallest c and the largest c': they
    differ if g does not divide d > g. With W wavelengths gW takes the place of g in M.
    """
    most = min(network.d, network.channels)
    least, largest = network.d // most, -(-network.d // most)
    return network.g * most / network.n * least / largest


def frame_slot(meeting: Meeting, packets: Ints, phase: str) -> Slot:
    """Return the slot in which senders that have a packet send it to whom they meet."""
    has = packets >= 0
    every = np.arange(len(meeting.listening), dtype=np.int32)
    return Slot.send_packets(
        meeting.senders[has], meeting.groups[has], (every, meeting.listening),
        packets=packets[has], phase=phase, conflict_free=True,
        send_wavelengths=None if meeting.wavelengths is None else meeting.wavelengths[has],
        listen_wavelengths=meeting.listened,
    )  # fmt: skip


def send_to(network: Network, senders: Ints, packets: Ints, listeners: Ints, phase: str) -> Slot:
    """Return the slot in which senders send packets straight to listeners, none in conflict."""
    return Slot.send_packets(
        senders, network.group(listeners), (listeners, network.group(senders)), packets=packets,
        phase=phase, conflict_free=True,
    )  # fmt: skip


def spread_first(own: Queues, meeting: Meeting, fault_map: LiveParts, memory: TrafficMemory) -> I64:
    """Return the oldest packet of each sender that the class it meets can pass on, -1 for none."""

    def may(rows: Ints, packets: Ints) -> Bools:
        return fault_map.forwards(meeting.classes[rows], memory.destinations(packets))

    return own.first(meeting.senders, 0 * meeting.senders, may)


def deliver(inbox: Inbox, memory: TrafficMemory) -> None:
    """Let destinations take the packets that they hear."""
    mine = inbox.destinations == inbox.receivers
    memory.deliver(inbox.receivers[mine], inbox.packets[mine])


def deliver_or_keep(
    inbox: Inbox, frame: Frame, slot: int, public: Coins, memory: TrafficMemory
) -> Inbox:
    """Let destinations take packets, and keepers store the others; return what was stored.

    A keeper whose buffer is full lets the packet go.
    """
    deliver(inbox, memory)
    transit = inbox.at(frame.keepers(inbox, slot, public) & memory.room(inbox.receivers))
    memory.store(transit.receivers, transit.packets)
    return transit
