"""Spellings that earlier versions had, each with what is written today.

An input in an old spelling gives an error that names the new one. A table in CHANGELOG.md lists
all of them; a test compares the two.
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

_TRAFFIC = "traffic, simulate, run_loads, replicate, sweep, results list, results export, Store"
_EVERY_NETWORK = "schedule, sort, compute sum, compute prefix-sums, adversary two-hop"
_FIGURES = (
    "packets, max_per_processor, max_per_group, rounding, slots, lower_bound, gap, linear_bound, "
    "relayed, messages, utilization, usable_utilization, peak_buffers, delivered, collisions, "
    "seconds"
)

OUTPUTS: tuple[OldSpelling, ...] = (
    OldSpelling("key", "route, view, demo", "runs[]", "outcomes[]"),
    OldSpelling("key", "results export --per-run", "runs[]", "outcomes[]"),
    OldSpelling("key", "replicate", "runs[]", "points[]"),
    OldSpelling("key", "traffic, sweep, results list, results export", "delay_*", "delay.*"),
    OldSpelling("key", "traffic, replicate", "delay.interval", "delay.low, delay.high"),
    OldSpelling("key", "traffic", "bounds.groups out", "bounds.groups_out"),
    OldSpelling("key", "traffic", "bounds.groups in", "bounds.groups_in"),
    OldSpelling("key", "traffic", "relayed_most", "buffers.relayed_most"),
    OldSpelling("column", _TRAFFIC, "hops", "hops_per_packet"),
    OldSpelling("column", _TRAFFIC, "messages", "messages_per_packet"),
    OldSpelling("column", _TRAFFIC, "collisions", "collisions_per_packet"),
    OldSpelling("column", _TRAFFIC, "slots", "window_slots"),
    OldSpelling(
        "column", "sweep, results list, results export", "slots_wanted", "window_slots_wanted"
    ),
    OldSpelling("column", "traffic, simulate, run_loads, replicate", "label", "scheduler_label"),
    OldSpelling("column", "compare", "label", "router_label"),
    OldSpelling("column", "route, traffic, schedule", "*_tbps", "*_gbps"),
    OldSpelling(
        "column", "sweep, results list, results export, Store", "lost_mean", "lost_per_run"
    ),
    OldSpelling("column", "faults, survival", "lost", "lost_per_run"),
    OldSpelling("column", "faults, survival", "unreachable", "unreachable_per_run"),
    OldSpelling("column", "faults, survival", "held", "held_per_run"),
    OldSpelling("column", "faults, survival", "duplicated", "duplicated_per_run"),
    OldSpelling("column", "faults, survival", "slots", "slots_mean"),
    OldSpelling("column", _EVERY_NETWORK, "network_d", "d"),
    OldSpelling("column", _EVERY_NETWORK, "network_g", "g"),
    OldSpelling("column", _EVERY_NETWORK, "network_n", "n"),
    OldSpelling("column", _EVERY_NETWORK, "network_wavelengths", "wavelengths"),
    OldSpelling("column", "route", "index run", "run"),
    OldSpelling("column", "schedule().to_dataframe()", _FIGURES, "schedule --json"),
    OldSpelling("key", "results show", "shards[].popsnet", "shards[].popsnet_version"),
)
"""Columns of CSV files and data frames, and keys of JSON objects.

``[]`` is a list, ``*`` the same text before and now. Several old columns with the name of an output
are keys of that output now.
"""


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


def changelog_table() -> str:
    """Return the table of old and new spellings of CHANGELOG.md."""
    rows = [
        f"| {each.kind} | {each.context} | {each.old} | {each.new} |" for each in INPUTS + OUTPUTS
    ]
    return "\n".join(("| what | where | before | now |", "|---|---|---|---|", *rows))
