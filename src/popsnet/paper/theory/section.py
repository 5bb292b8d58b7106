"""The section on theory: all its rows, its tables as they are shown, and a summary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log2

from popsnet.paper.rows import shape
from popsnet.paper.tables import DISTANCE, RUNS_DONE, SHAPE, N, formatted
from popsnet.paper.theory.growth import GrowthRow
from popsnet.paper.theory.predictions import ExactRow, FluidRow
from popsnet.paper.theory.separation import RUNS, SeparationRow
from popsnet.paper.verdicts import FEWEST_FOR_A_TAIL, LEVEL, Judged
from popsnet.report import Column, Row, Table

_LONGEST = 20
"""Characters of a fraction that a table has room for."""

_LARGE = 64
"""From this g on the fluid limit is held against what was measured."""


@dataclass(frozen=True, slots=True)
class Theory(Judged):
    """All rows of the section."""

    exact: tuple[ExactRow, ...]
    fluid: tuple[FluidRow, ...]
    growth: tuple[GrowthRow, ...]
    separation: tuple[SeparationRow, ...]

    @property
    def verdicts(self) -> list[str]:
        """The verdicts of all means that are compared with exact ones."""
        return [row.verdict for row in self.exact]

    @property
    def summary(self) -> str:
        """The result in a sentence or two."""
        agreeing = self.comparisons - self.differing
        text = (
            f"{agreeing} of {self.comparisons} means agree with exact chains; the chance of any "
            f"false alarm is at most {LEVEL:.0%}."
            if self.comparisons
            else "There are too few runs to compare means with exact chains."
        )
        attacks = sum(len(row.reached) for row in self.separation)
        if attacks:
            confirmed = sum(row.confirmed for row in self.separation)
            text += f" The machine confirms {confirmed} of {attacks} delays of two-hop algorithms."
        return text


def theory_tables(theory: Theory) -> tuple[Table, ...]:
    """Return all tables with their captions; those without rows are left out."""
    fluid, growth = theory.fluid, theory.growth
    algorithms = list(theory.separation[0].reached) if theory.separation else []
    two_hops = Column("g", "g = d", "integer"), *map(_reached, algorithms), *_SEPARATION
    forced = "Two hops: delays that were forced, and the randomized algorithm"
    measured = "Slots measured, exact, and by the fluid limit"
    exact = "Exact means on tiny networks, in steps"
    tables = (
        Table("exact", exact, _EXACT, theory.exact, _of_exact(theory)),
        Table("fluid", measured, _FLUID, fluid, _OF_FLUID + _farthest(fluid)),
        Table("growth", "Growth: laws fitted to the slots", _GROWTH, growth, _of_growth(growth)),
        Table("separation", forced, two_hops, theory.separation, _OF_SEPARATION),
    )
    return tuple(table for table in tables if table.rows)


def _reached(name: str) -> Column:
    """The delays of one algorithm; the search has an end."""

    def show(row: Row) -> str:
        slots = row.reached[name]
        return f"≥{slots}" if slots == row.most_slots else f"{slots}"

    return Column(name, show=show)


_ROUTER = Column("router", kind="text")

_EXACT = (
    _ROUTER,
    Column("d", kind="integer"),
    Column("g", kind="integer"),
    Column(
        "exact_fraction",
        "exact mean",
        show=lambda row: row.exact_fraction if len(row.exact_fraction) <= _LONGEST else "…",
    ),
    formatted("exact", "=", "{:.4f}"),
    formatted("mean", "sampled", "{:.3f}", error="error", capped="capped"),
    RUNS_DONE,
    DISTANCE,
    Column("verdict", kind="text"),
)

_FLUID = (
    _ROUTER,
    N,
    SHAPE,
    formatted("slots", "measured", "{:,.2f}", error="error", capped="capped"),
    RUNS_DONE,
    Column("exact"),
    Column("limit", "fluid limit"),
    formatted("difference", "diff.", "{:+,.2f}"),
)

_GROWTH = (
    _ROUTER,
    Column("ratio", "d", show=lambda row: shape(row.ratio, 1)),
    Column("law", kind="text"),
    formatted("a", "a", "{:.1f}", error="a_error"),
    formatted("b", "b", "{:,.2f}", error="b_error"),
    Column("misfit", "τ"),
    formatted("chi2", "χ²", "{:,.0f}"),
    formatted("delta", "Δ", "{:.1f}"),
    Column("weight", "w"),
    formatted("delta_without_smallest", "Δ less 2", "{:.1f}"),
)

_SEPARATION = (
    Column("guaranteed", "any", "integer"),
    Column("confirmed", "machine", show=lambda row: f"{row.confirmed}/{len(row.reached)}"),
    formatted("randomized_mean", "coins", "{:.1f}", capped="randomized_capped"),
    formatted("randomized_max", "max", "{}", capped="randomized_capped"),
    Column("randomized_on_built", "on built", "integer"),
)


def _of_exact(theory: Theory) -> str:
    return (
        "The exact mean number of steps over all permutations and coins, by Markov chains over "
        "conflict graphs, as a fraction (… too long; the CSV file has it) and as a decimal, and "
        "the mean of runs ± its standard error, by the exact variance. Mei-rizzi counts as in the "
        "paper's tables; of relay it is the stages of plain sweeps (schedule S) with ideal public "
        "bijections, which the router's own come close to. The verdict is by a z test and Holm's "
        f"method: if all is right, the chance that any of the {theory.comparisons} comparisons "
        f"says “differs” is at most {LEVEL:.0%}. With fewer than {FEWEST_FOR_A_TAIL:,} runs "
        "nothing is said: the distribution is skewed."
    )


_OF_FLUID = (
    "Mean slots ± standard error, the exact mean where the chain was solved, the prediction of the "
    "fluid limit, which is for large g, and what was measured less the prediction. Mei-rizzi is "
    "counted as in the paper's tables, five slots per step; relay until every source knows, by the "
    "schedule it plans from its fluid limit, but not where it goes by one hop. Runs that are all "
    "alike count as if one were off by a step. ≥ Some runs were capped."
)


def _farthest(rows: Sequence[FluidRow]) -> str:
    """How far off the limit is on large networks, by router and shape."""
    large = [row for row in rows if row.g >= _LARGE and row.d >= row.g]
    if not large:
        return ""
    most: dict[tuple[str, int], float] = {}
    for row in large:
        kind = row.router, row.d // row.g
        most[kind] = max(most.get(kind, 0.0), row.difference, key=abs)
    found = [f"{name} at d = {shape(ratio, 1)} {one:+.1f}" for (name, ratio), one in most.items()]
    return f" The largest differences from g = {_LARGE} on, in slots: {', '.join(found)}."


def _of_growth(rows: Sequence[GrowthRow]) -> str:
    largest = max((row.g_largest for row in rows), default=2)
    sizes = max((row.freedom for row in rows), default=0)
    return (
        "Slots fitted by a + b·law over all sizes of a router and d/g without capped runs; "
        "logarithms are of base 2. A mean is taken as normal about the law with variance s² + τ², "
        "s its standard error, τ the law's own misfit in slots, fitted with a and b. χ² is the "
        "residual sum of squares over s² with τ = 0; a law that is right has about its degrees of "
        f"freedom, at most {sizes}. Where it is far more, the law is not exact, and weights by s "
        "alone would rank the laws by where runs are most. Δ is AICc less that of the best law, "
        "and w Akaike's weight among the laws; Δ less 2 leaves out the two smallest sizes. On few "
        "sizes AICc asks much for b, to the advantage of the constant. The fluid limit has no "
        "coefficient but its τ. What this cannot tell: slots come in whole steps and climb a "
        "staircase, so that neighbouring residuals are alike, which AICc takes for independent; it "
        "says which smooth law is nearest over these sizes, where log log g comes to "
        f"{log2(log2(largest)):.1f} at most, and proves nothing for g without bound."
    )


_OF_SEPARATION = (
    "Slots after which a packet has not arrived, on the permutation that was built against each "
    "deterministic two-hop algorithm (≥ the search ended there); what the theorem promises against "
    "any; how many of these delays the machine confirms. Then the slots that the algorithm of the "
    f"same class with coins takes until all have arrived: the mean and the most of {RUNS} random "
    "permutations, and the most on those built."
)
