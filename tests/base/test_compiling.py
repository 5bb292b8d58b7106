"""What is compiled when nothing is in the cache: counted, because times depend on the machine."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from popsnet.base.compiled import compiled
from tests.base.test_compiled import OURS, package, python

COUNT = """
from numba.core import event
from popsnet.base import compiled
from popsnet import route

class Count(event.Listener):
    def on_start(self, event):
        function = event.data["dispatcher"].py_func
        print(f"{function.__module__}.{function.__qualname__}", compiled.compiling())
    def on_end(self, event): pass

event.register("numba:compile", Count())
for runs in (3, 1):
    route(64, 64, router="relay", engine="fused", runs=runs)
    print("done -")
"""

SPECIALIZED = {"marked.add_new": 3, "program.row_of": 2}
"""Functions of relay that are compiled more than once, for constants and types of integers."""

MOST_TRANSLATED = 6
"""Functions that Python calls: two kernels, and those that draw coins and permutations."""

COMMAND = """
import sys
from pathlib import Path
from numba.core import event
from popsnet.__main__ import main

class Count(event.Listener):
    def on_start(self, event):
        function = event.data["dispatcher"].py_func
        if function.__module__.startswith("popsnet."):
            names.append(f"{{function.__module__}}.{{function.__qualname__}}")
    def on_end(self, event): pass

names = []
event.register("numba:compile", Count())
sys.argv = ["popsnet", *{arguments!r}]
try:
    main()
finally:
    Path("names.txt").write_text(" ".join(names))
"""

SWEEP = "[[grid]]\nd = 32\ng = 32\nruns = 20"

COMMANDS = {
    "route 8 8": (29, 20),
    "schedule 8 8": (39, 25),
    "traffic 8 8 --load 0.4 --slots 1000": (55, 8),
    "distribution 32 32 --runs 1000": (35, 2),
    "sweep sweep.toml": (35, 2),
}
"""The most functions that a first command compiles, and those that Python calls."""

MOST_TYPES = 3
"""The most types of arguments that a function is compiled for."""

RAISE = """
from typing import NamedTuple
class Sum(NamedTuple): value: float
@compiled
def check(x):
    if x < 0: raise ValueError("negative", x)
    return Sum(x + 1)
"""

CALLERS = """
from kernels.d import check
@compiled
def twice(x): return check(x).value + check(x + 1).value
"""

CALL_ALL = """
import gc
from pathlib import Path
import pytest

from popsnet.base.compiled import compiling, use_cache_for

use_cache_for(Path("kernels"))
from kernels.c import twice
from kernels.d import check

def failing(function):
    try: function(-5)
    except ValueError as error: return error.args

print(twice(3), failing(twice), *check(3), failing(check), twice(4), *check(2.5))
print(gc.isenabled(), repr(compiling()))
print(sum(sum(one.stats.cache_hits.values()) for one in (twice, check)))
"""


def test_this_version_of_numba_is_known() -> None:
    """Else kernels compile for minutes: look at ``popsnet.base.compiling``, and raise TRIED."""
    from popsnet.base.compiling import CompiledFunction

    assert isinstance(compiled(lambda x: x), CompiledFunction)


def test_an_unknown_numba_compiles_by_itself(tmp_path: Path) -> None:
    (package(tmp_path, OURS) / "c.py").write_text(OURS + CALLERS)
    (tmp_path / "kernels" / "d.py").write_text(OURS + RAISE)
    unknown = "import numba\nnumba.version_info = numba.version_info._replace(short=(9, 0))\n"
    printed = python(tmp_path, unknown + CALL_ALL + "print(type(twice).__name__)")
    assert printed[0] == "9"
    assert printed[-1] == "CPUDispatcher"


def test_functions_that_python_and_kernels_call(tmp_path: Path) -> None:
    """Python calls one that is a part already, and both raise, compiled and from the cache."""
    (package(tmp_path, OURS) / "c.py").write_text(OURS + CALLERS)
    (tmp_path / "kernels" / "d.py").write_text(OURS + RAISE)
    failed = ["('negative',", "-5)"]
    expected = ["9", *failed, "4", *failed, "11", "3.5", "True", "''"]
    assert python(tmp_path, CALL_ALL) == [*expected, "0"]
    assert python(tmp_path, CALL_ALL) == [*expected, "3"]


@pytest.mark.program
def test_what_a_first_run_of_relay_compiles(tmp_path: Path) -> None:
    """No stages that its schedule lacks, nothing more for one run, and nothing a second time."""
    printed = python(tmp_path, COUNT)
    compilations = list(zip(printed[::2], printed[1::2], strict=True))
    one_run = compilations.index(("done", "-"))
    assert {told for name, told in compilations if ".fused.relay." in name} == {"relay"}
    names = [name.partition(".fused.relay.")[2] for name, _ in compilations]
    assert not any(names[one_run:])
    lacking = {name for name in names if name.split(".")[0] in ("elect", "grid", "global_or")}
    assert not lacking | {"shower.resolve"} & set(names)
    times = Counter(filter(None, names))
    assert not {name: n for name, n in times.items() if n > SPECIALIZED.get(name, 1)}
    kept = {path.name.split("-")[0] for path in tmp_path.rglob("stages.*.nbc")}
    assert kept == {"stages.route_runs", "stages.summarize"}
    assert len(list(tmp_path.rglob("*.nbc"))) <= MOST_TRANSLATED
    assert python(tmp_path, COUNT) == ["done", "-"] * 2


@pytest.mark.program
@pytest.mark.parametrize("command", COMMANDS)
def test_what_a_first_command_compiles(command: str, tmp_path: Path) -> None:
    """Few functions, each for few types of arguments, and nothing a second time."""
    most, most_translated = COMMANDS[command]
    (tmp_path / "sweep.toml").write_text(SWEEP)
    python(tmp_path, COMMAND.format(arguments=command.split()))
    names = (tmp_path / "names.txt").read_text().split()
    assert 0 < len(names) <= most
    assert max(Counter(names).values()) <= MOST_TYPES
    assert len(list(tmp_path.rglob("*.nbc"))) <= most_translated
    (tmp_path / "results.sqlite").unlink(missing_ok=True)
    python(tmp_path, COMMAND.format(arguments=command.split()))
    assert (tmp_path / "names.txt").read_text() == ""
