"""Rows of the tables: what the paper prints, what we got, and whether they agree.

Every figure in print is the mean of a hundred runs and has an error of its own, like ours. Both
errors are in the tests: Welch's t of the two means, less what rounding to two decimals may be, and
the means of a hundred of our runs, drawn again and again. Both have to reject. Where the tail is
heavy the t test is no good, and the latter decides alone. The comparisons of ours with the
paper, steps and slots, are one family: by Holm's method the chance that any row of a true table
is said to differ is at most :data:`LEVEL`. The paper's two tables are held against each other in
a second family, at :data:`DOUBT_LEVEL`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache

from popsnet.experiments import Tally
from popsnet.experiments.statistics import (
    Comparison,
    Estimate,
    Summary,
    compare,
    confidence_interval,
    holm,
    least_sd,
    quantile,
    resampled_p,
    summarize_counts,
)
from popsnet.network import Network
from popsnet.paper.plan import Plan, Wanted, heavy_tailed
from popsnet.paper.published import SLOTS_A_STEP, Printed, printed_rows
from popsnet.routing.deterministic import datta_slots
from popsnet.routing.relay import expected_slots
from popsnet.theory import batcher_slots, deterministic_slots

__all__ = [
    "DOUBT_LEVEL",
    "LEVEL",
    "RelayRow",
    "RouterRow",
    "SlotsRow",
    "StepsRow",
    "Tables",
    "doubted_rows",
    "make_tables",
]

LEVEL = 0.01
"""The chance that any row is said to differ from a paper that is right."""

DOUBT_LEVEL = 0.05
"""The chance that any row of the paper is said to differ from the paper's other table."""

_AGREES, _DIFFERS, _OPEN = "agrees", "differs", "too few runs"

_FEWEST_FOR_A_TAIL = 1000
"""With fewer runs a sample may lack its tail, and says nothing about one that has it."""

Results = Callable[[Wanted], Tally]
"""Where the runs of a plan are to be had."""


@dataclass(frozen=True, slots=True)
class StepsRow:
    """Steps of the randomized router on one network, in print and here."""

    n: int
    d: int
    g: int
    published_mean: float
    published_sd: float
    published_max: int
    mean: float
    sd: float
    max: int
    low: float
    """The true mean is between ``low`` and ``high`` with a confidence of 95 %."""
    high: float
    median: int
    runs: int
    capped: int
    standard_errors: float
    p: float
    verdict: str
    heavy_tail: bool
    """See :func:`popsnet.paper.plan.heavy_tailed`."""
    tables_differ: bool
    """The paper's own two tables differ on this network by more than chance."""
    relay_stages: float | None
    """The mean number of relay's stages, which are its steps; None if it was not run."""


@dataclass(frozen=True, slots=True)
class SlotsRow:
    """Slots on one network: the randomized router and its deterministic rival."""

    n: int
    d: int
    g: int
    published_slots: float
    published_sd_taken: float
    """Five times the sd of the printed steps: no sd of slots is printed."""
    mean: float
    sd: float
    runs: int
    capped: int
    standard_errors: float
    p: float
    verdict: str
    heavy_tail: bool
    tables_differ: bool
    published_deterministic: int
    formula: int
    """Slots of the rival by its published formula, as the paper corrects it."""
    formula_agrees: bool
    executed: float | None
    """Slots of the best deterministic router that is registered, executed; None if none is."""
    executed_by: str
    predicted: int
    """Slots of our own deterministic routers by their formulas, executed or not."""
    relay: float | None
    """The mean slots of relay, until every source knows; None if it was not run."""
    relay_ratio: float | None
    """How many times those the randomized router of the paper takes."""


@dataclass(frozen=True, slots=True)
class RelayRow:
    """Our own router on one network, and the others beside it."""

    n: int
    d: int
    g: int
    variant: str
    """The schedule that was planned, or ``direct``."""
    planned: float
    """Slots it was expected to take."""
    delivered_mean: float
    """Slots until the last packet was home."""
    delivered_sd: float
    mean: float
    """Slots until every source knew."""
    sd: float
    max: int
    runs: int
    capped: int
    lost: int
    mei_rizzi: float | None
    """Mean slots of the paper's router, counted as the paper does; None where d < g."""
    mei_rizzi_ratio: float | None
    deterministic: int | None
    """Slots of the deterministic rival by its formula."""
    deterministic_ratio: float | None


@dataclass(frozen=True, slots=True)
class RouterRow:
    """A router and variant on one network: slots, and packets lost."""

    n: int
    d: int
    g: int
    router: str
    variant: str
    idealized: bool
    """Statistics only: what it counts as delivered is taken for granted."""
    runs: int
    capped: int
    mean: float
    sd: float
    max: int
    lost_share: float
    """Packets lost, as a share of all; the mean over runs."""
    lost_sd: float
    lost_most: float
    """The same in the worst run."""


