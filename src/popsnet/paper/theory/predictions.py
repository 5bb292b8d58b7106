"""Predictions of theory beside measured means: exact means of the steps, and fluid limits.

An exact chain gives mean and variance of the steps as fractions. The standard error of the mean of
the runs is thus known without the sample: a z test. All rows are one family: by Holm's
method the family-wise error rate is :data:`popsnet.paper.verdicts.LEVEL`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import sqrt

from popsnet.base.stats.inference import least_sd, summarize_counts
from popsnet.engines import Tally
from popsnet.experiment.experiment import Experiment
from popsnet.model.network import Network
from popsnet.paper.plan import Wanted
from popsnet.paper.published import SLOTS_A_STEP
from popsnet.paper.rows import NetworkRow, PaperRows, RelayRow, Results, StepsRow, sizes
from popsnet.paper.verdicts import FEWEST_FOR_A_TAIL, OPEN, verdicts_of
from popsnet.theory import expected_steps
from popsnet.theory.exact import ROUTERS

_SWEEP = 3
"""Slots of relay's plain sweep at d = g."""


@dataclass(frozen=True, slots=True)
class ExactRow(NetworkRow):
    """The steps of a randomized router on a tiny network: their exact mean, and that of runs.

    Attributes
    ----------
    states : int
        States of the chain, up to the names of groups.
    error : float
        The standard error of the mean of the runs, by the exact distribution.
    """

    router: str
    variant: str
    states: int
    exact_fraction: str
    exact: float
    exact_sd: float
    mean: float
    error: float
    runs: int
    capped: int
    standard_errors: float
    p: float
    verdict: str


def exact_rows(wanted: Sequence[Wanted], results: Results) -> tuple[ExactRow, ...]:
    """Solve the chains and judge the runs, all rows together."""
    rows = [_row(pair[0], results[pair]) for pair in wanted]
    # The distributions are skewed: the mean of few runs is not normal.
    enough = [row.runs >= FEWEST_FOR_A_TAIL for row in rows]
    verdicts = verdicts_of([row.p for row in rows], enough)
    return tuple(replace(row, verdict=verdict) for row, verdict in zip(rows, verdicts, strict=True))


def _row(experiment: Experiment, tally: Tally) -> ExactRow:
    """Make a row without its verdict."""
    from scipy.special import ndtr

    network, router = experiment.network, experiment.router
    chain = ROUTERS[router](network)
    first, second = chain.moments()
    exact, sd = float(first), sqrt(second - first * first)
    mean = summarize_counts(_steps(network, router, tally)).mean
    error = sd / sqrt(tally.runs)
    far = (mean - exact) / error
    return ExactRow(
        *sizes(network), router, experiment.variant, chain.states, str(first), exact, sd,
        mean=mean, error=error, runs=tally.runs, capped=tally.capped, standard_errors=far,
        p=2 * float(ndtr(-abs(far))), verdict=OPEN,
    )  # fmt: skip


def _steps(network: Network, router: str, tally: Tally) -> Counter[int]:
    """Count steps; those of relay by slots, as a run with all packets delivered has none."""
    if router != "relay":
        return tally.steps
    stage = 2 * -(-network.d // network.g) + 1
    return Counter({(slots - 1) // stage: runs for slots, runs in tally.slots.items()})


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
        The measured mean minus the prediction of the limit.
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

    Networks where relay's plan is direct are left out: its slots are known, not predicted.
    """
    known = {(row.d, row.g): SLOTS_A_STEP * row.exact for row in exact if row.router == "mei-rizzi"}
    randomized = (_mei_rizzi(row, known.get((row.d, row.g))) for row in rows.steps)
    return (*randomized, *(_relay(row) for row in rows.relay if not row.time_division))


def _mei_rizzi(row: StepsRow, exact: float | None) -> FluidRow:
    slots, sd = SLOTS_A_STEP * row.mean, SLOTS_A_STEP * row.sd
    limit = SLOTS_A_STEP * expected_steps(row.network)
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
