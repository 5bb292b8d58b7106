"""What a release needs: one version, one date, a citation, and the same checks everywhere."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

import popsnet
from popsnet.base import citation
from tests.conftest import Cli

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
WORKFLOW: dict[str, Any] = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text())
PYTHONS = ["3.11", "3.12", "3.13", "3.14"]


def test_the_version_is_written_in_one_place_and_agrees_elsewhere() -> None:
    assert PROJECT["dynamic"] == ["version"]
    cff = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert (cff["version"], cff["date-released"]) == (popsnet.__version__, citation.RELEASED)
    releases = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    released = [one for one in releases if one != "Unreleased"]
    assert releases[-len(released) :] == released  # what is not released yet comes first
    assert released[0] == f"{popsnet.__version__} ({citation.RELEASED})"


def test_what_a_release_shows_was_made_by_it() -> None:
    """The paper's tables and all drawn figures; ``make picture`` and a full run make them again."""
    program = f"popsnet {popsnet.__version__}"
    assert json.loads((ROOT / "results/paper/provenance.json").read_text())["program"] == program
    kept = [json.loads(path.read_text()) for path in (ROOT / "results/preprint").glob("*.json")]
    assert {result["popsnet_version"] for result in kept} == {popsnet.__version__}
    figures = sorted((ROOT / "docs/images").rglob("*.svg"))
    assert len(figures) > 30
    drawn = {path.name: path.read_text(encoding="utf-8") for path in figures}
    assert [name for name, text in drawn.items() if program not in text[:2000]] == ["favicon.svg"]


def test_plug_ins_need_the_popsnet_that_they_are_released_with() -> None:
    """They call functions of it that may change."""
    plugin = tomllib.loads((ROOT / "plugins/popsnet-cuda/pyproject.toml").read_text())["project"]
    assert plugin["version"] == popsnet.__version__
    same = ".".join(popsnet.__version__.split(".")[:2])
    assert f"popsnet=={same}.*" in plugin["dependencies"]


def test_the_citation_file_and_the_command_cite_the_same(cli: Cli) -> None:
    cff = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    (paper,) = cff["references"]
    printed = cli("cite").out
    assert printed.count("@") == 2
    flat = re.sub(r"[{}]", "", " ".join(printed.split()))
    for text in (cff["title"], cff["version"], paper["title"], paper["journal"]):
        assert text in flat
    for author in paper["authors"]:
        assert f"{author['family-names']}, {author['given-names']}" in flat
    assert f"year = {paper['year']}" in flat
    assert f"year = {citation.RELEASED.year}" in flat


@pytest.mark.parametrize("job", ["make-test", "other-systems", "installed"])
def test_every_python_that_is_claimed_is_tried(job: str) -> None:
    assert WORKFLOW["jobs"][job]["strategy"]["matrix"]["python"] == PYTHONS
    claimed = [name.rpartition(" ")[2] for name in PROJECT["classifiers"] if ":: 3." in name]
    assert claimed == PYTHONS


def test_the_same_checks_run_everywhere() -> None:
    """What make lint and make test call is what runs where there is no make, and before commits."""
    makefile = (ROOT / "Makefile").read_text()
    targets = dict(re.findall(r"^(\w+):.*\n((?:\t.*\n)+)", makefile, re.MULTILINE))
    called = re.findall(r"^\t\$\(BIN\)/(.*)$", targets["lint"] + targets["cases"], re.MULTILINE)
    assert targets["test"].endswith(" lint cases\n")
    run = [step.get("run") for step in WORKFLOW["jobs"]["other-systems"]["steps"]]
    assert called == ["ruff check", "ruff format --check", "codespell", "mypy", run[-1]]
    assert set(called) <= set(run)
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    assert hook["entry"] == "make lint"
