"""Whether a run was stable: the growth of the backlog, and the share that every flow gets."""

from __future__ import annotations

from dataclasses import dataclass
from math import log, sqrt
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from popsnet.base.report import plural
from popsnet.model.network import F64, I64
from popsnet.runs.batch_means import BATCHES, Sums, dot, grouped, inflation, lag1_correlation
from popsnet.runs.measures import ENOUGH_ARRIVALS, Window

Kind: TypeAlias = Literal["stable", "unstable", "undecided"]

LEAST_SHARE = 0.95
"""A flow, source or destination that gets less of its arrivals delivered is starved."""
LARGEST_GROWTH = 0.01
"""A backlog that takes more of the arrivals, significantly, is growing."""
CLEAR_GROWTH = 0.02
"""A run is not called stable if the 99 % interval of the growth reaches further."""
CERTAIN_GROWTH = 0.001
"""A run is not called stable if the backlog takes more of the arrivals, significantly."""
LINEAR = 0.85
"""A backlog whose later half grows less than this times the first is filling up."""
WIDEST = 0.5
"""A run is not called stable if the half-width of the interval is a larger part of the mean."""
FEWEST_PACKETS = 100
"""A run in which fewer packets arrive is not called stable."""
FEW_LEFT = 0.001
"""A run with more packets that were not delivered after the window is not called stable."""
LEVEL = 0.01
"""The significance of the growth of the backlog."""
STRONG_GROWTH = 0.05
"""A backlog that takes more of the arrivals ends the run early."""


class Verdict(NamedTuple):
    """A verdict, and its reason in a sentence."""

    kind: Kind
    reason: str


@dataclass(frozen=True, slots=True)
class Slope:
    """The slope of a line fitted to batch means.

    Parameters
    ----------
    per_slot : float
        The change of the mean per slot.
    p : float
        The probability of a slope at least as large if the true slope is 0.
    most : float
        The upper end of the slope's one-sided 99 % interval.

    Examples
    --------
    >>> from popsnet.runs.verdict import Slope
    >>> Slope(0.25, 0.001, 0.3).per_slot
    0.25
    """

    per_slot: float
    p: float
    most: float


def slope_of(series: Sums) -> Slope | None:
    """Return the slope of a series by a line through 30 batch means.

    Parameters
    ----------
    series : Sums
        The series.

    Returns
    -------
    Slope or None
        None if there are fewer than 20 batches.

    Notes
    -----
    The standard error is multiplied for the correlation of the residuals, as in
    :func:`~popsnet.runs.batch_means.batch_means`.

    Examples
    --------
    >>> import numpy as np
    >>> from popsnet.runs.batch_means import Sums
    >>> from popsnet.runs.verdict import slope_of
    >>> series = Sums()
    >>> series.add(np.arange(6000) // 2)
    >>> round(slope_of(series).per_slot, 3)
    0.5
    """
    from scipy.special import stdtr, stdtrit

    means = series.means
    if len(means) < BATCHES[-1]:
        return None
    batches = min(len(means), BATCHES[0])
    sizes = grouped(np.ones_like(means), batches)
    y = grouped(means, batches) / sizes
    middles = (np.cumsum(sizes) - sizes / 2) * series.width
    x, y = middles - middles.mean(), y - y.mean()
    square = dot(x, x)
    slope = dot(x, y) / square
    residuals, freedom = y - slope * x, len(x) - 2
    error = sqrt(dot(residuals, residuals) / freedom / square)
    error *= inflation(lag1_correlation(residuals) + 1 / len(x))
    if error == 0:
        return Slope(slope, 0.0 if slope > 0 else 1.0, slope)
    most = slope + float(stdtrit(freedom, 1 - LEVEL)) * error
    return Slope(slope, float(stdtr(freedom, -slope / error)), most)


@dataclass(slots=True)
class RunConditions:
    """What the measures of a window do not tell, and a verdict depends on.

    Parameters
    ----------
    least_slots : int
        A shorter window is too short.
    is_warm : bool
        Whether the warm-up ended before half of the slots that were left out.
    precision : float, optional
        The precision that was asked for and not reached.
    growth : str
        Why the run was ended early, if the backlog grew too fast.
    limit : str
        What else ended the run before it was complete.
    has_drained : bool
        Whether tagged packets had time to be delivered after the window.
    listed : int, optional
        The packets of the list, if the packets are a list, which ends.
    may_lose : bool
        Whether faults lose packets, which says nothing about the load.

    Examples
    --------
    >>> from popsnet.runs.verdict import RunConditions
    >>> RunConditions(least_slots=1000).is_warm
    True
    """

    least_slots: int
    is_warm: bool = True
    precision: float | None = None
    growth: str = ""
    limit: str = ""
    has_drained: bool = True
    listed: int | None = None
    may_lose: bool = False


