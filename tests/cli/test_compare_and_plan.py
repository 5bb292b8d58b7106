"""``popsnet compare`` and ``popsnet plan`` from the command line."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from popsnet import InputError, Network
from popsnet.studies.comparisons.comparison import compare
from tests.conftest import Cli


def test_compare_prints_and_draws(cli: Cli, tmp_path: Path) -> None:
    picture = tmp_path / "c.svg"
    finished = cli("compare", 6, 3, "--runs", 2, "--figure", picture)
    assert (finished.code, finished.err) == (0, "")
    assert "Lower bound for any schedule" in finished.out
    assert picture.read_text().startswith("<svg")
    result = json.loads(cli("compare", 4, 4, "--runs", 2, "--json").out)
    slots = {row["router"]: row["worst_slots"] for row in result["routers"]}
    assert (slots["batcher"], slots["datta"], slots["offline"]) == (20, 28, 2)
    assert result["ok"]


def test_a_router_that_takes_long_is_run_if_it_is_asked_for(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("popsnet.studies.comparisons.comparison._MOST_SLOTS", 0)
    figure = tmp_path / "c.svg"
    nothing = cli("compare", 4, 4, "--runs", 1, "--figure", figure)
    assert "long: direct (about 4 slots on 16 processors); --router direct runs" in nothing.out
    assert nothing.out.endswith("No figure is written.\nFAILED: no router was run.\n")
    assert nothing.code == 1
    assert not figure.exists()
    assert "Every packet was delivered." in cli("compare", 4, 4, "--router", "direct").out


def test_an_interrupted_comparison_reports_what_is_finished(cli: Cli, tmp_path: Path) -> None:
    stops = tmp_path / "stops.py"
    stops.write_text(
        "import popsnet\n\n@popsnet.register('stops', summary='', slots='', buffers=1)\n"
        "def stops(*_):\n    raise KeyboardInterrupt\n    yield\n"
    )
    finished = cli("compare", 4, 4, "--runs", 1, "--router", "direct", "--router", stops)
    assert (finished.code, finished.err) == (130, "Interrupted: 1 router finished.\n")
    assert "direct" in finished.out
    nothing = cli("compare", 4, 4, "--runs", 1, "--router", stops)
    assert (nothing.code, nothing.out) == (130, "")


def test_plan_says_why(cli: Cli) -> None:
    assert "Use batcher: 21 slots on every permutation" in cli("plan", 1, 64).out
    result = json.loads(cli("plan", 1024, 1024, "--json").out)
    assert result["router"] == "relay"
    assert "on average" in result["reason"]


def test_bad_input_is_refused(cli: Cli, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="runs = 0: it must be at least 1"):
        compare(Network(2, 2), runs=0)
    assert cli("compare", 2**9, 2**9).code == 2
    assert cli("compare", 2, 2, "--figure", tmp_path / "x.txt").code == 2
    assert cli("plan", 0, 2).code == 2
    assert "d = -1: " in cli("compare", -1, 2).err


def test_compare_has_the_options_of_the_library(cli: Cli) -> None:
    chosen = ("--router", "direct", "--router", "relay", "--permutation", "transpose")
    asked = ("compare", 8, 8, "--runs", 2, *chosen, "--seed", 1, "--permutation-seed", 2)
    finished = cli(*asked, "--csv")
    assert finished.code == 0
    rows = list(csv.DictReader(finished.out.splitlines()))
    found = compare(
        8, 8, routers=["direct", "relay"], runs=2, permutation="transpose", seed=1,
        permutation_seed=2,
    )  # fmt: skip
    assert [row["router"] for row in rows] == [one.router.name for one in found.done]
    assert [float(row["mean_slots"]) for row in rows] == [one.mean_slots for one in found.done]
    text = cli(*asked).out
    assert "Every packet was delivered." in text
    assert "not delivered" not in text
    capped = cli("compare", 8, 8, "--router", "mei-rizzi", "--runs", 2, "--max-steps", 1)
    assert {"not", "delivered"} <= set(capped.out.split())
    assert "FAILED: not every run of mei-rizzi ended with all packets delivered." in capped.out
    assert capped.err == "2 runs were stopped by --max-steps 1; raise it to let them end.\n"


FAILING = """
import numpy as np
import popsnet

@popsnet.register("failing", summary="", slots="", buffers=1)
def failing(network, destination, coins, memory):
    {what}
    yield popsnet.Slot()
"""


@pytest.mark.parametrize(
    ("what", "code"),
    [("memory.drop(np.array([0]), np.array([1]))", 1), ("raise popsnet.InputError('No.')", 2)],
)
def test_compare_names_the_router_that_fails(
    cli: Cli, tmp_path: Path, what: str, code: int
) -> None:
    file = tmp_path / "failing.py"
    file.write_text(FAILING.format(what=what))
    finished = cli("compare", 2, 2, "--runs", 1, "--router", "direct", "--router", file)
    assert finished.code == code
    assert finished.err.startswith("Error: failing: ")


def test_plan_chooses_from_the_routers_that_are_given(cli: Cli) -> None:
    asked = ("plan", 64, 64, "--router", "direct", "--router", "mei-rizzi", "--json")
    result = json.loads(cli(*asked).out)
    assert {row["router"] for row in result["routers"]} == {"direct", "mei-rizzi"}
    assert "There is no router 'dir'. Did you mean" in cli("plan", 4, 4, "--router", "dir").err


OWN = """
import popsnet
from popsnet.programs.routers.direct import direct

def own(network, destination, coins, memory):
    yield from direct(network, destination, coins, memory)

