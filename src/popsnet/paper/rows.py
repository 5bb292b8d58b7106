"""Rows of the tables: what the paper prints, what we got, and the verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from popsnet.engines import Tally
from popsnet.experiment import Experiment
from popsnet.network import Network
from popsnet.paper.plan import PaperPlan, Wanted, heavy_tailed
from popsnet.paper.published import SLOTS_A_STEP
from popsnet.paper.relay import RelayRow, relay_row
from popsnet.paper.verdicts import (
    DIFFERS,
    OPEN,
    Pair,
    compare_with_print,
    doubted_rows,
    sd_of,
    verdicts_of,
)
from popsnet.routing.deterministic import batcher_slots, datta_slots
from popsnet.stats.inference import MeanComparison, confidence_interval, quantile, summarize_counts
from popsnet.theory import deterministic_slots

__all__ = ["Results", "RouterRow", "SlotsRow", "StepsRow", "Tables", "make_tables"]

Results = Mapping[Wanted, Tally]
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
        return len(self.verdicts) - self.verdicts.count(OPEN)

    @property
    def differing(self) -> int:
        """How many of them differ."""
        return self.verdicts.count(DIFFERS)


def make_tables(plan: PaperPlan, results: Results) -> Tables:
    """All tables of a plan whose runs are done."""
    pairs = [Pair(row, results[wanted]) for row, wanted in plan.printed]
    steps = [compare_with_print(pair, pair.ours, pair.printed.steps) for pair in pairs]
    slots = [
        compare_with_print(pair, pair.our_slots, pair.printed.slots_in_print) for pair in pairs
    ]
    verdicts = verdicts_of([*zip(pairs, steps, strict=True), *zip(pairs, slots, strict=True)])
    half = len(pairs)
    executed = _executed(plan, results)
    relays = {one[0].network: results[one] for one in plan.relay}
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
        routers=tuple(_router_row(wanted[0], results[wanted]) for wanted in plan.routers),
        relay=tuple(
            relay_row(wanted[0], results[wanted], theirs.get(wanted[0].network))
            for wanted in plan.relay
        ),
    )


def _executed(plan: PaperPlan, results: Results) -> dict[Network, tuple[float, str]]:
    """The fewest slots of a deterministic router that was run on a network, and its name."""
    best: dict[Network, tuple[float, str]] = {}
    for row, wanted in plan.rivals:
        slots = summarize_counts(results[wanted].slots).mean
        found = (slots, _name(wanted[0]))
        best[row.network] = min(found, best.get(row.network, found))
    return best


def _predicted(network: Network) -> int:
    """The fewer slots of batcher, which needs d ≤ g, and datta."""
    slots = datta_slots(network)
    return min(slots, batcher_slots(network)) if network.d <= network.g else slots


def _name(experiment: Experiment) -> str:
    return f"{experiment.router} ({experiment.variant})"


def _steps_row(pair: Pair, found: MeanComparison, verdict: str, relay: Tally | None) -> StepsRow:
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
        sd=sd_of(summary),
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
    pair: Pair,
    found: MeanComparison,
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
        sd=SLOTS_A_STEP * sd_of(summary),
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


def _router_row(experiment: Experiment, tally: Tally) -> RouterRow:
    network = experiment.network
    slots, lost = summarize_counts(tally.slots), summarize_counts(tally.lost)
    return RouterRow(
        n=network.n,
        d=network.d,
        g=network.g,
        router=experiment.router,
        variant=experiment.variant,
        idealized=experiment.idealized,
        runs=tally.runs,
        capped=tally.capped,
        mean=slots.mean,
        sd=sd_of(slots),
        max=slots.max,
        lost_share=lost.mean / network.n,
        lost_sd=(lost.sd or 0.0) / network.n,
        lost_most=lost.max / network.n,
    )
