"""Rows of relay, our own router, and of the others beside it."""

from __future__ import annotations

from dataclasses import dataclass

from popsnet.engines import Tally
from popsnet.experiment import Experiment
from popsnet.paper.verdicts import Pair, sd_of
from popsnet.routing.relay import expected_slots
from popsnet.stats.inference import summarize_counts
from popsnet.theory import deterministic_slots

__all__ = ["RelayRow", "relay_row"]


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


def relay_row(experiment: Experiment, tally: Tally, theirs: Pair | None) -> RelayRow:
    """The row of a network; ``theirs`` is the paper's row, if it has one."""
    network = experiment.network
    slots, delivered = summarize_counts(tally.slots), summarize_counts(tally.slots_delivered)
    randomized = theirs.our_slots.mean if theirs else None
    formula = deterministic_slots(network) if theirs else None
    return RelayRow(
        n=network.n,
        d=network.d,
        g=network.g,
        variant=experiment.variant,
        planned=expected_slots(network),
        delivered_mean=delivered.mean,
        delivered_sd=sd_of(delivered),
        mean=slots.mean,
        sd=sd_of(slots),
        max=slots.max,
        runs=tally.runs,
        capped=tally.capped,
        lost=sum(packets * times for packets, times in tally.lost.items()),
        mei_rizzi=randomized,
        mei_rizzi_ratio=randomized / slots.mean if randomized else None,
        deterministic=formula,
        deterministic_ratio=formula / slots.mean if formula else None,
    )
