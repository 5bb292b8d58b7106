"""Everybody in relay acts on what it knows: every kind of stage, and the variants."""

from __future__ import annotations

import pytest

from popsnet import Network
from popsnet.model.slot import Inbox
from popsnet.programs.router import get_router
from popsnet.programs.routers.relay.state import RelayState
from popsnet.testing import LocalityError, check_locality
from tests.each import each, sampled

RELAY = get_router("relay")
SCHEDULES = {
    (3, 3): ["P2 P1", "S", "P(2,2) P1", "P1 | R2 R1", "P1 F", "S T2", "P1 | Q P2", "| X2 P2"],
    (4, 4): ["P1", "P3 R2 R1", "roll-call", "census", "T1 T3", "P2 | Q Q P2"],
    (5, 3): ["P(3,2) P2", "S", "P2 F", "P2 | F P1 R2", "P2 T3 P2", "P2 | Q P3", "| X2 P3"],
    (6, 2): ["P(4,2,1) P3", "P3 F", "S R1", "census", "S T2 P4", "P3 | Q Q P4"],
    (8, 4): ["P4 P2 F R2 R1", "P(4,4) | F P2", "census", "P3 T2", "P3 | Q X2 P3"],
    (3, 1): ["P3", "S", "census"],
    (1, 4): ["XY(2,2)", "XY(4,1)", "XY(1,4)"],
    (2, 5): ["XY(3,1)", "XY(2,2)", "XY(1,3) XY(2,2)"],
    (3, 5): ["XY(2,1)", "XY(1,2)"],
}
CASES = [(*shape, variant) for shape, variants in SCHEDULES.items() for variant in variants]


@each(("d", "g", "variant"), sampled(CASES, len(CASES) // 3))
def test_relay_is_local(d: int, g: int, variant: str) -> None:
    network = Network(d, g)
    name = RELAY.choose_variant(variant, network)
    check_locality(RELAY, network, variants=[name], seed=1, pairs=12)


def test_the_check_sees_sources_that_know_without_an_ack(monkeypatch: pytest.MonkeyPatch) -> None:
    """A source that is served forgets its packet, though its ack has not come yet."""

    def knowing(self: RelayState, home: Inbox) -> None:
        mine = home.destinations == home.receivers
        receivers, packets = home.receivers[mine], home.packets[mine]
        new = self.undelivered[receivers]
        self.memory.deliver(receivers[new], packets[new])
        self.undelivered[receivers] = False
        self.acknowledge(packets)

    monkeypatch.setattr(RelayState, "take", knowing)
    with pytest.raises(LocalityError, match="though it has heard nothing"):
        check_locality(RELAY, Network(4, 4), variants=["S"])


def test_public_seeds_are_told_and_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who takes the seed from its own coins, and not from the air, is found out."""
    original = RelayState.__post_init__

    def private(self: RelayState) -> None:
        original(self)
        self.seed = self.coins.seed

    monkeypatch.setattr(RelayState, "__post_init__", private)
    with pytest.raises(LocalityError):
        check_locality(RELAY, Network(4, 4), variants=["P1"])
