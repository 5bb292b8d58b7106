"""Figures of adversaries: congestion, growth of the sets P(i, t), and the two-hop separation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import compress
from typing import TYPE_CHECKING, Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, MaxNLocator

from popsnet.base.terminal import escape_controls
from popsnet.plots import style
from popsnet.plots.performance import CurveKind, Series
from popsnet.programs.router import short_name

if TYPE_CHECKING:
    from popsnet.studies.adversaries import CongestionStudy, RigidAttack, SeparationStudy
    from popsnet.studies.adversaries.conflict_free import ConflictFreeCheck

_RANDOMIZED = 6
"""The index of the randomized algorithm's look."""

_FORMULAS = ((6, 2), (1.5, 1.5))
"""The dashes of formulas, by their look: those of two panels with one legend differ."""

_SIZES = ("most", "mean", "least")


@style.styled()
def draw_congestion(found: CongestionStudy) -> Figure:
    """Draw the congestion of built and of random permutations against g.

    Parameters
    ----------
    found : CongestionStudy
        The outcome of :func:`popsnet.studies.adversaries.measure_congestion`.

    Returns
    -------
    Figure
        The figure: built permutations on the left, random ones on the right.

    Examples
    --------
    >>> from popsnet.studies.adversaries import measure_congestion
    >>> from popsnet.plots import draw_congestion
    >>> len(draw_congestion(measure_congestion(8, runs=2)).axes)
    2
    """
    means, worst = [], []
    for look, name in enumerate(dict.fromkeys(point.paths for point in found.points)):
        of = [point for point in found.points if point.paths == name]
        sizes = tuple(point.g for point in of)
        y, errors = tuple(point.mean for point in of), tuple(point.standard_error for point in of)
        means.append(Series(name, sizes, y, errors, look=look))
        if built := {point.g: point.worst for point in of if point.worst is not None}:
            worst.append(Series(name, tuple(built), tuple(built.values()), look=look))
    means.append(_formula("log g / log log g", sizes, [point.curve for point in of], look=1))
    bound = [point.guaranteed for point in of]
    worst.append(_formula("the bound for every path system", sizes, bound))
    figure, (left, right) = style.row_of_axes(2, 3.3)
    left.set_yscale("log", base=2)
    left.yaxis.set_major_formatter(style.plain_number)
    largest = max((max(line.x) for line in worst[:-1]), default=max(sizes))
    until = f", up to g = {largest:g}" if largest < max(sizes) else ""
    _plot_over_g(left, f"the permutation that was built{until}", worst)
    _plot_over_g(right, "random permutations, mean", means)
    right.set_ylim(bottom=0)
    left.set_ylabel("congestion")
    return style.with_legend(figure)


@style.styled()
def draw_growth(attack: RigidAttack) -> Figure:
    """Draw the sizes of the sets P(i, t) against t, with 2^t and n.

    Parameters
    ----------
    attack : RigidAttack
        The outcome of :func:`popsnet.studies.adversaries.attack_rigid`.

    Returns
    -------
    Figure
        The figure.

    Examples
    --------
    >>> from popsnet import Network
    >>> from popsnet.studies.adversaries import attack_rigid
    >>> from popsnet.plots import draw_growth
    >>> draw_growth(attack_rigid("batcher", None, Network(1, 8))).axes[0].get_xlabel()
    'slot t'
    """
    n, slots = attack.network.n, tuple(point.slot for point in attack.growth)
    figure, axes = _over_slots(attack, n)
    axes.set_yscale("log", base=2)
    axes.set(ylim=(0.9, 1.6 * n), ylabel="packets that a processor can hold")
    axes.yaxis.set_major_formatter(style.plain_number)
    sizes = {name: tuple(getattr(point, name) for point in attack.growth) for name in _SIZES}
    lines = [Series(name, slots, sizes[name], look=look) for look, name in enumerate(_SIZES)]
    doubling = range(attack.guaranteed + 1)
    _plot(axes, [*lines, _formula("2^t", doubling, [2**t for t in doubling])])
    return style.with_legend(figure)


@style.styled()
def draw_arrivals(check: ConflictFreeCheck) -> Figure:
    """Draw the mean number of packets that have arrived against the slot, with the bound and n.

    Parameters
    ----------
    check : ConflictFreeCheck
        The outcome of :func:`popsnet.studies.adversaries.check_conflict_free`.

    Returns
    -------
    Figure
        The figure.

    Examples
    --------
    >>> from popsnet.studies.adversaries import check_conflict_free
    >>> from popsnet.plots import draw_arrivals
    >>> draw_arrivals(check_conflict_free("direct", None, 2, 2)).axes[0].get_xlabel()
    'slot t'
    """
    n, slots = check.network.n, tuple(row.slot for row in check.checked)
    figure, axes = _over_slots(check, n)
    bounds = [1, *(row.bounds.get("arrivals", n) for row in check.checked)]
    bound = _formula("the bound for conflict-free algorithms, at most n", (0, *slots), bounds)
    _plot(axes, [Series("mean", slots, tuple(row.arrivals for row in check.checked)), bound])
    axes.set(ylim=(0, 1.1 * n), ylabel="packets that have arrived")
    return style.with_legend(figure)


