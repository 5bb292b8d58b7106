"""The counts of many runs together: exact histograms, which can be added."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from popsnet.engines.outcome import Outcomes

HISTOGRAMS = ("steps", "slots", "slots_delivered", "lost")
"""The counts of which a tally has a histogram."""

TOTALS = ("collisions", "destroyed", "messages")
"""The counts of which a tally has the sum over all runs."""


@dataclass(frozen=True)
class Tally:
    """Counts over runs. A histogram says how many runs came to each value."""

    runs: int = 0
    capped: int = 0
    """Runs that were capped; their steps and slots are in the histograms."""
    steps: Counter[int] = field(default_factory=Counter)
    slots: Counter[int] = field(default_factory=Counter)
    slots_delivered: Counter[int] = field(default_factory=Counter)
    """The slot of a run's last delivery."""
    lost: Counter[int] = field(default_factory=Counter)
    """Packets lost by a run."""
    collisions: int = 0
    destroyed: int = 0
    messages: int = 0

    @classmethod
    def of(cls, outcomes: Outcomes) -> Tally:
        """Return the tally of some runs."""
        counts: dict[str, Any] = {name: _histogram(outcomes, name) for name in HISTOGRAMS}
        counts |= {name: int(outcomes.column(name).sum()) for name in (*TOTALS, "capped")}
        return cls(runs=len(outcomes), **counts)

    @property
    def histograms(self) -> dict[str, Counter[int]]:
        """All histograms by name."""
        return {name: getattr(self, name) for name in HISTOGRAMS}

    def mean(self, name: str = "slots") -> float:
        """Return the mean over the runs of one of the counts that have a histogram.

        Examples
        --------
        >>> import popsnet
        >>> popsnet.route(4, 4, router="direct", runs=3).tally.mean("slots")
        4.0
        """
        histogram = self.histograms[name]
        return sum(value * runs for value, runs in histogram.items()) / histogram.total()

    def __add__(self, other: Tally) -> Tally:
        pairs = ((getattr(self, one.name), getattr(other, one.name)) for one in fields(self))
        return Tally(*(mine + theirs for mine, theirs in pairs))


def _histogram(outcomes: Outcomes, name: str) -> Counter[int]:
    values, counts = np.unique(outcomes.column(name), return_counts=True)
    return Counter(dict(zip(values.tolist(), counts.tolist(), strict=True)))
