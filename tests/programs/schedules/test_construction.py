"""Off-line schedules: the slots that were promised, executed, and replayed by the checker."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from popsnet import Coins, InputError, Machine, Network, Outcome, check_trace
from popsnet.engines import ENGINES, Instance
from popsnet.model.slot import Ints
from popsnet.programs.router import get_router
from popsnet.programs.schedules import cache
from popsnet.programs.schedules.cache import schedule_permutation
from popsnet.programs.schedules.construction import assign_rounds, make_two_hops
from popsnet.programs.schedules.demand import Demand
from popsnet.programs.schedules.files import demand_of_matrix
from popsnet.programs.schedules.slots_needed import lower_bound, offline_slots
from popsnet.runs.schedule import schedule as scheduled
from popsnet.workloads.permutations import make_permutation
from tests.each import sampled

SIZES = (1, 2, 3, 4, 5, 7, 8, 11, 16)


def promised(network: Network, destination: Ints) -> int:
    groups = zip(network.processors // network.d, destination // network.d, strict=True)
    alone = len(set(groups)) == network.n
    return 1 if alone else 2 * -(-network.d // network.g)


def half_sorted(n: int) -> npt.NDArray[np.int32]:
    """The first half is home, the second in reverse order."""
    kept = np.arange(n // 2)
    return np.concatenate((kept, np.arange(n // 2, n)[::-1])).astype(np.int32)


def adversaries(network: Network) -> Iterator[tuple[str, Ints]]:
    for name in (
        "identity", "reversal", "group-permutation", "transpose", "shuffle", "shift:d", "tornado",
    ):  # fmt: skip
        yield name, make_permutation(name, network, Coins(network.n))
    yield "half sorted", half_sorted(network.n)
    for seed in range(4):
        yield f"random {seed}", make_permutation("random", network, Coins(seed))


def execute(network: Network, destination: Ints) -> Outcome:
    router = get_router("offline")
    instance = Instance(network, router, "standard", destination, Coins(0), 1000)
    return ENGINES["slots"].execute(instance, ())


@pytest.mark.parametrize("d", sampled(SIZES, 4))
def test_every_permutation_takes_exactly_the_slots_promised(d: int, tmp_path: Path) -> None:
    """972 permutations over all d and g here, each executed on the machine and replayed."""
    for g in SIZES:
        network = Network(d, g)
        for name, destination in adversaries(network):
            outcome = execute(network, destination)
            assert outcome.slots == promised(network, destination), (network, name)
            assert (outcome.delivered, outcome.collisions) == (network.n, 0)
            assert outcome.peak_buffers in ((1,) if d <= g else (1, 2)), (network, name)
            demand = Demand.of_permutation(network, destination)
            path = tmp_path / "trace.jsonl"
            scheduled(network, packets=demand, trace=path)
            report = check_trace(path)
            assert report.ok, (network, name, report.violations)
            assert report.slots <= promised(network, destination)


@given(st.integers(1, 40), st.integers(1, 40), st.integers(0, 2**64 - 1))
def test_shapes_at_random(d: int, g: int, seed: int) -> None:
    network = Network(d, g)
    destination = make_permutation("random", network, Coins(seed))
    outcome = execute(network, destination)
    assert (outcome.slots, outcome.delivered) == (promised(network, destination), network.n)


@pytest.mark.parametrize(("d", "g"), [(1, 3000), (2, 2000), (3000, 2), (257, 63), (64, 65)])
def test_larger_networks(d: int, g: int) -> None:
    network = Network(d, g)
    destination = make_permutation("random", network, Coins(1))
    outcome = execute(network, destination)
    assert (outcome.slots, outcome.delivered) == (promised(network, destination), network.n)


@st.composite
def demands(draw: st.DrawFn) -> Demand:
    network = Network(draw(st.integers(1, 12)), draw(st.integers(1, 5)))
    processor = st.integers(0, network.n - 1)
    packets = draw(st.lists(st.tuples(processor, processor), max_size=60))
    table = np.array(packets, dtype=np.int64).reshape(-1, 2)
    return Demand(network, table[:, 0], table[:, 1])


@given(demands())
def test_any_demand_takes_the_slots_of_the_formula(demand: Demand) -> None:
    made = scheduled(demand.network, packets=demand, hops=2)
    schedule, outcome = made.schedule, made.execute()
    d, g = demand.network.d, demand.network.g
    formula = demand.h if d == 1 else 2 * max(demand.h, -(-demand.degree // g))
    assert outcome.slots == schedule.slots == offline_slots(demand) == formula
    assert (outcome.delivered, outcome.collisions) == (demand.packets, 0)
    assert lower_bound(demand) <= formula
    assert outcome.peak_buffers == schedule.peak_buffers(demand.source)
    assert outcome.peak_buffers <= 2 * demand.h + 1


@given(demands())
def test_a_round_is_what_two_slots_can_carry(demand: Demand) -> None:
    rounds = assign_rounds(demand)
    count = demand.rounds
    assert ((rounds >= 0) & (rounds < max(count, 1))).all()
    for ends in (demand.source, demand.destination):
        for numbers, most in ((ends, 1), (ends // demand.network.d, demand.network.g)):
            load = np.bincount(numbers.astype(np.int64) * max(count, 1) + rounds)
            assert load.max(initial=0) <= most


@given(st.integers(1, 20), st.integers(1, 6), st.floats(0, 1), st.integers(0, 99))
def test_partial_permutations(d: int, g: int, share: float, seed: int) -> None:
    """Two slots for every g packets of the busiest group; one buffer if that is one round."""
    network, rng = Network(d, g), np.random.default_rng(seed)
    packets = round(share * network.n)
    source, destination = (rng.permutation(network.n)[:packets] for _ in range(2))
    demand = Demand(network, source, destination)
    outcome = scheduled(network, packets=demand, hops=2).execute()
    hops = 1 if d == 1 else 2
    assert outcome.slots == (hops * -(-demand.degree // g) if d > 1 else demand.h)
    assert outcome.delivered == packets
    most = min(packets, 1)
    assert outcome.peak_buffers in ((most,) if demand.degree <= g else (1, 2))


@pytest.mark.parametrize(("d", "g"), [(1, 5), (3, 4), (4, 4), (9, 4), (7, 1)])
def test_demands_are_replayed_from_where_packets_start(d: int, g: int, tmp_path: Path) -> None:
    network, rng = Network(d, g), np.random.default_rng(d)
    for packets in (0, 1, network.n // 2, 3 * network.n):
        demand = Demand(network, *rng.integers(0, network.n, (2, packets)))
        outcome = scheduled(network, packets=demand).write_trace(tmp_path / "t.jsonl")
        report = check_trace(tmp_path / "t.jsonl")
        assert report.ok, report.violations
        assert (report.packets, report.delivered) == (packets, outcome.delivered)


@given(st.integers(1, 6), st.integers(1, 5), st.data())
def test_a_traffic_matrix_is_dealt_evenly(d: int, g: int, data: st.DataObject) -> None:
    counts = np.array(data.draw(st.lists(st.integers(0, 9), min_size=g * g, max_size=g * g)))
    demand = demand_of_matrix(Network(d, g), counts.reshape(g, g))
    found = np.bincount(demand.source // d * g + demand.destination // d, minlength=g * g)
    assert (found == counts).all()
    assert demand.h == -(-demand.degree // d)
    assert d == 1 or (demand.source != demand.destination).all()
    rounds = -(-demand.degree // min(d, g))
    assert make_two_hops(demand).slots == (1 if d == 1 else 2) * rounds


def test_the_lower_bound_is_reached_where_it_can_be() -> None:
    """A group permutation on d = g: no coupler carries d packets in one slot."""
    for d, g, least in ((4, 4, 2), (8, 4, 4), (1, 6, 1), (64, 16, 8)):
        network = Network(d, g)
        destination = (np.arange(network.n) + d) % network.n
        demand = Demand.of_permutation(network, destination)
        assert lower_bound(demand) == least == offline_slots(demand)


def test_what_is_at_home_needs_no_slot() -> None:
    network = Network(4, 4)
    assert lower_bound(Demand.of_permutation(network, np.arange(16))) == 0


def test_the_machine_executes_a_schedule_for_other_packets_too() -> None:
    """Two stages with the same schedule: packets go to where it leads, and back."""
    network = Network(4, 3)
    away = np.arange(12)[::-1].astype(np.int32)
    schedule = schedule_permutation(network, away)
    machine = Machine(network, np.arange(12, dtype=np.int32), buffers=3)
    held = np.arange(12, dtype=np.int32)
    for _ in range(2):
        for number in range(schedule.slots):
            inbox = machine.execute(slot := schedule.slot(number, held))
            machine.memory.drop(slot.senders, slot.packet_numbers)
            machine.memory.store(inbox.receivers, inbox.packets)
        held = held[np.argsort(away)]
    assert machine.memory.holds(np.arange(12), np.arange(12)).all()


def test_a_schedule_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "_kept", cache._ScheduleCache())
    network, destination = Network(5, 3), np.random.default_rng(0).permutation(15)
    schedule = schedule_permutation(network, destination)
    assert schedule_permutation(network, destination.astype(np.int32)) is schedule
    assert schedule_permutation(Network(3, 5), destination) is not schedule
    with pytest.raises(ValueError, match="read-only"):
        schedule.messages[0].packets[0] = 3
    monkeypatch.setattr(cache, "MOST_BYTES", schedule.nbytes + 3000)  # one, not two
    schedule_permutation(network, destination[::-1])
    assert schedule_permutation(network, destination) is not schedule


def test_the_same_seed_gives_the_same_schedule() -> None:
    demand = Demand.of_permutation(Network(7, 5), np.random.default_rng(0).permutation(35))
    schedule, same, other = (make_two_hops(demand, seed=seed) for seed in (1, 1, 2))
    assert all(
        np.array_equal(a, b)
        for slot in range(schedule.slots)
        for a, b in zip(schedule.transmissions(slot), same.transmissions(slot), strict=True)
    )
    assert not np.array_equal(schedule.transmissions(0)[2], other.transmissions(0)[2])


@pytest.mark.parametrize(
    ("source", "destination", "complaint"),
    [
        ([0, 1], [0, 6], "packet 1: destination 6 is outside 0 to 5"),
        ([0, -1], [0, 1], "packet 1: source -1 is outside 0 to 5"),
        ([0, 1], [0], "2 sources and 1 destinations"),
        ([0.5], [0], "The sources have dtype"),
    ],
)
def test_bad_demands_are_refused(source: list[int], destination: list[int], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        Demand(Network(3, 2), np.array(source), np.array(destination))
