"""The section on theory: all its rows, its tables as they are shown, and a summary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log2

from popsnet.paper.rows import shape
from popsnet.paper.tables import (
    CAPPED,
    DISTANCE,
    RUNS_DONE,
    SHAPE,
    N,
    PaperTable,
    agreement,
    explained,
    formatted,
)
from popsnet.paper.theory.growth import GrowthRow
from popsnet.paper.theory.predictions import ExactRow, FluidRow
from popsnet.paper.theory.separation import RUNS, SeparationRow
from popsnet.paper.verdicts import FEWEST_FOR_A_TAIL, LEVEL, Judged
from popsnet.report import Column, Row

_LONGEST = 20
"""Characters of a fraction that a table has room for."""

_LARGE = 64
"""The fluid limit is compared with measured means from this g on."""


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
        """The result in a sentence or two; empty if there is none."""
        sentences = [agreement(self.comparisons, self.differing, "means agree with exact chains")]
        if attacks := sum(len(row.reached) for row in self.separation):
            confirmed = sum(row.confirmed for row in self.separation)
            sentences.append(
                f"The machine confirms {confirmed} of {attacks} delays of two-hop algorithms."
            )
        return " ".join(filter(None, sentences))


def theory_tables(theory: Theory) -> tuple[PaperTable, ...]:
    """Return all tables with their captions; those without rows are left out."""
    algorithms = list(theory.separation[0].reached) if theory.separation else []
    two_hops = Column("g", "g = d", "integer"), *map(_reached, algorithms), *_SEPARATION
    tables = (
        explained(
            "exact", "Exact means on tiny networks", _EXACT, theory.exact,
            lead="The exact mean number of steps over all permutations and coins, as a fraction "
            "and as a decimal, beside the mean of runs ± its standard error.",
            signs=(("…", "Too long for the table; the CSV file has it."), CAPPED),
            note=_how_exact(theory),
        ),
        explained(
            "fluid", "Slots measured, exact, and by the fluid limit", _FLUID, theory.fluid,
            lead="Mean slots ± standard error; the exact mean where the chain was solved; the "
            "prediction of the fluid limit, which is for large g; and the measured mean minus the "
            "prediction.",
            signs=(CAPPED,),
            note="mei-rizzi is counted as in the paper's tables, five slots per step. relay is "
            "counted until every source knows, with the schedule that it plans from its fluid "
            "limit; networks where its plan is direct are left out. If all runs are alike, the "
            f"standard error is that of one run being off by one step.{_farthest(theory.fluid)}",
        ),
        explained(
            "growth", "Growth: laws fitted to the slots", _GROWTH, theory.growth,
            lead="Slots fitted by a + b·law over all sizes g of a router and d/g, with logarithms "
            "of base 2. τ is the law's own misfit in slots; Δ is AICc minus that of the best law.",
            note=_how_fitted(theory.growth),
        ),
        explained(
            "separation", "Two hops: forced delays, and the randomized algorithm", two_hops,
            theory.separation,
            lead="Slots after which a packet has still not arrived, on the permutation built "
            "against each deterministic two-hop algorithm, beside the slots of the randomized "
            "algorithm.",
            signs=(("≥", "At least: the search ended there, or runs were capped."),),
            note="“any” is what the theorem guarantees against every such algorithm, and “machine” "
            "how many of the delays the machine confirms. “coins” is the mean number of slots "
            f"until all packets have arrived, over {RUNS} random permutations, and “max” the most; "
            "“on built” is the most on the permutations built against the others.",
        ),
    )  # fmt: skip
    return tuple(table for table in tables if table.rows)


def _reached(name: str) -> Column:
    """Return the column of one algorithm's delays, up to the end of the search."""

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


def _how_exact(theory: Theory) -> str:
    family = (
        f" The family-wise error rate of the {theory.comparisons} comparisons is {LEVEL:.0%} "
        "(z tests, Holm's method)."
        if theory.comparisons
        else ""
    )
    return (
        "The exact means come from Markov chains over conflict graphs, and so does the standard "
        "error. mei-rizzi is counted as in the paper's tables. For relay they are the stages of "
        "plain sweeps (schedule S) with ideal public bijections, which the router's own "
        f"approximate.{family} With fewer than {FEWEST_FOR_A_TAIL:,} runs there is no verdict: the "
        "distribution is skewed."
    )


def _farthest(rows: Sequence[FluidRow]) -> str:
    """Say how far off the limit is on large networks, by router and shape."""
    large = [row for row in rows if row.g >= _LARGE and row.d >= row.g]
    if not large:
        return ""
    most: dict[tuple[str, int], float] = {}
    for row in large:
        kind = row.router, row.d // row.g
        most[kind] = max(most.get(kind, 0.0), row.difference, key=abs)
    found = [f"{name} at d = {shape(ratio, 1)} {one:+.1f}" for (name, ratio), one in most.items()]
    return f" The largest differences for g ≥ {_LARGE}, in slots: {', '.join(found)}."


def _how_fitted(rows: Sequence[GrowthRow]) -> str:
    largest = max((row.g_largest for row in rows), default=2)
    sizes = max((row.freedom for row in rows), default=0)
    return (
        "Sizes with capped runs are left out. A mean is modelled as normal about the law with "
        "variance s² + τ²: s is its standard error, and the misfit τ is fitted together with a and "
        "b. χ² is the residual sum of squares over s² with τ = 0; a law that is exact has a χ² of "
        f"about its degrees of freedom, at most {sizes}. Where χ² is much larger the law is not "
        "exact, and weights by s alone would rank the laws by the sizes with the most runs. w is "
        "the Akaike weight among the laws. “Δ less 2” leaves out the two smallest sizes. With few "
        "sizes, AICc penalizes b heavily, which favours the constant. The fluid limit has no "
        "coefficient but its τ. Limits of the method: slots come in whole steps, so that "
        "neighbouring residuals are correlated, while AICc assumes independence. The fit tells "
        f"which smooth law is nearest over these sizes, where log log g is at most "
        f"{log2(log2(largest)):.1f}; it proves nothing about unbounded g."
    )
