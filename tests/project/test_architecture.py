"""The arrows of ARCHITECTURE.md, kept by reading the imports."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest

import popsnet

SOURCE = Path(popsnet.__file__).parent
MODULES = sorted(SOURCE.rglob("*.py"))

LAYERS = [
    {"compiled", "errors", "system"},
    {"arrays", "files", "progress", "report", "splitmix", "stats"},
    {"coins", "network", "slot"},
    {"couplers", "memory", "sorting", "theory", "trace"},
    {"machine", "viewer"},
    {"permutations", "schedules"},
    {"exact", "routing"},
    {"experiment"},
    {"engines"},
    {"adversaries", "computing", "runs", "testing"},
    {"advice", "notebook", "sweeps"},
    {"plots"},
    {"paper"},
    {"cli"},
]
"""From the ground up: a room may use those of lower layers, and itself."""


UPWARDS = {"runs/run.py": {"notebook"}}
"""A run shows itself: the page is imported when it is asked for."""


def name_of(module: Path) -> str:
    return module.relative_to(SOURCE).as_posix()


def room_of(module: Path) -> str:
    return module.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported_rooms(module: Path) -> set[str]:
    rooms = set()
    for node in ast.walk(ast.parse(module.read_text())):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        rooms |= {name.split(".")[1] for name in names if name.startswith("popsnet.")}
    return rooms


def test_every_room_has_a_layer() -> None:
    assert {room_of(module) for module in MODULES} - {"__init__", "__main__"} == set().union(
        *LAYERS
    )


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_downwards(module: Path) -> None:
    room = room_of(module)
    if room in ("__init__", "__main__"):
        return
    level = next(i for i, layer in enumerate(LAYERS) if room in layer)
    allowed = set().union(*LAYERS[:level]) | {room}
    assert imported_rooms(module) - UPWARDS.get(name_of(module), set()) <= allowed


def test_the_checker_shares_no_code_with_machine_or_routers() -> None:
    """It may know the rules' names, the network's numbers and the form of a trace."""
    for name in ("checker", "reader"):
        imports = imported_rooms(SOURCE / "trace" / f"{name}.py")
        assert imports <= {"errors", "network", "trace"}


def test_the_viewer_knows_traces_only() -> None:
    """It shows what a trace says, whoever wrote it."""
    for module in (SOURCE / "viewer").glob("*.py"):
        assert imported_rooms(module) <= {"errors", "files", "network", "trace", "viewer"}


def test_the_exact_chains_share_no_code_with_what_they_test() -> None:
    """Beside the chains, one module names the permutation and says how the result is shown."""
    shown = {"coins", "permutations", "progress", "report"}
    for module in (SOURCE / "exact").glob("*.py"):
        more = shown if module.name == "solution.py" else set()
        assert imported_rooms(module) <= {"errors", "exact", "network"} | more


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_what_a_module_offers_exists_and_is_documented(module: Path) -> None:
    name = ".".join(module.relative_to(SOURCE.parent).with_suffix("").parts)
    if module.name == "__main__.py" or name == "popsnet.cli.__init__":
        return
    loaded = importlib.import_module(name.removesuffix(".__init__"))
    assert loaded.__doc__
    for one in loaded.__all__:
        assert getattr(loaded, one) is not None


def test_every_name_of_the_package_is_there() -> None:
    for name in popsnet.__all__:
        assert getattr(popsnet, name) is not None
    assert dir(popsnet) == sorted(popsnet.__all__)
    with pytest.raises(AttributeError, match="nothing_here"):
        popsnet.nothing_here  # noqa: B018