@dataclass(frozen=True, slots=True)
class Tables:
    """All rows."""

    steps: tuple[StepsRow, ...]
    slots: tuple[SlotsRow, ...]
    routers: tuple[RouterRow, ...]
    relay: tuple[RelayRow, ...]

    @property
    def verdicts(self) -> list[str]:
        """Of all rows that are held against the paper."""
        return [row.verdict for row in self.steps] + [row.verdict for row in self.slots]

    @property
    def comparisons(self) -> int:
        """How many of ours can be compared with the paper."""
        return len(self.verdicts) - self.verdicts.count(_OPEN)

    @property
    def differing(self) -> int:
        """How many of them differ."""
        return self.verdicts.count(_DIFFERS)


@dataclass(frozen=True, slots=True)
class _Pair:
    """A row of the paper and our runs of it."""

    printed: Printed
    tally: Tally

    @property
    def summary(self) -> Summary:
        return summarize_counts(self.tally.steps)

    @property
    def ours(self) -> Estimate:
        summary, runs = self.summary, self.tally.runs
        return Estimate(summary.mean, max(_sd(summary), least_sd(runs)), runs)

    @property
    def our_slots(self) -> Estimate:
        steps = self.ours
        return Estimate(SLOTS_A_STEP * steps.mean, SLOTS_A_STEP * steps.sd, steps.runs)


@cache
def doubted_rows() -> frozenset[Network]:
    """The networks where the paper's two tables differ by more than chance."""
    rows = printed_rows()
    p_values = [compare(row.slots_from_steps, row.slots_in_print).p for row in rows]
    rejected = holm(p_values, DOUBT_LEVEL)
    return frozenset(row.network for row, no in zip(rows, rejected, strict=True) if no)


def make_tables(plan: Plan, results: Results) -> Tables:
    """All tables of a plan whose runs are done."""
    pairs = [_Pair(row, results(wanted)) for row, wanted in plan.printed]
    steps = [_compare(pair, pair.ours, pair.printed.steps) for pair in pairs]
    slots = [_compare(pair, pair.our_slots, pair.printed.slots_in_print) for pair in pairs]
    verdicts = _verdicts([*zip(pairs, steps, strict=True), *zip(pairs, slots, strict=True)])
    half = len(pairs)
    executed = _executed(plan, results)
    relays = {one.point.network: results(one) for one in plan.relay}
    theirs = {pair.printed.network: pair for pair in pairs}
    return Tables(
        steps=tuple(
            _steps_row(pair, found, verdict, relays.get(pair.printed.network))
            for pair, found, verdict in zip(pairs, steps, verdicts[:half], strict=True)
        ),
        slots=tuple(
            _slots_row(
                pair,
                found,
                verdict,
                executed.get(pair.printed.network),
                relays.get(pair.printed.network),
            )
            for pair, found, verdict in zip(pairs, slots, verdicts[half:], strict=True)
        ),
        routers=tuple(_router_row(wanted, results(wanted)) for wanted in plan.routers),
        relay=tuple(
            _relay_row(wanted, results(wanted), theirs.get(wanted.point.network))
            for wanted in plan.relay
        ),
    )


def _sd(summary: Summary) -> float:
    """Runs come by tens, so that there is one."""
    assert summary.sd is not None
    return summary.sd


def _compare(pair: _Pair, ours: Estimate, printed: Estimate) -> Comparison:
    """Steps or slots: the larger p of Welch's t and of resampling, or of the latter alone.

    Most rows have two or three different values, one of them rare, and a mean of a hundred is not
    quite normal. Where the tail is heavy the t test is no good at all, and our sd, which has the
    tail, stands for the printed one.
    """
    heavy = heavy_tailed(pair.printed.network)
    found = compare(ours, replace(printed, sd=max(ours.sd, printed.sd)) if heavy else printed)
    if not heavy and found.p > LEVEL:
        return found  # a larger p would say the same
    excess = max(0.0, abs(found.difference) - ours.rounding - printed.rounding)
    in_steps = -math.copysign(excess, found.difference) * pair.ours.mean / ours.mean
    p = resampled_p(pair.tally.steps, in_steps, printed.runs)
    return replace(found, p=p if heavy else max(p, found.p))


def _verdicts(found: Sequence[tuple[_Pair, Comparison]]) -> list[str]:
    """Of all that can be judged, together; the others are left open."""
    judged = [_can_be_judged(pair) for pair, _ in found]
    p_values = [one.p for (_, one), can in zip(found, judged, strict=True) if can]
    rejected = iter(holm(p_values, LEVEL))
    return [(_DIFFERS if next(rejected) else _AGREES) if can else _OPEN for can in judged]


