"""--wavelengths on the commands that have it."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.each import each


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_route_with_wavelengths(cli: Cli) -> None:
    asked = ("route", 8, 2, "--router", "relay", "--wavelengths", 2, "--trace", "t.jsonl")
    report = json.loads(cli(*asked, "--json").out)
    assert report["network"] == {"d": 8, "g": 2, "n": 16, "wavelengths": 2}
    assert cli("check", "t.jsonl").code == 0
    assert "popsnet view 8 2 --router relay --wavelengths 2" in cli(*asked[:-2]).out


def test_the_default_router_has_one_wavelength_and_the_option_is_named(cli: Cli) -> None:
    finished = cli("route", 10, 1, "--wavelengths", 2)
    assert finished.code == 2
    assert finished.err.startswith("Error: --wavelengths 2: router mei-rizzi (deferred) uses one")
    assert "give --router" in finished.err


def test_a_demand_with_wavelengths(cli: Cli) -> None:
    Path("m.csv").write_text("0,8\n8,0\n")
    asked = ("route", 4, 2, "--router", "offline", "--matrix", "m.csv", "--json")
    slots = [
        json.loads(cli(*asked, "--wavelengths", w).out)["outcomes"][0]["slots"] for w in (1, 2, 4)
    ]
    assert slots == sorted(slots, reverse=True)
    assert slots[0] > slots[-1] == 2


def test_schedule_with_wavelengths(cli: Cli) -> None:
    asked = ("schedule", 8, 2, "--hops", 2, "--wavelengths", 4, "--json")
    files = ("--out", "s.csv", "--ports", "p.csv", "--trace", "s.jsonl")
    report = json.loads(cli(*asked, *files).out)
    assert (report["slots"], report["collisions"]) == (2, 0)
    assert cli("check", "s.jsonl").code == 0
    rows = list(csv.DictReader(Path("s.csv").read_text().splitlines()))
    assert {row["wavelength"] for row in rows} == {"0", "1", "2", "3"}
    ports = list(csv.DictReader(Path("p.csv").read_text().splitlines()))
    assert {"sends_on_wavelength", "listens_to_wavelength"} <= ports[0].keys()


def test_view_with_wavelengths(cli: Cli) -> None:
    finished = cli("view", 8, 2, "--router", "offline", "--wavelengths", 2, "--no-open")
    assert finished.code == 0
    assert "with 2 wavelengths" in Path("view.html").read_text()


def test_traffic_with_wavelengths(cli: Cli) -> None:
    asked = ("traffic", 8, 2, "--wavelengths", 2, "--scheduler", "tdm", "--load", 0.2)
    report = json.loads(cli(*asked, "--slots", 300, "--json").out)
    assert report["network"]["wavelengths"] == 2
    assert report["engine"] == "fused"


@each(
    ("arguments", "message"),
    [
        (("route", 8, 2, "--wavelengths", 2), "mei-rizzi is the default; give --router"),
        (("route", 8, 2, "--wavelengths", 0), "wavelengths per coupler must be at least 1"),
        (("route", 8, 2, "--router", "direct", "--wavelengths", 2), "offline, relay"),
        (("schedule", 8, 2, "--hops", "mixed", "--wavelengths", 2), "mixed"),
        (("traffic", 8, 2, "--scheduler", "aloha", "--load", 0.1, "--wavelengths", 2), "rotor"),
        (("view", "t.jsonl", "--wavelengths", 2), "leave it out"),
    ],
)  # fmt: skip
def test_what_cannot_use_them_is_refused(
    cli: Cli, arguments: tuple[object, ...], message: str
) -> None:
    Path("t.jsonl").write_text("")
    finished = cli(*arguments)
    assert finished.code == 2
    assert message in " ".join(finished.err.split())
