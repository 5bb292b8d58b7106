"""The locality check: every processor must act only on what it knows.

A router or a scheduler is one program for all processors, and nothing stops it from looking at
another processor's destination, queue or coins. The check runs it on two instances that differ only
at a few processors X, in their packets' destinations, in the packets that arrive there, or in their
coins. A processor of X, or one that has heard something different because of X, is in the causal
cone and may act differently. Every other processor has seen exactly the same in both runs and must
do exactly the same: send, listen, store, drop and deliver. If it does not, it used knowledge that
no message gave it. All processors know the public coins of a scheduler.

The cone is the smallest possible: a processor enters it when what it hears differs, silence
included, and not merely when a processor of the cone could have reached it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from popsnet.base.errors import InputError
from popsnet.base.report import Report, plural
from popsnet.base.spellings import refusing_old
from popsnet.engines.execution import Execution
from popsnet.engines.slots import next_slot
from popsnet.engines.traffic_slots import TrafficExecution, private_coins, public_coins
from popsnet.model.coins import Coins
from popsnet.model.faults import ActiveFaults, Faults
from popsnet.model.faults.faults import faults_of
from popsnet.model.machine import Machine
from popsnet.model.medium import make_medium
from popsnet.model.memory import Memory, mixed
from popsnet.model.network import Network, on_network
from popsnet.model.slot import Ints
from popsnet.model.traffic_memory import NewPackets
from popsnet.programs.router import AnyRouter, Route, Router, find_variant
from popsnet.programs.scheduler import ProgramFunction, Scheduler, find_scheduler_variant
from popsnet.programs.scheduler_faults import TrafficFaults
from popsnet.programs.schedules.demand import Demand
from popsnet.testing.cone import Journal, Moment, PrivateCoins, check_program, pairs_by_chance
from popsnet.workloads.arrivals import Block, make_arrivals
from popsnet.workloads.permutations import make_permutation

_OTHER = 0x5DEECE66D
"""Turns the seed of arrivals into another one."""


Served: TypeAlias = tuple[Route, int, Ints | None]
"""A route, the packets that a processor may hold, and where they start if not each at its own."""
Serve: TypeAlias = Callable[[Demand], Served]


class _Journal(Journal, Memory):
    """The machine's memory with a journal."""

    def drop_copies(self) -> None:
        """Free the buffers at the end of a run, which is not an act of a processor."""
        entries, self._entries = self._entries, {}
        super().drop_copies()
        self._entries = entries


