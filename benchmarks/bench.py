"""How fast are the engines? Validates them against ``objects``, then times them side by side.

Prints nanoseconds per packet of whole runs of mei-rizzi and of relay on d = g, permutation
included, then what users call (``popsnet.route``, ``collect`` and a sweep) beside the bare kernel,
and ratios measured in the same run; writes JSON and a figure. The yardstick is a plain
object-oriented C++ simulator of the same five slots (yardstick.cpp), built if there is a g++.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import numba
import numpy as np
from growth import HERE, draw_growth, read_arguments
from rich.console import Console
from rich.table import Table

import popsnet
from popsnet import Coins, Experiment, Network, Sweep, collect, route
from popsnet.base.files import write_whole
from popsnet.base.system import available_memory
from popsnet.engines import ENGINES, Instance
from popsnet.engines.fused import RESIDENT, FusedSession, kernel_of
from popsnet.engines.fused.kernel import Seeds
from popsnet.engines.fused.team import Team
from popsnet.programs.router import get_router
from popsnet.programs.routers.mei_rizzi import INTERMEDIATE_GROUP
from popsnet.workloads.permutations.uniform import UniformPermutation

LARGEST = {"objects": 2**14, "slots": 2**24, "yardstick": 2**24}
RELAY_INSTANCES = (
    (8, 8, "S"), (17, 17, "S"), (32, 32, "P2 P1"), (32, 32, "P1 R2 R1"), (20, 6, "P(5,3) F R2"),
    (5, 17, "XY(2,2)"),
)  # fmt: skip
RELAY_EXPONENTS = (10, 16, 20, 24)
SECONDS_PER_FIGURE = 1.5
"""A figure is the median of what is measured in this time, two measurements at least."""

USERS = {32: 200_000, 256: 6000}
"""Networks d = g on which what users call is timed, and runs of each measurement."""
SWEPT = 10
"""Experiments that the runs of a sweep are spread over."""


def validate(yardstick: Path | None) -> int:
    """Run every engine on the same instances; returns how many agreed, or fails."""
    router, checked = get_router("mei-rizzi"), 0
    for d, g in ((1, 1), (2, 2), (3, 3), (8, 8), (17, 17), (32, 32), (9, 4), (64, 4)):
        network, variant = Network(d, g), "published" if d == g else "idealized"
        for seed in range(4):
            destination = UniformPermutation(network.n, Coins(seed)).array()
            instance = Instance(network, router, variant, destination, Coins(seed), 1000)
            expected = ENGINES["slots"].execute(instance, ())
            if d == g:
                require(ENGINES["objects"].execute(instance, ()) == expected)
            expected = replace(expected, peak_buffers=None)
            require(ENGINES["fused"].execute(instance, ()) == expected)
            require(partitioned(instance) == list(expected.survivors))
            if yardstick is not None and d == g:
                require(_yardstick_survivors(yardstick, instance) == list(expected.survivors))
            checked += 1
    slow, fast = (route(8, 8, runs=20, engine=engine) for engine in ("slots", "fused"))
    require([run.survivors for run in slow] == [run.survivors for run in fast])
    return checked + 20 + validate_relay()


def validate_relay() -> int:
    """The same for relay, schedules of all stages."""
    router, checked = get_router("relay"), 0
    for d, g, text in RELAY_INSTANCES:
        network = Network(d, g)
        for seed in range(4):
            destination = UniformPermutation(network.n, Coins(seed)).array()
            instance = Instance(network, router, text, destination, Coins(seed), 1000)
            expected = ENGINES["slots"].execute(instance, ())
            if text == "S" and d == g:
                require(ENGINES["objects"].execute(instance, ()) == expected)
            require(ENGINES["fused"].execute(instance, ()) == replace(expected, peak_buffers=None))
            checked += 1
    return checked


def require(agreed: bool) -> None:
    """End here if engines differ."""
    if not agreed:
        raise SystemExit("The engines do not agree: their speed is of no interest.")


def partitioned(instance: Instance) -> list[int]:
    """The survivors found by the driver for large runs."""
    team = Team(2)
    try:
        rows = kernel_of(instance).large_run(team).steps(instance, lambda *_: None)
        return [int(row["undelivered"]) for row in rows]
    finally:
        team.close()


def _yardstick_survivors(yardstick: Path, instance: Instance) -> list[int]:
    with tempfile.TemporaryDirectory() as folder:
        destination, keys = Path(folder) / "destination", Path(folder) / "keys"
        destination.write_text(" ".join(map(str, instance.array().tolist())))
        steps = (str(instance.coins.key(INTERMEDIATE_GROUP, step)) for step in range(200))
        keys.write_text("\n".join(steps))
        command = [str(yardstick), str(instance.network.g), "1", "0", str(destination), str(keys)]
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    survivors: list[int] = json.loads(output)["survivors"]
    return survivors


def build_yardstick(folder: Path) -> Path | None:
    """The compiled yardstick, or None where there is no g++."""
    compiler = shutil.which("g++")
    if compiler is None:
        return None
    program = folder / "yardstick"
    options = ["-O3", "-march=native", "-std=c++17", "-o", str(program)]
    subprocess.run([compiler, *options, str(HERE / "yardstick.cpp")], check=True)
    return program


def measure(work: Callable[[], int]) -> float:
    """Seconds a run, the median of several measurements; ``work`` says how many runs it did."""
    work()  # compiles, and touches the memory
    seconds: list[float] = []
    begin = time.perf_counter()
    while len(seconds) < 2 or time.perf_counter() - begin < SECONDS_PER_FIGURE:
        start = time.perf_counter()
        runs = work()
        seconds.append((time.perf_counter() - start) / runs)
    return median(seconds)


def one_run(engine: str, g: int, router: str = "mei-rizzi") -> Callable[[], int]:
    """A single run."""
    experiment = Experiment(g, g, router=router)

    def work() -> int:
        return len(route(experiment, engine=engine, progress=False))

    return work


def fused_runs(
    g: int, threads: int, name: str = "mei-rizzi"
) -> tuple[FusedSession, Callable[[], int]]:
    """Many small runs, one per thread; or one large run on all threads, in memory that is there."""
    experiment = Experiment(g, g, router=name)
    network = experiment.network
    session = FusedSession(kernel_of(experiment), threads)
    if network.n <= RESIDENT:
        runs = max(2**24 // network.n, threads)
        return session, lambda: bare_runs(session, runs, threads)
    instance = replace(
        experiment.instance(0), destination=UniformPermutation(network.n, Coins(0)), coins=Coins(0)
    )

    def work() -> int:
        session.execute(instance)
        return 1

    return session, work


def bare_runs(session: FusedSession, runs: int, threads: int) -> int:
    """Do runs by the compiled code alone: every thread its share, nothing done with the log."""

    def work(t: int) -> None:
        first, last = runs * t // threads, runs * (t + 1) // threads
        seeds = Seeds(np.uint64(0), np.uint64(0))
        while first < last:
            first += session.workers[t].route(seeds, first, last)

    with ThreadPoolExecutor(threads) as executor:
        list(executor.map(work, range(threads)))
    return runs


def time_users(console: Console) -> list[dict[str, Any]]:
    """Runs per second by the bare kernel and by what users call, results validated first."""
    rows = []
    for g, runs in USERS.items():
        with console.status(f"timing what users call, d = g = {g}"):
            seconds = _users(Experiment(g, g), runs, os.cpu_count() or 1)
        row: dict[str, Any] = {"n": g * g}
        for name, one in seconds.items():
            row[name] = 1 / one
            if name != "kernel":
                row[f"{name} %"] = 100 * seconds["kernel"] / one
        rows.append(row)
    return rows


def _users(experiment: Experiment, runs: int, threads: int) -> dict[str, float]:
    """Seconds per run."""
    session = FusedSession(kernel_of(experiment), threads)
    with session, tempfile.TemporaryDirectory() as folder:
        few = route(experiment, runs=200, engine="slots", progress=False).tally
        require(_collected(experiment, 200, folder) == few)
        return {
            "kernel": measure(lambda: bare_runs(session, runs, threads)),
            "route": measure(lambda: len(route(experiment, runs=runs, progress=False))),
            "collect": measure(lambda: _collected(experiment, runs, folder).runs),
            "sweep": measure(lambda: _swept(experiment.g, runs, folder)),
        }


def _collected(experiment: Experiment, runs: int, folder: str) -> popsnet.Tally:
    """The tally of runs that were collected into a new store."""
    store = Path(folder) / "new.sqlite"
    store.unlink(missing_ok=True)
    (tally,) = collect([experiment], runs=runs, store=store, progress=False)
    return tally


def _swept(g: int, runs: int, folder: str) -> int:
    """A sweep from a file to a file: several experiments that differ in their seeds."""
    file, store = Path(folder) / "sweep.toml", Path(folder) / "swept.sqlite"
    store.unlink(missing_ok=True)
    grids = (f"[[grid]]\nd = {g}\ng = {g}\nseed = {seed}\n" for seed in range(SWEPT))
    file.write_text(f"runs = {runs // SWEPT}\n{''.join(grids)}")
    return sum(tally.runs for tally in collect(Sweep.read(file), store=store, progress=False))


def yardstick_runs(program: Path, g: int) -> float:
    """Seconds a run, timed by the yardstick itself."""
    runs = max(2**20 // g**2, 1)
    command = [str(program), str(g), str(runs), "1"]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return float(json.loads(output)["seconds"]) / runs


def time_engines(
    sizes: list[int], yardstick: Path | None, console: Console
) -> list[dict[str, Any]]:
    """A row for every size: nanoseconds per packet by engine."""
    threads = os.cpu_count() or 1
    rows = []
    for exponent in sizes:
        n, g = 2**exponent, 2 ** (exponent // 2)
        row: dict[str, Any] = {"n": n}
        with console.status(f"timing n = 2^{exponent}"):
            for engine in ("objects", "slots"):
                if n <= LARGEST[engine]:
                    row[engine] = measure(one_run(engine, g)) / n * 1e9
            for name, count in (("fused ×1", 1), (f"fused ×{threads}", threads)):
                session, work = fused_runs(g, count)
                with session:
                    row[name] = measure(work) / n * 1e9
            if yardstick is not None and n <= LARGEST["yardstick"]:
                row["yardstick"] = median(yardstick_runs(yardstick, g) for _ in range(3)) / n * 1e9
        fastest = row[f"fused ×{threads}"]
        row["runs/s"] = 1e9 / (fastest * n)
        row["ratio"] = row["yardstick"] / fastest if "yardstick" in row else None
        rows.append(row)
    return rows


def time_relay(
    exponents: list[int], others: list[dict[str, Any]], console: Console
) -> list[dict[str, Any]]:
    """A row for every size that mei-rizzi was timed on too: nanoseconds per packet by engine."""
    threads, rows = os.cpu_count() or 1, []
    fused = f"fused ×{threads}"
    for exponent in exponents:
        n, g = 2**exponent, 2 ** (exponent // 2)
        with console.status(f"timing relay, n = 2^{exponent}"):
            row: dict[str, Any] = {"n": n, "slots": measure(one_run("slots", g, "relay")) / n * 1e9}
            for name, count in (("fused ×1", 1), (fused, threads)):
                session, work = fused_runs(g, count, "relay")
                with session:
                    row[name] = measure(work) / n * 1e9
        row["runs/s"] = 1e9 / (row[fused] * n)
        other = next(other[fused] for other in others if other["n"] == n)
        row["to mei-rizzi"] = row[fused] / other
        rows.append(row)
    return rows


def fits(exponent: int) -> bool:
    """Whether a large run can be held here."""
    g = 2 ** (exponent // 2)
    return ENGINES["fused"].memory(Experiment(g, g)) < available_memory()


def table_of(rows: list[dict[str, Any]], router: str = "mei-rizzi") -> Table:
    """The rows for people."""
    table = Table(
        title=f"nanoseconds per packet, whole runs of {router}, d = g",
        caption="fused ×T: on T threads; runs/s and ratios: on all threads, yardstick to fused, "
        "relay to mei-rizzi",
    )
    for name in rows[0]:
        table.add_column(name, justify="right")
    for row in rows:
        cells = [_short(row.get(name)) for name in list(rows[0])[1:]]
        table.add_row(f"2^{row['n'].bit_length() - 1}", *cells)
    return table


def users_table(rows: list[dict[str, Any]]) -> Table:
    """What users call, for people."""
    table = Table(
        title="runs per second of mei-rizzi, d = g, by what users call",
        caption=f"kernel: the compiled code alone; %: of it; sweep: {SWEPT} experiments, from a "
        "file to a file",
    )
    for name in rows[0]:
        table.add_column(name, justify="right")
    for row in rows:
        cells = [f"{value:,.0f}" for name, value in row.items() if name != "n"]
        table.add_row(f"2^{row['n'].bit_length() - 1}", *cells)
    return table


def _short(figure: float | None) -> str:
    if figure is None:
        return ""
    return f"{figure:,.0f}" if figure >= 100 else f"{figure:.1f}"


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """The growth curves."""
    names = (name for name in rows[0] if name not in ("n", "runs/s", "ratio"))
    curves = zip(names, "osD^v<>", strict=False)
    draw_growth(path, rows, curves, x="processors n = g²", y="nanoseconds per packet")


def main() -> None:
    """Validate, time, print, write."""
    arguments, console = read_arguments(__doc__, least=10, most=28), Console()
    with tempfile.TemporaryDirectory() as folder:
        yardstick = build_yardstick(Path(folder))
        if yardstick is None:
            console.print("There is no g++ here: no yardstick.")
        checked = validate(yardstick)
        console.print(f"All engines agree on {checked} instances, step by step.")
        sizes = [*range(10, min(arguments.max_exponent, 24) + 1, 2)]
        sizes += [e for e in range(26, arguments.max_exponent + 1, 2) if fits(e)]
        rows = time_engines(sizes, yardstick, console)
        relay = time_relay([e for e in RELAY_EXPONENTS if e in sizes], rows, console)
        users = time_users(console)
    console.print(table_of(rows))
    console.print(table_of(relay, "relay"))
    console.print(users_table(users))
    report = {
        "popsnet": popsnet.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
        "machine": platform.platform(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "instances_validated": checked,
        "nanoseconds_per_packet": rows,
        "nanoseconds_per_packet_relay": relay,
        "runs_per_second_of_users": users,
    }
    with write_whole(arguments.out / "bench.json") as file:
        json.dump(report, file, indent=2)
    draw(rows, arguments.out / "bench.png")
    console.print(f"Written to {arguments.out}: bench.json, bench.png")


def _processor() -> str:
    for line in (
        Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else ()
    ):
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()


if __name__ == "__main__":
    main()
