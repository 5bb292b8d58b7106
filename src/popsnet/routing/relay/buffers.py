"""The buffers of a stage: where its packets are stored, and how they are delivered.

A destination j = (b, l) has a public place in [0, d): its relay group T is the place mod g and its
class τ the place div g. So no two destinations of a group share both. The processors (T, l) with
l ≡ a mod g are the set (T, a), k = ⌈d/g⌉ or k - 1 of them. They all listen to group a and hear the
same, so they agree which of them stores a packet without a message: of class τ a set stores as many
packets as it has members, the c-th at member (τ + c) mod its size.

Delivery takes k slots: in slot τ the packets of class τ are delivered. A stored packet for group b
is then alone on c(b, T), because (b, T, τ) belongs to one destination, and it is sent, because a
member stores at most one packet of a class.

With several wavelengths a relay group with a wavelength takes the place of T; see
:mod:`popsnet.routing.relay.channels`.
"""

from __future__ import annotations

import numpy as np

from popsnet.routing.relay.channels import channels_of
from popsnet.routing.relay.state import RelayState
from popsnet.slot import Inbox, Ints, Slots

STORED = (
    "Relays send on what they store. Destinations know where to listen, and no two packets need "
    "the same coupler: nothing can collide."
)
"""What happens in the phases of a delivery."""


class RelayBuffers:
    """The parked packets of one stage, for networks with d ≥ g."""

    def __init__(self, state: RelayState) -> None:
        d, g = state.network.d, state.network.g
        self.channels = channels_of(state.network)
        c = self.channels.number
        self.k = -(-d // c)
        self.state = state
        self._places = state.fresh_bijection(d)
        self._sizes = (d - np.arange(c) + c - 1) // c  # of the sets (T, a), by a
        self._stored = np.zeros(g * c * self.k, dtype=np.int32)  # by (T, a, class)
        self._parked: list[tuple[Ints, Ints, Ints]] = []  # holders, packets, destinations

    def places(self, destinations: Ints) -> Ints:
        """Return the public place of each destination."""
        return self.state.places(self._places, destinations)

    def relays(self, destinations: Ints) -> Ints:
        """Return T, the relay group of each destination."""
        return self.channels.relays(self.places(destinations))

    def classes(self, destinations: Ints) -> Ints:
        """Return τ, the class of each destination."""
        return self.channels.classes(self.places(destinations))

    def store(self, heard: Inbox) -> Ints:
        """Store at one member what a set heard, if it has room, and return the sets that did."""
        network, c = self.state.network, self.channels.number
        index = network.index(heard.receivers)
        sets = network.group(heard.receivers) * c + index % c
        classes = self.classes(heard.destinations)
        places = sets * self.k + classes
        before, size = self._stored[places], self._sizes[index % c]
        at = (before < size) & (index // c == (classes + before) % size)
        self._stored[places[at]] += 1
        mine = heard.at(at)
        self.state.keep(mine)
        self._parked.append((mine.receivers, mine.packets, mine.destinations))
        stored: Ints = sets[at]
        return stored

    def deliver(self, stage: str) -> Slots:
        """Deliver all parked packets in k slots without conflict."""
        state, channels = self.state, self.channels
        holders, packets, destinations = map(np.concatenate, zip(*self._parked, strict=True))
        classes, waiting = self.classes(destinations), state.waiting
        places = self.places(waiting)
        for turn in range(self.k):
            sending, listening = classes == turn, channels.classes(places) == turn
            listened = waiting[listening], channels.relays(places[listening])
            phase = f"{stage}: delivery" + (f", class {turn + 1}" if self.k > 1 else "")
            stored = holders[sending], packets[sending], destinations[sending]
            tuned = channels.tuned(self.places(destinations[sending]), places[listening])
            yield from state.deliver(*stored, listened, phase, tuned)
