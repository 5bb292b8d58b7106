"""Park, P and S: sources try their relay groups, which store what they can and deliver it.

A window of w slots is an attempt: each pending source sends its packet to its relay group T in one
of the w slots, and the sets of T store what they have room for. Then comes one slot of acks: the
first member of the set (T, a) tells group a in which of the w slots a packet was stored, in w bits.
After the last window the stored packets are delivered. A stage with one window delivers before it
acknowledges.

Nothing is lost: an ack for slot s means that one source of group a alone used c(T, a) in slot s, so
that source knows that its packet is stored, and what is stored is delivered in the same stage. An
ack meets no other message: only the first member of (T, a) sends on c(a, T). Only attempts
conflict.

The buffers of a stage: where its packets are stored, and how they are delivered.

A destination j = (b, l) has a public place in [0, d): its relay group T is the place mod g and its
class τ the place div g. So no two destinations of a group share both. The processors (T, l) with
l ≡ a mod g are the set (T, a), k = ⌈d/g⌉ or k - 1 of them. They all listen to group a and hear the
same, so they agree which of them stores a packet without a message: of class τ a set stores as many
packets as it has members, the c-th at member (τ + c) mod its size.

Delivery takes k slots: in slot τ the packets of class τ are delivered. A stored packet for group b
is then alone on c(b, T), because (b, T, τ) belongs to one destination, and it is sent, because a
member stores at most one packet of a class.

With several wavelengths a relay group with a wavelength takes the place of T; see
:mod:`popsnet.programs.routers.relay.channels`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from popsnet.model.network import F64, Network
from popsnet.model.slot import Exchange, Inbox, Ints, Slot, SlotOptions, Slots
from popsnet.programs.facts import phases_of
from popsnet.programs.routers.relay.channels import channels_of, spread
from popsnet.programs.routers.relay.state import RelayStage, RelayState, distinct, join, numbered
from popsnet.theory.stages import after_park, after_sweep, after_windows


class PublicPlaces:
    """The public places of destinations in one stage, for networks with d ≥ g."""

    def __init__(self, state: RelayState) -> None:
        self.state, self.channels = state, channels_of(state.network)
        d, c = state.network.d, self.channels.number
        self._places = state.fresh_bijection(d)
        self.sizes = ((d - np.arange(c) + c - 1) // c).astype(np.int32)  # of sets (T, a), by a
        self._listened = state.network.index(state.network.processors) % c

    def places(self, destinations: Ints) -> Ints:
        """Return the public place of each destination."""
        return self.state.places(self._places, destinations)

    def relays(self, destinations: Ints) -> Ints:
        """Return T, the relay group of each destination."""
        return self.channels.relays(self.places(destinations))

    def classes(self, destinations: Ints) -> Ints:
        """Return τ, the class of each destination."""
        return self.channels.classes(self.places(destinations))

    def attempt(self, sources: Ints, phase: str) -> Exchange[Inbox]:
        """Let sources send to their relay groups, and some to those of the next stage."""
        state, channels = self.state, self.channels
        places = self.places(state.destination[sources])
        groups, fanout = channels.relays(places), None
        targets = state.look_ahead(sources, groups[:, None])
        if targets.shape[1] > 1:
            groups, fanout = distinct(targets)
        options = SlotOptions(phase=phase, step=state.step, fanout=fanout)
        options = {**options, **channels.tuned(places, self._listened)}
        return (yield Slot.send_packets(sources, groups, self._listened % channels.g, **options))

    def tell(self, maps: Ints, sources: Ints, turns: Ints, phase: str) -> Exchange[Ints]:
        """Let the first member of each set that has a map send it to the group of its sources.

        Returns which of the sources that listen find their slot in it, ``turns`` by pending source.
        """
        state, network, channels = self.state, self.state.network, self.channels
        sets = np.flatnonzero(maps.any(axis=1)).astype(np.int32)
        relay, channel = np.divmod(sets, channels.number)
        members, group = network.processor(relay, channel), channel % network.g  # of group T, to a
        places = self.places(state.destination[sources])
        listening = sources, channels.relays(places)
        options: SlotOptions = {**state.without_conflict(phase), **channels.tuned(channel, places)}
        return (yield from state.send_maps(members, group, listening, maps[sets], turns, **options))


class RelayBuffers(PublicPlaces):
    """The parked packets of one stage."""

    def __init__(self, state: RelayState) -> None:
        super().__init__(state)
        c = self.channels.number
        self.k = -(-state.network.d // c)
        self._stored = np.zeros(state.network.g * c * self.k, dtype=np.int32)  # by (T, a, class)
        self._parked: list[Inbox] = []

    def store(self, heard: Inbox) -> Ints:
        """Store at one member what a set heard, if it has room, and return the sets that did."""
        network, c = self.state.network, self.channels.number
        index = network.index(heard.receivers)
        sets = network.group(heard.receivers) * c + index % c
        classes = self.classes(heard.destinations)
        places = sets * self.k + classes
        before, size = self._stored[places], self.sizes[index % c]
        at = (before < size) & (index // c == (classes + before) % size)
        self._stored[places[at]] += 1
        self._parked.append(heard.at(at))
        self.state.keep(self._parked[-1])
        stored: Ints = sets[at]
        return stored

    def deliver(self, stage: str) -> Slots:
        """Deliver all parked packets in k slots without conflict."""
        state, channels = self.state, self.channels
        held, waiting = join(self._parked), state.waiting
        classes, places = self.classes(held.destinations), self.places(waiting)
        for turn in range(self.k):
            now, listening = held.at(classes == turn), channels.classes(places) == turn
            listened = waiting[listening], channels.relays(places[listening])
            phase = numbered(f"{stage}: delivery", turn, self.k, "class")
            tuned = channels.tuned(self.places(now.destinations), places[listening])
            yield from state.deliver(now, listened, phase, **tuned)


_WIDE, _MOST_MAPS = 64, 2**31
"""Windows of more slots are refused if the maps of all sets together have more bits."""


@dataclass(frozen=True)
class StoringStage(RelayStage):
    """A stage in which a relay stores at most one packet of each class."""

    def buffers(self, network: Network) -> int:
        """Return 2 + k."""
        return 2 + spread(network).blocks


@dataclass(frozen=True)
class WindowedStage(StoringStage):
    """A stage with windows of w slots, in which each source tries in a slot that it draws."""

    windows: tuple[int, ...]

    @property
    def numbers(self) -> tuple[int, ...]:
        """The sizes of the windows."""
        return self.windows


@dataclass(frozen=True)
class Park(WindowedStage):
    """P(w1,…,wm): windows of w slots, in which each source tries in a slot that it draws."""

    letters = "P"
    phases = phases_of("park")

    def run(self, state: RelayState) -> Slots:
        """Execute the stage."""
        buffers, several = RelayBuffers(state), len(self.windows) > 1
        for number, window in enumerate(self.windows):
            name = numbered("park", number, len(self.windows), "window")
            yield from _window(buffers, state.attempts(window), window, name, delivers=not several)
        if several:
            yield from buffers.deliver("park")

    def slots(self, network: Network) -> int:
        """Return Σ(w + 1) + k."""
        return sum(self.windows) + len(self.windows) + spread(network).blocks

    def after(self, network: Network, rho: F64) -> F64:
        """Return the fraction of packets that the stage leaves, in the fluid limit."""
        if len(self.windows) == 1:
            return after_park(spread(network), rho, self.windows[0])
        shape = spread(network)
        return np.array([after_windows(shape, float(fraction), self.windows) for fraction in rho])

    def working(self, network: Network) -> int:
        """Return the bytes of the maps: all, those that are sent, and those that are heard."""
        return 3 * max(self.windows) * network.g * spread(network).g

    def obstacle(self, network: Network) -> str | None:
        """Return why the stage cannot be run on a network, or None if it can."""
        most = max(_WIDE, _MOST_MAPS // network.couplers)
        if max(self.windows) > most:
            return f"stage {self} keeps maps of g²w bits; on {network} w must be at most {most}."
        return super().obstacle(network)


@dataclass(frozen=True)
class SweepStage(StoringStage):
    """S: a packet of class τ tries in slot τ of k = ⌈d/g⌉, so no coins are drawn."""

    letters = "S"
    phases = phases_of("sweep")

    def run(self, state: RelayState) -> Slots:
        """Execute the stage."""
        buffers = RelayBuffers(state)
        turns = buffers.classes(state.destination[state.pending])
        yield from _window(buffers, turns, buffers.k, "sweep", delivers=True)

    def slots(self, network: Network) -> int:
        """Return 2k + 1."""
        return 2 * spread(network).blocks + 1

    def after(self, network: Network, rho: F64) -> F64:
        """Return the fraction of packets that the stage leaves, in the fluid limit."""
        return after_sweep(rho)

    def working(self, network: Network) -> int:
        """Return the bytes of the maps of k bits: all, those sent, and those heard."""
        return 3 * spread(network).blocks * network.g * spread(network).g


def _window(buffers: RelayBuffers, turns: Ints, window: int, name: str, *, delivers: bool) -> Slots:
    """Execute the attempts of a window, the delivery if it comes now, and the acks."""
    state, network, pending = buffers.state, buffers.state.network, buffers.state.pending
    maps = np.zeros((network.g * buffers.channels.number, window), dtype=np.uint8)
    for turn in range(window):
        phase = numbered(f"{name}: attempt", turn, window)
        heard = yield from buffers.attempt(pending[turns == turn], phase)
        meant = buffers.relays(heard.destinations) == network.group(heard.receivers)
        state.keep_ahead(heard.at(~meant))
        maps[buffers.store(heard.at(meant)), turn] = 1
    if delivers:
        yield from buffers.deliver(name)
    state.acknowledge((yield from buffers.tell(maps, state.pending, turns, f"{name}: acks")))
