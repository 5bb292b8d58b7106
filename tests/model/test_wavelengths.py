"""Several wavelengths per coupler: the machine, experiments, traces, routers and locality.

One wavelength is the network as it was before; these digests were computed before wavelengths
existed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import popsnet
from popsnet import Experiment, InputError, Machine, Network, Rule, RuleViolation, Slot
from popsnet.testing import check_locality
from tests.conftest import slot_of
from tests.each import each

Make = dict[str, Any]


def machine(d: int, g: int, wavelengths: int) -> Machine:
    network = Network(d, g, wavelengths)
    return Machine(network, network.processors, buffers=2)


def test_messages_meet_only_on_one_coupler_and_wavelength() -> None:
    running = machine(4, 2, 2)
    inbox = running.execute(
        slot_of(
            senders=[0, 1, 2, 4], groups=[1, 1, 1, 1], packets=[0, 1, 2, 4],
            send_wavelengths=[0, 1, 1, 1],
            listeners=[4, 5, 6, 7], listened=[0, 0, 1, 1], listen_wavelengths=[0, 1, 1, 0],
        )
    )  # fmt: skip
    assert inbox.receivers.tolist() == [4, 6]
    assert inbox.packets.tolist() == [0, 4]
    assert inbox.wavelengths is not None
    assert inbox.wavelengths.tolist() == [0, 1]
    assert inbox.at(np.array([1])).wavelengths.tolist() == [1]  # type: ignore[union-attr]
    counters = running.counters
    assert (counters.messages, counters.collisions, counters.destroyed) == (4, 1, 2)


def test_a_multicast_uses_its_wavelength_on_all_couplers() -> None:
    inbox = machine(2, 3, 2).execute(
        slot_of(
            senders=[0, 1], groups=[0, 1, 2, 2], fanout=[3, 1], packets=[0, 1],
            send_wavelengths=[1, 0], listeners=[2, 4, 5], listened=[0, 0, 0],
            listen_wavelengths=[1, 1, 0],
        )
    )  # fmt: skip
    assert inbox.packets.tolist() == [0, 0, 1]


def test_wavelength_0_is_the_default() -> None:
    fields: Make = {"senders": [0, 1], "groups": [1, 1], "packets": [0, 1]}
    hears: Make = {"listeners": [2], "listened": [0]}
    assert not len(machine(2, 2, 2).execute(slot_of(**fields, **hears)).receivers)
    inbox = machine(2, 2, 2).execute(slot_of(**fields, **hears, send_wavelengths=[0, 1]))
    assert inbox.packets.tolist() == [0]
    inbox = machine(2, 2, 2).execute(slot_of(**fields, **hears, send_wavelengths=[1, 1]))
    assert not len(inbox.receivers)


def test_random_slots_equal_those_of_a_network_with_more_groups() -> None:
    """Wavelength w of coupler c(b, a) stands for the channel (b, a, w), counted by hand here."""
    rng = np.random.default_rng(5)
    for _ in range(200):
        d, g, w = (int(size) for size in rng.integers(1, 5, size=3))
        running, n = machine(d, g, w), d * g
        senders = rng.permutation(n)[: int(rng.integers(0, n + 1))]
        groups, tuned = (rng.integers(0, top, size=len(senders)) for top in (g, w))
        listened, heard = (rng.integers(0, top, size=n) for top in (g, w))
        inbox = running.execute(
            Slot.send_packets(
                senders, groups, listened, send_wavelengths=tuned, listen_wavelengths=heard
            )
        )
        channels: dict[tuple[int, int, int], list[int]] = {}
        for sender, group, wavelength in zip(senders, groups, tuned, strict=True):
            channels.setdefault((int(group), int(sender) // d, int(wavelength)), []).append(
                int(sender)
            )
        expected = {}
        for listener in range(n):
            on = channels.get((listener // d, int(listened[listener]), int(heard[listener])), [])
            if len(on) == 1:
                expected[listener] = on[0]
        found = dict(zip(inbox.receivers.tolist(), inbox.packets.tolist(), strict=True))
        assert found == expected
        met = [len(senders) for senders in channels.values() if len(senders) > 1]
        assert (running.counters.collisions, running.counters.destroyed) == (len(met), sum(met))


def test_a_promise_without_conflicts_is_of_wavelengths() -> None:
    fields: Make = {
        "senders": [0, 1, 2], "groups": [1, 1, 1], "packets": [0, 1, 2], "conflict_free": True,
    }  # fmt: skip
    machine(3, 2, 3).execute(slot_of(**fields, send_wavelengths=[0, 1, 2]))
    with pytest.raises(RuleViolation, match="processor 1: its message to group 1 met") as broken:
        machine(3, 2, 3).execute(slot_of(**fields, send_wavelengths=[0, 2, 2]))
    assert broken.value.rule is Rule.CONFLICT_FREE


def test_losses_of_wavelengths_are_independent() -> None:
    """With loss 1/2, 400 slots and 2 wavelengths; equal losses in all slots: probability 2^-400."""
    network = Network(2, 2, 2)
    active = popsnet.Experiment(4, 2, router="offline", faults="loss:0.5", wavelengths=2).faults_of(
        0
    )
    assert active is not None
    two, none = np.array([4, 5]), np.array([0, 0])
    heard = np.array([active.hear(slot, two, none, np.array([0, 1])) for slot in range(400)])
    assert (heard[:, 0] != heard[:, 1]).any()
    dead = popsnet.model.faults.ActiveFaults(
        network, popsnet.Faults(couplers=["0-1"]), popsnet.Coins(0)
    )
    assert not dead.hear(1, np.array([2, 3]), none, np.array([0, 1])).any()


def test_networks_with_wavelengths() -> None:
    assert repr(Network(2, 3)) == "Network(d=2, g=3)"
    assert repr(Network(2, 3, 4)) == "Network(d=2, g=3, wavelengths=4)"
    assert Network(2, 3) == Network(2, 3, wavelengths=1)
    assert Network(2, 3) != Network(2, 3, 2)
    assert Network(2, 3).to_dict() == {"d": 2, "g": 3, "n": 6}
    assert Network(2, 3, 2).to_dict()["wavelengths"] == 2
    for wrong in (0, -1, 1.5, True, "two", 2**16 + 1):
        with pytest.raises(InputError, match="wavelengths"):
            Network(2, 3, wrong)  # type: ignore[arg-type]


DIGESTS = {
    (4, 4, ""): "c7360b786620ae81db363cea5016a3cc",
    (4, 4, "coupler:0-1"): "25b7e7b210c0c580342346aff70c8e3c",
}


@pytest.mark.parametrize("case", DIGESTS)
def test_digests_with_one_wavelength_are_those_of_before(case: tuple[int, int, str]) -> None:
    d, g, faults = case
    assert Experiment(d, g, faults=faults, wavelengths=1).digest == DIGESTS[case]


def test_an_experiment_keeps_its_wavelengths() -> None:
    experiment = Experiment(8, 2, router="offline", wavelengths=2)
    assert experiment.network == Network(8, 2, 2)
    assert experiment.digest != Experiment(8, 2, router="offline").digest
    assert Experiment.from_json(experiment.to_json()) == experiment
    assert Experiment.recorded(experiment.identity.values()) == experiment
    assert experiment.replaced(seed=3).wavelengths == 2
    assert "wavelengths=2" in repr(experiment)
    faulty = experiment.replaced(faults="coupler:0-1")
    assert Experiment.from_json(faulty.to_json()) == faulty
    assert experiment.storable


@pytest.mark.parametrize("router", ["mei-rizzi", "direct", "batcher", "datta", "aks"])
def test_routers_that_use_one_wavelength_are_refused(router: str) -> None:
    with pytest.raises(InputError, match=r"uses one wavelength; on .* use several: offline, relay"):
        Experiment(8, 2, router=router, wavelengths=2)


@pytest.mark.parametrize("engine", ["objects", "fused"])
def test_engines_that_have_one_wavelength_say_so(engine: str) -> None:
    with pytest.raises(InputError, match="its couplers have one wavelength, and these have"):
        popsnet.route(8, 2, router="relay", wavelengths=2, engine=engine)


def test_wavelengths_are_given_once() -> None:
    with pytest.raises(InputError, match="has a number of wavelengths already"):
        popsnet.route(Network(8, 2, 2), router="offline", wavelengths=2)
    with pytest.raises(InputError, match="this is for one wavelength per coupler"):
        popsnet.compute(Network(4, 4, 2), "sum")


def test_a_router_of_ones_own_uses_wavelengths() -> None:
    """All processors of a group send to the next group at once, each on its own wavelength."""

    def next_group(network: Network, destination: Any, coins: Any, memory: Any) -> Any:
        every, w = network.processors, network.index(network.processors)
        to, by = (network.group(every) + 1) % network.g, (network.group(every) - 1) % network.g
        inbox = yield Slot.send_packets(
            every, to, by, send_wavelengths=w, listen_wavelengths=w, conflict_free=True
        )
        memory.drop(every, every)
        memory.deliver(inbox.receivers, inbox.packets)

    facts: Make = {"summary": "one slot", "slots": "1", "buffers": 2}
    popsnet.register("next-group", wavelengths=True, **facts)(next_group)
    try:
        runs = popsnet.route(Network(4, 3, 4), router="next-group", permutation="shift:4")
        assert (runs.slots.tolist(), runs.delivered.tolist()) == ([1], [12])
        with pytest.raises(RuleViolation, match="wavelengths are numbered 0 to W - 1"):
            popsnet.route(Network(4, 3, 3), router="next-group", permutation="shift:4")
    finally:
        popsnet.programs.router.unregister("next-group")


# Traces


def written(path: Path, **options: Any) -> Path:
    popsnet.route(8, 2, router="relay", wavelengths=2, trace=path, **options)
    return path


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def rewritten(path: Path, lines: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_a_trace_has_the_wavelengths(tmp_path: Path) -> None:
    header, *slots, _ = lines_of(written(tmp_path / "run.jsonl"))
    assert header["wavelengths"] == 2
    for line in slots:
        assert len(line["send_wavelengths"]) == len(line["sends"])
        assert len(line["listen_wavelengths"]) == len(line["listens"])
    assert {w for line in slots for w in line["send_wavelengths"]} == {0, 1}


def test_a_trace_of_one_wavelength_has_none(tmp_path: Path) -> None:
    popsnet.route(8, 2, router="relay", trace=tmp_path / "run.jsonl")
    assert "wavelength" not in (tmp_path / "run.jsonl").read_text()


@pytest.mark.parametrize("faults", ["", "coupler:0-1 loss:0.05"])
def test_the_checker_finds_the_counts_of_the_machine(tmp_path: Path, faults: str) -> None:
    for seed in range(3):
        path = tmp_path / f"{seed}.jsonl"
        runs = popsnet.route(
            8, 2, router="relay", variant="F | P4 F", wavelengths=2, trace=path, seed=seed,
            faults=faults, max_steps=40,
        )  # fmt: skip
        checked = popsnet.check_trace(path)
        assert checked.ok, checked.violations
        counted = checked.slots, checked.messages, checked.collisions, checked.destroyed
        outcome = runs[0].outcome
        assert counted == (outcome.slots, outcome.messages, outcome.collisions, outcome.destroyed)


def test_the_checker_refuses_wrong_wavelengths(tmp_path: Path) -> None:
    path = written(tmp_path / "run.jsonl")
    lines = lines_of(path)
    at = next(i for i, line in enumerate(lines) if len(line.get("sends", [])) > 1)
    changed = [dict(line) for line in lines]
    changed[at]["send_wavelengths"] = [2, *lines[at]["send_wavelengths"][1:]]
    checked = popsnet.check_trace(rewritten(path, changed))
    assert any("wavelengths are numbered 0 to W - 1, and it sends on 2" in str(violation)
               for violation in checked.violations)  # fmt: skip
    changed[at] = {**lines[at], "listen_wavelengths": [-1] * len(lines[at]["listens"])}
    assert not popsnet.check_trace(rewritten(path, changed)).ok
    changed[at] = {**lines[at], "send_wavelengths": [0]}
    with pytest.raises(popsnet.TraceFormatError, match='"send_wavelengths" has 1 entries'):
        popsnet.check_trace(rewritten(path, changed))


def test_the_checker_lets_messages_on_one_wavelength_collide(tmp_path: Path) -> None:
    """With all messages on wavelength 0 the same trace has collisions, and loses packets."""
    path = tmp_path / "run.jsonl"
    popsnet.schedule(Network(8, 2, 2), "reversal", hops=2, trace=path)
    lines = lines_of(path)
    assert popsnet.check_trace(path).ok
    for line in lines[1:-1]:
        line["send_wavelengths"] = [0] * len(line["sends"])
    checked = popsnet.check_trace(rewritten(path, lines))
    assert checked.collisions > 0
    assert not checked.ok


# Routers


@each("schedule", ["S", "P2 | P4 P1", "F F | P4 F", "P(3,2) F | P4", "P1 | S F"])
@each("shape", [(8, 2, 2), (8, 2, 4), (9, 3, 2), (13, 4, 3), (12, 2, 4)])
def test_relay_delivers_every_packet(schedule: str, shape: tuple[int, int, int]) -> None:
    """Short stages alone may never end where several packets of a group share a channel."""
    for permutation in ("random", "reversal"):
        runs = popsnet.route(
            Network(*shape), router="relay", variant=schedule, permutation=permutation, runs=4
        )
        assert runs.delivered.tolist() == [shape[0] * shape[1]] * 4
        assert not runs.lost.any()


def test_relay_with_one_class_takes_the_slots_of_d_equal_to_g() -> None:
    """W = d/g: a sweep has three slots, as for d = g, and 2d/g + 1 without wavelengths."""
    from popsnet.programs.routers.relay import parse_schedule

    sweep = parse_schedule("S").all_stages[0]
    assert sweep.slots(Network(64, 16, 4)) == sweep.slots(Network(16, 16)) == 3
    assert sweep.slots(Network(64, 16)) == 9
    assert sweep.slots(Network(64, 16, 100)) == 3


def test_the_plan_with_wavelengths_is_shorter() -> None:
    from popsnet.programs.routers.relay import plan

    slots = [plan(Network(64, 16, w)).slots for w in (1, 2, 4)]
    assert slots == sorted(slots, reverse=True)
    measured = popsnet.route(64, 16, router="relay", wavelengths=4, runs=20).slots.mean()
    assert abs(measured - slots[-1]) < 3  # of 20 runs, a standard error of 0.4 was measured


@pytest.mark.parametrize("schedule", ["R2", "Q", "T2", "X2"])
def test_stages_with_one_wavelength_are_refused(schedule: str) -> None:
    with pytest.raises(InputError, match=f"stage {schedule} uses one wavelength"):
        Experiment(8, 2, router="relay", variant=schedule, wavelengths=2)


def test_relay_says_where_wavelengths_are_of_no_use() -> None:
    with pytest.raises(InputError, match="this is one for d < 2g"):
        Experiment(4, 4, router="relay", wavelengths=2)


def test_relay_with_wavelengths_is_local() -> None:
    check_locality("relay", Network(6, 2, 3), variants=["P2 P1", "F"])
