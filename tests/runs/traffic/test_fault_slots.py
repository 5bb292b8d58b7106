"""When parts die: which packets have a path, and that no scheduler is misled, in any slot."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
import pytest

import popsnet
from popsnet import Faults, InputError, Network
from popsnet.engines.log import Log
from popsnet.engines.traffic_slots import MessageSession
from popsnet.programs.scheduler_faults import TrafficFaults
from popsnet.programs.schedulers.epochs import around
from popsnet.programs.schedules import Demand
from popsnet.programs.schedules.construction import make_two_hops
from popsnet.traffic import LiveParts, Scheduler, all_schedulers, find_scheduler, make_arrivals
from popsnet.workloads.block import Block
from tests.each import rarely
from tests.model.faults.test_live_parts import Brute
from tests.runs.traffic.test_faults import run

SCHEDULERS = [one for one in all_schedulers() if not one.file]
SHAPES = [(2, 2), (3, 2), (2, 4), (3, 3), (5, 3), (1, 4), (4, 1)]
SLOTS = 40


class Case(NamedTuple):
    """A short run with faults that begin in any slot, also after its end."""

    shape: tuple[int, int]
    faults: str
    buffer: int
    load: float
    seed: int


def case(seed: int) -> Case:
    """Return a case that is drawn from a seed."""
    rng = np.random.default_rng(seed)
    d, g = SHAPES[seed % len(SHAPES)]
    items = []
    for kind in rng.choice(["coupler", "transmitter", "receiver", "processor"], rng.integers(1, 6)):
        part = "-".join(map(str, rng.integers(g, size=2)[::-1])) if kind == "coupler" else None
        slot = rng.choice([1, 2, *rng.integers(1, SLOTS, 2), SLOTS + 20, 10**9])
        items.append(f"{kind}:{part or rng.integers(d * g)}@{slot}")
    buffer, load = rng.choice([0, 0, 1, 3]), rng.choice([0.05, 0.2, 0.5])
    return Case((d, g), " ".join(items), int(buffer), float(load), seed)


def without_path(scheduler: Scheduler, one: Case, known: bool, block: Block) -> list[int]:
    """Return the arrivals that have no path, by the definition, arrival by arrival."""
    network, faults = Network(*one.shape), Faults.parse(one.faults)

    @cache
    def paths(slot: int) -> Brute:
        return Brute(network, faults if known else faults.begun(slot), known)

    slots = 1 + np.repeat(np.arange(block.slots), np.diff(block.starts))
    ends = zip(slots.tolist(), block.sources.tolist(), block.destinations.tolist(), strict=True)
    return [
        row
        for row, (slot, *pair) in enumerate(ends)
        if not paths(slot).path(scheduler.paths, *pair)
    ]


def execute(scheduler: Scheduler, one: Case, known: bool) -> tuple[Block, Log, Log]:
    """Run a case, and as many slots again in which nothing arrives."""
    network = Network(*one.shape)
    faults = TrafficFaults(network, scheduler, Faults.parse(one.faults), one.seed, known)
    session = MessageSession(
        network, scheduler, next(iter(scheduler.variants)), one.seed, one.buffer, faults=faults
    )
    pattern = ("uniform", "uniform-with-self")[one.seed % 2]
    arrivals = make_arrivals(network, load=one.load, pattern=pattern, seed=one.seed)
    block, none = arrivals.block(0, SLOTS), np.empty(0, np.int32)
    log = session.advance(block)
    later = session.advance(Block(SLOTS, np.zeros(2 * SLOTS + 1, np.int64), none, none))
    return block, log, later


@pytest.mark.parametrize("seeds", [range(3), *rarely([range(3, 21)])], ids=len)
@pytest.mark.parametrize("scheduler", SCHEDULERS, ids=str)
def test_a_packet_is_classified_by_what_is_dead_when_it_arrives(
    scheduler: Scheduler, seeds: range
) -> None:
    """Or by all dead parts, if they are known. No scheduler breaks a rule or does not end."""
    for seed in seeds:  # shapes come in turn
        one = case(seed)
        for known in (False, True):
            block, log, later = execute(scheduler, one, known)
            assert log.faults is not None
            found = log.faults.unreachable_rows.tolist()
            assert found == without_path(scheduler, one, known, block), (one, known)
            arrived = len(block.sources) - len(found) - len(log.refused_rows)
            ended = sum(len(part.arrival) + int(part.lost.sum()) for part in (log, later))
            assert ended <= arrived, (one, known)


BEGINNINGS = (
    ((3, 2), "processor:1@24 processor:4"),
    ((3, 3), "coupler:0-1@50 receiver:5@2 transmitter:3@100000"),
    ((2, 2), "coupler:0-1@24"),
    ((2, 4), "processor:5@70 coupler:2-2 coupler:3-0@151"),
)


@pytest.mark.parametrize("cases", [BEGINNINGS[:1], *rarely([BEGINNINGS[1:]])], ids=["few", "more"])
@pytest.mark.parametrize("scheduler", SCHEDULERS, ids=str)
def test_known_faults_lose_nothing_whenever_they_begin(
    scheduler: Scheduler, cases: tuple[tuple[tuple[int, int], str], ...]
) -> None:
    for shape, faults in cases:
        first, later, session = run(scheduler.name, shape, faults, known=True, load=0.05)
        assert session.memory.inside == 0, (shape, faults)
        assert first.lost.sum() + later.lost.sum() == 0, (shape, faults)
        assert not session.memory.tolerant


def test_a_part_that_dies_after_the_end_changes_no_count() -> None:
    counts = []
    for faults in ("transmitter:0", "transmitter:0 receiver:3@100000"):
        one = popsnet.simulate(
            3, 3, scheduler="tdm", load=0.1, faults=faults, slots=1000, progress=False
        )
        counts.append((one.unreachable, one.lost, one.delivered, one.held))
    assert counts[0] == counts[1]
    assert counts[0][0] > counts[0][1] == 0


def test_no_packet_without_a_path_is_delivered_by_a_class_with_a_dead_member() -> None:
    """Group 2 has a dead member in each class, and the others relay if nothing is known."""
    network, faults = Network(5, 3), "coupler:0-1 processor:10 processor:11 processor:12"
    for name in ("vlb", "rotor", "hop3", "epochs"):
        scheduler = find_scheduler(name)
        trouble = TrafficFaults(network, scheduler, Faults.parse(faults))
        session = MessageSession(network, scheduler, "standard", 1, faults=trouble)
        log = session.advance(make_arrivals(network, load=0.1, seed=1).block(0, 800))
        assert log.faults is not None
        assert len(log.faults.unreachable_rows) > 0, name
        # The log leaves out those that are unreachable.
        assert session.memory.delivered == len(log.arrival), name


def test_detours_for_a_packet_without_a_path_end_with_an_error() -> None:
    network = Network(2, 2)
    demand = Demand(network, np.array([0, 1]), np.array([1, 2]))
    known = LiveParts(network, Faults.parse("coupler:0-1"))
    with pytest.raises(InputError, match="from processor 1 to 2 has no live path of at most two"):
        around(make_two_hops(demand), demand, known)