def judge(window: Window, seen: RunConditions) -> Verdict:
    """Return the verdict on a run.

    Parameters
    ----------
    window : Window
        The measures.
    seen : RunConditions
        How the run went.

    Returns
    -------
    Verdict
        ``unstable`` if the slope of the backlog is positive at 1 % and above 1 % of the arrivals,
        if a flow, source or destination with at least 1,000 arrivals got less than 95 % of them
        delivered in each of two parts of the window, and more are missing than wait by chance in
        the longest queue of a stable network, or if more than 1 % of the packets that arrived in
        the window were not delivered after as many slots again; ``undecided`` if the run does not
        suffice to call it ``stable``.

    Notes
    -----
    Whether the packets of a flow are delivered after the window says little about the flow: one
    that gets 90 % of the service it needs delivers all packets of a window of T slots, in order, in
    the T/9 slots after it. So both parts of the window decide, and not the drain.
    """
    if seen.listed is not None:
        return _of_list(window, seen.listed)
    if reason := seen.growth or _full(window, seen):
        return Verdict("unstable", reason)
    if window.slots >= seen.least_slots and (
        reason := _growing(window, seen)
        or _starved(window)
        or _left(window, LARGEST_GROWTH, decimals=1) * seen.has_drained
    ):
        return Verdict("unstable", reason)
    if reason := _doubt(window, seen):
        return Verdict("undecided", reason)
    return Verdict("stable", _calm(window))


def _growth(window: Window) -> Slope:
    """Return the slope of the backlog as a share of the arrivals."""
    slope, tagged = slope_of(window.backlog), window.tagged
    if slope is None or not tagged:
        return Slope(0.0, 1.0, 1.0)
    unit = window.slots / tagged
    return Slope(slope.per_slot * unit, slope.p, slope.most * unit)


def _of_list(window: Window, listed: int) -> Verdict:
    """Judge a list of packets, which ends: only whether all of them were delivered."""
    gone = window.refused + window.inside  # lost packets are among these
    if window.arrived < listed:
        came = f"{window.arrived:,} of {plural(listed, 'packet')} of the list"
        return Verdict("undecided", f"Only {came} arrived in the window.")
    if not gone:
        return Verdict("stable", "All packets of the list were delivered.")
    return Verdict("undecided", f"Not delivered: {plural(gone, 'packet')} of the list.")


def _growing(window: Window, seen: RunConditions) -> str:
    growth = _growth(window)
    if growth.per_slot <= LARGEST_GROWTH or growth.p >= LEVEL:
        return ""
    if not seen.is_warm and growth.per_slot <= STRONG_GROWTH and _flattens(window.backlog):
        return ""
    return f"The backlog grew by {growth.per_slot:.1%} of the arrivals."


def _flattens(series: Sums) -> bool:
    """Return whether a series grows more slowly in its later half, as one that fills up does."""
    means = series.means
    half = len(means) // 2
    first, later = (np.polyfit(np.arange(half), part[:half], 1)[0] for part in
                    (means[:half], means[half:]))  # fmt: skip
    return bool(later < LINEAR * first)


def _full(window: Window, seen: RunConditions) -> str:
    """Say how many packets found no room, if buffers are finite."""
    gone = window.refused + (0 if seen.may_lose else window.lost)
    if gone <= LARGEST_GROWTH * window.offered:
        return ""
    return f"{gone / window.offered:.1%} of the packets were refused or lost."


def _starved(window: Window) -> str:
    worst = window.starved(LEAST_SHARE, lambda arrivals: _usual_queue(window, arrivals))
    if worst is None:
        return ""
    share = f"{worst.share:.1%} of the packets of {worst}"
    return f"Only {share} were delivered in the window, and too few in both parts of it."


def _behind(window: Window) -> str:
    """Name a flow that was starved in the whole window, and not in both parts of it."""
    worst = window.worst
    if worst is None or worst.share >= LEAST_SHARE:
        return ""
    if worst.arrivals - worst.delivered <= _usual_queue(window, np.array(worst.arrivals)):
        return ""
    share = f"{worst.share:.1%} of the packets of {worst}"
    return f"Only {share} were delivered in the window, but it did not fall behind steadily."


def _usual_queue(window: Window, arrivals: I64) -> F64:
    """Return how many packets of flows may be inside by chance, though nothing grows.

    The queue of a stable flow often has a tail that falls about geometrically, with the mean m by
    Little's law. Of n² flows, one with probability of about 1/100 exceeds (1 + m)·ln(100n²). Twice
    that is allowed. Some schedulers have longer tails: a flow must also be starved in both parts
    of the window, of which a queue at the end says nothing.
    """
    counts, n = window.counts, window.network.n
    delay = counts.delay / max(1, counts.delivered)
    usual: F64 = 2 * (1 + arrivals / window.slots * delay) * log(100 * n * n)
    return usual


