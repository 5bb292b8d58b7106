"""No packet is lost: many runs of all kinds, message by message, every buffer looked at.

``make soak`` does it with a thousand million packets, and for every router.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from popsnet import Coins, Memory, Network, check_trace
from popsnet.engines import Instance, slots
from popsnet.model.slot import Ints
from popsnet.programs.router import get_router
from popsnet.trace import TraceWriter
from tests.each import each, rarely
from tests.programs.routers.relay.staged import FAMILIES, Dose, any_dose, destinations

SHAPES = [(8, 8), (7, 7), (16, 4), (13, 5), (5, 13), (4, 16), (1, 12), (12, 1), (1, 1), (2, 64)]


@each("kind", ["residue-aligned", "two-targets"])
@each(("d", "g"), [*SHAPES, (9, 6), (64, 16), (3, 200)])
def test_the_families_are_what_they_say(kind: str, d: int, g: int) -> None:
    network = Network(d, g)
    for seed in range(3):
        destination = destinations(network, kind, seed)
        assert np.sort(destination).tolist() == list(range(network.n))
        of_groups = destination.reshape(g, d)
        if kind == "residue-aligned":
            assert all(len(np.unique(row % g)) == 1 for row in of_groups)
        else:
            assert all(len(np.unique(row // d)) <= 2 for row in of_groups)


@pytest.mark.parametrize("numbers", [range(40), *rarely([range(40, 250)])], ids=len)
def test_every_packet_comes_home_once_on_networks_of_all_shapes(numbers: range) -> None:
    for number in numbers:
        dose = any_dose(number, most=1000)
        assert dose.complaint() is None, dose


@each("kind", FAMILIES)
@each(
    ("d", "g"), [(128, 128), (128, 32), (32, 128)]
)  # fmt: skip
def test_every_packet_comes_home_once_by_default(d: int, g: int, kind: str) -> None:
    dose = Dose(d, g, kind, None, seed=len(kind))
    assert dose.complaint() is None


@each("variant", ["census", "P(5,5) P4 F R3 R1", "P4 S", "P8 | F P4 R2"])
@each("kind", ["numpy", "residue-aligned", "two-targets"])
def test_every_packet_comes_home_once_in_large_groups(variant: str, kind: str) -> None:
    assert Dose(256, 64, kind, variant, seed=1).complaint() is None


@pytest.mark.parametrize("number", range(30))
def test_a_replay_finds_every_packet_at_home(number: int, tmp_path: Path) -> None:
    dose = any_dose(number, most=300)
    network, destination, router = dose.network, dose.destination(), get_router("relay")
    variant = router.choose_variant(dose.variant, network)
    with (tmp_path / "trace").open("w") as file:
        trace = TraceWriter(file)
        buffers = router.buffers_on(network, variant)
        trace.begin(network, "relay", variant, dose.seed, destination, buffers)
        instance = Instance(network, router, variant, destination, Coins(dose.seed), 10_000)
        outcome = slots.execute(instance, [trace])
        trace.end(outcome.slots, outcome.delivered, outcome.lost_packets)
    report = check_trace(tmp_path / "trace")
    assert report.ok, report.violations
    assert (report.slots, report.delivered, outcome.capped) == (outcome.slots, network.n, False)


def test_a_lost_packet_a_second_copy_and_a_livelock_are_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The check of this file can fail."""
    dose = Dose(8, 8, "numpy", "P2 P1", 1)
    assert dose.complaint() is None
    assert "goes on after 5 slots" in str(dose.complaint(most_slots=5))
    original_drop = Memory.drop

    def forgetful(self: Memory, processors: Ints, packets: Ints) -> None:
        original_drop(self, processors[packets != 20], packets[packets != 20])

    with monkeypatch.context() as patch:
        patch.setattr(Memory, "drop", forgetful)
        assert "holds [" in str(dose.complaint())

    original_deliver = Memory.deliver

    def losing(self: Memory, processors: Ints, packets: Ints) -> None:
        kept = packets != 20
        original_deliver(self, processors[kept], packets[kept])

    with monkeypatch.context() as patch:
        patch.setattr(Memory, "deliver", losing)
        assert "holds []" in str(dose.complaint())
