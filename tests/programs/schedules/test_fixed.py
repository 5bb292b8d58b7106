"""Schedules for given sources and destinations, checked hop by hop."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from popsnet import Network
from popsnet.programs.schedules import Demand, fixed, lower_bound, offline_slots
from popsnet.programs.schedules.fixed import best_fixed, straight_slots
from popsnet.programs.schedules.schedule import Paths
from tests.each import each, examples
from tests.programs.schedules.cubic import exact_slots


def assert_delivers(demand: Demand, paths: Paths, slots: int) -> None:
    """From the rules alone: every packet arrives, and nothing is used twice in a slot."""
    d, uses = demand.network.d, Counter[tuple[str, int, int]]()
    for p in range(demand.packets):
        source, end = int(demand.source[p]), int(demand.destination[p])
        relay, first, final = (int(column[p]) for column in paths[:3])
        if source == end:
            assert (relay, first, final) == (-1, -1, -1)
            continue
        hops = [(source, end, first)]
        if relay >= 0:
            assert first < final
            hops = [(source, relay, first), (relay, end, final)]
        else:
            assert first == final
        for sender, listener, slot in hops:
            assert 0 <= slot < slots
            assert 0 <= listener < demand.network.n
            uses["sender", sender, slot] += 1
            uses["listener", listener, slot] += 1
            uses["coupler", listener // d * demand.network.g + sender // d, slot] += 1
    assert not uses or max(uses.values()) == 1


def straight(slots: np.ndarray) -> Paths:
    return Paths(np.full_like(slots, -1), slots, slots, int(slots.max(initial=-1)) + 1)


def loads(demand: Demand) -> tuple[int, int]:
    """h and C of the packets that move."""
    d, counts = demand.network.d, Counter[tuple[str, int, int]]()
    for source, end in zip(demand.source.tolist(), demand.destination.tolist(), strict=True):
        if source != end:
            counts["source", source, 0] += 1
            counts["destination", end, 0] += 1
            counts["coupler", source // d, end // d] += 1
    h = max((n for key, n in counts.items() if key[0] != "coupler"), default=0)
    return h, max((n for key, n in counts.items() if key[0] == "coupler"), default=0)


@st.composite
def demands(draw: st.DrawFn, most: int = 40) -> Demand:
    network = Network(draw(st.integers(1, 5)), draw(st.integers(1, 5)))
    processor = st.integers(0, network.n - 1)
    packets = draw(st.lists(st.tuples(processor, processor), max_size=most))
    table = np.array(packets, dtype=np.int64).reshape(-1, 2)
    return Demand(network, table[:, 0], table[:, 1])


@given(demands(), st.integers(0, 2**64 - 1))
def test_one_hop_always_succeeds(demand: Demand, seed: int) -> None:
    slots = straight_slots(demand, seed=seed)
    h, most = loads(demand)
    used = int(slots.max(initial=-1)) + 1
    assert_delivers(demand, straight(slots), used)
    assert max(h, most) <= used <= max(2 * h + most - 2, 0)
    if demand.network.d == 1 or h == 1:
        assert used == max(h, most)


@examples(60)
@given(demands(most=14))
def test_one_hop_takes_the_fewest_slots_of_small_demands(demand: Demand) -> None:
    slots = int(straight_slots(demand).max(initial=-1)) + 1
    assert slots == exact_slots(demand)


@given(demands(), st.integers(0, 2**64 - 1))
def test_what_is_found_is_a_schedule(demand: Demand, seed: int) -> None:
    bound = lower_bound(demand)
    for slots in range(max(bound - 1, 0), bound + 3):
        places = best_fixed(demand, slots, slots + 1, seed=seed)
        if places is not None:
            assert slots >= bound
            assert_delivers(demand, places, slots)
            assert places.slots <= slots


@given(demands())
def test_the_best_is_between_the_bounds(demand: Demand) -> None:
    bound, most = lower_bound(demand), offline_slots(demand) + 3
    places = best_fixed(demand, bound, most)
    assert places is not None
    assert_delivers(demand, places, places.slots)
    assert bound <= places.slots < most
    if bound:
        assert best_fixed(demand, bound - 1, bound) is None
    assert best_fixed(demand, bound, bound) is None


def test_first_fit_continues_after_64_slots() -> None:
    """As a loop over all packets and slots, in the order of couplers."""
    rng = np.random.default_rng(0)
    demand = Demand(Network(2, 2), *rng.integers(0, 4, (2, 900)))
    moving = fixed._going_straight(demand)
    busy, expected = set[tuple[int, int, int]](), []
    uses = list(enumerate(np.stack(moving[1:4]).T.tolist()))
    for p, parts in sorted(uses, key=lambda item: item[1][2]):
        slot = 0
        while any((kind, part, slot) in busy for kind, part in enumerate(parts)):
            slot += 1
        busy |= {(kind, part, slot) for kind, part in enumerate(parts)}
        expected.append((p, slot))
    assert fixed._first_fit(moving).tolist() == [slot for _, slot in sorted(expected)]
    assert max(slot for _, slot in expected) > 128


def test_large_demands_are_left_to_first_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    demand = Demand(Network(3, 3), *rng.integers(0, 9, (2, 60)))
    for limit in ("MOST_PACKETS", "MOST_ELEMENTS", "_WORK"):
        with monkeypatch.context() as patched:
            patched.setattr(fixed, limit, 20)
            assert best_fixed(demand, lower_bound(demand), 100) is None
            slots = straight_slots(demand)
        assert_delivers(demand, straight(slots), int(slots.max()) + 1)


def test_the_same_seed_gives_the_same_schedule() -> None:
    rng = np.random.default_rng(0)
    demand = Demand(Network(4, 4), *rng.integers(0, 16, (2, 100)))
    slots = lower_bound(demand) + 1
    plan, same, other = (best_fixed(demand, slots, slots + 1, seed=seed) for seed in (1, 1, 2))
    assert plan is not None
    assert same is not None
    assert other is not None
    assert all(np.array_equal(a, b) for a, b in zip(plan[:3], same[:3], strict=True))
    assert not np.array_equal(plan.first, other.first)


def dealt(counts: np.ndarray, d: int) -> Demand:
    """The packets of a matrix in random order, dealt to the processors of a group in turn."""
    g, turns = len(counts), Counter[tuple[str, int]]()
    ends = []
    for pair in np.random.default_rng(1).permutation(np.repeat(np.arange(g * g), counts.ravel())):
        a, b = divmod(int(pair), g)
        ends.append((a * d + turns["from", a] % d, b * d + turns["to", b] % d))
        turns["from", a] += 1
        turns["to", b] += 1
    return Demand(Network(d, g), *np.array(ends).T)


def traffic(name: str, g: int) -> np.ndarray:
    rng, i = np.random.default_rng(20261115), np.arange(g)
    counts = np.zeros((g, g), dtype=np.int64)
    if name == "sparse":
        for a in range(g):
            others = (a + 1 + rng.choice(g - 1, 3, replace=False)) % g
            counts[a, others] = rng.poisson(20 * g / 6, 3)
    elif name == "permutation":
        counts[i, (i + 1) % g] = 5 * g
    elif name == "gravity":
        weights = rng.lognormal(0, 0.7, g)
        share = np.outer(weights, weights)
        np.fill_diagonal(share, 0)
        counts = rng.poisson(share / share.sum() * 20 * g * (g - 1))
    else:
        counts = rng.poisson({"poisson": 20, "entry": 5}[name], (g, g))
        np.fill_diagonal(counts, 0)
        counts[0, 1] += 10 * g if name == "entry" else 0
    return counts


def assert_within(name: str, d: int, g: int, gap: int) -> None:
    """One hop meets its bound; mixed schedules are this many slots above theirs at most."""
    demand = dealt(traffic(name, g), d)
    slots = straight_slots(demand)
    assert int(slots.max()) + 1 == max(loads(demand))
    assert_delivers(demand, straight(slots), max(loads(demand)))
    bound, two = lower_bound(demand), offline_slots(demand)
    places = best_fixed(demand, bound, two)
    if places is None:
        assert two <= bound + gap
        return
    assert_delivers(demand, places, places.slots)
    assert places.slots <= bound + gap


@each(
    ("name", "d", "gap"),
    [
        ("poisson", 4, 0), ("poisson", 16, 2), ("poisson", 64, 0),
        ("sparse", 4, 0), ("sparse", 16, 1), ("permutation", 16, 0),
        ("gravity", 16, 0), ("entry", 16, 1),
    ],
)  # fmt: skip
def test_traffic_between_16_groups(name: str, d: int, gap: int) -> None:
    assert_within(name, d, 16, gap)


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "d", "gap"),
    [
        ("poisson", 16, 0), ("poisson", 64, 2), ("poisson", 256, 0),
        ("sparse", 16, 1), ("sparse", 64, 1), ("permutation", 64, 0),
        ("gravity", 64, 0), ("entry", 64, 1),
    ],
)  # fmt: skip
def test_traffic_between_64_groups(name: str, d: int, gap: int) -> None:
    assert_within(name, d, 64, gap)
