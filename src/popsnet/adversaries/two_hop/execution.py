"""Executes a two-hop algorithm on the machine, by the rules of the class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from popsnet.adversaries.two_hop.algorithm import NOBODY, TwoHop
from popsnet.adversaries.two_hop.rounds import Bools
from popsnet.coins import Coins
from popsnet.engines import Instance, Outcome
from popsnet.engines.slots import execute
from popsnet.memory import Memory
from popsnet.network import Network
from popsnet.routing import Router
from popsnet.routing.router import Variant
from popsnet.slot import Inbox, Ints, Slot, Slots

__all__ = ["Arrivals", "execute_two_hop"]

_BUFFERS = 3
"""A, B, and the packet that is delivered to the processor itself."""


@dataclass(frozen=True, slots=True, eq=False)
class Arrivals:
    """What came of a run."""

    slot: Ints
    """For every packet the slot in which its destination group heard it; 0 if it did not."""
    outcome: Outcome
    """The machine's count. It calls a packet delivered when the destination itself heard it."""

    @property
    def waiting(self) -> Ints:
        """The packets that have not arrived."""
        return np.flatnonzero(self.slot == 0)


def execute_two_hop(
    algorithm: TwoHop, network: Network, destination: Ints, rounds: int
) -> Arrivals:
    """Run so many rounds on the machine, fewer if all packets have arrived before.

    That a packet which any processor of its destination group has heard is sent no more is the
    paper's assumption; no processor could know it. The machine keeps such packets at their
    sources, unsent, so that none counts as lost.
    """
    slot = np.zeros(network.n, dtype=np.int32)

    def route(network: Network, destination: Ints, coins: Coins, memory: Memory) -> Slots:
        return _route(algorithm, network, rounds, slot, memory)

    router = Router(
        name=f"two-hop {algorithm.name}",
        summary="a two-hop algorithm",
        slots="two a round",
        buffers=_BUFFERS,
        variants={"standard": Variant(route)},
    )
    instance = Instance(network, router, "standard", destination, Coins(0), rounds)
    return Arrivals(slot, execute(instance))


def _route(algorithm: TwoHop, network: Network, rounds: int, slot: Ints, memory: Memory) -> Slots:
    for number in range(rounds):
        waiting = np.flatnonzero(slot == 0).astype(np.int32)
        if not waiting.size:
            return
        odd = 2 * number + 1
        groups: Ints = algorithm.sent_to(network, odd)[waiting]
        copies = yield _slot(algorithm, network, odd, waiting, groups, waiting)
        passing = copies.at(_settle(network, odd, copies, slot, memory))
        memory.store(passing.receivers, passing.packets)
        groups = network.group(passing.destinations)
        home = yield _slot(algorithm, network, odd + 1, passing.receivers, groups, passing.packets)
        memory.drop(passing.receivers, passing.packets)
        _settle(network, odd + 1, home, slot, memory)


def _slot(
    algorithm: TwoHop, network: Network, number: int, senders: Ints, groups: Ints, packets: Ints
) -> Slot:
    listened = algorithm.listened_to(network, number)
    listeners = np.flatnonzero(listened != NOBODY).astype(np.int32)
    if len(listeners) < network.n:
        listened = listened[listeners]
    return Slot.send_packets(
        senders,
        groups,
        (listeners, listened),
        packets=packets,
        phase="to intermediate group" if number % 2 else "to destination group",
        step=(number - 1) // 2,
    )


def _settle(network: Network, number: int, inbox: Inbox, slot: Ints, memory: Memory) -> Bools:
    """Note what arrived in its group; say which rows did not."""
    arrives: Bools = network.group(inbox.receivers) == network.group(inbox.destinations)
    slot[inbox.packets[arrives]] = number
    home = inbox.receivers == inbox.destinations
    memory.deliver(inbox.receivers[home], inbox.packets[home])
    return ~arrives
