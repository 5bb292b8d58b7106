"""What the documents say is run: every command, every block of Python, the sample output."""

from __future__ import annotations

import importlib
import io
import json
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import popsnet
from popsnet.routing import plugin
from popsnet.routing.deterministic import batcher_slots, datta_slots
from popsnet.routing.relay import plan
from popsnet.routing.router import unregister
from popsnet.sweeps.store import Store
from popsnet.sweeps.sweep import GRID_KEYS
from popsnet.theory import deterministic_slots
from popsnet.trace import Event, TraceWords, TraceWriter
from tests.conftest import Cli

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
LOST_PACKETS = (ROOT / "docs/explanation/lost-packets.md").read_text()
RELAY = (ROOT / "docs/explanation/relay.md").read_text()
SORTING_NETWORKS = (ROOT / "docs/explanation/sorting-networks.md").read_text()
TRACE_FORMAT = (ROOT / "docs/reference/trace-format.md").read_text()
DETERMINISTIC = (ROOT / "docs/explanation/deterministic.md").read_text()
OFFLINE = (ROOT / "docs/explanation/offline.md").read_text()
PYTHON = (ROOT / "docs/reference/python.md").read_text()
SWEEP_FORMAT = (ROOT / "docs/reference/sweep-format.md").read_text()


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def commands(text: str) -> list[list[str]]:
    lines = [line for block in blocks(text, "sh") for line in block.splitlines()]
    found = [shlex.split(line, comments=True) for line in lines if line.startswith("popsnet ")]
    return [command[1:] for command in found if "--install-completion" not in command]


def execute(*scripts: str) -> dict[str, Any]:
    """Run blocks of Python, one after another in one program, and return its names."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for script in scripts:
        exec(compile(script, "a block of Python", "exec"), names)
    return names


def test_every_command_of_the_readme_works(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (sweep,) = blocks(README, "toml")
    Path("sweep.toml").write_text(sweep)
    assert len(commands(README)) >= 8
    left = commands(README)
    left.remove(shlex.split("paper --max-n 64 --runs 20"))  # tests/test_paper.py has it, whole
    for command in left:
        finished = cli(*command)
        assert finished.code == 0, (command, finished.err)


def test_the_readmes_sample_is_what_the_program_prints(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    for sample in blocks(README, "console"):
        asked, *printed = sample.rstrip().splitlines()
        finished = cli(*shlex.split(asked.removeprefix("$ popsnet ")))
        without_time = re.compile(r"in [\d.]+ s")
        assert [without_time.sub("", line).rstrip() for line in printed] == [
            without_time.sub("", line).rstrip() for line in finished.out.splitlines()
        ]


def test_the_readmes_python_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for block in blocks(README, "python"):
        execute(block)
    assert blocks(README, "python")


@pytest.mark.usefixtures("forget_routers")
def test_the_worked_example_works(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    router, locality = blocks(CONTRIBUTING, "python")
    (tmp_path / "broadcast.py").write_text(router)
    for line in blocks(CONTRIBUTING, "console")[0].splitlines():
        assert cli(*shlex.split(line.removeprefix("$ popsnet "))).code == 0
    execute(locality)
    assert (tmp_path / "broadcast.jsonl").is_file()


def test_the_schedules_are_made(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command of the page on off-line routing, in order, and its Python."""
    monkeypatch.chdir(tmp_path)
    for line in "".join(blocks(OFFLINE, "sh")).splitlines():
        if line.startswith("printf"):
            subprocess.run(["/bin/sh", "-c", line], check=True)
        else:
            finished = cli(*shlex.split(line.removeprefix("popsnet "), comments=True))
            assert finished.code == 0, (line, finished.err)
    for block in blocks(OFFLINE, "python"):
        execute(block)


