"""The help: panels, one example per command, which is run, and no noise."""

from __future__ import annotations

import re
import shlex
from inspect import signature
from pathlib import Path

import pytest
from typer.models import OptionInfo

import popsnet
from tests.commands import COMMANDS, EXAMPLES
from tests.conftest import Cli
from tests.each import each, rarely
from tests.project.schemas import require_schemas

CHANGED = {
    "paper": ("--max-n 64 --runs 20", "--max-n 4 --runs 10"),
    "adversary congestion": ("--largest 16", "--largest 8 --runs 5"),
    "adversary separation": ("--largest 16", "--largest 8 --runs 5"),
    "theory": ("64 64", "8 8"),
    "results drop": ("--router direct", "--router direct --yes"),
}
"""What is expensive is run on a smaller network, and no user answers a question."""


def test_every_command_has_an_example_in_its_help() -> None:
    """It is in the docstring, and so is when the command fails."""
    for words, command in COMMANDS.items():
        example, *failure = command.epilog.split("\n\n")
        assert example.startswith(f"Example: popsnet {words}"), words
        assert all(one.startswith("Exit code 1: ") for one in failure), words
        assert "Example:" not in command.help


def test_options_have_the_names_of_their_parameters() -> None:
    """Some releases of Typer take a name from the metavar, if only the case of letters differs."""
    for words, command in COMMANDS.items():
        for one in command.params:
            if one.param_type_name == "option" and one.name != "every":  # --all
                assert f"--{one.name.replace('_', '-')}" in one.opts, (words, one.opts)
        for name, parameter in signature(command.callback).parameters.items():
            for one in getattr(parameter.annotation, "__metadata__", ()):
                if isinstance(one, OptionInfo) and (one.metavar or "").lower() == name:
                    assert one.default == f"--{name}", words  # where Typer has a first name


def test_every_option_says_what_it_means() -> None:
    """The meaning is in the docstring of the command, of a group of options, or of options.py."""
    for words, command in COMMANDS.items():
        for one in command.params:
            assert (one.help or "").endswith((".", ")", "]")), (words, one.name)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that examples read."""
    folder = tmp_path_factory.mktemp("examples")
    popsnet.route(4, 4, trace=folder / "run.jsonl")
    for name in ("results.sqlite", "other.sqlite"):
        popsnet.collect([popsnet.Experiment(4, 4)], runs=10, store=folder / name)
    direct = popsnet.Experiment(4, 4, router="direct")
    popsnet.collect([direct], runs=10, store=folder / "results.sqlite")
    (folder / "sweep.toml").write_text("runs = 10\n[[grid]]\nn = 16\nratio = 1\n")
    return folder


LONG = ("adversary conflict-free", "paper")
"""Their documents and tests of their own run them, too."""


@pytest.mark.parametrize("words", [*(one for one in EXAMPLES if one not in LONG), *rarely(LONG)])
def test_the_example_runs_and_its_report_has_the_form_that_is_stated(
    words: str, cli: Cli, prepared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(prepared)
    require_schemas(monkeypatch, words)
    monkeypatch.setattr("tempfile.tempdir", str(prepared))
    name = popsnet.Experiment(4, 4).digest[:6]
    example = EXAMPLES[words].replace("EXPERIMENT", name).replace(*CHANGED.get(words, ("", "")))
    finished = cli(*shlex.split(example)[1:])
    assert (finished.code, finished.err) == (0, "")
    assert finished.out


def test_the_help_begins_with_what_a_pops_is_and_what_to_try(cli: Cli) -> None:
    finished = cli("--help")
    text = " ".join(re.sub("[│─╭╮╰╯]", " ", finished.out).split())
    assert "A POPS(D, G) has G groups of D processors" in text
    panels = (
        "Start here", "Traffic", "Experiments", "Limits and theory", "Sorting and computing",
        "About",
    )  # fmt: skip
    places = [finished.out.index(f"─ {panel} ─") for panel in panels]
    assert places == sorted(places)
    first = finished.out[places[0] : places[1]]
    assert re.findall(r"^│ (\w+) ", first, re.MULTILINE) == [
        "demo", "view", "route", "compare", "plan",
    ]  # fmt: skip
    assert cli() == finished  # without a word, the same


@each("words", ["", "results", "adversary", *COMMANDS])
def test_helps_are_free_of_noise(words: str, cli: Cli) -> None:
    finished = cli(*words.split(), "--help")
    assert (finished.code, finished.err) == (0, "")
    assert "<bool>" not in finished.out
    assert "{" not in finished.out
    if words in COMMANDS:
        assert "Example: popsnet" in finished.out
        summary = (COMMANDS[words].help or "").partition("\n")[0]
        assert summary.endswith(".")
        assert "exit" not in summary
        if words not in ("exact", "plan", "results verify"):  # they take routers, or a file
            assert "--router" not in finished.out or "NAME[:VARIANT]" in finished.out
