"""Verified stages V and VF: a source is done only after its destination has confirmed.

They are the stages of schedules that survive faults, for d ≥ g. As in a park stage, destination
j = (b, l) has a public place in [0, d): its relay group T is the place mod g and its class τ the
place div g, so that (b, T, τ) belongs to one destination. The processors (T, l) with l ≡ a mod g
are the set (T, a), of k = ⌈d/g⌉ or k - 1 members, which all listen to group a. Every group has a
public number r(b), too, and a packet of group a for j is stored by one member of (T, a) only:
number (τ + r(b)) mod the size of the set, its **relay**. A source can compute it.

With faults the members of a set do not hear the same, so none may conclude from what it heard what
another one does. Here none does:

**At most one processor ever holds a copy of packet j for delivery in a stage**, its relay, however
often the packet is sent and whatever is heard. All that is claimed of conflicts follows from it.

**An ack is true.** An ack names the destination by its group and its class, given T. It starts at
j, which confirms only a packet that it has. So a source that finds its own destination in an ack
may drop its packet, whatever was lost or sent in vain before. An ack that named a slot would not
do: a source whose transmitter is dead would take the ack of another packet as its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from popsnet.model.network import F64, Bools, Network
from popsnet.model.slot import Exchange, Inbox, Ints, Kind, Slot, Slots
from popsnet.programs.facts import phases_of
from popsnet.programs.routers.relay.park import PublicPlaces, WindowedStage
from popsnet.programs.routers.relay.state import RelayStage, RelayState, join, numbered, split
from popsnet.theory.stages import after_shower, after_verified_park, after_verified_windows

_LARGE = 2**30
"""The public numbers of groups are below this, so that they are nearly uniform mod any size."""


@dataclass(frozen=True)
class VerifiedPark(WindowedStage):
    """V(w1,…,wm): windows of w slots, then k slots each to deliver, to confirm and for acks.

    In window i each pending source that was not heard in this stage sends its packet to T in one of
    the w_i slots, drawn by a private coin. The relay stores it, unless it already stores another
    packet of the class. After every window but the last the first member of (T, a) tells group a in
    which slots it heard a packet, w_i bits: a hint, after which a source tries no more in this
    stage. It is not an ack.

    In delivery slot τ relays send the packets of class τ, and destinations of class τ listen to T.
    In confirm slot τ those that heard their packet send one bit to T, and the relay listens to b.
    In ack slot m member m of (T, a) sends group a for each class the group of the destination that
    confirmed, k⌈log2(g+1)⌉ bits, and pending sources whose relay is member m listen to T.

    Nothing conflicts after the attempts, whatever faults there are:

    - heard: only (T, a), the first member, sends on c(a, T);
    - delivery: on c(b, T) in slot τ only the relay of the one destination (b, T, τ) sends;
    - confirm: on c(T, b) in slot τ only that destination sends;
    - acks: on c(a, T) in slot m only member m of (T, a) sends.
    """

    letters = "V"
    phases = phases_of("verified park")
    is_verified = True
    instead = "VXY(x,y)"

    def run(self, state: RelayState) -> Slots:
        """Execute the stage."""
        relays = _Relays(state)
        stored = yield from _attempts(relays, self.windows)
        expecting, g = state.expecting, state.network.g
        places, turns = relays.places(expecting), range(state.network.blocks)
        due = [places // g == turn for turn in turns]
        listening = [(expecting[rows], places[rows] % g) for rows in due]
        confirmed = yield from deliver_and_confirm(state, "verified park", stored, listening)
        yield from _acknowledge(relays, join(confirmed))

    def slots(self, network: Network) -> int:
        """Return Σw + m - 1 + 3k for m windows."""
        return sum(self.windows) + len(self.windows) - 1 + 3 * network.blocks

    def after(self, network: Network, rho: F64) -> F64:
        """Return the fraction of packets that the stage leaves, in the fluid limit."""
        if len(self.windows) == 1:
            return after_verified_park(network, rho, self.windows[0])
        return np.array([after_verified_windows(network, float(x), self.windows) for x in rho])

    def working(self, network: Network) -> int:
        """Return the bytes of places, of stored packets and of the acks of a slot."""
        hints = 3 * max(self.windows[:-1], default=0) * network.couplers
        return 60 * network.n + hints


@dataclass(frozen=True)
class VerifiedFold(RelayStage):
    """VF: one attempt and one delivery for all classes at once, four slots for any k = ⌈d/g⌉.

    Every pending source sends to T, where its relay listens. The relay forwards, and the up to k
    destinations of a group that share T share a coupler. The destination that heard its packet
    sends its class to T, ⌈log2 k⌉ bits, and the relay, if it is that of its packet, tells group a
    the group and the class of the destination, ⌈log2 gk⌉ bits.

    The last two slots have no conflict, whatever faults there are. At most one message passed
    c(b, T), so at most one of the destinations of b that listened to T heard its packet. At most
    one packet passed c(T, a), and its relay alone sends on c(a, T).
    """

    letters = "VF"
    phases = phases_of("verified fold")
    is_verified = True
    instead = "VXY(x,y)"

    def run(self, state: RelayState) -> Slots:
        """Execute the stage."""
        relays, network = _Relays(state), state.network
        everyone, stage = state.expecting, "verified fold"
        places, pending = relays.places(everyone), relays.places(state.destination[state.pending])
        heard = yield from relays.attempt(state.pending, f"{stage}: attempt")
        copies = heard.at(relays.relay(heard.groups, heard.destinations) == heard.receivers)
        state.keep(copies)
        targets, listening = network.group(copies.destinations), (everyone, places % network.g)
        heard = yield from state.deliver(
            copies, listening, f"{stage}: delivery", conflict_free=network.blocks == 1
        )
        mine = heard.at(heard.destinations == heard.receivers)
        inbox = yield Slot(
            senders=mine.receivers, groups=mine.groups, kind=Kind.ACK, packets=mine.packets,
            contents=relays.classes(mine.receivers), bits=_bits(network.blocks),
            listeners=copies.receivers, listened=targets,
            **state.without_conflict(f"{stage}: confirm"),
        )  # fmt: skip
        names = _names(relays, copies.destinations)
        confirmed = _hears(inbox, copies.receivers, names % network.blocks)
        sure = copies.at(confirmed)
        inbox = yield Slot(
            senders=sure.receivers, groups=sure.groups, kind=Kind.ACK, packets=sure.packets,
            contents=names[confirmed], bits=_bits(network.g * network.blocks),
            listeners=state.pending, listened=pending % network.g,
            **state.without_conflict(f"{stage}: acks"),
        )  # fmt: skip
        own = _names(relays, state.destination[state.pending])
        state.acknowledge(state.pending[_hears(inbox, state.pending, own)])

    def slots(self, network: Network) -> int:
        """Return 4."""
        return 4

    def after(self, network: Network, rho: F64) -> F64:
        """Return the fraction of packets that the stage leaves, in the fluid limit."""
        if network.d == network.g:
            return after_verified_park(network, rho, 1)
        return after_shower(network, rho, 1)

    def working(self, network: Network) -> int:
        """Return the bytes of places and of what is heard."""
        return 60 * network.n


class _Relays(PublicPlaces):
    """The public places of destinations in one stage, and the relays of packets."""

    def __init__(self, state: RelayState) -> None:
        super().__init__(state)
        self._numbers = state.group_draws(_LARGE)  # r(b)

    def member(self, groups: Ints, destinations: Ints) -> Ints:
        """Return the number of the relay in its set, for packets of these groups."""
        numbers = self._numbers[self.state.network.group(destinations)]
        return (self.classes(destinations) + numbers) % self.sizes[groups]

    def relay(self, groups: Ints, destinations: Ints) -> Ints:
        """Return the processor that stores packets of these groups for these destinations."""
        network = self.state.network
        index = groups + network.g * self.member(groups, destinations)
        return network.processor(self.relays(destinations), index)


def _attempts(relays: _Relays, windows: tuple[int, ...]) -> Exchange[list[Inbox]]:
    """Execute all windows, and return what relays have stored, by class."""
    state, network, blocks = relays.state, relays.state.network, relays.state.network.blocks
    trying = np.ones(len(state.pending), dtype=np.bool_)
    parts: list[Inbox] = []
    taken = np.empty(0, dtype=np.int64)  # relays and classes, as one number
    for number, window in enumerate(windows, start=1):
        name = numbered("verified park", number - 1, len(windows), "window")
        turns = state.attempts(window)
        hints = np.zeros((network.couplers if number < len(windows) else 0, window), dtype=np.uint8)
        for turn in range(window):
            now = trying & (turns == turn)
            phase = numbered(f"{name}: attempt", turn, window)
            heard = yield from relays.attempt(state.pending[now], phase)
            if len(hints):
                first = heard.at(network.index(heard.receivers) < network.g)
                hints[network.group(first.receivers) * network.g + first.groups, turn] = 1
            mine = heard.at(relays.relay(heard.groups, heard.destinations) == heard.receivers)
            cells = mine.receivers.astype(np.int64) * blocks + relays.classes(mine.destinations)
            free = ~np.isin(cells, taken)
            taken = np.concatenate([taken, cells[free]])
            parts.append(mine.at(free))
            state.keep(parts[-1])
        if len(hints):
            asking = state.pending[trying]
            answered = yield from relays.tell(hints, asking, turns, f"{name}: heard")
            trying &= ~np.isin(state.pending, answered)
    return split(parts, lambda stored: relays.classes(stored.destinations), blocks)


def deliver_and_confirm(
    state: RelayState, stage: str, stored: Sequence[Inbox], listening: Iterable[tuple[Ints, Ints]]
) -> Exchange[list[Inbox]]:
    """Deliver what is stored, a slot for each part, and let destinations confirm likewise.

    Returns the packets of each part that relays then know to have arrived. ``listening`` has the
    destinations that listen in each slot of delivery, and to which groups.
    """
    turns, arrived, confirmed = len(stored), [], []
    for turn, (held, listens) in enumerate(zip(stored, listening, strict=True)):
        phase = numbered(f"{stage}: delivery", turn, turns)
        heard = yield from state.deliver(held, listens, phase)
        arrived.append(heard.at(heard.destinations == heard.receivers))
    for turn, (held, mine) in enumerate(zip(stored, arrived, strict=True)):
        options = state.without_conflict(numbered(f"{stage}: confirm", turn, turns))
        awaiting = held.receivers, state.network.group(held.destinations)
        inbox = yield Slot.acknowledge(mine, mine.groups, awaiting, **options)
        confirmed.append(held.at(np.isin(held.receivers, inbox.receivers)))
    return confirmed


def _acknowledge(relays: _Relays, confirmed: Inbox) -> Slots:
    """Let each member of a set tell the destinations that have confirmed, by class."""
    state, network = relays.state, relays.state.network
    index, blocks = network.index(confirmed.receivers), network.blocks
    classes = relays.classes(confirmed.destinations)
    destinations = state.destination[state.pending]
    places, groups = relays.places(destinations), network.group(destinations)
    members = relays.member(network.group(state.pending), destinations)
    done: list[Ints] = []
    for turn in range(blocks):
        rows = index // network.g == turn
        senders, row = np.unique(confirmed.receivers[rows], return_inverse=True)
        contents = np.zeros((len(senders), blocks), dtype=np.int32)
        contents[row, classes[rows]] = network.group(confirmed.destinations[rows]) + 1
        asks = members == turn
        listening = state.pending[asks], places[asks] % network.g
        inbox = yield Slot.send_control(
            senders, network.index(senders) % network.g, listening, contents=contents,
            bits=blocks * network.g.bit_length(),
            **state.without_conflict(numbered("verified park: acks", turn, network.blocks)),
        )  # fmt: skip
        own = np.searchsorted(state.pending, inbox.receivers)
        entries = inbox.contents[np.arange(len(own)), places[own] // network.g]
        done.append(inbox.receivers[entries == groups[own] + 1])
    state.acknowledge(np.concatenate(done))


def _bits(values: int) -> int:
    """Return the bits that name one of some values, at least one."""
    return max((values - 1).bit_length(), 1)


def _names(relays: _Relays, destinations: Ints) -> Ints:
    """Return the group and the class of destinations as one number."""
    network = relays.state.network
    return network.group(destinations) * network.blocks + relays.classes(destinations)


def _hears(inbox: Inbox, listeners: Ints, names: Ints) -> Bools:
    """Return which listeners heard the name that they listen for."""
    hears = np.zeros(len(listeners), dtype=np.bool_)
    order = np.argsort(listeners, kind="stable")
    rows = order[np.searchsorted(listeners, inbox.receivers, sorter=order)]
    hears[rows] = inbox.contents == names[rows]
    return hears
