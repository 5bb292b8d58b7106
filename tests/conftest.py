from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import settings
from typer.main import get_command

from popsnet import Slot
from popsnet.cli.main import app, main
from popsnet.programs import register

if TYPE_CHECKING:
    from playwright.sync_api import Browser

settings.register_profile("full", deadline=None, derandomize=True, print_blob=True)
settings.register_profile("quick", settings.get_profile("full"), max_examples=15)
settings.load_profile("quick")


SLOW = (
    "base/stats", "base/test_compiled", "base/test_compiling", "base/test_files",
    "base/test_system", "cli/test_adversary", "cli/test_cli", "cli/test_exit_codes",
    "cli/test_figures", "cli/test_help", "cli/test_options",
    "engines/fused", "engines/parity", "engines/test_counts",
    "engines/test_every_engine", "engines/test_exactness", "engines/test_faults",
    "engines/test_plugins", "experiment", "fuzz", "golden", "hardware/test_propagation",
    "model/faults/test_live_parts", "model/test_traffic_memory", "paper", "plots",
    "programs/routers/relay", "programs/routers/test_detection", "programs/schedules",
    "programs/test_relations", "programs/test_scheduler", "project/test_bench",
    "project/test_docs", "project/test_public_names", "project/test_site", "project/test_wheel",
    "runs/test_distribution", "runs/test_kept", "runs/traffic", "soak", "studies/adversaries",
    "studies/comparisons", "studies/traffic", "sweeps/crash", "sweeps/test_cluster",
    "sweeps/test_damage", "sweeps/test_resources", "sweeps/test_traffic", "testing", "theory",
    "trace/viewer/browser", "trace/viewer/test_types",
    "workloads/permutations/test_keyed", "workloads/test_",
)  # fmt: skip
"""Folders and modules that sample, draw, or start other programs; ``make quick`` has the rest."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is slow, and begin with it, so that at the end no process waits for another."""
    folder = Path(__file__).parent
    for item in items:
        if item.path.relative_to(folder).as_posix().startswith(SLOW):
            item.add_marker("slow")
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


class Finished(NamedTuple):
    code: int
    out: str
    err: str


Cli = Callable[..., Finished]


COMMAND = get_command(app)
"""All commands; making them takes longer than most of them run."""


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """Calls the command line in this process, as the installed command would be."""

    monkeypatch.setattr("webbrowser.open", lambda url: False)  # no test opens a window
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr("popsnet.cli.main.app", COMMAND)

    def call(*arguments: object) -> Finished:
        monkeypatch.setattr(sys, "argv", ["popsnet", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        code = ended.value.code
        return Finished(code if isinstance(code, int) else int(code is not None), *captured)

    return call


@pytest.fixture(autouse=True)
def forget_programs() -> Iterator[None]:
    """Routers and schedulers of files are forgotten after the test."""
    yield
    for program in list(register._PROGRAMS.values()):
        if program.file:
            register.forget_file(Path(program.file))


def slot_of(**fields: Any) -> Slot:
    """A slot written with lists."""
    return Slot(**fields)


def permutation(n: int, seed: int) -> npt.NDArray[np.int32]:
    """A permutation for a test, from NumPy's generator and not from popsnet's coins."""
    return np.random.default_rng(seed).permutation(n).astype(np.int32)


def missing(what: str) -> NoReturn:
    """Without a browser nothing is tested, which is a failure where it was asked for."""
    if os.environ.get("POPSNET_BROWSER") == "required":
        pytest.fail(f"{what} is not installed, and POPSNET_BROWSER=required.")
    pytest.skip(f"{what} is not installed; make test-browser installs it")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("Playwright")
    from tests.trace.viewer.browser.chromium import find_chromium, launched

    path = find_chromium()
    if path is None:
        missing("Chromium")
    with sync_playwright() as playwright, launched(playwright, path) as browser:
        yield browser
