"""Names from traces, stores, files and routers cannot reach the terminal with their controls."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

import popsnet
from popsnet.base import progress
from popsnet.programs.router import unregister
from popsnet.programs.routers.direct import direct
from tests.base.test_terminal import HOSTILE, hidden
from tests.conftest import Cli

IN_A_FILE = HOSTILE.replace("\udcff", "")
"""UTF-8 has no surrogates."""
AS_A_NAME = HOSTILE.replace("\x1b]0;t\x07", "\x1b[0m")
"""File names have no slash, and these have a byte that is not UTF-8."""

ROUTER = """
import popsnet

@popsnet.register({name!r}, summary={name!r}, slots="", buffers=2)
def route(network, destination, coins, memory):
    {body}
    yield popsnet.Slot()
"""


@pytest.fixture(autouse=True)
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def require_visible(cli: Cli, *arguments: object, code: int = 0, shown: str = "\\x1b") -> None:
    """The command prints the name with escapes, and nothing that is hidden."""
    finished = cli(*arguments)
    text = finished.out + finished.err
    assert (finished.code, hidden(text)) == (code, set())
    assert shown in "".join(text.split())


def trace(name: str, path: Path) -> None:
    """Write the trace of a run with another name of its router."""
    popsnet.route(2, 2, router="direct", trace="plain.jsonl")
    first, *others = Path("plain.jsonl").read_text().splitlines()
    header = {**json.loads(first), "router": name, "variant": name}
    path.write_text("\n".join([json.dumps(header), *others, ""]))


def test_traces(cli: Cli) -> None:
    trace(f"x\nOK: no rule broken{HOSTILE}", Path("t.jsonl"))
    require_visible(cli, "check", "t.jsonl", shown="x\\nOK")
    require_visible(cli, "view", "t.jsonl", "--no-open", shown="x\\nOK")
    for command in ("check", "view"):
        assert json.loads(cli(command, "t.jsonl", "--json").out)


def test_stores(cli: Cli) -> None:
    popsnet.register(IN_A_FILE, summary="", slots="", buffers=2)(direct)
    try:
        experiment = popsnet.Experiment(2, 2, router=IN_A_FILE)
        popsnet.collect([experiment], runs=10, store="results.sqlite")
        require_visible(cli, "results", "list")
        require_visible(cli, "results", "list", "--router", "none" + HOSTILE, code=2)
        require_visible(cli, "results", "show", experiment.digest[:6])
        require_visible(cli, "results", "show", HOSTILE, code=2)
        require_visible(cli, "results", "plot", "--figure", "p.svg", shown="p.svg")
        ET.parse("p.svg")  # which refuses control characters
        require_visible(cli, "route", 2, 2, "--router", IN_A_FILE)
        require_visible(cli, "compare", 2, 2, "--router", IN_A_FILE, "--runs", 1)
        require_visible(cli, "routers")
    finally:
        unregister(IN_A_FILE)
    require_visible(cli, "results", "verify")


def test_labels_and_files_of_sweeps(cli: Cli) -> None:
    label = json.dumps(IN_A_FILE.replace("\x7f", "").replace("\U000e0041", ""))
    Path("s.toml").write_text(f"runs = 10\n[[grid]]\nn = 4\nratio = 1\nlabel = {label}\n")
    require_visible(cli, "sweep", "s.toml")
    Path("s.toml").write_text(f"{label} = 10\n")
    require_visible(cli, "sweep", "s.toml", code=2)
    Path("s.toml").write_text(f"runs = {HOSTILE}".replace("\udcff", ""))
    assert not hidden(cli("sweep", "s.toml").err)


def test_names_of_files(cli: Cli) -> None:
    name = AS_A_NAME.replace("/", "")
    for command in ("check", "sweep", "view", "results merge"):
        require_visible(cli, *command.split(), name, code=2)
    require_visible(cli, "route", 2, 2, "--permutation", f"{name}.csv", code=2)
    require_visible(cli, "route", 2, 2, "--trace", name)
    require_visible(cli, "sort", 2, 2, "--out", f"{name}.csv")
    require_visible(cli, "results", "list", "--store", name, code=2)
    require_visible(cli, "demo", "--no-open", "--out", f"{name}.html")
    require_visible(cli, "check", f"a\nOK{name}", code=2, shown="a\\nOK")


def test_contents_of_files(cli: Cli) -> None:
    for ending in (".csv", ".json", ".txt"):
        Path(f"p{ending}").write_text(f"0,1,{IN_A_FILE},3\n", encoding="utf-8")
        assert not hidden(cli("route", 2, 2, "--permutation", f"p{ending}").err)
        assert not hidden(cli("sort", 2, 2, "--keys", f"p{ending}").err)
        assert not hidden(cli("schedule", 2, 2, "--packets", f"p{ending}").err)
        assert not hidden(cli("check", f"p{ending}").err)


def test_exceptions_of_users_files(cli: Cli) -> None:
    body = f"raise ValueError({HOSTILE!r})"
    Path("mine.py").write_text(ROUTER.format(name="mine", body=body))
    require_visible(cli, "route", 2, 2, "--router", "mine.py", code=1)
    Path("broken.py").write_text(f"raise SystemExit({HOSTILE!r})")
    require_visible(cli, "route", 2, 2, "--router", "broken.py", code=2)


@pytest.mark.parametrize(
    "typed",
    [(HOSTILE,), ("route", IN_A_FILE, 4), ("route", 4, 4, f"--{HOSTILE}"), ("results", HOSTILE)],
)
def test_words_that_are_typed(typed: tuple[object, ...], cli: Cli) -> None:
    require_visible(cli, *typed, code=2)


def test_progress(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN_LINES", 0.0)
    with progress.patient_progress(HOSTILE, 10, True) as update:
        update(1, HOSTILE)
    text = capsys.readouterr().err
    assert "\\x1b" in text
    assert not hidden(text)
