"""Lower bounds: never above the shortest schedule, which an exhaustive search finds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize

from popsnet import Network
from popsnet.programs.schedules import Demand, offline_slots
from popsnet.programs.schedules.files import demand_of_matrix
from popsnet.programs.schedules.linear_program import linear_bound, whole_slots
from popsnet.programs.schedules.slots_needed import lower_bound, matrix_bound
from tests.each import each, examples, rarely

Counts = npt.NDArray[np.int64]

Packet = tuple[int, int, int]
"""Where a packet is, where it must not be in the end (or -1), and its destination.

The destination is a processor, or -1 - b for any processor of group b.
"""
State = tuple[Packet, ...]


def slots_from(state: State, d: int, n: int) -> Iterator[State]:
    """What can be after one slot: written from the rules of the network, for one copy each."""

    def moves(k: int, senders: int, couplers: frozenset[int], listeners: int) -> Iterator[State]:
        if k == len(state):
            yield ()
            return
        place, source, end = state[k]
        for rest in moves(k + 1, senders, couplers, listeners):
            yield ((place, source, end), *rest)
        if senders >> place & 1:
            return
        for listener in range(n):
            coupler = listener // d * n + place // d
            if coupler in couplers or listeners >> listener & 1 or listener == place:
                continue
            used = couplers | {coupler}
            for rest in moves(k + 1, senders | 1 << place, used, listeners | 1 << listener):
                yield ((listener, source, end), *rest)

    yield from moves(0, 0, frozenset(), 0)


def is_done(packet: Packet, d: int) -> bool:
    place, source, end = packet
    return place == end if end >= 0 else place // d == -1 - end and place != source


def shortest(starts: Iterable[State], d: int, n: int) -> int:
    """The fewest slots, by breadth-first search over all states."""
    reached = {tuple(sorted(state)) for state in starts}
    seen, slots = set(reached), 0
    while not any(all(is_done(packet, d) for packet in state) for state in reached):
        after = {
            tuple(sorted(after_slot)) for state in reached for after_slot in slots_from(state, d, n)
        }
        reached = after - seen
        seen |= reached
        slots += 1
    return slots


def shortest_of_demand(demand: Demand) -> int:
    ends = zip(demand.source.tolist(), demand.destination.tolist(), strict=True)
    state = tuple((source, -1, end) for source, end in ends)
    return shortest([state], demand.network.d, demand.network.n)


def shortest_of_matrix(counts: Counts, d: int) -> int:
    """The best of all choices of sources and destinations; they differ if d > 1."""
    g = len(counts)
    pairs = [pair for pair in product(range(g), repeat=2) for _ in range(counts[pair])]
    if d == 1:
        pairs = [(a, b) for a, b in pairs if a != b]
    choices = product(*(range(a * d, a * d + d) for a, _ in pairs))
    starts = [
        tuple((p, p if a == b else -1, -1 - b) for p, (a, b) in zip(choice, pairs, strict=True))
        for choice in choices
    ]
    return shortest(starts, d, d * g)


def bounds_of(counts: Counts, d: int) -> tuple[int, int]:
    linear = linear_bound(counts, d)
    assert linear is not None
    return matrix_bound(counts, d), whole_slots(linear)


@each(("d", "g", "packets"), [(1, 2, 6), (2, 2, 5), (3, 2, 4), (1, 3, 5), (2, 3, 4), (5, 1, 4)])
def test_no_schedule_of_fixed_processors_is_shorter(d: int, g: int, packets: int) -> None:
    network, rng = Network(d, g), np.random.default_rng(d * 10 + g)
    gaps = []
    for _ in range(25):
        demand = Demand(network, *rng.integers(0, network.n, (2, rng.integers(packets + 1))))
        counts = np.zeros((g, g), dtype=np.int64)
        moving = demand.source != demand.destination
        np.add.at(counts, (demand.source[moving] // d, demand.destination[moving] // d), 1)
        least = shortest_of_demand(demand)
        bound = lower_bound(demand)
        assert max(bound, *bounds_of(counts, d)) <= least <= offline_slots(demand)
        gaps.append(least - bound)
    assert gaps.count(0) >= 20


@pytest.mark.parametrize(
    "case", [(1, 2, 6), (2, 2, 5), (4, 1, 3), *rarely([(3, 2, 4), (1, 3, 5), (2, 3, 4)])], ids=str
)
def test_no_schedule_of_free_processors_is_shorter(case: tuple[int, int, int]) -> None:
    d, g, packets = case
    rng = np.random.default_rng(d * 10 + g)
    gaps = []
    for k in range(25):
        spread = rng.dirichlet(np.full(g * g, 0.2 if k % 2 else 1.0))  # few pairs, or many
        counts = rng.multinomial(rng.integers(packets + 1), spread).reshape(g, g)
        least = shortest_of_matrix(counts, d)
        bounds = bounds_of(counts, d)
        assert max(bounds) <= least
        gaps.append(least - max(bounds))
    assert gaps.count(0) >= 20


@st.composite
def matrices(draw: st.DrawFn) -> tuple[Counts, int]:
    g = draw(st.integers(1, 5))
    entries = st.one_of(st.just(0), st.integers(0, 12), st.integers(0, 60))
    counts = draw(st.lists(entries, min_size=g * g, max_size=g * g))
    return np.array(counts, dtype=np.int64).reshape(g, g), draw(st.integers(1, 7))


def simple_bound(counts: Counts, d: int) -> int:
    """The bound before the lines on last slots, on a group's own packets and on sets of groups."""
    g = len(counts)
    m = min(d, g)
    if d == 1:
        counts = counts - np.diag(np.diag(counts))
    slots = -(-int(max(counts.sum(axis=0).max(), counts.sum(axis=1).max())) // m)
    while (counts + np.maximum(counts - slots, 0)).sum() > slots * g * m:
        slots += 1
    return slots


@examples(150)
@given(matrices())
def test_a_bound_is_at_least_the_simple_one_and_at_most_the_two_hops(
    case: tuple[Counts, int],
) -> None:
    counts, d = case
    demand = demand_of_matrix(Network(d, len(counts)), counts)
    closed, linear = bounds_of(counts, d)
    simple = simple_bound(counts, d)
    assert simple <= closed <= lower_bound(demand) <= offline_slots(demand)
    assert simple <= linear <= offline_slots(demand)


@given(matrices(), st.data())
def test_more_packets_or_fewer_processors_never_need_fewer_slots(
    case: tuple[Counts, int], data: st.DataObject
) -> None:
    counts, d = case
    a, b = (data.draw(st.integers(0, len(counts) - 1)) for _ in range(2))
    more = counts.copy()
    more[a, b] += data.draw(st.integers(1, 9))
    for bound in (0, 1):
        assert bounds_of(counts, d)[bound] <= bounds_of(more, d)[bound]
    if d > 1:  # for d = 1 the packets of a group for itself do not count
        assert matrix_bound(counts, d + 1) <= matrix_bound(counts, d)


@given(matrices(), st.integers(0, 99))
def test_bounds_do_not_depend_on_numbers_and_directions(
    case: tuple[Counts, int], seed: int
) -> None:
    counts, d = case
    order = np.random.default_rng(seed).permutation(len(counts))
    for other in (counts.T, counts[order][:, order]):
        assert bounds_of(other, d)[1] == bounds_of(counts, d)[1]
        # Equal groups come in the order of their numbers, so other sets of groups may be tried.
        assert abs(matrix_bound(other, d) - matrix_bound(counts, d)) <= 1


def pairs_of_groups(g: int, *entries: tuple[slice | int, slice | int, int]) -> Counts:
    counts = np.zeros((g, g), dtype=np.int64)
    for a, b, packets in entries:
        counts[a, b] = packets
    return counts


def test_half_of_the_groups_send_to_the_other_half() -> None:
    """20,660 packets cross 32 · 32 couplers: 20.18 slots; single groups need 13."""
    halves = slice(None, 32), slice(32, None), 20
    counts = pairs_of_groups(64, halves, (0, 32, 200))
    assert simple_bound(counts, 64) == 13
    assert matrix_bound(counts, 64) == 21
    assert linear_bound(counts, 64) == pytest.approx(20.17578125)
    assert matrix_bound(counts, 16) == 52


def test_in_the_last_slot_a_single_entry_has_one_coupler() -> None:
    """16 senders, 1280 packets: 80 slots, if 16 of them could go straight in the last one."""
    counts = pairs_of_groups(64, (0, 1, 1280))
    assert linear_bound(counts, 16) == pytest.approx(80)
    assert matrix_bound(counts, 16) == matrix_bound(counts.T, 16) == 81
    assert matrix_bound(counts, 64) == 22


def test_the_program_can_be_above_the_closed_form() -> None:
    """Nothing goes from group 0, but what is relayed in group 0 has to leave it."""
    counts = np.array([[0, 0, 0], [14, 2, 0], [0, 11, 0]])
    assert bounds_of(counts, 4) == (8, 9)


@pytest.mark.parametrize("d", [1, 2])
def test_nothing_to_send_needs_no_slot(d: int) -> None:
    assert bounds_of(np.zeros((3, 3), dtype=np.int64), d) == (0, 0)
    own = np.diag([4, 0, 7])
    assert bounds_of(own, d) == ((0, 0) if d == 1 else (4, 4))


def test_the_value_is_proved_whatever_the_solver_returns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dual values that are wrong prove less, or nothing, and never more."""
    counts, d, rng = np.random.default_rng(0).poisson(9, (6, 6)), 6, np.random.default_rng(1)
    solve = optimize.linprog
    honest = linear_bound(counts, d)
    assert honest is not None

    def change(error: float) -> None:
        def linprog(*args: object, **options: object) -> optimize.OptimizeResult:
            found = solve(*args, **options)
            for part in (found.ineqlin, found.eqlin):
                part.marginals += error * rng.normal(size=len(part.marginals))
            return found

        monkeypatch.setattr(optimize, "linprog", linprog)

    for error in (1e-9, 1e-6, 1e-3, 1.0):
        change(error)
        value = linear_bound(counts, d)
        assert value is not None
        assert value <= honest + 1e-9
    for error in (np.inf, np.nan, 1e9):
        change(error)
        assert linear_bound(counts, d) is None


def test_a_solver_that_fails_gives_no_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    failed = optimize.OptimizeResult(status=4, x=None)
    monkeypatch.setattr(optimize, "linprog", lambda *_, **__: failed)
    assert linear_bound(np.ones((3, 3), dtype=np.int64), 2) is None