@pytest.mark.parametrize("name", ["exact-chains", "mei-rizzi-analysis"])
def test_every_command_of_an_explanation_works(
    name: str, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = (ROOT / f"docs/explanation/{name}.md").read_text()
    assert len(commands(text)) >= 4
    for command in commands(text):
        finished = cli(*command)
        assert finished.code == 0, (command, finished.err)
    for image in re.findall(r"\]\(\.\./images/(.*?)\)", text):
        assert (ROOT / "docs/images" / image).is_file()


def test_the_commands_on_deterministic_routing_work(cli: Cli) -> None:
    assert len(commands(DETERMINISTIC)) == 8
    for command in commands(DETERMINISTIC):
        assert cli(*command).code == 0, command


def test_the_slots_of_deterministic_routers_are_theirs() -> None:
    """Small networks are executed; of the others the formulas are looked at."""
    rows = re.findall(r"^\| POPS\((\d+), (\d+)\) \|(.*)\|$", DETERMINISTIC, re.MULTILINE)
    assert len(rows) >= 15
    for d, g, cells in rows:
        network = popsnet.Network(int(d), int(g))
        published, *ours = (re.sub(r"[(),]", "", cell.strip()) for cell in cells.split("|"))
        if published != "–":
            assert int(published) == deterministic_slots(network)
        assert int(ours[0]) == datta_slots(network)
        assert ours[1] == (str(batcher_slots(network)) if network.d <= network.g else "–")
        if network.n <= 256:
            (run,) = popsnet.route(network, router="datta")
            assert run.slots == int(ours[0])


def test_the_lost_packets_are_lost(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page's two commands, and what the second prints."""
    route, check, *printed = blocks(LOST_PACKETS, "console")[0].rstrip().splitlines()
    monkeypatch.chdir(tmp_path)
    routed = cli(*shlex.split(route.removeprefix("$ popsnet ")))
    checked = cli(*shlex.split(check.removeprefix("$ popsnet ")))
    assert (routed.code, checked.code) == (1, 1)
    assert checked.out.rstrip().splitlines() == printed
    header = json.loads((tmp_path / "lost.jsonl").read_text().splitlines()[0])
    assert f"π = {header['destination']}" in LOST_PACKETS


def test_the_page_on_relay_says_what_happens(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its example, its commands, its Python, and the pictures it shows."""
    route, check, *printed = blocks(RELAY, "console")[0].rstrip().splitlines()
    monkeypatch.chdir(tmp_path)
    assert cli(*shlex.split(route.removeprefix("$ popsnet "))).code == 0
    assert cli(*shlex.split(check.removeprefix("$ popsnet "))).out.rstrip().splitlines() == printed
    header = json.loads((tmp_path / "relay.jsonl").read_text().splitlines()[0])
    assert f"π = {header['destination']}" in RELAY
    assert len(commands(RELAY)) == 6
    for command in commands(RELAY):
        finished = cli(*command)
        assert finished.code == 0, (command, finished.err)
    (block,) = blocks(RELAY, "python")
    execute(block)
    for image in re.findall(r"\.\./images/([\w-]+\.svg)", RELAY):
        assert (ROOT / "docs/images" / image).is_file()


def test_the_plans_on_the_page_on_relay_are_the_plans() -> None:
    rows = re.findall(
        r"^\| POPS\((\d+), (\d+)\) \| \d+ \| `(.*?)` \| ([\d.]+) \|", RELAY, re.MULTILINE
    )
    assert len(rows) == 18
    for d, g, schedule, slots in rows:
        made = plan(popsnet.Network(int(d), int(g)))
        assert str(made.schedule) == schedule.replace(r"\|", "|")
        assert made.slots == pytest.approx(float(slots), abs=0.06)


def test_the_page_on_sorting_networks_shows_what_is_printed(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its commands work; the table is compared as far as it is made in a moment."""
    monkeypatch.chdir(tmp_path)
    for command in commands(SORTING_NETWORKS):
        finished = cli(*command)
        assert finished.code == 0, (command, finished.err)
    for block in blocks(SORTING_NETWORKS, "python"):
        execute(block)
    asked, *shown = blocks(SORTING_NETWORKS, "console")[0].rstrip().splitlines()
    assert asked == "$ popsnet sorting-network bag-tree 65536 --growth"
    made = cli("sorting-network", "bag-tree", 2**10, "--growth").out.splitlines()
    rows = [line.split() for line in made if line.lstrip().startswith("2^")]
    assert len(rows) == 5
    assert [line.split() for line in shown if line.lstrip().startswith("2^")][:5] == rows


@pytest.mark.long
def test_the_table_of_depths_is_the_programs(cli: Cli) -> None:
    asked, *shown = blocks(SORTING_NETWORKS, "console")[0].rstrip().splitlines()
    assert cli(*shlex.split(asked.removeprefix("$ popsnet "))).out.splitlines() == shown


@pytest.mark.parametrize(
    "page", ["average-case", "oblivious-routing", "rigid-routing", "two-hop-routing"]
)
def test_the_commands_of_the_lower_bounds_work(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: str
) -> None:
    """They print what is shown; what is refused is refused in these words."""
    text = (ROOT / f"docs/explanation/{page}.md").read_text()
    monkeypatch.chdir(tmp_path)
    loaded: dict[Path, tuple[str, ...]] = {}
    monkeypatch.setattr(plugin, "_LOADED", loaded)
    Path("docs").symlink_to(ROOT / "docs")
    for block in blocks(text, "python"):
        Path("mine.py").write_text(block)
    assert commands(text)
    for command in commands(text):
        assert cli(*command).code == 0, command
    for sample in re.split(r"^\$ popsnet ", "".join(blocks(text, "console")), flags=re.MULTILINE)[
        1:
    ]:
        asked, *said = sample.rstrip().splitlines()
        finished = cli(*shlex.split(asked))
        code, shown = (2, finished.err) if said[0].startswith("Error: ") else (0, finished.out)
        assert (finished.code, [line.rstrip() for line in shown.splitlines()]) == (code, said)
    for name in {name for names in loaded.values() for name in names}:
        unregister(name)


def test_the_tree_of_the_architecture_is_the_tree() -> None:
    tree = (ROOT / "ARCHITECTURE.md").read_text().split("```")[1]
    named = set(re.findall(r"^  (\w+(?:\.py|/))", tree, re.MULTILINE))
    source = ROOT / "src" / "popsnet"
    there = {f"{path.name}/" for path in source.iterdir() if (path / "__init__.py").is_file()}
    there |= {path.name for path in source.glob("*.py") if not path.name.startswith("__")}
    assert named == there


def test_every_line_of_the_trace_format_is_one() -> None:
    """The examples have the fields that the writer writes, in its order."""
    header, slot, outcome = map(json.loads, blocks(TRACE_FORMAT, "json"))
    written = io.StringIO()
    trace = TraceWriter(written)
    words = TraceWords(explanation="", phases={}, conflict_graph="")
    trace.begin(popsnet.Network(1, 1), "r", "v", 0, np.array([0]), 1, words=words)
    trace(Event(1, "phase", 0, 1, lambda: ([], [])))
    trace.settle([], [])
    trace.end(1, 1, ())
    for example, line in zip((header, slot, outcome), written.getvalue().splitlines(), strict=True):
        assert list(example) == list(json.loads(line))
    assert list(outcome["outcome"]) == ["slots", "delivered", "lost", "lost_packets"]


def test_the_example_of_the_sweep_format_is_one(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (sweep,) = blocks(SWEEP_FORMAT, "toml")
    Path("sweep.toml").write_text(sweep)
    assert len(commands(SWEEP_FORMAT)) == 7
    for command in commands(SWEEP_FORMAT):
        finished = cli(*command)
        assert finished.code == 0, (command, finished.err)
    (block,) = blocks(SWEEP_FORMAT, "python")
    execute(block)
    with Store(Path("results.sqlite")) as by_command, Store(Path("python.sqlite")) as by_python:
        assert by_command.rows("shards") == by_python.rows("shards")


def test_the_sweep_format_names_every_key_and_column(tmp_path: Path) -> None:
    with Store(tmp_path / "r", create=True) as store:
        tables = ("points", "shards", "runs", "provenance")
        columns = [store.columns(table) for table in tables]
    for name in (*GRID_KEYS, *tables, *(column for names in columns for column in names)):
        assert f"`{name}`" in SWEEP_FORMAT, name


def test_versions_agree() -> None:
    assert f"version: {popsnet.__version__}" in (ROOT / "CITATION.cff").read_text()
    assert f"## {popsnet.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_the_page_on_python_runs_from_top_to_bottom(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one program, as a reader would try it; every function of the table exists."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    execute(*blocks(PYTHON, "python"))
    for name in ("run.jsonl", "slots.png", "python.sqlite", "python.csv", "paper/report.html"):
        assert Path(name).stat().st_size > 100
    for name in re.findall(r"`popsnet\.([\w.]+)", PYTHON):
        value, path = popsnet, "popsnet"
        for part in name.split("."):
            path = f"{path}.{part}"
            value = getattr(value, part, None) or importlib.import_module(path)
