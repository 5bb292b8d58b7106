"""How slots grow with g: a + b·log₂ log₂ g against rivals, over all sizes that were run.

Slots come in whole steps, so that means climb a staircase, which no smooth law follows to within
the errors of sampling: :mod:`popsnet.base.stats.inference` gives every law a misfit of its own,
fitted like its coefficients, and compares the laws by AICc. The words for differences of AICc are
after Burnham and Anderson (Model Selection and Multimodel Inference, 2002, section 2.6): up to 2 a
model has substantial support beside the best, beyond 10 essentially none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import log2, sqrt

import numpy as np

from popsnet.base.stats.inference import Fit, akaike_weights, fewest_values, fit
from popsnet.paper.rows import shape
from popsnet.paper.theory.predictions import FluidRow

LAWS: dict[str, Callable[[float], float] | None] = {
    "log log g": lambda g: log2(log2(g)),
    "√log g": lambda g: sqrt(log2(g)),
    "log g": log2,
    "√g": sqrt,
    "constant": None,
}
"""The paper's law and its rivals, by growth: slots are a + b·law, or a alone. Base 2."""

LIMIT = "fluid limit"
"""A model without coefficients, beside the laws and not among them."""

_LEFT_OUT = 2
"""The smallest sizes that are left out to see whether the order of the laws depends on them."""

_ALIKE, _HARDLY = 2.0, 10.0

_SLOPES = {"mei-rizzi": 5, "relay": 3}
"""b of log log g for large g = d: a step of mei-rizzi, or a sweep of relay, squares the load."""


@dataclass(frozen=True, slots=True)
class GrowthRow:
    """A law, or the fluid limit, fitted to the slots of a router for one d/g.

    Attributes
    ----------
    ratio : int
        d/g.
    misfit : float
        Slots that the law itself is off, as a standard deviation.
    chi2, freedom
        Weighted by the errors of sampling alone; its mean if the law were right.
    delta : float
        AICc less that of the best law; below 0 for a fluid limit that is better than all of them.
    weight : float or None
        Akaike's, among the laws; None for the fluid limit.
    delta_without_smallest : float or None
        The same as delta without the two smallest sizes; None if too few would be left.
    """

    router: str
    ratio: int
    law: str
    sizes: int
    g_smallest: int
    g_largest: int
    a: float | None
    a_error: float | None
    b: float | None
    b_error: float | None
    misfit: float
    rss: float
    chi2: float
    freedom: int
    aicc: float
    delta: float
    weight: float | None
    delta_without_smallest: float | None


def terms(law: str, g: float) -> list[float]:
    """Return what a, and b, are multiplied by."""
    grows = LAWS[law]
    return [1.0] if grows is None else [1.0, grows(g)]


def growth_rows(rows: Sequence[FluidRow]) -> tuple[GrowthRow, ...]:
    """Fit all laws for every router and d/g that has enough sizes."""
    return tuple(row for series in series_of(rows).values() for row in _fitted(series))