def _can_be_judged(pair: _Pair) -> bool:
    return not heavy_tailed(pair.printed.network) or pair.tally.runs >= _FEWEST_FOR_A_TAIL


def _executed(plan: Plan, results: Results) -> dict[Network, tuple[float, str]]:
    """The fewest slots of a deterministic router that was run on a network, and its name."""
    best: dict[Network, tuple[float, str]] = {}
    for row, wanted in plan.rivals:
        slots = summarize_counts(results(wanted).slots).mean
        found = (slots, _name(wanted))
        best[row.network] = min(found, best.get(row.network, found))
    return best


def _predicted(network: Network) -> int:
    """The fewer slots of batcher, which needs d ≤ g, and datta."""
    slots = datta_slots(network)
    return min(slots, batcher_slots(network)) if network.d <= network.g else slots


def _name(wanted: Wanted) -> str:
    point = wanted.point
    return f"{point.router.name} ({point.variant})"


def _steps_row(pair: _Pair, found: Comparison, verdict: str, relay: Tally | None) -> StepsRow:
    printed, ours, summary = pair.printed, pair.ours, pair.summary
    low, high = confidence_interval(ours)
    return StepsRow(
        n=printed.network.n,
        d=printed.network.d,
        g=printed.network.g,
        published_mean=printed.mean_steps,
        published_sd=printed.sd_steps,
        published_max=printed.max_steps,
        mean=summary.mean,
        sd=_sd(summary),
        max=summary.max,
        low=low,
        high=high,
        median=quantile(pair.tally.steps, 0.5),
        runs=pair.tally.runs,
        capped=pair.tally.capped,
        standard_errors=found.standard_errors,
        p=found.p,
        verdict=verdict,
        heavy_tail=heavy_tailed(printed.network),
        tables_differ=printed.network in doubted_rows(),
        relay_stages=summarize_counts(relay.steps).mean if relay else None,
    )


def _slots_row(
    pair: _Pair,
    found: Comparison,
    verdict: str,
    executed: tuple[float, str] | None,
    relay: Tally | None,
) -> SlotsRow:
    printed, summary = pair.printed, pair.summary
    slots = summarize_counts(relay.slots).mean if relay else None
    formula = deterministic_slots(printed.network)
    return SlotsRow(
        n=printed.network.n,
        d=printed.network.d,
        g=printed.network.g,
        published_slots=printed.slots,
        published_sd_taken=printed.slots_in_print.sd,
        mean=SLOTS_A_STEP * summary.mean,
        sd=SLOTS_A_STEP * _sd(summary),
        runs=pair.tally.runs,
        capped=pair.tally.capped,
        standard_errors=found.standard_errors,
        p=found.p,
        verdict=verdict,
        heavy_tail=heavy_tailed(printed.network),
        tables_differ=printed.network in doubted_rows(),
        published_deterministic=printed.deterministic,
        formula=formula,
        formula_agrees=formula == printed.deterministic,
        executed=executed[0] if executed else None,
        executed_by=executed[1] if executed else "",
        predicted=_predicted(printed.network),
        relay=slots,
        relay_ratio=SLOTS_A_STEP * summary.mean / slots if slots else None,
    )


def _relay_row(wanted: Wanted, tally: Tally, theirs: _Pair | None) -> RelayRow:
    network = wanted.point.network
    slots, delivered = summarize_counts(tally.slots), summarize_counts(tally.slots_delivered)
    randomized = theirs.our_slots.mean if theirs else None
    formula = deterministic_slots(network) if theirs else None
    return RelayRow(
        n=network.n,
        d=network.d,
        g=network.g,
        variant=wanted.point.variant,
        planned=expected_slots(network),
        delivered_mean=delivered.mean,
        delivered_sd=_sd(delivered),
        mean=slots.mean,
        sd=_sd(slots),
        max=slots.max,
        runs=tally.runs,
        capped=tally.capped,
        lost=sum(packets * times for packets, times in tally.lost.items()),
        mei_rizzi=randomized,
        mei_rizzi_ratio=randomized / slots.mean if randomized else None,
        deterministic=formula,
        deterministic_ratio=formula / slots.mean if formula else None,
    )


def _router_row(wanted: Wanted, tally: Tally) -> RouterRow:
    point = wanted.point
    slots, lost = summarize_counts(tally.slots), summarize_counts(tally.lost)
    return RouterRow(
        n=point.network.n,
        d=point.network.d,
        g=point.network.g,
        router=point.router.name,
        variant=point.variant,
        idealized=point.router.variant(point.variant).idealized,
        runs=tally.runs,
        capped=tally.capped,
        mean=slots.mean,
        sd=_sd(slots),
        max=slots.max,
        lost_share=lost.mean / point.network.n,
        lost_sd=(lost.sd or 0.0) / point.network.n,
        lost_most=lost.max / point.network.n,
    )
