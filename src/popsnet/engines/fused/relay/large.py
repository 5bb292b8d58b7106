"""Drives one large run: the stages on threads, each with blocks of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from popsnet.engines.fused.passes import I64, U8
from popsnet.engines.fused.relay.alarm import alarm
from popsnet.engines.fused.relay.grid import grid
from popsnet.engines.fused.relay.ground import (
    ACKED,
    BITS,
    HOME,
    LAST,
    MESSAGES,
    TALLIED,
    Ground,
    Hands,
    Packets,
)
from popsnet.engines.fused.relay.park import park
from popsnet.engines.fused.relay.program import FOLD, GRID, PARK, SHOWER, SWEEP, Program, row_of
from popsnet.engines.fused.relay.shower import judge, mark
from popsnet.engines.fused.relay.stages import LOGGED, SEED_BITS, Public, start, turn_to, write_down
from popsnet.engines.fused.relay.ways import begin

_PACKETS_AT_A_TIME = 2**24
"""A thread comes back to be asked whether to go on after so many packets."""

_GAP = 16
"""Numbers between what different threads write to: a cache line and the one fetched with it."""

Tell = Callable[[int, int, int], None]
"""Hears the steps done, the slots, and what is pending."""


@dataclass
class LargeRun:
    """The memory of runs, one after another; ``steps`` makes one go."""

    ground: Ground
    program: Program
    max_steps: int
    threads: int
    executor: Executor
    stop: U8

    def __post_init__(self) -> None:
        ground, count = self.ground, self.threads
        self.public = Public.of(ground, self.program)
        self.hands = [Hands.of(ground, self.program, self.stop) for _ in range(count)]
        self.cuts = [ground.blocks * t // count for t in range(count + 1)]

    def steps(self, packets: Packets, seed: int, tell: Tell) -> Iterator[I64]:
        """Do step after step; gives the row to be logged of each."""
        ground, program = self.ground, self.program
        start(self.public, np.uint64(seed))
        tallies = np.zeros((self.threads, TALLIED + _GAP), dtype=np.int64)
        tallies[0, MESSAGES], tallies[0, BITS] = 1, SEED_BITS
        away = self._begin(packets, tell)
        pending, step, slots, last = away, 0, 1, int(away < ground.d * ground.g)
        while step == 0 or (pending > 0 and step < self.max_steps):
            if pending > 0:
                row = row_of(step, len(program.stages), program.repeated)
                for _ in self._stage(packets, row, tallies):
                    tell(step, slots, pending)
                pending = self._pending(packets, row, away, tallies)
                here = int(tallies[:, LAST].max())
                last = slots + here if here > 0 else last
                slots += int(program.stages[row, 3])
            log = np.empty(LOGGED, dtype=np.int64)
            write_down(log, away, pending, slots, last, _total(tallies))
            yield log
            step += 1

    def _begin(self, packets: Packets, tell: Tell) -> int:
        """All packets that are not at home are pending; how many."""
        away = np.zeros((self.threads, _GAP), dtype=np.int64)

        def work_on(t: int, first: int, last: int) -> None:
            away[t, 0] += begin(self.ground, packets, self.hands[t], first, last)

        for _ in self._on_threads(work_on):
            tell(0, 0, self.ground.d * self.ground.g)
        return int(away[:, 0].sum())

    def _stage(self, packets: Packets, row: int, tallies: I64) -> Iterator[None]:
        """A stage; comes back now and then."""
        kind, one, other, _ = self.program.stages[row].tolist()
        shift = turn_to(self.ground, self.program, row, self.public)
        tallies[:, LAST] = 0
        shared = self.public.rows, self.public.table[:0]
        if kind in (PARK, SWEEP):
            windows = self.program.windows[one:other], self.public.keys, kind == SWEEP
            yield from self._work(park, packets, tallies, *shared, *windows)
        elif kind == GRID:
            yield from self._work(grid, packets, tallies, *shared, one, shift)
        else:
            for turn in range(one):
                deliveries = self.public.rows, one, turn, self.public.couplers
                if self.ground.d > self.ground.g:
                    self._alone(mark, packets, *deliveries, tallies[0])
                yield from self._work(judge, packets, tallies, *deliveries, kind == FOLD)

    def _work(
        self, stage: Callable[..., None], packets: Packets, tallies: I64, *rest: Any
    ) -> Iterator[None]:
        """A compiled stage on all threads."""

        def work(t: int, first: int, last: int) -> None:
            stage(self.ground, packets, self.hands[t], *rest, first, last, tallies[t])

        yield from self._on_threads(work)

    def _alone(self, work: Callable[..., None], packets: Packets, *rest: Any) -> None:
        """What one thread does for all; a wait for it can be interrupted."""
        self.executor.submit(work, self.ground, packets, self.hands[0], *rest).result()

    def _pending(self, packets: Packets, row: int, away: int, tallies: I64) -> int:
        """How many sources do not know after a stage that their packet has arrived."""
        total = _total(tallies)
        if self.program.stages[row, 0] == SHOWER:
            self._alone(alarm, packets, self.public.groups, tallies[0])
            if total[HOME] == away:
                return 0
        return away - int(total[ACKED])

    def _on_threads(self, work_on: Callable[[int, int, int], None]) -> Iterator[None]:
        """Every thread on its own blocks, a few at a time."""
        stride = max(_PACKETS_AT_A_TIME // self.ground.size, 1)
        for done in range(0, max(b - a for a, b in pairwise(self.cuts)), stride):

            def some(t: int, done: int = done) -> None:
                first, last = self.cuts[t] + done, self.cuts[t + 1]
                work_on(t, first, min(first + stride, last))

            list(self.executor.map(some, range(self.threads)))
            yield


def _total(tallies: I64) -> I64:
    """Of all threads."""
    total = tallies[:, :TALLIED].sum(axis=0)
    total[[LAST, BITS]] = tallies[:, [LAST, BITS]].max(axis=0)
    return np.ascontiguousarray(total)
