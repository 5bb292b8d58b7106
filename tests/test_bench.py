from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

BENCH = Path(__file__).parent.parent / "benchmarks" / "bench.py"


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    spec = importlib.util.spec_from_file_location("bench", BENCH)
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
    bench.draw(rows, tmp_path / "bench.png")
    assert (tmp_path / "bench.png").stat().st_size > 1000
