"""Traces of every router and scheduler, and the results of runs on every engine."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import popsnet
from popsnet.engines.outcome import COLUMNS
from popsnet.traffic import TrafficExperiment, write_trace
from tests.golden.experiments import (
    ANY,
    FAULTS,
    SCHEDULERS,
    SHAPES,
    TALL,
    Keys,
    described,
    experiment_of,
)
from tests.golden.files import write_files
from tests.golden.golden import Cases, hashed

_STEPS = 12
"""Runs of routers that lose packets end after this many steps."""

_TRACE_SLOTS = 80


def traced_routes() -> Iterator[Keys]:
    """Yield runs of every router and variant: without faults, with, and with wavelengths."""
    for router, shapes in SHAPES.items():
        for d, g in (shapes[0], shapes[-1]) if router != "mei-rizzi:idealized" else ():
            yield {"d": d, "g": g, "router": router, "seed": 3}
    tolerant = (
        "mei-rizzi:published",
        "mei-rizzi:deferred",
        "batcher",
        "direct",
        "offline",
        "relay",
        "relay:census",
        "relay:survive",
        "relay:survive-flooded",
    )
    for number, router in enumerate(tolerant):
        for faults in (FAULTS[number % len(FAULTS)], FAULTS[(number + 1) % len(FAULTS)]):
            yield {
                "d": 4,
                "g": 4,
                "router": router,
                "faults": faults,
                "fault_seed": 5,
                "max_steps": _STEPS,
            }
    for router in ("offline", "relay", "relay:S"):
        yield {"d": 8, "g": 2, "router": router, "wavelengths": 2, "seed": 4}
    for router in ("direct", "offline", "relay"):
        for demand in ("demand", "matrix"):
            yield {"d": 4, "g": 2, "router": router, "packets": demand}
        yield {
            "d": 4,
            "g": 2,
            "router": router,
            "packets": "demand",
            "faults": "coupler:0-1",
            "max_steps": _STEPS,
        }
    for permutation in ("p.npy", "array", "keyed", "shift:d"):
        yield {"d": 4, "g": 2, "permutation": permutation}
    yield {"d": 4, "g": 2, "router": "routed.py"}
    yield {"d": 4, "g": 2, "router": "routed.py", "faults": "coupler:0-1"}


def traced_traffic() -> Iterator[Keys]:
    """Yield points of every scheduler and variant: without faults, with, and with wavelengths."""
    for number, scheduler in enumerate((*SCHEDULERS, "scheduled.py")):
        d, g = ((4, 4), (8, 2), (3, 5))[number % 3]
        same: Keys = {"d": d, "g": g, "scheduler": scheduler, "load": 0.05, "seed": 2}
        yield same
        yield {**same, "burst": 3, "buffer": 2, "arrival_seed": 7}
        yield {**same, "load": 0.03, "faults": FAULTS[number % len(FAULTS)], "fault_seed": 3}
        yield {**same, "load": 0.03, "faults": "random:couplers=1@20", "known_faults": True}
    for scheduler in ("tdm", "rotor", "vlb"):
        yield {"d": 8, "g": 2, "scheduler": scheduler, "load": 0.1, "wavelengths": 2}
    yield {"d": 4, "g": 2, "scheduler": "rotor", "packets": "packets.csv"}


def run_routes() -> Iterator[tuple[Keys, str]]:
    """Yield runs with the engine that executes them."""
    for router, shapes in SHAPES.items():
        for d, g in (shapes[0], shapes[len(shapes) // 2]):
            yield {"d": d, "g": g, "router": router, "seed": 1}, "slots"
    for d, g in ((4, 4), (3, 3), (1, 1)):
        for engine in ("objects", "fused"):
            yield {"d": d, "g": g, "router": "mei-rizzi:published", "seed": 6}, engine
            yield {"d": d, "g": g, "router": "relay:S Q P1", "seed": 6}, engine
    for d, g in (*TALL[:4], (8, 1)):
        for variant in ("deferred", "idealized"):
            keys = {"d": d, "g": g, "router": f"mei-rizzi:{variant}", "seed": 6}
            yield {**keys, "max_steps": 50}, "fused"
    compiled = (
        "relay:S",
        "relay:P2  P1 R1",
        "relay:Q P1",
        "relay:T4 P1",
        "relay:X2 P1",
        "relay:XY(2,4)",
        "relay:P1 | F R2",
    )
    for router in compiled:
        for d, g in (SHAPES[router][0], SHAPES[router][-1]):
            yield {"d": d, "g": g, "router": router, "permutation_seed": 8}, "fused"
    yield {"d": 64, "g": 32, "router": "relay", "permutation": "keyed"}, "fused"
    yield {"d": 32, "g": 32, "router": "mei-rizzi", "permutation": "transpose"}, "fused"
    for number, router in enumerate(("mei-rizzi", "direct", "relay", "relay:survive", "datta")):
        faults = FAULTS[number % len(FAULTS)]
        yield {"d": 4, "g": 4, "router": router, "faults": faults, "max_steps": _STEPS}, "slots"
    yield {"d": 8, "g": 2, "router": "relay", "wavelengths": 2}, "auto"
    yield {"d": 4, "g": 2, "router": "relay", "packets": "demand"}, "auto"


def run_traffic() -> Iterator[tuple[Keys, str]]:
    """Yield points with the engine that executes them."""
    lengths: tuple[Keys, ...] = ({"slots": 150}, {"precision": 0.2, "max_slots": 1000})
    for number, scheduler in enumerate(SCHEDULERS):
        d, g = ANY[number % len(ANY)]
        same = {"d": d, "g": g, "scheduler": scheduler, "load": 0.02 + 0.03 * (number % 3 == 0)}
        yield {**same, **lengths[1], "burst": 2, "buffer": 3}, "fused"
        yield {**same, **lengths[0], "d": 3, "g": 2}, "slots"
    for number, scheduler in enumerate(("tdm", "rotor", "aloha", "epochs")):
        keys = {"d": 3, "g": 2, "scheduler": scheduler, "load": 0.02, **lengths[0]}
        yield {**keys, "faults": FAULTS[number % len(FAULTS)], "fault_seed": 1}, "slots"
    known = {"faults": "coupler:0-1", "known_faults": True}
    yield {"d": 3, "g": 2, "scheduler": "vlb", "load": 0.02, **lengths[0], **known}, "slots"
    yield from lists_and_rates("fused")
    yield _with_wavelengths("rotor"), "slots"


def lists_and_rates(engine: str) -> Iterator[tuple[Keys, str]]:
    """Yield points with other arrivals."""
    list_of_packets = {"d": 4, "g": 2, "scheduler": "rotor", "packets": "packets.csv"}
    yield list_of_packets, engine
    yield {**list_of_packets, "slots": 20}, engine
    over = {"d": 4, "g": 2, "scheduler": "tdm", "load": 0.9, "overload": True, "slots": 150}
    yield over, engine
    rates = {"d": 4, "g": 2, "scheduler": "vlb", "load": 0.1, "matrix": "rates.csv", "slots": 150}
    yield rates, engine


def run_more_traffic() -> Iterator[tuple[Keys, str]]:
    """Yield points that take seconds each message by message."""
    for number, scheduler in enumerate(SCHEDULERS):
        keys = {"d": 4, "g": 4, "scheduler": scheduler, "load": 0.02, "slots": 400}
        yield keys, "fused"
        yield keys, "slots"
        yield {**keys, "faults": FAULTS[number % len(FAULTS)], "fault_seed": 2}, "slots"
        yield {**keys, "faults": "processor:1@300", "known_faults": True}, "slots"
    for scheduler in ("tdm", "vlb"):
        yield _with_wavelengths(scheduler), "slots"
    yield from lists_and_rates("slots")


def _with_wavelengths(scheduler: str) -> Keys:
    return {"d": 8, "g": 2, "scheduler": scheduler, "load": 0.1, "slots": 150, "wavelengths": 2}


def traces(folder: Path) -> Cases:
    """Return the cases of this section: a hash of the trace of each."""
    write_files(folder)
    routes = {described(keys): _traced_route(keys) for keys in traced_routes()}
    return routes | {described(keys): _traced_traffic(keys) for keys in traced_traffic()}


def results(folder: Path) -> Cases:
    """Return the cases of this section: counts of runs and measures of points."""
    write_files(folder)
    cases = {f"{described(keys)} ({engine})": _run(keys, engine) for keys, engine in run_routes()}
    return cases | _points(run_traffic())


def longer_results(folder: Path) -> Cases:
    """Return the cases of this section, more points."""
    write_files(folder)
    return _points(run_more_traffic())


def _points(points: Iterator[tuple[Keys, str]]) -> Cases:
    return {f"{described(keys)} ({engine})": _point(keys, engine) for keys, engine in points}


def _traced_route(keys: Keys) -> Callable[[], str]:
    def trace() -> str:
        popsnet.route(_route(keys), trace="run.jsonl", progress=False)
        return _lines()

    return trace


def _traced_traffic(keys: Keys) -> Callable[[], str]:
    def trace() -> str:
        write_trace(_traffic(keys), "run.jsonl", slots=_TRACE_SLOTS)
        return _lines()

    return trace


def _lines() -> str:
    """Return the number of lines of a trace, their hash, and whether its packets are delivered."""
    lines = Path("run.jsonl").read_bytes().splitlines()
    ok = popsnet.check_trace("run.jsonl").ok
    return f"{len(lines)} lines, {hashed(b''.join(lines))}, {ok}"


def _run(keys: Keys, engine: str) -> Callable[[], dict[str, Any]]:
    def run() -> dict[str, Any]:
        runs = popsnet.route(_route(keys), runs=4, first=2, engine=engine, progress=False)
        counts = {name: getattr(runs, name) for name in COLUMNS}
        outcomes = [
            [run.outcome.survivors, run.outcome.lost_packets, run.outcome.faulty] for run in runs
        ]
        return counts | {"engine": runs.engine, "rest": hashed(json.dumps(outcomes, default=list))}

    return run


def _point(keys: Keys, engine: str) -> Callable[[], dict[str, Any]]:
    return lambda: popsnet.simulate(_traffic(keys), engine=engine, progress=False).to_dict()


def _route(keys: Keys) -> popsnet.Experiment:
    experiment = experiment_of(keys)
    assert isinstance(experiment, popsnet.Experiment)
    return experiment


def _traffic(keys: Keys) -> TrafficExperiment:
    experiment = experiment_of(keys)
    assert isinstance(experiment, TrafficExperiment)
    return experiment
