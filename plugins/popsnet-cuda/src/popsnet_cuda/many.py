"""Many runs on uniform permutations: batches, logs and histograms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from popsnet.engines.fused.arrays import I64, U64
from popsnet.engines.fused.kernel import Kernel, Seeds
from popsnet.engines.fused.session import outcomes_of
from popsnet.engines.outcome import Outcomes, TalliedRuns, Tally

from popsnet_cuda.arguments import ManyRuns
from popsnet_cuda.device import is_simulated
from popsnet_cuda.driver import as_u64, pieces
from popsnet_cuda.launching import Launch, zeros
from popsnet_cuda.tallying import COLLISIONS, DELIVERED, DESTROYED, HISTOGRAMS, MESSAGES, TOTALS

PACKETS_PER_THREAD = 32
"""A bit for each in a register."""

_WARP, _MOST_THREADS = 32, 1024
_SIMULATED_THREADS = 4

_LOGGED_RUNS = 2**14
_ROOM = 32
"""Steps of a run that its log has room for at first."""
_LOG_BYTES = 2**28

_TALLIED_PACKETS, _TALLIED_RUNS = 2**32, 2**26
"""Of one launch, a fraction of a second: between launches a session can be interrupted."""

_MOST_VALUES = 2**20
"""Of a histogram. Runs that may take more slots are tallied on the host."""


def threads_for(n: int) -> int | None:
    """Return the threads of a block that executes a run, None if they would be too many."""
    if is_simulated() and n <= _SIMULATED_THREADS * PACKETS_PER_THREAD:
        return _SIMULATED_THREADS
    threads = max(-(-n // PACKETS_PER_THREAD // _WARP) * _WARP, _WARP)
    return threads if threads <= _MOST_THREADS else None


class ManyKernel(Protocol):
    """A router for many runs: its kernel, and what that takes besides runs."""

    @property
    def launch(self) -> Launch:
        """The kernel, its threads and its shared memory."""
        ...

    @property
    def fixed(self) -> tuple[Any, ...]:
        """The arguments before and after the runs that do not change."""
        ...

    @property
    def most_slots(self) -> int:
        """The most slots that a run can take."""
        ...


class ManyRunsDriver:
    """Runs of one kernel, whose sessions have these seeds."""

    def __init__(self, kernel: Kernel[Any], many: ManyKernel, seeds: Seeds) -> None:
        self._kernel, self._many, self._seeds = kernel, many, seeds
        self._fields = len(kernel.runs.log.names or ())

    def run(self, numbers: range) -> Iterator[Outcomes]:
        """Execute runs, and yield their outcomes, many at a time."""
        room = min(_ROOM, self._kernel.max_steps)
        first = numbers.start
        while first < numbers.stop:
            most = max(_LOG_BYTES // (room * self._fields * 8), 1)
            some = range(first, min(first + min(most, _LOGGED_RUNS), numbers.stop))
            log, steps = self._logged(some, room)
            if steps.max() > room:  # the same runs again with more room
                room = min(int(steps.max()), self._kernel.max_steps)
                continue
            kept = log[np.arange(room) < steps[:, None]]
            rows = np.ascontiguousarray(kept).view(self._kernel.runs.log).reshape(-1)
            yield outcomes_of(self._kernel, rows, steps)
            first = some.stop

    def _logged(self, numbers: range, room: int) -> tuple[I64, I64]:
        """Execute runs with a log, of a row per step for as many steps as there is room for."""
        runs = len(numbers)
        log, steps = zeros((runs * room, self._fields), np.int64), zeros(runs, np.int64)
        self._start(numbers, room, 1, log, steps, zeros(1, np.uint64), zeros(TOTALS, np.uint64))
        rows: I64 = log.copy_to_host().reshape(runs, room, self._fields)
        taken: I64 = steps.copy_to_host()
        return rows, taken

    def tallies(self, numbers: range) -> Iterator[TalliedRuns]:
        """Execute runs, and yield their histograms, many at a time."""
        width = max(self._many.most_slots, self._kernel.max_steps) + 1
        if width > _MOST_VALUES:
            yield from map(TalliedRuns.of, self.run(numbers))
            return
        size = min(max(_TALLIED_PACKETS // self._kernel.network.n, 1), _TALLIED_RUNS)
        log, steps = zeros((1, self._fields), np.int64), zeros(1, np.int64)
        for some in pieces(numbers, size):
            histograms = zeros(2 * HISTOGRAMS * width, np.uint64)
            totals = zeros(TOTALS, np.uint64)
            self._start(some, 0, width, log, steps, histograms, totals)
            counts = histograms.copy_to_host().reshape(2, HISTOGRAMS, width)
            yield _tallied(len(some), counts, totals.copy_to_host())

    def _start(
        self, numbers: range, room: int, width: int, log: Any, steps: Any, histograms: Any,
        totals: Any,
    ) -> None:  # fmt: skip
        seeds, runs = self._seeds, len(numbers)
        many = ManyRuns(*as_u64(*seeds, numbers.start, runs, self._kernel.max_steps, room, width))
        launch, (shape, program, *arrays) = self._many.launch, self._many.fixed
        arguments = (shape, program, many, *arrays, log, steps, histograms, totals)
        launch(min(runs, launch.resident(arguments)), arguments)


def _tallied(runs: int, counts: U64, totals: U64) -> TalliedRuns:
    """Return the histograms that the device made."""
    capped = int(counts[1, 0].sum())
    everything = replace(
        _tally(runs, capped, counts[0]),
        collisions=int(totals[COLLISIONS]),
        destroyed=int(totals[DESTROYED]),
        messages=int(totals[MESSAGES]),
    )
    return TalliedRuns(everything, _tally(capped, capped, counts[1]), int(totals[DELIVERED]))


def _tally(runs: int, capped: int, counts: U64) -> Tally:
    """Return the histograms of runs, none of which loses a packet."""
    steps, slots, last = map(_counter, counts)
    return Tally(runs, capped, steps, slots, last, Counter({0: runs} if runs else {}))


def _counter(histogram: U64) -> Counter[int]:
    values = np.flatnonzero(histogram)
    return Counter(dict(zip(values.tolist(), histogram[values].tolist(), strict=True)))
