"""Spellings that earlier versions had, each with what is written today.

An input in an old spelling gives an error that names the new one. A table in CHANGELOG.md lists
all of them; a test compares the two.
"""

from __future__ import annotations

from typing import NamedTuple


class OldSpelling(NamedTuple):
    """A spelling of an earlier version."""

    kind: str
    """What it names: ``option``, ``parameter``, ``key``, ``value``, ``column`` or ``name``."""
    context: str
    """The commands, functions, tables of a sweep file or outputs that had it."""
    old: str
    new: str


INPUTS: tuple[OldSpelling, ...] = ()
"""What users write. Each gives an error with the new spelling."""

OUTPUTS: tuple[OldSpelling, ...] = ()
"""Columns of CSV files and data frames, and keys of JSON objects."""


def new_spelling(kind: str, old: str, context: str = "") -> str | None:
    """Return the new spelling of what an earlier version accepted, or None."""
    for renamed in INPUTS:
        if (renamed.kind, renamed.old) == (kind, old) and context in ("", *renamed.context.split()):
            return renamed.new
    return None


def changelog_table() -> str:
    """Return the table of old and new spellings of CHANGELOG.md."""
    rows = [
        f"| {each.kind} | {each.context} | {each.old} | {each.new} |" for each in INPUTS + OUTPUTS
    ]
    return "\n".join(("| what | where | before | now |", "|---|---|---|---|", *rows))