@on_network
@refusing_old
def check_locality(
    router: AnyRouter,
    network: Network,
    *,
    variants: Sequence[str] | None = None,
    seed: int = 0,
    pairs: int | None = None,
    buffers: int | None = None,
    max_slots: int = 1000,
    packets: Demand | None = None,
    faults: Faults | str | None = None,
) -> Report:
    """Check that every processor acts only on what it knows.

    Parameters
    ----------
    router : str, Path, Router or function
        The name of a router (or ``NAME:VARIANT``), a file ``name.py`` that registers one, a
        :class:`~popsnet.Router`, or a generator function that is not registered.
    network : Network, or int and int
        The network to run it on, or its d and g.
    variants : sequence of str, optional
        The variants to check; a schedule is one, too. By default all named variants that apply to
        the network, and the default variant. Idealized variants are left out, since they assume
        what no processor knows.
    seed : int
        The seed of the permutation and the coins.
    pairs : int, optional
        The number of pairs of processors to change. By default n - 1 or n pairs, so that every
        processor is in two of them, or nearly so.
    buffers : int, optional
        The packets that a processor may hold, for a generator function; by default 16, as in
        :func:`popsnet.route`.
    max_slots : int
        Compare at most this many slots.
    packets : Demand, optional
        Check the variants that serve demands, on this one, instead of those for permutations.
    faults : Faults or str, optional
        Run on a network with these faults, the same in all runs. The variants must survive them.

    Returns
    -------
    Report
        The programs, and the number of pairs of runs that were compared.

    Raises
    ------
    LocalityError
        If a processor uses knowledge that it has not received; the message names the slot and
        the processor.

    Notes
    -----
    The router runs on a random permutation, and again twice for each pair of processors: with
    their destinations exchanged, and with their coins changed. That is O(n) runs of the router.

    Runs are compared while both go on, because when a run ends is known only to the simulation. So
    is whether any processor has something to send, and a router may leave out slots in which none
    has. A slot is compared with the slot of the same phase that occurred as often before. In a slot
    that only one of the runs has, no processor outside the cone may send.

    A pass covers this network only. Where no messages collide, a router passes even if its sources
    assume that their packets arrive. Check several networks, among them one on which messages
    collide and one with d > g.

    Examples
    --------
    >>> from popsnet import Network
    >>> from popsnet.testing import check_locality
    >>> check_locality("mei-rizzi", Network(3, 3))
    <report: mei-rizzi deferred, mei-rizzi published: 32 comparisons, no difference.>

    On a demand, with two packets from processor 0:

    >>> import numpy as np
    >>> from popsnet.programs.schedules import Demand
    >>> demand = Demand(Network(2, 2), np.array([0, 0, 2]), np.array([3, 1, 1]))
    >>> check_locality("direct", Network(2, 2), packets=demand)
    <report: direct in-groups, direct to-all: 24 comparisons, no difference.>
    """
    broken, kinds = faults_of(faults), {"destinations": _exchanged}
    if packets is None:
        usual = Demand.of_permutation(network, make_permutation("random", network, Coins(seed)))
        programs = _routes(router, network, variants, buffers)
    elif broken:
        raise InputError("faults cannot be combined with packets; leave one of them out.")
    else:
        usual, network, kinds["packets"] = packets, packets.network, _swapped
        programs = _relations(router, variants)

    def changes(x: int, y: int) -> list[tuple[str, Demand]]:
        return [(kind, change(usual, x, y)) for kind, change in kinds.items()]

    def run(name: str, serve: Serve, served: Demand, changed: Sequence[int]) -> Iterator[Moment]:
        """Yield, in turn, what processors did in each slot and after it."""
        route, capacity, start = serve(served)
        destination = served.destination.copy()
        destination.flags.writeable = False  # no router can change it
        journal = _Journal(network, destination, capacity, start)
        medium = make_medium(network, ActiveFaults(network, broken, Coins(seed)))
        machine = Machine.of(medium, journal)
        execution = Execution("router", name, machine)
        running = route(network, destination, PrivateCoins(seed, network.n, changed), journal)
        slot = next_slot(name, execution.start(running))
        yield from journal.moments()
        while slot is not None and machine.counters.slots < max_slots:
            slot = next_slot(name, execution.execute(slot))
            yield from journal.moments()

    return _check_all(programs, run, usual, changes, pairs_by_chance(network.n, seed, pairs))


def _check_all(
    programs: Sequence[tuple[str, Any]], run: Callable[..., Iterator[Moment]], *comparison: Any
) -> Report:
    """Compare the runs of all programs, and return a report that found no difference."""
    compared = [
        check_program(name, partial(run, name, program), *comparison) for name, program in programs
    ]
    names = ", ".join(name for name, _ in programs)
    return Report(f"{names}: {plural(sum(compared), 'comparison')}, no difference.")


def _relations(router: AnyRouter, variants: Sequence[str] | None) -> list[tuple[str, Serve]]:
    """Return how a router serves demands, each way with its name."""
    program, named = find_variant(router)

    def serve(name: str, demand: Demand) -> Served:
        variant = program.serve(name, demand)
        return variant.route, program.buffers_on(demand.network, variant), demand.source

    names = [named] if named is not None else variants or list(program.relations)
    return [(f"{program.name} {name}", partial(serve, name)) for name in names]


def _exchanged(demand: Demand, x: int, y: int) -> Demand:
    """Return the demand with the destinations of the packets of two processors in another order."""
    theirs = np.flatnonzero((demand.source == x) | (demand.source == y))
    destination = demand.destination.copy()
    destination[theirs] = destination[theirs[::-1]]
    return Demand(demand.network, demand.source, destination)


