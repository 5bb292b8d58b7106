"""The rules of propagation hold: runs that hear late are those that the rules compute."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

import popsnet
from popsnet import Network, Timing
from popsnet.hardware import EVERY_SLOT_WAITS, INTERLEAVED, ONE_HOP
from popsnet.programs.schedules import Demand, make_schedule, schedule_permutation
from popsnet.programs.schedules.schedule import Schedule, pipelined_rounds
from popsnet.runs.times import run_times
from popsnet.traffic import find_scheduler
from tests.each import each, rarely

from .late import (
    deliveries,
    interleaved,
    late_aloha,
    late_hop3,
    late_rotor,
    late_vlb,
    random_arrivals,
    up,
)

SHAPES = [(3, 5), (4, 4), (5, 2), (1, 6)]


@each("shape", SHAPES)
@each("tau", [0, 1, 2, 5])
def test_vlb_with_late_second_hops_makes_the_same_decisions(
    shape: tuple[int, int], tau: int
) -> None:
    network, slots = Network(*shape), 150
    arrivals = random_arrivals(network, 0.1, slots, seed=1)
    model = deliveries(network, "vlb", arrivals, slots)
    real = deliveries(network, late_vlb(tau), arrivals, slots + up(tau, 2))
    rule = find_scheduler("vlb").propagation(network, tau)
    for key, (slot, hops) in model.items():
        assert real[key] == (slot + (hops - 1) * up(tau, 2), hops)
        assert rule.slots(network, slot, tau=tau, hops=hops) == real[key][0] + tau


@each("shape", SHAPES)
@each("tau", [0, 1, 3, 4])
def test_hop3_with_late_hops_makes_the_same_decisions(shape: tuple[int, int], tau: int) -> None:
    network, slots = Network(*shape), 150
    arrivals = random_arrivals(network, 0.06, slots, seed=2)
    model = deliveries(network, "hop3", arrivals, slots)
    real = deliveries(network, late_hop3(tau), arrivals, slots + 2 * up(tau, 3))
    rule = find_scheduler("hop3").propagation(network, tau)
    latest = 0.0
    for key, (slot, hops) in model.items():
        assert real[key] == (slot + slot % 3 * up(tau, 3), hops)
        latest = max(latest, rule.slots(network, slot, tau=tau) - real[key][0] - tau)
        assert rule.slots(network, slot, tau=tau) >= real[key][0] + tau
    assert latest <= 2 * up(tau, 3)


@pytest.mark.parametrize("shape", [(3, 5), (4, 4), (6, 3), (5, 2)])
def test_aloha_decides_the_same_up_to_the_largest_propagation(shape: tuple[int, int]) -> None:
    network, slots = Network(*shape), 300
    arrivals = random_arrivals(network, 0.12, slots, seed=3)
    model = deliveries(network, "aloha", arrivals, slots)
    scheduler, taus = find_scheduler("aloha"), range(2 * network.g)
    in_time = [tau for tau in taus if scheduler.propagation(network, tau) is not INTERLEAVED]
    assert in_time == [tau for tau in taus if tau + up(tau, 2) <= 2 * network.g - 2]
    for tau in in_time:
        assert deliveries(network, late_aloha(tau), arrivals, slots) == model
        assert scheduler.propagation(network, tau).slots(network, 10, tau=tau) == 10 + tau
    try:  # a packet that is sent again before its acknowledgement arrives is delivered twice
        too_late = deliveries(network, late_aloha(max(in_time) + 1), arrivals, slots)
    except popsnet.RuleViolation:
        return
    assert too_late != model


@pytest.mark.parametrize("name", ["relay", "epochs", "rotor"])
def test_interleaved_copies_are_runs_of_longer_slots(name: str) -> None:
    network, slots, tau = Network(3, 3), 120, 2
    copies = [random_arrivals(network, 0.04, slots, seed) for seed in range(1 + tau)]
    models = [deliveries(network, name, arrivals, slots) for arrivals in copies]
    both = sorted(
        (slot * (1 + tau) + j, source, to)
        for j, arrivals in enumerate(copies)
        for slot, source, to in arrivals
    )
    real = deliveries(network, interleaved(name, 1 + tau), both, slots * (1 + tau))
    assert len(real) == sum(map(len, models)) > 50
    for j, model in enumerate(models):
        for (arrival, source), (slot, hops) in model.items():
            at = slot * (1 + tau) + j
            assert real[arrival * (1 + tau) + j, source] == (at, hops)
            delay = at + tau + 1 - (arrival * (1 + tau) + j)
            assert INTERLEAVED.slots(network, slot + 1 - arrival, tau=tau) == delay


PAGE = Path(__file__).parents[2] / "docs/explanation/propagation.md"
ROTORS = re.findall(
    r"\| \(4, 4\), (\S+), (\d+) \| (\S+) \| (\S+) \| (\S+) \|", PAGE.read_text("utf-8")
)


@pytest.mark.parametrize("row", [*ROTORS[:1], *rarely(ROTORS[1:])])
def test_rotor_waits_about_one_propagation_per_hop(row: tuple[str, ...]) -> None:
    """The seeds are fixed; the estimate is within 5 % of what propagation adds.

    The numbers are those of the explanation.
    """
    load, tau = float(row[0]), int(row[1])
    network, slots = Network(4, 4), 3000
    arrivals = random_arrivals(network, load, slots, seed=5)
    model = deliveries(network, "rotor", arrivals, slots)
    real = deliveries(network, late_rotor(tau), arrivals, slots)
    keys = [key for key in model if key in real and 200 <= key[0] < slots - 400]
    mean = float(np.mean([model[key][0] + 1 - key[0] for key in keys]))
    hops = float(np.mean([model[key][1] for key in keys]))
    found = float(np.mean([real[key][0] + 1 - key[0] for key in keys])) + tau
    rule = find_scheduler("rotor").propagation(network, tau)
    expected = rule.slots(network, mean, tau=tau, hops=hops)
    assert abs(found - expected) < 0.05 * (expected - mean)
    assert rule.accuracy == "estimate"
    assert row[2:] == (f"{mean:.2f}", f"{expected:.2f}", f"{found:.2f}")


def test_the_explanation_has_a_table_of_rotors() -> None:
    assert len(ROTORS) == 3


def test_rules_of_routers_are_those_of_what_they_send() -> None:
    rules = {
        ("direct", "standard"): ONE_HOP,
        ("direct", "standard+or"): EVERY_SLOT_WAITS,
        ("relay", "direct"): ONE_HOP,
        ("relay", "S"): EVERY_SLOT_WAITS,
        ("mei-rizzi", "published"): EVERY_SLOT_WAITS,
        ("batcher", "standard"): EVERY_SLOT_WAITS,
    }
    for (router, variant), rule in rules.items():
        assert popsnet.find_router(router).variant(variant).propagation is rule
    demand = Demand(Network(2, 2), np.array([0, 0]), np.array([2, 3]))
    assert popsnet.find_router("direct").serve(None, demand).propagation is EVERY_SLOT_WAITS


def first_hops(schedule: Schedule) -> dict[int, int]:
    return {
        int(packet): slot
        for slot, messages in enumerate(schedule.messages)
        for packet in messages.packets[messages.to_relay]
    }


def is_causal(schedule: Schedule, times: list[int], tau: int) -> bool:
    first = first_hops(schedule)
    return len(set(times)) == len(times) and all(
        times[slot] >= times[first[int(packet)]] + 1 + tau
        for slot, messages in enumerate(schedule.messages)
        for packet in messages.packets[messages.from_relay]
    )


@each("tau", range(6))
@each("shape", [(2, 2), (4, 2), (6, 2)])
def test_rounds_take_the_fewest_slots_of_all_orders(shape: tuple[int, int], tau: int) -> None:
    network = Network(*shape)
    destination = np.arange(network.n) // network.d * network.d  # all to their own groups
    destination = destination + (np.arange(network.n) + 1) % network.d
    schedule = make_schedule(Demand.of_permutation(network, destination), hops=2)
    assert schedule.in_rounds
    best = None
    for order in permutations(range(schedule.slots)):
        times, at, first = [0] * schedule.slots, -1, first_hops(schedule)
        for slot in order:
            needs = [
                times[first[int(packet)]] + 1 + tau
                for packet in schedule.messages[slot].packets[schedule.messages[slot].from_relay]
            ]
            times[slot] = at = max([at + 1, *needs])
        if is_causal(schedule, times, tau):
            best = at + 1 + tau if best is None else min(best, at + 1 + tau)
    assert schedule.slots_with_propagation(tau) == best
    rounds = schedule.slots // 2
    slots = 2 * rounds
    assert best == max(slots + tau, slots / 2 + 1 + 2 * tau) == pipelined_rounds(rounds, tau)


@pytest.mark.parametrize("tau", [0, 1, 4])
def test_a_mixed_schedule_keeps_its_order_and_waits_only_for_relayed_packets(tau: int) -> None:
    network = Network(4, 4)
    source = np.repeat(np.arange(4), 4)
    schedule = make_schedule(Demand(network, source, 4 + source), hops="mixed")
    assert schedule.relayed
    assert not schedule.in_rounds
    times: list[int] = []
    first = first_hops(schedule)
    for messages in schedule.messages:
        needs = [
            times[first[int(packet)]] + 1 + tau for packet in messages.packets[messages.from_relay]
        ]
        times.append(max([times[-1] + 1 if times else 0, *needs]))
    assert is_causal(schedule, times, tau)
    assert schedule.slots_with_propagation(tau) == times[-1] + 1 + tau
    assert schedule.slots_with_propagation(0) == schedule.slots
    assert schedule.slots_with_propagation(tau) <= schedule.slots * (1 + tau)


def test_schedules_without_relays_take_one_propagation() -> None:
    schedule = schedule_permutation(Network(1, 4), np.array([1, 2, 3, 0]))
    assert schedule.slots_with_propagation(7) == 8
    empty = make_schedule(Demand(Network(2, 2), np.empty(0, int), np.empty(0, int)))
    assert empty.slots_with_propagation(7) == 0


def test_times_of_runs_follow_the_rule_of_the_router() -> None:
    timing = Timing("10ns", fibre="5m")  # 25 ns: three slots
    assert timing.propagation_slots == 3
    cases: dict[str, Callable[[int], int]] = {
        "direct": lambda s: s + 3,
        "mei-rizzi": lambda s: 4 * s,
        "offline": lambda s: 2 + 6,
    }
    for router, slots in cases.items():
        runs = popsnet.route(4, 4, router=router, runs=5, permutation="shift:d")
        assert run_times(runs, timing).tolist() == [10.0 * slots(s) for s in runs.slots.tolist()]
    before = popsnet.route(4, 4, runs=3, seed=2)
    before.report(timing)
    assert before.slots.tolist() == popsnet.route(4, 4, runs=3, seed=2).slots.tolist()
