"""Drivers: the host's part of runs on the device, which they share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np
from popsnet.engines.fused.kernel import StepReport
from popsnet.engines.outcome import Outcomes, TalliedRuns
from popsnet.experiment.experiment import Instance


class LargeDriver(Protocol):
    """One run at a time, on the whole device."""

    def steps(self, instance: Instance, report: StepReport) -> Iterator[np.void]:
        """Route one permutation, and yield the row of the log of each step."""
        ...


class ManyDriver(Protocol):
    """Many runs on uniform permutations, a block of threads each."""

    def run(self, numbers: range) -> Iterator[Outcomes]:
        """Execute runs, and yield their outcomes, many at a time."""
        ...

    def tallies(self, numbers: range) -> Iterator[TalliedRuns]:
        """Execute runs, and yield their histograms, many at a time."""
        ...


def pieces(numbers: range, size: int) -> Iterator[range]:
    """Cut a range into ranges of at most this size."""
    for first in range(numbers.start, numbers.stop, size):
        yield range(first, min(first + size, numbers.stop))


def as_u64(*values: Any) -> Sequence[np.uint64]:
    """Return numbers for a kernel."""
    return [np.uint64(value) for value in values]
