"""Exact means of the steps on tiny networks, and sampled ones beside them.

An exact chain gives mean and variance of the steps as fractions. The mean of so many runs should be
off by its standard error, which is known without the sample: a z test. Runs of all rows are one
family: by Holm's method the chance that any mean that is right is said to differ is at most
:data:`popsnet.paper.verdicts.LEVEL`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import sqrt

from popsnet.engines import Tally
from popsnet.exact import ROUTERS
from popsnet.experiment import Experiment
from popsnet.network import Network
from popsnet.paper.plan import Wanted
from popsnet.paper.rows import Results
from popsnet.paper.verdicts import AGREES, DIFFERS, FEWEST_FOR_A_TAIL, LEVEL, OPEN
from popsnet.stats.inference import holm, summarize_counts

__all__ = ["ExactRow", "exact_rows"]


@dataclass(frozen=True, slots=True)
class ExactRow:
    """The steps of a randomized router on a tiny network: their exact mean, and that of runs."""

    n: int
    d: int
    g: int
    router: str
    variant: str
    states: int
    """Of the chain, up to the names of groups."""
    exact_fraction: str
    exact: float
    exact_sd: float
    mean: float
    error: float
    """The standard error of the mean of so many runs, by the exact law."""
    runs: int
    capped: int
    standard_errors: float
    p: float
    verdict: str


def exact_rows(wanted: Sequence[Wanted], results: Results) -> tuple[ExactRow, ...]:
    """Solve the chains and judge the runs, all rows together."""
    rows = [_row(one[0], results[one]) for one in wanted]
    judged = [row for row in rows if row.verdict != OPEN]
    rejected = iter(holm([row.p for row in judged], LEVEL))
    return tuple(
        row if row.verdict == OPEN else replace(row, verdict=DIFFERS if next(rejected) else AGREES)
        for row in rows
    )


def _row(experiment: Experiment, tally: Tally) -> ExactRow:
    """A row that is open, or is still to be judged."""
    from scipy.special import ndtr

    network, router = experiment.network, experiment.router
    chain = ROUTERS[router](network)
    first, second = chain.moments()
    exact, sd = float(first), sqrt(_variance(first, second))
    mean = summarize_counts(_steps(network, router, tally)).mean
    error = sd / sqrt(tally.runs)
    far = (mean - exact) / error
    return ExactRow(
        n=network.n,
        d=network.d,
        g=network.g,
        router=router,
        variant=experiment.variant,
        states=chain.states,
        exact_fraction=str(first),
        exact=exact,
        exact_sd=sd,
        mean=mean,
        error=error,
        runs=tally.runs,
        capped=tally.capped,
        standard_errors=far,
        p=2 * float(ndtr(-abs(far))),
        # The laws are skewed: the mean of few runs is not normal.
        verdict=AGREES if tally.runs >= FEWEST_FOR_A_TAIL else OPEN,
    )


def _variance(first: Fraction, second: Fraction) -> Fraction:
    return second - first * first


def _steps(network: Network, router: str, tally: Tally) -> Counter[int]:
    """The stages of relay are counted by slots: a run in which all are at home has none."""
    if router != "relay":
        return tally.steps
    stage = 2 * -(-network.d // network.g) + 1
    return Counter({(slots - 1) // stage: runs for slots, runs in tally.slots.items()})
