"""The section on theory: all its rows."""

from __future__ import annotations

from dataclasses import dataclass

from popsnet.paper.theory.exact import ExactRow
from popsnet.paper.theory.fluid import FluidRow
from popsnet.paper.theory.growth import GrowthRow
from popsnet.paper.theory.separation import SeparationRow
from popsnet.paper.verdicts import LEVEL, Judged


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
