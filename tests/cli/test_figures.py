"""Every command with a figure writes it as SVG, PNG or PDF, and refuses every other ending."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from popsnet import Sweep, collect, plots
from tests.conftest import COMMAND, Cli
from tests.each import each
from tests.project.pages import ROOT

COMMANDS: dict[str, tuple[object, ...]] = {
    "adversary congestion": ("--largest", 16, "--runs", 2, "--worst", 8),
    "adversary rigid": (4, 4),
    "adversary conflict-free": (2, 2),
    "adversary separation": (),
    "compare": (2, 2, "--runs", 2),
    "distribution": (2, 2, "--runs", 50),
    "results plot": (),
    "schedule": (2, 2),
    "sorting-network": ("bitonic", 4),
    "theory": (4, 4),
    "faults": (2, 2, "--router", "direct", "--numbers", "0,1", "--runs", 2),
    "traffic": (2, 2, "--loads", "0.1,0.2", "--slots", 1000),
}
"""Commands with a figure, and arguments with which they take little time."""

FIRST_BYTES = {".svg": b"<svg", ".png": b"\x89PNG", ".pdf": b"%PDF"}


def with_figures() -> set[str]:
    """Return the commands that have an option --figure."""

    def walk(command: object, name: str) -> set[str]:
        commands = getattr(command, "commands", None)
        if commands is not None:
            return {one for key, sub in commands.items() for one in walk(sub, f"{name} {key}")}
        options = {one for parameter in command.params for one in parameter.opts}  # type: ignore[attr-defined]
        return {name.strip()} if "--figure" in options else set()

    return walk(COMMAND, "")


def test_the_commands_with_figures_are_these() -> None:
    assert with_figures() == set(COMMANDS)


def test_the_guide_names_the_function_of_every_command_with_a_figure() -> None:
    guide = (ROOT / "docs/how-to/a-figure-for-a-paper.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `([\w -]+)` \| `(draw_\w+)` \|", guide, re.MULTILINE))
    assert set(rows) == set(COMMANDS)
    assert set(rows.values()) <= set(dir(plots))


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    collect(Sweep.of_grid(shapes=[[2, 2]]), store="results.sqlite", progress=False)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_ending_is_looked_at_first(
    command: str, cli: Cli, store: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "must end in" in cli(*command.split(), *COMMANDS[command], "--figure", "x.jpg").err
    refused = cli(*command.split(), *COMMANDS[command], "--figure", "x.svg")
    assert "--figure needs matplotlib, which is not installed. Install popsnet" in refused.err


@each("command", COMMANDS)
def test_what_is_not_a_figure_is_refused_with_the_list(command: str, cli: Cli, store: None) -> None:
    for name in ("x.txt", "x", "x.jpg", "x.svgz"):
        finished = cli(*command.split(), *COMMANDS[command], "--figure", name)
        assert (finished.code, finished.out) == (2, "")
        assert f"--figure {name}: the name must end in one of .svg, .png, .pdf." in finished.err
        assert not Path(name).exists()


@each(
    ("command", "ending"),
    [
        ("compare", ".svg"), ("results plot", ".png"), ("theory", ".pdf"),
        ("sorting-network", ".svg"), *(("schedule", ending) for ending in FIRST_BYTES),
    ],
)  # fmt: skip
def test_every_format_is_written(command: str, ending: str, cli: Cli, store: None) -> None:
    finished = cli(*command.split(), *COMMANDS[command], "--figure", f"figure{ending.upper()}")
    assert (finished.code, finished.err) == (0, "")
    assert Path(f"figure{ending.upper()}").read_bytes().startswith(FIRST_BYTES[ending])