def _swapped(demand: Demand, x: int, y: int) -> Demand:
    """Return the demand in which two processors have each other's packets."""
    source = demand.source.copy()
    source[demand.source == x], source[demand.source == y] = y, x
    return Demand(demand.network, source, demand.destination)


def _routes(
    router: AnyRouter, network: Network, variants: Sequence[str] | None, buffers: int | None
) -> list[tuple[str, Serve]]:
    """Return the routes of permutations to check, each with its name."""
    if buffers is None or isinstance(router, str | Path):
        router, named = find_variant(router)
        variants = variants if named is None else [named, *(variants or ())]
    if isinstance(router, Router):
        return [
            _named(
                f"{router.name} {name}",
                router.variant(name).route,
                router.buffers_on(network, name),
            )
            for name in variants or _variants(router, network)
        ]
    assert buffers is not None
    return [_named(getattr(router, "__name__", "the router"), router, buffers)]


def _named(name: str, route: Route, buffers: int) -> tuple[str, Serve]:
    return name, lambda demand: (route, buffers, None)


def _variants(router: Router, network: Network) -> list[str]:
    """Return the named variants that apply, and the default, which raises if it does not."""
    named = {
        name
        for name, variant in router.variants.items()
        if variant.obstacle(network) is None and not variant.idealized
    }
    return sorted(named | {router.choose_variant(None, network)})