popsnet.register("own", summary="", slots="max(d, g)", buffers=2)(own)
popsnet.register_variant("own", "second")(own)
"""


def test_compare_takes_any_routers_and_any_permutation(cli: Cli, tmp_path: Path) -> None:
    """By name, with a variant, and from files, on a permutation from a file."""
    router, permutation = tmp_path / "own.py", tmp_path / "permutation.csv"
    router.write_text(OWN)
    permutation.write_text("1\n2\n3\n4\n5\n0\n")
    chosen = (f"{router}:second", router, "direct", "relay:XY(1,2)")
    options = [part for one in chosen for part in ("--router", one)]
    asked = ("compare", 2, 3, *options, "--permutation", permutation, "--runs", 3)
    finished = cli(*asked, "--permutation-seed", 5, "--json")
    assert (finished.code, finished.err) == (0, "")
    result = json.loads(finished.out)
    found = {(row["router"], row["variant"]): row["worst_slots"] for row in result["routers"]}
    assert found.pop(("relay", "XY(1,2)")) > 3
    assert found == {("own", "second"): 3, ("own", "standard"): 3, ("direct", "standard"): 3}
    refused = cli("compare", 2, 3, "--router", "relay:roll-call", "--permutation", permutation)
    assert (refused.code, "roll call needs d = g" in refused.err) == (2, True)
    short = tmp_path / "short.csv"
    short.write_text("1\n0\n")
    assert cli("compare", 2, 3, "--router", "direct", "--permutation", short).code == 2


MATRIX = "0,9,1\n4,0,4\n2,2,0\n"


def test_compare_shows_all_routers_that_serve_a_demand(cli: Cli, tmp_path: Path) -> None:
    matrix, picture = tmp_path / "m.csv", tmp_path / "c.svg"
    matrix.write_text(MATRIX)
    finished = cli("compare", 4, 3, "--matrix", matrix, "--runs", 2, "--figure", picture)
    assert (finished.code, finished.err) == (0, "")
    assert finished.out.startswith("POPS(4, 3): 22 packets, at most 3 from or for a processor; 2 ")
    assert {"largest", "message", "(bits)"} <= set(finished.out.split())
    assert "Lower bound for any schedule: 6\n" in finished.out
    assert "22 packets" in picture.read_text()
    result = json.loads(cli("compare", 4, 3, "--matrix", matrix, "--runs", 2, "--json").out)
    assert (result["packets"], result["max_per_processor"], result["lower_bound"]) == (22, 3, 6)
    rows = {row["router_label"]: row for row in result["routers"]}
    assert rows.keys() == {"offline", "direct", "direct (to-all)", "relay"}
    assert rows["direct (to-all)"]["worst_slots"] == 7 + rows["offline"]["worst_slots"]
    assert all(row["undelivered"] == row["lost"] == 0 for row in rows.values())


def test_compare_takes_a_list_of_packets_for_some_routers(cli: Cli, tmp_path: Path) -> None:
    demand = tmp_path / "demand.csv"
    demand.write_text("source,destination\n0,3\n0,7\n5,3\n")
    asked = ("compare", 4, 3, "--packets", demand, "--router", "direct", "--router", "relay")
    rows = list(csv.DictReader(cli(*asked, "--csv").out.splitlines()))
    assert sorted(row["variant"] for row in rows) == ["folds", "in-groups"]
    unable = cli(*asked, "--router", "batcher")
    assert (unable.code, unable.out) == (2, "")
    assert "these routers do: direct, offline, relay." in unable.err
    twice = cli(*asked, "--matrix", demand)
    assert (
        twice.err == "Error: --packets and --matrix each give the packets to send; give only one.\n"
    )
    both = cli(*asked, "--permutation", "transpose")
    assert "--permutation and --packets each give" in both.err
    with pytest.raises(InputError, match="permutation and packets each give"):
        compare(4, 3, permutation="transpose", packets=[[0, 1]])


def test_a_demand_is_routed_traced_checked_and_shown(cli: Cli, tmp_path: Path) -> None:
    matrix, trace = tmp_path / "m.csv", tmp_path / "t.jsonl"
    matrix.write_text(MATRIX)
    for router in ("relay", "direct", "direct:to-all", "offline"):
        asked = ("route", 4, 3, "--matrix", matrix, "--router", router)
        finished = cli(*asked, "--trace", trace)
        assert (finished.code, finished.err) == (0, "")
        assert "22 packets, at most 3 from or for a processor, seed 0" in finished.out
        assert "Lower bound for any schedule of these packets: 6 slots" in finished.out
        assert "popsnet view 4 3 " in finished.out
        assert "22 of 22 packets delivered, 0 lost" in cli("check", trace).out
        shown = cli("view", trace, "--no-open", "--out", tmp_path / "v.html")
        assert (shown.code, "22 of 22" in shown.out) == (0, True)
        result = json.loads(cli(*asked, "--runs", 3, "--json").out)
        assert (len(result["outcomes"]), result["packets"], result["lower_bound"]) == (3, 22, 6)


def test_route_refuses_what_does_not_go_with_a_demand(cli: Cli, tmp_path: Path) -> None:
    matrix = tmp_path / "m.csv"
    matrix.write_text(MATRIX)
    asked = ("route", 4, 3, "--matrix", matrix)
    assert "give --router relay or --router direct for a demand" in cli(*asked).err
    assert "--detect asks processors" in cli(*asked, "--router", "relay", "--detect").err
    assert "It does by: folds." in cli(*asked, "--router", "relay:S").err
    assert "Use --engine slots" in cli(*asked, "--router", "relay", "--engine", "fused").err
    capped = cli(*asked, "--router", "relay", "--max-steps", 1, "--runs", 8)
    assert (capped.code, "FAILED" in capped.out) == (1, True)
    assert cli("route", 4, 4, "--matrix", matrix, "--router", "relay").code == 2
