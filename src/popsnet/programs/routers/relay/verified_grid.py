"""Verified grid, VXY(x, y): the stage of schedules that survive faults, for d < g.

It is :mod:`a grid stage <popsnet.programs.routers.relay.grid>` with y slots more, in which
destinations confirm, before the acks.

In delivery slot v every destination j listens to T_v(j), whether it has its packet or not. In
confirm slot v those that heard it then send one bit to T_v(j), and the relay listens to the group
of the destination of what it stored under v. In the slot of acks a relay (T, l) tells the groups of
the packets that were confirmed, for each v, the group of the destination, y⌈log2(g+1)⌉ bits in all.

**An ack is true.** Given T and v the group b names one destination, because T_v is injective on b.
It confirmed, so it has its packet, and a source that finds its own destination under its own v may
drop its packet.

**Nothing conflicts after the attempts, whatever faults there are.** A packet is sent once in a
stage, to one group T_v, in which one processor listens to its group: at most one relay holds it. So
in delivery slot v on c(b, T) there is only the packet of the destination j of b with T_v(j) = T,
in confirm slot v on c(T, b) only the bit of j, and in the slot of acks on c(a, T) only the message
of (T, ⌊a/G⌋), G = ⌈g/d⌉, the one processor of T that ever listens to a in an attempt.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from popsnet.model.network import Network
from popsnet.model.slot import Slot, Slots
from popsnet.programs.facts import phases_of
from popsnet.programs.routers.relay.grid import Grid, GridSlots
from popsnet.programs.routers.relay.state import RelayState
from popsnet.programs.routers.relay.verified import deliver_and_confirm


@dataclass(frozen=True)
class VerifiedGrid(Grid):
    """VXY(x,y): a grid stage in which a source is done after its destination has confirmed."""

    letters = "VXY"
    phases = phases_of("verified grid")
    is_verified = True
    instead = "V and VF"

    def run(self, state: RelayState) -> Slots:
        """Execute the stage."""
        network, grid = state.network, GridSlots(state, self.x, self.y)
        _, stored = yield from grid.attempt("verified grid")
        expecting = state.expecting
        listening = [grid.listening(expecting, expecting, number) for number in range(self.y)]
        confirmed = yield from deliver_and_confirm(state, "verified grid", stored, listening)
        names, origins = np.zeros((2, network.n, self.y), dtype=np.int32)
        for number, held in enumerate(confirmed):
            names[held.receivers, number] = network.group(held.destinations) + 1
            origins[held.receivers, number] = held.groups
        speakers = network.processors[names.any(axis=1)]
        contents, groups = names[speakers], origins[speakers]
        options = state.without_conflict("verified grid: acks")
        options["fanout"] = np.count_nonzero(contents, axis=1).astype(np.int32)
        inbox = yield Slot.send_control(
            speakers, groups[contents > 0], grid.asking,
            contents=contents, bits=self.y * network.g.bit_length(), **options,
        )  # fmt: skip
        own = np.searchsorted(state.pending, inbox.receivers)
        entries = inbox.contents[np.arange(len(own)), grid.v[own]]
        own_groups = network.group(state.destination[inbox.receivers])
        state.acknowledge(inbox.receivers[entries == own_groups + 1])

    def slots(self, network: Network) -> int:
        """Return x + 2y + 1."""
        return self.x + 2 * self.y + 1

    def working(self, network: Network) -> int:
        """Return the bytes of stored packets, targets and acks by v, and of maps by slot."""
        return (16 * self.y + 8 * self.x) * network.n
