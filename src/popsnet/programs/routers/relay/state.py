"""The state of a run of relay, and the base class of its stages."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, field
from typing import ClassVar, NamedTuple, Unpack

import numpy as np

from popsnet.base.errors import InputError
from popsnet.model.coins import Coins
from popsnet.model.memory import Memory
from popsnet.model.network import F64, Bools, Network
from popsnet.model.slot import Exchange, Inbox, Ints, Listening, Slot, SlotOptions, Slots
from popsnet.programs.facts import Phases
from popsnet.programs.routers.relay.bijection import FRESH, Bijection
from popsnet.programs.routers.to_all import global_or

ATTEMPT = "relay attempt"
"""The purpose of private coins, which decide in which slot of a window a source tries."""

SHIFT = "relay shift"
"""The purpose of public numbers."""

CANDIDATES = "relay candidates"
"""The purpose of the public numbers that give every destination its candidate groups."""

MEMBERS = "relay members"
"""The purpose of the public numbers by which members of a set are chosen."""

WIDEST = 2**16
"""The largest number in a stage."""


@dataclass(eq=False)
class RelayState:
    """The sources and destinations that still wait.

    Each entry of an array belongs to one processor and is known to it. A packet that starts at its
    destination is delivered and never sent.
    """

    network: Network
    destination: Ints
    coins: Coins
    memory: Memory
    seed: int
    """The public seed, which is known to every processor that takes part."""
    step: int = 0
    turns: bool = True
    """Whether bijections are turned, as :mod:`popsnet.programs.routers.relay.bijection` says."""
    pending: Ints = field(init=False)
    """The sources that do not know that their packet has arrived, and keep it."""
    undelivered: Bools = field(init=False)
    """Whether the packet of each destination has not arrived."""
    following: RelayStage | None = None
    """The stage that comes next, if the schedule is known."""
    echo: Echo | None = None
    """The acks that a marked stage leaves to the next one, if that is marked, too."""
    _bijections: int = field(init=False, default=0)
    _windows: int = field(init=False, default=0)
    _latest: Bijection | None = field(init=False, default=None)
    _next: Places | None = field(init=False, default=None)
    _ahead: list[Inbox] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        processors = self.network.processors
        away = self.destination != processors
        self.pending = processors[away]
        self.undelivered = away
        self.memory.deliver(processors[~away], processors[~away])

    @property
    def expecting(self) -> Ints:
        """The destinations of all packets that are sent, with those that have their packet."""
        processors = self.network.processors
        expecting: Ints = processors[self.destination != processors]
        return expecting

    @property
    def waiting(self) -> Ints:
        """The destinations whose packet has not arrived, by number."""
        return self.network.processors[self.undelivered]

    def without_conflict(self, phase: str) -> SlotOptions:
        """Return the options of a slot of this step in which no two messages meet."""
        return {"phase": phase, "step": self.step, "conflict_free": True}

    def fresh_bijection(self, size: int) -> Bijection:
        """Return the next public bijection of [0, size), one per group."""
        g, number = self.network.g, self._next_number()
        if self._latest is None or number < FRESH or self.network.d != g or not self.turns:
            self._latest = Bijection(self.seed, number, g, size)
        else:
            everyone = np.arange(g, dtype=np.int32)
            turn = Bijection(self.seed, number, 1, g)(np.zeros_like(everyone), everyone)
            self._latest = self._latest.turned(turn)
        return self._latest

    def next_places(self, number: int) -> Places:
        """Return the places under the next bijections, which may have been asked for before."""
        places = self._next or Places(
            self, [self.fresh_bijection(self.network.d) for _ in range(number)]
        )
        self._next = None
        return places

    def look_ahead(self, senders: Ints, targets: Ints, sends: Bools | None = None) -> Ints:
        """Return the groups that senders send to, a row each, with those of the next stage.

        If that delivers and acknowledges in one slot, packets for the own group of their source go
        to their relay groups there, too. ``sends`` says which senders send packets, by default all.
        """
        if self.following is None or not self.following.looks_ahead:
            return targets
        if self._next is None:
            self._next = self.next_places(self.following.bijections)
        network, destinations = self.network, self.destination[senders]
        own = network.group(senders) == network.group(destinations)
        rows = np.flatnonzero(own if sends is None else own & sends)
        more = np.repeat(targets[:, :1], self.following.bijections, axis=1)
        more[rows] = self._next.of(destinations[rows]).groups
        return np.concatenate([targets, more], axis=1)

    def keep_ahead(self, heard: Inbox) -> None:
        """Let relays store packets that the source sent for the next stage."""
        if self._next is None:
            return
        network, at = self.network, heard.receivers
        own = network.group(heard.destinations) == heard.groups
        heard = heard.at(own & (network.index(at) < network.g))
        groups = self._next.of(heard.destinations).groups
        heard = heard.at((groups == network.group(heard.receivers)[:, None]).any(axis=1))
        for before in self._ahead:
            heard = heard.at(~np.isin(heard.receivers, before.receivers))
        self.keep(heard)
        self._ahead.append(heard)

    def take_ahead(self) -> Inbox:
        """Return what relays stored for this stage."""
        rows, self._ahead = self._ahead, []
        return join(rows)

    def public_draw(self, bound: int) -> int:
        """Return the next public number in [0, bound)."""
        return Coins(self.seed).draw(bound, SHIFT, self._next_number(), 0)

    def _next_number(self) -> int:
        """Return the number of the next public bijection, or of public numbers in its place."""
        self._bijections += 1
        return self._bijections - 1

    def public_draws(self, bound: int, number: int) -> Callable[[Ints], Ints]:
        """Return the next public numbers in [0, bound): a function of destinations, a row each."""
        step = self._next_number()

        def draw(destinations: Ints) -> Ints:
            rows = destinations.astype(np.int64)[:, None] * number + np.arange(number)
            return Coins(self.seed).draws(bound, CANDIDATES, step, rows)

        return draw

    def group_draws(self, bound: int) -> Ints:
        """Return the next public numbers in [0, bound), one per group."""
        groups = np.arange(self.network.g)
        return Coins(self.seed).draws(bound, MEMBERS, self._next_number(), groups)

    def attempts(self, slots: int) -> Ints:
        """Draw for each pending source the slot of the next window in which it tries."""
        self._windows += 1
        return self.coins.draws(slots, ATTEMPT, self._windows - 1, self.pending)

    def places(self, bijection: Bijection, destinations: Ints) -> Ints:
        """Return the public place of each destination."""
        return bijection(self.network.group(destinations), self.network.index(destinations))

    def keep(self, heard: Inbox) -> None:
        """Let relays store what they heard, except a destination that has its packet already."""
        at = self.undelivered[heard.destinations] | (heard.receivers != heard.destinations)
        self.memory.store(heard.receivers[at], heard.packets[at])

    def release(self, held: Inbox) -> None:
        """Let relays drop their copies, except a destination that has its own packet."""
        at = self.undelivered[held.destinations] | (held.receivers != held.destinations)
        self.memory.drop(held.receivers[at], held.packets[at])

    def take(self, heard: Inbox) -> None:
        """Deliver to destinations what is for them, once."""
        mine = heard.destinations == heard.receivers
        receivers, packets = heard.receivers[mine], heard.packets[mine]
        new = self.undelivered[receivers]
        self.memory.deliver(receivers[new], packets[new])
        self.undelivered[receivers] = False

    def deliver(
        self, held: Inbox, listened: Listening, phase: str, /, **options: Unpack[SlotOptions]
    ) -> Exchange[Inbox]:
        """Let relays send on what they hold, by default without conflict, and drop it."""
        options = {**self.without_conflict(phase), **options}
        heard = yield Slot.forward(held, self.network.group(held.destinations), listened, **options)
        self.release(held)
        self.take(heard)
        return heard

    def send_maps(
        self,
        relays: Ints,
        groups: Ints,
        listened: tuple[Ints, Ints],
        maps: Ints,
        turns: Ints,
        **options: Unpack[SlotOptions],
    ) -> Exchange[Ints]:
        """Let relays tell in which slots they heard packets.

        Returns the pending sources that find their slot, ``turns`` by source, in the map that they
        hear.
        """
        inbox = yield Slot.send_control(
            relays, groups, listened, contents=maps, bits=maps.shape[1], **options
        )
        tried = turns[np.searchsorted(self.pending, inbox.receivers)]
        sources: Ints = inbox.receivers[inbox.contents[np.arange(len(tried)), tried] == 1]
        return sources

    def ask(self, stage: str) -> Slots:
        """Execute a global OR, after which all sources are done if no destination waits."""
        phase = f"{stage}: who still waits"
        if not (yield from global_or(self.network, self.waiting, phase=phase, step=self.step)):
            self.acknowledge(self.pending)

    def acknowledge(self, sources: Ints) -> None:
        """Let pending sources that know of the delivery drop their packets."""
        self.memory.drop(sources, sources)
        left = np.ones(self.network.n, dtype=np.bool_)
        left[sources] = False
        self.pending = self.pending[left[self.pending]]


class Echo(NamedTuple):
    """Acks that relays repeat in the next attempt, and the sources that listen to them."""

    relays: Inbox
    listeners: Ints
    listened: Ints


class Places:
    """The public places of destinations under some bijections, a column each."""

    def __init__(self, state: RelayState, bijections: Sequence[Bijection]) -> None:
        self._state, self._bijections = state, bijections

    def of(self, destinations: Ints) -> GroupsAndClasses:
        """Return the relay groups T and classes τ of destinations."""
        columns = [self._state.places(bijection, destinations) for bijection in self._bijections]
        places = np.stack(columns, axis=1)
        return GroupsAndClasses(places % self._state.network.g, places // self._state.network.g)


class GroupsAndClasses(NamedTuple):
    """Relay groups and classes, a row per destination and a column per bijection."""

    groups: Ints
    classes: Ints


@dataclass(frozen=True)
class RelayStage(ABC):
    """A stage of a schedule, with its numbers and its slots.

    Examples
    --------
    >>> from popsnet import Network
    >>> from popsnet.programs.routers.relay import parse_schedule
    >>> stage = parse_schedule("P2 R1").stages[0]
    >>> str(stage), stage.slots(Network(8, 8))
    ('P2', 4)
    """

    letters: ClassVar[str]
    """The letters with which its text begins."""
    phases: ClassVar[Phases]
    """What happens in its phases, by pattern."""
    largest: ClassVar[int] = WIDEST
    """The largest number that is allowed."""
    bijections: ClassVar[int] = 1
    """The public bijections of a stage that looks ahead."""
    looks_ahead: ClassVar[bool] = False
    """Whether the attempts before it send it packets."""
    tells_sources: ClassVar[bool] = True
    """Whether after it the sources of all packets that it delivered know."""
    is_verified: ClassVar[bool] = False
    """Whether it survives faults: a source is done only after its destination has confirmed."""
    instead: ClassVar[str] = "XY(x,y)"
    """The stages for networks to which it does not apply."""

    def __post_init__(self) -> None:
        for value in self.numbers:
            if not 1 <= value <= self.largest:
                raise InputError(f"Stage {self.letters}: {value} must be from 1 to {self.largest}.")

    def __str__(self) -> str:
        numbers = ",".join(map(str, self.numbers))
        return self.letters + (f"({numbers})" if "," in numbers else numbers)

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers in its text after the letters."""
        return astuple(self)

    @abstractmethod
    def run(self, state: RelayState) -> Slots:
        """Execute the stage."""

    @abstractmethod
    def slots(self, network: Network) -> int:
        """Return the number of slots that the stage takes."""

    @abstractmethod
    def after(self, network: Network, rho: F64) -> F64:
        """Return the fraction of packets that the stage leaves, in the fluid limit.

        ``rho`` has the fractions with which it begins.
        """

    def left(self, network: Network, rho: float) -> float:
        """Return :meth:`after` for one fraction, from 0 to ρ also where hardly anything is left."""
        with np.errstate(all="ignore"):
            after = float(np.nan_to_num(self.after(network, np.array([rho])))[0]) if rho else 0.0
        return min(max(after, 0.0), rho)

    def buffers(self, network: Network) -> int:
        """Return the packets that a processor may hold: its own, the one for it, and copies."""
        return 3

    def working(self, network: Network) -> int:
        """Return the bytes of the arrays that grow with the numbers of the stage."""
        return 0

    @property
    def bytes_per_packet(self) -> int:
        """The bytes of its arrays for each packet that is pending when it begins."""
        return 0

    def obstacle(self, network: Network) -> str | None:
        """Return why the stage cannot be run on a network, or None if it can."""
        if network.d >= network.g:
            return None
        return f"stage {self} needs d >= g; for d < g use stages {self.instead}."


