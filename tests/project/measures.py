"""What the source of the wheel is made of, counted by walking its syntax trees."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).parents[2] / "src" / "popsnet"

FEATURES = {
    "faults",
    "faulty",
    "broken",
    "known_faults",
    "wavelengths",
    "send_wavelengths",
    "listen_wavelengths",
    "several_wavelengths",
    "demand",
}
"""The names by which code asks whether a run has faults, several wavelengths or a demand."""

KINDS = {"Experiment", "TrafficExperiment", "Point", "Shards", "TrafficResult", "Runs"}
"""The kinds of experiments and of results."""

RESULT_FORMATS = (
    "CREATE TABLE shards",
    "CREATE TABLE traffic",
    '"popsnet distribution"',
    "``popsnet faults --json`` printed",
)
"""What the source says of each format in which results are kept, or of its successor."""


class Many(NamedTuple):
    """A function with more than eight parameters."""

    parameters: int
    name: str
    is_kernel: bool


@cache
def modules() -> list[tuple[str, list[ast.AST]]]:
    """Return the nodes of every module of the wheel, by its path below the package."""
    return [
        (path.relative_to(SOURCE).as_posix(), [*ast.walk(ast.parse(path.read_text("utf-8")))])
        for path in sorted(SOURCE.rglob("*.py"))
    ]


def with_many_parameters() -> list[Many]:
    """Return the functions with more than eight parameters, those with the most first."""
    found = []
    for path, nodes in modules():
        for node in nodes:
            if isinstance(node, ast.FunctionDef):
                given = node.args
                count = len(given.posonlyargs) + len(given.args) + len(given.kwonlyargs)
                is_kernel = any("compiled" in ast.unparse(one) for one in node.decorator_list)
                if count > 8:
                    found.append(Many(count, f"{path} {node.name}", is_kernel))
    return sorted(found, reverse=True)


def unformatted() -> int:
    """Return the lines that keep the formatter away."""
    return sum(
        path.read_text(encoding="utf-8").count("# fmt: skip") for path in SOURCE.rglob("*.py")
    )


def classes() -> list[ast.ClassDef]:
    """Return all classes."""
    return [node for _, nodes in modules() for node in nodes if isinstance(node, ast.ClassDef)]


def defined_twice() -> list[str]:
    """Return the names of classes that are defined in several places."""
    return sorted(
        name for name, times in Counter(one.name for one in classes()).items() if times > 1
    )


def memories() -> list[str]:
    """Return the classes of memories of processors."""
    return [
        one.name
        for one in classes()
        if one.name.endswith("Memory") and "NamedTuple" not in map(ast.unparse, one.bases)
    ]


def registers() -> list[str]:
    """Return the registers of programs: from each, one function deletes programs."""
    return [
        f"{path} {node.name}"
        for path, nodes in modules()
        for node in nodes
        if isinstance(node, ast.FunctionDef) and node.name.startswith(("unregister", "remove"))
        if any(isinstance(part, ast.Delete) for part in ast.walk(node))
    ]


def experiments() -> list[str]:
    """Return the classes with an identity and a digest of their own."""
    return [one.name for one in classes() if {"identity", "digest"} <= _methods(one)]


def _methods(node: ast.ClassDef) -> set[str]:
    return {part.name for part in node.body if isinstance(part, ast.FunctionDef)}


def result_formats() -> list[str]:
    """Return the formats in which results are kept."""
    text = "".join(path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py"))
    return [one for one in RESULT_FORMATS if one in text]


def asked_kinds() -> list[str]:
    """Return the lines of ``sweeps`` with an ``isinstance`` of a kind of experiment or result."""
    return _lines(lambda path: path.startswith("sweeps/"), _asks_kind)


def asked_features() -> list[str]:
    """Return the lines that ask whether faults, several wavelengths or a demand are there.

    A line asks if one of :data:`FEATURES`, as a name or as an attribute, is a condition, a part of
    one, or is compared with a constant.
    """
    return _lines(lambda path: True, _asks_feature)


def _lines(chosen: Callable[[str], bool], asks: Callable[[ast.AST], list[int]]) -> list[str]:
    found = {
        (path, line)
        for path, nodes in modules()
        if chosen(path)
        for node in nodes
        for line in asks(node)
    }
    return [f"{path}:{line}" for path, line in sorted(found)]


def _asks_kind(node: ast.AST) -> list[int]:
    is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    if not is_call or node.func.id != "isinstance":  # type: ignore[attr-defined]
        return []
    names = {one.id for one in ast.walk(node.args[1]) if isinstance(one, ast.Name)}  # type: ignore[attr-defined]
    return [node.lineno] if names & KINDS else []  # type: ignore[attr-defined]


def _asks_feature(node: ast.AST) -> list[int]:
    if isinstance(node, ast.If | ast.IfExp | ast.While | ast.Assert):
        return _conditions(node.test)
    if isinstance(node, ast.comprehension):
        return [line for one in node.ifs for line in _conditions(one)]
    return _conditions(node) if isinstance(node, ast.BoolOp | ast.Compare | ast.UnaryOp) else []


def _conditions(node: ast.AST) -> list[int]:
    """Return the lines of an expression that ask, if its value is a condition."""
    if isinstance(node, ast.BoolOp):
        return [line for one in node.values for line in _conditions(one)]
    if isinstance(node, ast.UnaryOp):
        return _conditions(node.operand) if isinstance(node.op, ast.Not) else []
    sides = [node.left, *node.comparators] if isinstance(node, ast.Compare) else [node]
    constants = len(sides) == 1 or any(isinstance(one, ast.Constant) for one in sides)
    return [one.lineno for one in sides if _is_feature(one) and constants]  # type: ignore[attr-defined]


def _is_feature(node: ast.AST) -> bool:
    name = node.id if isinstance(node, ast.Name) else getattr(node, "attr", None)
    return isinstance(node, ast.Name | ast.Attribute) and name in FEATURES