def _left(window: Window, most: float, decimals: int) -> str:
    """Say how many packets were not delivered after the window, if they are a larger part."""
    left = window.inside - window.lost - window.lost_later
    if left <= most * window.tagged:
        return ""
    share = f"{left / window.tagged:.{decimals}%}"
    return f"{share} of the packets were not delivered after the window."


def _doubt(window: Window, seen: RunConditions) -> str:
    if seen.limit:
        return seen.limit
    if not window.offered:
        return f"No packet arrived in {window.slots:,} slots."
    if window.slots < seen.least_slots:
        least = f"this network needs {seen.least_slots:,}"
        return f"The window of {window.slots:,} slots is too short; {least}."
    if window.tagged < FEWEST_PACKETS:
        return f"The window has {plural(window.tagged, 'packet')}; {FEWEST_PACKETS} are needed."
    if seen.precision is not None:
        return _imprecise(window, seen.precision)
    growth = _growth(window)
    if growth.per_slot > CERTAIN_GROWTH and growth.p < LEVEL:
        return f"The backlog grew by {growth.per_slot:.1%} of the arrivals."
    if growth.most > CLEAR_GROWTH:
        backlog = "The backlog" if seen.is_warm else "The warm-up seems too short, and the backlog"
        return f"{backlog} may have grown by up to {growth.most:.1%} of the arrivals."
    if reason := _behind(window):
        return reason
    delay = window.delays()
    if delay is None or delay.half_width > WIDEST * delay.mean:
        return "The interval of the mean delay is wider than half of the mean."
    return _left(window, FEW_LEFT, decimals=2)


def _imprecise(window: Window, precision: float) -> str:
    delay, after = window.delays(), f"After {window.slots:,} slots the interval"
    if delay is None or delay.half_width > precision * delay.mean:
        return f"{after} of the mean delay is wider than ±{precision:.1%}."
    return (
        f"{after} (±{delay.half_width / delay.mean:.1%}) cannot be trusted yet: delays of "
        "neighbouring batches are correlated, or it became narrow only at the last check."
    )


def _calm(window: Window) -> str:
    growth = round(_growth(window).per_slot, 3) + 0.0  # not -0.0
    backlog = f"The backlog changed by {growth:+.1%} of the arrivals"
    worst = window.worst
    if worst is None:
        return f"{backlog}; no flow had {ENOUGH_ARRIVALS:,} arrivals."
    return f"{backlog}, and {worst} got the smallest share, {worst.share:.1%}."


def strong_growth(backlog: Sums, arrivals: Sums) -> str:
    """Return why a run is hopeless after these slots from its start, or an empty text.

    Parameters
    ----------
    backlog, arrivals : Sums
        Packets inside after each slot, and packets that arrived in each.

    Returns
    -------
    str
        A sentence, if the backlog grew in the later half by more than 5 % of its arrivals, by
        more than four standard errors of their number, and at least 80 % as fast as on average.

    Notes
    -----
    The backlog of a critical queue grows like √t, only 59 % as fast in the later half as on
    average, and by chance: the number of arrivals in the half has the standard error √(cA), where
    c is their index of dispersion in batches.

    Examples
    --------
    >>> import numpy as np
    >>> from popsnet.runs.batch_means import Sums
    >>> from popsnet.runs.verdict import strong_growth
    >>> backlog, arrivals = Sums(), Sums()
    >>> backlog.add(np.arange(4000))
    >>> arrivals.add(np.full(4000, 10))
    >>> strong_growth(backlog, arrivals)
    'The backlog grew by 10.0% of the arrivals in the later half of 4,000 slots.'
    """
    inside, come = backlog.means, arrivals.means * arrivals.width
    half = len(inside) // 2
    if half < 2:
        return ""
    growth, arrived = inside[-1] - inside[-1 - half], float(come[-half:].sum())
    sums = grouped(come, min(len(come), 100))
    mean = float(sums.mean())
    dispersion = max(1.0, float(sums.var(ddof=1)) / mean) if mean else 1.0
    noise = 4 * sqrt(dispersion * arrived)
    steady = 0.8 * half * inside[-1] / len(inside)
    if growth <= max(STRONG_GROWTH * arrived, noise, steady):
        return ""
    return (
        f"The backlog grew by {growth / arrived:.1%} of the arrivals in the later half of "
        f"{backlog.slots:,} slots."
    )