def numbered(phase: str, turn: int, turns: int, unit: str = "slot") -> str:
    """Return the name of a phase, with the number of its slot if it has several."""
    return f"{phase}, {unit} {turn + 1}" if turns > 1 else phase


def distinct(targets: Ints) -> tuple[Ints, Ints]:
    """Return the different groups of each row, row by row, and their number in each row."""
    targets = np.sort(targets, axis=1)
    new = np.ones(targets.shape, dtype=np.bool_)
    new[:, 1:] = targets[:, 1:] != targets[:, :-1]
    return targets[new], new.sum(axis=1, dtype=np.int32)


def split(parts: Sequence[Inbox], number_of: Callable[[Inbox], Ints], numbers: int) -> list[Inbox]:
    """Return the rows of several inboxes by their numbers, those of each by receiver."""
    rows = join(parts)
    rows = rows.at(np.argsort(rows.receivers))
    numbered_rows = number_of(rows)
    return [rows.at(numbered_rows == number) for number in range(numbers)]


def join(parts: Sequence[Inbox]) -> Inbox:
    """Return the rows of several inboxes, without contents."""
    fields = ("receivers", "groups", "kinds", "packets", "destinations")
    columns = ([getattr(part, name) for part in parts] or [()] for name in fields)
    rows = (np.concatenate(column).astype(np.int32) for column in columns)
    return Inbox(**dict(zip(fields, rows, strict=True)), contents=None)
