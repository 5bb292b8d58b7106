"""Delay against load: the curves of several schedulers side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from popsnet.base.errors import InputError
from popsnet.base.terminal import escape_controls
from popsnet.hardware import Timing
from popsnet.plots import style
from popsnet.runs.delays import point_times
from popsnet.runs.traffic_result import TrafficResult

_WIDE_RANGE = 10.0
"""From this ratio of the largest to the smallest load on, the x axis is logarithmic."""


@style.styled()
def draw_load_curves(
    results: Iterable[TrafficResult] | Mapping[str, Sequence[TrafficResult]],
    timing: Timing | None = None,
) -> Figure:
    """Draw mean delays with 95 % intervals against the load, a line per scheduler.

    Above the mean a thin line ends at the 99th percentile. A vertical line, dashed in the colour of
    the scheduler, marks the smallest load that was judged unstable, and hollow markers are
    undecided points. A grey line marks the largest load for any scheduler, if all points have one.

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
        If every point is unstable, or there are more schedulers than looks.

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
    if all(point.delay.mean is None or point.verdict == "unstable" for point in points):
        text = "Every point is unstable, and none has a delay to draw; give smaller loads."
        raise InputError(text)
    if len(lines) > len(style.LOOKS) + 1:
        raise InputError(
            f"The figure would have {len(lines)} lines, and {len(style.LOOKS) + 1} can be told "
            "apart. Give fewer schedulers, or choose points."
        )
    figure, (axes,) = style.row_of_axes(1, 3.4 + 0.17 * (len(lines) // 3))
    first = points[0]
    network = first.network
    alike = all(point.network == network for point in points)
    shape = str(network) if alike else f"POPS({network.d}, {network.g})"
    axes.set_title(escape_controls(f"{shape}, {first.arrivals}"))
    looks = (*style.LOOKS, style.Look(style.GREY, "*", (0, (4, 1, 1, 1))))
    for look, (name, line) in zip(looks, lines.items(), strict=False):
        _draw(axes, name, line, look, timing)
    if first.bound is not None and all(point.bound == first.bound for point in points):
        grey: dict[str, Any] = {"color": style.GREY, "linewidth": 1.2, "alpha": 0.7}
        axes.axvline(first.bound, **grey, label="any scheduler: at most")
    _explain_lines(axes, points)
    _set_axes(axes, points, "slots" if timing is None else "ns")
    return style.with_legend(figure, 3)


def _lines_of(
    results: Iterable[TrafficResult] | Mapping[str, Sequence[TrafficResult]],
) -> dict[str, list[TrafficResult]]:
    """Return the points of each line by its name, by load."""
    lines: dict[str, list[TrafficResult]] = {}
    if isinstance(results, Mapping):
        lines = {name: list(line) for name, line in results.items()}
    else:
        for point in results:
            lines.setdefault(point.label, []).append(point)
    return {name: sorted(line, key=lambda point: point.load) for name, line in lines.items()}


class _ShownDelay(NamedTuple):
    """The delays of a point in the unit of the axis."""

    mean: float
    half_width: float
    p99: float | None


def _drawn(point: TrafficResult, timing: Timing | None) -> _ShownDelay:
    if timing is None:
        return _ShownDelay(point.delay.mean or 0.0, point.delay.half_width or 0.0, point.delay.p99)
    times = point_times(point, timing)
    low, high = times["delay_low_ns"] or 0.0, times["delay_high_ns"] or 0.0
    return _ShownDelay(times["delay_mean_ns"] or 0.0, (high - low) / 2, times["delay_p99_ns"])


def _draw(
    axes: Axes, label: str, line: list[TrafficResult], look: style.Look, timing: Timing | None
) -> None:
    delayed = [point for point in line if point.delay.mean is not None]
    stable = [point for point in delayed if point.verdict != "unstable"]
    loads = [point.load for point in stable]
    delays = [_drawn(point, timing) for point in stable]
    means = [delay.mean for delay in delays]
    reach = [delay.half_width for delay in delays]
    looks = look.marked(4, linewidth=1.1, **style.BARS)
    axes.errorbar(loads, means, reach, label=escape_controls(label), **looks)
    ends = [(x, delay.p99) for x, delay in zip(loads, delays, strict=True) if delay.p99 is not None]
    if ends:
        axes.plot(*zip(*ends, strict=True), color=look.colour, linewidth=0.6, alpha=0.6)
    undecided = [point for point in stable if point.verdict == "undecided"]
    x, y = [point.load for point in undecided], [_drawn(point, timing).mean for point in undecided]
    axes.plot(x, y, **look.marks(4, markerfacecolor="white", zorder=3))
    unstable = [point.load for point in line if point.verdict == "unstable"]
    if unstable:
        axes.axvline(min(unstable), color=look.colour, linewidth=0.8, linestyle=(0, (2, 2)))


def _explain_lines(axes: Axes, points: list[TrafficResult]) -> None:
    """Add what thin, dotted and grey lines mean to the legend."""
    axes.plot([], [], color=style.GREY, linewidth=0.6, alpha=0.6, label="thin: p99")
    if any(point.verdict == "unstable" for point in points):
        axes.plot([], [], color=style.GREY, linewidth=0.8, linestyle=(0, (2, 2)), label="unstable")


def _set_axes(axes: Axes, points: list[TrafficResult], unit: str) -> None:
    axes.set_ylabel(f"delay in {unit}: mean, 95 % interval; p99")
    axes.set_xlabel("load: packets per processor and slot")
    style.log10_axis(axes, "y")
    loads = [point.load for point in points]
    if max(loads) >= _WIDE_RANGE * min(loads):
        style.log10_axis(axes, "x")
