"""Every count is what the reference says, on every engine and in everything that prints it."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from popsnet import (
    Coins,
    Experiment,
    InputError,
    Memory,
    Network,
    Outcome,
    Slot,
    check_trace,
    compare,
    route,
)
from popsnet.engines import ENGINES
from popsnet.model.slot import Ints, Slots
from popsnet.runs.run import write_trace
from tests.conftest import Cli
from tests.each import each, sampled
from tests.engines.recount import recounted

RELAY = (
    "direct", "roll-call", "census", "S", "P1", "P2 P1", "P(2,1)", "F", "R2", "P1 R1", "XY(1,1)",
    "XY(2,1)", "XY(1,2)", "XY(2,2)", "XY(1,4)", "S+or", "XY(2,2)+or", "T2", "S T3", "P1 Q", "X2 P1",
    "| Q X2 P2", "T2+or", "P1 Q+or",
)  # fmt: skip
VARIANTS = (
    *((name, "standard") for name in ("aks", "batcher", "datta", "direct", "offline")),
    *((name, "standard+or") for name in ("aks", "batcher", "datta", "direct", "offline")),
    *(("mei-rizzi", name) for name in ("published", "deferred", "published+or", "deferred+or")),
    *(("relay", name) for name in RELAY),
)
SHAPES = ((1, 1), (1, 4), (3, 1), (2, 2), (2, 3), (5, 3))
MORE_SHAPES = ((1, 2), (1, 5), (2, 1), (2, 4), (3, 2), (4, 2), (3, 3), (4, 4), (3, 5), (7, 3))


MOST = 40
"""Steps in which every run ends, unless it never ends because packets always meet again."""


def some(d: int, g: int, router: str, variant: str) -> Iterator[Experiment]:
    """The identity, one with fixed points and a random permutation, and capped runs."""
    n = d * g
    swapped = [n - 1, *range(1, n - 1), 0][:n]
    for permutation in ("identity", swapped, np.random.default_rng(n).permutation(n)):
        for max_steps in (MOST, 1, 2):
            try:
                yield Experiment(
                    d, g, router=router, variant=variant, permutation=permutation,
                    max_steps=max_steps,
                )  # fmt: skip
            except InputError:
                return  # it does not apply to the network


def assert_counts(experiment: Experiment, ended: bool | None = None) -> Outcome:
    """Compare every engine with the trace, and with whether the run ended, if that is known."""
    file = io.StringIO()
    outcome = write_trace(experiment, 0, file).outcome
    ended = outcome.steps < experiment.max_steps if ended is None else ended
    expected = recounted(file.getvalue(), experiment.router, experiment.variant, ended)
    uncounted = {"control_bits": outcome.control_bits, "faulty": None}
    assert asdict(outcome) == {**expected, **uncounted}, experiment
    for name, engine in ENGINES.items():
        if engine.supports(experiment) is None:
            run = route(experiment, engine=name, threads=1)[0]
            alike = outcome if engine.messages else replace(outcome, peak_buffers=None)
            assert run.outcome == alike, (name, experiment)
    return outcome


def assert_all_counts(d: int, g: int, router: str, variant: str) -> None:
    for experiment in some(d, g, router, variant):
        if experiment.max_steps == MOST:
            steps = assert_counts(experiment).steps
        elif steps > 1:  # or else it is the same run
            assert_counts(experiment, ended=steps <= experiment.max_steps)


@each(("router", "variant"), VARIANTS)
def test_counts_are_those_of_the_trace(router: str, variant: str) -> None:
    for d, g in sampled(SHAPES, 3):
        assert_all_counts(d, g, router, variant)


@pytest.mark.long
@pytest.mark.parametrize(("router", "variant"), VARIANTS)
def test_counts_are_those_of_the_trace_on_more_networks(router: str, variant: str) -> None:
    for d, g in MORE_SHAPES:
        assert_all_counts(d, g, router, variant)


def test_packets_at_their_destinations_are_delivered_when_they_are_taken() -> None:
    """Sorting takes them after its last slot, relay with the seed; no processor holds two."""
    runs = route(1, 4, router="batcher", permutation="identity")
    assert (runs.slots_delivered[0], runs.slots[0], runs[0].peak_buffers) == (3, 3, 1)
    runs = route(2, 2, router="relay", variant="S", permutation="identity")
    assert (runs.slots_delivered[0], runs.slots[0], runs.steps[0]) == (1, 1, 1)


@pytest.mark.parametrize("taken", [0, 2, 4])
def test_a_run_without_slots(taken: int) -> None:
    def returns(network: Network, destination: Ints, coins: Coins, memory: Memory) -> Slots:
        memory.deliver(network.processors[:taken], network.processors[:taken])
        return
        yield Slot()

    runs = route(2, 2, router=returns, permutation="identity")
    outcome, whole = runs[0].outcome, taken == 4
    assert (outcome.slots, outcome.steps, outcome.survivors) == (0, 0, ())
    assert (outcome.delivered, outcome.lost, outcome.capped) == (taken, 0, False)
    assert (outcome.slots_delivered, outcome.peak_buffers) == (0, 1)
    assert (runs.undelivered, runs.failed) == (4 - taken, not whole)
    assert runs[0].slots_known == runs.to_records()[0]["slots_known"] == (0 if whole else None)


def test_destroyed_messages_are_counted_on_every_coupler(tmp_path: Path) -> None:
    """Two multicasts to two groups meet on two couplers: two messages, four of them destroyed."""

    def shouts(network: Network, destination: Ints, coins: Coins, memory: Memory) -> Slots:
        senders = network.processors[:2]
        yield Slot.broadcast(
            senders, 2, np.zeros(4, np.int32), contents=np.zeros(2, np.uint8), bits=1, phase="shout"
        )

    run = route(2, 2, router=shouts, trace=tmp_path / "t")[0]
    assert (run.messages, run.collisions, run.destroyed) == (2, 2, 4)
    found = check_trace(tmp_path / "t")
    assert (found.messages, found.collisions, found.destroyed) == (2, 2, 4)


def test_everything_that_prints_counts_prints_the_same(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One run: route, its CSV, check and view of its trace, compare, and a sweep's store."""
    monkeypatch.chdir(tmp_path)
    network, router = ("route", 6, 2), ("--router", "mei-rizzi:published")
    told = json.loads(cli(*network, *router, "--trace", "t.jsonl", "--json").out)
    (run,) = told["outcomes"]
    assert run["lost"] > 0
    assert run["destroyed"] > run["collisions"] > 0
    assert told["lost"] == run["lost"] == len(run["lost_packets"])
    assert {row["count"]: row["max"] for row in told["summary"]}.items() <= run.items()
    assert sum(step["delivered"] for step in told["steps"]) == run["delivered"]
    assert len(told["steps"]) == run["steps"]
    (row,) = csv.DictReader(io.StringIO(cli(*network, *router, "--csv").out))
    again = {name: "" if value is None else str(value) for name, value in run.items()}
    assert {**row, **again, "seconds": again["seconds"]} == {**row, "seconds": again["seconds"]}
    checked = json.loads(cli("check", "t.jsonl", "--json").out)
    for name in ("slots", "messages", "collisions", "destroyed", "delivered"):
        assert checked[name] == run[name]
    assert checked["lost"] == checked["undelivered"] == run["lost_packets"]
    (seen,) = json.loads(cli("view", "t.jsonl", "--no-open", "--json").out)["outcomes"]
    for name in ("slots", "collisions", "delivered", "lost"):
        assert seen[name] == run[name]
    found = compare(6, 2, routers="mei-rizzi:published", runs=1).done[0].to_record()
    assert (found["mean_slots"], found["mean_collisions"]) == (run["slots"], run["collisions"])
    for name in ("peak_buffers", "control_bits", "capped", "lost"):
        assert found[name] == run[name]
    assert found["undelivered"] == 12 - run["delivered"]
    text = 'runs = 10\n[[grid]]\nshapes = [[6, 2]]\nrouters = "mei-rizzi:published"\n'
    Path("sweep.toml").write_text(text)
    (row,) = json.loads(cli("sweep", "sweep.toml", "--json").out)["experiments"]
    many = route(6, 2, variant="published", runs=10)
    for name in ("lost", "collisions", "destroyed", "messages", "capped"):
        assert row[name] == getattr(many, name).sum()
    for name in ("slots", "steps", "slots_delivered"):
        assert (row[f"{name}_mean"], row[f"{name}_max"]) == (
            pytest.approx(getattr(many, name).mean()),
            getattr(many, name).max(),
        )
    assert cli("results", "export", "--out", "runs.json", "--per-run").code == 0
    kept = json.loads(Path("runs.json").read_text())["outcomes"][0]
    same = run.keys() & kept.keys() - {"seconds"}
    assert {name: kept[name] for name in same} == {name: run[name] for name in same}
