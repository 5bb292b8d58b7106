"""Outputs that earlier versions called otherwise, and the table of CHANGELOG.md."""

from __future__ import annotations

from popsnet.base.spellings import INPUTS, OldSpelling

_TRAFFIC = (
    "traffic, simulate, run_loads, replicate, sweep, results list, results show, results export, "
    "Store"
)
_EVERY_NETWORK = "schedule, sort, compute move, compute sum, compute prefix-sums, adversary two-hop"
_FIGURES = (
    "packets, max_per_processor, max_per_group, rounding, slots, lower_bound, gap, linear_bound, "
    "relayed, messages, utilization, usable_utilization, peak_buffers, delivered, collisions, "
    "seconds"
)

OUTPUTS: tuple[OldSpelling, ...] = (
    OldSpelling("key", "route, view, demo", "runs[]", "outcomes[]"),
    OldSpelling("key", "results export --per-run", "runs[]", "outcomes[]"),
    OldSpelling("key", "replicate", "runs[]", "points[]"),
    OldSpelling(
        "key", "traffic, sweep, results list, results show, results export", "delay_*", "delay.*"
    ),
    OldSpelling(
        "key", "traffic, replicate, results show", "delay.interval", "delay.low, delay.high"
    ),
    OldSpelling("key", "traffic, results show", "bounds.groups out", "bounds.groups_out"),
    OldSpelling("key", "traffic, results show", "bounds.groups in", "bounds.groups_in"),
    OldSpelling("key", "traffic, results show", "relayed_most", "buffers.relayed_most"),
    OldSpelling("column", _TRAFFIC, "hops", "hops_per_packet"),
    OldSpelling("column", _TRAFFIC, "messages", "messages_per_packet"),
    OldSpelling("column", _TRAFFIC, "collisions", "collisions_per_packet"),
    OldSpelling("column", _TRAFFIC, "slots", "window_slots"),
    OldSpelling(
        "column", "sweep, results list, results export", "slots_wanted", "window_slots_wanted"
    ),
    OldSpelling(
        "column",
        "traffic, simulate, run_loads, replicate, results show",
        "label",
        "scheduler_label",
    ),
    OldSpelling("column", "compare", "label", "router_label"),
    OldSpelling("column", "route, traffic, schedule", "*_tbps", "*_gbps"),
    OldSpelling(
        "column",
        "sweep, results list, results show, results export, Store",
        "lost_mean",
        "lost_per_run",
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


def changelog_table() -> str:
    """Return the table of old and new spellings of CHANGELOG.md."""
    rows = [
        f"| {each.kind} | {each.context} | {each.old} | {each.new} |" for each in INPUTS + OUTPUTS
    ]
    return "\n".join(("| what | where | before | now |", "|---|---|---|---|", *rows))
