"""The locality check for schedulers: every processor acts only on what it knows.

A scheduler of continuous traffic is written for all processors at once, and nothing stops it from
looking at another processor's queue or coins. The check runs it twice, with runs that differ only
at a few processors X, in the packets that arrive there or in their coins. A processor of X, or one
that has heard something different because of X, is in the causal cone and may act differently.
Every other processor must do exactly the same in both runs. All processors know the public coins.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from popsnet.coins import Coins
from popsnet.errors import InputError
from popsnet.faults import Faults
from popsnet.faults.faults import faults_of
from popsnet.machine import Machine
from popsnet.medium import make_medium
from popsnet.network import Network
from popsnet.slot import Ints, Slot
from popsnet.testing.cone import (
    Journal,
    Moment,
    PrivateCoins,
    acts_in,
    heard_in,
    pairs_by_chance,
    require_same_acts,
)
from popsnet.traffic.arrivals import Block, make_arrivals
from popsnet.traffic.engine import private_coins, public_coins
from popsnet.traffic.faulty import TolerantTrafficMemory, TrafficFaults
from popsnet.traffic.memory import Arrived, TrafficMemory
from popsnet.traffic.scheduler import Schedule, Scheduler, find_scheduler_variant

_OTHER = 0x5DEECE66D
"""Turns the seed of arrivals into another one."""


def check_scheduler_locality(
    scheduler: str | Path | Scheduler | Schedule,
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
) -> None:
    """Check that every processor acts only on what it knows, while packets arrive.

    Parameters
    ----------
    scheduler : str, Path, Scheduler or generator function
        The name of a scheduler (or ``NAME:VARIANT``), a file ``name.py`` that registers one, a
        :class:`~popsnet.traffic.Scheduler`, or a generator function.
    network : Network
        The network to run it on.
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
    >>> try:
    ...     check_scheduler_locality("ideal", Network(2, 3), max_slots=50)
    ... except LocalityError:
    ...     print("The off-line scheduler uses what no processor knows.")
    The off-line scheduler uses what no processor knows.
    """
    n = network.n
    usual, others = (
        make_arrivals(network, pattern=pattern, load=load, seed=one).block(0, max_slots)
        for one in (seed, seed ^ _OTHER)
    )
    couples = pairs_by_chance(n, seed, pairs)
    for name, schedule in _schedules(scheduler, variants):
        broken = None
        if given := faults_of(faults):
            found = find_scheduler_variant(scheduler)[0]
            broken = partial(TrafficFaults, network, found, given, fault_seed, known_faults)
        run = partial(_moments, network, name, schedule, buffer, seed, broken)
        unchanged = list(run(usual))
        for k, (x, y) in enumerate(couples):
            since = max(0, k - n // 2) * max_slots // n  # from the start, and later, each once
            changed = _exchanged(usual, others, (x, y), since)
            for kind, other in (("arrivals", run(changed)), ("coins", run(usual, (x, y)))):
                moments = zip(unchanged, other, strict=True)
                require_same_acts(name, kind, {x, y}, moments, n)


def _schedules(
    scheduler: str | Path | Scheduler | Schedule, variants: Sequence[str] | None
) -> list[tuple[str, Schedule]]:
    """Return the generator functions to check, with their names."""
    found, named = find_scheduler_variant(scheduler)
    if variants is None:
        variants = list(found.variants) if named in found.variants else [named]
    if isinstance(scheduler, str) and scheduler.endswith(f":{named}"):
        variants = [named]
    return [(f"{found.name} {name}", found.variant(name)[1]) for name in variants]


def _exchanged(usual: Block, others: Block, sources: Sequence[int], since: int) -> Block:
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


class _Journal(Journal, TrafficMemory):
    """The machine's memory with a journal, which names packets by their sources."""

    def __init__(self, network: Network, buffer: int = 0) -> None:
        super().__init__(network, buffer)
        self._names: list[str] = []
        self._times: Counter[int] = Counter()

    def name(self, packet: int) -> str:
        """Name a packet by its source and its place among the packets of that source."""
        return self._names[packet] if packet >= 0 else ""

    def admit(self, slot: int, sources: Ints, destinations: Ints) -> tuple[Arrived, Any]:
        arrived, refused = super().admit(slot, sources, destinations)
        for source in arrived.processors.tolist():
            self._names.append(f"{self._times[source]} of processor {source}")
            self._times[source] += 1
        return arrived, refused


class _TolerantJournal(_Journal, TolerantTrafficMemory):
    """The same for a scheduler that does not expect the faults. Skipped acts are entered, too."""


def _moments(
    network: Network,
    name: str,
    schedule: Schedule,
    buffer: int,
    seed: int,
    broken: Callable[[], TrafficFaults] | None,
    arrivals: Block,
    changed: Sequence[int] = (),
) -> Iterator[Moment]:
    """Run the scheduler and yield, in turn, what processors did in each slot and after it."""
    faults = None if broken is None else broken()
    kind = _Journal if faults is None or faults.survives else _TolerantJournal
    journal = kind(network, buffer)
    machine = Machine.of(make_medium(network, None if faults is None else faults.active), journal)
    coins: Coins = _Coins(private_coins(seed).seed, network.n, changed)
    told = {} if faults is None else faults.told
    running = schedule(network, public_coins(seed), coins, journal, **told)
    running.send(None)
    for t in range(arrivals.slots):
        rows = slice(arrivals.starts[t], arrivals.starts[t + 1])
        ends = arrivals.sources[rows], arrivals.destinations[rows]
        if faults is not None and faults.known:
            offered = ~faults.unreachable(t, *ends)
            ends = ends[0][offered], ends[1][offered]
        arrived, _ = journal.admit(t, *ends)
        slot = running.send(arrived)
        if not isinstance(slot, Slot):
            raise InputError(
                f"Scheduler {name} yields {slot!r:.40} after arrivals; it must alternate: "
                "arrived = yield, then inbox = yield Slot(…)."
            )
        journal.sending(slot)
        inbox = machine.execute(slot)
        heard = heard_in(inbox, journal.name)
        done = machine.executed or slot
        yield Moment((name, t, "itself"), t + 1, acts_in(done, journal.name), heard)
        running.send(inbox)
        journal.settle()
        yield Moment((name, t, "after it"), t + 1, journal.turn_page(), {})
    running.close()
