"""Schedules around dead parts: executed by the machine, checked, and beside brute force."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import popsnet
from popsnet import Coins, Faults, InputError, Network
from popsnet.model.faults import WorkingParts
from popsnet.programs.schedules import Demand, linear_bound, make_schedule
from popsnet.programs.schedules.detours import live_capacities, make_detours
from popsnet.programs.schedules.linear_program import whole_slots
from popsnet.programs.schedules.shortest import Hops
from popsnet.runs.schedule import Scheduled
from tests.each import each
from tests.programs.schedules.test_slots_needed import slots_from

HOPS: tuple[Hops, ...] = ("auto", "1", "2", "auto")
SHAPES = [(3, 3, 1), (2, 4, 1), (5, 2, 1), (1, 5, 1), (4, 4, 2), (6, 2, 3), (3, 1, 1), (8, 4, 1)]


def joined(parts: WorkingParts, source: int, destination: int, most: int) -> bool:
    """Whether a path of at most this many hops exists, from processor to processor."""
    d, n = parts.network.d, parts.network.n
    reached = {source}
    for _ in range(most):
        reached |= {
            q
            for p in reached
            for q in range(n)
            if p != q and parts.sends[p] and parts.hears[q] and parts.couplers[q // d, p // d]
        }
    return destination in reached


def unreachable(demand: Demand, parts: WorkingParts, hops: str) -> list[int]:
    """The packets without a path, from the definition."""
    ends = list(zip(demand.source.tolist(), demand.destination.tolist(), strict=True))
    most = {"1": 1, "2": 2}.get(hops, demand.network.n)
    if hops == "2":  # through a third processor
        found = []
        for p, (source, end) in enumerate(ends):
            relays = [q for q in range(demand.network.n) if q not in (source, end)]
            two = any(joined(parts, source, q, 1) and joined(parts, q, end, 1) for q in relays)
            found += [] if two or source == end else [p]
    else:
        found = [p for p, (s, e) in enumerate(ends) if not joined(parts, s, e, most)]
    return found


def require_executed(made: Scheduled, path: Path) -> None:
    assert made.faults is not None
    missing = len(made.faults.unreachable)
    outcome = made.write_trace(path)
    assert (outcome.delivered, outcome.collisions) == (made.demand.packets - missing, 0)
    assert outcome.slots == made.slots
    checked = popsnet.check_trace(path)
    assert checked.ok, checked.violations
    assert sorted(checked.undelivered) == made.faults.unreachable.tolist()
    assert made.lower_bound <= made.slots


@each("shape", SHAPES)
def test_what_has_a_path_arrives_and_nothing_else(
    shape: tuple[int, int, int], tmp_path: Path
) -> None:
    network, rng = Network(*shape), np.random.default_rng(sum(shape))
    for case in range(9):
        hops = HOPS[case % 4]
        packets = int(rng.integers(1, network.n + 4))
        ends = rng.integers(0, network.n, (2, packets))
        demand = Demand(network, *ends)
        random = {
            "couplers": int(rng.integers(0, network.couplers // 2 + 1)),
            "transmitters": case % 3 == 1, "receivers": case % 3 == 2,
            "processors": case % 5 == 4,
        }  # fmt: skip
        faults = Faults(random={kind: int(number) for kind, number in random.items()})
        if not faults:
            continue
        made = popsnet.schedule(network, packets=demand, hops=hops, faults=faults, fault_seed=case)
        require_executed(made, tmp_path / "run.jsonl")
        assert made.faults is not None
        assert made.faults.unreachable.tolist() == unreachable(demand, made.faults.parts, hops)


def test_a_chain_of_groups_takes_as_many_hops_as_it_has(tmp_path: Path) -> None:
    network = Network(2, 5)
    dead = [f"{a}-{b}" for b in range(5) for a in range(5) if b != (a + 1) % 5]
    made = popsnet.schedule(
        network, packets=[[0, 2], [0, 8], [1, 9], [3, 1]], faults=Faults(couplers=dead)
    )
    require_executed(made, tmp_path / "run.jsonl")
    assert made.faults is not None
    assert not len(made.faults.unreachable)
    assert made.schedule.relayed == 3
    assert made.slots >= 5  # c(1, 0) carries three packets, the last of them three hops further


@each("shape", [(2, 2), (1, 3), (2, 3), (3, 2)])
def test_no_schedule_is_shorter_than_the_bounds(shape: tuple[int, int]) -> None:
    """An exhaustive search, written from the rules, which never uses what is dead."""
    network, rng = Network(*shape), np.random.default_rng(network_seed := sum(shape))
    for case in range(5):
        faults = Faults(random={"couplers": 1 + case % 2, "transmitters": int(case % 3 == 0)})
        parts = WorkingParts(network, faults.drawn(network, Coins(case + network_seed)))
        demand = Demand(network, *rng.integers(0, network.n, (2, 4)))
        schedule, missing, bound = make_detours(demand, make_schedule(demand), parts)
        left = np.setdiff1d(np.arange(4), missing)
        demand = Demand(network, demand.source[left], demand.destination[left])
        capacities = live_capacities(network, parts, max(schedule.slots, 1))
        linear = linear_bound(demand.moving_counts(), network.d, 1, capacities)
        assert linear is not None
        least = shortest_around(demand, parts)
        assert max(bound, whole_slots(linear)) <= least <= schedule.slots


def shortest_around(demand: Demand, parts: WorkingParts) -> int:
    d, n = demand.network.d, demand.network.n
    ends = zip(demand.source.tolist(), demand.destination.tolist(), strict=True)
    reached = {tuple(sorted((source, -1, end) for source, end in ends))}
    seen, slots = set(reached), 0

    def works(place: int, to: int) -> bool:
        coupler = parts.couplers[to // d, place // d]
        return place == to or bool(parts.sends[place] and parts.hears[to] and coupler)

    while not any(all(place == end for place, _, end in state) for state in reached):
        after = {
            tuple(sorted(new))
            for state in reached
            for new in slots_from(state, d, n)
            if all(works(old[0], now[0]) for old, now in zip(state, new, strict=True))
        }
        reached = after - seen
        seen |= reached
        slots += 1
    return slots


@each("dead", ["processor:0 processor:1", "transmitter:1 transmitter:3", "processor:2"])
def test_live_processors_share_the_packets_of_a_matrix(dead: str) -> None:
    """The bound holds for every choice of processors, so an uneven one would not reach it."""
    matrix = np.zeros((5, 5), dtype=np.int64)
    matrix[0, 1:] = matrix[1:, 0] = 1
    made = popsnet.schedule(Network(4, 5), matrix=matrix, faults=dead)
    assert (made.lower_bound, made.slots) == (2, 2)


def test_a_packet_inside_a_group_needs_two_live_processors() -> None:
    network, inside = Network(3, 2), np.array([[3, 0], [0, 0]])
    made = popsnet.schedule(network, matrix=inside, faults="transmitter:0")
    assert (made.slots, made.lower_bound, made.execute().delivered) == (2, 2, 3)
    alone = popsnet.schedule(network, matrix=inside, faults="processor:0 processor:1")
    assert alone.unreachable.tolist() == [0, 1, 2]


def test_the_processors_of_a_matrix_are_live_ones(tmp_path: Path) -> None:
    matrix = np.array([[2, 5, 0], [1, 0, 4], [3, 3, 3]])
    made = popsnet.schedule(
        Network(3, 3), matrix=matrix, faults="processor:0 transmitter:4 receiver:5 coupler:1-2"
    )
    require_executed(made, tmp_path / "run.jsonl")
    assert made.faults is not None
    assert not len(made.faults.unreachable)
    by, to = made.demand.source // 3, made.demand.destination // 3
    assert np.array_equal(np.bincount(by * 3 + to, minlength=9).reshape(3, 3), matrix)
    dead = popsnet.schedule(Network(3, 3), matrix=matrix, faults=Faults(transmitters=[3, 4, 5]))
    assert dead.faults is not None
    assert len(dead.faults.unreachable) == matrix[1].sum()


def test_intact_parts_change_nothing_and_few_dead_couplers_add_little() -> None:
    network = Network(16, 16)
    intact = popsnet.schedule(network, "reversal")
    around = popsnet.schedule(network, "reversal", faults="coupler:15-0", seed=0)
    assert around.faults is not None
    assert around.faults.intact_slots == intact.slots == 2
    assert around.slots == 3  # every coupler of the intact schedule is in use in both slots
    unused = popsnet.schedule(Network(3, 2), packets=[[0, 3]], faults="coupler:1-0")
    assert unused.faults is not None
    assert (unused.slots, unused.faults.intact_slots) == (1, 1)


def test_a_part_that_dies_later_is_not_used_at_all() -> None:
    now, later = (
        popsnet.schedule(Network(4, 4), "reversal", faults=f"coupler:0-3{since}")
        for since in ("", "@7")
    )
    assert now.schedule.hops().packets.tolist() == later.schedule.hops().packets.tolist()
    assert later.execute().delivered == 16


def test_many_packets_need_many_slots() -> None:
    """More slots than the first words of the tables of what is in use have."""
    network = Network(4, 3)
    rows = np.column_stack((np.zeros(300, dtype=np.int64), np.arange(300) % 4 + 4))
    made = popsnet.schedule(network, packets=rows, faults="coupler:0-1 receiver:11")
    assert made.execute().delivered == 300
    assert made.slots >= 301


def test_lost_messages_are_refused() -> None:
    with pytest.raises(InputError, match=r"faults: loss:0\.1: a schedule is made before"):
        popsnet.schedule(Network(2, 2), faults="loss:0.1")
    with pytest.raises(InputError, match="there is no coupler:0-2"):
        popsnet.schedule(Network(2, 2), faults="coupler:0-2")
