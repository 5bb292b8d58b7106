"""Tables of points, as ``popsnet sweep`` and ``popsnet results`` print them."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from popsnet.experiments.export import summary_of
from popsnet.experiments.shard import SHARD_RUNS, Identity
from popsnet.experiments.tally import Tally

__all__ = ["add_point", "points_table"]

_NAMES = ("d", "g", "router", "variant", "permutation")
_FIGURES = (
    "runs", "steps\nmean", "slots\nmean", "slots\nsd", "slots\nmax", "lost", "capped",
)  # fmt: skip
_NOTHING = "–"


def points_table(first: str | None) -> Table:
    """A table of points; its first column may be a name for them."""
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="bold underline")
    for name in (*([first] if first else []), *_NAMES):
        table.add_column(name, overflow="fold", no_wrap=name in ("point", "d", "g"))
    for name in _FIGURES:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def add_point(
    table: Table,
    identity: Identity,
    tally: Tally | None,
    first: Sequence[str] = (),
    shards: int = 0,
) -> None:
    """Add a row; a point without a tally is still to be run, so many shards of it."""
    router = (identity.router, identity.variant)
    names = (*first, f"{identity.d}", f"{identity.g}", *router, _shortened(identity.permutation))
    figures = _figures(tally) if tally else (f"not all {shards * SHARD_RUNS:,}",)
    nothing = [_NOTHING] * (len(_FIGURES) - len(figures))
    table.add_row(*(Text(name) for name in names), *figures, *nothing)


def _shortened(permutation: str) -> str:
    """The digest of a file by its first signs."""
    kind, colon, digest = permutation.partition(":")
    return f"{kind}{colon}{digest[:8]}" if kind.startswith("file.") else permutation


def _figures(tally: Tally) -> tuple[str, ...]:
    if not tally.runs:
        return ("0",)
    at_least = "≥ " if tally.capped else ""  # a capped run is cut
    steps, slots = summary_of(tally.steps), summary_of(tally.slots)
    return (
        f"{tally.runs:,}",
        f"{at_least}{steps.mean:,.2f}",
        f"{at_least}{slots.mean:,.2f}",
        _NOTHING if slots.sd is None else f"{slots.sd:,.2f}",
        f"{at_least}{slots.max:,}",
        f"{sum(value * count for value, count in tally.lost.items()):,}",
        f"{tally.capped:,}",
    )