@on_network
def check_scheduler_locality(
    scheduler: str | Path | Scheduler | ProgramFunction,
    network: Network,
    *,
    variants: Sequence[str] | None = None,
    load: float = 0.3,
    pattern: str = "uniform",
    seed: int = 0,
    pairs: int | None = None,
    buffer: int = 0,
    max_slots: int = 200,
    faults: Faults | str | None = None,
    fault_seed: int = 0,
    known_faults: bool = False,
) -> Report:
    """Check that every processor acts only on what it knows, while packets arrive.

    Parameters
    ----------
    scheduler : str, Path, Scheduler or generator function
        The name of a scheduler (or ``NAME:VARIANT``), a file ``name.py`` that registers one, a
        :class:`~popsnet.traffic.Scheduler`, or a generator function.
    network : Network, or int and int
        The network to run it on, or its d and g.
    variants : sequence of str, optional
        The variants to check, by default the one that is named, or all that have names.
    load : float
        Packets per processor and slot.
    pattern : str
        Where packets go.
    seed : int
        The seed of the arrivals and the coins.
    pairs : int, optional
        The number of pairs of processors to change. By default n - 1 or n pairs, so that every
        processor is in two of them, or nearly so.
    buffer : int
        Packets of its own that a processor may hold, and as many of others; 0 for any number.
    max_slots : int
        The number of slots to compare.
    faults : Faults or str, optional
        What does not work in all runs. By default everything works.
    fault_seed : int
        The seed of random faults and lost messages.
    known_faults : bool
        Whether every processor knows the dead parts.

    Returns
    -------
    Report
        The programs, and the number of pairs of runs that were compared.

    Raises
    ------
    LocalityError
        If a processor uses knowledge that it has not received; the message names the slot and
        the processor.

    Notes
    -----
    For each pair of processors the scheduler runs twice more: with other packets arriving at the
    pair, from the start or from a later slot on, and with other coins of the pair. Packets are
    compared by their sources and their order there, because their numbers depend on
    the arrivals at all processors. A scheduler that uses the numbers is caught.

    A pass covers this network and this load only. Check several networks, among them one with d > g
    and one with d < g.

    Examples
    --------
    >>> from popsnet import Network
    >>> from popsnet.testing import LocalityError, check_scheduler_locality
    >>> check_scheduler_locality("rotor", Network(2, 3), max_slots=50)
    <report: rotor standard: 12 comparisons, no difference.>
    >>> try:
    ...     check_scheduler_locality("ideal", Network(2, 3), max_slots=50)
    ... except LocalityError:
    ...     print("The off-line scheduler uses what no processor knows.")
    The off-line scheduler uses what no processor knows.
    """
    n = network.n
    usual, others = (
        make_arrivals(network, pattern=pattern, load=load, seed=arrival_seed).block(0, max_slots)
        for arrival_seed in (seed, seed ^ _OTHER)
    )
    couples = pairs_by_chance(n, seed, pairs)
    since = {  # from the start, and later, each once
        pair: max(0, k - n // 2) * max_slots // n for k, pair in enumerate(couples)
    }

    def changes(x: int, y: int) -> list[tuple[str, Block]]:
        return [("arrivals", _with_others(usual, others, (x, y), since[x, y]))]

    program, broken = find_scheduler_variant(scheduler)[0], faults_of(faults)

    def run(
        name: str, schedule: ProgramFunction, arrivals: Block, changed: Sequence[int]
    ) -> Iterator[Moment]:
        """Yield, in turn, what processors did in each slot and after it."""
        working = TrafficFaults(network, program, broken, fault_seed, known_faults)
        memory: Any = working.memory
        journal: Any = mixed(_TrafficJournal, memory)(network, buffer)
        machine = Machine.of(working.medium, journal)
        coins: Coins = _Coins(private_coins(seed).seed, n, changed)
        running = schedule(network, public_coins(seed), coins, journal, **working.keywords)
        execution = TrafficExecution(name, running, machine)
        for t in range(arrivals.slots):
            rows = slice(arrivals.starts[t], arrivals.starts[t + 1])
            ends = arrivals.sources[rows], arrivals.destinations[rows]
            if working.known:
                offered = ~working.unreachable(t, *ends)
                ends = ends[0][offered], ends[1][offered]
            execution.advance(journal.admit(t, *ends)[0])
            yield from journal.moments()
        execution.close()

    return _check_all(_schedules(scheduler, variants), run, usual, changes, couples, n)


def _schedules(
    scheduler: str | Path | Scheduler | ProgramFunction, variants: Sequence[str] | None
) -> list[tuple[str, ProgramFunction]]:
    """Return the generator functions to check, with their names."""
    program, named = find_scheduler_variant(scheduler)
    if variants is None:
        variants = list(program.variants) if named in program.variants else [named]
    if isinstance(scheduler, str) and scheduler.endswith(f":{named}"):
        variants = [named]
    return [(f"{program.name} {name}", program.variant(name)[1]) for name in variants]


def _with_others(usual: Block, others: Block, sources: Sequence[int], since: int) -> Block:
    """Return arrivals of which those at some sources are others, from a slot on."""
    columns = []
    for block, wanted in ((usual, False), (others, True)):
        slots = np.repeat(np.arange(block.slots), np.diff(block.starts))
        chosen = (np.isin(block.sources, sources) & (slots >= since)) == wanted
        columns.append(np.stack([slots, block.sources, block.destinations])[:, chosen])
    slots, at, to = np.concatenate(columns, axis=1)
    order = np.lexsort((at, slots))
    starts = np.searchsorted(slots[order], np.arange(usual.slots + 1))
    return Block(usual.begin, starts, at[order].astype(np.int32), to[order].astype(np.int32))


class _Coins(PrivateCoins):
    """Private coins, beside which a scheduler has public ones."""

    hint = "Coins that all processors know are drawn from public."


class _TrafficJournal(Journal):
    """A mixin for memories of traffic: a journal that names packets by their sources.

    If the scheduler does not expect the faults, skipped acts are entered, too.
    """

    by_phase = False

    def __init__(self, network: Network, buffer: int = 0) -> None:
        super().__init__(network, buffer)
        self._names: list[str] = []
        self._arrivals: Counter[int] = Counter()

    def name(self, packet: int) -> str:
        """Name a packet by its source and its place among the packets of that source."""
        return self._names[packet] if packet >= 0 else ""

    def admit(self, slot: int, sources: Ints, destinations: Ints) -> tuple[NewPackets, Any]:
        arrived, refused = super().admit(slot, sources, destinations)  # type: ignore[misc]
        for source in arrived.processors.tolist():
            self._names.append(f"{self._arrivals[source]} of processor {source}")
            self._arrivals[source] += 1
        return arrived, refused
