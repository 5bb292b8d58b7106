"""The figure of what faults cost: lost packets and extra slots against dead parts."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from popsnet.base.errors import wrong
from popsnet.base.terminal import escape_controls
from popsnet.plots.style import LOOKS, WIDTH, Look, plain_number, styled, with_legend
from popsnet.programs.router import short_name
from popsnet.studies.comparisons.survival import FaultRow, Survival

_SPREAD = 0.3
"""The width in which the routers of a number stand beside each other; numbers are 1 apart."""

_WIDE = 20.0
"""From this value on an axis is logarithmic."""


@styled()
def draw_survival(found: Sequence[Survival]) -> Figure:
    """Draw lost packets and extra slots against the number of dead parts, a line per router.

    There is a row of two panels per network. Left: the mean number of packets per run that were
    lost, or held at the end although they had a path; a router with open markers had runs that
    were capped. Right: the mean of the slots more than in the same run without faults, with 95 %
    intervals. The axis of the dead parts has the given numbers at equal distances, and routers
    stand beside each other at each of them, so that equal values can be seen. An axis up to more
    than 20 is linear up to 1 and logarithmic above, and says so.

    Parameters
    ----------
    found : sequence of Survival
        The outcomes of :func:`popsnet.survival`, one per network.

    Returns
    -------
    Figure
        The figure.

    Examples
    --------
    >>> import popsnet
    >>> from popsnet.plots import draw_survival
    >>> found = popsnet.survival(4, 4, routers=["direct", "relay:F"], numbers=[0, 1], runs=5)
    >>> draw_survival([found]).axes[0].get_title()
    'POPS(4, 4), 5 runs per point'
    """
    if not found:
        raise wrong("found", "[]")("there is nothing to draw; give at least one outcome.")
    every = dict.fromkeys(_label(study, name) for study in found for name in study.routers)
    looks = {label: _look(number) for number, label in enumerate(every)}
    figure = Figure(figsize=(WIDTH, 0.5 + 2.5 * len(found) + 0.17 * -(-len(looks) // 4)))
    rows = figure.subplots(len(found), 2, squeeze=False)
    for study, (lost, extra) in zip(found, rows, strict=True):
        lost.set_title(f"{study.network}, {study.runs:,} runs per point")
        lost.set_ylabel("packets lost or held per run")
        extra.set_ylabel("extra slots per run")
        numbers = sorted({row.dead for row in study.rows})
        for number, name in enumerate(study.routers):
            label = _label(study, name)
            aside = _SPREAD * ((number + 0.5) / len(study.routers) - 0.5)
            places = [numbers.index(row.dead) + aside for row in study.of(*name)]
            _draw((lost, extra), study.of(*name), places, looks[label], label)
        for axes in (lost, extra):
            axes.set_xticks(range(len(numbers)), list(map(str, numbers)))
            axes.set_xlabel(f"dead {study.kind}")
            _scale(axes)
    return with_legend(figure, 4)


def _label(study: Survival, router: tuple[str, str]) -> str:
    return escape_controls(short_name(*router, study.network))


def _draw(
    axes: Sequence[Axes], rows: Sequence[FaultRow], places: Sequence[float], look: Look, label: str
) -> None:
    (lost, extra), options = axes, look.marked(4, linewidth=1)
    if any(row.capped for row in rows):
        options["markerfacecolor"] = "white"
    lost.plot(places, [(row.lost + row.held) / row.runs for row in rows], label=label, **options)
    points = [(place, row) for place, row in zip(places, rows, strict=True) if row.pairs]
    x, y = [place for place, _ in points], [row.extra_slots or 0.0 for _, row in points]
    reach = [1.96 * (row.extra_error or 0.0) for _, row in points]
    extra.errorbar(x, y, reach, capsize=2, **options)


def _scale(axes: Axes) -> None:
    """Make an axis logarithmic above 1, if values differ much, and let it begin near 0."""
    high = max(axes.get_ylim()[1], 1.0)
    if high > _WIDE:
        axes.set_yscale("symlog", linthresh=1)
        axes.set_ylabel(f"{axes.get_ylabel()} (linear up to 1, then logarithmic)")
        axes.set_yticks([0.0, *(10.0**power for power in range(len(str(int(high)))))])
    axes.yaxis.set_major_formatter(plain_number)
    axes.set_ylim(-0.05 * high if high <= _WIDE else -0.3, 1.15 * high)


def _look(number: int) -> Look:
    """Return a look that no earlier number has, as long as there are any."""
    first, second = LOOKS[number % len(LOOKS)], LOOKS[(number + number // len(LOOKS)) % len(LOOKS)]
    return Look(first.colour, second.marker, second.line)
