"""Names are nouns: what a loop runs over, not ``one``; the limits only go down."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

from tests.project import measures

VAGUE = {"one", "found", "there", "said", "told"}
"""Pronouns, adverbs and participles, in place of which the field has a noun."""

LIMITS = {
    "base": 0,
    "cli": 0,
    "engines": 0,
    "experiment": 0,
    "hardware": 0,
    "model": 0,
    "paper": 0,
    "plots": 5,
    "programs": 0,
    "runs": 0,
    "studies": 1,
    "sweeps": 0,
    "testing": 0,
    "theory": 0,
    "trace": 0,
    "workloads": 0,
}
"""How many variables and parameters of a room have such a name at most."""


def vague(tree: ast.AST) -> list[str]:
    """Return the vague names that a module gives to variables and parameters."""
    names = (
        node.id if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        else node.arg if isinstance(node, ast.arg)
        else node.name if isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar)
        else node.asname if isinstance(node, ast.alias)
        else None
        for node in ast.walk(tree)
    )  # fmt: skip
    return [name for name in names if name in VAGUE]


def test_what_counts_as_a_vague_name() -> None:
    text = """
from math import pi as one
def told(found, *said, **there):
    one = found.one
    total = sum(said for said in there if (one := said))
    try:
        pass
    except ValueError as told:
        pass
    match one:
        case [*found]:
            return f(found=one)
"""
    counts = {"one": 3, "found": 2, "said": 2, "there": 1, "told": 1}
    assert Counter(vague(ast.parse(text))) == counts


def test_vague_names_become_fewer() -> None:
    """Say what a variable holds: ``for experiment in experiments``, ``router``, ``error_text``."""
    counts: Counter[str] = Counter()
    for path, (tree, *_) in measures.modules():
        counts[Path(path).parts[0] if "/" in path else ""] += len(vague(tree))
    rooms = counts.keys() - {""}
    assert rooms == LIMITS.keys()
    too_many = {room: counts[room] for room in rooms if counts[room] > LIMITS[room]}
    assert (too_many, counts[""]) == ({}, 0)
