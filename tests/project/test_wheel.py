"""The wheel, installed alone in an empty environment, does the main job."""

from __future__ import annotations

import json
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

from popsnet.viewer.script import MODULES

ROOT = Path(__file__).parents[2]


def run(*command: object) -> str:
    finished = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    return finished.stdout


def test_the_wheel_works_alone(tmp_path: Path) -> None:
    run(sys.executable, "-m", "build", "--wheel", "--outdir", tmp_path, ROOT)
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    for needed in ("py.typed", "paper/data/steps.csv", "paper/data/slots.csv"):
        assert f"popsnet/{needed}" in names
    assert "popsnet/paper/templates/report.html" in names
    for needed in ("page.html", "style.css", *MODULES):
        assert f"popsnet/viewer/static/{needed}" in names
    assert all(name.startswith("popsnet") for name in names)

    venv.create(tmp_path / "empty", with_pip=True)
    python = tmp_path / "empty" / "bin" / "python"
    command = python.with_name("popsnet")
    constraints = ROOT / "constraints.txt"
    run(python, "-m", "pip", "install", "--quiet", "--constraint", constraints, wheel)
    result = json.loads(run(command, "route", 8, 8, "--runs", 3, "--json"))
    assert (result["summary"]["lost"], len(result["runs"])) == (0, 3)
    run(command, "route", 4, 4, "--trace", tmp_path / "t")
    assert "OK" in run(command, "check", tmp_path / "t")
    assert "matplotlib" in run(command, "doctor")
    refused = subprocess.run([command, "paper"], capture_output=True, text=True, cwd=tmp_path)
    assert refused.returncode == 2
    assert "pip install 'popsnet[paper]'" in refused.stderr
