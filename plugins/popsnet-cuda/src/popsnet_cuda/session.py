"""Sessions: runs of one experiment on the device, many at once or one large one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np
from popsnet.engines.engine import Session
from popsnet.engines.fused.kernel import Kernel, Seeds
from popsnet.engines.fused.session import outcome_of, report_step
from popsnet.engines.fused.team import Team
from popsnet.engines.outcome import Outcome, Outcomes, TalliedRuns
from popsnet.experiment.experiment import Experiment, Instance
from popsnet.trace import Observer

from popsnet_cuda.driver import LargeDriver, ManyDriver
from popsnet_cuda.many import ManyRunsDriver
from popsnet_cuda.routers import fits_many, large_of, many_of


class DeviceRuns:
    """Single runs of one kernel on the whole device."""

    def __init__(self, kernel: Kernel[Any], threads: int | None = None) -> None:
        self.kernel, self._team = kernel, Team(threads)

    def execute(self, instance: Instance, observers: Sequence[Observer] = ()) -> Outcome:
        """Route one permutation, and call observers after every step."""
        report, rows = partial(report_step, observers), []
        for row in self._large.steps(instance, report):
            rows.append(row)
            report(len(rows), int(row["slots"]), int(row["undelivered"]))
        return outcome_of(self.kernel, rows)

    @cached_property
    def _large(self) -> LargeDriver:
        return large_of(self.kernel, self._team)

    def close(self) -> None:
        """End the threads that draw permutations, and release the memory of the device."""
        self._team.close()
        self.__dict__.pop("_large", None)


class CudaSession(DeviceRuns, Session):
    """Runs of one experiment."""

    def __init__(
        self, experiment: Experiment, kernel: Kernel[Any], threads: int | None = None
    ) -> None:
        super().__init__(kernel, threads)
        self._experiment = experiment

    def run(self, numbers: range, observers: Sequence[Observer] = ()) -> Iterator[Outcomes]:
        """Execute the runs of these numbers, as :meth:`Session.run` says."""
        if self._many is not None and len(numbers) > 1:
            yield from self._many.run(numbers)
            return
        for number in numbers:
            yield Outcomes.of([self.execute(self._experiment.instance(number), observers)])

    def tallies(self, numbers: range, observers: Sequence[Observer] = ()) -> Iterator[TalliedRuns]:
        """Execute the runs of these numbers, as :meth:`Session.tallies` says."""
        if self._many is not None and len(numbers) > 1:
            return self._many.tallies(numbers)
        return map(TalliedRuns.of, self.run(numbers, observers))

    @cached_property
    def _many(self) -> ManyDriver | None:
        experiment = self._experiment
        if experiment.permutation != "random" or not fits_many(self.kernel):
            return None
        seeds = Seeds(np.uint64(experiment.seed), np.uint64(experiment.permutation_seed))
        return ManyRunsDriver(self.kernel, many_of(self.kernel), seeds)

    def close(self) -> None:
        """End the threads that draw permutations, and release the memory of the device."""
        super().close()
        self.__dict__.pop("_many", None)
