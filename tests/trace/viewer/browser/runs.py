"""The runs that are played, as recordings."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from popsnet import Network, route
from popsnet.programs.schedules.demand import Demand
from popsnet.runs.schedule import schedule
from popsnet.trace.viewer import Recording

__all__ = ["LOSING", "SMALL", "deaf", "lines_of", "nothing", "of_lines", "run_of", "scheduled"]


@cache
def run_of(d: int, g: int, router: str = "mei-rizzi", **choices: Any) -> Recording:
    """The first run of an experiment."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "run.jsonl"
        route(d, g, router=router, trace=path, **choices)
        return Recording.of(path.read_text())


@cache
def scheduled() -> Recording:
    """Packets that start anywhere, several at one processor, and some where they are to go."""
    start = np.array([0, 0, 1, 3, 5, 5, 4, 2, 1])
    destination = np.array([5, 2, 1, 0, 0, 3, 4, 4, 0])
    return _routed(Demand(Network(2, 3), start, destination))


@cache
def nothing() -> Recording:
    """No packets, and so no slots."""
    none = np.zeros(0, dtype=np.int64)
    return _routed(Demand(Network(2, 3), none, none))


def _routed(demand: Demand) -> Recording:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "run.jsonl"
        schedule(demand.network, packets=demand, trace=path)
        return Recording.of(path.read_text())


def lines_of(recording: Recording) -> list[dict[str, Any]]:
    return [json.loads(line) for line in recording.text.splitlines()]


def of_lines(lines: list[Any]) -> Recording:
    return Recording.of("".join(json.dumps(line) + "\n" for line in lines))


def deaf(recording: Recording) -> Recording:
    """The same run, from a program that does not say who holds what."""
    lines = lines_of(recording)
    for line in lines:
        for name in ("buffers", "keeps", "drops"):
            line.pop(name, None)
    del lines[-1]["outcome"]["lost_packets"]
    return of_lines(lines)


LOSING = {"variant": "published", "seed": 17, "permutation_seed": 17}
"""On POPS(3, 2), where the published protocol loses two packets."""

SMALL = (4, 4)
