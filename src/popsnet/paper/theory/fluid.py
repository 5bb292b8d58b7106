"""The fluid limits of the randomized routers, and exact means, beside what was measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import sqrt

from popsnet.network import Network
from popsnet.paper.published import SLOTS_A_STEP
from popsnet.paper.rows import Tables
from popsnet.paper.theory.exact import ExactRow
from popsnet.stats.inference import least_sd
from popsnet.theory import expected_steps

__all__ = ["FluidRow", "fluid_rows"]

_SWEEP = 3
"""Slots of relay's plain sweep at d = g."""


@dataclass(frozen=True, slots=True)
class FluidRow:
    """Mean slots of a randomized router on one network, measured and predicted."""

    n: int
    d: int
    g: int
    router: str
    variant: str
    slots: float
    error: float
    """The standard error of it. Runs that are all alike count as if one were off by one step."""
    runs: int
    capped: int
    exact: float | None
    """The exact mean; None where no chain was solved."""
    limit: float
    """What the fluid limit predicts."""
    difference: float
    """What was measured less what the limit predicts."""


def fluid_rows(tables: Tables, exact: Sequence[ExactRow]) -> tuple[FluidRow, ...]:
    """Mei-rizzi and then relay, on all networks where they were run.

    But for those where relay goes by one hop: it takes max(d, g) slots, and nothing is predicted.
    """
    return (*_mei_rizzi(tables, exact), *_relay(tables))


def _mei_rizzi(tables: Tables, exact: Sequence[ExactRow]) -> Iterator[FluidRow]:
    known = {(row.d, row.g): row.exact for row in exact if row.router == "mei-rizzi"}
    for row in tables.steps:
        mean = known.get((row.d, row.g))
        limit = SLOTS_A_STEP * expected_steps(Network(row.d, row.g))
        slots = SLOTS_A_STEP * row.mean
        yield FluidRow(
            n=row.n,
            d=row.d,
            g=row.g,
            router="mei-rizzi",
            variant="idealized",
            slots=slots,
            error=_error(SLOTS_A_STEP * row.sd, row.runs, SLOTS_A_STEP),
            runs=row.runs,
            capped=row.capped,
            exact=None if mean is None else SLOTS_A_STEP * mean,
            limit=limit,
            difference=slots - limit,
        )


def _relay(tables: Tables) -> Iterator[FluidRow]:
    for row in tables.relay:
        if row.variant != "direct":
            yield FluidRow(
                n=row.n,
                d=row.d,
                g=row.g,
                router="relay",
                variant=row.variant,
                slots=row.mean,
                error=_error(row.sd, row.runs, _SWEEP),
                runs=row.runs,
                capped=row.capped,
                exact=None,
                limit=row.planned,
                difference=row.mean - row.planned,
            )


def _error(sd: float, runs: int, step: int) -> float:
    return max(sd, step * least_sd(runs)) / sqrt(runs)
