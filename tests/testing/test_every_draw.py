"""Stages executed with every public draw: they hold, and stages that are wrong are found out."""

from __future__ import annotations

from collections.abc import Generator
from itertools import chain, islice
from math import factorial

import numpy as np
import pytest

from popsnet import Network
from popsnet.model.slot import Inbox, Ints, Slot
from popsnet.programs.routers.relay import marked, parse_schedule, team
from popsnet.programs.routers.relay.state import RelayState
from tests.testing.every_draw import cases, check_every_draw, examine, number_of_cases

NETWORK = Network(2, 2)


@pytest.mark.long
def test_certainty_on_every_candidate_set_of_pops_2_2() -> None:
    found = check_every_draw(NETWORK, variant="T2")
    assert found.ok, found.failure
    assert [row.cases for row in found.rows] == [36, 378, 1188, 729]
    # all 9 derangements of four packets with 3 sets each; one packet alone is always delivered
    assert found.rows[3].cases == 9 * 3**4
    assert (found.rows[0].delivered, found.rows[0].left) == (36, 0)
    assert all(row.delivered + row.left == row.packets * row.cases for row in found.rows)


@pytest.mark.parametrize(("variant", "packets"), [("Q", 2), ("X2", 1), ("Q Q", 1)])
def test_safety_of_marked_stages_on_every_bijection(variant: str, packets: int) -> None:
    found = check_every_draw(NETWORK, variant=variant, packets=packets)
    assert found.ok, found.failure
    draws = factorial(2) ** (2 * (2 if variant in ("X2", "Q Q") else 1))
    assert found.rows[0].cases == 4 * 3 * 2 * draws  # 2 for a packet that may have arrived


@pytest.mark.long
@pytest.mark.parametrize(
    ("d", "g", "variant", "packets"),
    [
        (2, 2, "Q", 4), (2, 2, "X2", 4), (2, 2, "Q Q", 4), (2, 2, "X2 Q", 2), (2, 2, "Q X2", 2),
        (2, 2, "Q Q Q", 3), (3, 3, "T3", 2), (3, 2, "T2", 3), (4, 2, "T2", 2), (3, 3, "Q", 1),
    ],
)  # fmt: skip
def test_more_cases(d: int, g: int, variant: str, packets: int) -> None:
    found = check_every_draw(Network(d, g), variant=variant, packets=packets)
    assert found.ok, found.failure


@pytest.mark.long
def test_a_part_of_all_cases_with_three_packets_on_pops_3_3() -> None:
    """One case in 101 of 10,257,072; 101 does not divide the numbers of sets or destinations."""
    network, schedule = Network(3, 3), parse_schedule("T3").all_stages
    count = 0
    for case in islice(cases(network, schedule, 3), 0, None, 101):
        problem, _ = examine(network, schedule, case)
        assert problem is None, (case, problem)
        count += 1
    assert count == -(-number_of_cases(network, schedule, 3) // 101)


@pytest.mark.parametrize("variant", ["T1", "T2", "Q", "X2", "Q Q"])
def test_the_number_of_cases_is_known_before(variant: str) -> None:
    stages = [parse_schedule(word).all_stages[0] for word in variant.split()]
    for packets in (1, 2):
        assert sum(1 for _ in cases(NETWORK, stages, packets)) == number_of_cases(
            NETWORK, stages, packets
        )


def all_relays_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    def elect(self: team._TeamSlots, relays: Inbox, fronts: Inbox) -> Generator[Slot, Inbox, Inbox]:
        yield Slot.send_control(relays.receivers[:0], relays.receivers[:0], self._duals,
                                phase="team: election", step=0)  # fmt: skip
        return relays

    monkeypatch.setattr(team._TeamSlots, "_elect", elect)


def own_front_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    """A source that is the front of its own packet takes the packet for pending."""
    acknowledge = RelayState.acknowledge

    def without(self: RelayState, sources: Ints) -> None:
        acknowledge(self, sources[sources % 2 == 1])

    monkeypatch.setattr(RelayState, "acknowledge", without)


def marks_unheard(monkeypatch: pytest.MonkeyPatch) -> None:
    """Relays take every packet that they hear for free."""
    choose = team._TeamSlots._choose
    monkeypatch.setattr(
        team._TeamSlots, "_choose", lambda self, held, rows: choose(self, held, rows | True)
    )


def mark_of_the_sender_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    """A relay accepts from a sender that has marked it."""
    original = marked._MarkedSlots._with_echo

    def heard(self: marked._MarkedSlots, slot: Slot) -> Generator[Slot, Inbox, Inbox]:
        inbox = yield from original(self, slot)
        assert inbox.contents is not None
        inbox.contents[:] = 0
        return inbox

    monkeypatch.setattr(marked._MarkedSlots, "_with_echo", heard)


def no_marks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Destinations do not mark."""
    original = marked._MarkedSlots._attempt

    def attempt(self: marked._MarkedSlots) -> Generator[Slot, Inbox, object]:
        waiting = self._state.undelivered
        self._state.undelivered = np.zeros_like(waiting)
        found = yield from original(self)
        self._state.undelivered = waiting
        return found

    monkeypatch.setattr(marked._MarkedSlots, "_attempt", attempt)


def every_source_acknowledged(monkeypatch: pytest.MonkeyPatch) -> None:
    acknowledge = RelayState.acknowledge
    monkeypatch.setattr(
        RelayState, "acknowledge", lambda self, sources: acknowledge(self, self.pending)
    )


@pytest.mark.parametrize(
    ("wrong", "variant"),
    [
        (all_relays_chosen, "T2"), (own_front_unknown, "T2"), (marks_unheard, "T2"),
        (every_source_acknowledged, "T1"), (mark_of_the_sender_ignored, "Q"), (no_marks, "Q"),
        (every_source_acknowledged, "Q"),
    ],
)  # fmt: skip
def test_a_stage_that_is_wrong_is_found_out(
    wrong: object, variant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert callable(wrong)
    wrong(monkeypatch)
    stages = parse_schedule(variant).all_stages
    some = chain.from_iterable(islice(cases(NETWORK, stages, m), 0, None, 7) for m in (2, 3))
    assert any(examine(NETWORK, stages, case)[0] is not None for case in some)
