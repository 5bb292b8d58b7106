"""Rows of the tables: the printed values, ours, and the verdicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from popsnet.base.stats.inference import (
    MeanComparison,
    confidence_interval,
    quantile,
    summarize_counts,
)
from popsnet.engines import Tally
from popsnet.experiment.experiment import Experiment
from popsnet.model.network import Network
from popsnet.paper.plan import PaperPlan, Wanted, heavy_tailed
from popsnet.paper.published import SLOTS_A_STEP
from popsnet.paper.verdicts import (
    MAX,
    MEAN,
    SD,
    SLOTS_MEAN,
    Pair,
    PrintedNumber,
    VerdictRows,
    compare_with_print,
    doubted_rows,
    judge,
    maximum_p,
    sd_of,
    sd_p,
)
from popsnet.programs.routers.deterministic import batcher_slots, datta_slots
from popsnet.programs.routers.relay import expected_slots
from popsnet.theory import deterministic_slots

DIRECT = "direct"
"""Relay's plan where nothing is quicker than one hop."""

Results = Mapping[Wanted, Tally]
"""The runs of a plan, by what was wanted."""


@dataclass(frozen=True, slots=True)
class NetworkRow:
    """A row about one network."""

    n: int
    d: int
    g: int

    @property
    def network(self) -> Network:
        """The network."""
        return Network(self.d, self.g)


def shape(d: int, g: int) -> str:
    """Return d in terms of g."""
    return f"g/{g // d}" if d < g else "g" if d == g else f"{d // g}g"


def sizes(network: Network) -> tuple[int, int, int]:
    """Return the first three fields of a row about a network."""
    return network.n, network.d, network.g


@dataclass(frozen=True, slots=True)
class StepsRow(NetworkRow):
    """Steps of the randomized router on one network, in print and here.

    Attributes
    ----------
    low, high : float
        The 95% confidence interval of the mean.
    p, sd_p, max_p : float
        Two-sided p-values of the printed mean, standard deviation and maximum.
    verdict, sd_verdict, max_verdict : str
        The verdicts on them.
    heavy_tail : bool
        See :func:`popsnet.paper.plan.heavy_tailed`.
    tables_differ : bool
        The paper's own two tables differ on this network by more than chance.
    relay_stages : float or None
        The mean number of relay's stages, which are its steps; None if it was not run.
    time_division : bool
        Whether relay's plan is ``direct``: one hop, time division in max(d, g) slots.
    """

    published_mean: float
    published_sd: float
    published_max: int
    mean: float
    sd: float
    max: int
    low: float
    high: float
    median: int
    runs: int
    capped: int
    standard_errors: float
    p: float
    verdict: str
    sd_p: float
    sd_verdict: str
    max_p: float
    max_verdict: str
    heavy_tail: bool
    tables_differ: bool
    relay_stages: float | None
    time_division: bool

    @property
    def compared(self) -> tuple[PrintedNumber, ...]:
        """The comparisons of the row."""
        return (
            PrintedNumber(self.network, MEAN, self.p, self.verdict),
            PrintedNumber(self.network, SD, self.sd_p, self.sd_verdict),
            PrintedNumber(self.network, MAX, self.max_p, self.max_verdict),
        )


@dataclass(frozen=True, slots=True)
class SlotsRow(NetworkRow):
    """Slots on one network: the randomized router and its deterministic rival.

    Attributes
    ----------
    published_sd_taken : float
        Five times the sd of the printed steps: no sd of slots is printed.
    formula : int
        Slots of the rival by its published formula, as the paper corrects it.
    executed : float or None
        Slots of the best deterministic router that is registered, executed; None if none is.
    predicted : int
        Slots of our own deterministic routers by their formulas, executed or not.
    relay : float or None
        The mean slots of relay, until every source knows; None if it was not run.
    relay_ratio : float or None
        How many times as many slots the randomized router of the paper takes.
    time_division : bool
        Whether relay's plan is ``direct``: one hop, time division in max(d, g) slots.
    """

    published_slots: float
    published_sd_taken: float
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
    formula_agrees: bool
    executed: float | None
    executed_by: str
    predicted: int
    relay: float | None
    relay_ratio: float | None
    time_division: bool

    @property
    def compared(self) -> tuple[PrintedNumber, ...]:
        """The comparison of the row."""
        return (PrintedNumber(self.network, SLOTS_MEAN, self.p, self.verdict),)


