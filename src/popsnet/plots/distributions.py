"""Exact distributions of the number of steps, beside those of runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from popsnet.plots.style import BLUE, VERMILLION, add_legend, row_of_axes, settled, styled


@dataclass(frozen=True)
class DistributionBars:
    """The probability of each number of steps, and how often runs took that many."""

    title: str
    exact: tuple[float, ...]
    """P(steps = s) for s = 0, 1, …"""
    measured: Mapping[int, int]
    what: str = "steps"

    def __post_init__(self) -> None:
        if not 0.5 < sum(self.exact) <= 1 + 1e-9 or sum(self.measured.values()) < 1:
            raise ValueError(f"{self.title}: no distribution, or no runs.")


@styled()
def draw_distributions(distributions: Sequence[DistributionBars]) -> Figure:
    """Draw a panel for each: bars for the exact one, runs with two standard errors above."""
    figure, row = row_of_axes(len(distributions), 2.7)
    for axes, one in zip(row, distributions, strict=True):
        exact, runs = np.array(one.exact), sum(one.measured.values())
        steps = np.arange(len(exact))
        seen = np.array([one.measured.get(int(s), 0) for s in steps]) / runs
        error = 2 * np.sqrt(exact * (1 - exact) / runs)
        axes.bar(steps, exact, color=BLUE, alpha=0.45, label="exact")
        axes.errorbar(
            steps, seen, yerr=error, color=VERMILLION, marker="o", markersize=2.5, capsize=2,
            elinewidth=0.8, linestyle="none", label="runs (± 2 standard errors)",
        )  # fmt: skip
        axes.set_title(f"{one.title}, {runs:,} runs")
        axes.set_xlabel(one.what)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    row[0].set_ylabel("probability")
    add_legend(figure, columns=2)
    return settled(figure)
