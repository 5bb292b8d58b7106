"""The soak itself: its cases are fixed, it goes on where it stopped, and it can fail."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from popsnet import Memory, Network, Outcome, check_trace, register
from popsnet.base.errors import InputError
from popsnet.engines import ENGINES
from popsnet.engines.fused.engine import FusedEngine
from popsnet.model.slot import Ints
from popsnet.programs.router import all_routers, get_router, unregister
from popsnet.programs.routers.relay import parse_schedule
from popsnet.trace.checker import TraceCheck
from popsnet.workloads.permutations import NAMES
from tests.each import each
from tests.soak import __main__ as program
from tests.soak import cases, checks, record
from tests.soak import soak as loop
from tests.soak.cases import DemandCase, RouteCase, draw_case
from tests.soak.checks import LOSSY, SAFE, Fault, check
from tests.soak.record import Record, read_record

BLOCK = 3

QUICK = RouteCase(
    Network(4, 4), "relay", "P2 P1", "random", "name", seed=1, permutation_seed=2, first=3, runs=2,
    max_steps=1000, traced=True, local=True, threads=1, divided=False,
)  # fmt: skip


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """All cases are tiny and without a compiled engine, which would be compiled for the test."""
    monkeypatch.setattr(cases, "SHARES", (1.0, 0.0, 0.0, 0.0))
    monkeypatch.setattr(FusedEngine, "supports", lambda self, experiment: "not in this test")
    for module in (loop, record):
        monkeypatch.setattr(module, "BLOCK", BLOCK)


def test_every_variant_that_is_registered_is_drawn_somewhere() -> None:
    rng = np.random.default_rng(0)
    for router in all_routers():
        offered = {
            name
            for shape in [(4, 4), (8, 4), (4, 8)]
            if cases._applies(router, None, Network(*shape))
            for _ in range(30)
            for name in cases.variants_on(rng, router, Network(*shape))
        }
        assert {None, *router.variants} <= offered
        assert any(str(name).endswith("+or") for name in offered)
        assert any("|" in str(name) for name in offered) == (router.parse_variant is not None)


def test_every_permutation_that_is_registered_is_drawn() -> None:
    rng = np.random.default_rng(0)
    names, forms = zip(*(cases._permutation(rng, Network(4, 4)) for _ in range(500)), strict=True)
    assert {*NAMES, *cases.FAMILIES, "shift:d"} <= set(names)
    assert set(forms) == {"name", "array", ".npy", ".csv", ".json"}
    assert not any(cases._exists("bit-reversal", Network(3, n)) for n in (1, 2, 4))


def test_a_router_that_is_registered_later_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cases, "SHARES", (1.0, 0.0, 0.0, 0.0))
    facts: Any = {"summary": "a test", "slots": "n", "buffers": 2}
    register("soaked", **facts)(get_router("direct").variant("standard").route)
    try:
        some = [draw_case(0, number) for number in range(100)]
        assert any(isinstance(one, RouteCase) and one.router == "soaked" for one in some)
    finally:
        unregister("soaked")


def test_a_router_that_reads_schedules_has_schedules_to_draw() -> None:
    assert {one.name for one in all_routers() if one.parse_variant} == set(cases.SCHEDULES)


def test_cases_may_be_of_chosen_stages() -> None:
    some = [draw_case(0, number, "TX") for number in range(30)]
    assert some[-5:] == [draw_case(0, number, "TX") for number in range(25, 30)]
    for one in some:
        assert isinstance(one, RouteCase)
        assert one.router == "relay"
        assert one.variant is not None
        stages = parse_schedule(one.variant).all_stages
        assert {"T", "X"} & {stage.letters for stage in stages}
    assert len({one.network for one in some}) > 10


def test_cases_are_of_all_sizes_and_depend_on_seed_and_number_alone() -> None:
    some = [draw_case(0, number) for number in range(40)]
    assert some[-10:] == [draw_case(0, number) for number in range(30, 40)]
    assert some[0] != draw_case(1, 0)
    sizes = [one.network.n for one in some]
    assert min(sizes) < 10
    assert max(sizes) > 2**17
    assert {type(one) for one in some} == {RouteCase, DemandCase}
    with np.errstate(all="raise"):
        shapes = [cases._network(np.random.default_rng(i), i % 4) for i in range(400)]
    assert max(one.n for one in shapes) <= 2**20


@each("kind", cases.KINDS)
@each("form", ["table", ".npy", ".csv"])
def test_demands_of_every_kind_and_form_are_checked(kind: str, form: str) -> None:
    for seed, shape in enumerate([(1, 1), (1, 5), (5, 1), (4, 3)]):
        (_, _, guarantee), counts, _ = check(DemandCase(Network(*shape), kind, form, seed, True))
        assert guarantee == SAFE
        assert counts["replayed"] == counts["packets"] == counts["delivered"]


@pytest.mark.usefixtures("tiny")
def test_a_soak_goes_on_where_it_stopped(tmp_path: Path) -> None:
    """Three blocks at once are two blocks, and one more after a start from the file."""
    whole, part = tmp_path / "whole.json", tmp_path / "part.json"
    counted = [soaked(whole, 3), soaked(part, 2), soaked(part, 3)]
    assert counted[0] == counted[2]
    assert counted[1]["cases"] == 2 * BLOCK
    assert counted[0]["failures"] == []
    assert counted[0]["safe"]["lost"] == 0
    assert counted[0]["safe"]["delivered"] > 20
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
            return float(done.cases >= blocks * BLOCK)

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
        def submit(self, do: Callable[..., Any], root: int, first: int, stages: str) -> Any:
            submitted.append(first)
            done: Any = Future()
            done.set_result(do(root, first, stages))
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
    "options",
    [
        ["--seed", "-1"],
        ["--minutes", "x"],
        ["--workers", "-2"],
        ["--goal", "0"],
        ["--stages", "QZ"],
    ],
)
def test_bad_options_are_refused(options: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        program.main([*options, "--minutes", "0"])
    assert ended.value.code == 2


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"seed": 1}, "root seed 1, not 0"),
        ({"code": "x"}, "other code"),
        ({"cases": None}, "soak"),
        ({"stages": "T"}, "--stages 'T', not ''"),
    ],
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


def without_packet_5(act: Callable[..., None]) -> Callable[..., None]:
    """A method of the memory that leaves packet 5 out."""

    def partly(self: Memory, processors: Ints, packets: Ints) -> None:
        act(self, processors[packets != 5], packets[packets != 5])

    return partly


@pytest.mark.usefixtures("tiny")
def test_planted_faults_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    case = replace(QUICK, traced=False)
    assert check(case)[0] == ("relay", "a schedule", SAFE)
    with monkeypatch.context() as patch:
        patch.setattr(Memory, "deliver", without_packet_5(Memory.deliver))
        with pytest.raises(Fault, match=r"packets are lost.* is 5"):
            check(case)
    with monkeypatch.context() as patch:
        patch.setattr(Memory, "drop", without_packet_5(Memory.drop))
        with pytest.raises(Fault, match="packet 5 is held 3 times"):
            check(case)
    with monkeypatch.context() as patch:
        patch.setattr(checks, "MOST_STEPS", 1)
        with pytest.raises(Fault, match="still goes on"):
            check(replace(case, max_steps=1))


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("name", ["slots", "messages", "collisions", "lost"])
def test_a_wrong_count_is_found_by_the_replay(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def counting(path: Path) -> TraceCheck:
        found = original(path)
        setattr(found, name, [3] if name == "lost" else getattr(found, name) + 1)
        return found

    original = check_trace
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
    case = replace(QUICK, router="mei-rizzi", variant="published")
    assert check(case)[1]["compared"] == 32
    for divided in (False, True):
        different = replace(case, divided=divided)
        with monkeypatch.context() as patch:
            patch.setattr(checks, "_compiled", lambda *_: [wrong(case)] * 2)
            with pytest.raises(Fault, match="by engine fused"):
                check(different)


def wrong(case: RouteCase) -> Outcome:
    """An outcome that is not that of the case."""
    outcome = ENGINES["slots"].execute(case.experiment(Path()).instance(0))
    return replace(outcome, messages=-1)


@pytest.mark.usefixtures("tiny")
def test_losses_by_design_are_counted_apart() -> None:
    case = replace(
        QUICK, network=Network(16, 4), router="mei-rizzi", variant="published", runs=9, local=False
    )
    (_, _, guarantee), counts, _ = check(case)
    assert guarantee == LOSSY
    assert counts["lost"] == counts["packets"] - counts["delivered"] > 0


@pytest.mark.usefixtures("tiny")
def test_a_case_that_fails_is_told_with_what_repeats_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The soak stops, or goes on and counts, and ends with 1 in either case."""
    monkeypatch.setattr(Memory, "deliver", without_packet_5(Memory.deliver))
    out = tmp_path / "soak.json"
    options = ["--out", str(out), "--workers", "0", "--goal", "100"]
    assert program.main(options) == 1
    stopped = json.loads(out.read_text(encoding="utf-8"))
    assert stopped["cases"] == BLOCK
    command = stopped["failures"][0]["command"]
    assert f"Repeat it: {command}" in capsys.readouterr().out
    assert program.main([*options, "--fresh", "--go-on"]) == 1
    assert len(json.loads(out.read_text(encoding="utf-8"))["failures"]) > 1
    with pytest.raises(Fault):
        program.main(command.split()[3:])


@pytest.mark.usefixtures("tiny")
def test_a_case_can_be_checked_alone(capsys: pytest.CaptureFixture[str]) -> None:
    number = next(i for i in count() if isinstance(draw_case(0, i), DemandCase))
    assert program.main(["--case", str(number)]) == 0
    assert "schedule (demands)" in capsys.readouterr().out


def test_a_packet_at_the_wrong_processor_is_found() -> None:
    with pytest.raises(Fault, match="not at its destination"):
        checks._inspect(
            (np.array([0, 1]), np.array([1, 0])), np.array([0, 1]), outcome_of(delivered=0), SAFE
        )


def outcome_of(delivered: int) -> Outcome:
    return Outcome(1, 1, 1, delivered, 0, 0, 0, 0, 1, 0, capped=False, survivors=(0,))
