"""``popsnet demo``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import webbrowser
from pathlib import Path

import pytest

from popsnet import Experiment, view
from popsnet.base import compiled
from tests.conftest import Cli

FRESH = """
import sys
from popsnet.cli.main import main

sys.argv = ["popsnet", "demo", "--out", "demo.html", "--json"]
try:
    main()
finally:
    print(*sys.modules, file=sys.stderr)
"""


def test_the_page_is_that_of_view_and_needs_no_compiler(tmp_path: Path) -> None:
    """A new process, as the kernels of this one are compiled already."""
    finished = subprocess.run(
        [sys.executable, "-W", "error", "-c", FRESH], cwd=tmp_path, capture_output=True, text=True
    )
    assert finished.returncode == 0, finished.stderr
    loaded = set(finished.stderr.split())
    assert "numpy" in loaded
    assert not {"numba", "scipy", "matplotlib"} & loaded
    runs = Experiment(4, 4), Experiment(4, 4, router="relay", variant="S")
    assert (tmp_path / "demo.html").read_text() == view(*runs).html
    result = json.loads(finished.stdout)
    assert (result["page"], len(result["outcomes"])) == ("demo.html", 2)
    assert all(run["delivered"] == 16 for run in result["outcomes"])


def test_it_says_what_one_sees_and_what_to_try(cli: Cli, tmp_path: Path) -> None:
    finished = cli("demo", "--out", tmp_path / "demo.html", "--no-open")
    assert (finished.code, finished.err) == (0, "")
    assert "the same 16 packets on POPS(4, 4)" in finished.out
    assert "relay (S) takes 13 slots" in finished.out.replace("\n", " ")
    assert f"Open {tmp_path / 'demo.html'} in a browser." in finished.out
    assert finished.out.splitlines()[-1].startswith("Try next: popsnet view")


def test_it_opens_a_page_in_a_folder_of_its_own(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    opened: list[str] = []

    def take(url: str) -> bool:
        opened.append(url)
        return True

    monkeypatch.setattr(webbrowser, "open", take)
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    finished = cli("demo")
    (page,) = tmp_path.glob("popsnet-*/demo.html")
    assert opened == [page.as_uri()]
    assert "The page is open in your browser" in finished.out
    if os.name == "posix":
        assert page.parent.stat().st_mode & 0o077 == 0


def test_kernels_that_are_compiled_stay_so() -> None:
    compiled.interpret()
    assert not compiled._interpreting
