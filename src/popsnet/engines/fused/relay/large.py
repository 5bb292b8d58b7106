"""One large run: threads execute the stages, each for some blocks at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import numpy as np

from popsnet.engines.fused.arrays import Records
from popsnet.engines.fused.kernel import LargeRun, StepReport
from popsnet.engines.fused.relay.elect import elect
from popsnet.engines.fused.relay.global_or import global_or
from popsnet.engines.fused.relay.grid import grid
from popsnet.engines.fused.relay.layout import (
    TALLY,
    Bijections,
    BlockRange,
    Places,
    RelayLayout,
    RelayPackets,
    RelayWorkspace,
)
from popsnet.engines.fused.relay.marked import Echo, marked
from popsnet.engines.fused.relay.park import Windows, park
from popsnet.engines.fused.relay.pending import begin
from popsnet.engines.fused.relay.program import (
    FOLD,
    GRID,
    MARKED,
    PARK,
    SHOWER,
    SWEEP,
    TEAM,
    Program,
    row_of,
)
from popsnet.engines.fused.relay.shower import Deliveries, mark, resolve
from popsnet.engines.fused.relay.stages import LOG, PublicState, finish, prepare, start, write_row
from popsnet.engines.fused.team import GAP, Team
from popsnet.experiment import Instance

_PACKETS_AT_A_TIME = 2**24
"""The most packets of a piece of work."""


class DividedRun(LargeRun):
    """Runs of relay on all threads, which take blocks of packets."""

    def __init__(self, layout: RelayLayout, program: Program, team: Team) -> None:
        super().__init__(layout.d * layout.g, layout.d * layout.g, np.uint32, team)
        self.layout, self.program, threads = layout, program, range(team.size)
        self.public = PublicState.of(layout, program)
        self.workspaces = [RelayWorkspace.of(layout, program, team.stop) for _ in threads]
        words = layout.blocks * layout.words
        self.bits = np.zeros((2, words), dtype=np.uint64)
        self.ahead = np.zeros(words * program.marks, dtype=np.uint64)
        nothing = np.empty(0, dtype=np.uint32)
        self.silence = Echo(nothing, nothing, nothing, np.empty(0, dtype=np.int64))
        self.echo = self.silence
        self.tallies = np.zeros((team.size, GAP), dtype=TALLY)[:, 0]

    def steps(self, instance: Instance, report: StepReport) -> Iterator[np.void]:
        """Route one permutation, and yield the row of the log of each step."""
        layout, program, public = self.layout, self.program, self.public
        destination, keyed = self.targets(instance.destination)
        packets = RelayPackets(self.bits[0], self.bits[1], self.ahead, destination, keyed)
        state, step, moving = public.state[0], 0, []
        self.echo = self.silence

        def begin_some(t: int, first: int, last: int) -> None:
            moving.append(begin(layout, packets, self.workspaces[t], first, last))

        for _ in self._on_blocks(begin_some):
            report(0, 0, layout.d * layout.g)
        start(layout, program, public, np.uint64(instance.coins.seed), sum(moving))
        while step == 0 or (state["pending"] > 0 and step < program.max_steps):
            if state["pending"] > 0:
                count, again = len(program.stages), program.repeated
                rows = [row_of(at, count, again) for at in (step, step + 1)]
                for _ in self._stage(packets, *program.stages[rows]):
                    report(step, int(state["slots"]), int(state["pending"]))
            log = np.zeros(1, dtype=LOG)
            write_row(state, public.tally[0], log[0])
            yield log[0]
            step += 1

    def _stage(self, packets: RelayPackets, stage: Any, following: Any) -> Iterator[None]:
        """Execute a stage, and yield now and then."""
        layout, public, tallies, kind = self.layout, self.public, self.tallies, stage["kind"]
        state, first = public.state[0], stage["first"]
        prepare(layout, self.program, stage, following, public, public.table[:0])
        tallies[:] = 0
        places, several = Places(public.rows, public.table[:0]), Bijections(public.rows, first)
        ahead = Bijections(public.later, state["later"])
        if kind in (PARK, SWEEP):
            lengths = self.program.windows[first : stage["second"]]
            windows = Windows(lengths, public.keys, kind == SWEEP)
            yield from self._work(park, packets, places, windows, ahead)
        elif kind == GRID:
            yield from self._work(grid, packets, places, first, state["shift"])
        elif kind == MARKED:
            marks = several, ahead, self.echo, state["pending"]
            yield from self._alone(self._mark, packets, *marks, tallies[0])
        elif kind == TEAM:
            sets = first, public.keys[0]
            yield from self._alone(elect, packets, state["pending"], *sets, tallies[0])
        else:
            for turn in range(first):
                copies = several, Deliveries(turn, kind == FOLD, public.couplers)
                if layout.d > layout.g:
                    yield from self._alone(mark, packets, *copies, tallies[0])
                yield from self._work(resolve, packets, *copies)
        _add(public.tally, tallies)
        if kind == SHOWER:
            yield from self._alone(global_or, packets, public.groups, public.tally[0])
        if kind != MARKED:
            self.echo = self.silence
        finish(stage, public.state[0], public.tally[0])

    def _mark(self, *everything: Any) -> None:
        """Execute a marked stage, and keep the acks to repeat."""
        self.echo = marked(*everything)

    def _work(
        self, stage: Callable[..., None], packets: RelayPackets, *rest: object
    ) -> Iterator[None]:
        """Execute a compiled stage on all threads."""

        def work(t: int, first: int, last: int) -> None:
            fixed, blocks = (self.layout, packets, self.workspaces[t]), BlockRange(first, last)
            stage(*fixed, *rest, blocks, self.tallies[t])

        return self._on_blocks(work)

    def _alone(
        self, work: Callable[..., None], packets: RelayPackets, *rest: object
    ) -> Iterator[None]:
        """Execute on one thread what cannot be divided."""
        fixed = self.layout, packets, self.workspaces[0]
        return self.team.do(lambda _: work(*fixed, *rest), threads=1)

    def _on_blocks(self, work: Callable[[int, int, int], None]) -> Iterator[None]:
        """Let threads take blocks, several at a time, until none are left."""
        blocks, most = self.layout.blocks, max(_PACKETS_AT_A_TIME // self.layout.size, 1)
        stride = min(-(-blocks // self.team.size), most)
        tickets, stop = count(0, stride), self.team.stop

        def work_on(t: int) -> None:
            while (first := next(tickets)) < blocks and not stop[0]:
                work(t, first, min(first + stride, blocks))

        return self.team.do(work_on)


def _add(total: Records, tallies: Records) -> None:
    """Add the counts of all threads to those of the run."""
    for name in ("messages", "collisions", "destroyed", "delivered", "acked"):
        total[name] += tallies[name].sum()
    for name in ("last_slot", "bits", "ended"):
        total[name] = max(int(total[name][0]), tallies[name].max())
