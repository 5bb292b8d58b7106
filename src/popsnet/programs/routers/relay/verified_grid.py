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

from popsnet.model.network import Bools, Network
from popsnet.model.slot import NO_PACKET, Exchange, Inbox, Ints, Slot, Slots
from popsnet.programs.facts import phases_of
from popsnet.programs.routers.relay.grid import Grid, GridSlots
from popsnet.programs.routers.relay.state import RelayState, numbered


@dataclass(frozen=True)
class VerifiedGrid(Grid):
    """VXY(x,y): a grid stage in which a source is done after its destination has confirmed."""

    letters = "VXY"
    phases = phases_of("verified grid")

    def run(self, state: RelayState) -> Slots:
        """Execute the stage."""
        return _VerifiedGridSlots(state, self.x, self.y).run()

    def slots(self, network: Network) -> int:
        """Return x + 2y + 1."""
        return self.x + 2 * self.y + 1

    def working(self, network: Network) -> int:
        """Return the bytes of stored packets, targets and acks by v, and of maps by slot."""
        return (16 * self.y + 8 * self.x) * network.n

    def obstacle(self, network: Network) -> str | None:
        """Return why the stage cannot be run on a network, or None if it can."""
        if network.d >= network.g:
            return f"stage {self} needs d < g; for d >= g use stages V and VF."
        return super().obstacle(network)


class _VerifiedGridSlots(GridSlots):
    def run(self) -> Slots:
        turns, relays, v = self.ways()
        yield from self.attempt(turns, relays, "verified grid")
        confirmed = yield from self._deliver_and_confirm()
        yield from self._tell(relays, v, confirmed)

    def _deliver_and_confirm(self) -> Exchange[Bools]:
        """Return which relays know that the packet stored under v has arrived, a row per v."""
        state, network, expecting = self.state, self.state.network, self.state.expecting
        places = state.places(self.bijection, expecting)
        arrived: list[Inbox] = []
        for v in range(self.y):
            relays = self.relay(places, v)
            exists = relays < network.g
            holders = self._holders(v)
            packets, targets = self.stored[v, holders], self.targets[v, holders]
            listening = expecting[exists], relays[exists]
            options = state.without_conflict(numbered("verified grid: delivery", v, self.y))
            heard = yield Slot.send_packets(
                holders, network.group(targets), listening, packets=packets, **options
            )
            state.release(holders, packets, targets)
            state.take(heard)
            arrived.append(heard.at(heard.destinations == heard.receivers))
        confirmed = np.zeros(self.stored.shape, dtype=np.bool_)
        for v, mine in enumerate(arrived):
            holders = self._holders(v)
            listening = holders, network.group(self.targets[v, holders])
            options = state.without_conflict(numbered("verified grid: confirm", v, self.y))
            inbox = yield Slot.acknowledge(mine, mine.groups, listening, **options)
            confirmed[v, inbox.receivers] = True
        return confirmed

    def _tell(self, relays: Ints, v: Ints, confirmed: Bools) -> Slots:
        """Let relays tell the destinations that have confirmed to the groups of the sources."""
        state, network, pending = self.state, self.state.network, self.state.pending
        speakers = self.processors[confirmed.any(axis=0)]
        sure = confirmed[:, speakers].T
        contents = np.where(sure, network.group(self.targets[:, speakers].T) + 1, 0)
        asks = relays < network.g
        options = state.without_conflict("verified grid: acks")
        options["fanout"] = sure.sum(axis=1, dtype=np.int32)
        inbox = yield Slot.send_control(
            speakers, self.origins[:, speakers].T[sure], (pending[asks], relays[asks]),
            contents=contents, bits=self.y * network.g.bit_length(), **options,
        )  # fmt: skip
        own = np.searchsorted(pending, inbox.receivers)
        entries = inbox.contents[np.arange(len(own)), v[own]]
        groups = network.group(state.destination[inbox.receivers])
        state.acknowledge(inbox.receivers[entries == groups + 1])

    def _holders(self, v: int) -> Ints:
        holders: Ints = self.processors[self.stored[v] != NO_PACKET]
        return holders