@dataclass(frozen=True, slots=True)
class RouterRow(NetworkRow):
    """A router and variant on one network: slots, and packets lost.

    Attributes
    ----------
    idealized : bool
        Statistics only: what it counts as delivered is taken for granted.
    lost_share, lost_sd, lost_most : float
        Packets lost, as a share of all: the mean over runs, its sd, and the worst run.
    """

    router: str
    variant: str
    idealized: bool
    runs: int
    capped: int
    mean: float
    sd: float
    max: int
    lost_share: float
    lost_sd: float
    lost_most: float


@dataclass(frozen=True, slots=True)
class RelayRow(NetworkRow):
    """Our own router on one network, and the others beside it.

    Attributes
    ----------
    variant : str
        The schedule that was planned, or ``direct``.
    planned : float
        Slots it was expected to take.
    delivered_mean, delivered_sd : float
        Slots until the last delivery.
    mean, sd, max : float
        Slots until every source knew.
    mei_rizzi : float or None
        Mean slots of the paper's router, counted as the paper does; None where d < g.
    deterministic : int or None
        Slots of the deterministic rival by its formula.
    time_division : bool
        Whether relay's plan is ``direct``: one hop, time division in max(d, g) slots.
    """

    variant: str
    planned: float
    delivered_mean: float
    delivered_sd: float
    mean: float
    sd: float
    max: int
    runs: int
    capped: int
    lost: int
    mei_rizzi: float | None
    mei_rizzi_ratio: float | None
    deterministic: int | None
    deterministic_ratio: float | None
    time_division: bool


@dataclass(frozen=True, slots=True)
class PaperRows(VerdictRows):
    """The rows of the paper's tables, and of those that it does not have."""

    steps: tuple[StepsRow, ...]
    slots: tuple[SlotsRow, ...]
    routers: tuple[RouterRow, ...]
    relay: tuple[RelayRow, ...]

    @property
    def compared(self) -> list[PrintedNumber]:
        """All comparisons with the paper."""
        rows: tuple[StepsRow | SlotsRow, ...] = (*self.steps, *self.slots)
        return [number for row in rows for number in row.compared]

    @property
    def verdicts(self) -> list[str]:
        """The verdicts of all comparisons with the paper."""
        return [number.verdict for number in self.compared]

    @property
    def improbable(self) -> list[PrintedNumber]:
        """Those that would be rejected by themselves and are not in the family."""
        return [number for number in self.compared if number.improbable]

    @property
    def by_statistic(self) -> dict[str, dict[str, int]]:
        """How many comparisons have each verdict, by what is compared."""
        names = {"means": (MEAN, SLOTS_MEAN), "standard deviations": (SD,), "maxima": (MAX,)}
        pairs = [(number.statistic, number.verdict) for number in self.compared]
        return {
            name: dict(Counter(verdict for statistic, verdict in pairs if statistic in statistics))
            for name, statistics in names.items()
        }


def make_rows(plan: PaperPlan, results: Results) -> PaperRows:
    """Return all rows of a plan whose runs are done."""
    pairs = [Pair(row, results[wanted]) for row, wanted in plan.printed]
    tests = [compare_with_print(pair, pair.ours, pair.printed.steps) for pair in pairs]
    tests += [compare_with_print(row, row.our_slots, row.printed.slots_in_print) for row in pairs]
    means = [test.p for test in tests]
    p_values = {MEAN: means[: len(pairs)], SLOTS_MEAN: means[len(pairs) :]}
    p_values |= {SD: [sd_p(pair) for pair in pairs], MAX: [maximum_p(pair) for pair in pairs]}
    verdicts = judge(pairs, p_values)
    executed, theirs = _executed(plan, results), {pair.network: pair for pair in pairs}
    relays = {subject.network: (subject, results[subject, runs]) for subject, runs in plan.relay}
    both = verdicts[MEAN] + verdicts[SLOTS_MEAN]
    judged = [
        (pair, _judged(pair, test, verdict, relays.get(pair.network)), relays.get(pair.network))
        for pair, test, verdict in zip(2 * pairs, tests, both, strict=True)
    ]
    for at, (_, columns, _) in enumerate(judged[: len(pairs)]):  # not printed for slots
        columns |= {"sd_p": p_values[SD][at], "sd_verdict": verdicts[SD][at]}
        columns |= {"max_p": p_values[MAX][at], "max_verdict": verdicts[MAX][at]}
    return PaperRows(
        tuple(_steps_row(*entry) for entry in judged[: len(pairs)]),
        tuple(_slots_row(*entry, executed.get(entry[0].network)) for entry in judged[len(pairs) :]),
        tuple(_router_row(subject, results[subject, runs]) for subject, runs in plan.routers),
        tuple(_relay_row(*relay, theirs.get(network)) for network, relay in relays.items()),
    )


