"""The keys of JSON objects and the columns of tables that commands and results give.

A key is a path, such as ``delay.mean``; ``[]`` is an entry of a list, and ``*`` any
number. Lines of one command whose
reports have the same keys in other combinations are one output.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import popsnet
from popsnet.base.report import Report
from popsnet.sweeps import Store
from popsnet.traffic import TrafficExperiment, find_saturations, replicate, run_loads

_FORMS = ("--loads", "--saturation")
_GROUPS = ("results", "adversary", "sorting-network", "compute")
_SMALL: dict[str, Any] = {"scheduler": "tdm", "slots": 200, "load": 0.2}
OF_FILES = {
    "schedule.csv": "schedule",
    "results.csv": "results export",
    "points.csv": "results export",
}
"""The files that commands write, with the commands."""


def paths(value: Any, before: str = "") -> Iterator[str]:
    """Yield the keys of a value of JSON, each as a path."""
    if isinstance(value, dict):
        if all(name.isdigit() for name in value):  # a histogram
            value = {"*": 0}
        for name, part in value.items():
            yield from paths(part, f"{before}.{name}" if before else name)
    elif isinstance(value, list) and any(isinstance(part, dict) for part in value):
        for part in value:
            yield from paths(part, f"{before}[]")
    else:
        yield before


def name_of(line: str) -> str:
    """Return the command of a line, with an option that gives another report."""
    words = line.split()
    forms = [word for word in words if word in _FORMS]
    return " ".join([*words[: 2 if words[0] in _GROUPS else 1], *forms])


class Outputs:
    """The keys of every output, in order, collected while commands are called."""

    def __init__(self, lines: Iterable[str]) -> None:
        names = dict.fromkeys(map(name_of, lines))
        self._keys: dict[str, dict[str, str]] = {
            f"{name} {form}": {} for name in names for form in ("--json", "--csv")
        }

    def add(self, line: str, report: Report) -> None:
        """Add the keys of a report that a command printed."""
        name = name_of(line)
        self._add(f"{name} --json", paths(json.loads(json.dumps(report.to_dict()))))
        self._add(f"{name} --csv", _header(report.csv()))

    def _add(self, name: str, keys: Iterable[str]) -> None:
        self._keys[name] |= dict.fromkeys(keys, "")

    def cases(self) -> dict[str, Callable[[], Any]]:
        """Return a case per command and form, to be called after the commands, and others."""
        files = {f"file {name}": lambda name=name: _of_file(name) for name in OF_FILES}
        frames = {f"frame {name}": lambda of=of: _of_frame(of()) for name, of in _frames().items()}
        reports = {name: (lambda name=name: self._keys[name]) for name in self._keys}
        every = {**reports, **files, **frames}
        return {f"keys: {name}": case for name, case in every.items()}


def _header(text: str) -> list[str]:
    return next(csv.reader([text.partition("\n")[0]]), [])


def _of_file(name: str) -> dict[str, str]:
    return dict.fromkeys(_header(Path(name).read_text()), "")


def _of_frame(result: Any) -> dict[str, str]:
    frame = result.to_dataframe()
    index = [f"index {name}" for name in frame.index.names if name is not None]
    return dict.fromkeys([*index, *map(str, frame.columns)], "")


def _frames() -> dict[str, Callable[[], Any]]:
    """Return functions that give results with data frames, by what made them."""
    net = popsnet.Network(4, 2)
    faulty: dict[str, Any] = {"faults": "coupler:0-1", "max_steps": 5}
    direct: dict[str, Any] = {"routers": ["direct"], "runs": 2, "progress": False}
    quiet: dict[str, Any] = {"progress": False}

    def point() -> TrafficExperiment:
        return TrafficExperiment(4, 2, **_SMALL)

    return {
        "route": lambda: popsnet.route(4, 2, runs=2),
        "route with faults": lambda: popsnet.route(4, 2, runs=2, **faulty),
        "simulate": lambda: popsnet.simulate(4, 2, **_SMALL),
        "run_loads": lambda: run_loads([point()], **quiet),
        "find_saturations": lambda: find_saturations([point()], width=0.5, **quiet),
        "replicate": lambda: replicate(point(), 2, **quiet),
        "schedule": lambda: popsnet.schedule(net),
        "compare": lambda: popsnet.compare(4, 2, **direct),
        "survival": lambda: popsnet.survival(4, 2, numbers=[1], **direct),
        "distribution": lambda: popsnet.distribution(4, 2, runs=5, **quiet),
        "recommend": lambda: popsnet.recommend(4, 2),
        "predict": lambda: popsnet.predict(4, 2),
        "budget": lambda: popsnet.budget(4, 2, preset="pon"),
        "exact_steps": lambda: popsnet.exact.exact_steps(2, 2),
        "Store": lambda: Store("results.sqlite"),
    }
