"""What a run of relay has come to: the state that its stages share."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from popsnet.coins import Coins
from popsnet.memory import Memory
from popsnet.network import Network
from popsnet.routing.relay.bijection import FRESH, Bijection
from popsnet.slot import Inbox, Ints

ATTEMPT = "relay attempt"
"""The purpose of private coins: in which slot of a window a source tries."""

SHIFT = "relay shift"
"""The purpose of public numbers."""

Bools = npt.NDArray[np.bool_]


@dataclass(eq=False)
class RelayState:
    """Who still waits for what. Each entry of an array belongs to one processor and is known to it.

    A packet that starts at its destination is home, and nothing is ever sent of it.
    """

    network: Network
    destination: Ints
    coins: Coins
    memory: Memory
    seed: int
    """Heard by every processor in the first slot."""
    step: int = 0
    pending: Ints = field(init=False)
    """Sources that do not know that their packet has arrived; they keep it."""
    undelivered: Bools = field(init=False)
    """Destinations whose packet has not arrived."""
    _bijections: int = field(init=False, default=0)
    _windows: int = field(init=False, default=0)
    _latest: Bijection | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        processors = self.network.processors
        away = self.destination != processors
        self.pending = processors[away]
        self.undelivered = away
        self.memory.deliver(processors[~away], processors[~away])

    def fresh_bijection(self, size: int) -> Bijection:
        """The next public bijection of [0, size), one a group; see there when it is turned."""
        g, number = self.network.g, self._bijections
        self._bijections += 1
        if self._latest is None or number < FRESH or self.network.d != g:
            self._latest = Bijection(self.seed, number, g, size)
        else:
            everyone = np.arange(g, dtype=np.int32)
            turn = Bijection(self.seed, number, 1, g)(np.zeros_like(everyone), everyone)
            self._latest = self._latest.turned(turn)
        return self._latest

    def public_draw(self, bound: int) -> int:
        """The next public number in [0, bound)."""
        self._bijections += 1
        return Coins(self.seed).draw(bound, SHIFT, self._bijections - 1, 0)

    def attempts(self, slots: int) -> Ints:
        """For each pending source the slot of the next window in which it tries: a private coin."""
        self._windows += 1
        return self.coins.draws(slots, ATTEMPT, self._windows - 1, self.pending)

    def places(self, bijection: Bijection, destinations: Ints) -> Ints:
        """The public place of each destination."""
        return bijection(self.network.group(destinations), self.network.index(destinations))

    def keep(self, heard: Inbox) -> None:
        """Relays store what they heard; a destination that has its packet needs no other copy."""
        at = self.undelivered[heard.destinations] | (heard.receivers != heard.destinations)
        self.memory.store(heard.receivers[at], heard.packets[at])

    def release(self, relays: Ints, packets: Ints, destinations: Ints) -> None:
        """Relays drop their copies; a destination keeps its own packet once it is home."""
        at = self.undelivered[destinations] | (relays != destinations)
        self.memory.drop(relays[at], packets[at])

    def bring_home(self, home: Inbox) -> None:
        """Destinations take what is for them, once."""
        mine = home.destinations == home.receivers
        receivers, packets = home.receivers[mine], home.packets[mine]
        new = self.undelivered[receivers]
        self.memory.deliver(receivers[new], packets[new])
        self.undelivered[receivers] = False

    def hear_maps(self, inbox: Inbox, turns: Ints) -> None:
        """Pending sources that find their slot, ``turns`` by source, in the map they heard."""
        assert inbox.contents is not None
        tried = turns[np.searchsorted(self.pending, inbox.receivers)]
        stored = inbox.contents[np.arange(len(tried)), tried] == 1
        self.acknowledge(inbox.receivers[stored])

    def acknowledge(self, sources: Ints) -> None:
        """These pending sources know, and drop their packet."""
        self.memory.drop(sources, sources)
        waiting = np.zeros(self.network.n, dtype=np.bool_)
        waiting[self.pending] = True
        waiting[sources] = False
        self.pending = self.pending[waiting[self.pending]]
