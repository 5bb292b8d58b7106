"""The register of programs: what holds for every kind of them, and for files of users."""

from __future__ import annotations

from pathlib import Path

import pytest

import popsnet
from popsnet import InputError
from popsnet.programs.router import find_router, get_router
from popsnet.traffic import all_schedulers, find_scheduler
from tests.conftest import Cli

ROUTER = """
from popsnet import Slot, register

@register("both", summary="", slots="", buffers=1)
def routes(network, destination, coins, memory):
    yield Slot()
"""
SCHEDULER = """
import sys
from popsnet.traffic import register_scheduler

@register_scheduler("both", summary="")
def schedules(network, public, coins, memory):
    while True:
        yield
        yield popsnet.Slot()
"""


def test_a_file_may_register_a_program_of_each_kind(tmp_path: Path) -> None:
    path = tmp_path / "both.py"
    path.write_text(ROUTER + SCHEDULER)
    versions = {kind(path).version for kind in (find_router, find_scheduler, find_router)}
    assert len(versions) == 1
    assert find_scheduler("both").file == get_router("both").file == str(path)


def test_a_file_that_fails_leaves_nothing_and_can_be_corrected(tmp_path: Path) -> None:
    path = tmp_path / "both.py"
    for ending in ("raise ValueError", ROUTER.replace("both", "another")):
        path.write_text(ROUTER + SCHEDULER + ending)
        with pytest.raises(InputError, match=r"both\.py (cannot be loaded|registers 2 routers)"):
            find_router(path)
        with pytest.raises(InputError, match="no router 'both'"):
            get_router("both")
        assert "both" not in {scheduler.name for scheduler in all_schedulers()}
    path.write_text(ROUTER)
    assert find_router(path).name == "both"


def test_names_are_taken_once_per_kind(tmp_path: Path) -> None:
    assert (find_router("relay").kind, find_scheduler("relay").kind) == ("router", "scheduler")
    for name in ("here.py", "there.py"):
        (tmp_path / name).write_text(SCHEDULER)
    find_scheduler(tmp_path / "there.py")
    with pytest.raises(InputError, match=r"here\.py registers 'both', as there\.py does"):
        find_scheduler(tmp_path / "here.py")
    with pytest.raises(InputError, match=r"register_scheduler needs summary=; add summary=\."):
        popsnet.traffic.register_scheduler("bare")(lambda *_: iter(()))  # type: ignore[call-arg,arg-type]


@pytest.mark.parametrize(
    ("old", "new", "code", "said"),
    [
        ("yield popsnet", "sys.exit(0)", 2, "scheduler both raises SystemExit: 0"),
        ("while True", "sys.exit(0)\n    while True", 2, "scheduler both raises SystemExit: 0"),
        ("public, ", "", 2, "a scheduler must take (network, public, coins, memory)"),
        ("yield popsnet", "yield undefined", 1, "Error: scheduler 'both' (both.py) failed:"),
    ],
)
def test_schedulers_that_fail_are_said_to(
    cli: Cli, tmp_path: Path, old: str, new: str, code: int, said: str
) -> None:
    path = tmp_path / "both.py"
    path.write_text("import popsnet" + SCHEDULER.replace(old, new))
    finished = cli("traffic", 2, 2, "--scheduler", path, "--load", 0.1, "--slots", 10)
    assert finished.code == code
    assert said in finished.err