def _executed(plan: PaperPlan, results: Results) -> dict[Network, tuple[float, str]]:
    """Find the deterministic router with the fewest executed slots on each network."""
    best: dict[Network, tuple[float, str]] = {}
    for row, wanted in plan.rivals:
        candidate = results[wanted].mean(), f"{wanted[0].router} ({wanted[0].variant})"
        best[row.network] = min(candidate, best.get(row.network, candidate))
    return best


def _predicted(network: Network) -> int:
    """Return the slots of batcher, which needs d ≤ g, or of datta, whichever are fewer."""
    slots = datta_slots(network)
    return min(slots, batcher_slots(network)) if network.d <= network.g else slots


Relay = tuple[Experiment, Tally] | None
"""Our own router on the same network, and its runs, if there are any."""


def _steps_row(pair: Pair, judged: dict[str, Any], relay: Relay) -> StepsRow:
    printed, summary, tally, network = pair.printed, pair.summary, pair.tally, pair.network
    low, high = confidence_interval(pair.ours)
    return StepsRow(
        *sizes(network), printed.mean_steps, printed.sd_steps, printed.max_steps,
        mean=summary.mean, sd=sd_of(summary), max=summary.max, low=low, high=high,
        median=quantile(tally.steps, 0.5),
        relay_stages=relay[1].mean("steps") if relay else None, **judged,
    )  # fmt: skip


def _judged(pair: Pair, comparison: MeanComparison, verdict: str, relay: Relay) -> dict[str, Any]:
    """Return the columns that rows of steps and of slots have in common."""
    return {
        "runs": pair.tally.runs, "capped": pair.tally.capped,
        "standard_errors": comparison.standard_errors, "p": comparison.p, "verdict": verdict,
        "heavy_tail": heavy_tailed(pair.network), "tables_differ": pair.network in doubted_rows(),
        "time_division": relay is not None and relay[0].variant == DIRECT,
    }  # fmt: skip


def _slots_row(
    pair: Pair, judged: dict[str, Any], relay: Relay, executed: tuple[float, str] | None
) -> SlotsRow:
    printed, summary, network = pair.printed, pair.summary, pair.network
    mean, formula = SLOTS_A_STEP * summary.mean, deterministic_slots(network)
    slots = relay[1].mean() if relay else None
    return SlotsRow(
        *sizes(network), printed.slots, printed.slots_in_print.sd,
        mean=mean, sd=SLOTS_A_STEP * sd_of(summary), **judged,
        published_deterministic=printed.deterministic, formula=formula,
        formula_agrees=formula == printed.deterministic,
        executed=executed[0] if executed else None, executed_by=executed[1] if executed else "",
        predicted=_predicted(network), relay=slots, relay_ratio=mean / slots if slots else None,
    )  # fmt: skip


def _router_row(experiment: Experiment, tally: Tally) -> RouterRow:
    n, slots, lost = experiment.network.n, *map(summarize_counts, (tally.slots, tally.lost))
    return RouterRow(
        *sizes(experiment.network), experiment.router, experiment.variant, experiment.idealized,
        runs=tally.runs, capped=tally.capped, mean=slots.mean, sd=sd_of(slots), max=slots.max,
        lost_share=lost.mean / n, lost_sd=(lost.sd or 0.0) / n, lost_most=lost.max / n,
    )  # fmt: skip


def _relay_row(experiment: Experiment, tally: Tally, theirs: Pair | None) -> RelayRow:
    """Make the row of a network; ``theirs`` is the paper's row, if it has one."""
    network = experiment.network
    slots, delivered = summarize_counts(tally.slots), summarize_counts(tally.slots_delivered)
    randomized = theirs.our_slots.mean if theirs else None
    formula = deterministic_slots(network) if theirs else None
    return RelayRow(
        *sizes(network), experiment.variant, expected_slots(network),
        delivered_mean=delivered.mean, delivered_sd=sd_of(delivered),
        mean=slots.mean, sd=sd_of(slots), max=slots.max, runs=tally.runs, capped=tally.capped,
        lost=sum(packets * times for packets, times in tally.lost.items()),
        mei_rizzi=randomized, mei_rizzi_ratio=randomized / slots.mean if randomized else None,
        deterministic=formula, deterministic_ratio=formula / slots.mean if formula else None,
        time_division=experiment.variant == DIRECT,
    )  # fmt: skip
