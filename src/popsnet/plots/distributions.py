"""Exact laws of the number of steps, and what runs came to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from popsnet.plots.style import BLUE, VERMILLION, WIDTH, settled, styled

__all__ = ["DistributionBars", "draw_laws"]


@dataclass(frozen=True)
class DistributionBars:
    """The probability of each number of steps, and how often runs took so many."""

    title: str
    exact: tuple[float, ...]
    """P(steps = s) for s = 0, 1, …"""
    measured: Mapping[int, int]
    what: str = "steps"

    def __post_init__(self) -> None:
        if not 0.5 < sum(self.exact) <= 1 + 1e-9 or sum(self.measured.values()) < 1:
            raise ValueError(f"{self.title}: no law, or no runs.")


@styled()
def draw_laws(laws: Sequence[DistributionBars]) -> Figure:
    """A panel for each: bars for the exact law, runs with two standard errors above."""
    figure = Figure(figsize=(WIDTH, 2.7))
    row = figure.subplots(1, len(laws), squeeze=False)[0]
    for axes, law in zip(row, laws, strict=True):
        chances = np.array(law.exact)
        steps, runs = np.arange(len(chances)), sum(law.measured.values())
        seen = np.array([law.measured.get(int(s), 0) for s in steps]) / runs
        error = 2 * np.sqrt(chances * (1 - chances) / runs)
        axes.bar(steps, chances, color=BLUE, alpha=0.45, label="exact")
        axes.errorbar(
            steps, seen, yerr=error, color=VERMILLION, marker="o", markersize=2.5, capsize=2,
            elinewidth=0.8, linestyle="none", label="runs (± 2 standard errors)",
        )  # fmt: skip
        axes.set_title(f"{law.title}, {runs:,} runs")
        axes.set_xlabel(law.what)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    row[0].set_ylabel("probability")
    figure.legend(*row[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return settled(figure)
