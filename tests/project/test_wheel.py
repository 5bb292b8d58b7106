"""The wheel, with the libraries it asks for and no others, does the main job."""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
import venv
import zipfile
from importlib.metadata import PathDistribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from popsnet.trace.viewer.page import MODULES

ROOT = Path(__file__).parents[2]

MISSING = """
from popsnet.cli.about import _libraries
print([one.what for one in _libraries() if not one.ok])
"""
"""What ``popsnet doctor`` misses; the command also compiles all engines, which takes long."""


def run(*command: object) -> str:
    """Return what a command prints that succeeds."""
    finished = attempt(*command)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    return finished.stdout


def attempt(*command: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(part) for part in command], capture_output=True, text=True)


def link_requirements(requirements: list[str] | None, here: Path, there: Path) -> None:
    """Make links to the installed libraries, and those that they require."""
    for requirement in map(Requirement, requirements or ()):
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        library = distribution(requirement.name)
        assert library.version in requirement.specifier, requirement
        tops = {Path(file).parts[0] for file in library.files or () if ".." not in file.parts}
        new = [name for name in sorted(tops) if not (there / name).exists()]
        for name in new:
            (there / name).symlink_to(here / name)
        if new:
            link_requirements(library.requires, here, there)


def test_the_wheel_works_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path, ROOT)
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    data = "hardware/presets.toml", "paper/data/slots.csv", "paper/data/texts.toml"
    for needed in (
        "py.typed",
        "__init__.pyi",
        "plots/popsnet.mplstyle",
        "programs/phases.toml",
        *data,
    ):
        assert f"popsnet/{needed}" in names
    assert "popsnet/paper/templates/report.html" in names
    for needed in ("page.html", "style.css", *MODULES):
        assert f"popsnet/trace/viewer/static/{needed}" in names
    assert all(name.startswith("popsnet") for name in names)

    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.chdir(tmp_path)
    venv.create(tmp_path / "empty")
    python = tmp_path / "empty" / "bin" / "python"
    command = python.with_name("popsnet")
    pip = (sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check")
    run(*pip, "install", "--quiet", "--no-deps", "--no-index", wheel)
    (installed,) = (tmp_path / "empty").rglob("popsnet-*.dist-info")
    here = Path(sysconfig.get_path("purelib"))
    link_requirements(PathDistribution(installed).requires, here, installed.parent)
    result = json.loads(run(command, "route", 8, 8, "--trace", tmp_path / "t", "--json"))
    assert (result["lost"], len(result["outcomes"])) == (0, 1)
    assert "OK" in run(command, "check", tmp_path / "t")
    assert (
        run(python, "-c", MISSING)
        == "['matplotlib', 'jinja2', 'pandas', 'pyarrow', 'networkx', 'distributed', "
        "'dask-jobqueue']\n"
    )
    refused = attempt(command, "paper")
    assert refused.returncode == 2
    assert "pip install 'popsnet[paper]'" in refused.stderr
