"""Roll call: at most 2g slots for every permutation on POPS(g, g), without coins or conflicts."""

from __future__ import annotations

import numpy as np

from popsnet.coins import Coins
from popsnet.memory import Memory
from popsnet.network import Network
from popsnet.routing.facts import Phases
from popsnet.slot import Ints, Slot, Slots

_COLLECT, _HAND_OUT = "roll call: collect", "roll call: hand out"
ROLL_CALL_PHASES: Phases = {
    _COLLECT: "One processor of each group at a time sends its packet to a relay "
    "group: nothing can collide.",
    _HAND_OUT: "Relays hand out what they collected: each coupler carries one packet.",
}


def roll_call(network: Network, destination: Ints, coins: Coins, memory: Memory) -> Slots:
    """Route any permutation on POPS(g, g) in at most 2g slots.

    In slot l source (a, l) sends its packet, which is for (b, m), to group T = (b + m) mod g, and
    processor (T, p) listens to group p - l mod g. A group has one sender in a slot, so nothing
    meets. Group T then has g packets, one for each group. In each of at most g more slots every
    processor sends one of those it stores, and (b, m) listens to T; the coupler c(b, T) carries one
    packet in all these slots together.
    """
    g, processors = network.g, network.processors
    index = network.index(processors)
    relays = _relay(network, destination)
    holders, packets = [], []
    for turn in range(g):
        senders = processors[index == turn]
        inbox = yield Slot.send_packets(
            senders, relays[senders], (index - turn) % g, phase=_COLLECT, conflict_free=True
        )
        memory.drop(senders, senders)
        memory.store(inbox.receivers, inbox.packets)
        holders.append(inbox.receivers)
        packets.append(inbox.packets)
    stored = np.concatenate(holders), np.concatenate(packets)
    yield from _hand_out(network, destination, memory, *stored)


def _relay(network: Network, destination: Ints) -> Ints:
    """Return the relay group T of each destination."""
    return (network.group(destination) + network.index(destination)) % network.g


def _hand_out(
    network: Network, destination: Ints, memory: Memory, holders: Ints, packets: Ints
) -> Slots:
    """Let every processor send what it stores, one packet per slot."""
    processors, undelivered = network.processors, np.ones(network.n, dtype=np.bool_)
    while holders.size:
        senders, now = np.unique(holders, return_index=True)
        listeners, sent = processors[undelivered], packets[now]
        groups, listening = (
            network.group(destination[sent]),
            (listeners, _relay(network, listeners)),
        )
        inbox = yield Slot.send_packets(
            senders, groups, listening, packets=sent, phase=_HAND_OUT, conflict_free=True
        )
        memory.drop(senders, sent)
        memory.deliver(inbox.receivers, inbox.packets)
        undelivered[inbox.receivers] = False
        holders, packets = np.delete(holders, now), np.delete(packets, now)
