"""popsnet sweep and popsnet results with points of continuous traffic."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pytest
from pyarrow import parquet

from popsnet.base.report.table import nest
from popsnet.runs.traffic_result import NESTED
from popsnet.sweeps.store import Store
from tests.conftest import Cli
from tests.each import each
from tests.project.schemas import require_schema
from tests.sweeps.edits import kept

RUNS = "[[grid]]\nshapes = [[4, 4]]\nruns = 20\n"
TRAFFIC = """
[[traffic]]
label = "small"
shapes = [[2, 2], [3, 2]]
schedulers = ["tdm", "rotor"]
loads = [0.1, 0.3]
slots = 60
arrival_seed = 18446744073709551615
"""


@pytest.fixture(params=["traffic", "both"])
def both(request: pytest.FixtureRequest) -> bool:
    """Whether the store has runs, too."""
    return bool(request.param == "both")


@pytest.fixture
def store(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, both: bool) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("sweep.toml").write_text((RUNS if both else "") + TRAFFIC)
    finished = cli("sweep", "sweep.toml")
    assert finished.code == 0
    runs = "2 parts of 10 runs, of 1 experiment and " if both else ""
    assert finished.err == f"Running {runs}8 points of traffic…\n"
    return tmp_path / "results.sqlite"


def said(cli: Cli, command: str, *arguments: object, code: int = 0) -> dict[str, object]:
    """What a command prints as JSON, which has the form that its schema states."""
    finished = cli(*command.split(), *arguments, "--json")
    assert finished.code == code, finished.err
    printed: dict[str, object] = json.loads(finished.out)
    require_schema(command, printed)
    return printed


def test_every_command_states_what_it_prints(cli: Cli, store: Path, both: bool) -> None:
    swept = said(cli, "sweep", "sweep.toml")
    assert len(swept["traffic"]) == 8  # type: ignore[arg-type]
    assert len(swept["experiments"]) == both  # type: ignore[arg-type]
    listed = said(cli, "results list")
    points = listed["traffic"]
    assert isinstance(points, list)
    assert len(points) == 8
    for point in points[:2]:
        shown = said(cli, "results show", point["experiment"])
        assert (shown["experiment"], shown["load"]) == (point["experiment"], point["load"])
        assert "s of work, finished at" in cli("results", "show", point["experiment"][:8]).out
    assert said(cli, "results merge", store, "--store", "all")["merged"] == [
        {"store": str(store), "new_shards": 2 * both, "new_points": 8}
    ]
    verified = said(cli, "results verify", "--shards", 3)
    assert (verified["points"], verified["shards"]) == (8, 2 * both)
    assert verified["points_compared"] + verified["compared"] == 3  # type: ignore[operator]
    rescued = said(cli, "results rescue", store, "new")
    assert (rescued["points"], rescued["copied"], rescued["points_lost"]) == (8, 2 * both, [])
    drawn = said(cli, "results plot", "--measure", "delay", "--d", 2, "--g", 2, "--figure", "f.svg")
    assert len(drawn["traffic"]) == 4  # type: ignore[arg-type]
    assert Path("f.svg").exists()


def test_a_sweep_that_was_ended_says_what_is_missing(
    cli: Cli, store: Path, monkeypatch: pytest.MonkeyPatch, both: bool
) -> None:
    now = iter(range(10**9))
    with monkeypatch.context() as patched:
        patched.setattr("popsnet.sweeps.runner.time.monotonic", lambda: float(next(now)))
        options = ("sweep.toml", "--store", "new", "--time-limit", "2s", "--workers", 1)
        swept = said(cli, "sweep", *options)
        there, missing = swept.get("traffic", []), swept["traffic_without_results"]
        assert len(there) + len(missing) == 8  # type: ignore[arg-type]
        finished = cli("sweep", *options)
    assert "Stopped after 2s: " in finished.out
    assert "of 8 points of traffic" in " ".join(finished.out.split())
    assert cli("sweep", "sweep.toml", "--store", "new").code == 0
    with Store("new") as one, Store(store) as other:
        assert kept(one, "window") == kept(other, "window")


def test_the_label_is_shown_everywhere(cli: Cli, store: Path, both: bool) -> None:
    digests = {point["experiment"] for point in said(cli, "results list")["traffic"]}  # type: ignore[attr-defined]
    option = ("--traffic",) if both else ()
    cli("results", "export", "--out", "t.json", *option)
    for where, rows in {
        "sweep": said(cli, "sweep", "sweep.toml")["traffic"],
        "list": said(cli, "results list")["traffic"],
        "export": json.loads(Path("t.json").read_text())["traffic"],
    }.items():
        assert {row["label"] for row in rows} == {"small"}, where
        assert {row["scheduler"] for row in rows} == {"tdm", "rotor"}, where
    for command in (("sweep", "sweep.toml"), ("results", "list")):
        shown = [line for line in cli(*command).out.splitlines() if "small" in line]
        assert len(shown) == 8, command
        assert sum(" rotor " in line for line in shown) == 4, command
    cli("results", "plot", "--measure", "delay", "--d", 2, "--g", 2, "--figure", "f.svg")
    assert "rotor, small" in Path("f.svg").read_text()
    assert "small" in cli("results", "show", min(digests)[:8]).out.splitlines()[0]
    Path("sweep.toml").write_text(TRAFFIC.replace('label = "small"', 'label = "other"'))
    renamed = said(cli, "sweep", "sweep.toml")["traffic"]
    assert {row["label"] for row in renamed} == {"other"}  # type: ignore[attr-defined]
    assert {row["experiment"] for row in renamed} == digests  # type: ignore[attr-defined]


def test_exports_say_the_same(cli: Cli, store: Path, both: bool) -> None:
    points = said(cli, "results list")["traffic"]
    option = ("--traffic",) if both else ()
    for name in ("t.csv", "t.json", "t.parquet"):
        finished = cli("results", "export", "--out", name, *option)
        assert f"8 points of traffic written to {name}." in finished.out
    assert said(cli, "results export", "--out", "t.csv", *option)["points"] == 8
    exported = json.loads(Path("t.json").read_text())["traffic"]
    made = [(point.pop("seconds"), point.pop("engine")) for point in exported]
    assert exported == points
    assert all(seconds > 0 and engine == "fused" for seconds, engine in made)
    rows_of_parquet = parquet.read_table("t.parquet").to_pylist()
    assert [(row.pop("seconds"), row.pop("engine")) for row in rows_of_parquet] == made
    assert [nest(row, NESTED) for row in rows_of_parquet] == points
    with Path("t.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [one["experiment"] for one in rows] == [one["experiment"] for one in points]
    assert {one["arrival_seed"] for one in rows} == {str(2**64 - 1)}
    text = cli("results", "export", "--out", "r.csv").out
    assert ("8 points of traffic left out" in text) is both
    if not both:
        listed = cli("results", "list", "--csv")
        exported = [line.rsplit(",", 2)[0] for line in Path("t.csv").read_text().splitlines()]
        assert (listed.out.splitlines(), listed.err) == (exported, "")
        per_run = cli("results", "export", "--out", "r.csv", "--per-run")
        assert (per_run.code, "no single runs" in per_run.err) == (2, True)
    two = cli("results", "export", "--out", "r.csv", "--per-run", "--traffic")
    assert (two.code, "give one of them" in two.err) == (2, True)


def test_tables_fit_in_80_columns(cli: Cli, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for command in (("results", "list"), ("sweep", "sweep.toml")):
        lines = cli(*command).out.splitlines()
        assert all(len(line) <= 80 for line in lines)
        assert sum("tdm" in line and "0.3" in line for line in lines) == 2
    assert "4 of 8 points of traffic in" in cli("results", "list", "--scheduler", "tdm").out


@each(
    ("arguments", "complaint"),
    [
        (("list", "--scheduler", "x"), "--scheduler 'x': results.sqlite has no such experiment"),
        (("list", "--n", "100"), "--n 100: results.sqlite has no such experiment"),
        (("plot", "--measure", "delay", "--x", "n", "--csv"), "--x n: delay is drawn against"),
        (("show", "tdm"), "Experiments with 'tdm': "),
    ],
)
def test_bad_input_is_refused_with_a_reason(
    arguments: tuple[str, ...], complaint: str, cli: Cli, store: Path
) -> None:
    finished = cli("results", *arguments)
    assert (finished.code, finished.out) == (2, "")
    assert complaint in finished.err


def test_two_points_at_one_load_are_not_one_line(cli: Cli, store: Path) -> None:
    Path("more.toml").write_text(f"seed = 3\n{TRAFFIC}")
    assert cli("sweep", "more.toml").code == 0
    finished = cli(
        "results", "plot", "--measure", "delay", "--d", 2, "--g", 2, "--figure", "delay.svg"
    )
    assert finished.code == 0, finished.err
    figure = Path("delay.svg").read_text()
    assert {f"rotor, small, seed {seed}" in figure for seed in (0, 3)} == {True}


def test_a_precision_of_runs_does_not_apply(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sweep.toml").write_text(TRAFFIC)
    finished = cli("sweep", "sweep.toml", "--precision", "1%")
    assert (finished.code, finished.out) == (2, "")
    assert "--precision 1%: it applies to runs, and there are none." in finished.err
    assert not Path("results.sqlite").exists()


def test_damage_ends_every_command_with_code_2(cli: Cli, store: Path) -> None:
    content = store.read_bytes()
    place = content.index(b'"delivered": ') + len(b'"delivered": ')
    other = b"2" if content[place : place + 1] != b"2" else b"3"
    store.write_bytes(content[:place] + other + content[place + 1 :])
    for command in (
        ("sweep", "sweep.toml"), ("results", "list"), ("results", "show", "abc"),
        ("results", "export", "--out", "t.csv", "--traffic"),
        ("results", "plot", "--measure", "delay", "--csv"),
        ("results", "merge", store, "--store", "all"),
    ):  # fmt: skip
        finished = cli(*command)
        assert (finished.code, finished.out) == (2, "")
        assert "popsnet results rescue" in finished.err
    assert cli("results", "verify").code == 1
    finished = cli("results", "rescue", store, "new")
    assert (finished.code, "7 points of traffic copied" in finished.out) == (1, True)
    shutil.copy("new", store)
    assert cli("sweep", "sweep.toml").code == 0
    assert cli("results", "verify").code == 0


STUDY = """
[[traffic]]
shapes = [[2, 2]]
schedulers = ["tdm"]
loads = [0.1, 0.3]
faults = ["", "coupler:0-1"]
wavelengths = [1, 2]
slots = 60
[[grid]]
shapes = [[2, 2]]
routers = ["offline"]
faults = ["", "coupler:0-1"]
seed = [0, 1]
runs = 10
"""


def test_a_study_of_faults_is_listed_drawn_and_selected(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(STUDY)
    swept = cli("sweep", "study.toml")
    listed = cli("results", "list")
    assert (swept.code, listed.code) == (1, 0), swept.err  # offline loses packets
    for table in (swept.out, listed.out):
        runs, traffic = table.split("Delay in slots")
        assert {"faults", "seed"} < {*runs.split()}
        assert {"faults", "wavelengths"} < {*traffic.split()}
        assert "version" not in table
    rows = [line for line in traffic.splitlines() if " tdm " in line]
    assert len({tuple(line.split()[1:7]) for line in rows}) == 8  # no two look alike
    drawn = cli("results", "plot", "--measure", "delay", "--figure", "delay.svg")
    assert drawn.code == 0, drawn.err
    figure = Path("delay.svg").read_text()
    for faults in ("none", "coupler:0-1"):
        for wavelengths in (1, 2):
            assert f"tdm, wavelengths {wavelengths}, faults {faults}" in figure
    assert "any scheduler" not in figure  # each line has its own bound
    one = ("--faults", "none", "--wavelengths", 1)
    cli("results", "plot", "--measure", "delay", "--figure", "delay.svg", *one)
    assert "any scheduler" in Path("delay.svg").read_text()
    points = said(cli, "results list", "--scheduler", "tdm", *one)["traffic"]
    assert len(points) == 2  # type: ignore[arg-type]
    runs_of_one = said(cli, "results list", "--router", "offline", "--seed", 1, "--faults", "none")
    assert len(runs_of_one["experiments"]) == 1  # type: ignore[arg-type]
    refused = cli("results", "list", "--faults", "coupler:0-2")
    assert refused.code == 2
    assert "Did you mean 'coupler:0-1'?" in refused.err
    assert "seed is from 0 to 1 there" in cli("results", "list", "--seed", "2:").err
