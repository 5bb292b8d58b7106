"""popsnet results: list, show, plot, export, merge, verify."""

from __future__ import annotations

import csv
import itertools
import json
import re
import sqlite3
import sys
from dataclasses import replace
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from pyarrow import parquet

from popsnet import Experiment, collect
from popsnet.base.errors import InputError, StoreError
from popsnet.base.stats.inference import summarize
from popsnet.experiment.traffic import TrafficExperiment
from popsnet.programs import register
from popsnet.programs.router import get_router
from popsnet.sweeps import Selection, collect_traffic
from popsnet.sweeps.store import Store
from popsnet.sweeps.verify import _require_allowed, verify
from tests.conftest import Cli
from tests.each import each
from tests.project.schemas import require_schema
from tests.sweeps.edits import as_format_2, change

SWEEP = """
runs = 20
[[grid]]
shapes = [[4, 4], [8, 8]]
seed = 18446744073709551615
[[grid]]
shapes = [[3, 5]]
routers = "direct"
permutations = ["random", "p.npy"]
"""


@pytest.fixture
def store(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    np.save("p.npy", np.arange(15)[::-1])
    Path("sweep.toml").write_text(SWEEP)
    assert cli("sweep", "sweep.toml").code == 0
    return tmp_path / "results.sqlite"


def test_list_and_show(cli: Cli, store: Path) -> None:
    text, listed = cli("results", "list"), json.loads(cli("results", "list", "--json").out)
    assert "4 experiments in results.sqlite" in text.out
    assert len(listed["experiments"]) == 4
    for point in listed["experiments"]:
        assert f"{point['slots_mean']:.2f}" in text.out
        shown = cli("results", "show", point["experiment"][:6])
        assert (shown.code, shown.err) == (0, "")
        assert point["experiment"] in shown.out
        full = json.loads(cli("results", "show", point["experiment"], "--json").out)
        assert {key: full[key] for key in point} == point
        assert [one["shard"] for one in full["shards"]] == [0, 1]
        assert full["shards"][0]["engine"] == ("slots" if point["router"] == "direct" else "fused")


def test_filters_are_those_of_list_export_and_plot(cli: Cli, store: Path) -> None:
    options = ("--router", "mei-rizzi", "--n", "17:")
    text = cli("results", "list", *options).out
    assert "1 of 4 experiments in results.sqlite." in text
    listed = json.loads(cli("results", "list", *options, "--json").out)["experiments"]
    assert [(one["router"], one["n"]) for one in listed] == [("mei-rizzi", 64)]
    assert "1 experiment written" in cli("results", "export", "--out", "r.csv", *options).out
    assert (
        "20 runs written" in cli("results", "export", "--out", "r.csv", "--per-run", *options).out
    )
    drawn = cli("results", "plot", "--figure", "f.svg", *options, "--json")
    points = json.loads(drawn.out)["points"]
    assert [(one["n"], one["mean"]) for one in points] == [(64, listed[0]["slots_mean"])]
    assert "1 of 4 experiments" in cli("results", "list", "--permutation", "file.npy").out
    unknown = cli("results", "list", "--permutation", "file.npy", "--permutation", "x")
    assert "--permutation 'x': results.sqlite has no such experiment" in unknown.err


def test_names_are_whole_in_80_columns(
    cli: Cli, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("more.toml").write_text(
        "runs = 1000\n[[grid]]\nshapes = [[64, 64]]\npermutations = 'group-permutation'\n"
    )
    assert cli("sweep", "more.toml").code == 0
    monkeypatch.setenv("COLUMNS", "80")
    lines = cli("results", "list").out.splitlines()
    assert len(lines) <= 3 + 5
    assert any("mei-rizzi (published), group-permutation" in line for line in lines)
    assert all(len(line) <= 80 for line in lines)


def test_show_suggests_experiments_by_name(cli: Cli, store: Path) -> None:
    finished = cli("results", "show", "Mei-Rizzi")
    listed = json.loads(cli("results", "list", "--router", "mei-rizzi", "--json").out)
    assert finished.code == 2
    assert "Experiments with 'Mei-Rizzi': " in finished.err
    for one in listed["experiments"]:
        name = f"{one['experiment'][:6]} (mei-rizzi ({one['variant']})"
        assert name in finished.err
    assert "direct" not in finished.err


def test_rows_that_were_not_kept_are_said(cli: Cli, store: Path) -> None:
    change(as_format_2(store), "DELETE FROM runs WHERE shard = 0")
    assert (
        "its digest does not match" in cli("results", "export", "--out", "r.csv", "--per-run").err
    )
    change(store, "DROP TABLE digests")
    finished = cli("results", "export", "--out", "r.csv", "--per-run")
    assert "40 runs written to r.csv." in finished.out
    assert "40 runs left out: their rows were deleted" in finished.out
    found = json.loads(cli("results", "export", "--out", "r.csv", "--per-run", "--json").out)
    assert (found["runs"], found["runs_without_counts"]) == (40, 40)
    change(store, "UPDATE provenance SET popsnet = '0.1.0'")
    finished = cli("results", "export", "--out", "r.csv", "--per-run")
    assert "40 runs left out: popsnet 0.1 made them" in finished.out


def test_csv_of_the_list_is_what_is_exported(cli: Cli, store: Path) -> None:
    assert cli("results", "export", "--out", "r.csv").code == 0
    rows = [line.rsplit(",", 2) for line in Path("r.csv").read_text().splitlines()]
    assert cli("results", "list", "--csv").out.splitlines() == [row[0] for row in rows]
    assert rows[0][1:] == ["seconds", "engine"]
    assert all(
        float(seconds) > 0 and engine in ("fused", "slots") for _, seconds, engine in rows[1:]
    )


def test_a_store_shows_itself(store: Path) -> None:
    with Store(store) as opened:
        report = opened.report()
    lines = str(report).splitlines()
    assert all(len(line) <= 80 for line in lines if str(store) not in line)
    assert [row["runs"] for row in report.to_dict()["experiments"]] == [20] * 4


def test_what_lies_beyond_a_gap_is_not_counted(cli: Cli, store: Path) -> None:
    point = json.loads(cli("results", "list", "--json").out)["experiments"][0]["experiment"]
    change(store, f"DELETE FROM results WHERE digest = '{point}' AND first = 0")
    printed = json.loads(cli("results", "list", "--json").out)
    require_schema("results list", printed)
    listed = printed["experiments"]
    assert [one["runs"] for one in listed] == [0, 20, 20, 20]
    assert (printed["runs_not_counted"], listed[0]["slots_mean"]) == (10, None)
    note = "10 runs behind a missing part are not counted. Run the sweep or merge the missing part."
    for command in (
        ("list",), ("show", point), ("export", "--out", "r.csv"),
        ("export", "--out", "r.csv", "--per-run"),
        ("plot", "--figure", "f.svg"), ("verify", "--shards", 0),
    ):  # fmt: skip
        finished = cli("results", *command)
        assert (finished.code, note in " ".join(finished.out.split())) == (0, True), command
    only = ("--router", listed[0]["router"], "--permutation", listed[0]["permutation"])
    for command in (("plot", "--figure", "f.svg"), ("export", "--out", "r.csv", "--per-run")):
        finished = cli("results", *command, *only)
        assert (finished.code, note in finished.err) == (2, True)
    assert json.loads(cli("results", "show", point, "--json").out)["shards"][0]["shard"] == 1


def test_exports_say_the_same(cli: Cli, store: Path) -> None:
    for name in ("r.csv", "r.json", "r.parquet"):
        finished = cli("results", "export", "--out", name)
        assert (finished.code, finished.out) == (0, f"4 experiments written to {name}.\n")
    rows = json.loads(Path("r.json").read_text())["experiments"]
    with Path("r.csv").open() as file:
        table = list(csv.DictReader(file))
    columns = parquet.read_table("r.parquet").to_pylist()
    for row, in_csv, in_parquet in zip(rows, table, columns, strict=True):
        assert list(row) == list(in_csv) == list(in_parquet)
        for key, value in row.items():
            if isinstance(value, dict):
                assert json.loads(in_csv[key]) == json.loads(in_parquet[key]) == value
            else:
                assert (in_csv[key], in_parquet[key]) == (str(value), value)
        sample = [int(v) for v, k in row["slots_histogram"].items() for _ in range(k)]
        one = summarize(sample)
        assert (row["slots_min"], row["slots_max"]) == (one.min, one.max)
        assert (row["slots_mean"], row["slots_sd"]) == pytest.approx((one.mean, one.sd))
        assert sum(row["slots_delivered_histogram"].values()) == row["runs"]
        assert 0 < row["slots_delivered_mean"] <= row["slots_mean"]
    assert {row["seed"] for row in rows} == {0, 2**64 - 1}


def test_parquet_says_what_it_needs(cli: Cli, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    finished = cli("results", "export", "--out", "r.parquet")
    assert finished.code == 2
    assert "pip install 'popsnet[parquet]', or pip install '.[parquet]' in" in finished.err
    assert not Path("r.parquet").exists()


def test_merging_twice_changes_nothing(cli: Cli, store: Path) -> None:
    for new in (8, 0):
        finished = cli("results", "merge", "results.sqlite", "--store", "all.sqlite")
        assert finished.code == 0
        assert finished.out.split("\n")[1].split() == ["results.sqlite", str(new)]
    change(as_format_2(store), "UPDATE shards SET collisions = collisions + 1")
    finished = cli("results", "merge", "results.sqlite", "--store", "all.sqlite")
    assert (finished.code, "its digest does not match its row" in finished.err) == (2, True)
    change(store, "DELETE FROM runs")
    change(store, "DROP TABLE digests")
    change(store, "UPDATE provenance SET popsnet = '0.1.0'")
    finished = cli("results", "merge", "results.sqlite", "--store", "all.sqlite")
    assert finished.code == 2
    assert "has another result for shard 0" in finished.err
    assert re.search(r"collisions [\d,]+ there, [\d,]+ in the new result", finished.err)
    assert "popsnet results verify --all finds out which" in finished.err


def test_verify_finds_what_is_wrong(cli: Cli, store: Path) -> None:
    finished = cli("results", "verify", "--shards", 2)
    assert (finished.code, finished.err) == (0, "")
    assert "2 shards run again" in finished.out
    assert json.loads(cli("results", "verify", "--all", "--json").out) == {
        "store": "results.sqlite", "ok": True, "flaws": [], "shards": 8, "with_digest": 8,
        "compared": 8, "unknown": [], "runs_not_counted": 0,
    }  # fmt: skip
    change(as_format_2(store), "UPDATE shards SET messages = messages + 1 WHERE shard = 1")
    assert cli("results", "verify", "--shards", 0).code == 1
    change(store, "DELETE FROM runs")
    change(store, "DROP TABLE digests")
    assert cli("results", "verify", "--shards", 0).code == 1
    change(store, "UPDATE provenance SET popsnet = '0.1.0'")
    assert cli("results", "verify", "--shards", 0).code == 0
    finished = cli("results", "verify", "--all")
    assert finished.code == 1
    assert "FAILED: results.sqlite has 4 flaws; 8 shards run again." in finished.out
    said = " ".join(finished.out.split())
    assert re.search(r": messages sent [\d,]+ in the store, [\d,]+ when run again\.", said)
    assert "Tally" not in said
    change(store, "UPDATE shards SET runs = 11")
    finished = cli("results", "verify", "--all")
    assert finished.code == 1
    assert "has 11 runs" in finished.out


def test_verify_runs_no_program_that_a_store_names(cli: Cli, store: Path) -> None:
    """A store is data, and may be another user's."""
    Path("planted.py").write_text("from pathlib import Path\nPath('planted was run').touch()\n")
    planted = 'UPDATE results SET provenance = replace(provenance, \'"router_file": ""\','
    change(store, f'{planted} \'"router_file": "planted.py"\')')
    assert "was changed: its digest does not match" in cli("results", "verify").out
    change(store, "UPDATE results SET hash = ''")
    finished = cli("results", "verify", "--all")
    assert "its router is the program planted.py" in " ".join(finished.out.split())
    assert "0 shards run again" in finished.out
    assert not Path("planted was run").exists()
    for name in ("planted.py", "planted.py:standard"):  # where a router's name should be
        with pytest.raises(InputError, match="no router 'planted"):
            _require_allowed(Experiment(4, 4)._copied(program=name), "", set())

    cli("results", "verify", "--all", "--router", "planted.py")
    assert Path("planted was run").exists()  # nothing but the check prevents it


def test_verify_says_what_it_cannot_run_again(cli: Cli, store: Path) -> None:
    np.save("p.npy", np.arange(15))
    finished = cli("results", "verify", "--all")
    assert finished.code == 0
    assert "Not run again: Experiment" in finished.out
    assert "the permutation here is file.npy:" in finished.out.replace("\n", " ")
    assert "6 shards run again" in finished.out
    Path("p.npy").unlink()
    assert "p.npy cannot be read" in cli("results", "verify", "--all").out


def test_a_result_of_another_version_is_kept_apart(
    cli: Cli, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    newer = replace(get_router("direct"), version="2")
    monkeypatch.setitem(register._PROGRAMS, ("router", "direct"), newer)
    assert cli("sweep", "sweep.toml").code == 0
    with Store(store) as opened:
        versions = [one.version for one in opened.experiments() if one.router == "direct"]
        assert sorted(versions) == ["1", "1", "2", "2"]
    finished = cli("results", "verify", "--all")
    assert finished.code == 0
    assert "the version here is 2, not 1" in finished.out.replace("\n", "")


BAD = {
    "no store": (("list", "--store", "none"), "The store none does not exist"),
    "no results": (("list", "--store", "p.npy"), "not a store of results"),
    "no experiment": (
        ("show", "x"),
        "No experiment in results.sqlite has a name that begins with 'x'",
    ),
    "many experiments": (
        ("show", ""),
        "4 experiments in results.sqlite have names that begin with ''. Give more of these: ",
    ),
    "no format": (
        ("export", "--out", "r.xls"),
        "r.xls: results are written to files ending in .csv",
    ),
    "nowhere": (("export", "--out", "none/r.csv"), "There is no folder"),
    "itself": (("merge", "./results.sqlite"), "is the store to merge into"),
    "nothing to merge": (("merge", "none", "--store", "new"), "The store none does not exist"),
    "no router": (("list", "--router", "mei"), "--router 'mei': results.sqlite has no such"),
    "no n": (("export", "--out", "r.csv", "--n", "1:2"), "--n 1:2: results.sqlite has no such"),
    "no range": (("plot", "--figure", "f.svg", "--d", "x"), "--d x: give a number, or a range"),
    "no axis": (("plot", "--figure", "f.svg", "--x", "m"), "--x 'm': give one of n, d, g, d/g."),
    "no measure": (
        ("plot", "--figure", "f.svg", "--measure", "m"),
        "--measure 'm': give one of slots, steps, slots_delivered, lost",
    ),
    "no figure": (("plot", "--figure", "f.doc"), "--figure f.doc: the name must end in one of"),
    "fewer than none": (("verify", "--shards", -1), "--shards -1"),
    "no seed": (("verify", "--seed", -1), "--seed -1"),
}


@each("kind", BAD)
def test_bad_input_is_refused_with_code_2_and_a_reason(kind: str, cli: Cli, store: Path) -> None:
    arguments, complaint = BAD[kind]
    before = sorted(store.parent.iterdir())
    finished = cli("results", *arguments)
    assert (finished.code, finished.out) == (2, "")
    assert complaint in finished.err
    assert sorted(store.parent.iterdir()) == before


def test_a_store_without_results_has_none(cli: Cli, tmp_path: Path) -> None:
    Store(tmp_path / "r", create=True).close()
    assert "0 experiments in" in cli("results", "list", "--store", tmp_path / "r").out
    finished = cli("results", "export", "--out", tmp_path / "r.csv", "--store", tmp_path / "r")
    assert finished.code == 2
    assert "There are no results" in finished.err
    assert cli("results", "verify", "--store", tmp_path / "r").code == 0


def test_help(cli: Cli) -> None:
    for command in (
        [],
        ["list"],
        ["show"],
        ["plot"],
        ["export"],
        ["merge"],
        ["verify"],
        ["rescue"],
    ):
        assert cli("results", *command, "--help").code == 0
    assert cli("sweep", "--help").code == 0


def test_points_are_printed_without_a_figure(cli: Cli, store: Path) -> None:
    assert cli("results", "plot", "--store", store, "--csv").out.startswith("line,")
    refused = cli("results", "plot", "--store", store)
    assert refused.code == 2
    assert "--figure is missing" in refused.err


MINE = """
import popsnet
from popsnet.programs.routers.direct import direct

@popsnet.register("mine", summary="", slots="", buffers=2)
def route(network, destination, coins, memory):
    yield from direct(network, destination, coins, memory)

VERSION = {}
"""


@pytest.fixture
def versions(cli: Cli, store: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Three versions of a file in the store, of which the last has one network only."""
    seconds = itertools.count(1)

    class Clock:
        @staticmethod
        def now(_: object) -> datetime:
            return datetime.fromtimestamp(next(seconds), UTC)

    monkeypatch.setattr("popsnet.sweeps.kind.datetime", Clock)
    digests = []
    for version, networks in enumerate(("[[2, 2], [4, 4]]", "[[2, 2], [4, 4]]", "[[2, 2]]")):
        Path("mine.py").write_text(MINE.format(version))
        Path("mine.toml").write_text(f'[[grid]]\nshapes = {networks}\nrouters = "mine.py"\n')
        rows = json.loads(cli("sweep", "mine.toml", "--json").out)["experiments"]
        digests.append(rows[0]["version"])
    return digests


def test_only_the_newest_version_of_a_file_is_shown(
    cli: Cli, store: Path, versions: list[str]
) -> None:
    def found(*command: str) -> list[str]:
        finished = cli("results", *command, "--json")
        printed = json.loads(finished.out)
        assert printed["older_left_out"] == (0 if "--all-versions" in command else 4)
        rows = printed.get("experiments", printed.get("points"))
        return [row["version"] for row in rows if row["router"] == "mine"]

    for command in (["list"], ["plot", "--figure", "f.svg"]):
        assert found(*command) == versions[2:]
        assert sorted(found(*command, "--all-versions")) == sorted([*versions[:2] * 2, versions[2]])
    assert "4 experiments of older versions are left out" in cli("results", "list").out
    text = cli("results", "list", "--all-versions", "--router", "mine").out
    assert all(version[:8] in text for version in versions)
    lines = cli("results", "plot", "--csv", "--all-versions").out
    assert lines.count(f", version {versions[0][:8]}") == 2
    for option, count in (((), 1), (("--all-versions",), 5)):
        assert cli("results", "export", "--out", "r.csv", "--router", "mine", *option).code == 0
        assert len(Path("r.csv").read_text().splitlines()) == 1 + count
    with Store(store) as opened:
        assert len(opened.to_dataframe(Selection(router="mine"))) == 1
        assert len(opened.experiments()) == 9
        assert len(opened.experiments(Selection(versions="older"))) == 4
    none = cli("results", "list", "--router", "mine", "--d", "4")
    assert (none.code, "has results of older versions only for this" in none.err) == (2, True)


def test_results_are_dropped_after_a_question(
    cli: Cli, store: Path, versions: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(text: str, *command: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", StringIO(text))
        return cli("results", "drop", *command)

    before = store.read_bytes()
    for command, said in {
        (): "Nothing says what to drop",
        ("--all-versions", "--yes"): "Nothing says what to drop",
        ("--older-versions", "--all-versions"): "give only one",
        ("--older-versions",): "There is no answer, so nothing was dropped",
        ("--n", "5", "--yes"): "has no such experiment",
        ("--n", "5", "--yes", "--store", "no.sqlite"): "does not exist",
    }.items():
        finished = answer("", *command)
        assert (finished[0], said in finished[2]) == (2, True), command
    code, out, err = answer("n\n", "--older-versions")
    assert (code, "Drop 4 experiments?" in err, "0 experiments dropped" in out) == (0, True, True)
    assert versions[0][:8] in out
    assert store.read_bytes() == before
    assert not Path("no.sqlite").exists()
    code, out, _ = answer("y\n", "--older-versions", "--json")
    printed = json.loads(out)
    require_schema("results drop", printed)
    assert (printed["dropped"], len(printed["experiments"])) == (4, 4)
    assert json.loads(cli("results", "list", "--json").out)["older_left_out"] == 0
    assert cli("results", "drop", "--router", "direct", "--yes").code == 0
    verified = cli("results", "verify", "--all", "--router", "mine.py")
    assert (verified.code, "OK: results.sqlite is whole" in verified.out) == (0, True)
    assert len(store.read_bytes()) < len(before)


def test_dropping_is_all_or_nothing_and_a_sweep_does_everything_again(store: Path) -> None:
    def deny(action: int, table: str | None, *_: object) -> int:
        is_second = action == sqlite3.SQLITE_DELETE and table == "experiments"
        return sqlite3.SQLITE_DENY if is_second else sqlite3.SQLITE_OK

    point = TrafficExperiment(4, 4, load=0.1, slots=200)
    collect_traffic([point], store, progress=False)
    with Store(store, create=True) as opened:
        chosen, rows = [opened.find_any(point.digest), Experiment(4, 4)], opened.rows("results")
        opened._database.set_authorizer(deny)
        with pytest.raises(StoreError):
            opened.drop(chosen)
        opened._database.set_authorizer(None)
        assert opened.rows("results") == rows
        (before,) = collect([Experiment(4, 4)], store=opened, precision="4%", progress=False)
        assert before.runs > 20
        opened.drop([*chosen, Experiment(4, 4)])
        assert opened.traffic.get(point) is None
        assert (opened.tally(Experiment(4, 4), 10), opened.flaws()) == (None, [])
        assert collect([Experiment(4, 4)], store=opened, precision="4%", progress=False) == [before]
        assert verify(opened, progress=False).flaws == ()
