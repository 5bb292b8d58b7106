"""The changelog lists every spelling that has changed, and each old one is refused with the new."""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import popsnet
from popsnet.base.errors import InputError
from popsnet.base.spellings import INPUTS, OldSpelling
from popsnet.cli.options import faults as fault_options
from popsnet.sweeps import Selection
from popsnet.testing import check_locality
from tests.base.old_outputs import changelog_table
from tests.conftest import Cli

NET = popsnet.Network(2, 2)

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "route": lambda **old: popsnet.route(NET, **old),
    "compare": lambda **old: popsnet.compare(NET, **old),
    "survival": lambda **old: popsnet.survival(NET, **old),
    "distribution": lambda **old: popsnet.distribution(NET, **old),
    "schedule": lambda **old: popsnet.schedule(NET, **old),
    "Experiment": lambda **old: popsnet.Experiment(2, 2, **old),
    "replaced": lambda **old: popsnet.Experiment(2, 2).replaced(**old),
    "check_locality": lambda **old: check_locality("direct", NET, **old),
    "collect": lambda **old: popsnet.collect([], **old),
}
"""Calls of the functions of the table, without what is old."""

TABLES = {"grid": popsnet.Sweep.of_grid, "traffic": popsnet.Sweep.of_traffic}

LINES = {"sweep": "sweep s.toml", "results export": "results export"}
"""Commands of the table with their arguments, if these are not D and G."""


def simulate_list(slot: str) -> None:
    Path("list.csv").write_text(f"{slot},0,1\n")
    popsnet.simulate(NET, scheduler="tdm", packets="list.csv")


VALUES: dict[str, Callable[[str], Any]] = {
    "faults": lambda text: popsnet.route(NET, faults=text),
    "--fault": lambda text: fault_options([text], None, None, None),
    "Selection": lambda text: Selection(faults=text),
    "a list of packets": lambda text: simulate_list(text.removeprefix("slot ")),
    "couplers": lambda text: popsnet.Faults(couplers=[literal_eval(text)]),
}
"""What is called with an old value."""


def test_the_changelog_has_the_table_of_spellings() -> None:
    assert changelog_table() in Path(__file__).parents[2].joinpath("CHANGELOG.md").read_text()


def refusals(row: OldSpelling, cli: Cli) -> list[str]:
    """Write a row's old spelling wherever the table says, and return what the errors say."""
    where = row.context.split(", ")
    if row.kind in ("option", "argument"):
        lines = [LINES.get(words, f"{words} 2 2").split() for words in where]
        more = ["1"] if row.kind == "option" else []
        done = [cli(*line, row.old, *more) for line in lines]
        assert all(one.code == 2 and not one.out for one in done), (row, done)
        return [one.err for one in done]
    calls: list[Callable[[], Any]] = []
    for context in where:
        if row.kind == "parameter":
            calls.append(lambda context=context: FUNCTIONS[context](**{row.old: 1}))  # type: ignore[misc]
        elif row.kind == "key":
            calls.append(lambda context=context: TABLES[context](**{row.old: "x", "d": 2, "g": 2}))  # type: ignore[misc]
        else:
            calls.append(lambda context=context: VALUES[context](row.old))  # type: ignore[misc]
    errors = []
    for call in calls:
        with pytest.raises((TypeError, InputError)) as error:
            call()
        errors.append(str(error.value))
    return errors


def test_every_old_spelling_is_refused_with_the_new_one(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for row in INPUTS:
        for text in refusals(row, cli):
            assert row.new in text, (row, text)


def test_a_value_that_means_something_else_is_converted(cli: Cli) -> None:
    for typed in (["--until-se", "1%"], ["--until-se=1%"]):
        assert "It is now --precision 1.96%." in cli("sweep", "s.toml", *typed).err
    assert "It is now --precision." in cli("sweep", "s.toml", "--until-se", "0.05").err
    with pytest.raises(TypeError, match=r"It is now precision='3\.92%'\."):
        popsnet.collect([], until_se="2%")  # type: ignore[call-arg]
