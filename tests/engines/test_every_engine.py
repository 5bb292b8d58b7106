"""What every engine does alike; tests/engines/conftest.py has what one of them cannot do."""

from __future__ import annotations

import re
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from popsnet import (
    Coins,
    Experiment,
    Inbox,
    InputError,
    Memory,
    Network,
    Outcome,
    SizeError,
    Slot,
    find_router,
    route,
)
from popsnet.base import system
from popsnet.engines import ENGINES, Instance, Outcomes, Tally, choose_engine, find_engine
from popsnet.engines.engine import Engine
from popsnet.model.slot import Ints
from popsnet.trace import Event
from tests.each import each
from tests.engines.conftest import HERE, UNSUPPORTED, gap

CASES: dict[str, dict[str, Any]] = {
    "published": {"d": 8, "g": 8},
    "published keyed": {"d": 8, "g": 8, "permutation": "keyed"},
    "published transpose": {"d": 9, "g": 9, "permutation": "transpose"},
    "published losses, d > g": {"d": 6, "g": 3, "variant": "published"},
    "idealized, d > g": {"d": 24, "g": 6, "variant": "idealized"},
    "idealized keyed, d > g": {"d": 24, "g": 6, "variant": "idealized", "permutation": "keyed"},
    "deferred, d > g": {"d": 24, "g": 6},
    "deferred, d > g, not a multiple": {"d": 7, "g": 3, "permutation": "transpose"},
    "relay S": {"d": 8, "g": 8, "router": "relay", "variant": "S"},
    "relay P1": {"d": 8, "g": 8, "router": "relay", "variant": "P1", "permutation": "keyed"},
    "relay P1 R1": {"d": 24, "g": 24, "router": "relay", "variant": "P1 R1"},
    "relay T": {"d": 8, "g": 8, "router": "relay", "variant": "S T3"},
    "relay, d > g": {"d": 7, "g": 3, "router": "relay", "variant": "P(3,2) F R2"},
    "relay transpose, d > g": {
        "d": 24, "g": 6, "router": "relay", "variant": "P1", "permutation": "transpose",
    },
    "relay, d < g": {"d": 3, "g": 12, "router": "relay", "variant": "XY(2,2)"},
    "direct": {"d": 4, "g": 4, "router": "direct"},
}  # fmt: skip
each_case = pytest.mark.parametrize("case", CASES)
one_of_each_router = pytest.mark.parametrize("case", ["published", "relay S"])


def experiment_of(case: str, **more: Any) -> Experiment:
    return Experiment(**CASES[case], **more, seed=3, permutation_seed=4)


def as_counted_by(engine: Engine, outcomes: list[Outcome]) -> list[Outcome]:
    """Outcomes without buffers, where the engine does not count them."""
    return (
        outcomes
        if engine.messages
        else [replace(outcome, peak_buffers=None) for outcome in outcomes]
    )


def outcomes_of(engine: Engine, experiment: Experiment, runs: int, **more: Any) -> list[Outcome]:
    return [run.outcome for run in route(experiment, runs=runs, engine=engine.name, **more)]


@each_case
@each("max_steps", [1000, 2])
def test_runs_are_those_of_slots_on_any_number_of_threads(
    engine: Engine, case: str, max_steps: int
) -> None:
    """Both clocks, all messages and collisions, all survivors; also if runs are capped."""
    experiment = experiment_of(case, max_steps=max_steps)
    expected = as_counted_by(engine, outcomes_of(ENGINES["slots"], experiment, 6))
    for threads in (1, 3):
        assert outcomes_of(engine, experiment, 6, threads=threads) == expected
    for outcome in expected:
        assert outcome.slots_delivered <= outcome.slots
        assert outcome.steps <= max_steps
        assert outcome.capped or outcome.delivered + outcome.lost == experiment.network.n
        assert outcome.lost == 0 or "losses" in case


@each_case
def test_a_session_does_runs_in_any_order_in_blocks_or_one_by_one(
    engine: Engine, case: str
) -> None:
    experiment = experiment_of(case)
    assert engine.supports(experiment) is None
    assert engine.batch(experiment) >= 1
    expected = route(experiment, runs=12, engine=engine.name).tally
    with engine.open(experiment, threads=2) as session:
        assert session.tally(range(5, 12)) + session.tally(range(5)) == expected
        assert session.tally(range(12)) == expected
        outcomes = Outcomes.joined(list(session.run(range(3, 9))))
    assert Tally.of(outcomes) == route(experiment, first=3, runs=6, engine=engine.name).tally


