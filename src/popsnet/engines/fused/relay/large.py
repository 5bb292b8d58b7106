"""One large run: threads do the stages, each for some blocks at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count

import numpy as np

from popsnet.engines.fused.arrays import Records
from popsnet.engines.fused.kernel import LargeRun, Report
from popsnet.engines.fused.relay.layout import TALLY, RelayLayout, RelayPackets, RelayWorkspace
from popsnet.engines.fused.relay.pending import begin
from popsnet.engines.fused.relay.program import Program, row_of
from popsnet.engines.fused.relay.shower import mark
from popsnet.engines.fused.relay.stages import (
    LOG,
    PublicState,
    do_blocks,
    finish,
    is_contended,
    prepare,
    start,
    turns_of,
    write_row,
)
from popsnet.engines.fused.team import GAP, Team
from popsnet.experiment import Instance

__all__ = ["DividedRun"]

_PACKETS_AT_A_TIME = 2**24
"""The most packets of a piece of work."""


class DividedRun(LargeRun):
    """Runs of relay on all threads, which take blocks of packets."""

    def __init__(self, layout: RelayLayout, program: Program, team: Team) -> None:
        super().__init__(layout.d * layout.g, layout.d * layout.g, np.uint32, team)
        self.layout, self.program, threads = layout, program, range(team.size)
        self.public = PublicState.of(layout, program)
        self.workspaces = [RelayWorkspace.of(layout, program, team.stop) for _ in threads]
        self.bits = np.zeros((2, layout.blocks * layout.words), dtype=np.uint64)
        self.tallies = np.zeros((team.size, GAP), dtype=TALLY)[:, 0]

    def steps(self, instance: Instance, report: Report) -> Iterator[np.void]:
        """Route one permutation; gives the row of the log of each step."""
        layout, program, public = self.layout, self.program, self.public
        destination, keyed = self.targets(instance.destination)
        packets = RelayPackets(self.bits[0], self.bits[1], destination, keyed)
        state, step, moving = public.state[0], 0, []

        def begin_some(t: int, first: int, last: int) -> None:
            moving.append(begin(layout, packets, self.workspaces[t], first, last))

        for _ in self._on_blocks(begin_some):
            report(0, 0, layout.d * layout.g)
        start(layout, program, public, np.uint64(instance.coins.seed), sum(moving))
        while step == 0 or (state["pending"] > 0 and step < program.max_steps):
            if state["pending"] > 0:
                for _ in self._stage(packets, row_of(program, step)):
                    report(step, int(state["slots"]), int(state["pending"]))
            row = np.zeros(1, dtype=LOG)[0]
            write_row(public, row)
            yield row
            step += 1

    def _stage(self, packets: RelayPackets, row: int) -> Iterator[None]:
        """Do a stage; comes back now and then."""
        layout, program, public = self.layout, self.program, self.public
        first_workspace, tallies = self.workspaces[0], self.tallies
        prepare(layout, program, row, public, public.table[:0])
        tallies[:] = 0
        for turn in range(turns_of(program, row)):

            def mark_all(_: int, turn: int = turn) -> None:
                copies = program.stages[row]["first"]
                fixed = public.rows, copies, turn, public.couplers
                mark(layout, packets, first_workspace, *fixed, tallies[0])

            def do_some(t: int, first: int, last: int, turn: int = turn) -> None:
                fixed = layout, program, packets, self.workspaces[t], public, row, turn
                do_blocks(*fixed, first, last, tallies[t])

            if is_contended(layout, program, row):
                yield from self.team.do(mark_all, threads=1)
            yield from self._on_blocks(do_some)
        _add(public.tally, tallies)
        fixed = layout, program, packets, first_workspace, public
        yield from self.team.do(lambda _: finish(*fixed, row), threads=1)

    def _on_blocks(self, work: Callable[[int, int, int], None]) -> Iterator[None]:
        """Threads take blocks, as many as are done at a time, until none are left."""
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
    for name in ("last_slot", "bits"):
        total[name] = max(int(total[name][0]), tallies[name].max())
