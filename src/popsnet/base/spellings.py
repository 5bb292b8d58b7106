"""Spellings that earlier versions had, each with what is written today.

An input in an old spelling gives an error that names the new one. A table in CHANGELOG.md lists
all of them, and the old names of outputs; a test compares the two.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, NamedTuple, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])


class OldSpelling(NamedTuple):
    """A spelling of an earlier version."""

    kind: str
    """What it is: ``option``, ``argument``, ``parameter``, ``key``, ``value``, ``column`` or
    ``name``."""
    context: str
    """The commands, functions, tables of a sweep file or outputs that had it, with commas."""
    old: str
    new: str
    times: float = 1.0
    """By which a percentage given before must be multiplied."""


INPUTS: tuple[OldSpelling, ...] = (
    OldSpelling(
        "option", "route, compare, faults, distribution, view, schedule", "--demand", "--packets"
    ),
    OldSpelling("option", "traffic", "--arrivals", "--packets"),
    OldSpelling(
        "parameter",
        "route, compare, survival, distribution, Experiment, replaced, check_locality",
        "demand",
        "packets",
    ),
    OldSpelling("parameter", "schedule", "demand", "permutation or packets"),
    OldSpelling("key", "grid", "demands", "packets"),
    OldSpelling("value", "faults, --fault, Selection", "coupler:1,0@5", "coupler:0-1@5"),
    OldSpelling("value", "couplers", "(1, 0, 5)", "0-1@5"),
    OldSpelling("value", "a list of packets", "slot 0", "slots count from 1; add 1 to each slot"),
    OldSpelling("option", "sweep", "--time", "--time-limit"),
    OldSpelling("argument", "results export", "FILE", "--out FILE"),
    OldSpelling("option", "sweep", "--until-se", "--precision", 1.96),
    OldSpelling("parameter", "collect", "until_se", "precision", 1.96),
)
"""What users write. Each gives an error with the new spelling."""


def new_spelling(kind: str, old: str, context: str, value: object = "") -> str | None:
    """Return the new spelling of what an earlier version accepted, or None.

    A value that means something else now is there as it must be written.

    >>> new_spelling("option", "--until-se", "sweep", "1%")
    '--precision 1.96%'
    """
    for renamed in INPUTS:
        if (renamed.kind, renamed.old) == (kind, old) and context in renamed.context.split(", "):
            number = re.fullmatch(r"([\d.]{1,20})\s*%", str(value).strip())
            if renamed.times == 1 or number is None:
                return renamed.new
            now = f"{renamed.times * float(number[1]):.6g}%"
            return f"{renamed.new} {now}" if kind == "option" else f"{renamed.new}={now!r}"
    return None


def renamed(function: str, keywords: Mapping[str, object]) -> TypeError | None:
    """Return the error of the first parameter with an old name, None if there is none.

    >>> print(renamed("route", {"demand": [[0, 1]]}))
    route() got an unexpected keyword argument 'demand'. It is now packets.
    """
    for name, value in keywords.items():
        if new := new_spelling("parameter", name, function, value):
            return TypeError(
                f"{function}() got an unexpected keyword argument {name!r}. It is now {new}."
            )
    return None


def refusing_old(function: _Function) -> _Function:
    """Decorate a function, so that an old name of a parameter is refused with its new name."""
    name = function.__qualname__.removesuffix(".__init__").rpartition(".")[2]

    @wraps(function)
    def called(*values: Any, **parameters: Any) -> Any:
        if old := renamed(name, parameters):
            raise old
        return function(*values, **parameters)

    return called  # type: ignore[return-value]
