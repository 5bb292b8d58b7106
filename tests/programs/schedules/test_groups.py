"""Plans of traffic matrices, replayed hop by hop by checkers that know nothing of their making."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from popsnet import Network
from popsnet.model.slot import Ints
from popsnet.programs.schedules.groups.mixed import plan_mixed
from popsnet.programs.schedules.groups.plan import GroupPlan, one_hop_slots, plan_one_hop
from popsnet.programs.schedules.groups.processors import give_processors
from tests.each import each
from tests.programs.schedules.families import Matrix, families, simple_bound

NAMES = tuple(families(8))


def hops_of(plan: GroupPlan) -> list[tuple[int, int, int, int]]:
    """Return slot, packet, group from and group to of every hop."""
    hops = []
    rows = zip(*(column.tolist() for column in plan[:5]), strict=True)
    for packet, (source, relay, destination, first, final) in enumerate(rows):
        if relay < 0:
            assert first == final
            hops.append((first, packet, source, destination))
        else:
            hops.append((first, packet, source, relay))
            hops.append((final, packet, relay, destination))
    return sorted(hops)


def assert_plan(counts: Matrix, d: int, plan: GroupPlan) -> None:
    """Replay a plan: where packets are, what couplers carry, what groups send and receive."""
    at = plan.source.tolist()
    carried: set[tuple[int, int, int]] = set()
    sent: Counter[tuple[int, int]] = Counter()
    received: Counter[tuple[int, int]] = Counter()
    last = [-1] * len(at)
    for slot, packet, a, b in hops_of(plan):
        assert 0 <= slot < plan.slots
        assert at[packet] == a
        assert last[packet] < slot
        assert (slot, a, b) not in carried
        carried.add((slot, a, b))
        sent[slot, a] += 1
        received[slot, b] += 1
        at[packet], last[packet] = b, slot
    assert at == plan.destination.tolist()
    assert max((0, *sent.values(), *received.values())) <= min(d, len(counts))
    pairs = list(zip(plan.source.tolist(), plan.destination.tolist(), strict=True))
    assert pairs == sorted(pairs)
    delivered = Counter(pairs)
    assert all(delivered[a, b] == count for (a, b), count in np.ndenumerate(counts))
    assert len(pairs) == counts.sum()


def assert_processors(network: Network, plan: GroupPlan) -> tuple[Ints, Ints]:
    """Replay a plan with processors; return sources and destinations."""
    source, relay, destination = give_processors(network, plan)
    places = [source.tolist(), relay.tolist(), destination.tolist()]
    groups = [plan.source.tolist(), plan.relay.tolist(), plan.destination.tolist()]
    for processors, expected in zip(places, groups, strict=True):
        for processor, group in zip(processors, expected, strict=True):
            assert processor // network.d == group if group >= 0 else processor == -1
            assert processor < network.n
    sent: set[tuple[int, int]] = set()
    heard: set[tuple[int, int]] = set()
    for slot, packet, a, b in hops_of(plan):
        is_first = a == groups[0][packet] and slot == plan.first[packet]
        is_last = slot == plan.final[packet]
        assert b == (groups[2] if is_last else groups[1])[packet]
        sender = (places[0] if is_first else places[1])[packet]
        listener = (places[2] if is_last else places[1])[packet]
        assert (slot, sender) not in sent
        assert (slot, listener) not in heard
        sent.add((slot, sender))
        heard.add((slot, listener))
    return source, destination


def formula(counts: Matrix, d: int) -> int:
    lines: list[int] = [*counts.sum(axis=0).tolist(), *counts.sum(axis=1).tolist()]
    return max(int(counts.max()), *(-(-line // d) for line in lines))


@st.composite
def matrices(draw: st.DrawFn) -> tuple[Matrix, int]:
    """Draw a matrix and d, of very different densities, some with packets inside groups."""
    g = draw(st.integers(1, 13))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    mean, share = draw(st.sampled_from((0.5, 3, 12, 40))), draw(st.sampled_from((0.1, 0.4, 1)))
    counts = rng.poisson(mean, (g, g)) * (rng.random((g, g)) < share)
    if draw(st.booleans()):
        counts[rng.integers(g), rng.integers(g)] += draw(st.integers(0, 10 * g))
    if draw(st.booleans()):
        counts[np.arange(g), np.arange(g)] = 0
    return counts, draw(st.integers(1, 2 * g))


@given(matrices())
def test_one_hop_takes_the_slots_of_the_formula(case: tuple[Matrix, int]) -> None:
    counts, d = case
    plan = plan_one_hop(counts, d)
    assert plan.slots == one_hop_slots(counts, d) == formula(counts, d)
    assert (plan.relay == -1).all()
    assert_plan(counts, d, plan)
    source, destination = assert_processors(Network(d, len(counts)), plan)
    assert d == 1 or (source != destination).all()
    starts = np.bincount(source, minlength=d * len(counts)).reshape(-1, d)
    assert (np.ptp(starts, axis=1) <= 1).all()


@given(matrices())
def test_groups_send_and_receive_evenly_in_one_hop(case: tuple[Matrix, int]) -> None:
    counts, d = case
    plan = plan_one_hop(counts, d)
    for groups, sums in ((plan.source, counts.sum(axis=1)), (plan.destination, counts.sum(axis=0))):
        loads = np.zeros((len(counts), max(1, plan.slots)), dtype=np.int64)
        np.add.at(loads, (groups, plan.first), 1)
        assert (loads.max(axis=1) == -(-sums // max(1, plan.slots))).all()
        assert (loads.min(axis=1) == sums // max(1, plan.slots)).all()


@given(matrices(), st.integers(0, 3))
def test_mixed_plans_are_executable_and_shorter_than_one_hop(
    case: tuple[Matrix, int], seed: int
) -> None:
    counts, d = case
    bound, most = simple_bound(counts, d), formula(counts, d)
    plan = plan_mixed(counts, d, bound, most, seed=seed)
    assert plan is not None or bound == most or not can_relay(counts, bound)
    if plan is not None:
        assert bound <= plan.slots < most
        assert_plan(counts, d, plan)
        assert_processors(Network(d, len(counts)), plan)


def can_relay(counts: Matrix, bound: int) -> bool:
    """Return whether the sums of rows and columns leave much room between the bound and one hop."""
    return len(counts) > 2 and 3 * bound < counts.max()


@given(matrices())
def test_the_same_seed_gives_the_same_plan(case: tuple[Matrix, int]) -> None:
    counts, d = case
    bound, most = simple_bound(counts, d), formula(counts, d)
    plan, same = (plan_mixed(counts, d, bound, most, seed=5) for _ in range(2))
    assert (plan is None) == (same is None)
    if plan is not None and same is not None:
        assert plan.slots == same.slots
        assert all(np.array_equal(x, y) for x, y in zip(plan[:5], same[:5], strict=True))


@each("d", [1, 4, 9])
@each("g", [1, 2, 5])
def test_nothing_takes_no_slot(d: int, g: int) -> None:
    counts = np.zeros((g, g), dtype=np.int64)
    plan = plan_one_hop(counts, d)
    assert plan.slots == 0
    assert_plan(counts, d, plan)
    assert_processors(Network(d, g), plan)
    assert plan_mixed(counts, d, 0, 0, seed=0) is None


@each("d", [1, 2, 8, 16])
@each("entry", [(0, 1), (2, 2)])
def test_a_single_entry(entry: tuple[int, int], d: int) -> None:
    """A packet leaves in each slot to every group that can relay it, and one goes straight."""
    counts = np.zeros((8, 8), dtype=np.int64)
    counts[entry] = 100
    bound = simple_bound(counts, d)
    plan = plan_mixed(counts, d, bound, 100, seed=0)
    if d == 1:
        assert bound == 100
        assert plan is None
        return
    assert plan is not None
    assert plan.slots <= bound + 1
    assert_plan(counts, d, plan)
    source, destination = assert_processors(Network(d, 8), plan)
    assert (source != destination).all()


def test_what_stays_in_a_group_has_its_own_coupler() -> None:
    counts = np.diag([7, 3, 0])
    for d in (1, 2, 5):
        plan = plan_one_hop(counts, d)
        assert plan.slots == 7
        source, destination = assert_processors(Network(d, 3), plan)
        assert ((source == destination) == (d == 1)).all()


def test_groups_without_a_third_cannot_relay() -> None:
    counts = np.array([[0, 30], [0, 0]])
    assert plan_mixed(counts, 2, 15, 30, seed=0) is None


@each("d", [4, 16, 64])
@each("name", NAMES)
def test_families_on_16_groups_are_at_the_bound_or_one_above(name: str, d: int) -> None:
    assert_family(name, 16, d)


@pytest.mark.long
@pytest.mark.parametrize("part", [0.25, 1, 4])
@pytest.mark.parametrize("g", [64, 256])
@pytest.mark.parametrize("name", NAMES)
def test_families_on_more_groups_are_at_the_bound_or_one_above(
    name: str, g: int, part: float
) -> None:
    assert_family(name, g, int(part * g))


def assert_family(name: str, g: int, d: int) -> None:
    counts = families(g)[name]
    bound = simple_bound(counts, d)
    straight = plan_one_hop(counts, d)
    plan = plan_mixed(counts, d, bound, straight.slots, seed=0)
    best = straight if plan is None else plan
    assert best.slots <= bound + 1
    if counts.sum() < 1e5:
        assert_plan(counts, d, best)
        assert_processors(Network(d, g), best)


@pytest.mark.long
@pytest.mark.parametrize("d", [16, 64])
def test_ten_million_packets(d: int) -> None:
    counts = np.random.default_rng(0).poisson(2441, (64, 64))
    plan = plan_one_hop(counts, d)
    assert plan.slots == formula(counts, d)
    cells = plan.source * np.int64(64) + plan.destination
    for numbers, most in ((cells, 1), (plan.source, min(d, 64)), (plan.destination, min(d, 64))):
        loads = np.bincount(numbers * np.int64(plan.slots) + plan.first)
        assert loads.max() <= most


@pytest.mark.long
def test_many_groups_and_slots_take_bounded_memory() -> None:
    """A slot per phase would be 900 phases of 160,000 couplers."""
    counts = np.zeros((400, 400), dtype=np.int64)
    counts[0, 1] = 1800
    plan = plan_mixed(counts, 2, 901, 1800, seed=0)
    assert plan is not None
    assert_plan(counts, 2, plan)
