"""The fluid limits of the randomized routers, and exact means, beside what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

from popsnet.network import Network
from popsnet.paper.published import SLOTS_A_STEP
from popsnet.paper.rows import NetworkRow, PaperRows, RelayRow, StepsRow
from popsnet.paper.theory.exact import ExactRow
from popsnet.stats.inference import least_sd
from popsnet.theory import expected_steps

_SWEEP = 3
"""Slots of relay's plain sweep at d = g."""


@dataclass(frozen=True, slots=True)
class FluidRow(NetworkRow):
    """Mean slots of a randomized router on one network, measured and predicted.

    Attributes
    ----------
    error : float
        The standard error of the slots. Runs that are all alike count as if one were off by one
        step.
    exact : float or None
        The exact mean; None where no chain was solved.
    limit : float
        What the fluid limit predicts.
    difference : float
        What was measured less what the limit predicts.
    """

    router: str
    variant: str
    slots: float
    error: float
    runs: int
    capped: int
    exact: float | None
    limit: float
    difference: float


def fluid_rows(rows: PaperRows, exact: Sequence[ExactRow]) -> tuple[FluidRow, ...]:
    """Return rows of mei-rizzi and then of relay, on all networks where they were run.

    But for those where relay goes by one hop: it takes max(d, g) slots, and nothing is predicted.
    """
    known = {(row.d, row.g): SLOTS_A_STEP * row.exact for row in exact if row.router == "mei-rizzi"}
    randomized = (_mei_rizzi(row, known.get((row.d, row.g))) for row in rows.steps)
    return (*randomized, *(_relay(row) for row in rows.relay if row.variant != "direct"))


def _mei_rizzi(row: StepsRow, exact: float | None) -> FluidRow:
    slots, sd = SLOTS_A_STEP * row.mean, SLOTS_A_STEP * row.sd
    limit = SLOTS_A_STEP * expected_steps(Network(row.d, row.g))
    return FluidRow(
        row.n, row.d, row.g, "mei-rizzi", "idealized", slots, _error(sd, row.runs, SLOTS_A_STEP),
        row.runs, row.capped, exact, limit, slots - limit,
    )  # fmt: skip


def _relay(row: RelayRow) -> FluidRow:
    return FluidRow(
        row.n, row.d, row.g, "relay", row.variant, row.mean, _error(row.sd, row.runs, _SWEEP),
        row.runs, row.capped, None, row.planned, row.mean - row.planned,
    )  # fmt: skip


def _error(sd: float, runs: int, step: int) -> float:
    return max(sd, step * least_sd(runs)) / sqrt(runs)
