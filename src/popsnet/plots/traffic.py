"""Delay against load: the curves of several schedulers side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from popsnet.base.errors import InputError
from popsnet.base.terminal import escape_controls
from popsnet.hardware import Timing
from popsnet.plots import style
from popsnet.runs.delays import point_times
from popsnet.runs.traffic_result import TrafficResult

_MOST_PANELS, _COLUMNS = 6, 3
"""The panels of a figure, and of a row of it."""


@style.styled()
def draw_load_curves(
    results: Iterable[TrafficResult] | Mapping[str, Sequence[TrafficResult]],
    timing: Timing | None = None,
) -> Figure:
    """Draw mean delays with 95 % intervals against the load, a line per scheduler.

    There is a panel for each shape of network and each kind of arrivals. Above the mean a thin line
    ends at the 99th percentile. A vertical line, dashed in the colour of the scheduler, marks the
    smallest load that was judged unstable, and hollow markers are undecided points. A grey line
    marks the largest load for any scheduler, if all points of a panel have one. Axes are
    logarithmic from a factor of 10 between the values on.

    Parameters
    ----------
    results : iterable of TrafficResult, or mapping of names to points
        The points, a line per scheduler, or the points of each line by its name.
    timing : Timing, optional
        The length of a slot, to draw delays in nanoseconds, propagation included.

    Returns
    -------
    matplotlib.figure.Figure
        The figure. ``savefig`` writes it.

    Raises
    ------
    InputError
        If every point is unstable, or there are too many schedulers or panels.

    Examples
    --------
    >>> import popsnet
    >>> points = [popsnet.simulate(4, 4, scheduler="tdm", load=load) for load in (0.1, 0.5)]
    >>> figure = popsnet.plots.draw_load_curves(points)
    >>> figure.axes[0].get_ylabel()
    'delay in slots: mean, 95 % interval; p99'
    """
    lines = _lines_of(results)
    points = [point for line in lines.values() for point in line]
    if not any(map(_is_drawn, points)):
        text = "Every point is unstable, and none has a delay to draw; give smaller loads."
        raise InputError(text)
    if len(lines) > len(style.LOOKS) + 1:
        raise InputError(
            f"The figure would have {len(lines)} lines, and {len(style.LOOKS) + 1} can be told "
            "apart. Give fewer schedulers, or choose points."
        )
    panels = _panels_of(lines)
    if len(panels) > _MOST_PANELS:
        raise InputError(
            f"The figure would have {len(panels)} panels, one per network and arrivals, and "
            f"{_MOST_PANELS} can be read. Choose some with d = D, g = G or arrivals = TEXT.",
            others=("d", "g", "arrivals"),
        )
    rows = -(-len(panels) // _COLUMNS)
    figure = Figure(figsize=(style.WIDTH, 0.6 + 2.8 * rows + 0.17 * (len(lines) // 3)))
    grid = figure.subplots(rows, min(len(panels), _COLUMNS), sharey=True, squeeze=False)
    looks = (*style.LOOKS, style.Look(style.GREY, "*", (0, (4, 1, 1, 1))))
    look_of = dict(zip(lines, looks, strict=False))
    for axes in grid.flat[len(panels) :]:
        axes.remove()
    for axes, (title, panel) in zip(grid.flat, panels.items(), strict=False):
        axes.set(title=escape_controls(title), xlabel="load: packets per processor and slot")
        for name, line in panel.items():
            _draw(axes, name, line, look_of[name], timing)
        drawn = [point for line in panel.values() for point in line]
        if drawn[0].bound is not None and len({point.bound for point in drawn}) == 1:
            grey: dict[str, Any] = {"color": style.GREY, "linewidth": 1.2, "alpha": 0.7}
            axes.axvline(drawn[0].bound, **grey, label="any scheduler: at most")
        axes.tick_params(labelleft=True)  # each panel can be read alone
    _explain_lines(grid[0, 0], points)
    _set_scales(figure.axes, points, timing)
    return style.with_legend(figure, 3)


def _panels_of(
    lines: Mapping[str, Sequence[TrafficResult]],
) -> dict[str, dict[str, list[TrafficResult]]]:
    """Return the lines of each panel by its title, the smallest networks first."""
    panels: dict[Any, dict[str, list[TrafficResult]]] = {}
    for name, line in lines.items():
        for point in line:
            key = point.network.n, point.network.d, point.arrivals
            panels.setdefault(key, {}).setdefault(name, []).append(point)
    titled = {}
    for (n, d, arrivals), panel in sorted(panels.items()):
        shapes = {str(point.network) for line in panel.values() for point in line}
        shape = shapes.pop() if len(shapes) == 1 else f"POPS({d}, {n // d})"
        titled[f"{shape}, {arrivals}"] = panel
    return titled


def _lines_of(
    results: Iterable[TrafficResult] | Mapping[str, Sequence[TrafficResult]],
) -> dict[str, list[TrafficResult]]:
    """Return the points of each line by its name, by load."""
    lines: dict[str, list[TrafficResult]] = {}
    if not isinstance(results, Mapping):
        for point in results:
            lines.setdefault(point.label, []).append(point)
        results = lines
    return {name: sorted(line, key=lambda point: point.load) for name, line in results.items()}


def _is_drawn(point: TrafficResult) -> bool:
    return point.delay.mean is not None and point.verdict != "unstable"


def _shown(point: TrafficResult, timing: Timing | None) -> tuple[float, float, float | None]:
    """Return the mean delay, half its interval, and the 99th percentile, in the axis's unit."""
    if timing is None:
        return point.delay.mean or 0.0, point.delay.half_width or 0.0, point.delay.p99
    times = point_times(point, timing)
    low, high = times["delay_low_ns"] or 0.0, times["delay_high_ns"] or 0.0
    return times["delay_mean_ns"] or 0.0, (high - low) / 2, times["delay_p99_ns"]


