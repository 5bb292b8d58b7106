"""What the page on Python says of names and parameters, compared with the package."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from typing import Any

import popsnet
from tests.commands import COMMANDS
from tests.project.keywords import keywords_of
from tests.project.pages import ROOT

PAGE = (ROOT / "docs/reference/python.md").read_text(encoding="utf-8")
_CALL = re.compile(r"`(?:popsnet\.)?([\w.]+)\(([^`]*)\)`")
_NETWORK = {"d", "g"}


def section(heading: str) -> str:
    """Return the text below a heading of the page."""
    return PAGE.split(f"\n## {heading}\n")[1].partition("\n## ")[0]


def named(path: str) -> Any:
    """Return what a name of the page is, in popsnet or in a module that is not imported yet."""
    value, so_far = popsnet, "popsnet"
    for part in path.split("."):
        so_far = f"{so_far}.{part}"
        value = getattr(value, part, None) or importlib.import_module(so_far)
    return value


def parameters_of(path: str) -> set[str]:
    """Return the parameters that a function takes."""
    return {name for name, _ in keywords_of(named(path))}


def claims(text: str) -> Iterator[tuple[str, str]]:
    """The functions that a text names, each with a parameter that it says the function takes.

    A part of a sentence without a function is about those of the part before. Of several calls the
    first is meant.
    """
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    for paragraph in re.split(r"\n\n|\n(?=\|)", prose):
        functions: list[str] = []
        row = paragraph.startswith("|")
        for part in [paragraph] if row else re.split(r"[.;:]\s", paragraph):
            calls = [(path, given) for path, given in _CALL.findall(part) if is_public(path)]
            for path, given in calls:
                yield from ((path, one) for one in re.findall(r"\b(\w+)=", given))
            bare = [one for one in re.findall(r"`(\w+)`", part) if is_public(one)]
            functions = bare or [path for path, _ in calls[:1]] or functions
            for keyword in re.findall(r"`(\w+)=", part):
                assert functions, f"of which function is {keyword}= a parameter? {part}"
                yield from ((function, keyword) for function in functions)


def is_public(path: str) -> bool:
    return path.partition(".")[0] in popsnet.__all__


def test_functions_take_what_the_page_says() -> None:
    found = list(claims(PAGE))
    assert len(found) > 50
    for function, keyword in found:
        assert keyword in parameters_of(function), f"{function} does not take {keyword}="


def test_a_parameter_that_a_function_does_not_take_is_found() -> None:
    said = "`route` and `schedule` take such a network, or `wavelengths=W`."
    assert list(claims(said)) == [("route", "wavelengths"), ("schedule", "wavelengths")]
    assert "wavelengths" not in parameters_of("schedule")


def test_the_table_of_parameters_has_those_of_route_and_of_experiments() -> None:
    rows = re.findall(r"^\| (`\w+`.*?) \| (.*) \|$", section("Say what to run"), re.MULTILINE)
    of_both, of_route = set[str](), set[str]()
    for names, text in rows:
        target = of_route if "(`route` only)" in text else of_both
        target.update(re.findall(r"`(\w+)`", names))
    assert of_both == parameters_of("Experiment") - _NETWORK
    assert of_both | of_route == parameters_of("route") - _NETWORK


def test_every_name_on_the_page_exists() -> None:
    for path in re.findall(r"`popsnet\.([\w.]+)", PAGE):
        assert named(path) is not None


def test_every_public_name_is_in_the_table_of_names() -> None:
    table = PAGE.partition("\n## ")[0]
    for name in popsnet.__all__:
        assert re.search(rf"`{name}\b", table), name


def test_every_command_is_on_the_page() -> None:
    text = section("Every command")
    for command in {words.split()[0] for words in COMMANDS}:
        assert re.search(rf"`(popsnet )?{command}`", text), command
