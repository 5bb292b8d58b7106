"""The section on theory: all its rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from popsnet.paper.plan import PaperPlan
from popsnet.paper.rows import Results, Tables
from popsnet.paper.theory.exact import ExactRow, exact_rows
from popsnet.paper.theory.fluid import FluidRow, fluid_rows
from popsnet.paper.theory.growth import GrowthRow, growth_rows
from popsnet.paper.theory.separation import SeparationRow
from popsnet.paper.verdicts import DIFFERS, LEVEL, OPEN

__all__ = ["Theory", "make_theory", "theory_summary"]


@dataclass(frozen=True, slots=True)
class Theory:
    """All rows of the section."""

    exact: tuple[ExactRow, ...]
    fluid: tuple[FluidRow, ...]
    growth: tuple[GrowthRow, ...]
    separation: tuple[SeparationRow, ...]

    @property
    def comparisons(self) -> int:
        """How many means can be held against exact ones."""
        return sum(row.verdict != OPEN for row in self.exact)

    @property
    def differing(self) -> int:
        """How many of them differ."""
        return sum(row.verdict == DIFFERS for row in self.exact)


def make_theory(
    plan: PaperPlan, tables: Tables, results: Results, separation: Sequence[SeparationRow]
) -> Theory:
    """The section of a plan whose runs and attacks are done."""
    exact = exact_rows(plan.exact, results)
    fluid = fluid_rows(tables, exact)
    return Theory(exact, fluid, growth_rows(fluid), tuple(separation))


def theory_summary(theory: Theory) -> str:
    """What the section comes to, in a sentence or two."""
    agreeing = theory.comparisons - theory.differing
    text = (
        f"{agreeing} of {theory.comparisons} means agree with exact chains; the chance of any "
        f"false alarm is at most {LEVEL:.0%}."
        if theory.comparisons
        else "There are too few runs to compare means with exact chains."
    )
    confirmed = sum(row.confirmed for row in theory.separation)
    attacks = sum(len(row.reached) for row in theory.separation)
    if attacks:
        text += f" The machine confirms {confirmed} of {attacks} delays of two-hop algorithms."
    return text