def _draw(
    axes: Axes, label: str, line: list[TrafficResult], look: style.Look, timing: Timing | None
) -> None:
    drawn = [(point, *_shown(point, timing)) for point in line if _is_drawn(point)]
    points = [(point.load, mean, reach) for point, mean, reach, _ in drawn]
    looks = look.marked(4, linewidth=1.1, **style.BARS)
    axes.errorbar(*np.array(points).reshape(-1, 3).T, label=escape_controls(label), **looks)
    if ends := [(point.load, p99) for point, _, _, p99 in drawn if p99 is not None]:
        axes.plot(*zip(*ends, strict=True), color=look.colour, linewidth=0.6, alpha=0.6)
    undecided = [(point.load, mean) for point, mean, *_ in drawn if point.verdict == "undecided"]
    hollow = look.marks(4, markerfacecolor="white", zorder=3)
    axes.plot(*np.array(undecided).reshape(-1, 2).T, **hollow)
    if unstable := [point.load for point in line if point.verdict == "unstable"]:
        axes.axvline(min(unstable), color=look.colour, linewidth=0.8, linestyle=(0, (2, 2)))


def _explain_lines(axes: Axes, points: list[TrafficResult]) -> None:
    """Add what thin and dotted lines and hollow markers mean to the legend."""
    axes.plot([], [], color=style.GREY, linewidth=0.6, alpha=0.6, label="thin: p99")
    if any(point.verdict == "undecided" for point in points):
        looks = style.Look(style.GREY, "o", "-").marks(4, markerfacecolor="white")
        axes.plot([], [], label="hollow: undecided", **looks)
    if any(point.verdict == "unstable" for point in points):
        axes.plot([], [], color=style.GREY, linewidth=0.8, linestyle=(0, (2, 2)), label="unstable")


def _set_scales(row: list[Axes], points: list[TrafficResult], timing: Timing | None) -> None:
    """Make axes of values that differ much logarithmic."""
    row[0].set_ylabel(f"delay in {'ns' if timing else 'slots'}: mean, 95 % interval; p99")
    delays = [_shown(point, timing) for point in points if _is_drawn(point)]
    least, most = min(mean for mean, *_ in delays), max(p99 or mean for mean, _, p99 in delays)
    loads = [point.load for point in points]
    for axes in row:
        if most >= style.WIDE_RANGE * least:
            style.log10_axis(axes, "y")
        else:
            axes.set_ylim(bottom=0)
        if max(loads) >= style.WIDE_RANGE * min(loads):
            style.log10_axis(axes, "x")
