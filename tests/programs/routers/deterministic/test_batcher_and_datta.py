"""The deterministic routers take the slots they say, always, without a collision."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from popsnet import Coins, InputError, Network, Outcome
from popsnet.engines import Instance, slots
from popsnet.model.slot import Ints
from popsnet.programs.router import get_router
from popsnet.programs.routers.deterministic import batcher_slots, datta_slots
from popsnet.programs.routers.deterministic.pairs import pair_up
from popsnet.theory import deterministic_slots
from tests.conftest import permutation
from tests.each import each

SHAPES = [
    (1, 1), (1, 8), (1, 13), (4, 8), (3, 7), (8, 8), (5, 5), (16, 4), (12, 4), (13, 4), (20, 6),
    (7, 1), (64, 2),
]  # fmt: skip


def route(name: str, network: Network, destination: Ints) -> Outcome:
    router = get_router(name)
    variant = router.choose_variant(None, network)
    return slots.execute(Instance(network, router, variant, destination, Coins(0), 10))


@each(("d", "g"), SHAPES)
def test_datta_takes_its_formula(d: int, g: int) -> None:
    network = Network(d, g)
    outcome = route("datta", network, permutation(network.n, 1))
    assert (outcome.delivered, outcome.collisions) == (network.n, 0)
    assert outcome.slots == datta_slots(network)
    assert outcome.peak_buffers is not None
    assert outcome.peak_buffers <= 2


@each(("k", "lg"), [(1, 0), (3, 0), (1, 1), (5, 1), (1, 3), (4, 2), (16, 2)])
def test_the_formula_for_whole_strips_is_below_the_published(k: int, lg: int) -> None:
    network = Network(k << lg, 1 << lg)
    expected = k * (4 * lg**2 + 2 * lg + 9) - -(-k >> lg)
    assert datta_slots(network) == expected < deterministic_slots(network)


def test_datta_at_the_papers_largest_networks() -> None:
    shapes = [(2**12, 2**12), (2**13, 2**11), (2**14, 2**10)]
    assert [datta_slots(Network(*shape)) for shape in shapes] == [608, 2059, 6863]


@each(("d", "g"), [shape for shape in SHAPES if shape[0] <= shape[1]])
def test_batcher_takes_its_formula(d: int, g: int) -> None:
    network = Network(d, g)
    outcome = route("batcher", network, permutation(network.n, 2))
    assert (outcome.delivered, outcome.collisions) == (network.n, 0)
    assert outcome.slots == batcher_slots(network)


def test_batcher_needs_two_slots_a_stage() -> None:
    with pytest.raises(InputError, match=r"d <= g.*datta"):
        batcher_slots(Network(5, 4))
    with pytest.raises(InputError, match=r"d <= g.*datta"):
        get_router("batcher").choose_variant(None, Network(5, 4))


@given(d=st.integers(1, 9), g=st.integers(1, 9), data=st.data())
def test_every_permutation_is_routed(d: int, g: int, data: st.DataObject) -> None:
    network = Network(d, g)
    destination = np.array(data.draw(st.permutations(range(network.n))), dtype=np.int32)
    for name in ("datta", *(["batcher"] if d <= g else [])):
        outcome = route(name, network, destination)
        assert (outcome.delivered, outcome.collisions, outcome.lost) == (network.n, 0, 0)


@given(d=st.integers(1, 9), g=st.integers(1, 9), data=st.data())
def test_any_pairs_can_exchange(d: int, g: int, data: st.DataObject) -> None:
    network = Network(d, g)
    mixed = np.array(data.draw(st.permutations(range(network.n))), dtype=np.int32)
    m = data.draw(st.integers(0, network.n // 2))
    pairs = pair_up(network, mixed[:m], mixed[m : 2 * m])
    schedule = pairs.schedule
    assert schedule.slots <= (1 if d == 1 else 2 * -(-d // g))
    path: dict[int, list[int]] = {}
    for number in range(schedule.slots):
        senders, listeners, packets = schedule.transmissions(number)
        for packet, *ends in zip(
            packets.tolist(), senders.tolist(), listeners.tolist(), strict=True
        ):
            path.setdefault(packet, []).extend(ends)
        couplers = listeners // d * g + senders // d
        assert len(set(couplers.tolist())) == len(senders) == len(set(senders.tolist()))
        assert len(set(listeners.tolist())) == len(listeners)
    assert {(hops[0], hops[-1]) for hops in path.values()} == {
        pair for i in range(m) for pair in ((mixed[i], mixed[m + i]), (mixed[m + i], mixed[i]))
    }
