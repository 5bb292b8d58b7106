"""Stores and files of results: the parts of a sweep, and what is said of files of today."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import popsnet
from tests.golden.commands import call, steady
from tests.golden.files import PARTS, write_files
from tests.golden.golden import Cases, hashed

FIXTURES = Path(__file__).parents[1] / "fixtures"
STORE, KEPT = "results-format-2-mixed.sqlite", "distribution-1.json"
"""Made by popsnet 0.6: shards with and without single runs, points of traffic, routers,
schedulers, permutations, rates and packets from files; and histograms of runs."""

_PARTS = 3

READINGS = (
    "results list",
    "results list --scheduler tdm",
    "results list --router relay --n 8:64",
    "results show c73",
    "results verify --all",
    "results export --out out.json",
    "results export --out out.csv --per-run",
    "results export --out out.json --traffic",
    "results merge results-format-2-mixed.sqlite --store new.sqlite",
    "results list --store new.sqlite",
)
"""Commands that read the store."""


def parts(folder: Path) -> Cases:
    """Return the cases of this section: what each part of a sweep runs."""
    write_files(folder)
    (folder / "parts.toml").write_text(PARTS)
    return {f"part {number}/{_PARTS}": _part(number) for number in range(1, _PARTS + 1)}


def _part(number: int) -> Callable[[], dict[str, Any]]:
    def part() -> dict[str, Any]:
        store = f"--store part{number}.sqlite"
        code, out, _ = call(f"sweep parts.toml {store} --part {number}/{_PARTS} --json")
        with popsnet.Store(f"part{number}.sqlite") as opened:
            shards = {one.digest: opened.shards(one) for one in opened.experiments()}
            points = [point.experiment.digest for point in opened.selected_points()]
        return {"code": code, "sweep": steady(json.loads(out)), "shards": shards, "points": points}

    return part


def numbers(runs: list[dict[str, Any]]) -> dict[str, str]:
    """Return the first and the last run of every experiment, their number and their hash."""
    of: dict[str, list[dict[str, Any]]] = {}
    for run in runs:
        of.setdefault(run["experiment"], []).append(run)
    return {
        name: f"{some[0]['run']} to {some[-1]['run']}, {len(some)}, {hashed(json.dumps(some))}"
        for name, some in of.items()
    }


def files_of_results(folder: Path) -> Cases:
    """Return the cases of this section: what is said of a store and of a file of a distribution."""
    write_files(folder)
    for name in (STORE, KEPT):
        shutil.copy(FIXTURES / name, folder / name)
    readings = {line: _reading(line) for line in READINGS}
    going_on = f"distribution 4 4 --runs 400 --no-exact --keep {KEPT} --json"
    return readings | {
        "tallies": _tallies,
        "a file of a distribution": lambda: steady(
            popsnet.read_distribution(KEPT).report().to_dict()
        ),
        "more runs": lambda: steady(json.loads(call(going_on)[1])),
        "what the file has then": lambda: steady(json.loads(Path(KEPT).read_text())),
    }


def _reading(line: str) -> Callable[[], dict[str, Any]]:
    def reading() -> dict[str, Any]:
        before = hashed(Path(STORE).read_bytes())
        store = "" if "--store" in line else f"--store {STORE}"
        code, out, _ = call(f"{line} {store} --json")
        assert hashed(Path(STORE).read_bytes()) == before, "Reading has changed the store."
        file = next((Path(word) for word in line.split() if word.startswith("out.")), None)
        rows: Any = None
        if file is not None and file.suffix == ".csv":
            rows = numbers(list(csv.DictReader(file.read_text().splitlines())))
        elif file is not None:
            rows = steady(json.loads(file.read_text()))
        return {"code": code, "out": steady(json.loads(out)), "file": rows}

    return reading


def _tallies() -> dict[str, Any]:
    """Return the histograms of every experiment in the store."""
    with popsnet.Store(STORE) as store:
        tallies = {one.digest: store.unbroken(one) for one in store.experiments()}
    return {
        name: {
            "runs": tally.runs,
            "capped": tally.capped,
            "messages": tally.messages,
            "collisions": tally.collisions,
            "destroyed": tally.destroyed,
            **{name: sorted(one.items()) for name, one in tally.histograms.items()},
        }
        for name, tally in tallies.items()
    }