def _over_slots(result: RigidAttack | ConflictFreeCheck, n: int) -> tuple[Figure, Axes]:
    figure, (axes,) = style.row_of_axes(1, 3.2, style.WIDTH * 0.7)
    name = short_name(result.router, result.variant, result.network)
    axes.set(title=escape_controls(f"{name} on {result.network}"), xlabel="slot t")
    axes.axhline(n, color=style.GREY, linewidth=0.7)
    style.beside(axes, f"n = {n}", (0, n), (2, 3), fontsize=7, color=style.GREY)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    return figure, axes


def draw_separation_study(found: SeparationStudy) -> Figure:
    """Draw the delays of a study, and the slots of the randomized algorithm, against g.

    Parameters
    ----------
    found : SeparationStudy
        The outcome of :func:`popsnet.studies.adversaries.measure_separation`.

    Returns
    -------
    Figure
        The figure.

    See Also
    --------
    draw_separation : The same for numbers from elsewhere.

    Examples
    --------
    >>> from popsnet.studies.adversaries import measure_separation
    >>> from popsnet.plots import draw_separation_study
    >>> len(draw_separation_study(measure_separation(8, runs=1, most_rounds=2)).axes)
    2
    """
    points = found.points
    return draw_separation(
        [point.network.g for point in points],
        {name: [point.attacks[name].slots for point in points] for name in points[0].attacks},
        [point.guaranteed for point in points],
        [point.randomized_mean for point in points],
        limit=2 * found.most_rounds,
        capped=[point.randomized_capped > 0 for point in points],
    )


@style.styled()
def draw_separation(
    sizes: Sequence[int], reached: Mapping[str, Sequence[int]], promised: Sequence[int],
    needed: Sequence[float], error: Sequence[float] | None = None, *, limit: int,
    capped: Sequence[bool],
) -> Figure:  # fmt: skip
    """Draw the delays of two-hop algorithms, and the slots of the randomized one, against g.

    The left panel has all algorithms, the right panel only ``hashed``, which is delayed least.

    Parameters
    ----------
    sizes : sequence of int
        The values of g.
    reached : mapping of str to sequence of int
        The delays by algorithm; those at ``limit`` are drawn as lower bounds.
    promised : sequence of int
        The bound for every deterministic algorithm.
    needed : sequence of float
        The mean slots of the randomized algorithm.
    error : sequence of float, optional
        The standard errors of ``needed``.
    limit : int
        The slots at which the search for a delay stopped.
    capped : sequence of bool
        For which g runs were capped, so that ``needed`` is a lower bound.

    Returns
    -------
    Figure
        The figure.

    Examples
    --------
    >>> from popsnet.plots import draw_separation
    >>> figure = draw_separation(
    ...     [8, 16], {"hashed": [12, 14]}, [2, 4], [10.2, 11.9], limit=64, capped=[False, False]
    ... )
    >>> figure.axes[0].get_ylabel()
    'slots'
    """
    x = tuple(sizes)
    delays: dict[str, Series] = {}
    for look, (name, slots) in enumerate(reached.items()):
        ended = tuple(delay >= limit for delay in slots)
        label = f"{name}: delayed by"
        delays[name] = Series(label, x, tuple(slots), look=look, at_least=ended)
    label, errors = "randomized: all arrived, mean", tuple(error) if error else None
    others = [
        _formula("the bound for every deterministic algorithm", x, promised),
        Series(label, x, tuple(needed), errors, look=_RANDOMIZED, at_least=tuple(capped)),
    ]
    panels = {"five families": [*delays.values(), *others]}
    if "hashed" in delays:
        panels["hashed, which looks random"] = [delays["hashed"], *others]
    figure, row = style.row_of_axes(len(panels), 3.3)
    for axes, (title, lines) in zip(row, panels.items(), strict=True):
        _plot_over_g(axes, title, lines)
        axes.set_ylim(bottom=0)
    row[0].set_ylabel("slots")
    return style.with_legend(figure)


def _formula(label: str, x: Sequence[float], y: Sequence[float], look: int = 0) -> Series:
    return Series(label, tuple(x), tuple(y), kind=CurveKind.THEORY, look=look)


def _plot(axes: Axes, lines: Sequence[Series]) -> None:
    for line in lines:
        if line.kind is CurveKind.THEORY:
            grey: dict[str, Any] = {"color": style.GREY, "linewidth": 0.9}
            axes.plot(line.x, line.y, dashes=_FORMULAS[line.look], label=line.label, **grey)
            continue
        looks = style.LOOKS[line.look].marked(3.5, linewidth=1.1, capsize=2)
        axes.errorbar(line.x, line.y, line.error, label=line.label, **looks)
        if cut := list(compress(zip(line.x, line.y, strict=True), line.at_least or ())):
            style.mark_above(axes, cut, r"$\geq$", 6.5, label="lower bound: the search ended there")


def _plot_over_g(axes: Axes, title: str, lines: Sequence[Series]) -> None:
    axes.set_title(title)
    _plot(axes, lines)
    sizes = sorted({g for line in lines for g in line.x})
    style.log2_axis(axes, "number of groups g = d", FixedLocator(sizes))
