"""The soak itself: its cases are the same for ever, it goes on where it stopped, and it can fail."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from popsnet import Memory, Network, Outcome, register
from popsnet.engines import ENGINES
from popsnet.engines.fused.engine import FusedEngine
from popsnet.errors import InputError
from popsnet.permutations import NAMES
from popsnet.routing import all_routers, get_router
from popsnet.routing.router import unregister
from popsnet.slot import Ints
from popsnet.trace import TraceCheck
from tests.soak import __main__ as program
from tests.soak import cases, checks, record
from tests.soak import soak as loop
from tests.soak.cases import DemandCase, RouteCase, draw_case
from tests.soak.checks import LOSSY, SAFE, Fault, check
from tests.soak.record import BLOCK, Record, read_record

TRIED = range(1500)
QUICK = RouteCase(
    Network(4, 4), "relay", "P2 P1", "random", "name", seed=1, permutation_seed=2, first=3, runs=2,
    max_steps=1000, traced=True, local=True, threads=1, divided=False,
)  # fmt: skip


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """All cases are tiny and without a compiled engine, which would be compiled for the test."""
    monkeypatch.setattr(cases, "SHARES", (1.0, 0.0, 0.0, 0.0))
    monkeypatch.setattr(FusedEngine, "supports", lambda self, experiment: "not in this test")


def drawn() -> list[cases.Case]:
    return [draw_case(0, number) for number in TRIED]


def test_everything_that_is_registered_is_drawn() -> None:
    routed = [one for one in drawn() if isinstance(one, RouteCase)]
    variants = {(one.router, str(one.variant).removesuffix("+or")) for one in routed}
    for router in all_routers():
        for name in router.variants:
            assert (router.name, name) in variants
        assert (router.name, "None") in variants
    assert set(NAMES) <= {one.permutation for one in routed}
    assert {one.form for one in routed} == {"name", "array", ".npy", ".csv", ".json"}
    assert any("|" in str(one.variant) for one in routed)
    assert any(str(one.variant).endswith("+or") for one in routed)


def test_a_router_that_is_registered_later_is_drawn() -> None:
    facts: Any = {"summary": "a test", "slots": "n", "buffers": 2}
    register("soaked", **facts)(get_router("direct").variant("standard").route)
    try:
        assert any(isinstance(one, RouteCase) and one.router == "soaked" for one in drawn()[:200])
    finally:
        unregister("soaked")


def test_a_router_that_reads_schedules_has_schedules_to_draw() -> None:
    assert {one.name for one in all_routers() if one.schedules} == set(cases.SCHEDULES)


def test_cases_are_of_all_sizes_and_depend_on_seed_and_number_alone() -> None:
    some = drawn()
    assert [repr(one) for one in some[:50]] == [repr(draw_case(0, i)) for i in range(50)]
    assert repr(some[0]) != repr(draw_case(1, 0))
    sizes = [one.network.n for one in some]
    assert min(sizes) == 1
    assert max(sizes) > 2**19
    assert any(isinstance(one, DemandCase) for one in some)


@pytest.mark.usefixtures("tiny")
def test_a_soak_goes_on_where_it_stopped(tmp_path: Path) -> None:
    """Three blocks at once are two blocks, and one more after a start from the file."""
    whole, part = tmp_path / "whole.json", tmp_path / "part.json"
    counted = [soaked(whole, 3), soaked(part, 2), soaked(part, 3)]
    assert counted[0] == counted[2]
    assert counted[1]["cases"] == 2 * BLOCK
    assert counted[0]["failures"] == []
    assert counted[0]["safe"]["lost"] == 0
    assert counted[0]["safe"]["delivered"] > 100
    assert counted[0]["safe"]["replayed"] > 0
    assert "packets delivered by routers that may lose none, 0 lost" in whole.with_suffix(
        ".md"
    ).read_text(encoding="utf-8")


def soaked(path: Path, blocks: int) -> dict[str, Any]:
    """The record, without times, of this many blocks in all."""
    done = read_record(path, 7)

    class Clock:
        @staticmethod
        def monotonic() -> float:
            return float(done.cases >= (blocks - 1) * BLOCK)

        @staticmethod
        def process_time() -> float:
            return 0.0

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "time", Clock)
        loop.soak(done, path, seconds=1, workers=0)
    kept: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return kept


@pytest.mark.usefixtures("tiny")
def test_a_goal_gives_the_same_record_by_any_number_of_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ends with the block that reaches it, whatever else was begun."""
    submitted: list[int] = []

    class Pool:
        def submit(self, do: Callable[..., Any], root: int, first: int) -> Any:
            submitted.append(first)
            done: Any = loop.Future()
            done.set_result(do(root, first))
            return done

        def shutdown(self, cancel_futures: bool) -> None:
            assert cancel_futures

    monkeypatch.setattr(loop, "_pool", lambda workers: Pool())
    records = []
    for workers in (0, 2):
        done = Record(7, "")
        loop.soak(done, tmp_path / "soak.json", seconds=1e9, goal=1, workers=workers)
        records.append(done.to_json() | {"cpu_seconds": 0})
    assert records[0] == records[1]
    assert records[0]["cases"] == BLOCK
    assert len(submitted) > 1


