"""What the package offers: there, documented, and its examples true."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import inspect
import pkgutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

import popsnet
from popsnet import Sweep, compare, recommend, route
from tests.each import each, rarely


def test_what_is_shown_is_short() -> None:
    """In a notebook, the last line of a cell is shown as it represents itself."""
    shown = (
        recommend(64, 16), compare(4, 4, runs=1), popsnet.all_routers()[0],
        Sweep.of_grid(d=4, g=4), route(4, 4), route(4, 4).experiment, route(4, 4)[0],
    )  # fmt: skip
    for one in shown:
        assert len(repr(one)) < 800, repr(one)
        assert "0x" not in repr(one)


def test_packages_are_there_without_being_imported() -> None:
    script = "import popsnet; print(popsnet.theory.C > 3, popsnet.theory.sorting.bitonic(4).depth)"
    command = [sys.executable, "-c", script]
    assert subprocess.run(command, capture_output=True, text=True).stdout == "True 3\n"


def test_importing_costs_nothing() -> None:
    script = "import sys, popsnet; print('numpy' in sys.modules, 'numba' in sys.modules)"
    printed = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout
    assert printed == "False False\n"


def test_every_public_name_is_grouped_and_documented() -> None:
    documented = popsnet.__doc__ or ""
    for name in popsnet.__all__:
        assert (
            f"``{name}``" in documented
            or name in ("paper", "NO_PACKET")
            or (
                isinstance(getattr(popsnet, name), type)
                and issubclass(getattr(popsnet, name), popsnet.PopsnetError)
            )
        ), name
        assert inspect.getdoc(getattr(popsnet, name)), name


def with_examples() -> Iterator[str]:
    """The modules that have examples in their docstrings."""
    for module in pkgutil.walk_packages(popsnet.__path__, "popsnet."):
        spec = importlib.util.find_spec(module.name)
        assert spec is not None
        if spec.origin is not None and ">>>" in Path(spec.origin).read_text(encoding="utf-8"):
            yield module.name


WITHOUT_EXAMPLES = {
    "popsnet.engines.fused": "kernels and their sessions, which only the engine uses",
    "popsnet.engines.objects": "used as an engine, by name",
    "popsnet.paper.Reproduction": "the result of a reproduction, which takes minutes",
    "popsnet.trace.Header": "a line of a trace; read_trace has an example",
    "popsnet.trace.OutcomeLine": "a line of a trace; read_trace has an example",
    "popsnet.trace.SlotLine": "a line of a trace; read_trace has an example",
    "popsnet.trace.viewer.require_showable": "a check of pages; Page has an example",
    "popsnet.trace.viewer.too_long": "an error of pages; Page has an example",
}
"""Packages and names that need no example, and why."""


def offered() -> Iterator[tuple[str, object]]:
    """The functions and classes of popsnet that the package and its packages offer."""
    below = pkgutil.walk_packages(popsnet.__path__, "popsnet.")
    for package in ("popsnet", *(module.name for module in below if module.ispkg)):
        loaded = importlib.import_module(package)
        for name in getattr(loaded, "__all__", ()):
            one = getattr(loaded, name)
            is_function = inspect.isfunction(one) or hasattr(one, "cache_info")
            if (is_function or inspect.isclass(one)) and one.__module__.startswith("popsnet."):
                yield f"{package}.{name}", one


def excepted(name: str, exceptions: Iterable[str]) -> bool:
    return any(name == one or name.startswith(f"{one}.") for one in exceptions)


def test_every_public_function_and_class_has_an_example() -> None:
    without = {name for name, one in offered() if ">>>" not in (inspect.getdoc(one) or "")}
    assert {one for one in without if not excepted(one, WITHOUT_EXAMPLES)} == set()
    for exception in WITHOUT_EXAMPLES:
        assert any(excepted(name, [exception]) for name in without), f"{exception} has examples"


LONG = {"popsnet.paper.reproduce"}
"""Examples that take seconds."""


@pytest.mark.parametrize("name", [*sorted({*with_examples()} - LONG), *rarely(LONG)])
def test_the_examples_in_docstrings_are_true(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(name)
    tests = [test for test in doctest.DocTestFinder().find(module, name) if test.examples]
    assert tests
    for test in tests:
        for path in tmp_path.iterdir():
            path.unlink()
        failed, _ = doctest.DocTestRunner().run(test)
        assert failed == 0, test.name


SOURCE = Path(popsnet.__file__).parent


MODULES = sorted(SOURCE.rglob("*.py"))


@each("module", MODULES)
def test_what_a_module_offers_exists_and_is_documented(module: Path) -> None:
    name = ".".join(module.relative_to(SOURCE.parent).with_suffix("").parts)
    if module.name == "__main__.py" or name == "popsnet.cli.__init__":
        return
    loaded = importlib.import_module(name.removesuffix(".__init__"))
    assert loaded.__doc__
    for one in getattr(loaded, "__all__", ()):
        assert getattr(loaded, one) is not None


def test_every_name_of_the_package_is_there() -> None:
    for name in popsnet.__all__:
        assert getattr(popsnet, name) is not None
    assert dir(popsnet) == sorted(popsnet.__all__)
    with pytest.raises(AttributeError, match="nothing_here"):
        popsnet.nothing_here  # type: ignore[attr-defined] # noqa: B018
