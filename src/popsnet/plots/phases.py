"""The figure of a run beside the paper's proof: degrees, phases and lucky steps."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from popsnet.base.errors import InputError
from popsnet.plots import style
from popsnet.runs.phase_analysis import StepAnalysis
from popsnet.theory.conflict_graph import Phase, planned_degree
from popsnet.theory.fluid import loads

_NAMES = dict(zip(Phase, ("thinning", "1", "2", "3"), strict=True))
_SHADES = dict(zip(Phase, (0.30, 0.20, 0.12, 0.04), strict=True))
_BINS = 16
_LOWEST = 0.6
"""The height at which degree 0 is drawn, as a logarithmic axis has no 0."""


@style.styled()
def draw_phases(strides: Sequence[StepAnalysis]) -> Figure:
    """Draw the degrees before each step, and whether each step was lucky.

    On the left each step has a histogram of the degrees of all 2g groups. The levels are those at
    which the proof changes its phase, and the dotted curve is the mean by the fluid limit. On the
    right is the share of its packets that the slowest of the large groups delivered in a step, and
    the share that makes a step lucky in the proof. Large groups are those with more than g^(5/6)
    packets or, while packets are thinned, more than planned for the next step.

    Parameters
    ----------
    strides : sequence of StepAnalysis
        The steps of a run of mei-rizzi.

    Returns
    -------
    Figure
        The figure.

    Examples
    --------
    >>> import numpy as np
    >>> from popsnet import Coins, Network
    >>> from popsnet.plots import draw_phases
    >>> from popsnet.runs.phase_analysis import analyse_phases
    >>> steps = analyse_phases(Network(8, 8), np.arange(64)[::-1], Coins(0))
    >>> len(draw_phases(list(steps)).axes)
    2
    """
    if not strides:
        raise InputError("There are no analysed steps to draw; give phases=True to predict.")
    figure, (left, right) = style.row_of_axes(2, 3.3)
    _draw_degrees(left, strides)
    _draw_luck(right, strides)
    skipped = not any(stride.phase is Phase.SQUARING for stride in strides)
    absent = " (no step is in phase 2)" * skipped
    for axes in (left, right):
        _shade_phases(axes, strides)
        label = f"step; shaded: the phases of the proof{absent}"
        axes.set(xlabel=label, xlim=(0.5, len(strides) + 0.5))
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    return style.with_legend(figure)


def _draw_degrees(axes: Axes, strides: Sequence[StepAnalysis]) -> None:
    network, g = strides[0].graph.network, strides[0].graph.network.g
    steps = [stride.step + 1 for stride in strides]
    for stride in strides:
        _draw_histogram(axes, stride)
    largest = [stride.graph.max_degree for stride in strides]
    looks: dict[str, Any] = {"marker": "_", "linewidth": 0.8, "label": "largest degree"}
    axes.plot(steps, largest, color=style.VERMILION, **looks)
    fluid = (network.d, *(g * load for load in islice(loads(network.d / g), len(steps) - 1)))
    shown = [degree for degree in fluid if degree >= _LOWEST]
    looks = {"linestyle": (0, (1, 1.2)), "label": "mean degree in the fluid limit", "zorder": 3}
    axes.plot(steps[: len(shown)], shown, color=style.BLACK, linewidth=0.9, **looks)
    for level, name in ((g, "g"), (g / 3, "g/3"), (g ** (5 / 6), "g^(5/6)")):
        axes.axhline(level, color=style.GREY, linewidth=0.7, linestyle=(0, (4, 2)))
        offset, va = (-2, "top") if level == min(g / 3, g ** (5 / 6)) else (2, "bottom")
        looks = {"fontsize": 7, "ha": "right", "va": va, "color": style.GREY}
        style.beside(axes, name, (len(strides) + 0.45, level), (0, offset), **looks)
    if network.d > network.g:
        planned = [planned_degree(network, step - 1) for step in steps]
        falling = planned.index(g) + 1 if g in planned else len(planned)
        looks = {"linewidth": 0.9, "label": "planned degree (section 3.2)"}
        axes.plot(steps[:falling], planned[:falling], color=style.GREEN, **looks)
    axes.set(yscale="log", ylim=(_LOWEST, 1.8 * network.d), ylabel="packets pending at a group")
    axes.set_title(f"{network}: the conflict graph before each step")


def _draw_histogram(axes: Axes, stride: StepAnalysis) -> None:
    """Draw the degrees of all groups at both ends; the width is the number of groups."""
    degrees = stride.graph.degrees
    low, high = int(degrees.min()), int(degrees.max())
    counts, edges = np.histogram(degrees, min(high - low + 1, _BINS), (low - 0.5, high + 0.5))
    heights = np.repeat(np.maximum(edges, _LOWEST), 2)[1:-1]
    widths = np.repeat(0.42 * counts / counts.max(), 2)
    step = stride.step + 1
    looks: dict[str, Any] = {"color": style.BLUE, "alpha": 0.6, "linewidth": 0.3, "zorder": 2}
    looks["label"] = "histogram of the degrees of all groups" if step == 1 else None
    axes.fill_betweenx(heights, step - widths, step + widths, **looks)


def _draw_luck(axes: Axes, strides: Sequence[StepAnalysis]) -> None:
    asked = [stride for stride in strides if stride.wanted is not None and stride.least is not None]
    rows = [(stride.step + 1, stride.wanted, stride.least) for stride in asked]
    steps, wanted, least = np.array(rows, dtype=float).reshape(-1, 3).T
    lucky = least >= wanted
    label = "share that makes a step lucky"
    axes.plot(steps, wanted, color=style.GREY, drawstyle="steps-mid", label=label)
    for which, colour, marker, name in (
        (lucky, style.BLUE, "o", "lucky step: every large group delivers enough"),
        (~lucky, style.VERMILION, "X", "not lucky: a large group delivers less"),
    ):
        if which.any():
            looks = style.Look(colour, marker, "-").marks(5, label=name)
            axes.plot(steps[which], least[which], **looks)
    title = "the slowest of the large groups"
    axes.set(ylim=(0, 1), ylabel="share of its packets delivered", title=title)


def _shade_phases(axes: Axes, strides: Sequence[StepAnalysis]) -> None:
    """Shade each phase in its grey, with its name at the top."""
    for phase in Phase:
        steps = [stride.step + 1 for stride in strides if stride.phase is phase]
        if steps:
            first, last = min(steps) - 0.5, max(steps) + 0.5
            looks: dict[str, Any] = {"alpha": 2 * _SHADES[phase], "linewidth": 0, "zorder": 0}
            axes.axvspan(first, last, color=style.PALE, **looks)
            options = {"transform": axes.get_xaxis_transform(), "va": "top", "color": style.GREY}
            style.centred(axes, (first + last) / 2, 0.985, _NAMES[phase], 6.5, **options)