@pytest.mark.parametrize(
    ("change", "expected"),
    [({"seed": 1}, "root seed 1, not 0"), ({"code": "x"}, "other code"), ({"cases": None}, "soak")],
)
def test_a_record_of_something_else_is_not_continued(
    change: dict[str, Any], expected: str, tmp_path: Path
) -> None:
    path = tmp_path / "soak.json"
    Record(0, record.code_digest()).write(path)
    kept = json.loads(path.read_text(encoding="utf-8")) | change
    if kept["cases"] is None:
        del kept["cases"]
    path.write_text(json.dumps(kept), encoding="utf-8")
    with pytest.raises(InputError, match=expected):
        read_record(path, 0)
    assert program.main(["--out", str(path), "--minutes", "0"]) == 2


def losing(drop: Callable[..., None]) -> Callable[..., None]:
    """A delivery that leaves packet 5 out."""

    def deliver(self: Memory, processors: Ints, packets: Ints) -> None:
        drop(self, processors[packets != 5], packets[packets != 5])

    return deliver


def keeping(drop: Callable[..., None]) -> Callable[..., None]:
    """A drop after which a copy of packet 5 stays."""
    return losing(drop)


@pytest.mark.usefixtures("tiny")
def test_planted_faults_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    case = replace(QUICK, traced=False)
    assert check(case)[0] == ("relay", "a schedule", SAFE)
    with monkeypatch.context() as patch, pytest.raises(Fault, match="packets are lost.* is 5"):
        patch.setattr(Memory, "deliver", losing(Memory.deliver))
        check(case)
    with monkeypatch.context() as patch, pytest.raises(Fault, match="packet 5 is held 2 times"):
        patch.setattr(Memory, "drop", keeping(Memory.drop))
        check(case)
    with monkeypatch.context() as patch, pytest.raises(Fault, match="still goes on"):
        patch.setattr(checks, "MAX_STEPS", 1)
        check(replace(case, max_steps=1))


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("name", ["slots", "messages", "collisions", "lost"])
def test_a_wrong_count_is_found_by_the_replay(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def counting(path: Path) -> TraceCheck:
        found = original(path)
        setattr(found, name, [3] if name == "lost" else getattr(found, name) + 1)
        return found

    original = checks.check_trace
    monkeypatch.setattr(checks, "check_trace", counting)
    with pytest.raises(Fault, match="the checker counts"):
        check(QUICK)


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("name", ["slots", "messages", "delivered", "peak_buffers"])
def test_a_wrong_count_of_another_engine_is_found(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = replace(QUICK, router="mei-rizzi", variant=None, traced=False)
    engine = ENGINES["objects"]

    def counting(self: Any, instance: Any) -> Outcome:
        outcome = execute(instance)
        return replace(outcome, **{name: getattr(outcome, name) + 1})

    execute = engine.execute
    assert check(case)[1]["simulated_as_objects"] == 32
    monkeypatch.setitem(ENGINES, "objects", type("Wrong", (), {
        "supports": lambda self, experiment: None, "execute": counting,
    })())  # fmt: skip
    with pytest.raises(Fault, match=f"{name}: .* by engine slots, .* by engine objects"):
        check(case)


def test_the_compiled_engine_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    case = replace(QUICK, network=Network(8, 4), router="mei-rizzi", variant="published")
    (_, _, guarantee), counts, _ = check(case)
    assert (guarantee, counts["compared"]) == (LOSSY, 64)
    for divided in (False, True):
        different = replace(case, divided=divided)
        with monkeypatch.context() as patch, pytest.raises(Fault, match="by engine fused"):
            patch.setattr(checks, "_compiled", lambda *_: [wrong(case)] * 2)
            check(different)


def wrong(case: RouteCase) -> Outcome:
    """An outcome that is not that of the case."""
    outcome = ENGINES["slots"].execute(case.experiment(Path()).instance(0))
    return replace(outcome, messages=-1)


@pytest.mark.usefixtures("tiny")
def test_a_case_that_fails_is_told_with_what_repeats_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The soak stops, or goes on and counts, and ends with 1 in either case."""
    monkeypatch.setattr(Memory, "deliver", losing(Memory.deliver))
    out = tmp_path / "soak.json"
    options = ["--out", str(out), "--workers", "0", "--goal", "1000"]
    assert program.main(options) == 1
    stopped = json.loads(out.read_text(encoding="utf-8"))
    assert stopped["cases"] == BLOCK
    command = stopped["failures"][0]["command"]
    assert f"Repeat it: {command}" in capsys.readouterr().out
    assert program.main([*options, "--fresh", "--go-on"]) == 1
    assert json.loads(out.read_text(encoding="utf-8"))["cases"] > BLOCK
    with pytest.raises(Fault):
        program.main(command.split()[3:])


def test_a_case_can_be_checked_alone(capsys: pytest.CaptureFixture[str]) -> None:
    number = next(
        i for i in TRIED if isinstance(one := draw_case(0, i), DemandCase) and one.network.n < 50
    )
    assert program.main(["--case", str(number)]) == 0
    assert "schedule (demands)" in capsys.readouterr().out


def test_a_changed_destination_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Fault, match="not at its destination"):
        checks._inspect(
            np.array([[1, 0]]), np.array([0, 1]), outcome_of(delivered=0), guarantee=SAFE
        )


def outcome_of(delivered: int) -> Outcome:
    return Outcome(1, 1, 1, delivered, 0, 0, 0, 0, 1, 0, capped=False, survivors=(0,))
