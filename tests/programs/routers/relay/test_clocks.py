"""Both clocks: the last delivery, and when every source knows."""

from __future__ import annotations

import pytest

from popsnet import Network
from popsnet.model.slot import Ints
from popsnet.programs.routers.relay.park import Park
from tests.conftest import permutation
from tests.each import each
from tests.programs.routers.relay.staged import destinations, route, stage

SHAPES = [(8, 8), (16, 16), (24, 8), (13, 5), (5, 13), (4, 16)]


def schedules(d: int, g: int) -> list[str | None]:
    if d < g:
        classes = -(-g // d)
        return [None, f"XY({classes},1)", "XY(2,2)", f"XY(1,{classes})"]
    return [None, "P2 P1", "S", "P(6,4,2) P3", "P4 | F P2", "P4 P2 R2 R1"]


def counted(network: Network, text: str | None, destination: Ints, seed: int) -> tuple[int, int]:
    outcome = route(network, destination, text, seed)
    assert (outcome.delivered, outcome.lost, outcome.capped) == (network.n, 0, False)
    return outcome.slots_delivered, outcome.slots


@each(("d", "g"), SHAPES)
def test_no_source_knows_before_its_packet_is_home(d: int, g: int) -> None:
    network = Network(d, g)
    for text in schedules(d, g):
        for seed in range(10):
            delivered, known = counted(network, text, permutation(network.n, seed), seed)
            assert 0 < delivered <= known


@each("g", [4, 8, 16])
@each("text", ["P1", "P2 P1", "P3", "S"])
def test_where_classes_are_one_acks_are_one_slot_after_the_last_delivery(g: int, text: str) -> None:
    """A stage of one window ends with its delivery and then its acks."""
    network = Network(g, g)
    first, *_, last = [stage(part) for part in (text.split() * 2)]
    for seed in range(20):
        delivered, known = counted(network, text, permutation(network.n, seed), seed)
        assert delivered == known - 1
        assert (known - 1 - first.slots(network)) % last.slots(network) == 0


@pytest.mark.parametrize(("d", "g"), [(24, 8), (13, 5), (32, 4)])
def test_in_larger_groups_the_last_class_may_be_empty(d: int, g: int) -> None:
    """k slots of deliveries and one of acks: the last delivery is in one of those k."""
    network, k = Network(d, g), -(-d // g)
    gaps = set()
    for seed in range(40):
        delivered, known = counted(network, f"P{k}", permutation(network.n, seed), seed)
        gaps.add(known - delivered)
    assert gaps <= set(range(1, k + 1))
    assert len(gaps) > 1


def test_with_several_windows_deliveries_come_last() -> None:
    """Acks are given before; the last of the slots may be that of the last delivery."""
    network, windows = Network(24, 8), Park((6, 4, 2))
    found = [counted(network, str(windows), permutation(192, seed), seed) for seed in range(40)]
    assert {(known - 1) % windows.slots(network) for _, known in found} == {0}
    gaps = {known - delivered for delivered, known in found}
    assert 0 in gaps
    assert gaps <= {0, 1, 2}


@pytest.mark.parametrize("copies", [1, 2, 3])
def test_a_shower_is_known_to_be_over_after_its_global_or(copies: int) -> None:
    """Two slots after the deliveries, of which the last may have brought nothing."""
    network, text = Network(16, 16), f"P2 P1 P1 R{copies}"
    first = 1 + 4 + 3 + 3
    showers = 0
    for seed in range(40):
        delivered, known = counted(network, text, permutation(network.n, seed), seed)
        if known > first:
            assert (known - first) % (copies + 3) == 0
            assert known - delivered >= 2
            showers += 1
    assert showers > 20


@pytest.mark.parametrize("g", [1, 2, 5, 8])
def test_roll_call_ends_with_a_delivery(g: int) -> None:
    network = Network(g, g)
    for seed in range(20):
        delivered, known = counted(network, "roll-call", permutation(network.n, seed), seed)
        assert delivered == known <= 2 * g


def test_census_is_known_to_be_over_after_its_global_or() -> None:
    for d, g in [(16, 4), (32, 4), (8, 8)]:
        for seed in range(5):
            delivered, known = counted(Network(d, g), "census", permutation(d * g, seed), seed)
            assert known - delivered >= 2


@each("variant", ["P1", "S", "P4 F", "P2 R1", "census", "P(2,2)"])
def test_the_identity_takes_the_slot_of_the_seed_alone(variant: str) -> None:
    """Packets at home are taken for delivered then, before any stage."""
    network = Network(8, 8)
    assert counted(network, variant, destinations(network, "identity", 0), 0) == (1, 1)
