"""Engines that execute every message: one run after another, nothing kept between runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from popsnet.engines.outcome import Outcome, Outcomes
from popsnet.engines.session import Session
from popsnet.experiment import Experiment, Instance
from popsnet.trace import Observer

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
