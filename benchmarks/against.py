"""Is this tree as fast as another one? Compares routers, schedules and every scheduler.

    python benchmarks/against.py PATH [--largest 24] [--only relay] [--rounds 3] [--repeat 10]

PATH is a checkout of popsnet, such as a ``git worktree`` of an older commit. Both trees do the same
work in turns, each in processes of its own, and must have the same results. Printed is the least
processor time of all turns, and its ratio, which depends little on what else the computer does.
Several rounds are needed, because where the memory of a process lies makes it up to 4 % slower.
The exit code is 1 if a ratio is above the limit.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import popsnet
from popsnet import Experiment, Network
from popsnet.engines import ENGINES
from popsnet.traffic import TrafficExperiment, all_schedulers, find_scheduler

HERE = Path(__file__).parents[1]

ROUTERS = (
    (5, 5, "mei-rizzi", None), (10, 10, "mei-rizzi", None), (12, 12, "mei-rizzi", None),
    (5, 5, "mei-rizzi", "deferred"), (10, 10, "mei-rizzi", "deferred"),
    (7, 3, "mei-rizzi", "idealized"), (5, 5, "relay", None), (10, 10, "relay", None),
    (12, 12, "relay", None), (8, 4, "relay", None), (3, 7, "relay", None),
)  # fmt: skip
"""The exponents of d and g, the router and its variant."""

MESSAGES = ("direct", "mei-rizzi", "relay", "batcher")
"""Routers that are also run message by message."""

PACKETS = {"fused": 2**18, "slots": 2**10}
"""Packets of a turn by engine; at least one run is done."""

SCHEDULED = (4, 64), (64, 64)
SLOTS = 2**12
"""Of a turn of a scheduler."""

Work = Callable[[], object]


def rows(largest: int) -> dict[str, partial[Work]]:
    """Everything that is compared: what prepares it, and returns the work of a turn."""
    named: dict[str, partial[Work]] = {}
    for d, g, router, variant in ROUTERS:
        if d + g <= largest:
            experiment = f"{router}{f':{variant}' if variant else ''}"
            name = f"{experiment} on POPS({2**d}, {2**g})"
            named[name] = partial(runs, 2**d, 2**g, experiment, "fused")
    for router in MESSAGES:
        named[f"{router} by messages"] = partial(runs, 16, 16, router, "slots")
    for d, g in SCHEDULED:
        named[f"schedule on POPS({d}, {g})"] = partial(schedules, d, g)
    for scheduler in all_schedulers():
        named[f"traffic {scheduler.name}"] = partial(slots, scheduler.name)
    return named


def runs(d: int, g: int, router: str, engine: str) -> Work:
    """Runs on one thread; their counts."""
    experiment = Experiment(d, g, router=router)
    session = ENGINES[engine].open(experiment, threads=1)
    numbers = range(max(PACKETS[engine] // (d * g), 1))
    return lambda: [int(some.table.sum()) for some in session.run(numbers)]


def schedules(d: int, g: int) -> Work:
    """A schedule of random packets, d for each processor; its slots."""
    pairs = np.random.default_rng(0).integers(g, size=(2, d * d * g))
    counts = np.zeros((g, g), dtype=np.int64)
    np.add.at(counts, tuple(pairs), 1)
    return lambda: popsnet.schedule(Network(d, g), matrix=counts).slots


def slots(name: str) -> Work:
    """Traffic at half of the load that a scheduler states, arrivals and measures included."""
    network = Network(16, 16)
    stated = find_scheduler(name).saturation
    assert stated is not None
    load = stated(network) / 2
    experiment = TrafficExperiment(16, 16, scheduler=name, load=load, slots=SLOTS)

    def work() -> object:
        result = popsnet.simulate(experiment, progress=False)
        return result.warm_up, result.slots, result.drain, result.offered, result.accepted

    return work


def serve(folder: Path, largest: int) -> None:
    """Do the rows that are named on the standard input; print their seconds and results."""
    if not Path(popsnet.__file__).is_relative_to(folder.absolute()):
        raise SystemExit(f"{folder} has no src/popsnet: give a checkout of popsnet.")
    named, ready = rows(largest), dict[str, Work]()
    for line in sys.stdin:
        name = line.strip()
        if name not in ready:
            ready[name] = named[name]()
            ready[name]()  # compiles
        begin = time.process_time()
        result = ready[name]()
        print(f"{time.process_time() - begin}\t{result}", flush=True)


class Tree:
    """A process that imports popsnet from a folder."""

    def __init__(self, folder: Path, largest: int) -> None:
        self._folder = folder
        command = [sys.executable, __file__, str(folder), "--serve", "--largest", str(largest)]
        environment = os.environ | {"PYTHONPATH": str(folder / "src")}
        self._process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self) -> Tree:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def do(self, name: str) -> tuple[float, str]:
        """Do a row once, and return the seconds and the result."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(name, file=self._process.stdin, flush=True)
        seconds, _, result = self._process.stdout.readline().partition("\t")
        if not result:
            raise SystemExit(f"{self._folder} failed at {name}.")
        return float(seconds), result


def compare(trees: Sequence[Tree], name: str, repeat: int) -> list[float]:
    """Return the least seconds of each tree; they take turns."""
    times: list[list[float]] = [[] for _ in trees]
    for turn in range(repeat):
        results = {}
        for i in range(len(trees)) if turn % 2 else reversed(range(len(trees))):
            seconds, results[i] = trees[i].do(name)
            times[i].append(seconds)
        if len(set(results.values())) > 1:
            raise SystemExit(f"The results of {name} differ: their speed is of no interest.")
    return [min(seconds) for seconds in times]


def main(given: list[str] | None = None) -> None:
    """Compare, print, and judge."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("tree", type=Path, help="another checkout of popsnet")
    parser.add_argument("--largest", type=int, default=24, help="largest n as a power of 2")
    parser.add_argument("--only", default="", help="rows whose names contain this")
    parser.add_argument("--rounds", type=int, default=3, help="processes of each tree")
    parser.add_argument("--repeat", type=int, default=10, help="turns of each process")
    parser.add_argument("--limit", type=float, default=1.02, help="the largest ratio")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(given)
    if options.serve:
        serve(options.tree, options.largest)
        return
    names = [name for name in rows(options.largest) if options.only in name]
    best = {name: [float("inf")] * 2 for name in names}
    for _ in range(options.rounds):
        with Tree(HERE, options.largest) as here, Tree(options.tree, options.largest) as it:
            for name in names:
                least = compare((here, it), name, options.repeat)
                best[name] = [min(pair) for pair in zip(best[name], least, strict=True)]
    table = Table("row", "here, ms", "there, ms", "ratio")
    slower = []
    for name, (here_seconds, there_seconds) in best.items():
        ratio = here_seconds / there_seconds
        slower += [name] if ratio > options.limit else []
        cells = f"{1e3 * here_seconds:.2f}", f"{1e3 * there_seconds:.2f}", f"{ratio:.3f}"
        table.add_row(name, *cells)
    Console().print(table)
    if slower:
        raise SystemExit(f"More than {options.limit:g} times as slow: {', '.join(slower)}.")


if __name__ == "__main__":
    main()
