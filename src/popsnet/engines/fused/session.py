"""Sessions: a kernel, its threads and their memory, which are kept between runs."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from functools import cached_property, partial
from typing import Any, NoReturn

import numpy as np

from popsnet.engines.engine import Session
from popsnet.engines.fused.arrays import I64, U8, Records
from popsnet.engines.fused.kernel import RESIDENT, Kernel, LargeRun, RunSequence, Seeds, StepReport
from popsnet.engines.fused.team import Team
from popsnet.engines.outcome import COLUMNS, UNKNOWN, Outcome, Outcomes
from popsnet.experiment.experiment import Experiment, Instance
from popsnet.model.network import Network
from popsnet.trace import Event, Observer

STEPS_EXPECTED = 16
"""A log has room for this many steps per run. When it is full it is emptied."""

_PACKETS_AT_A_TIME = 2**22
_MOST_RUNS_AT_A_TIME = 2**14

_DESTINATION_BYTES = 4

_COUNTS = np.dtype([(name, np.int64) for name in COLUMNS])


def runs_at_a_time(network: Network, permutation: str = "random") -> int:
    """Return how many runs are executed in one call of compiled code: several if they are small."""
    many = permutation == "random" and network.n <= RESIDENT
    return min(_PACKETS_AT_A_TIME // network.n, _MOST_RUNS_AT_A_TIME) if many else 1


def session_bytes(
    experiment: Experiment, kernel: Kernel[Any], runs: int | None, threads: int
) -> int:
    """Return the memory of a session: the arrays that its kernel declares, for each thread."""
    n, permutation = experiment.network.n, experiment.permutation
    most = runs_at_a_time(experiment.network, permutation)
    if runs != 1 and most > 1:
        rows = min(most, runs or most) * STEPS_EXPECTED
        return threads * (kernel.workspace_bytes + rows * kernel.runs.log.itemsize)
    if not (kernel.divisible and n > RESIDENT):
        return kernel.workspace_bytes + _DESTINATION_BYTES * n
    destination_bytes = 0 if permutation in ("random", "keyed") else _DESTINATION_BYTES * n
    return kernel.large_run_bytes(threads, permutation == "keyed") + destination_bytes


class FusedSession(Session):
    """Runs of one kernel: small ones each on one thread, a large one on all threads.

    Only a session of an experiment knows runs by their numbers.
    """

    def __init__(
        self, kernel: Kernel[Any], threads: int | None = None, experiment: Experiment | None = None
    ) -> None:
        self.kernel, self._team, self._experiment = kernel, Team(threads), experiment

    def close(self) -> None:
        """End the threads."""
        self._team.close()

    def execute(self, instance: Instance, observers: Sequence[Observer] = ()) -> Outcome:
        """Route one permutation, and call observers after every step."""
        kernel, variant = self.kernel, instance.resolved_variant
        if variant.name != kernel.variant.name:
            raise ValueError(f"This kernel runs {kernel.variant.name}, not {variant.name}.")
        large = kernel.divisible and kernel.network.n > RESIDENT
        report, rows = partial(report_step, observers), []
        try:
            for row in (self._large_run.steps if large else self._steps)(instance, report):
                rows.append(row)
                report(len(rows), int(row["slots"]), int(row["undelivered"]))
        except BaseException:  # threads still work in their memory
            self._abandon()
            raise
        return outcome_of(kernel, rows)

    def run(self, numbers: range, observers: Sequence[Observer] = ()) -> Iterator[Outcomes]:
        """Execute the runs of these numbers, as :meth:`Session.run` says."""
        experiment = self._experiment
        assert experiment is not None
        if len(numbers) > 1 and runs_at_a_time(experiment.network, experiment.permutation) > 1:
            seeds = Seeds(np.uint64(experiment.seed), np.uint64(experiment.permutation_seed))
            yield from self.execute_many(seeds, numbers)
            return
        for number in numbers:
            yield Outcomes.of([self.execute(experiment.instance(number), observers)])

    def _steps(self, instance: Instance, report: StepReport) -> Iterator[np.void]:
        """Execute a run on one thread, and yield the row of each step when it is done."""
        kernel, work = self.kernel, self._workspace
        log = np.zeros(kernel.max_steps, dtype=kernel.runs.log)
        kernel.load(work, instance)
        seed = np.uint64(instance.coins.seed)
        sequence = RunSequence(Seeds(seed, seed), 0, 1, drawn=False)
        run, steps = partial(kernel.route, work, sequence, log), np.zeros(1, dtype=np.int64)
        for _ in self._team.do(lambda _: run(steps), threads=1):
            done = int(np.count_nonzero(log["slots"]))
            row = log[done - 1]
            report(done, int(row["slots"]), int(row["undelivered"]) if done else kernel.network.n)
        yield from log[: np.count_nonzero(log["slots"])]

    def execute_many(self, seeds: Seeds, numbers: range) -> Iterator[Outcomes]:
        """Execute runs on uniform permutations, one per thread, and yield many at a time."""
        idle = list(self.workers)
        team, stride = self._team, runs_at_a_time(self.kernel.network)

        def work(some: range) -> Outcomes:
            worker = idle.pop()
            try:
                return worker.run(seeds, some)
            finally:
                idle.append(worker)

        waiting: deque[Future[Outcomes]] = deque()
        try:
            for first in range(0, len(numbers), stride):
                if len(waiting) >= 2 * team.size:
                    yield waiting.popleft().result()
                waiting.append(team.executor.submit(work, numbers[first : first + stride]))
            while waiting:
                yield waiting.popleft().result()
        except BaseException:  # interrupted or abandoned: threads still work
            for future in waiting:
                future.cancel()
            self._abandon()
            raise

    @cached_property
    def workers(self) -> list[Worker]:
        """The workers, one per thread."""
        return [Worker(self.kernel, self._team.stop) for _ in range(self._team.size)]

    @cached_property
    def _workspace(self) -> Any:
        return self.kernel.workspace(self._team.stop)

    @cached_property
    def _large_run(self) -> LargeRun:
        return self.kernel.large_run(self._team)

    def _abandon(self) -> None:
        """Stop threads that still work, and leave them their memory."""
        self._team.abandon()
        for name in ("workers", "_workspace", "_large_run"):
            self.__dict__.pop(name, None)


class Worker:
    """The memory of one thread that executes runs on uniform permutations."""

    def __init__(self, kernel: Kernel[Any], stop: U8) -> None:
        runs = runs_at_a_time(kernel.network)
        self._kernel, self._workspace, self._stop = kernel, kernel.workspace(stop), stop
        self._log = np.zeros(runs * STEPS_EXPECTED + kernel.max_steps, kernel.runs.log)
        self._steps = np.zeros(runs, np.int64)

    def route(self, seeds: Seeds, first: int, last: int) -> int:
        """Execute runs until the log is full, at most up to the last, and return how many."""
        sequence = RunSequence(seeds, first, last, drawn=True)
        return self._kernel.route(self._workspace, sequence, self._log, self._steps)

    def run(self, seeds: Seeds, numbers: range) -> Outcomes:
        """Execute runs, fewer than these numbers if another thread sets the stop flag."""
        parts, first = [], numbers.start
        while first < numbers.stop and not self._stop[0]:
            count = self.route(seeds, first, numbers.stop)
            parts.append(outcomes_of(self._kernel, self._log, self._steps[:count]))
            first += count
        return Outcomes.joined(parts)


def outcome_of(kernel: Kernel[Any], rows: Sequence[np.void]) -> Outcome:
    """Return the outcome of one run from the rows of its log."""
    return outcomes_of(kernel, np.array(rows, kernel.runs.log), np.array([len(rows)])).at(0)


def outcomes_of(kernel: Kernel[Any], log: Records, steps: I64) -> Outcomes:
    """Return the outcomes of runs with this many steps each, in order in the log."""
    table = np.full((len(steps), len(COLUMNS)), UNKNOWN, dtype=np.int64)
    survivors = np.empty(steps.sum(), dtype=np.int64)
    counts = table.view(_COUNTS).reshape(-1)
    kernel.runs.summarize(kernel.layout, kernel.program, log, steps, counts, survivors)
    return Outcomes(table, survivors, np.empty(0, dtype=np.int64))


def report_step(observers: Sequence[Observer], step: int, slots: int, undelivered: int) -> None:
    """Tell observers how far a run has come."""
    event = Event(slots, "step", step, undelivered, _no_records)
    for observe in observers:
        observe(event)


def _no_records() -> NoReturn:
    raise ValueError("A compiled engine executes no messages to record; use engine='slots'.")
