"""popsnet traffic, as people use it and as they get it wrong."""

from __future__ import annotations

import csv
import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from popsnet import check_trace, simulate
from popsnet.traffic import TrafficExperiment, TrafficResult
from tests.conftest import Cli
from tests.each import each
from tests.project.schemas import require_schema


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_without_a_load_bounds_and_schedulers_are_listed(cli: Cli) -> None:
    finished = cli("traffic", 8, 8, "--pattern", "group-shift", "--json")
    facts = json.loads(finished.out)
    assert facts["bounds"]["hops"] == 0.5625
    assert facts["bounds"]["pairs"] == 0.125
    stated = {row["scheduler"]: row for row in facts["schedulers"]}
    assert stated["tdm"]["delay"] == 32.5
    assert [name for name, row in stated.items() if not row["online"]] == ["epochs", "ideal"]


def test_one_point(cli: Cli) -> None:
    finished = cli("traffic", 4, 4, "--scheduler", "tdm", "--load", 0.3, "--slots", 4000)
    assert finished.code == 0
    for line in ("bernoulli uniform", "largest load", "Delay in slots", "Stable: "):
        assert line in finished.out


def test_the_engines_print_the_same(cli: Cli) -> None:
    options = ("traffic", 3, 4, "--load", 0.2, "--slots", 1500, "--json", "--pattern", "tornado")
    facts = [json.loads(cli(*options, "--engine", one).out) for one in ("slots", "fused")]
    assert [one.pop("engine") for one in facts] == ["slots", "fused"]
    assert facts[0] == facts[1]


def test_several_loads_and_schedulers(cli: Cli) -> None:
    names = ("--scheduler", "tdm", "--scheduler", "relay")
    loads = ("--loads", "0.02,0.3", "--slots", 3000)
    finished = cli("traffic", 4, 4, *names, *loads, "--figure", "c.svg")
    assert finished.code == 0
    table = [line for line in finished.out.splitlines() if line.startswith(("tdm ", "relay  "))]
    assert len(table) == 4
    assert max(map(len, table)) <= 80
    assert "relay at 0.3 is unstable" in finished.out
    assert Path("c.svg").read_text().count("relay") >= 1
    rows = list(csv.DictReader(StringIO(cli("traffic", 4, 4, *names, *loads, "--csv").out)))
    assert [(row["scheduler"], row["load"]) for row in rows] == [
        ("tdm", "0.02"), ("tdm", "0.3"), ("relay", "0.02"), ("relay", "0.3"),
    ]  # fmt: skip


def test_the_same_packets_arrive_for_all_schedulers(cli: Cli) -> None:
    names = ("--scheduler", "tdm", "--scheduler", "rotor", "--scheduler", "ideal:fifo")
    options = ("--loads", "0.2,0.2000001", "--slots", 2000)
    rows = json.loads(cli("traffic", 4, 4, *names, *options, "--json").out)["points"]
    assert len(rows) == 3  # equal loads are one
    assert {row["scheduler"] for row in rows} == {"tdm", "rotor", "ideal"}
    assert len({row["offered"] for row in rows}) == 1


def test_what_is_not_run_is_said(cli: Cli) -> None:
    options = ("--scheduler", "relay", "--loads", "0.3,0.5,0.7", "--slots", 2000)
    finished = cli("traffic", 4, 4, *options)
    assert "relay is unstable at a smaller load, and was not run at 0.5, 0.7." in finished.out


