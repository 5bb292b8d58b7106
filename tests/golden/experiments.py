"""Three hundred experiments of both kinds: what they are called in stores, files and processes."""

from __future__ import annotations

import itertools
import json
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from popsnet import Experiment, Faults, InputError, Network
from popsnet.programs.schedules import Demand
from popsnet.traffic import TrafficExperiment
from tests.golden.files import REVERSED, write_files
from tests.golden.golden import Cases, hashed, without

Keys: TypeAlias = dict[str, Any]
Value: TypeAlias = Experiment | TrafficExperiment

ANY = ((4, 4), (8, 2), (6, 3), (3, 3), (2, 8), (5, 7))
TALL = tuple((d, g) for d, g in (*ANY, (16, 4)) if d >= g)
WIDE = tuple((d, g) for d, g in ANY if d < g)
SHAPES = {
    "mei-rizzi:published": TALL,
    "mei-rizzi:deferred": TALL,
    "mei-rizzi:idealized": TALL,
    "mei-rizzi:published+or": TALL,
    "mei-rizzi:deferred+or": TALL,
    "batcher": ((4, 4), (2, 8), (3, 3), (5, 7)),
    "datta": ((4, 4), (8, 2), (6, 3), (2, 8)),
    "aks": ANY,
    "direct": ANY,
    "offline": ANY,
    "relay": ANY,
    "relay:direct": ANY,
    "relay:roll-call": ((4, 4), (3, 3), (2, 2), (5, 5)),
    "relay:census": ((4, 4), (8, 2), (6, 3)),
    "relay:survive": ANY,
    "relay:survive-flooded": ANY,
    "relay:survive: VXY(2,4)": WIDE,
    "relay:P2  P1 R1": TALL,
    "relay:P1 | F R2": TALL,
    "relay:S": TALL,
    "relay:XY(2,4)": WIDE,
    "relay:Q P1": TALL,
    "relay:T4 P1": TALL,
    "relay:X2 P1": TALL,
    "relay:S+or": TALL,
}
PERMUTATIONS = ("random", "identity", "shift:1", "shift:d", "transpose", "reversal", "keyed")
FAULTS = (
    "coupler:0-1",
    "coupler:1-0@7 loss:0.001",
    "processor:3 random:couplers=1",
    "transmitter:2 receiver:1@4",
    "loss:0.125/listener",
    "random:processors=1@9",
)
SEEDS: tuple[Keys, ...] = (
    {},
    {"seed": 1},
    {"seed": 2**64 - 1, "max_steps": 7},
    {"permutation_seed": 9},
    {"seed": 3, "permutation_seed": 2**63 + 5, "max_steps": 10**6},
)

SCHEDULERS = (
    "tdm",
    "rotor",
    "vlb",
    "hop3",
    "aloha",
    "aloha:0.125",
    "aloha:1",
    "relay",
    "ideal",
    "ideal:fifo",
    "ideal:3",
    "epochs",
)
PATTERNS = (
    "uniform",
    "uniform-with-self",
    "group-shift",
    "hotspot:1:0.2",
    "incast:3",
    "gravity",
    "gravity:4",
    "transpose",
    "shift:d",
    "random",
    "identity",
)
LENGTHS: tuple[Keys, ...] = (
    {},
    {"slots": 500},
    {"precision": 0.05},
    {"max_slots": 10**6},
    {"precision": 0.1, "max_slots": 4000},
)
MIXED: tuple[Keys, ...] = (
    {},
    {"buffer": 3},
    {"burst": 4},
    {"seed": 5, "arrival_seed": 6},
    {"overload": True},
    {"burst": 2.5, "buffer": 1, "seed": 2**64 - 1},
)


