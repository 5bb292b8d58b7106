"""Sorted and computed values as they are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from popsnet.report import Fact, Report, facts_of

if TYPE_CHECKING:
    from popsnet.computing.computation import Computed, Sorted
    from popsnet.computing.moves import Values

_MOST_LISTED = 1024
"""Values that a report has all of."""
_FEW = 3


def computed_report(done: Computed) -> Report:
    """Return the cost of a computation, and whether the values are right."""
    facts = facts_of(
        done, "network", "what", "moves", "slots", "slots_per_move", "messages", "collisions",
        "correct",
    )  # fmt: skip
    moves = f"{done.moves} {'move' if done.moves == 1 else 'moves'}"
    title = (
        f"{done.what} on {done.network}: {moves} of at most {done.slots_per_move} slots (Sahni), "
        f"slots {done.slots}"
    )
    verdict = (
        f"{'OK: correct' if done.correct else 'WRONG'}; messages {done.messages:,}, collisions "
        f"{done.collisions}"
    )
    return Report(title, facts, verdict=verdict, ok=done.correct)


def sorted_report(done: Sorted) -> Report:
    """Return the cost of sorting, some values, and whether they are in order."""
    facts = (
        *facts_of(
            done, "network", "comparators", "proved", "depth", "slots", "most_slots", "messages",
            "collisions", "in_order", "seconds",
        ),
        Fact("first", _listed(done.values[:_FEW])),
        Fact("last", _listed(done.values[-_FEW:])),
        Fact("values", _listed(done.values) if len(done.values) <= _MOST_LISTED else None),
    )  # fmt: skip
    title = (
        f"{len(done.values):,} values on {done.network} by {done.comparators}, {done.depth:,} "
        f"stages\nslots {done.slots:,}, at most {done.most_slots:,}; messages {done.messages:,}; "
        f"collisions {done.collisions}\n{_glimpse(done.values)}"
    )
    verdict = (
        f"{'OK: in order' if done.in_order else 'NOT in order'}, compared with another sort; "
        f"{done.seconds:.2f} s"
    )
    return Report(title, facts, verdict=verdict, ok=done.in_order)


def _glimpse(values: Values) -> str:
    """The first values and the last, or all if they are few."""
    listed = values.tolist()
    few = listed if len(listed) <= 2 * _FEW else [*listed[:_FEW], "…", *listed[-_FEW:]]
    return " ".join(map(str, few))


def _listed(values: Values) -> list[object]:
    """For JSON, which has no infinite numbers: they are texts."""
    return [one if np.isfinite(one) else str(one) for one in values.tolist()]
