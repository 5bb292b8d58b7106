from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

pytestmark = pytest.mark.program

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(autouse=True)
def _as_a_script(monkeypatch: pytest.MonkeyPatch) -> None:
    """A script finds its neighbours."""
    monkeypatch.syspath_prepend(BENCHMARKS)


@pytest.fixture
def bench() -> ModuleType:
    return load("bench")


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, BENCHMARKS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_benchmark_validates_before_it_times(bench: ModuleType, tmp_path: Path) -> None:
    """The yardstick too, where there is a compiler."""
    assert bench.validate(bench.build_yardstick(tmp_path)) > 50


def test_the_benchmark_ends_if_engines_differ(
    bench: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench, "partitioned", lambda instance: [7])
    with pytest.raises(SystemExit, match="do not agree"):
        bench.validate(None)


def test_figures_are_printed_and_drawn(bench: ModuleType, tmp_path: Path) -> None:
    full = {"n": 1024, "slots": 512.25, "fused ×1": 10.0, "yardstick": 200.0}
    rows = [full | {"runs/s": 9e4, "ratio": 20.0}, {"n": 4096, "fused ×1": 11.0, "runs/s": 2e4}]
    assert bench.table_of(rows).row_count == 2
    users = [{"n": 1024, "kernel": 1e5, "route": 9e4, "route %": 90.0}]
    assert bench.users_table(users).row_count == 1
    bench.draw(rows, tmp_path / "bench.png")
    assert (tmp_path / "bench.png").stat().st_size > 1000


def test_what_users_call_is_timed_beside_the_kernel(
    bench: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench, "USERS", {8: 200})
    monkeypatch.setattr(bench, "SECONDS_PER_FIGURE", 0.0)
    (row,) = bench.time_users(bench.Console())
    for name in ("route", "collect", "sweep"):
        assert row[f"{name} %"] == pytest.approx(100 * row[name] / row["kernel"])


def test_colourings_are_checked_and_timed(tmp_path: Path) -> None:
    colouring = load("colouring")
    graph = colouring.Graph.of(8)
    for name in ("popsnet", "plain_splits", "rustworkx", "networkx"):
        colours, seconds = getattr(colouring, f"by_{name}")(graph)
        assert colouring.require_proper(name, graph, colours) >= 8
        assert seconds > 0
    with pytest.raises(SystemExit, match="one colour to two edges that meet"):
        colouring.require_proper("nobody", graph, 0 * graph.left)
    with pytest.raises(SystemExit, match="64 colours where 8 are enough"):
        colouring.require_proper("nobody", graph, np.arange(64, dtype=np.int32))
    full = {"n": 64, "popsnet": 1.0, "ns": 5.0, "plain": 2.0, "rustworkx": 3.0}
    rows = [full | {"networkx": 4.0, "networkx colours": 9}, {"n": 256, "popsnet": 2.0, "ns": 4.0}]
    assert colouring.table_of(rows).row_count == 2
    colouring.draw(rows, tmp_path / "c.png")
    assert (tmp_path / "c.png").stat().st_size > 1000


def test_the_benchmark_of_traffic_validates_and_times(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    traffic = load("traffic")
    monkeypatch.setattr(traffic, "SHAPES", ((4, 4),))
    monkeypatch.setattr(traffic, "PROCESSOR_SLOTS", 2**12)
    monkeypatch.setattr("sys.argv", ["traffic.py", "tdm", "epochs"])
    traffic.main()
    assert "48 runs agree in every slot." in capsys.readouterr().out
    monkeypatch.setattr(traffic.np, "array_equal", lambda *_: False)
    with pytest.raises(SystemExit, match="do not agree"):
        traffic.validate()


def test_two_trees_are_compared(capsys: pytest.CaptureFixture[str]) -> None:
    """This one with itself, which is slower than by a limit of 0."""
    against = load("against")
    row = "mei-rizzi on POPS(32, 32)"
    given = [str(BENCHMARKS.parent), "--only", row, "--rounds", "1", "--repeat", "2", "--limit"]
    against.main([*given, "1000"])
    assert row in capsys.readouterr().out
    with pytest.raises(SystemExit, match=re.escape(f"times as slow: {row}")):
        against.main([*given, "0"])


def test_trees_with_other_results_are_not_compared() -> None:
    against = load("against")

    class Tree:
        def __init__(self, result: str) -> None:
            self.result = result

        def do(self, name: str) -> tuple[float, str]:
            return 1.0, self.result

    assert against.compare((Tree("3"), Tree("3")), "a row", 2) == [1.0, 1.0]
    with pytest.raises(SystemExit, match="The results of a row differ"):
        against.compare((Tree("3"), Tree("4")), "a row", 2)
