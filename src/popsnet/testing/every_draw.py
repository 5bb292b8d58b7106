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

from popsnet.coins import Coins
from popsnet.errors import InputError, RuleViolation
from popsnet.machine import Machine
from popsnet.network import Network, shape_of
from popsnet.progress import Progress, patient_progress
from popsnet.report import Column, Fact, Report, Reported, Table, facts_of
from popsnet.routing.relay import parse_schedule
from popsnet.routing.relay.bijection import Bijection
from popsnet.routing.relay.marked import Mark, MarkSeveral
from popsnet.routing.relay.schedule import RelaySchedule
from popsnet.routing.relay.state import RelayStage, RelayState
from popsnet.routing.relay.team import TeamStage
from popsnet.slot import Inbox, Ints, Kind, Slot, Slots

_MOST_CASES = 200_000
_MOST_STAGES = 3
_MAY_COLLIDE = (
    "team: attempt", "team: marks", "team: election", "team: fronts tell*", "marked: *",
)  # fmt: skip

Set: TypeAlias = tuple[int, ...]
Draw: TypeAlias = tuple[tuple[int, ...], ...]
"""For T, the candidates of each packet; for a bijection, the places of each group."""


@dataclass(frozen=True)
class Case:
    """Packets and the public draws of all stages.

    Examples
    --------
    >>> from popsnet.testing import Case
    >>> print(Case((0, 1), (2, 3), frozenset(), (((0,), (0, 1)),)))
    packets 0 -> 2, 1 -> 3; draws ((0,), (0, 1))
    """

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
    """The cases with one number of pending packets.

    Examples
    --------
    >>> from popsnet.testing import check_every_draw
    >>> check_every_draw(2, 2, variant="T1", packets=1).rows
    (CasesChecked(packets=1, cases=24, delivered=24, left=0, failures=0),)
    """

    packets: int
    cases: int
    delivered: int
    """Packets delivered, in all cases together."""
    left: int
    """Packets not delivered, in all cases together."""
    failures: int
    """Cases in which a check failed."""


@dataclass(frozen=True, repr=False)
class EveryDraw(Reported):
    """The result of executing stages with every public draw.

    :func:`check_every_draw` returns it.

    Examples
    --------
    >>> from popsnet.testing import check_every_draw
    >>> check_every_draw(2, 2, variant="Q", packets=1).failure is None
    True
    """

    network: Network
    schedule: str
    rows: tuple[CasesChecked, ...]
    failure: str | None
    """The first case in which a check failed, and what failed."""

    @property
    def cases(self) -> int:
        """The number of cases executed."""
        return sum(row.cases for row in self.rows)

    @property
    def ok(self) -> bool:
        """Whether every check held in every case."""
        return self.failure is None

    def report(self) -> Report:
        """Return the numbers of cases as a report."""
        columns = (
            Column("packets", "pending packets", "integer"),
            *(Column(name, kind="integer") for name in ("cases", "delivered", "left", "failures")),
        )
        title = f"{self.network}: relay's {self.schedule} with every public draw, on the machine\n"
        table = Table("checked", "", columns, self.rows)
        facts = (*facts_of(self, "network", "schedule", "cases"), Fact("failure", self.failure))
        verdict = f"All checks hold in each of the {self.cases:,} cases: {_holds(self.schedule)}."
        if self.failure is not None:
            failed = sum(row.failures for row in self.rows)
            verdict = f"FAILED in {failed:,} of {self.cases:,} cases; first: {self.failure}"
        return Report(title, facts, (table,), verdict, ok=self.ok)


def _holds(schedule: str) -> str:
    team = "a packet is delivered and its source knows exactly if it has a free candidate"
    marked = "what a relay accepts arrives, and a source that has its ack is right"
    if not {"Q", "X"} & set(schedule):
        return team
    return f"in T {team}; in Q and X {marked}" if "T" in schedule else marked


