"""Stages of relay, executed with every public draw on tiny networks.

A case is a set of pending packets, their destinations, for marked stages those that have arrived
without their source knowing, and all public draws of the stages: a set of candidates per packet for
T, a bijection per group for Q and X. The router's own generator is executed by the machine in every
case, with the draws prescribed. What must hold is checked from outside, by the machine's memory:

- no rule of the machine is broken, and no processor holds more packets than the schedule claims;
- a source that takes its packet for delivered is right, after every slot;
- at the end a source has its packet exactly if it is pending, a destination exactly if it has
  arrived, and there are no other copies;
- T: messages collide only in the attempt, the marks, the election and where fronts tell. A packet
  is delivered, and its source knows, exactly if W is not empty: the candidates that no other packet
  of the source's group and no other waiting destination of the destination's group has;
- Q, X: what a relay sends in a delivery slot has arrived after it.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from itertools import chain, combinations, pairwise, permutations, product
from math import comb, factorial, perm
from typing import TypeAlias

import numpy as np

from popsnet.base.errors import RuleViolation
from popsnet.model.coins import Coins
from popsnet.model.machine import Machine
from popsnet.model.network import Network
from popsnet.model.slot import Inbox, Ints, Kind, Slot, Slots
from popsnet.programs.routers.relay import parse_schedule
from popsnet.programs.routers.relay.bijection import Bijection
from popsnet.programs.routers.relay.schedule import RelaySchedule
from popsnet.programs.routers.relay.state import RelayStage, RelayState
from popsnet.programs.routers.relay.team import TeamStage

_MAY_COLLIDE = (
    "team: attempt", "team: marks", "team: election", "team: fronts tell*", "marked: *",
)  # fmt: skip

Set: TypeAlias = tuple[int, ...]
Draw: TypeAlias = tuple[tuple[int, ...], ...]
"""For T, the candidates of each packet; for a bijection, the places of each group."""


@dataclass(frozen=True)
class Case:
    """Packets and the public draws of all stages."""

    sources: tuple[int, ...]
    destinations: tuple[int, ...]
    arrived: frozenset[int]
    """The packets that have arrived at first, though their sources do not know it."""
    draws: tuple[Draw, ...]

    def __str__(self) -> str:
        packets = ", ".join(
            f"{source} -> {to}" + " (arrived)" * (source in self.arrived)
            for source, to in zip(self.sources, self.destinations, strict=True)
        )
        return f"packets {packets}; draws {', '.join(map(str, self.draws))}"


@dataclass(frozen=True, slots=True)
class CasesChecked:
    """The cases with one number of pending packets."""

    packets: int
    cases: int
    delivered: int
    """Packets delivered, in all cases together."""
    left: int
    """Packets not delivered, in all cases together."""
    failures: int
    """Cases in which a check failed."""


@dataclass(frozen=True)
class EveryDraw:
    """The result of executing stages with every public draw."""

    rows: tuple[CasesChecked, ...]
    failure: str | None
    """The first case in which a check failed, and what failed."""

    @property
    def ok(self) -> bool:
        """Whether every check held in every case."""
        return self.failure is None


def check_every_draw(network: Network, variant: str, packets: int | None = None) -> EveryDraw:
    """Execute stages T, Q or X with every public draw, for all sets of up to this many packets.

    A case takes about a millisecond.
    """
    schedule = _schedule(variant, network)
    rows, failure = [], None
    for number in range(1, (packets or network.n) + 1):
        counts = Counter[str]()
        for case in cases(network, schedule, number):
            problem, delivered = examine(network, schedule, case)
            counts.update(cases=1, delivered=delivered, failures=problem is not None)
            if problem is not None and failure is None:
                failure = f"{case}: {problem}"
        waited = counts["cases"] * number - _arrived(network, schedule, number)
        rows.append(
            CasesChecked(number, counts["cases"], counts["delivered"],
                         waited - counts["delivered"], counts["failures"])
        )  # fmt: skip
    return EveryDraw(tuple(rows), failure)


def _schedule(text: str, network: Network) -> tuple[RelayStage, ...]:
    """Return the stages, which must be in order."""
    assert parse_schedule(text).obstacle(network) is None
    return tuple(parse_schedule(word).all_stages[0] for word in text.split() if word != "|")


def number_of_cases(network: Network, schedule: Sequence[RelayStage], packets: int) -> int:
    """Return the number of cases with this many packets."""
    draws: int = 1
    for stage in schedule:
        if isinstance(stage, TeamStage):
            draws *= len(_sets(network, stage)) ** packets
        else:
            draws *= factorial(network.d) ** (network.g * stage.bijections)
    return _without_fixed_points(network.n, packets) * _states(schedule, packets) * draws


def _without_fixed_points(n: int, packets: int) -> int:
    """Return the number of ways to give m of n processors different destinations, not their own."""
    ways: int = sum(
        (-1) ** k * comb(packets, k) * perm(n - k, packets - k) for k in range(packets + 1)
    )
    return comb(n, packets) * ways


def _states(schedule: Sequence[RelayStage], packets: int) -> int:
    """Return the number of sets of packets that may have arrived without their source knowing."""
    return 1 if isinstance(schedule[0], TeamStage) else 2**packets


def _arrived(network: Network, schedule: Sequence[RelayStage], packets: int) -> int:
    """Return the packets that have arrived at first, in all cases together."""
    if _states(schedule, packets) == 1:
        return 0
    return number_of_cases(network, schedule, packets) * packets // 2


def _sets(network: Network, stage: TeamStage) -> list[Set]:
    largest = min(stage.candidates, network.g)
    sizes = range(1, largest + 1)
    return list(chain.from_iterable(combinations(range(network.g), size) for size in sizes))


def cases(network: Network, schedule: Sequence[RelayStage], packets: int) -> Iterator[Case]:
    """Yield every case with this many pending packets."""
    everywhere = range(network.n)
    draws = [list(_draws(network, stage, packets)) for stage in schedule]
    for sources in combinations(everywhere, packets):
        for destinations in permutations(everywhere, packets):
            if any(map(int.__eq__, sources, destinations)):
                continue
            for arrived in _arrivals(schedule, sources):
                for drawn in product(*draws):
                    yield Case(sources, destinations, arrived, tuple(chain.from_iterable(drawn)))


def _arrivals(schedule: Sequence[RelayStage], sources: Set) -> Iterator[frozenset[int]]:
    sizes = range(1 if isinstance(schedule[0], TeamStage) else len(sources) + 1)
    return map(frozenset, chain.from_iterable(combinations(sources, size) for size in sizes))


def _draws(network: Network, stage: RelayStage, packets: int) -> Iterator[tuple[Draw, ...]]:
    """Yield the draws of a stage: one of T, and as many bijections as the others have places."""
    if isinstance(stage, TeamStage):
        for sets in product(_sets(network, stage), repeat=packets):
            yield (sets,)
    else:
        places = list(permutations(range(network.d)))
        bijections = list(product(places, repeat=network.g))
        yield from product(bijections, repeat=stage.bijections)


def examine(network: Network, schedule: Sequence[RelayStage], case: Case) -> tuple[str | None, int]:
    """Execute a case; return what failed, if anything did, and the number of packets delivered."""
    run = _Run(network, schedule, case)
    try:
        run.execute(schedule)
    except (RuleViolation, _Failure) as error:
        return str(error), run.delivered
    return None, run.delivered


class _Failure(Exception):
    """A check that failed."""


class _Prescribed(Bijection):
    def __init__(self, places: Draw) -> None:
        self._places = np.array(places, dtype=np.int32)

    def __call__(self, groups: Ints, values: Ints) -> np.ndarray:
        places: np.ndarray = self._places[groups, values]
        return places


@dataclass(eq=False)
class _State(RelayState):
    """The router's state, with public draws that are prescribed."""

    prescribed: deque[Draw] = field(default_factory=deque)
    rows: dict[int, int] = field(default_factory=dict)
    """The packets of the case, by destination."""

    def fresh_bijection(self, size: int) -> Bijection:
        return _Prescribed(self.prescribed.popleft())

    def public_draws(self, bound: int, number: int) -> Callable[[Ints], Ints]:
        sets = [
            (*prefix, *prefix[:1] * (number - len(prefix))) for prefix in self.prescribed.popleft()
        ]

        def draw(destinations: Ints) -> Ints:
            chosen = [sets[self.rows[destination]] for destination in destinations.tolist()]
            return np.array(chosen, dtype=np.int32).reshape(len(chosen), number)

        return draw


