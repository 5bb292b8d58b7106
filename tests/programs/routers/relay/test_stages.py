"""Each stage alone on the machine: its slots, its promises, and what it leaves behind."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from popsnet import Inbox, Machine, Network, Rule, RuleViolation, Slot
from popsnet.model.slot import Ints, Kind, Slots
from popsnet.programs.routers.relay import RelayStage
from popsnet.programs.routers.relay.bijection import Bijection
from popsnet.programs.routers.relay.census import census, rank_slots
from popsnet.programs.routers.relay.grid import Grid
from popsnet.programs.routers.relay.park import Park
from popsnet.programs.routers.relay.single_attempt import Fold, Shower
from popsnet.programs.routers.relay.team import TeamStage
from popsnet.programs.routers.to_all import broadcast, global_or, global_or_slots
from popsnet.theory.stages import (
    after_grid,
    after_park,
    after_shower,
    after_sweep,
    after_team,
    first_at_a_set,
    left_at_a_set,
)
from popsnet.workloads.permutations import NAMES
from tests.conftest import permutation
from tests.each import each, sampled
from tests.programs.routers.relay.staged import Alone, Driven, destinations, drive, stage

LARGE_GROUPS = [(1, 1), (2, 2), (3, 3), (8, 8), (16, 16), (5, 3), (8, 4), (12, 4), (17, 4), (6, 1)]
SMALL_GROUPS = [(1, 2), (1, 7), (2, 3), (3, 8), (4, 16), (5, 16), (7, 8), (4, 13)]
STAGES = ["P1", "P2", "P5", "P(2,1)", "P(3,3,2)", "P(1,4,1,1)", "S", "F", "R1", "R2", "R3"]
STAGES += ["T1", "T3", "T8", "Q", "X2", "X3"]


def grids(d: int, g: int) -> list[str]:
    """All that are as short as can be, and one with more deliveries than it needs."""
    classes = -(-g // d)
    exact = [f"XY({x},{-(-classes // x)})" for x in range(1, classes + 1)]
    return [*exact, f"XY({classes},{classes + 1})"]


CASES = [
    *((d, g, text) for d, g in LARGE_GROUPS for text in STAGES),
    *((d, g, text) for d, g in SMALL_GROUPS for text in grids(d, g)),
]
KINDS = [*(name for name in NAMES if name != "bit-reversal"), "residue-aligned", "two-targets"]


def assert_nothing_is_lost(alone: Alone) -> None:
    """Every source waits and holds its packet, or has dropped it and the destination has it."""
    network, memory, state = alone.network, alone.machine.memory, alone.state
    everybody = np.arange(network.n, dtype=np.int32)
    waiting = np.zeros(network.n, dtype=np.bool_)
    waiting[state.pending] = True
    home = memory.holds(alone.destination, everybody) & ~state.undelivered[alone.destination]
    assert memory.holds(everybody, everybody)[waiting].all()
    assert home[~waiting].all()
    assert (home == ~state.undelivered[alone.destination]).all()
    assert memory.delivered == network.n - state.undelivered.sum()
    assert memory.lost().size == 0
    others = np.flatnonzero(~waiting & (alone.destination != everybody))
    assert not memory.holds(others, others).any()  # acknowledged means dropped
    held = np.bincount(memory.content()[0], minlength=len(waiting))
    assert (
        held == waiting + (~state.undelivered).astype(int)
    ).all()  # and no copy is left at relays


@each(("d", "g", "text"), sampled(CASES, len(CASES) // 3))
def test_a_stage_takes_its_slots_and_acknowledges_only_what_is_home(
    d: int, g: int, text: str
) -> None:
    network, tested = Network(d, g), stage(text)
    assert tested.obstacle(network) is None
    for seed in range(4):
        kind = KINDS[(7 * seed + d) % len(KINDS)] if seed else "numpy"
        destination = destinations(network, kind, seed)
        alone = Alone(network, destination, seed, tested.buffers(network))
        for _ in range(3):  # from all, from many and from few
            before = alone.state.pending
            if not before.size:  # a run has ended
                break
            driven = alone.run(tested)
            if alone.state.pending.size or not tested.looks_ahead:  # or else the last ack ended it
                assert len(driven.done) == tested.slots(network)
            assert np.isin(alone.state.pending, before).all()
            assert_nothing_is_lost(alone)
        assert alone.machine.memory.peak <= tested.buffers(network)


@each(("d", "g"), [(1, 1), (2, 2), (4, 4), (6, 2), (12, 3), (16, 4), (5, 1)])
def test_a_round_of_the_census_takes_its_slots_and_leaves_all_or_nothing(d: int, g: int) -> None:
    network = Network(d, g)
    expected = 2 * (d // g) + rank_slots(network) + 2 * (g - 1).bit_length() + 2
    for seed, kind in enumerate(KINDS):
        alone = Alone(network, destinations(network, kind, seed), seed, 3 + d // g)
        for _ in range(2):
            driven = drive(alone.machine, census(alone.state))
            assert len(driven.done) == expected
            assert_nothing_is_lost(alone)
        assert alone.machine.counters.collisions <= 2 * 2 * g * g  # none but in the global OR
        conflicts = [slot.phase for slot, _ in driven.done if not slot.conflict_free]
        assert all("who still waits" in phase for phase in conflicts)


def test_census_leaves_what_has_no_room_to_its_source(monkeypatch: pytest.MonkeyPatch) -> None:
    """With too few slots for ranks there are objections, and rounds until all are home."""
    monkeypatch.setattr("popsnet.programs.routers.relay.census.rank_slots", lambda network: 3)
    network = Network(16, 4)
    alone = Alone(network, permutation(64, 0), 0, 7)
    rounds = 0
    while alone.state.pending.size:
        drive(alone.machine, census(alone.state))
        assert_nothing_is_lost(alone)
        rounds += 1
        assert rounds < 30
    assert rounds > 1


class Paired:
    """No bijection: two values share each place."""

    def __init__(self, seed: int, number: int, groups: int, size: int) -> None:
        self._whole = Bijection(seed, number, groups, size)

    def __call__(self, groups: Ints, values: Ints) -> Ints:
        return self._whole(groups, values // 2 * 2)


@pytest.mark.parametrize(
    ("d", "g", "text"),
    [
        (16, 16, "P1"),
        (16, 16, "P4"),
        (16, 16, "P(3,3)"),
        (16, 4, "P(8,8)"),
        (16, 16, "S"),
        (16, 4, "S"),
        (16, 16, "R1"),
        (16, 16, "R2"),
        (8, 16, "XY(1,2)"),
        (8, 32, "XY(2,2)"),
        (8, 32, "XY(4,1)"),
    ],
)
def test_the_machine_sees_what_happens_without_a_bijection(
    d: int, g: int, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Destinations that share a place get their packets on one coupler in one slot."""
    monkeypatch.setattr("popsnet.programs.routers.relay.state.Bijection", Paired)
    network = Network(d, g)
    for seed in range(5):
        alone = Alone(network, permutation(network.n, seed), seed)
        with pytest.raises(RuleViolation) as violation:
            alone.run(stage(text))
        assert violation.value.rule is Rule.CONFLICT_FREE


