"""The section on theory: all its rows, its tables as they are shown, and a summary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log2

from popsnet.base.report import Column, Row
from popsnet.paper import tables
from popsnet.paper.rows import shape
from popsnet.paper.tables import PaperTable, explained, formatted
from popsnet.paper.theory.growth import GrowthRow
from popsnet.paper.theory.predictions import ExactRow, FluidRow
from popsnet.paper.theory.separation import RUNS, SeparationRow
from popsnet.paper.verdicts import LEVEL, VerdictRows

_LONGEST = 20
"""Characters of a fraction that a table has room for."""

_LARGE = 64
"""The fluid limit is compared with measured means from this g on."""


@dataclass(frozen=True, slots=True)
class Theory(VerdictRows):
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
        sentences = []
        if self.comparisons:
            agreeing = f"{self.comparisons - self.differing} of {self.comparisons}"
            claim = f"agree with exact chains (family-wise error rate {LEVEL:.0%})"
            sentences.append(f"{agreeing} means {claim}.")
        if attacks := sum(len(row.reached) for row in self.separation):
            confirmed = sum(row.confirmed for row in self.separation)
            sentences.append(
                f"The machine confirms {confirmed} of {attacks} delays of two-hop algorithms."
            )
        return " ".join(sentences)


def theory_tables(theory: Theory) -> tuple[PaperTable, ...]:
    """Return all tables with their captions; those without rows are left out."""
    algorithms = list(theory.separation[0].reached) if theory.separation else []
    two_hops = Column("g", "g = d", "integer"), *map(_reached, algorithms), *_SEPARATION
    family = (
        f" The family-wise error rate of the {theory.comparisons} comparisons is {LEVEL:.0%} "
        "(z tests, Holm's method)."
    )
    largest = max((row.g_largest for row in theory.growth), default=2)
    freedom = max((row.freedom for row in theory.growth), default=0)
    limits = {"sizes": freedom, "largest": log2(log2(largest))}
    candidates = (
        explained("exact", _EXACT, theory.exact, family=family if theory.comparisons else ""),
        explained("fluid", _FLUID, theory.fluid, farthest=_farthest(theory.fluid)),
        explained("growth", _GROWTH, theory.growth, **limits),
        explained("separation", two_hops, theory.separation, runs=RUNS),
    )
    return tuple(table for table in candidates if table.rows)


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
    tables.RUNS_DONE,
    tables.DISTANCE,
    Column("verdict", kind="text"),
)

_FLUID = (
    _ROUTER,
    *tables.NETWORK,
    formatted("slots", "measured", "{:,.2f}", error="error", capped="capped"),
    tables.RUNS_DONE,
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


def _farthest(rows: Sequence[FluidRow]) -> str:
    """Say how far off the limit is on large networks, by router and shape."""
    large = [row for row in rows if row.g >= _LARGE and row.d >= row.g]
    if not large:
        return ""
    most: dict[tuple[str, int], float] = {}
    for row in large:
        kind = row.router, row.d // row.g
        most[kind] = max(most.get(kind, 0.0), row.difference, key=abs)
    texts = [f"{name} at d = {shape(ratio, 1)} {gap:+.1f}" for (name, ratio), gap in most.items()]
    return f" The largest differences for g ≥ {_LARGE}, in slots: {', '.join(texts)}."
