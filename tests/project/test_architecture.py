"""The arrows of ARCHITECTURE.md: contracts in pyproject.toml, kept by reading the imports."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from importlinter.cli import lint_imports

ROOT = Path(__file__).parents[2]
CONTRACTS: dict[str, dict[str, Any]] = {
    contract["id"]: contract
    for contract in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"][
        "contracts"
    ]
}
LAYERS = [set(layer.split(" | ")) for layer in reversed(CONTRACTS["layers"]["layers"])]
"""From the ground up."""


def test_imports_keep_the_contracts(capsys: pytest.CaptureFixture[str]) -> None:
    broken = lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True)
    assert not broken, capsys.readouterr().out


def test_the_diagram_shows_the_layers() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    diagram = text[text.index("\nArrows go one way") :].split("\n\n")[1]
    assert [set(re.findall(r"\w+", layer)) for layer in diagram.split("←")] == LAYERS


@pytest.mark.parametrize("contract", ["checker", "exact", "viewer"])
def test_what_knows_little_is_told_of_every_room_below(contract: str) -> None:
    """A contract forbids rooms, and lists the few imports that are allowed all the same."""
    sources = {name.split(".")[1] for name in CONTRACTS[contract]["source_modules"]}
    level = next(i for i, layer in enumerate(LAYERS) if sources & layer)
    forbidden = {name.removeprefix("popsnet.") for name in CONTRACTS[contract]["forbidden_modules"]}
    assert set().union(*LAYERS[:level]) <= forbidden


def test_a_room_says_what_belongs_there() -> None:
    rooms = [path for path in (ROOT / "src/popsnet").iterdir() if (path / "__init__.py").exists()]
    text = (ROOT / "ARCHITECTURE.md").read_text()
    for room in rooms:
        assert f"\n  {room.name}/ " in text, room.name
        said = ast.get_docstring(ast.parse((room / "__init__.py").read_text())) or ""
        assert {"belong", "belongs"} & set(re.findall(r"\w+", said)), room.name
        assert re.search(r"\bnot\b|\bno\b|\bnothing\b", said, re.IGNORECASE), room.name


def test_libraries_for_figures_and_tables_are_imported_when_they_are_needed() -> None:
    source = ROOT / "src"
    modules = [
        ".".join(path.relative_to(source).with_suffix("").parts)
        for path in (source / "popsnet").rglob("*.py")
        if path.name != "__main__.py" and not {"paper", "plots"} & {*path.parts}
    ]
    script = (
        "import sys\n"
        f"for module in {modules}: __import__(module)\n"
        "print(sorted({'jinja2', 'matplotlib', 'pandas', 'pyarrow'} & set(sys.modules)))"
    )
    command = [sys.executable, "-c", script]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert printed == "[]\n"
