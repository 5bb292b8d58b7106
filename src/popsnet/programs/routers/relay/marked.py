"""Marked stages, Q and Xr: destinations that wait mark couplers, so delivery and ack are one slot.

A destination j = (b, l) has, as in the other stages, r public places: its relay groups T_u and its
classes τ_u, u < r. Q is r = 1. In the first slot

- a pending source (a, i) sends its packet to the groups T_u of its destination;
- a destination that waits marks its own groups T_u, with the same message if it is a source, too.

The first member of the set (T, a) listens to group a. It accepts a packet that it hears, if T is
one of the packet's groups and the sender, which says whether it waits, has not marked T itself.
Then come rk slots, k = ⌈d/g⌉, one for each u and each class: the relay sends what it accepted to
the destination's group and to the source's, in one message. A destination that waits listens to
T_u of its own, another pending source to T_u of its packet, and takes its own packet as the ack.

Nothing is lost. On c(x, T), in the slot of u and τ, two processors may send: (T, x), an ack for x,
and the relay of the packet for the one destination (x, l) with this place. If that destination
waits, it has marked T in the first slot. So (T, x) heard nothing, or this mark alone, and accepted
nothing: **the delivery meets no other message**, and its destination listens. An ack may be missed:
a source that listens as a destination does not hear it. Then the source goes on, though its packet
has arrived, which does no harm.

Two more rules, which take no slot:

- **Look-ahead.** A packet for its source's own group meets the mark of its own destination, as long
  as that waits. So in the attempts before a marked stage its source sends it to the groups T_u of
  that stage, too. A relay that hears it there keeps it, and sends it in its slot, unless it has
  accepted another packet for the same slot. Nothing else can meet it.
- **Echo.** If the next stage is marked, too, a relay that accepted a packet from a sender that
  waits repeats the ack in the first slot of that stage, if it has nothing else to send. The source
  listens to it then, if it missed the ack, and is no relay. The echo may destroy an attempt, but
  what is heard is heard alone.

A run of marked stages alone might never end: on tiny networks two packets can mark each other's
couplers for ever, and while all processors are sources and wait, all listen to echoes. So a plan
repeats other stages as well.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from popsnet.model.network import F64, Network
from popsnet.model.slot import NO_PACKET, Exchange, Inbox, Ints, Kind, Slot, Slots
from popsnet.programs.facts import phases_of
from popsnet.programs.routers.relay.state import (
    Echo,
    RelayStage,
    RelayState,
    distinct,
    join,
    numbered,
)
from popsnet.programs.routers.to_all import one_per_coupler
from popsnet.theory.stages import after_marked


@dataclass(frozen=True)
class _MarkStage(RelayStage):
    phases = phases_of("marked")
    looks_ahead = True
    tells_sources = False

    def run(self, state: RelayState) -> Slots:
        """Execute the stage."""
        return _MarkedSlots(state, self.bijections).run()

    def slots(self, network: Network) -> int:
        """Return 1 + rk."""
        return 1 + self.bijections * network.blocks

    def after(self, network: Network, rho: F64) -> F64:
        """Return the fraction of packets that the stage leaves, in the fluid limit."""
        return after_marked(network, rho, self.bijections)

    def buffers(self, network: Network) -> int:
        """Return 3 + k: one more than in the stages before it, for a packet sent ahead."""
        return 3 + network.blocks

    def working(self, network: Network) -> int:
        """Return the bytes of the places of all destinations."""
        return 8 * self.bijections * network.n

    @property
    def bytes_per_packet(self) -> int:
        """The bytes of the groups of a packet, of marks and of messages to them."""
        return 90 * self.bijections


@dataclass(frozen=True)
class Mark(_MarkStage):
    """Q: one place per destination, 1 + ⌈d/g⌉ slots."""

    letters = "Q"


@dataclass(frozen=True)
class MarkSeveral(_MarkStage):
    """Xr: r places per destination, 1 + r⌈d/g⌉ slots."""

    letters = "X"
    largest = 16
    copies: int

    @property
    def bijections(self) -> int:  # type: ignore[override]
        """The number of public bijections."""
        return self.copies


class _MarkedSlots:
    def __init__(self, state: RelayState, copies: int) -> None:
        network = state.network
        self._state, self._network, self._copies = state, network, copies
        self._places = state.next_places(copies)
        self._ahead = state.take_ahead()
        self._own = self._places.of(network.processors)

    def run(self) -> Slots:
        accepted, sender_waits = yield from self._attempt()
        missed = np.full(self._network.n, NO_PACKET, dtype=np.int32)
        slots = self._slot_of(accepted)
        ahead = self._slot_of(self._ahead)
        state = self._state
        for turn in range(self._copies * self._network.blocks):
            if not state.pending.size:
                return
            yield from self._deliver(turn, accepted, slots, ahead, missed)
        state.release(self._ahead.at(ahead >= 0))
        if state.following is not None and state.following.looks_ahead:
            listening = state.pending[missed[state.pending] != NO_PACKET]
            state.echo = Echo(accepted.at(sender_waits), listening, missed[listening])

    def _attempt(self) -> Exchange[tuple[Inbox, np.ndarray]]:
        """Return what relays accept, and whether each sender waits."""
        state, network = self._state, self._network
        processors = network.processors
        sends = np.zeros(network.n, dtype=np.bool_)
        sends[state.pending] = True
        senders = processors[sends | state.undelivered]
        is_source, waits = sends[senders], state.undelivered[senders]
        marks = self._own.groups[senders]
        packets = self._own.groups[state.destination[senders]]
        targets = [
            np.where(is_source[:, None], packets, marks), np.where(waits[:, None], marks, packets)
        ]  # fmt: skip
        groups, fanout = distinct(
            state.look_ahead(senders, np.concatenate(targets, axis=1), is_source)
        )
        listeners, listened = one_per_coupler(network)
        heard = yield from self._with_echo(Slot(
            senders=senders, groups=groups, fanout=fanout,
            kind=np.where(is_source, Kind.PACKET, Kind.CONTROL),
            packets=np.where(is_source, senders, NO_PACKET), contents=waits.astype(np.uint8),
            bits=1, listeners=listeners, listened=listened,
            phase="marked: attempt", step=state.step,
        ))  # fmt: skip
        at = network.group(heard.receivers)[:, None]
        meant = (self._own.groups[heard.destinations] == at).any(axis=1)
        waiting = heard.contents == 1
        marked = waiting & (self._own.groups[heard.packets] == at).any(axis=1)
        accepts = meant & ~marked
        state.keep_ahead(heard.at(~accepts))
        accepted = heard.at(accepts)
        state.keep(accepted)
        return accepted, waiting[accepts]

    def _with_echo(self, slot: Slot) -> Exchange[Inbox]:
        """Execute the attempt with repeated acks, and return the packets that relays hear."""
        state = self._state
        echo, state.echo = state.echo, None
        if echo is None:
            heard = yield slot
            return heard.at(heard.kinds == Kind.PACKET)
        relays = echo.relays.at(~np.isin(echo.relays.receivers, slot.senders))
        others = ~np.isin(slot.listeners, echo.listeners)
        assert slot.fanout is not None
        count = len(relays.receivers)
        heard = yield replace(
            slot,
            senders=np.concatenate([slot.senders, relays.receivers]),
            groups=np.concatenate([slot.groups, relays.groups]),
            fanout=np.concatenate([slot.fanout, np.ones(count, dtype=np.int32)]),
            kind=np.concatenate([slot.kinds, np.full(count, Kind.ACK)]),
            packets=np.concatenate([slot.packet_numbers, relays.packets]),
            contents=np.concatenate([slot.contents, np.zeros(count, dtype=np.uint8)]),
            listeners=np.concatenate([slot.listeners[others], echo.listeners]),
            listened=np.concatenate([slot.listened[others], echo.listened]),
        )
        acks = (heard.kinds == Kind.ACK) & (heard.packets == heard.receivers)
        self._acknowledge(heard.receivers[acks])
        return heard.at((heard.kinds == Kind.PACKET) & ~np.isin(heard.receivers, echo.listeners))

    def _slot_of(self, held: Inbox) -> Ints:
        """Return the delivery slot of each packet: the first of its places at this relay."""
        groups, classes = self._own.groups[held.destinations], self._own.classes[held.destinations]
        hits = groups == self._network.group(held.receivers)[:, None]
        first = hits.argmax(axis=1)
        slots: Ints = first * self._network.blocks + classes[np.arange(len(first)), first]
        return slots

    def _deliver(self, turn: int, accepted: Inbox, slots: Ints, ahead: Ints, missed: Ints) -> Slots:
        """Execute one delivery slot; mark look-ahead packets that are sent by -1."""
        state, network = self._state, self._network
        u, which = divmod(turn, network.blocks)
        now = accepted.at(slots == turn)
        at = np.flatnonzero((ahead == turn) & ~np.isin(self._ahead.receivers, now.receivers))
        later = self._ahead.at(at)
        ahead[at] = -1
        sending = join([now, later])
        ends = network.group(sending.destinations), sending.groups
        groups, fanout = distinct(np.stack(ends, axis=1))
        place, classes = self._own.groups[:, u], self._own.classes[:, u]
        waiting = state.waiting[classes[state.waiting] == which]
        due = state.pending[classes[state.destination[state.pending]] == which]
        busy = np.isin(due, waiting)
        new = due[busy & (missed[due] == NO_PACKET)]
        missed[new] = place[state.destination[new]]
        others = due[~busy]
        listeners = np.concatenate([waiting, others])
        listened = np.concatenate([place[waiting], place[state.destination[others]]])
        phase = numbered("marked: delivery", turn, self._copies * network.blocks)
        heard = yield Slot.forward(
            sending, groups, (listeners, listened), fanout=fanout, phase=phase, step=state.step
        )
        state.release(sending)
        state.take(heard)
        self._acknowledge(heard.receivers[heard.packets == heard.receivers])

    def _acknowledge(self, sources: Ints) -> None:
        """Let sources that heard their own packet be done, if they are not already."""
        self._state.acknowledge(sources[np.isin(sources, self._state.pending)])
