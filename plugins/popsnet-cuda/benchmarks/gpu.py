"""How fast is the engine cuda? Validates it on the GPU against fused, then times what users call.

Prints the device and all versions; then ``popsnet.route`` for one large run and
``popsnet.distribution`` for many small ones, beside ``fused`` on all processors of the computer and
beside the goals of the design, which are not measurements. The first call of each kind compiles and
is not timed.
"""

from __future__ import annotations

import platform
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

import popsnet
from popsnet.base.system import threads_here
from rich.console import Console
from rich.table import Table

from popsnet_cuda import ENGINE, describe_device
from popsnet_cuda.device import is_simulated

LARGE = {20: 0.3e-3, 24: 1e-3, 28: 15e-3, 32: 0.4, 36: 6.0, 38: 30.0}
"""log2 n of one run with d = g, a keyed permutation, and the seconds that are the goal."""

MANY = {8: 60e6, 16: 25e6, 32: 12e6, 64: 3e6, 128: 0.5e6}
"""g of many runs with d = g, and the runs per second that are the goal."""

SECONDS = 2.0
"""The length of a measurement of many runs, about."""
_FUSED_PACKETS = 2**28
"""Up to this many packets a large run is timed with fused, too."""
_REPEATS = 5


class Timed(NamedTuple):
    """A measurement beside its goal, in the same unit."""

    name: str
    cuda: float
    fused: float | None
    goal: float


def validate() -> int:
    """Compare both engines in every count; returns how many cases agreed, or fails."""
    checked = 0
    for d, g, choices in (
        (8, 8, {}), (32, 32, {}), (128, 128, {}), (96, 24, {"variant": "idealized"}),
        (32, 32, {"router": "relay", "variant": "P2 P1 P1 P1 R2"}),
    ):  # fmt: skip
        found, expected = (
            popsnet.route(d, g, runs=2000, engine=name, progress=False, **choices).outcomes  # type: ignore[arg-type]
            for name in ("cuda", "fused")
        )
        if (found.table != expected.table).any() or (found.survivors != expected.survivors).any():
            raise SystemExit(f"The engines do not agree on POPS({d}, {g}) {choices}.")
        checked += len(found)
    for g in (1024, 4096):
        for permutation in ("keyed", "random"):
            outcomes = [
                popsnet.route(g, g, permutation=permutation, engine=name, progress=False)[0].outcome
                for name in ("cuda", "fused")
            ]
            if outcomes[0] != outcomes[1]:
                raise SystemExit(f"The engines do not agree on POPS({g}, {g}), {permutation}.")
            checked += 1
    return checked


def best_of(call: Callable[[], object]) -> float:
    """Return the shortest of some times, after one that is not counted."""
    call()
    times = []
    for _ in range(_REPEATS):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return min(times)


def large_run(bits: int) -> float | None:
    """Return the seconds of one run in a session that is open; None if it does not fit."""
    g = 2 ** (bits // 2)
    experiment = popsnet.Experiment(g, g, permutation="keyed")
    if ENGINE.supports(experiment) is not None:
        return None
    with ENGINE.open(experiment) as session:
        return best_of(lambda: list(session.run(range(1))))


def route_seconds(bits: int, engine: str) -> float:
    """Return the seconds of ``popsnet.route``, which opens a session and closes it."""
    g = 2 ** (bits // 2)
    return best_of(lambda: popsnet.route(g, g, permutation="keyed", engine=engine, progress=False))


def runs_per_second(g: int, engine: str, guess: float) -> float:
    """Return how many runs ``popsnet.distribution`` executes per second."""
    runs = max(int(guess * SECONDS), 1000)

    def call(some: int) -> float:
        begin = time.perf_counter()
        popsnet.distribution(g, g, runs=some, engine=engine, exact=False, progress=False)
        return time.perf_counter() - begin

    call(1000)
    return runs / call(runs)


def show(
    console: Console, title: str, unit: str, rows: list[Timed], *, faster_is_less: bool
) -> None:
    """Print measurements beside their goals."""
    table = Table(title=title)
    for heading in ("", f"cuda, {unit}", f"fused, {unit}", "ratio", f"goal, {unit}", "met"):
        table.add_column(heading, justify="right")
    for row in rows:
        ratio = "–"
        if row.fused is not None:
            ratio = f"{row.fused / row.cuda if faster_is_less else row.cuda / row.fused:,.1f}"
        met = row.cuda <= row.goal if faster_is_less else row.cuda >= row.goal
        table.add_row(
            row.name, f"{row.cuda:,.4g}", "–" if row.fused is None else f"{row.fused:,.4g}", ratio,
            f"{row.goal:,.4g}", "yes" if met else "no",
        )  # fmt: skip
    console.print(table)


def main() -> None:
    """Validate, then time."""
    status = describe_device()
    if not status.available or is_simulated():
        raise SystemExit(f"This benchmark needs a GPU: {status.reason or 'this is a simulator'}.")
    console = Console()
    console.print(
        f"{status.name}, compute capability {status.compute_capability}, {status.memory:,} bytes; "
        f"driver for CUDA {status.driver}, toolkit {status.runtime}, numba-cuda {status.package}; "
        f"popsnet {popsnet.__version__}, Python {platform.python_version()}, "
        f"{threads_here()} processors of the host"
    )
    console.print(f"{validate():,} runs agree with fused in every count")
    many = [
        Timed(
            f"n = {g * g:,}",
            runs_per_second(g, "cuda", goal),
            runs_per_second(g, "fused", 1e5),
            goal,
        )
        for g, goal in MANY.items()
    ]
    show(console, "Many runs: popsnet.distribution", "runs/s", many, faster_is_less=False)
    large, called = [], []
    for bits, goal in LARGE.items():
        seconds = large_run(bits)
        if seconds is None:
            console.print(f"n = 2^{bits} does not fit in the memory of this GPU")
            continue
        fused = route_seconds(bits, "fused") if 2**bits <= _FUSED_PACKETS else None
        large.append(Timed(f"n = 2^{bits}", seconds, fused, goal))
        called.append(Timed(f"n = 2^{bits}", route_seconds(bits, "cuda"), fused, goal))
    show(console, "One run, in an open session", "s", large, faster_is_less=True)
    show(console, "One run: popsnet.route, with its session", "s", called, faster_is_less=True)


if __name__ == "__main__":
    main()
    sys.exit(0)
