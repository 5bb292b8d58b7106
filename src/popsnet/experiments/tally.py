"""What many runs of a point came to: exact histograms, which can be added."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from popsnet.engines import Outcome

__all__ = ["Tally"]


@dataclass(frozen=True)
class Tally:
    """Counts over runs. A histogram says how many runs came to each value."""

    runs: int = 0
    capped: int = 0
    """Runs that were ended before their time; their steps and slots are in the histograms."""
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
    def of(cls, outcomes: Iterable[Outcome]) -> Tally:
        """The tally of some runs."""
        done = list(outcomes)
        return cls(
            runs=len(done),
            capped=sum(outcome.capped for outcome in done),
            steps=Counter(outcome.steps for outcome in done),
            slots=Counter(outcome.slots for outcome in done),
            slots_delivered=Counter(outcome.slots_delivered for outcome in done),
            lost=Counter(outcome.lost for outcome in done),
            collisions=sum(outcome.collisions for outcome in done),
            destroyed=sum(outcome.destroyed for outcome in done),
            messages=sum(outcome.messages for outcome in done),
        )

    @property
    def histograms(self) -> dict[str, Counter[int]]:
        """All histograms by name."""
        return {
            "steps": self.steps,
            "slots": self.slots,
            "slots_delivered": self.slots_delivered,
            "lost": self.lost,
        }

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            runs=self.runs + other.runs,
            capped=self.capped + other.capped,
            steps=self.steps + other.steps,
            slots=self.slots + other.slots,
            slots_delivered=self.slots_delivered + other.slots_delivered,
            lost=self.lost + other.lost,
            collisions=self.collisions + other.collisions,
            destroyed=self.destroyed + other.destroyed,
            messages=self.messages + other.messages,
        )
