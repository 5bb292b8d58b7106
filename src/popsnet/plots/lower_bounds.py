"""What adversaries reach: congestion, growth of the packets in reach, and the separation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator
from matplotlib.transforms import ScaledTranslation

from popsnet.plots.style import GREY, LOOKS, WIDTH, settled, styled

__all__ = ["Line", "draw_congestion", "draw_growth", "draw_separation"]

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
        others = (self.y, self.error or self.x, self.at_least or self.x)
        if any(len(other) != len(self.x) for other in others):
            raise ValueError(f"{self.label}: x, y, error and at_least are not of one length.")


@styled()
def draw_congestion(worst: Sequence[Line], average: Sequence[Line]) -> Figure:
    """Congestion against g: of the permutations built, and of random ones."""
    figure = Figure(figsize=(WIDTH, 3.3))
    left, right = figure.subplots(1, 2)
    left.set_title("the permutation that was built")
    left.set_yscale("log", base=2)
    left.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    right.set_title("random permutations, mean")
    formulas = sum(line.look is None for line in worst)
    for axes, lines, before in ((left, worst, 0), (right, average, formulas)):
        _plot(axes, lines, before)
        _over_g(axes, lines)
    right.set_ylim(bottom=0)
    left.set_ylabel("congestion")
    _legend(figure)
    return settled(figure)


@styled()
def draw_growth(title: str, lines: Sequence[Line], n: int) -> Figure:
    """Sizes of the sets P(i, t) against t, with 2^t and n."""
    figure = Figure(figsize=(WIDTH * 0.7, 3.2))
    axes = figure.subplots()
    axes.set_title(title)
    axes.set_yscale("log", base=2)
    axes.set_ylim(0.9, 1.6 * n)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.axhline(n, color=GREY, linewidth=0.7)
    axes.annotate(f"n = {n}", (1, n), xycoords=("axes fraction", "data"), ha="right", va="bottom")
    _plot(axes, lines)
    axes.set_xlabel("slot t")
    axes.set_ylabel("packets that a processor can hold")
    _legend(figure)
    return settled(figure)


@styled()
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
    figure = Figure(figsize=(WIDTH, 3.3))
    row = figure.subplots(1, len(panels), squeeze=False)[0]
    for axes, (title, lines) in zip(row, panels.items(), strict=True):
        axes.set_title(title)
        _plot(axes, lines)
        _over_g(axes, lines)
        axes.set_ylim(bottom=0)
    row[0].set_ylabel("slots")
    _legend(figure)
    return settled(figure)


_FORMULAS = ((6, 2), (1.5, 1.5), (6, 1.5, 1.5, 1.5))
"""Dashes of formulas, in turns over all panels."""


def _plot(axes: Axes, lines: Sequence[Line], formulas: int = 0) -> None:
    """Draw the lines; so many formulas have been drawn before, in other panels."""
    for line in lines:
        if line.look is None:
            dashes = _FORMULAS[formulas % len(_FORMULAS)]
            axes.plot(line.x, line.y, color=GREY, linewidth=0.9, dashes=dashes, label=line.label)
            formulas += 1
            continue
        look = LOOKS[line.look]
        axes.errorbar(
            line.x, line.y, yerr=line.error, label=line.label, color=look.colour,
            marker=look.marker, markersize=3.5, linestyle=look.line, linewidth=1.1, capsize=2,
        )  # fmt: skip
        cut = [at for at, is_cut in enumerate(line.at_least or ()) if is_cut]
        if cut:
            lift = ScaledTranslation(0, 6.5 / 72, axes.figure.dpi_scale_trans)
            axes.plot(
                [line.x[at] for at in cut], [line.y[at] for at in cut], linestyle="none",
                marker=r"$\geq$", markersize=6, markeredgewidth=0, color=GREY, clip_on=False,
                transform=axes.transData + lift, label="at least: no more was tried",
            )  # fmt: skip


def _over_g(axes: Axes, lines: Sequence[Line]) -> None:
    sizes = sorted({g for line in lines for g in line.x})
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_locator(FixedLocator(sizes))
    axes.xaxis.set_major_formatter(lambda g, _: f"{g:g}")
    axes.minorticks_off()
    axes.set_xlabel("number of groups g = d")


def _legend(figure: Figure) -> None:
    """One legend below all panels, each label once."""
    found: dict[str, Artist] = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    figure.legend(list(found.values()), list(found), loc="outside lower center", ncols=3)
