"""The figure of tails: how likely a run is to take at least this many slots or steps."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from popsnet.base.errors import InputError
from popsnet.base.terminal import escape_controls
from popsnet.plots.style import GREY, LOOKS, Look, row_of_axes, styled, with_legend
from popsnet.programs.router import short_name
from popsnet.runs.distribution import RunsDistribution
from popsnet.runs.expected_tails import Measure

_LESS = 0.3
"""The axis of probabilities ends this much below the smallest that a run shows."""


@styled()
def draw_tails(
    found: RunsDistribution | Sequence[RunsDistribution], measure: Measure = "slots"
) -> Figure:
    """Draw P(at least k) on a logarithmic axis, with intervals, for one or more distributions.

    A marker is the share of runs, its bar the interval. A triangle is the upper end of the interval
    of a number that no run took. Lines are the exact probabilities (solid), the fluid limit (dots)
    and the bound of the paper (dashes), as far as they are known.

    Parameters
    ----------
    found : RunsDistribution or sequence of RunsDistribution
        The outcomes of :func:`popsnet.distribution`, for example of several networks.
    measure : {"slots", "steps"}
        What is counted.

    Returns
    -------
    Figure
        The figure.

    Raises
    ------
    InputError
        If there is nothing to draw, or the measure is not known.

    Examples
    --------
    >>> import popsnet
    >>> from popsnet.plots import draw_tails
    >>> draw_tails(popsnet.distribution(2, 2, runs=1000), "steps").axes[0].get_xlabel()
    'steps, k'
    """
    several = [found] if isinstance(found, RunsDistribution) else list(found)
    if not several:
        raise InputError("There is no distribution to draw; give at least one.")
    figure, (axes,) = row_of_axes(1, 4.2)
    axes.set(yscale="log", xlabel=f"{measure}, k", ylabel=f"probability of at least k {measure}")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    for distribution, look in zip(several, cycle(LOOKS), strict=False):
        _draw(axes, distribution, measure, look)
    least = min(1 / distribution.runs for distribution in several)
    axes.set_ylim(_LESS * least, 2)
    return with_legend(figure, columns=2)


def _draw(axes: Axes, distribution: RunsDistribution, measure: Measure, look: Look) -> None:
    experiment, rows = distribution.experiment, distribution.tail(measure)
    name = short_name(experiment.router, experiment.variant, experiment.network)
    label = escape_controls(f"{name}, {experiment.network}, {distribution.runs:,} runs")
    points = [(row.at_least, row.probability, row.low, row.high) for row in rows if row.reached]
    at, shares, below, above = np.array(points).reshape(-1, 4).T
    reach, dots = np.maximum([shares - below, above - shares], 0), look.marks(3.5, linewidth=0.8)
    axes.errorbar(at, shares, reach, label=label, capsize=2, **dots)
    if none := [(row.at_least, row.high) for row in rows if not row.reached]:
        looks, label = look.marks(4, marker="v", fillstyle="none"), "no run: upper end of interval"
        axes.plot(*np.array(none).T, **looks, label=label)
    expected, few = distribution.expected, 0.1 * _LESS / distribution.runs
    for name, tail, line, colour in (
        ("exact", expected.exact_tail, "-", look.colour),
        ("fluid limit", expected.fluid_tail, ":", look.colour),
        ("bound of the paper", expected.bounded_tail, "--", GREY),
    ):
        tails = ((row.at_least, tail(measure, row.at_least)) for row in rows)
        if known := [(k, value) for k, value in tails if value is not None and value > few]:
            looks = {"color": colour, "linestyle": line, "linewidth": 0.9}
            axes.plot(*np.array(known).T, **looks, label=f"{name}, {experiment.network}")
