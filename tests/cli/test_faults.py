"""Faults on the command line: ``route``, ``view``, ``check`` and ``faults``."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.conftest import Cli
from tests.each import each


def test_route_reports_what_became_of_the_packets(cli: Cli) -> None:
    faults = "--fault", "coupler:0-1", "--fault", "processor:3@4", "--loss", 0.01
    finished = cli("route", 8, 8, "--router", "relay:survive", *faults, "--json")
    result = json.loads(finished.out)
    assert result["faults"] == "coupler:0-1 processor:3@4 loss:0.01"
    assert result["lost"] == result["held"] == result["duplicated"] == 0
    row = result["outcomes"][0]
    assert row["delivered"] + row["unreachable"] == 64
    assert finished.code == 0


def test_lost_packets_fail(cli: Cli) -> None:
    finished = cli("route", 8, 8, "--router", "direct", "--fault", "coupler:0-1", "--runs", 20)
    assert finished.code == 1
    assert "FAILED: " in finished.out
    assert " lost (the record of each run names them), 0 unreachable, 0 held" in finished.out


def test_a_trace_with_faults_is_checked_and_viewed(cli: Cli, tmp_path: Path) -> None:
    trace, page = tmp_path / "run.jsonl", tmp_path / "view.html"
    faults = "--fault", "random:couplers=2", "--fault", "receiver:5@3", "--loss", 0.2
    cli("route", 4, 4, "--router", "direct", *faults, "--trace", trace)
    checked = cli("check", trace)
    assert checked.code == 0, checked.out
    assert json.loads(cli("check", trace, "--json").out)["faulty"]
    assert cli("view", trace, "--no-open", "--out", page).code == 1
    lossy = "--router", "relay:survive", "--loss", 0.2, "--loss-per", "listener"
    assert cli("view", 4, 4, *lossy, "--no-open", "--out", page).code == 0
    refused = cli("view", trace, "--fault", "coupler:0-0", "--out", page)
    assert (refused.code, "is a trace of one" in refused.err) == (2, True)


@each(
    ("options", "says"),
    [
        (("--fault", "coupler:0-9"), "groups are numbered 0 to 3"),
        (("--fault", "couplr:0,0"), "Did you mean 'coupler:'"),
        (("--loss", "1.5"), "--loss 1.5: the probability"),
        (("--loss", "0.1", "--loss-per", "slot"), "--loss-per 'slot': give 'coupler'"),
        (("--fault-seed", "-1", "--loss", "0.1"), "--fault-seed -1: a seed"),
        (("--loss", "0.1", "--engine", "fused"), "this one has faults"),
        (("--fault", "loss:0.1", "--loss", "0.2"), "each give the loss; give only one"),
        (("--loss-per", "listener"), "give --loss as well"),
        (("--fault-seed", "3"), "--fault-seed 3 is for random faults"),
        (("--fault", "coupler:0-1@99999999999999999999"), "at most 2^62"),
    ],
)
def test_wrong_faults_are_refused(cli: Cli, options: tuple[str, ...], says: str) -> None:
    finished = cli("route", 4, 4, *options)
    assert finished.code == 2
    assert says in finished.err


def test_faults_compares_routers_in_pairs(cli: Cli, tmp_path: Path) -> None:
    figure = tmp_path / "faults.svg"
    routers = "--router", "direct", "--router", "relay:survive"
    finished = cli("faults", 8, 8, *routers, "--numbers", "0,4", "--runs", 5, "--figure", figure)
    assert finished.code == 0
    assert figure.read_text().startswith("<svg")
    result = json.loads(cli("faults", 8, 8, *routers, "--numbers", "0,4", "--json").out)
    rows = {(row["router"], row["dead"]): row for row in result["routers"]}
    assert rows["direct", 0]["lost"] == 0 < rows["direct", 4]["lost"]
    assert rows["direct", 4]["extra_slots"] == 0
    assert rows["relay", 4]["lost"] == 0
    assert rows["relay", 4]["extra_slots"] > 0
    assert [row["verdict"] for row in result["verdicts"]] == [
        "survives all", "loses from 4 dead couplers on",
    ]  # fmt: skip
    printed = " ".join(finished.out.split())
    assert re.search(r"relay \(survive\) survives all .* direct loses from 4 dead", printed)
    full = cli("faults", 8, 8, *routers, "--numbers", "0,4", "--all").out
    assert " unreachable " in full
    assert "survives all" not in full
    assert "with commas" in cli("faults", 8, 8, "--numbers", "few").err
    assert "give one of couplers" in cli("faults", 8, 8, "--kind", "lenses").err


def test_a_loss_may_be_a_fault_and_the_page_shows_the_same_run(cli: Cli, tmp_path: Path) -> None:
    one, other = (
        cli("route", 4, 4, "--router", "direct", *options, "--json").out
        for options in (("--fault", "loss:0.5"), ("--loss", "0.5"))
    )
    lost = json.loads(one)["lost"]
    assert lost == json.loads(other)["lost"] > 0
    page = "--no-open", "--out", tmp_path / "view.html"
    seen = cli("view", 4, 4, "--router", "direct", "--fault", "loss:0.5", *page)
    assert f"{16 - lost} of 16" in seen.out
