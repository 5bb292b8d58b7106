"""What the stages of relay share: the state of a run, and what a stage is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import astuple, dataclass, field
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from popsnet.coins import Coins
from popsnet.errors import InputError
from popsnet.memory import Memory
from popsnet.network import Network
from popsnet.routing.facts import Phases
from popsnet.routing.relay.bijection import FRESH, Bijection
from popsnet.routing.to_all import global_or
from popsnet.slot import Inbox, Ints, Slot, SlotOptions, Slots
from popsnet.theory.stages import Numbers

ATTEMPT = "relay attempt"
"""The purpose of private coins: in which slot of a window a source tries."""

SHIFT = "relay shift"
"""The purpose of public numbers."""

WIDEST = 2**16
"""No number in a stage is larger."""

Bools = npt.NDArray[np.bool_]
Maps = npt.NDArray[np.uint8]


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

    @property
    def waiting(self) -> Ints:
        """The destinations whose packet has not arrived, by number."""
        return self.network.processors[self.undelivered]

    def without_conflict(self, phase: str) -> SlotOptions:
        """The options of a slot of this step in which no two messages meet."""
        return {"phase": phase, "step": self.step, "conflict_free": True}

    def fresh_bijection(self, size: int) -> Bijection:
        """Return the next public bijection of [0, size), one per group."""
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

    def deliver(
        self,
        relays: Ints,
        packets: Ints,
        destinations: Ints,
        listened: tuple[Ints, Ints],
        phase: str,
    ) -> Slots:
        """One slot without conflict, in which relays send on what they store and drop it."""
        groups = self.network.group(destinations)
        home = yield Slot.send_packets(
            relays, groups, listened, packets=packets, **self.without_conflict(phase)
        )
        self.release(relays, packets, destinations)
        self.bring_home(home)

    def send_maps(
        self,
        relays: Ints,
        groups: Ints,
        listened: tuple[Ints, Ints],
        maps: Maps,
        turns: Ints,
        phase: str,
        fanout: Ints | None = None,
    ) -> Slots:
        """Relays say in which slots they stored packets.

        Pending sources that find their slot, ``turns`` by source, in the map they heard are done.
        """
        options = self.without_conflict(phase)
        options["fanout"] = fanout
        inbox = yield Slot.send_control(
            relays, groups, listened, contents=maps, bits=maps.shape[1], **options
        )
        assert inbox.contents is not None
        tried = turns[np.searchsorted(self.pending, inbox.receivers)]
        stored = inbox.contents[np.arange(len(tried)), tried] == 1
        self.acknowledge(inbox.receivers[stored])

    def ask(self, stage: str) -> Slots:
        """A global OR: all sources are done if no destination waits."""
        phase = f"{stage}: who still waits"
        if not (yield from global_or(self.network, self.waiting, phase=phase, step=self.step)):
            self.acknowledge(self.pending)

    def acknowledge(self, sources: Ints) -> None:
        """These pending sources know, and drop their packet."""
        self.memory.drop(sources, sources)
        waiting = np.zeros(self.network.n, dtype=np.bool_)
        waiting[self.pending] = True
        waiting[sources] = False
        self.pending = self.pending[waiting[self.pending]]


@dataclass(frozen=True)
class RelayStage(ABC):
    """A stage of a schedule: data, and what it does."""

    letters: ClassVar[str]
    """What its text begins with."""
    phases: ClassVar[Phases]
    """What happens in its phases."""
    largest: ClassVar[int] = WIDEST
    """The largest of its numbers that is allowed."""

    def __post_init__(self) -> None:
        for value in self.numbers:
            if not 1 <= value <= self.largest:
                raise InputError(
                    f"Stage {self.letters}: {value} is not a number from 1 to {self.largest}."
                )

    def __str__(self) -> str:
        numbers = ",".join(map(str, self.numbers))
        return self.letters + (f"({numbers})" if "," in numbers else numbers)

    @property
    def numbers(self) -> tuple[int, ...]:
        """What its text has after the letters."""
        return astuple(self)

    @abstractmethod
    def run(self, state: RelayState) -> Slots:
        """Execute it."""

    @abstractmethod
    def slots(self, network: Network) -> int:
        """How many slots it takes."""

    @abstractmethod
    def after(self, network: Network, rho: Numbers) -> Numbers:
        """The fraction of packets that it leaves in the limit, for each it may begin with."""

    def buffers(self, network: Network) -> int:
        """Packets a processor may hold: its own, the one it is to receive, and a relay's copies."""
        return 3

    def obstacle(self, network: Network) -> str | None:
        """Why it cannot be run on a network, or None if it can."""
        if network.d >= network.g:
            return None
        return f"stage {self} needs d >= g; for d < g give stages XY(x,y)."