def route_keys() -> Iterator[Keys]:
    """Yield the parameters of experiments with routers."""
    places = [(router, shape) for router, shapes in SHAPES.items() for shape in shapes]
    for number, (router, (d, g)) in enumerate(places):
        faults: Keys = {}
        if number % 3 == 2:
            faults = {"faults": FAULTS[number // 3 % len(FAULTS)], "fault_seed": number % 2 * 11}
        yield {
            "d": d,
            "g": g,
            "router": router,
            "permutation": PERMUTATIONS[number % len(PERMUTATIONS)],
            **SEEDS[number % len(SEEDS)],
            **faults,
        }
    for router, wavelengths in itertools.product(("offline", "relay", "relay:S"), (2, 4)):
        yield {"d": 9, "g": 2, "router": router, "wavelengths": wavelengths}
        yield {"d": 8, "g": 2, "router": router, "wavelengths": wavelengths, "seed": 4}
    yield {"d": 4, "g": 4, "router": "offline", "wavelengths": 2, "faults": "coupler:0-1"}
    yield {"d": 4, "g": 2}
    yield {"d": 4, "g": 2, "faults": Faults(couplers=["0-1"], loss=0.001), "fault_seed": 3}
    for name in ("p.npy", "p.csv", "p.json", "array"):
        for router in ("mei-rizzi", "routed.py", "relay:S"):
            yield {"d": 4, "g": 2, "router": router, "permutation": name}
    for router, demand in itertools.product(("direct", "offline", "relay"), ("demand", "matrix")):
        yield {"d": 4, "g": 2, "router": router, "packets": demand}
        yield {"d": 4, "g": 2, "router": router, "packets": demand, "faults": "loss:0.5"}


def traffic_keys() -> Iterator[Keys]:
    """Yield the parameters of experiments with schedulers."""
    for number, (scheduler, (d, g)) in enumerate(itertools.product(SCHEDULERS, ANY)):
        faults: Keys = {}
        if number % 4 == 3:
            text = FAULTS[number // 4 % len(FAULTS)]
            known = number % 8 == 7 and not text.startswith("loss")
            faults = {"faults": text, "fault_seed": number % 3, "known_faults": known}
        yield {
            "d": d,
            "g": g,
            "scheduler": scheduler,
            "load": (0.01, 0.03125, 0.02)[number % 3],
            "pattern": PATTERNS[number % len(PATTERNS)],
            **LENGTHS[number % len(LENGTHS)],
            **MIXED[number % len(MIXED)],
            **faults,
        }
    for scheduler, wavelengths in itertools.product(("tdm", "rotor", "vlb"), (2, 4)):
        yield {"d": 4, "g": 4, "scheduler": scheduler, "load": 0.1, "wavelengths": wavelengths}
    for scheduler in ("tdm", "scheduled.py", "aloha:0.125"):
        own: Keys = {"d": 4, "g": 2, "scheduler": scheduler}
        yield {**own, "load": 0.05, "pattern": "p.npy"}
        yield {**own, "load": 0.05, "pattern": "array"}
        yield {**own, "load": 0.05, "matrix": "rates.csv", "slots": 99}
        yield {**own, "load": 0.05, "matrix": "array", "burst": 3}
        yield {**own, "packets": "packets.csv"}
        yield {**own, "packets": "packets.csv", "slots": 20, "buffer": 2}
        yield {**own, "packets": "packets.csv", "faults": "coupler:0-1", "known_faults": True}
    yield {"d": 4, "g": 2, "load": 0.1}
    yield {"d": 4, "g": 2, "load": 0.9, "overload": True}


def experiment_of(keys: Keys) -> Value:
    """Return the experiment of parameters; some values stand for files, arrays and demands."""
    d, g = keys["d"], keys["g"]
    arrays = {
        ("permutation", "array"): REVERSED,
        ("pattern", "array"): np.array(REVERSED),
        ("matrix", "array"): np.array([[0.5, 1.5], [1.25, 0.75]]),
        ("packets", "demand"): Demand(Network(4, 2), np.array([0, 0, 7]), np.array([5, 6, 1])),
        ("packets", "matrix"): Demand(Network(4, 2), np.arange(8), np.arange(8)[::-1].copy()),
    }
    given: Keys = {}
    for name, value in keys.items():
        if isinstance(value, str) and value.endswith((".py", ".npy", ".csv", ".json")):
            given[name] = Path(value)
        else:
            given[name] = arrays.get((name, value), value) if isinstance(value, str) else value
    del given["d"], given["g"]
    if "load" in keys or "scheduler" in keys:
        return TrafficExperiment(d, g, **given)
    return Experiment(d, g, **given)


def described(keys: Keys) -> str:
    """Return a name for a case."""
    rest = (f"{name}={value}" for name, value in keys.items() if name not in ("d", "g"))
    kind = "traffic" if "load" in keys or "scheduler" in keys else "route"
    return " ".join([f"{kind} {keys['d']} {keys['g']}", *rest])


def what_is_kept(keys: Keys, folder: Path) -> dict[str, Any]:
    """Return what an experiment is called, after it has travelled to other processes and back."""
    experiment = experiment_of(keys)
    again: Value = pickle.loads(pickle.dumps(experiment))
    assert (again, hash(again)) == (experiment, hash(experiment))
    assert list(again.identity.items()) == list(experiment.identity.items())
    if not keys.get("overload"):  # which is asked for anew
        assert experiment.replaced(seed=77).replaced(seed=experiment.seed) == experiment
    recorded = (
        TrafficExperiment.recorded(experiment.identity)
        if isinstance(experiment, TrafficExperiment)
        else Experiment.recorded(experiment.identity.values())
    )
    assert (recorded, recorded.digest) == (experiment, experiment.digest)
    return {
        "digest": experiment.digest,
        "text": str(experiment),
        "shown": without(folder, repr(experiment)),
        "identity": hashed(json.dumps(experiment.identity)),
        "keys": " ".join(experiment.identity),
        "json": as_json(experiment, folder),
    }


def as_json(experiment: Value, folder: Path) -> str:
    """Return a hash of the JSON, which must give the experiment again, if there is one."""
    try:
        text = experiment.to_json()
    except InputError:
        return "refused"
    again = type(experiment).from_json(text)
    assert (again, again.to_json()) == (experiment, text)
    return hashed(without(folder, text))


def experiments(folder: Path) -> Cases:
    """Return the cases of this section."""
    write_files(folder)
    cases: Cases = {}
    for keys in (*route_keys(), *traffic_keys()):
        name = described(keys)
        assert name not in cases, name
        cases[name] = _case(keys, folder)
    return cases


def _case(keys: Keys, folder: Path) -> Callable[[], Any]:
    return lambda: what_is_kept(keys, folder)
