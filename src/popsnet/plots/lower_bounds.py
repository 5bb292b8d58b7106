"""What adversaries reach: congestion, growth of the packets in reach, and the separation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator
from matplotlib.transforms import ScaledTranslation

from popsnet.plots import style

_RANDOMIZED = 6
"""The look of the randomized algorithm."""


@dataclass(frozen=True, slots=True)
class Line:
    """Values of one thing."""

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    error: tuple[float, ...] | None = None
    look: int | None = None
    """Which of the style's looks it has; None for a formula: a thin grey line."""
    at_least: tuple[bool, ...] | None = None
    """Which values are known to be at least so large, no more: a search or a run was cut there."""

    def __post_init__(self) -> None:
        columns = {"x": self.x, "y": self.y, "error": self.error, "at_least": self.at_least}
        style.require_equal_lengths(self.label, **columns)


@style.styled()
def draw_congestion(worst: Sequence[Line], average: Sequence[Line]) -> Figure:
    """Congestion against g: of the permutations built, and of random ones."""
    figure, (left, right) = style.row_of_axes(2, 3.3)
    left.set_yscale("log", base=2)
    left.yaxis.set_major_formatter(style.plain_number)
    formulas = sum(line.look is None for line in worst)
    _plot_over_g(left, "the permutation that was built", worst)
    _plot_over_g(right, "random permutations, mean", average, formulas)
    right.set_ylim(bottom=0)
    left.set_ylabel("congestion")
    style.add_legend(figure)
    return style.settled(figure)


@style.styled()
def draw_growth(title: str, lines: Sequence[Line], n: int) -> Figure:
    """Sizes of the sets P(i, t) against t, with 2^t and n."""
    figure, (axes,) = style.row_of_axes(1, 3.2, style.WIDTH * 0.7)
    axes.set_title(title)
    axes.set_yscale("log", base=2)
    axes.set_ylim(0.9, 1.6 * n)
    axes.yaxis.set_major_formatter(style.plain_number)
    axes.axhline(n, color=style.GREY, linewidth=0.7)
    axes.annotate(f"n = {n}", (1, n), xycoords=("axes fraction", "data"), ha="right", va="bottom")
    _plot(axes, lines)
    axes.set_xlabel("slot t")
    axes.set_ylabel("packets that a processor can hold")
    style.add_legend(figure)
    return style.settled(figure)


@style.styled()
def draw_separation(
    sizes: Sequence[int],
    reached: Mapping[str, Sequence[int]],
    promised: Sequence[int],
    needed: Sequence[float],
    error: Sequence[float] | None = None,
    *,
    limit: int,
    capped: Sequence[bool],
) -> Figure:
    """Slots against g: what adversaries reached, and what the randomized algorithm needs.

    ``reached`` is by algorithm, and at least so much where it is the ``limit`` of the search;
    ``needed`` is at least so much where runs were ``capped``. All are on the left; on the right
    only the algorithm that looks random, which is delayed least.
    """
    x = tuple(sizes)
    delays = {
        name: Line(
            f"{name}: delayed by", x, tuple(slots), look=look,
            at_least=tuple(delay >= limit for delay in slots),
        )
        for look, (name, slots) in enumerate(reached.items())
    }  # fmt: skip
    others = [
        Line("the bound for every deterministic algorithm", x, tuple(promised)),
        Line(
            "randomized: all arrived, mean", x, tuple(needed), tuple(error) if error else None,
            look=_RANDOMIZED, at_least=tuple(capped),
        ),
    ]  # fmt: skip
    panels = {"five families": [*delays.values(), *others]}
    if "hashed" in delays:
        panels["hashed, which looks random"] = [delays["hashed"], *others]
    figure, row = style.row_of_axes(len(panels), 3.3)
    for axes, (title, lines) in zip(row, panels.items(), strict=True):
        _plot_over_g(axes, title, lines)
        axes.set_ylim(bottom=0)
    row[0].set_ylabel("slots")
    style.add_legend(figure)
    return style.settled(figure)


_FORMULAS = ((6, 2), (1.5, 1.5), (6, 1.5, 1.5, 1.5))
"""Dashes of formulas, in turns over all panels."""


def _plot(axes: Axes, lines: Sequence[Line], formulas: int = 0) -> None:
    """Draw the lines; so many formulas have been drawn before, in other panels."""
    for line in lines:
        if line.look is None:
            dashes = _FORMULAS[formulas % len(_FORMULAS)]
            axes.plot(
                line.x, line.y, color=style.GREY, linewidth=0.9, dashes=dashes, label=line.label
            )
            formulas += 1
            continue
        look = style.LOOKS[line.look]
        axes.errorbar(
            line.x, line.y, yerr=line.error, label=line.label, color=look.colour,
            marker=look.marker, markersize=3.5, linestyle=look.line, linewidth=1.1, capsize=2,
        )  # fmt: skip
        cut = list(compress(zip(line.x, line.y, strict=True), line.at_least or ()))
        if cut:
            lift = ScaledTranslation(0, 6.5 / 72, axes.figure.dpi_scale_trans)
            axes.plot(
                *zip(*cut, strict=True), linestyle="none",
                marker=r"$\geq$", markersize=6, markeredgewidth=0, color=style.GREY, clip_on=False,
                transform=axes.transData + lift, label="at least: no more was tried",
            )  # fmt: skip


def _plot_over_g(axes: Axes, title: str, lines: Sequence[Line], formulas: int = 0) -> None:
    axes.set_title(title)
    _plot(axes, lines, formulas)
    sizes = sorted({g for line in lines for g in line.x})
    style.log2_axis(axes, "number of groups g = d", FixedLocator(sizes))
