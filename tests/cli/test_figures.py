"""Every command with a figure writes it as SVG, PNG or PDF, and refuses every other ending."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from popsnet import Sweep, collect, plots
from tests.conftest import COMMAND, Cli
from tests.each import each, sampled
from tests.plots.texts import texts_of
from tests.project.pages import ROOT

COMMANDS: dict[str, tuple[object, ...]] = {
    "adversary congestion": ("--largest", 16, "--runs", 2, "--worst", 8),
    "adversary rigid": (4, 4),
    "adversary conflict-free": (2, 2),
    "adversary separation": (),
    "compare": (2, 2, "--runs", 2),
    "distribution": (2, 2, "--runs", 50),
    "exact": (2, 2),
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


LAYOUT = ["--title", "A", "--width", "9cm", "--height", "150mm", "--font-size", "9"]


@each("command", sampled(COMMANDS, 4))
def test_every_figure_has_the_size_and_the_title_that_are_asked_for(
    command: str, cli: Cli, store: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[Figure] = []
    monkeypatch.setattr("popsnet.plots.style.save_one", lambda figure, path: drawn.append(figure))
    arguments = (*command.split(), *COMMANDS[command], "--figure", "x.svg")
    for layout in ((), LAYOUT):
        assert cli(*arguments, *layout).code == 0, command
    plain, changed = drawn
    assert (changed.get_size_inches() * 25.4).round(2).tolist() == [90, 150]
    titles = [axes.get_title() for axes in changed.axes]
    assert "A" in [changed.get_suptitle(), *titles]
    sizes = [{float(text.get_fontsize()) for text in texts_of(figure)} for figure in drawn]
    assert min(sizes[1]) == min(sizes[0]) * 9 / 8
    assert texts_of(plain) != texts_of(changed)


def test_names_are_replaced_in_legends_and_rows(
    cli: Cli, store: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[Figure] = []
    monkeypatch.setattr("popsnet.plots.style.save_one", lambda figure, path: drawn.append(figure))
    for line in (
        "compare 4 4 --runs 2 --router direct --router relay:S",
        "faults 4 4 --runs 2 --router direct --router relay:S --numbers 0,1",
    ):
        labels = ["--label", "relay=Ours, as planned", "--label", "direct=Time division"]
        assert cli(*line.split(), "--figure", "x.svg", *labels).code == 0
        texts = {text.get_text().replace("\n", " ") for text in texts_of(drawn.pop())}
        assert {"Ours, as planned (S)", "Time division"} <= texts, line
    line = "compare 2 2 --runs 2 --router direct --figure x.svg"
    finished = cli(*line.split(), "--label", "direkt=Time division")
    assert finished.code == 1
    assert finished.out.startswith("POPS(2, 2): 2 permutations")  # the numbers are not lost
    assert finished.err == (
        "No figure is written. --label 'direkt': the figure has direct. Did you mean 'direct'?\n"
    )
    for options, error in {
        "--label direct": "--label direct: give NAME=TEXT, a name and a text for it.",
        "--width 9": "--width 9: it has no unit; give a length such as 3.5in (in, cm, mm, pt).",
        "--width=-3in": "--width -3in: a figure is 1 to 50 inches wide and high.",
        "--title=$x^$": "'$x^$' is not a formula that Matplotlib can read. Write \\$ for a dollar "
        "sign.",
        "--font-size 100": "--font-size 100.0: give 4 to 40 points.",
    }.items():
        assert cli(*line.split(), *options.split()).err == f"Error: {error}\n"
    line = "compare 2 2 --runs 2 --title A"
    assert cli(*line.split()).err == "Error: --title is of a figure; give --figure FILE.\n"


def test_a_figure_without_room_for_its_text_is_refused(cli: Cli, store: None) -> None:
    line = "compare 2 2 --runs 2 --figure x.svg --height 1in --font-size 30"
    refused = "No figure is written. A figure of 7.2 × 1.0 inches is too small for its text"
    assert cli(*line.split()).err.startswith(refused)
