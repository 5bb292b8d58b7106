"""The estimates of memory beside what runs take."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc

import pytest

from popsnet import Experiment
from popsnet.engines import ENGINES
from popsnet.engines.fused import arrays, session
from popsnet.engines.fused.kernel import RESIDENT
from popsnet.programs.schedules import cache
from tests.each import rarely
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
    Case("slots", "relay", "X8 P1", 64, 64),
    Case("slots", "relay", "P3 Q P3", 256, 64),
    Case("slots", "relay", "survive", 256, 64),
    Case("slots", "relay", "survive-flooded", 16, 512),
    Case("slots", "mei-rizzi", "", 128, 128),
    Case("slots", "mei-rizzi", "", 1000, 15),
    Case("slots", "direct", "", 128, 128, slots=10),
    Case("slots", "offline", "", 128, 128),
    Case("slots", "batcher", "", 64, 64),
    Case("fused", "mei-rizzi", "published", 512, 512, runs=2, threads=2),
    Case("fused", "mei-rizzi", "deferred", 2048, 128),
    Case("fused", "relay", "", 512, 512, runs=2, threads=2),
]
LARGER = [Case("slots", "relay", "S T16", 16, 16), Case("slots", "relay", "S T16", 64, 64)]


@pytest.mark.parametrize("case", [*SMALL, *rarely(LARGER)], ids=str)
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


@pytest.mark.parametrize("runs", [1, 10])
@pytest.mark.parametrize("resident", [0, RESIDENT])
@pytest.mark.parametrize("router", ["mei-rizzi", "relay"])
def test_a_session_that_had_no_memory_can_be_used_again_and_closed(
    router: str, resident: int, runs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(table: object) -> int:
        raise MemoryError

    monkeypatch.setattr(session, "RESIDENT", resident)
    experiment = Experiment(64, 64, router=router)
    with ENGINES["fused"].open(experiment, threads=2) as opened:
        with monkeypatch.context() as patch:
            patch.setattr(arrays, "size_of", fail)
            with pytest.raises(MemoryError):
                opened.tally(range(runs))
        assert opened.tally(range(runs)).runs == runs


def _traced(case: Case) -> int:
    """Return the most that NumPy and Python hold during a run, the second of its kind."""
    case.run(case.d, case.g)
    cache._kept = cache._ScheduleCache()
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


SIZES = [
    (8, 8), (64, 64), (512, 512), (2048, 2048), (4096, 256), (3000, 700), (16384, 64), (64, 4096),
    (4, 65536), (2, 131072),
]  # fmt: skip

FUSED = [
    (8, 8), (64, 64), (1000, 30), (1024, 1024), (65536, 16), (2048, 2048), (4096, 4096),
    (8192, 8192), (30_000, 700), (2**20, 16),
]  # fmt: skip

LARGE = [
    *(Case("slots", "relay", "", d, g, slots=600) for d, g in SIZES),
    *(Case("slots", "relay", v, 1024, 1024) for v in ("P64", "P1 F", "S S T8", "P1 | Q X2 P1")),
    *(Case("slots", "relay", v, 256, 256) for v in ("S+or", "R1 S")),  # a global OR takes n·g
    Case("slots", "relay", "census", 2048, 128),
    Case("slots", "relay", "roll-call", 256, 256),
    *(Case("slots", "mei-rizzi", "", d, g, slots=30) for d, g in SIZES[:7]),
    *(
        Case("slots", "mei-rizzi", variant, d, g, slots=30)
        for variant in ("published", "deferred", "idealized")
        for d, g in [(1500, 1400), (10**6, 1)]
    ),
    *(Case("slots", "direct", "", d, g, slots=10) for d, g in SIZES[1::2]),
    *(Case("slots", "offline", "", d, g) for d, g in SIZES if d * g <= 2**20),
    *(Case("slots", "batcher", "", d, g) for d, g in [(256, 256), (64, 1024)]),
    *(
        Case("slots", router, "", d, g)
        for router, sizes in {
            "datta": [(64, 64), (1024, 16), (16, 256)],
            "aks": [(8, 8), (32, 8)],
        }.items()
        for d, g in sizes
    ),
    *(
        Case("objects", router, variant, g, g, slots=10)
        for router, variant in (("mei-rizzi", "published"), ("relay", "S"))
        for g in (4, 100, 250)
    ),
    *(
        Case("fused", router, "", d, g, 1, threads)
        for router, threads in (("mei-rizzi", 1), ("mei-rizzi", 4), ("relay", 4))
        for d, g in FUSED
        if router == "mei-rizzi" or d * g > 64
    ),
    *(
        Case("fused", router, "", d, g, 20, threads)
        for router in ("mei-rizzi", "relay")
        for d, g in [(64, 64), (1024, 1024)]
        for threads in (1, 4)
    ),
    *(
        Case("fused", router, "", 4096, 4096, 1, 2, permutation)
        for router in ("mei-rizzi", "relay")
        for permutation in ("keyed", "transpose")
    ),
    *(Case("fused", "relay", "", d, g, 1, 2) for d, g in [(256, 65536), (1, 2**22)]),
]


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="the peak of a process is reset as on Linux")
@pytest.mark.parametrize("case", LARGE, ids=str)
def test_the_memory_of_a_process_is_estimated(case: Case) -> None:
    command = [sys.executable, "-m", "tests.engines.memory_use", *case.arguments]
    printed = subprocess.run(command, capture_output=True, text=True)
    assert printed.returncode == 0, printed.stderr
    estimate, measured = map(int, printed.stdout.split())
    if case.experiment(case.d, case.g).buffers > 64:  # memory that no packet touches is not taken
        estimate = min(estimate, max(measured, estimate // 3))
    _require_right(estimate, measured, ALLOWANCE)