@one_of_each_router
def test_permutations_come_from_files_and_arrays(engine: Engine, case: str, tmp_path: Path) -> None:
    array = np.random.default_rng(5).permutation(64)
    np.save(tmp_path / "p.npy", array)
    for permutation in (array, tmp_path / "p.npy"):
        experiment = experiment_of(case, permutation=permutation)
        expected = as_counted_by(engine, outcomes_of(ENGINES["slots"], experiment, 2))
        assert outcomes_of(engine, experiment, 2) == expected


@each_case
def test_observers_hear_of_every_step(engine: Engine, case: str) -> None:
    heard: list[Event] = []
    messages = 0

    def observe(event: Event) -> None:
        nonlocal messages
        heard.append(event)
        if engine.messages:
            messages += len(event.records()[0])
        else:
            with pytest.raises(ValueError, match="no messages"):
                event.records()

    (outcome,) = outcomes_of(engine, experiment_of(case), 1, observers=[observe])
    slots = [event.slot for event in heard]
    assert set(outcome.survivors[:-1]) <= {event.pending for event in heard}
    assert slots == (list(range(1, outcome.slots + 1)) if engine.messages else sorted(slots))
    assert slots[-1] <= outcome.slots
    assert messages == (outcome.messages if engine.messages else 0)


@each_case
def test_a_session_goes_on_after_an_interrupted_run(engine: Engine, case: str) -> None:
    def interrupt(event: Event) -> None:
        raise KeyboardInterrupt

    experiment = experiment_of(case)
    with choose_engine(engine.name, experiment).open(experiment, threads=2) as session:
        expected = session.tally(range(1))
        with pytest.raises(KeyboardInterrupt):
            session.tally(range(1), [interrupt])
        assert session.tally(range(1)) == expected


@each_case
def test_memory_is_estimated_and_more_than_there_is_refused(
    engine: Engine, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = experiment_of(case)
    needed = engine.memory(experiment)
    assert needed >= experiment.network.n // 8
    monkeypatch.setattr(system, "available_memory", lambda: needed)
    assert choose_engine(engine.name, experiment) is engine
    monkeypatch.setattr(system, "available_memory", lambda: needed - 1)
    with pytest.raises(SizeError, match=f"with engine {engine.name}; "):
        choose_engine(engine.name, experiment)


@one_of_each_router
def test_the_trace_is_that_of_slots(engine: Engine, case: str, tmp_path: Path) -> None:
    for name in (engine.name, "slots"):
        route(experiment_of(case), trace=tmp_path / name, engine=name)
    assert (tmp_path / engine.name).read_bytes() == (tmp_path / "slots").read_bytes()


def test_buffers_are_counted(engine: Engine) -> None:
    runs = route(experiment_of("published"), runs=5, engine=engine.name)
    assert runs.peak_buffers is not None
    assert runs.peak_buffers.tolist() == [3] * 5


def deliver_at_once(
    network: Network, destination: Ints, coins: Coins, memory: Memory
) -> Generator[Slot, Inbox, None]:
    memory.deliver(destination, network.processors)
    yield Slot()


def test_packets_start_anywhere(engine: Engine) -> None:
    """Here where they are to go, which is nowhere a permutation starts."""
    network, destination = Network(4, 4), np.roll(np.arange(16, dtype=np.int32), 1)
    router = find_router(deliver_at_once)
    fixed = network, router, router.choose_variant(None, network), destination, Coins(0), 100
    outcome = engine.execute(Instance(*fixed, start=destination), ())
    assert (outcome.slots, outcome.delivered, outcome.messages) == (1, 16, 0)


@each("name", HERE)
@each_case
def test_what_an_engine_cannot_run_is_refused_with_the_reason(name: str, case: str) -> None:
    experiment, engine = experiment_of(case), find_engine(name)
    reason = engine.supports(experiment)
    assert (reason is None) == (gap(name, f"[{case}]") is None)
    if reason is None:
        assert choose_engine(name, experiment) is engine
    else:
        with pytest.raises(InputError) as refused:
            choose_engine(name, experiment)
        assert reason in str(refused.value)
        assert "engine='slots'" in str(refused.value)


def test_every_gap_is_one_of_a_test(request: pytest.FixtureRequest) -> None:
    tests = [
        (item.callspec.params["engine"], item.name)  # type: ignore[attr-defined]
        for item in request.session.items
        if item.path == Path(__file__) and "engine" in getattr(item, "fixturenames", ())
    ]
    if len(tests) < 300:
        pytest.skip("not all tests of this file were collected")
    engines = {engine for engine, _ in tests}
    for entry in UNSUPPORTED:
        if not any(re.match(entry[0], engine) for engine in engines):
            continue  # an engine of a plug-in that is not tested
        assert any(
            re.match(entry[0], engine) and re.search(entry[1], name) for engine, name in tests
        )
