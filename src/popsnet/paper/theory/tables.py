"""The tables of the section on theory, as they are shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import log2
from typing import Any

from popsnet.paper.tables import Column, Sheet
from popsnet.paper.theory.exact import ExactRow
from popsnet.paper.theory.fluid import FluidRow
from popsnet.paper.theory.growth import GrowthRow
from popsnet.paper.theory.section import Theory
from popsnet.paper.theory.separation import RUNS, SeparationRow
from popsnet.paper.verdicts import FEWEST_FOR_A_TAIL, LEVEL

__all__ = ["exact_sheet", "theory_sheets"]

_LONGEST = 20
"""Signs of a fraction that a table has room for."""

_LARGE = 64
"""From this g on the fluid limit is held against what was measured."""


def theory_sheets(theory: Theory) -> tuple[Sheet, ...]:
    """All tables with their captions; those without rows are left out."""
    return tuple(sheet for sheet in _sheets(theory) if sheet.rows)


def exact_sheet(exact: tuple[ExactRow, ...]) -> Sheet:
    """The table of exact means, which is there before all others."""
    return next(_sheets(Theory(exact, (), (), ())))


def _sheets(theory: Theory) -> Iterator[Sheet]:
    yield Sheet(
        "exact", "Exact means on tiny networks, in steps", _of_exact(theory), _EXACT, theory.exact
    )
    yield Sheet(
        "fluid",
        "Slots measured, exact, and by the fluid limit",
        _OF_FLUID + _farthest(theory.fluid),
        _FLUID,
        theory.fluid,
    )
    yield Sheet(
        "growth", "Growth: laws fitted to the slots", _of_growth(theory.growth), _GROWTH,
        theory.growth,
    )  # fmt: skip
    algorithms = list(theory.separation[0].reached) if theory.separation else []
    yield Sheet(
        "separation",
        "Two hops: delays that were forced, and the randomized algorithm",
        _OF_SEPARATION,
        (
            Column("g = d", lambda row: f"{row.g:,}"),
            *(_reached(name) for name in algorithms),
            *_SEPARATION,
        ),
        theory.separation,
    )


def _shape(ratio: float) -> str:
    return "g" if ratio == 1 else f"{ratio:g}g" if ratio > 1 else f"g/{1 / ratio:g}"


def _optional(value: float | None, form: str = ",.2f") -> str:
    return "–" if value is None else format(value, form)


def _with_error(value: float | None, error: float | None, form: str = ",.2f") -> str:
    return "–" if value is None or error is None else f"{value:{form}} ± {error:{form}}"


def _at_least(row: Any) -> str:
    return "≥ " if row.capped else ""  # a capped run is cut


def _fraction(text: str) -> str:
    return text if len(text) <= _LONGEST else "…"


_ROUTER = Column("router", lambda row: row.router, is_text=True)
_RUNS = Column("runs", lambda row: f"{row.runs:,}")

_EXACT = (
    _ROUTER,
    Column("d", lambda row: f"{row.d}"),
    Column("g", lambda row: f"{row.g}"),
    Column("exact mean", lambda row: _fraction(row.exact_fraction)),
    Column("=", lambda row: f"{row.exact:.4f}"),
    Column("sampled", lambda row: f"{_at_least(row)}{_with_error(row.mean, row.error, '.3f')}"),
    _RUNS,
    Column("diff in s.e.", lambda row: f"{row.standard_errors:+.1f}"),
    Column("verdict", lambda row: row.verdict, is_text=True),
)

_FLUID = (
    _ROUTER,
    Column("n", lambda row: f"{row.n:,}"),
    Column("d", lambda row: _shape(row.d / row.g)),
    Column("measured", lambda row: f"{_at_least(row)}{_with_error(row.slots, row.error)}"),
    _RUNS,
    Column("exact", lambda row: _optional(row.exact)),
    Column("fluid limit", lambda row: f"{row.limit:,.2f}"),
    Column("diff.", lambda row: f"{row.difference:+,.2f}"),
)

_GROWTH = (
    _ROUTER,
    Column("d", lambda row: _shape(row.ratio)),
    Column("law", lambda row: row.law, is_text=True),
    Column("a", lambda row: _with_error(row.a, row.a_error, ".1f")),
    Column("b", lambda row: _with_error(row.b, row.b_error)),
    Column("τ", lambda row: f"{row.misfit:.2f}"),
    Column("χ²", lambda row: f"{row.chi2:,.0f}"),
    Column("Δ", lambda row: f"{row.delta:.1f}"),
    Column("w", lambda row: _optional(row.weight, ".2f")),
    Column("Δ less 2", lambda row: _optional(row.delta_without_smallest, ".1f")),
)


def _cut(row: SeparationRow) -> str:
    return "≥ " if row.randomized_capped else ""


def _reached(name: str) -> Column:
    """Of one algorithm; the search has an end."""

    def show(row: Any) -> str:
        slots = row.reached[name]
        return f"≥ {slots}" if slots == row.most_slots else f"{slots}"

    return Column(name, show)


_SEPARATION = (
    Column("any", lambda row: f"{row.guaranteed}"),
    Column("machine", lambda row: f"{row.confirmed}/{len(row.reached)}"),
    Column("coins", lambda row: f"{_cut(row)}{row.randomized_mean:.1f}"),
    Column("max", lambda row: f"{_cut(row)}{row.randomized_max}"),
    Column("on built", lambda row: f"{row.randomized_on_built}"),
)


def _of_exact(theory: Theory) -> str:
    return (
        "The exact mean number of steps over all permutations and coins, by Markov chains over "
        "conflict graphs, as a fraction (… too long for the table; the CSV file has it) and as a "
        "decimal, and the mean of runs ± its standard error, by the exact variance. "
        "Mei-rizzi counts as in the paper's tables; of relay it is the stages of plain sweeps "
        "(schedule S) with ideal public bijections, which the router's own come close to. The "
        "verdict is by a z test and Holm's method: if all is right, the chance that any of the "
        f"{theory.comparisons} comparisons says “differs” is at most {LEVEL:.0%}. With fewer than "
        f"{FEWEST_FOR_A_TAIL:,} runs nothing is said: the law is skewed."
    )


_OF_FLUID = (
    "Mean slots ± standard error, the exact mean where the chain was solved, the prediction of the "
    "fluid limit, which is for large g, and what was measured less the prediction. Mei-rizzi is "
    "counted as in the paper's tables, five slots a step; relay until every source knows, by the "
    "schedule it plans from its fluid limit; networks where it goes by one hop are not here, for "
    "nothing is left to predict. Runs that are all alike count as if one were off by a step. "
    "≥ Some runs were capped."
)


def _farthest(rows: Sequence[FluidRow]) -> str:
    """How far off the limit is on large networks, by router and shape."""
    large = [row for row in rows if row.g >= _LARGE and row.d >= row.g]
    if not large:
        return ""
    found = []
    for router, ratio in dict.fromkeys((row.router, row.d // row.g) for row in large):
        same = [row for row in large if (row.router, row.d // row.g) == (router, ratio)]
        most = max((row.difference for row in same), key=abs)
        found.append(f"{router} at d = {_shape(ratio)} {most:+.1f}")
    return f" The largest differences from g = {_LARGE} on, in slots: {', '.join(found)}."


def _of_growth(rows: Sequence[GrowthRow]) -> str:
    largest = max((row.g_largest for row in rows), default=2)
    sizes = max((row.freedom for row in rows), default=0)
    return (
        "Slots fitted by a + b·law over all sizes of a router and d/g without capped runs; "
        "logarithms are of base 2. Which likelihood: a mean is normal about the law with variance "
        "s² + τ², s its standard error, τ the law's own misfit in slots, fitted with a and b. "
        "χ² is the residual sum of squares over s² with τ = 0; a law that is right has about its "
        f"degrees of freedom, at most {sizes}. Where it is far more, the law is not exact, and "
        "weights by s alone would rank the laws by where runs are most. Δ is AICc less that of "
        "the best law, and w Akaike's weight among the laws; Δ less 2 leaves out the two smallest "
        "sizes. On few sizes AICc asks much for b, to the advantage of the constant. The fluid "
        "limit has no coefficient but its τ. What this cannot tell: "
        "slots come in whole steps and climb a staircase, so that neighbouring residuals are "
        "alike, which AICc takes for independent; it says which smooth law is nearest over these "
        f"sizes, where log log g comes to {log2(log2(largest)):.1f} at most, and proves nothing "
        "for g without bound."
    )


_OF_SEPARATION = (
    "Slots after which a packet has not arrived, on the permutation that was built against each "
    "deterministic two-hop algorithm (≥ the search ended there); what the theorem promises against "
    "any; how many of these delays the machine confirms. Then the slots that the algorithm of the "
    f"same class with coins takes until all have arrived: the mean and the most of {RUNS} random "
    "permutations, and the most on those built."
)
