"""The estimates of memory beside what runs take."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc

import pytest

from popsnet.engines.fused import session
from popsnet.schedules.cache import clear_schedules
from tests.engines.memory_use import Case

FACTOR, ALLOWANCE = 1.5, 64 * 10**6
"""An estimate is right within this factor, or this many bytes."""

NEGLIGIBLE = 10**6
"""Objects of Python, which the estimates do not count."""

SMALL = [
    Case("slots", "relay", "", 2, 2048),
    Case("slots", "relay", "", 100, 100),
    Case("slots", "relay", "P64", 64, 64),
    Case("slots", "relay", "", 512, 16),
    Case("slots", "relay", "roll-call", 64, 64),
    Case("slots", "mei-rizzi", "", 128, 128),
    Case("slots", "mei-rizzi", "", 1000, 15),
    Case("slots", "direct", "", 128, 128, slots=10),
    Case("slots", "offline", "", 128, 128),
    Case("slots", "batcher", "", 64, 64),
    Case("fused", "mei-rizzi", "published", 512, 512, runs=2, threads=2),
    Case("fused", "mei-rizzi", "deferred", 2048, 128),
    Case("fused", "relay", "", 512, 512, runs=2, threads=2),
]


@pytest.mark.parametrize("case", SMALL, ids=str)
def test_the_arrays_of_small_runs_are_estimated(case: Case) -> None:
    _require_right(case.estimate, _traced(case), NEGLIGIBLE)


@pytest.mark.parametrize("router", ["mei-rizzi", "relay"])
@pytest.mark.parametrize("permutation", ["random", "keyed", "transpose"])
def test_the_arrays_of_a_divided_run_are_estimated(
    router: str, permutation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "RESIDENT", 0)
    case = Case("fused", router, "", 1024, 1024, threads=2, permutation=permutation)
    _require_right(case.estimate, _traced(case), NEGLIGIBLE)


def test_several_runs_need_a_workspace_per_thread_and_one_run_needs_one() -> None:
    def needed(runs: int, threads: int) -> int:
        return Case("fused", "relay", "", 512, 512, runs, threads).estimate

    assert needed(1, 8) == needed(1, 1)
    assert needed(100, 8) == 8 * needed(100, 1) > 4 * needed(1, 8)


def _traced(case: Case) -> int:
    """Return the most that NumPy and Python hold during a run, the second of its kind."""
    case.run(case.d, case.g)
    clear_schedules()
    tracemalloc.start()
    try:
        case.run(case.d, case.g)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def _require_right(estimate: int, measured: int, allowance: int) -> None:
    larger, smaller = max(estimate, measured), min(estimate, measured)
    assert larger <= FACTOR * smaller or larger - smaller <= allowance, (
        f"estimated {estimate / 1e6:.1f} MB, measured {measured / 1e6:.1f} MB"
    )


SHAPES = [(8, 8), (512, 512), (1024, 1024), (2048, 2048), (4096, 256), (3000, 700), (16384, 64)]
FEW = [(64, 4096), (100, 9999), (4, 65536), (1, 65536), (2, 131072)]
"""Networks with d < g."""

SORTERS = [(d, g) for d, g in [*SHAPES, *FEW] if d * g <= 2**20]

LARGE = [
    *(Case("slots", "relay", "", d, g, slots=100) for d, g in [*SHAPES, *FEW]),
    *(Case("slots", "relay", v, 1024, 1024) for v in ("S+or", "P64", "R8", "P1 F")),
    *(Case("slots", "relay", "census", d, g, slots=100) for d, g in SHAPES[3:]),
    Case("slots", "relay", "roll-call", 256, 256),
    *(
        Case("slots", "mei-rizzi", variant, d, g, slots=100)
        for variant in ("published", "deferred", "idealized")
        for d, g in [*SHAPES, (10**6, 1), (100_000, 16), (1500, 1400)]
    ),
    *(Case("slots", "direct", "", d, g, slots=20) for d, g in [*SHAPES, *FEW]),
    *(Case("slots", "offline", "", d, g) for d, g in [*SHAPES, *FEW]),
    *(Case("slots", "batcher", "", d, g) for d, g in SORTERS if d <= g),
    *(Case("slots", "datta", "", d, g, slots=500) for d, g in SORTERS),
    *(Case("slots", "aks", "", d, g, slots=500) for d, g in SORTERS),
    *(
        Case("objects", router, variant, g, g, slots=20)
        for router, variant in (("mei-rizzi", "published"), ("relay", "S"))
        for g in (4, 32, 100, 200, 400)
    ),
    *(
        Case("fused", router, variant, d, g, runs, threads)
        for router, variant in (
            ("mei-rizzi", "deferred"),
            ("mei-rizzi", "idealized"),
            ("relay", ""),
        )
        for d, g in [(8, 8), (64, 64), (1024, 1024), (4096, 256), (1000, 30), (65536, 16)]
        for runs, threads in ((1, 1), (100, 1), (100, 4))
    ),
    *(
        Case("fused", "mei-rizzi", variant, d, g, 1, threads)
        for variant in ("deferred", "idealized")
        for d, g in [(2048, 2048), (4096, 4096), (8192, 8192), (30_000, 700), (2**20, 16)]
        for threads in (1, 4)
    ),
    *(
        Case("fused", "relay", "", d, g, 1, threads)
        for d, g in [(2048, 2048), (8192, 8192), (30_000, 700), (256, 65536), (1, 2**22)]
        for threads in (1, 4)
    ),
    *(Case("fused", name, "", 4096, 4096, 1, 2, "keyed") for name in ("mei-rizzi", "relay")),
    *(Case("fused", name, "", 4096, 4096, 1, 2, "transpose") for name in ("mei-rizzi", "relay")),
]


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="the peak of a process is reset as on Linux")
@pytest.mark.parametrize("case", LARGE, ids=str)
def test_the_memory_of_a_process_is_estimated(case: Case) -> None:
    command = [sys.executable, "-m", "tests.engines.memory_use", *case.arguments]
    printed = subprocess.run(command, capture_output=True, text=True)
    assert printed.returncode == 0, printed.stderr
    estimate, measured = map(int, printed.stdout.split())
    _require_right(estimate, measured, ALLOWANCE)