def test_an_interrupt_is_not_called_unstable(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def stops(experiment: TrafficExperiment, **options: Any) -> TrafficResult:
        if experiment.load > 0.2:
            raise KeyboardInterrupt
        return simulate(experiment, **options)

    monkeypatch.setattr("popsnet.studies.traffic.curves.simulate", stops)
    options = ("--scheduler", "tdm", "--loads", "0.1,0.3,0.5", "--slots", 3000)
    finished = cli("traffic", 4, 4, *options, "--figure", "part.svg")
    assert finished.code == 130
    assert "unstable" not in finished.out
    assert "Figure written to part.svg." in finished.out
    assert "tdm" in Path("part.svg").read_text()
    assert "Interrupted: 1 of 3 points finished." in finished.err
    facts = json.loads(cli("traffic", 4, 4, *options, "--json").out)
    assert facts["interrupted"] is facts["ok"] is True
    assert facts["not_run"] == [
        {"scheduler": "tdm", "load": load, "reason": "interrupted"} for load in (0.3, 0.5)
    ]
    require_schema("traffic", facts)


def test_a_long_point_says_where_it_is(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("popsnet.base.progress._SECONDS_BETWEEN_LINES", 0.0)
    options = ("--scheduler", "tdm", "--loads", "0.1,0.2", "--slots", 600, "--engine", "slots")
    lines = cli("traffic", 2, 2, *options).err.splitlines()
    assert lines[0].startswith("traffic: 0 points done; tdm, load ")
    assert any(line.startswith("traffic: 1 point done; tdm, load ") for line in lines)


def test_saturation_is_a_bracket(cli: Cli) -> None:
    options = ("--scheduler", "tdm", "--pattern", "shift:d", "--saturation", "--slots", 20_000)
    (row,) = json.loads(cli("traffic", 4, 4, *options, "--json").out)["saturation"]
    assert row["stable"] < 1.01 / 16 < 1.05 / 16 < 1.2 * row["unstable"]


def test_a_trace_of_the_first_slots_is_checked_and_viewed(cli: Cli) -> None:
    options = ("--load", 0.3, "--slots", 1000, "--trace", "t.jsonl", "--trace-slots", 50)
    assert cli("traffic", 3, 2, *options).code == 0
    found = check_trace("t.jsonl")
    assert (found.ok, found.slots, found.router) == (True, 50, "rotor")
    assert cli("view", "t.jsonl", "--no-open").code == 0


def test_files_of_rates_and_packets(cli: Cli) -> None:
    Path("rates.csv").write_text("0,1\n3,0\n")
    facts = json.loads(
        cli("traffic", 2, 2, "--matrix", "rates.csv", "--load", 0.2, "--slots", 999, "--json").out
    )
    assert facts["arrivals"].startswith("bernoulli matrix")
    Path("packets.csv").write_text("slot,source,destination\n1,0,3\n1,1,2\n6,3,0\n")
    facts = json.loads(cli("traffic", 2, 2, "--packets", "packets.csv", "--json").out)
    assert facts["network"]["n"] == 4


@each(
    ("options", "words"),
    [
        ("--load 1.5", "--load 1.5: a load must be"),
        ("--load 0.9 --pattern group-shift", "--overload allows it"),
        ("--load 0.1 --pattern hotspt", "Did you mean 'hotspot:H:F'?"),
        ("--load 0.1 --scheduler rotr", "Did you mean 'rotor'?"),
        ("--load 0.1 --scheduler aloha:2", "more than 0 and at most 1"),
        ("--load 0.1 --scheduler ideal:x", "control delay"),
        ("--load 0.1 --scheduler tdm:x", "has no variant 'x'"),
        ("--loads 0.5:0.1:3", "--loads '0.5:0.1:3': give FROM:TO:COUNT"),
        ("--loads 0.1,0.9 --pattern group-shift", "--loads '0.1,0.9', load 0.9: on POPS("),
        ("--loads 0.5,2", "2 is not above 0 and at most 1"),
        ("--load 0.1 --loads 0.1,0.2", "give one of them"),
        ("--load 0.1 --matrix torn.csv", "torn.csv, line 2 has 1 column"),
        ("--load 0.1 --matrix wide.csv", "wide.csv has shape 2 × 3"),
        ("--load 0.1 --matrix negative.csv", "line 1, column 2 is -1"),
        ("--packets torn.csv", "torn.csv"),
        ("--load 0.1 --buffer -1", "--buffer -1: it must be at least 0"),
        ("--load 0.1 --slots 0", "--slots 0: it must be at least 1"),
        ("--load 0.1 --precision 2", "--precision 2"),
        ("--load 0.1 --burst 0.5", "--burst 0.5"),
        ("--load 0.1 --engine fast", "--engine 'fast'"),
        ("--load 0.1 --scheduler mine.py --engine fused", "Use --engine slots"),
        ("--scheduler tdm", "give --load LOAD"),
        ("--saturation --figure c.svg", "give --loads"),
        ("--loads 0.1,0.2 --trace t.jsonl", "a trace is of one point"),
        ("--load 0.1 --trace t.jsonl --trace-slots 0", "--trace-slots 0"),
    ],
)
def test_errors_give_the_value_the_rule_and_the_cure(cli: Cli, options: str, words: str) -> None:
    Path("torn.csv").write_text("0,1\n2")
    Path("wide.csv").write_text("0,1,2\n2,3,4\n")
    Path("negative.csv").write_text("0,-1\n2,0\n")
    Path("mine.py").write_text(
        "from popsnet import Slot\n"
        "from popsnet.traffic import register_scheduler\n"
        '@register_scheduler("mine", summary="silent")\n'
        "def mine(network, public, coins, memory):\n"
        "    while True:\n"
        "        yield\n"
        "        yield Slot()\n"
    )
    before = sorted(Path().iterdir())
    finished = cli("traffic", 2, 2, *options.split())
    assert (finished.code, finished.out) == (2, "")
    assert finished.err.startswith("Error: ")
    assert words in finished.err
    assert sorted(Path().iterdir()) == before
