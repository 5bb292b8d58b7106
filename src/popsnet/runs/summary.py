"""Runs in short: figures of every count as text and HTML, and a small histogram."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from html import escape
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from popsnet.report.table import data_frame, html_table, text_table
from popsnet.stats.inference import Summary

if TYPE_CHECKING:
    import pandas as pd

    from popsnet.runs.run import Runs

__all__ = ["RunsSummary", "bars"]

I64 = npt.NDArray[np.int64]


class RunsSummary(Mapping[str, Summary]):
    """Mean, spread and range of the counts of runs: by name, as text, or as HTML.

    Examples
    --------
    >>> import popsnet
    >>> summary = popsnet.route(4, 4, router="direct", runs=10).summary()
    >>> summary["slots"]
    Summary(mean=4.0, sd=0.0, min=4, max=4)
    """

    def __init__(self, runs: Runs, figures: Mapping[str, Summary]) -> None:
        self._runs, self._figures = runs, figures

    def __getitem__(self, name: str) -> Summary:
        return self._figures[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._figures)

    def __len__(self) -> int:
        return len(self._figures)

    @property
    def capped(self) -> int:
        """Runs that were capped."""
        return int(self._runs.capped.sum())

    @property
    def _title(self) -> str:
        runs, one = self._runs, self._runs.experiment
        return (
            f"{len(runs):,} {'run' if len(runs) == 1 else 'runs'} of {one}, engine {runs.engine}; "
            f"permutation {one.shown_permutation}, seed {one.seed}, permutation seed "
            f"{one.permutation_seed}"
        )

    @property
    def _verdict(self) -> str:
        runs = self._runs
        missing = runs.undelivered
        verdict = f"{missing:,} packets not delivered" if missing else "every packet delivered"
        idealized = (
            f" Variant {runs.experiment.variant} is idealized: these are statistics, not routes."
            if runs.experiment.idealized
            else ""
        )
        lost = int(runs.lost.sum())
        return f"{verdict}; {lost:,} lost; capped runs: {self.capped:,}.{idealized}"

    def to_dataframe(self) -> pd.DataFrame:
        """Return a pandas data frame with a row per count; needs ``popsnet[pandas]``."""
        return data_frame([{"count": name, **asdict(one)} for name, one in self.items()])

    def _rows(self) -> list[tuple[str, str, str, str, str]]:
        least = "≥ " if self.capped else ""  # a capped run is cut short
        return [
            (
                name,
                f"{least}{one.mean:,.2f}",
                "–" if one.sd is None else f"{one.sd:,.2f}",
                f"{one.min:,}",
                f"{least}{one.max:,}",
            )
            for name, one in self._figures.items()
        ]

    def __str__(self) -> str:
        return "\n".join([self._title, text_table([_HEADING, *self._rows()]), self._verdict])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        table = html_table([_HEADING, *self._rows()])
        return f"<p>{escape(self._title)}</p>{table}<p>{escape(self._verdict)}</p>"


_HEADING = ("", "mean", "sd", "min", "max")


def bars(values: I64, counts: I64) -> str:
    """A small histogram as SVG: a bar per value, or per several where there are many."""
    least, span = int(values[0]), int(values[-1] - values[0]) + 1
    each = -(-span // _MOST_BARS)
    heights = np.bincount((values - least) // each, weights=counts).astype(np.int64)
    scaled = np.maximum(np.round(_HEIGHT * heights / heights.max()), heights > 0).astype(np.int64)
    drawn = "".join(
        f'<rect x="{place * _WIDTH}" y="{_HEIGHT - size}" width="{_WIDTH - 2}" height="{size}" '
        f'fill="currentColor" opacity="0.6"><title>{_slots(least + place * each, each)}: {runs:,} '
        f"{'run' if runs == 1 else 'runs'}</title></rect>"
        for place, (size, runs) in enumerate(zip(scaled.tolist(), heights.tolist(), strict=True))
        if size
    )
    what = f"Histogram of slots, from {least:,} to {values[-1]:,}"
    what += f", {each:,} per bar" if each > 1 else ""
    return (
        f'<svg width="{len(heights) * _WIDTH}" height="{_HEIGHT}" role="img" aria-label="{what}">'
        f"{drawn}</svg><p>{what}</p>"
    )


def _slots(first: int, each: int) -> str:
    return f"{first:,} slots" if each == 1 else f"{first:,} to {first + each - 1:,} slots"


_HEIGHT, _WIDTH, _MOST_BARS = 80, 14, 40
"""Pixels of the histogram and of a bar, and how many bars there may be."""
