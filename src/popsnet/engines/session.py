"""What an engine is, and a session of one; engines that execute every message."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Protocol, Self, TypeAlias

from popsnet.engines.outcome import Outcome, Outcomes, Tally
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


_BUFFER_BYTES = 4

Execute: TypeAlias = Callable[[Instance, Sequence[Observer]], Outcome]


@dataclass(frozen=True)
class MessageEngine:
    """An engine that executes an instance message by message."""

    name: str
    route: Execute
    bytes_per_processor: int
    """Memory of a run besides the buffers, measured and rounded up."""
    obstacle: Callable[[Experiment], str | None]
    """Why it cannot run an experiment, or None if it can."""
    messages: bool = True

    def supports(self, experiment: Experiment) -> str | None:
        """Return why the engine cannot run an experiment, or None if it can."""
        if experiment.network.n >= 2**31:
            return f"it numbers processors with 31 bits, and n = {experiment.network.n:,}"
        return self.obstacle(experiment)

    def memory(self, experiment: Experiment) -> int:
        """Return the bytes that a run takes, rounded up."""
        per_processor = self.bytes_per_processor + _BUFFER_BYTES * experiment.buffers
        return experiment.network.n * per_processor

    def batch(self, experiment: Experiment) -> int:
        """Return 1: a run may take long, and what a worker does at once is kept as a whole."""
        return 1

    def open(self, experiment: Experiment, threads: int | None = None) -> Session:
        """Open a session, which does one run after another on the calling thread."""
        return _MessageSession(self, experiment)

    def execute(self, instance: Instance, observers: Sequence[Observer] = ()) -> Outcome:
        """Do one run."""
        return self.route(instance, observers)


class _MessageSession(Session):
    def __init__(self, engine: MessageEngine, experiment: Experiment) -> None:
        self._engine, self._experiment = engine, experiment

    def run(self, numbers: range, observers: Sequence[Observer] = ()) -> Iterator[Outcomes]:
        for number in numbers:
            outcome = self._engine.execute(self._experiment.instance(number), observers)
            yield Outcomes.of([outcome])