def series_of(rows: Sequence[FluidRow]) -> dict[tuple[str, int], list[FluidRow]]:
    """Group the values to be fitted by router and d/g, in order of g, where there are enough.

    A mean with capped runs is a lower bound and is left out. Where d < g, only one size per shape
    was run.
    """
    usable = [row for row in rows if not row.capped and row.g > 1 and row.d % row.g == 0]
    series: dict[tuple[str, int], list[FluidRow]] = {
        (row.router, row.d // row.g): [] for row in usable
    }
    for row in sorted(usable, key=lambda row: row.g):
        series[row.router, row.d // row.g].append(row)
    return {kind: same for kind, same in series.items() if len(same) >= fewest_values(2)}


def _fitted(series: Sequence[FluidRow]) -> Iterator[GrowthRow]:
    fits, first, later = _fits(series), series[0], series[_LEFT_OUT:]
    of_laws = [fits[law].aicc for law in LAWS]
    weights = dict(zip(LAWS, akaike_weights(of_laws), strict=True))
    again = _fits(later) if len(later) >= fewest_values(2) else None
    best_again = min(again[law].aicc for law in LAWS) if again else 0.0
    for name, model in fits.items():
        coefficients = [*zip(model.coefficients, model.errors, strict=True), *2 * [(None, None)]]
        (a, a_error), (b, b_error) = coefficients[:2]
        yield GrowthRow(
            first.router, first.d // first.g, name, len(series), first.g, series[-1].g,
            a, a_error, b, b_error, model.misfit, model.rss, model.chi2, model.freedom, model.aicc,
            delta=model.aicc - min(of_laws),
            weight=weights.get(name),
            delta_without_smallest=again[name].aicc - best_again if again else None,
        )  # fmt: skip


def _fits(series: Sequence[FluidRow]) -> dict[str, Fit]:
    slots, errors = [row.slots for row in series], [row.error for row in series]
    fits = {law: fit([terms(law, row.g) for row in series], slots, errors) for law in LAWS}
    missed = [row.difference for row in series]
    return fits | {LIMIT: fit(np.empty((len(series), 0)), missed, errors)}


def predicted(row: GrowthRow, sizes: Sequence[float]) -> list[float]:
    """Return the values of a fitted law for some g."""
    coefficients = [value for value in (row.a, row.b) if value is not None]
    return [float(np.dot(terms(row.law, g), coefficients)) for g in sizes]


def in_words(rows: Sequence[GrowthRow]) -> list[str]:
    """Say which laws the fits tell apart, a paragraph for each router and d/g."""
    return [_words(list(same)) for _, same in groupby(rows, lambda row: (row.router, row.ratio))]


def _words(rows: Sequence[GrowthRow]) -> str:
    *laws, limit = rows
    best = min(laws, key=lambda row: row.delta)
    order = "ahead of" if limit.delta < 0 else "behind"
    return (
        f"{best.router}, d = {shape(best.ratio, 1)}, {best.sizes} sizes, g = {best.g_smallest} to "
        f"{best.g_largest:,}: best is {best.law}{_line(best)}, with a misfit of "
        f"{best.misfit:.2f} slots.{_support(laws, best)}{_slope(laws[0])}"
        f"{_without_smallest(laws, best)} The fluid limit, with nothing to fit, is {order} it by "
        f"Δ = {abs(limit.delta):.1f}."
    )


def _line(row: GrowthRow) -> str:
    if row.b is None:
        return f" {row.a:.1f}"
    sign, falling = ("-", ", falling") if row.b < 0 else ("+", "")
    return f", {row.a:.1f} {sign} {abs(row.b):.2f} {row.law}{falling}"


def _support(laws: Sequence[GrowthRow], best: GrowthRow) -> str:
    """List the other laws by how far behind they are."""
    kinds = (
        ("Not distinguished from it", -1.0, _ALIKE),
        ("Less likely", _ALIKE, _HARDLY),
        ("Essentially no support for", _HARDLY, float("inf")),
    )
    text, others = "", [row for row in laws if row is not best]
    for words, low, high in kinds:
        names = [f"{row.law} (Δ {row.delta:.1f})" for row in others if low < row.delta <= high]
        text += f" {words}: {', '.join(names)}." if names else ""
    return text


def _slope(row: GrowthRow) -> str:
    """Compare b of the paper's law with its limit for large g, where that is known."""
    if row.ratio != 1 or row.b is None or row.b_error is None:
        return ""
    slope = _SLOPES[row.router]
    near = abs(row.b - slope) <= 2 * row.b_error
    return (
        f" For large g each step squares the load, which makes b = {slope} with {row.law}; here it "
        f"is {row.b:.2f} ± {row.b_error:.2f}, {'within' if near else 'more than'} two standard "
        f"errors {'of' if near else 'from'} that."
    )


def _without_smallest(laws: Sequence[GrowthRow], best: GrowthRow) -> str:
    again = {row.law: row.delta_without_smallest for row in laws}
    deltas = {law: delta for law, delta in again.items() if delta is not None}
    if not deltas:
        return ""
    law = min(deltas, key=deltas.__getitem__)
    alike = [f"{other} (Δ {delta:.1f})" for other, delta in deltas.items() if 0 < delta <= _ALIKE]
    besides = f", not distinguished from {', '.join(alike)}" if alike else ""
    same = "still" if law == best.law else "now"
    return f" Without the two smallest sizes, the best is {same} {law}{besides}."