def check_every_draw(
    d: Network | int,
    g: int | None = None,
    *,
    variant: str = "T2",
    packets: int | None = None,
    progress: Progress = None,
) -> EveryDraw:
    """Execute stages of relay with every public draw, for all sets of pending packets.

    Parameters
    ----------
    d : int or Network
        Processors per group, or a network, with d ≥ g.
    g : int
        Groups, if the first argument is a number.
    variant : str
        One to three stages T, Q or X, as in ``T2`` or ``Q Q``. They are executed once each.
    packets : int, optional
        The largest number of pending packets. By default any number.
    progress : function or bool, optional
        A function of the cases done and their number, or False to show nothing.

    Returns
    -------
    EveryDraw
        The numbers of cases, and the first failure if there is one.

    Raises
    ------
    InputError
        If there are too many cases, or the stages are not of these kinds.

    Notes
    -----
    With T, a packet is delivered and its source knows exactly if one of its candidates is free on
    both sides: the certainty lemma. With Q and X, a packet that a relay accepts arrives, and a
    source that has its ack is right. A case takes about a millisecond.

    Examples
    --------
    >>> from popsnet.testing import check_every_draw
    >>> found = check_every_draw(2, 2, variant="T1", packets=1)
    >>> found.cases, found.ok
    (24, True)
    """
    network = Network(*shape_of(d, g))
    schedule = _schedule(variant, network)
    most = network.n if packets is None else packets
    if not 1 <= most <= network.n:
        raise InputError(f"packets = {packets}: there are 1 to {network.n} packets on {network}.")
    total = _require_feasible(network, variant, schedule, most)
    rows, failure, done = [], None, 0
    with patient_progress(f"{variant} on {network}", total, progress, "cases") as update:
        for number in range(1, most + 1):
            counts = Counter[str]()
            for case in cases(network, schedule, number):
                problem, delivered = examine(network, schedule, case)
                counts.update(cases=1, delivered=delivered, failures=problem is not None)
                if problem is not None and failure is None:
                    failure = f"{case}: {problem}"
                done += 1
                update(done)
            waited = counts["cases"] * number - _arrived(network, schedule, number)
            rows.append(
                CasesChecked(number, counts["cases"], counts["delivered"],
                             waited - counts["delivered"], counts["failures"])
            )  # fmt: skip
    return EveryDraw(network, variant, tuple(rows), failure)


def _schedule(text: str, network: Network) -> tuple[RelayStage, ...]:
    """Return the stages, and refuse those whose draws cannot be prescribed."""
    canonical = parse_schedule(text)  # refuses what is not a schedule, or not in order
    stages = tuple(parse_schedule(word).all_stages[0] for word in text.split() if word != "|")
    if len(stages) > _MOST_STAGES or not all(isinstance(one, _KINDS) for one in stages):
        raise InputError(
            f"variant = {text}: every draw is tried for one to three stages T, Q or X, as in 'T2' "
            "or 'Q Q'."
        )
    reason = canonical.obstacle(network)
    if reason is not None:
        raise InputError(f"{network}: {reason}")
    return stages


_KINDS = (TeamStage, Mark, MarkSeveral)


def _require_feasible(
    network: Network, text: str, schedule: Sequence[RelayStage], most: int
) -> int:
    numbers = [_number(network, schedule, packets) for packets in range(1, most + 1)]
    total = sum(numbers)
    if total <= _MOST_CASES:
        return total
    fewer = max(
        (packets for packets in range(most) if sum(numbers[:packets]) <= _MOST_CASES), default=0
    )
    cure = "Choose a smaller network, or fewer stages."
    if fewer:
        cure = f"Give packets = {fewer}: {sum(numbers[:fewer]):,} cases."
    raise InputError(
        f"variant = {text} on {network} has {total:,} cases with up to {most} packets, more than "
        f"{_MOST_CASES:,}. {cure}"
    )


def _number(network: Network, schedule: Sequence[RelayStage], packets: int) -> int:
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
    return _number(network, schedule, packets) * packets // 2


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
        one = list(product(places, repeat=network.g))
        yield from product(one, repeat=stage.bijections)


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
        sets = [(*one, *one[:1] * (number - len(one))) for one in self.prescribed.popleft()]

        def draw(destinations: Ints) -> Ints:
            chosen = [sets[self.rows[one]] for one in destinations.tolist()]
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