class _Run:
    """One case on the machine."""

    def __init__(self, network: Network, schedule: Sequence[RelayStage], case: Case) -> None:
        self._network, self._case = network, case
        n, processors = network.n, network.processors
        self._sources = np.array(case.sources, dtype=np.int32)
        self._targets = np.array(case.destinations, dtype=np.int32)
        targeted = np.isin(processors, self._targets)
        others = processors[~np.isin(processors, self._sources)].astype(np.int32)
        destination = np.empty(n, dtype=np.int32)
        destination[self._sources] = self._targets
        destination[others] = processors[~targeted]
        self._destination = destination
        start = processors.astype(np.int32)
        start[others] = destination[others]
        buffers = RelaySchedule(tuple(schedule)).buffers(network)
        self._machine = Machine(network, destination, buffers, start)
        self._memory = self._machine.memory
        self.state = _State(
            network, destination, Coins(0), self._memory, seed=0,
            prescribed=deque(case.draws),
            rows={to: row for row, to in enumerate(case.destinations)},
        )  # fmt: skip
        moved = others[destination[others] != others]
        self._memory.deliver(destination[moved], moved)
        self._first = self._memory.delivered
        self.state.pending = self._sources
        self.state.undelivered = targeted
        for packet in sorted(case.arrived):
            self._let_arrive(packet)

    @property
    def delivered(self) -> int:
        return self._memory.delivered - self._first

    def _let_arrive(self, packet: int) -> None:
        """Deliver a packet, in a slot of its own, while its source keeps it."""
        source, to = np.array([packet]), self._destination[[packet]]
        network = self._network
        listening = to, network.group(source)
        heard = self._machine.execute(Slot.send_packets(source, network.group(to), listening))
        self.state.take(heard)
        self._first += 1

    def execute(self, schedule: Sequence[RelayStage]) -> None:
        for step, (stage, following) in enumerate(pairwise((*schedule, None))):
            assert stage is not None
            if not self.state.pending.size:
                break
            self.state.step, self.state.following = step, following
            expected = self._free() if isinstance(stage, TeamStage) else None
            self._execute(stage)
            if expected is not None:
                self._require_certainty(*expected)
        if not self.state.pending.size:
            self._memory.drop_copies()  # as at the end of a run
        self._require_copies()

    def _free(self) -> tuple[set[int], set[int]]:
        """Return the pending packets with and without a candidate that is free on both sides."""
        sets = dict(zip(self._case.sources, self.state.prescribed[0], strict=True))
        group, pending = self._network.group, self.state.pending.tolist()
        free = set()
        for packet in pending:
            rivals = [
                other
                for other in pending
                if other != packet
                and (
                    group(other) == group(packet)
                    or group(self._destination[other]) == group(self._destination[packet])
                )
            ]
            if set(sets[packet]).difference(*(sets[other] for other in rivals)):
                free.add(packet)
        return free, set(pending) - free

    def _require_certainty(self, free: set[int], others: set[int]) -> None:
        waiting, pending = self._waiting(), set(self.state.pending.tolist())
        for packet in free:
            if packet in waiting or packet in pending:
                raise _Failure(f"packet {packet} has a free candidate and is not done")
        for packet in others:
            if packet not in waiting or packet not in pending:
                raise _Failure(f"packet {packet} has no free candidate and is taken as delivered")

    def _execute(self, stage: RelayStage) -> None:
        running = stage.run(self.state)
        slot = next(running, None)
        while slot is not None:
            before = self._machine.counters.collisions
            inbox = self._machine.execute(slot)
            if self._machine.counters.collisions > before:
                self._require_allowed(slot.phase)
            after = _resume(running, inbox)
            self._require_honest_acks()
            if slot.phase.startswith("marked: delivery"):
                self._require_arrival(slot)
            slot = after

    def _require_allowed(self, phase: str) -> None:
        """Require that messages may collide in this phase."""
        if not any(fnmatch(phase, pattern) for pattern in _MAY_COLLIDE):
            raise _Failure(f"messages collide in phase {phase!r}")

    def _require_arrival(self, slot: Slot) -> None:
        """Require that what relays sent to destinations has arrived."""
        sent = set(slot.packet_numbers[slot.kinds == Kind.PACKET].tolist())
        if missed := sent & self._waiting():
            raise _Failure(f"packet {min(missed)}, sent in {slot.phase!r}, did not arrive")

    def _waiting(self) -> set[int]:
        """Return the packets of the case that have not arrived, as the machine knows."""
        waiting = set(self._memory.awaiting().tolist())
        return {
            packet
            for packet, to in zip(self._case.sources, self._case.destinations, strict=True)
            if to in waiting
        }

    def _require_honest_acks(self) -> None:
        known = set(self._case.sources) - set(self.state.pending.tolist())
        if known and (wrong := known & self._waiting()):
            raise _Failure(f"the source of packet {min(wrong)} takes it for delivered")

    def _require_copies(self) -> None:
        """Require that sources and destinations hold what they should, and nothing else."""
        n, waiting = self._network.n, self._waiting()
        pending = set(self.state.pending.tolist())
        expected = np.zeros((n, n), dtype=np.bool_)
        for packet in range(n):
            expected[packet, packet] = packet in pending
        for packet, to in enumerate(self._destination.tolist()):
            expected[to, packet] |= packet not in waiting
        processors, packets = np.divmod(np.arange(n * n, dtype=np.int32), n)
        wrong = np.flatnonzero(self._memory.holds(processors, packets) != expected.ravel())
        if wrong.size:
            processor, packet = divmod(int(wrong[0]), n)
            held = "holds" if not expected[processor, packet] else "does not hold"
            raise _Failure(f"at the end processor {processor} {held} packet {packet}")


def _resume(running: Slots, inbox: Inbox) -> Slot | None:
    """Return the next slot, or None at the end."""
    try:
        return running.send(inbox)
    except StopIteration:
        return None
