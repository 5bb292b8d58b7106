"""Execute a two-hop algorithm on the machine, by the rules of the class."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from popsnet.engines import Outcome
from popsnet.model.coins import Coins
from popsnet.model.memory import Memory
from popsnet.model.network import Bools, Network
from popsnet.model.slot import Inbox, Ints, Slot, Slots
from popsnet.studies.adversaries.execution import execute_route
from popsnet.studies.adversaries.two_hop.algorithm import NO_GROUP, TwoHop, randomized

_CAP = 1000
"""Rounds. For d = g the randomized algorithm has never needed a tenth of them. For d much larger
than g hardly any packet is ever alone on its coupler, and the algorithm does not finish."""

_BUFFERS = 3
"""A, B, and the packet that is delivered to the processor itself."""


@dataclass(frozen=True, slots=True, eq=False)
class TwoHopRun:
    """The slots in which the packets of a run arrived."""

    slot: Ints
    """For every packet the slot in which its destination group heard it; 0 if it did not."""
    outcome: Outcome
    """The machine's counts. Here a packet is delivered when the destination itself heard it."""


def execute_two_hop(
    algorithm: TwoHop, network: Network, destination: Ints, rounds: int
) -> TwoHopRun:
    """Run this many rounds on the machine, or fewer if all packets arrive earlier.

    The paper assumes that a packet is no longer sent once any processor of its destination group
    has heard it, though no processor could know that. The machine keeps such packets at their
    sources, unsent, so that none counts as lost.
    """
    slot = np.zeros(network.n, dtype=np.int32)

    def route(network: Network, destination: Ints, coins: Coins, memory: Memory) -> Slots:
        for number in range(rounds):
            waiting = np.flatnonzero(slot == 0).astype(np.int32)
            if not waiting.size:
                return
            odd = 2 * number + 1
            groups: Ints = algorithm.sent_to(network, odd)[waiting]
            copies = yield _slot(algorithm, network, odd, waiting, groups, waiting)
            passing = copies.at(~_note_arrivals(network, odd, copies, slot, memory))
            senders, packets = passing.receivers, passing.packets
            memory.store(senders, packets)
            groups = network.group(passing.destinations)
            inbox = yield _slot(algorithm, network, odd + 1, senders, groups, packets)
            memory.drop(senders, packets)
            _note_arrivals(network, odd + 1, inbox, slot, memory)

    name = f"two-hop {algorithm.name}"
    outcome = execute_route(route, network, destination, name, _BUFFERS, max_steps=rounds)
    return TwoHopRun(slot, outcome)


class SlotCount(NamedTuple):
    """The slots until every packet has arrived in its group."""

    slots: int
    capped: bool
    """Whether the run was stopped then, before all packets had arrived."""


def at_least(number: object, cut: object) -> str:
    """Format a number, with ≥ if a search or a run was cut short."""
    return f"≥ {number}" if cut else str(number)


def randomized_slots(network: Network, permutations: Iterable[Ints]) -> tuple[SlotCount, ...]:
    """Run the randomized algorithm on each permutation, with its own coins."""
    counts = []
    for run, destination in enumerate(permutations):
        algorithm = randomized(Coins(1).for_run(run))
        slot = execute_two_hop(algorithm, network, destination, _CAP).slot
        capped = not slot.all()
        counts.append(SlotCount(2 * _CAP if capped else int(slot.max()), capped))
    return tuple(counts)


def _slot(
    algorithm: TwoHop, network: Network, number: int, senders: Ints, groups: Ints, packets: Ints
) -> Slot:
    listened = algorithm.listened_to(network, number)
    listeners = np.flatnonzero(listened != NO_GROUP).astype(np.int32)
    heard, step = (listeners, listened[listeners]), (number - 1) // 2
    phase = "to intermediate group" if number % 2 else "to destination group"
    return Slot.send_packets(senders, groups, heard, packets=packets, phase=phase, step=step)


def _note_arrivals(network: Network, t: int, inbox: Inbox, slot: Ints, memory: Memory) -> Bools:
    """Note the packets that arrived in their groups, and return which rows these are."""
    arrives: Bools = network.group(inbox.receivers) == network.group(inbox.destinations)
    slot[inbox.packets[arrives]] = t
    delivered = inbox.receivers == inbox.destinations
    memory.deliver(inbox.receivers[delivered], inbox.packets[delivered])
    return arrives
