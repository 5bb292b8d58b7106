"""Tables of points, as ``popsnet sweep`` and ``popsnet results`` print them."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from popsnet.engines import Tally
from popsnet.experiment import Experiment
from popsnet.stats.inference import summarize_counts

__all__ = ["add_point", "points_table"]

_NAMES = ("d", "g", "router", "variant", "permutation")
_FIGURES = (
    "runs", "steps\nmean", "slots\nmean", "slots\nsd", "slots\nmax", "home\nmean", "lost", "capped",
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
    table: Table, experiment: Experiment, tally: Tally, first: Sequence[str] = (), wanted: int = 0
) -> None:
    """Add a row; it says if more runs are wanted than there are."""
    router, permutation = (experiment.router, experiment.variant), experiment.permutation
    names = (*first, f"{experiment.d}", f"{experiment.g}", *router, _shortened(permutation))
    of_wanted = f" of {wanted:,}" if tally.runs < wanted else ""
    figures = _figures(tally) if tally.runs else [_NOTHING] * (len(_FIGURES) - 1)
    table.add_row(*(Text(name) for name in names), f"{tally.runs:,}{of_wanted}", *figures)


def _shortened(permutation: str) -> str:
    """The digest of a file by its first signs."""
    kind, colon, digest = permutation.partition(":")
    return f"{kind}{colon}{digest[:8]}" if kind.startswith("file.") else permutation


def _figures(tally: Tally) -> tuple[str, ...]:
    at_least = "≥ " if tally.capped else ""  # a capped run is cut
    steps, slots = summarize_counts(tally.steps), summarize_counts(tally.slots)
    return (
        f"{at_least}{steps.mean:,.2f}",
        f"{at_least}{slots.mean:,.2f}",
        _NOTHING if slots.sd is None else f"{slots.sd:,.2f}",
        f"{at_least}{slots.max:,}",
        f"{at_least}{summarize_counts(tally.slots_delivered).mean:,.2f}",
        f"{sum(value * count for value, count in tally.lost.items()):,}",
        f"{tally.capped:,}",
    )
