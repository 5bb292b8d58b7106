"""How large the wheel is, and how much a command imports; the limits only go down."""

from __future__ import annotations

import ast
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from popsnet import Experiment, Sweep, collect
from tests.project import measures

SOURCE = measures.SOURCE

MOST_LINES = 41_497
MOST_MODULES = 345

MOST_CASES = 4_500


LIMITS = {
    "functions with more than 8 parameters": 13,
    "of them kernels": 5,
    "most parameters": 21,
    "most parameters of a kernel": 15,
    "fmt: skip": 189,
    "class names defined twice": 1,
    "memories": 2,
    "registers": 1,
    "experiments": 1,
    "formats of results": 1,
    "isinstance on kinds in sweeps": 0,
    "lines that ask for features": 126,
    "files that ask for features": 54,
}
"""What ``measures`` counts at most; each limit only goes down."""

MOST_CHOICES = 8
"""How often an engine is chosen for each experiment of a sweep."""


def code_lines(text: str) -> int:
    """Return the lines of a module without docstrings, comments and blank lines."""
    documented = {
        line
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }  # fmt: skip
    return sum(
        bool(line.strip()) and not line.lstrip().startswith("#") and number not in documented
        for number, line in enumerate(text.splitlines(), 1)
    )


def test_what_counts_as_code() -> None:
    assert code_lines('"""A module."""\n\n# A comment.\nx = """\na\n"""  # three lines\n') == 3
    assert code_lines('def f():\n    """A function."""\n    return 1\n') == 2


def test_the_wheel_does_not_grow() -> None:
    """Whoever needs more room says why when they raise a limit."""
    modules = sorted(SOURCE.rglob("*.py"))
    lines = sum(code_lines(path.read_text(encoding="utf-8")) for path in modules)
    assert len(modules) <= MOST_MODULES
    assert lines <= MOST_LINES


def test_the_suite_does_not_grow(request: pytest.FixtureRequest) -> None:
    """A loop that names its failing case is as good as a case of its own (``tests/each.py``)."""
    chosen = request.config.option.markexpr
    if chosen == request.config.getini("addopts")[-1]:
        assert request.session.testscollected <= MOST_CASES


def test_the_parts_become_fewer() -> None:
    many, asked = measures.with_many_parameters(), measures.asked_features()
    counts = {
        "functions with more than 8 parameters": len(many),
        "of them kernels": sum(one.is_kernel for one in many),
        "most parameters": max(one.parameters for one in many),
        "most parameters of a kernel": max(one.parameters for one in many if one.is_kernel),
        "fmt: skip": measures.unformatted(),
        "class names defined twice": len(measures.defined_twice()),
        "memories": len(measures.memories()),
        "registers": len(measures.registers()),
        "experiments": len(measures.experiments()),
        "formats of results": len(measures.result_formats()),
        "isinstance on kinds in sweeps": len(measures.asked_kinds()),
        "lines that ask for features": len(asked),
        "files that ask for features": len({line.partition(":")[0] for line in asked}),
    }
    assert counts.keys() == LIMITS.keys()
    more = {name: count for name, count in counts.items() if count > LIMITS[name]}
    assert not more, f"limits are { ({name: LIMITS[name] for name in more}) }"


def test_an_engine_is_chosen_seldom(tmp_path: Path) -> None:
    """In all threads of a sweep."""
    chosen = []

    def note(frame: Any, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_name == "choose_engine":
            chosen.append(frame)

    sweep = Sweep.of_grid(d=[2, 4], g=2, routers=["direct", "relay"], runs=20)
    before = sys.getprofile()
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        collect(sweep, store=tmp_path / "results.sqlite", progress=False)
    finally:
        sys.setprofile(before)
        threading.setprofile(None)
    assert len(chosen) <= MOST_CHOICES * len(sweep.experiments)


COUNT = """
import sys
from popsnet.__main__ import main
sys.argv = ["popsnet", *{arguments}]
try:
    main()
except SystemExit as end:
    assert not end.code
loaded = [name for name in sys.modules if name.partition(".")[0] == "popsnet"]
print(len(loaded), "distributed" in sys.modules, "matplotlib" in sys.modules)
"""


@pytest.mark.parametrize(
    ("arguments", "most"), [(["--version"], 50), (["results", "list"], 140)], ids=str
)
def test_a_command_imports_little(arguments: list[str], most: int, tmp_path: Path) -> None:
    """Modules of popsnet; their time depends on the computer."""
    collect([Experiment(4, 4)], 10, tmp_path / "results.sqlite", progress=False)
    program = [sys.executable, "-c", COUNT.format(arguments=arguments)]
    done = subprocess.run(program, cwd=tmp_path, check=True, capture_output=True, text=True)
    loaded, *heavy = done.stdout.split()[-3:]
    assert int(loaded) <= most
    assert heavy == ["False", "False"]


def test_the_package_itself_imports_nothing() -> None:
    script = "import sys, popsnet; print([name for name in sys.modules if 'popsnet' in name])"
    program = [sys.executable, "-c", script]
    assert subprocess.check_output(program, text=True) == "['popsnet']\n"
