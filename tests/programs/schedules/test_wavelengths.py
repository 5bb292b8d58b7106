"""Schedules on several wavelengths: executed by the machine, beside exhaustive searches."""

from __future__ import annotations

import io
from itertools import permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import popsnet
from popsnet import InputError, Network
from popsnet.programs.schedules import (
    Demand,
    linear_bound,
    lower_bound,
    make_schedule,
    matrix_bound,
    schedule_matrix,
)
from popsnet.programs.schedules.exports import write_hops, write_ports
from popsnet.programs.schedules.groups.plan import one_hop_slots
from popsnet.programs.schedules.linear_program import whole_slots
from popsnet.runs.schedule import Scheduled
from tests.each import each, rarely

SHAPES = [(2, 2, 2), (5, 2, 2), (6, 3, 2), (8, 2, 3), (12, 4, 2), (7, 3, 4), (3, 5, 2), (1, 4, 3)]


def executed(network: Network, given: object, **options: object) -> Scheduled:
    way = "packets" if isinstance(given, Demand) else "permutation"
    parameters: dict[str, Any] = {way: given, **options}
    made = popsnet.schedule(network, **parameters)
    outcome = made.execute()
    assert (outcome.delivered, outcome.collisions) == (made.demand.packets, 0)
    return made


@pytest.mark.parametrize("shape", SHAPES)
def test_two_hops_of_a_permutation_take_the_slots_of_the_formula(
    shape: tuple[int, int, int], tmp_path: Path
) -> None:
    network = Network(*shape)
    for name in ("random", "reversal", "shift:1", "identity"):
        made = executed(network, name, hops=2, trace=tmp_path / "run.jsonl")
        expected = 1 if network.d == 1 else 2 * -(-network.d // network.channels)
        assert made.slots == expected
        checked = popsnet.check_trace(tmp_path / "run.jsonl")
        assert checked.ok
        assert checked.network == network
        runs = popsnet.route(network, router="offline", permutation=name)
        assert runs.slots[0] <= expected
        assert runs.collisions[0] == 0


def test_enough_wavelengths_for_every_pair_of_groups_take_one_slot() -> None:
    for destination in permutations(range(6)):
        network = Network(3, 2)
        counts = Demand.of_permutation(network, np.array(destination)).moving_counts()
        several = Network(3, 2, max(int(counts.max()), 1))
        made = executed(several, np.array(destination), hops=1)
        assert made.slots == (0 if destination == tuple(range(6)) else 1)


@each("seed", range(6))
def test_demands_with_several_packets_per_processor(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for d, g, w in SHAPES:
        network = Network(d, g, w)
        ends = rng.integers(0, network.n, size=(2, 4 * network.n))
        demand = Demand(network, *ends)
        two_hops = executed(network, demand, hops=2)
        one_hop = executed(network, demand, hops=1)
        best = executed(network, demand)
        assert two_hops.slots == (demand.h if d == 1 else 2 * demand.rounds)
        assert best.slots <= min(one_hop.slots, two_hops.slots)
        assert lower_bound(demand) <= best.slots
        assert best.lower_bound <= best.slots


@each("seed", range(6))
def test_matrices(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for d, g, w in SHAPES:
        network, counts = Network(d, g, w), rng.poisson(3.0, size=(g, g))
        slots = {hops: executed(network, None, matrix=counts, hops=hops).slots for hops in (1, 2)}
        best = executed(network, None, matrix=counts)
        assert best.slots <= min(slots.values())
        assert best.lower_bound <= best.slots
        if d > 1:
            assert slots[1] == one_hop_slots(counts, d, w)


def fewest(counts: np.ndarray, d: int, w: int) -> int:
    """Search for the fewest slots of packets between groups, with any number of hops."""
    g = len(counts)
    ends = [(a, b) for a in range(g) for b in range(g) for _ in range(counts[a, b])]
    goal = tuple(b for _, b in ends)
    reached, slots = {tuple(a for a, _ in ends)}, 0
    while goal not in reached:
        reached = {state for old in reached for state in _after_a_slot(old, g, d, w)}
        slots += 1
    return slots


def _after_a_slot(state: tuple[int, ...], g: int, d: int, w: int) -> set[tuple[int, ...]]:
    found = set()
    for moves in product(range(g), repeat=len(state)):
        loads = np.zeros((g, g), dtype=int)
        for a, b in zip(state, moves, strict=True):
            loads[a, b] += a != b
        if loads.max() <= w and max(loads.sum(axis=0).max(), loads.sum(axis=1).max()) <= d:
            found.add(moves)
    return found


@pytest.mark.parametrize("seed", [1, *rarely([0, *range(2, 12)])])
def test_bounds_and_schedules_beside_an_exhaustive_search(seed: int) -> None:
    rng = np.random.default_rng(seed)
    d, w = int(rng.integers(2, 5)), int(rng.integers(1, 4))
    counts = np.zeros((3, 3), dtype=np.int64)
    for _ in range(5):
        a, b = rng.choice(3, size=2, replace=False)
        counts[a, b] += 1 if seed % 2 else 0
        counts[0, 1] += 1 - seed % 2
    counts[counts.sum() and (0, 2)] += 1
    least = fewest(counts, d, w)
    assert matrix_bound(counts, d, w) <= least
    bound = linear_bound(counts, d, w)
    assert bound is not None
    assert whole_slots(bound) <= least
    made = schedule_matrix(Network(d, 3, w), counts)[1]
    assert made.slots >= least
    assert made.slots <= min(
        one_hop_slots(counts, d, w), 2 * -(-int(counts.sum()) // min(d, 3 * w))
    )


def test_one_hop_of_fixed_processors_beside_every_assignment() -> None:
    """The search is not exact for h > 1; here it finds the fewest slots in every case."""
    rng = np.random.default_rng(1)
    for _ in range(40):
        network = Network(3, 2, 2)
        source, destination = rng.integers(0, 6, size=(2, 5))
        moving = source != destination
        demand = Demand(network, source[moving], destination[moving])
        if not demand.packets:
            continue
        least = next(slots for slots in range(1, 6) if _fits(demand, slots))
        assert make_schedule(demand, hops=1).slots == least
        assert lower_bound(demand) <= least


def _fits(demand: Demand, slots: int) -> bool:
    d, w = demand.network.d, demand.network.wavelengths
    ends = list(zip(demand.source.tolist(), demand.destination.tolist(), strict=True))
    for when in product(range(slots), repeat=len(ends)):
        uses: dict[object, int] = {}
        for (a, b), slot in zip(ends, when, strict=True):
            for use in (("sends", a), ("hears", b), ("coupler", a // d, b // d)):
                uses[use, slot] = uses.get((use, slot), 0) + 1
        if all(n <= (w if use[0][0] == "coupler" else 1) for use, n in uses.items()):  # type: ignore[index]
            return True
    return False


def test_one_wavelength_is_the_network_without_wavelengths() -> None:
    demand = Demand.of_permutation(Network(6, 2, 1), np.arange(12)[::-1])
    made = make_schedule(demand)
    assert made.slot(0).send_wavelengths is None
    assert (
        made.slots == make_schedule(Demand.of_permutation(Network(6, 2), np.arange(12)[::-1])).slots
    )


def test_exports_have_a_column_of_wavelengths() -> None:
    network = Network(4, 2, 2)
    demand = Demand.of_permutation(network, np.roll(np.arange(8), 4))
    made = make_schedule(demand)
    hops, ports = io.StringIO(), io.StringIO()
    write_hops(made, demand, hops)
    write_ports(made, ports)
    heading, *rows = hops.getvalue().splitlines()
    assert heading.endswith(",wavelength")
    cells = [row.split(",") for row in rows]
    assert {row[-1] for row in cells} == {"0", "1"}
    used = [(row[0], row[2], row[3], row[-1]) for row in cells]
    assert len(set(used)) == len(used)
    assert (
        ports.getvalue()
        .splitlines()[0]
        .endswith("hears_packet,sends_on_wavelength,listens_to_wavelength")
    )


def test_mixtures_are_refused() -> None:
    with pytest.raises(InputError, match="mixtures are searched for with one wavelength"):
        popsnet.schedule(Network(4, 2, 2), "reversal", hops="mixed")
