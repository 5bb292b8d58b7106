"""relay, compiled: runs of one schedule on one network."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar

import numpy as np

from popsnet.coins import Coins
from popsnet.engines.fused.arrays import U8
from popsnet.engines.fused.kernel import RESIDENT, CompiledRuns, Kernel, KeyedRounds, LargeRun
from popsnet.engines.fused.relay import stages
from popsnet.engines.fused.relay.large import DividedRun
from popsnet.engines.fused.relay.layout import (
    RelayLayout,
    RelayPackets,
    RelayWorkspace,
    workspace_table,
)
from popsnet.engines.fused.relay.program import Program, program_of
from popsnet.engines.fused.team import Team
from popsnet.engines.fused.workspace import allocate, size_of
from popsnet.experiment import Instance
from popsnet.permutations.keyed import KeyedPermutation
from popsnet.permutations.uniform import CHUNK
from popsnet.routing.relay.schedule import RelaySchedule


class RelayKernel(Kernel[stages.RelayMemory]):
    """Runs of one schedule."""

    runs: ClassVar[CompiledRuns] = stages

    @cached_property
    def program(self) -> Program:
        """The schedule as numbers."""
        schedule = self.variant.schedule
        assert isinstance(schedule, RelaySchedule)
        return program_of(self.network, schedule, self.max_steps)

    @cached_property
    def layout(self) -> RelayLayout:
        """The division of packets into blocks."""
        return RelayLayout.of(self.network, self.program)

    def obstacle(self, keyed: bool) -> str | None:
        """Return why the kernel cannot run, with any amount of memory, or None if it can."""
        n = self.network.n
        return None if n < 2**31 else f"for relay it numbers processors with 31 bits, and n = {n:,}"

    def memory(self, threads: int, keyed: bool) -> int:
        """Return the bytes for runs on this many threads, rounded up.

        They are bits, destinations unless they are computed, and workspaces.
        """
        layout, n = self.layout, self.network.n
        bits, stored = 16 * layout.blocks * layout.words, 4 * n
        public, work = (
            size_of(table(layout, self.program)) for table in (stages.public_table, workspace_table)
        )
        if n <= RESIDENT:
            return threads * (bits + stored + work + public) + 2**26
        return bits + (0 if keyed else stored) + public + threads * work + 2**26

    def workspace(self, stop: U8) -> stages.RelayMemory:
        """Return the memory of a thread that executes whole runs."""
        layout, program, n = self.layout, self.program, self.network.n
        words = (layout.blocks * layout.words, np.uint64)
        packets = allocate(
            RelayPackets,
            {"pending": words, "undelivered": words, "destination": (n, np.uint32)},
            keyed=KeyedRounds.of(KeyedPermutation(1, Coins(0))),
        )
        return allocate(
            stages.RelayMemory,
            {"shuffled": (CHUNK, np.uint32)},
            packets=packets,
            work=RelayWorkspace.of(layout, program, stop),
            public=stages.PublicState.of(layout, program),
        )

    def load(self, work: stages.RelayMemory, instance: Instance) -> None:
        """Put a permutation into a workspace."""
        work.packets.destination[:] = instance.array()

    def large_run(self, team: Team) -> LargeRun:
        """Return the memory of runs on all threads."""
        return DividedRun(self.layout, self.program, team)