def test_fold_promises_nothing_that_needs_a_bijection(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its confirmations answer what was heard, one on a coupler, whatever the places are."""
    network = Network(16, 4)
    monkeypatch.setattr("popsnet.programs.routers.relay.state.Bijection", Paired)
    for seed in range(20):
        alone = Alone(network, permutation(network.n, seed), seed, 3)
        for _ in range(5):
            assert len(alone.run(stage("F")).done) == 4
            assert_nothing_is_lost(alone)


@pytest.mark.parametrize("phase", ["attempt", "delivery"])
def test_folds_first_two_slots_do_conflict(phase: str) -> None:
    network = Network(64, 16)
    alone = Alone(network, permutation(network.n, 0))
    alone.run(stage("P(6,6)"))

    def promising() -> Slots:
        running = Fold().run(alone.state)
        slot = next(running)
        while True:
            promise = slot.conflict_free or phase in slot.phase
            slot = running.send((yield replace(slot, conflict_free=promise)))

    with pytest.raises(RuleViolation) as violation:
        drive(alone.machine, promising())
    assert violation.value.rule is Rule.CONFLICT_FREE


def test_only_the_slots_that_are_said_to_contend_do() -> None:
    contend = {
        (64, 64): ["P(2,2)", "P1", "S", "F", "R2", "T2", "Q", "X2"],
        (64, 16): ["P(6,4)", "P4", "S", "F", "R2", "T2", "Q", "X2"],
        (16, 64): ["XY(2,2)"],
    }
    for (d, g), texts in contend.items():
        network = Network(d, g)
        for text in texts:
            promised = [
                slot.phase.split(": ")[1].split(",")[0]
                for slot, _ in Alone(network, permutation(network.n, 1)).run(stage(text)).done
                if not slot.conflict_free
            ]
            allowed = {"attempt"} | ({"who still waits"} if text[0] == "R" else set())
            if (text[0] in "FQX" and text[:2] != "XY") or (text[0] == "R" and d > g):
                allowed.add("delivery")
            if text[0] == "T":
                allowed |= {"marks", "election", "fronts tell"}
            assert set(promised) == allowed, (network, text)


def by_fluid_limit(network: Network, tested: RelayStage, rho: float) -> float:
    at, k = np.array([rho]), -(-network.d // network.g)
    match tested:
        case Park((window,)):
            return float(after_park(network, at, window)[0])
        case Park(windows):
            left = first_at_a_set(k)
            for window in windows:
                left = left_at_a_set(left, window)
            return float(left @ np.arange(len(left))) / k
        case Shower(copies):
            return float(after_shower(network, at, copies)[0])
        case Grid(x, _):
            return float(after_grid(network, at, x)[0])
        case TeamStage(candidates):
            return float(after_team(network, at, candidates)[0])
    return float((after_sweep(at) if str(tested) == "S" else after_shower(network, at, 1))[0])


FRACTIONS = [
    (256, "S S S"),
    (256, "P1 P1 P1"),
    (256, "P2 P1 P1 R2"),
    (256, "P3 P1 R3"),
    (256, "P2 F R1"),
    (256, "S S S T2"),
    (256, "T1 T1 T2"),
    (512, "S S S T2"),
    (512, "P4 P2 F"),
    (512, "S S S R2"),
    (640, "P4 F F"),
    (1024, "P(5,5) P4 F R3"),
    (64, "XY(2,2) XY(2,2) XY(3,2)"),
    (64, "XY(4,1) XY(1,4)"),
    (64, "XY(1,4)"),
    (100, "XY(2,2) XY(2,2)"),
]


@each(("d", "texts"), sampled(FRACTIONS, 6))
def test_a_stage_leaves_the_fraction_of_the_fluid_limit(d: int, texts: str) -> None:
    """After each stage, within the error of sampling and 2/d of the limit.

    Packets fail in pairs, so that the number that do has about twice the variance of a Poisson
    number; four standard errors of the mean of all runs are allowed. The limit is that of large
    networks: meeting one of d - 1 others and not of d changes a chance by a share of about 1/d.
    """
    network, runs = Network(d, 256), 2 if d >= 256 else 10
    stages = [stage(text) for text in texts.split()]
    buffers = max(tested.buffers(network) for tested in stages)
    alone = [Alone(network, permutation(network.n, seed), seed, buffers) for seed in range(runs)]
    for text, this in zip(texts.split(), stages, strict=True):
        before = [run.undelivered for run in alone]
        for run in alone:
            run.run(this)
        expected = np.mean([by_fluid_limit(network, this, rho) for rho in before])
        found = np.mean([run.undelivered for run in alone])
        sampling = 4 * np.sqrt(2 * expected / (network.n * runs))
        assert abs(found - expected) < sampling + 2 * expected / d, text


def on_machine(network: Network, running: Generator[Slot, Inbox, Any]) -> tuple[Driven, Machine]:
    machine = Machine(network, np.arange(network.n, dtype=np.int32), 1)
    return drive(machine, running), machine


OR_SHAPES = [(1, 1), (2, 1), (3, 1), (2, 2), (3, 2), (4, 2), (3, 3), (1, 2), (1, 5), (2, 3), (2, 4)]


@each(("d", "g"), OR_SHAPES)
def test_global_or_is_right_for_every_set_of_objectors(d: int, g: int) -> None:
    network = Network(d, g)
    for size in range(network.n + 1):
        for chosen in combinations(range(network.n), size):
            objectors = np.array(chosen, dtype=np.int32)
            asking = global_or(network, objectors, phase="", step=0)
            driven, machine = on_machine(network, asking)
            assert driven.result is bool(chosen)
            assert len(driven.done) == global_or_slots(network) == -(-g // d) + 1
            assert machine.counters.control_bits == 1
            # everybody by itself: all is well if it was told so in the last slot
            _, last = driven.done[-1]
            assert last.contents is not None
            told = np.zeros(network.n, dtype=np.bool_)
            told[last.receivers] = last.contents == 0
            assert (told == (not chosen)).all()


@each(("d", "g"), [(1, 1), (5, 3), (3, 5), (64, 64), (1, 40)])
@each("word", [0, 1, 2**63, 2**64 - 1])
def test_everybody_hears_a_broadcast_in_one_slot(d: int, g: int, word: int) -> None:
    network = Network(d, g)
    driven, machine = on_machine(network, broadcast(network, word, phase="seed"))
    assert driven.result.all()
    ((slot, inbox),) = driven.done
    assert inbox.receivers.tolist() == list(range(network.n))
    assert inbox.contents is not None
    assert inbox.contents.tolist() == [word] * network.n
    assert slot.kind is Kind.CONTROL
    assert (machine.counters.messages, machine.counters.control_bits) == (1, 64)


def test_a_packet_at_home_is_delivered_before_anything_is_sent() -> None:
    network = Network(4, 4)
    alone = Alone(network, np.arange(16, dtype=np.int32), buffers=1)
    assert (alone.pending, alone.undelivered, alone.machine.memory.delivered) == (0, 0, 16)
