"""Every parameter of the functions that people call, given values of wrong types."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from inspect import Parameter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import popsnet
from popsnet import (
    Experiment,
    Network,
    PopsnetError,
    adversaries,
    exact,
    hardware,
    schedules,
    sorting,
    theory,
    traffic,
)
from popsnet.traffic import TrafficExperiment
from tests.project.keywords import keywords_of

SMALL = Network(2, 2)
TRAFFIC = {"scheduler": "tdm", "load": 0.1, "slots": 200}

WRONG: tuple[Any, ...] = (
    object(), 4, 1.5, -1, float("nan"), True, "\0", "", "no such thing", b"bytes", (1, 2), [], {},
    Path("/"), Path("no/such"), None, "0", "é" * 300,
)  # fmt: skip

LEFT_OUT = {"progress", "observers", "presets", "bases"}
"""Functions of the user, whose exceptions are theirs, and tables of our own."""

DOCUMENTED = {popsnet.summarize: ValueError}
"""Exceptions of another kind that a docstring promises."""


def demand() -> schedules.Demand:
    return schedules.Demand(SMALL, np.array([0, 1, 2]), np.array([3, 2, 1]))


CALLS: dict[Callable[..., Any], Mapping[str, Any]] = {
    popsnet.budget: {"d": 2, "g": 2, "preset": "pon"},
    popsnet.check_trace: {"path": "run.jsonl"},
    popsnet.collect: {"experiments": [Experiment(2, 2)], "runs": 10, "progress": False},
    popsnet.compare: {"d": 2, "g": 2, "routers": ["direct"], "runs": 2},
    popsnet.compute: {"network": SMALL, "what": "prefix-sums"},
    popsnet.distribution: {"d": 2, "g": 2, "runs": 10, "exact": False, "engine": "slots"},
    popsnet.find_router: {"router": "direct"},
    popsnet.make_permutation: {"name": "random", "network": SMALL, "coins": popsnet.Coins(0)},
    popsnet.predict: {"d": 2, "g": 2},
    popsnet.read_distribution: {"path": "runs.json", "exact": False},
    popsnet.recommend: {"d": 2, "g": 2, "routers": ["direct"]},
    popsnet.route: {"d": 2, "g": 2, "router": "direct", "engine": "slots"},
    popsnet.schedule: {"network": SMALL},
    popsnet.simulate: {"d": 2, "g": 2, "engine": "messages", **TRAFFIC},
    popsnet.sort: {"network": SMALL},
    popsnet.summarize: {"sample": [1, 2]},
    popsnet.survival: {"d": 2, "g": 2, "routers": ["direct"], "numbers": [0], "runs": 1},
    popsnet.view: {},
    popsnet.Experiment: {"d": 2, "g": 2},
    popsnet.Network: {"d": 2, "g": 2},
    popsnet.Timing: {"slot": "20ns"},
    Experiment.from_json: {"text": "{}"},
    TrafficExperiment: {"d": 2, "g": 2, **TRAFFIC},
    TrafficExperiment.from_json: {"text": "{}"},
    traffic.find_scheduler: {"scheduler": "tdm"},
    traffic.make_arrivals: {"network": SMALL, "load": 0.1},
    traffic.read_loads: {"text": "0.1"},
    theory.lost_share: {"ratio": 2},
    hardware.find_preset: {"name": "preset", "preset": "pon", "presets": hardware.LINKS},
    hardware.Link: {"transmit": 0.0, "sensitivity": -20.0},
    exact.exact_steps: {"d": 2, "g": 2},
    sorting.make_network: {"name": "bitonic", "n": 4},
    schedules.make_schedule: {"demand": demand()},
    adversaries.find_paths: {"name": "residue"},
    adversaries.find_two_hop: {"name": "hashed"},
}
"""A call of each function that is quickly done."""


def failures() -> Iterator[str]:
    for function, valid in CALLS.items():
        for name, kind in keywords_of(function):
            if name in LEFT_OUT:
                continue
            for value in WRONG:
                given = (value,) if kind == Parameter.VAR_POSITIONAL else ()
                try:
                    function(*given, **{**valid, **({} if given else {name: value})})
                except (PopsnetError, DOCUMENTED.get(function, PopsnetError)):
                    pass
                except Exception as error:
                    yield (
                        f"{function.__qualname__}({name}={value!r:.30}): "
                        f"{type(error).__name__} {error!s:.80}"
                    )


def test_wrong_types_are_refused_with_a_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    popsnet.route(2, 2, trace="run.jsonl")
    popsnet.distribution(2, 2, runs=10, keep="runs.json", exact=False, progress=False)
    assert list(failures()) == []


def test_an_unknown_keyword_is_refused_by_the_function_that_was_called() -> None:
    calls: list[tuple[Any, dict[str, Any]]] = [
        (popsnet.compare, {"variant": "S"}),
        (popsnet.distribution, {"observers": ()}),
        (popsnet.survival, {"faults": "coupler:0-1"}),
        (popsnet.schedule, {"wavelengths": 2}),
    ]
    for function, more in calls:
        name, (wrong,) = function.__name__, more
        with pytest.raises(TypeError, match=rf"{name}\(\) got an unexpected .* '{wrong}'"):
            function(SMALL, **more)
