"""What an engine is, and what a session of one is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from operator import add
from typing import Protocol, Self

from popsnet.engines.outcome import Outcome, Outcomes
from popsnet.engines.tally import Tally
from popsnet.experiment import Experiment, Instance
from popsnet.trace import Observer


class Session(Protocol):
    """Runs of one experiment, one after another, with the same threads and memory."""

    def run(self, numbers: range, observers: Sequence[Observer] = ()) -> Iterator[Outcomes]:
        """Do the runs of these numbers; results come in order, some runs at a time.

        Observers are called from the calling thread, after every slot or now and then.
        """
        ...

    def tally(self, numbers: range, observers: Sequence[Observer] = ()) -> Tally:
        """Do the runs of these numbers and return their histograms."""
        return reduce(add, map(Tally.of, self.run(numbers, observers)), Tally())

    def close(self) -> None:
        """End the threads and release the memory."""
        return

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Engine(Protocol):
    """A way to execute routers."""

    @property
    def name(self) -> str:
        """The name of the engine."""
        ...

    @property
    def messages(self) -> bool:
        """Whether it executes messages, which can be traced, or only what decides who survives."""
        ...

    def supports(self, experiment: Experiment) -> str | None:
        """Return why the engine cannot run an experiment, or None if it can."""
        ...

    def memory(self, experiment: Experiment) -> int:
        """Return the bytes that a session takes, rounded up."""
        ...

    def batch(self, experiment: Experiment) -> int:
        """Return how many runs to hand to a worker at once, so that the handing over is cheap."""
        ...

    def open(self, experiment: Experiment, threads: int | None = None) -> Session:
        """Open a session; it uses this many threads, or all there are."""
        ...

    def execute(self, instance: Instance, observers: Sequence[Observer] = ()) -> Outcome:
        """Do one run of anything that the engine can run."""
        ...
