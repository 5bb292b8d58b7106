"""relay, compiled: runs of one schedule on one network."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar

import numpy as np

from popsnet.engines.fused.arrays import U8, Table, allocate, size_of
from popsnet.engines.fused.kernel import CompiledRuns, Kernel, KeyedRounds, LargeRun
from popsnet.engines.fused.relay import stages
from popsnet.engines.fused.relay.layout import (
    RelayLayout,
    RelayPackets,
    RelayWorkspace,
    packets_table,
    workspace_table,
)
from popsnet.engines.fused.relay.program import MARKED, PARK, SWEEP, Stages, program_of
from popsnet.engines.fused.team import Team
from popsnet.experiment.experiment import Instance
from popsnet.model.coins import Coins
from popsnet.programs.routers.relay.schedule import RelaySchedule
from popsnet.programs.routers.relay.team import TeamStage
from popsnet.workloads.permutations.keyed import KeyedPermutation
from popsnet.workloads.permutations.uniform import CHUNK

_SHUFFLED: Table = {"shuffled": (CHUNK, np.uint32)}


class RelayKernel(Kernel[stages.RelayMemory]):
    """Runs of one schedule."""

    runs: ClassVar = CompiledRuns(stages.LOG, stages.route_runs, stages.summarize)

    @cached_property
    def kinds(self) -> tuple[bool | None, ...]:
        """Whether there are marked stages, and stages other than these, park and sweep."""
        rare = set(self.program.stages["kind"].tolist()) - {PARK, SWEEP}
        others = True if rare - {MARKED} else None
        return None if others and MARKED not in rare else True, others

    @cached_property
    def program(self) -> Stages:
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

    @property
    def workspace_bytes(self) -> int:
        """The memory of a workspace."""
        return self.large_run_bytes(threads=1, keyed=False) + size_of(_SHUFFLED)

    def large_run_bytes(self, threads: int, keyed: bool) -> int:
        """Return the memory of a large run on this many threads."""
        fixed, stored = (self.layout, self.program), 0 if keyed else self.network.n
        shared = size_of(packets_table(*fixed, stored)) + size_of(stages.public_table(*fixed))
        working = min(threads, self.layout.blocks)  # the memory of others is never touched
        return self._lists + shared + working * size_of(workspace_table(*fixed))

    @cached_property
    def _lists(self) -> int:
        """The memory of stages that list all pending packets, as many as the fluid limit has."""
        network, left, most = self.network, 1.0, 0.0
        schedule = self.variant.schedule
        assert isinstance(schedule, RelaySchedule)
        sets = network.n // 2 + network.couplers
        stages = [*schedule.all_stages]
        while stages and not (isinstance(stages[-1], TeamStage) or stages[-1].looks_ahead):
            stages.pop()  # what they leave need not be known: it takes long for wide windows
        for stage in stages:
            if isinstance(stage, TeamStage):
                most = max(most, left * network.n * (32 + 5 * stage.candidates) + sets)
            elif stage.looks_ahead:
                most = max(most, left * network.n * (48 + 8 * stage.bijections) + sets)
            left = stage.left(network, left)
        return int(most)

    def workspace(self, stop: U8) -> stages.RelayMemory:
        """Return the memory of a thread that executes whole runs."""
        fixed, keyed = (self.layout, self.program), KeyedRounds.of(KeyedPermutation(1, Coins(0)))
        packets = allocate(RelayPackets, packets_table(*fixed, self.network.n), keyed=keyed)
        work = allocate(RelayWorkspace, workspace_table(*fixed), stop=stop)
        public = allocate(stages.PublicState, stages.public_table(*fixed))
        return allocate(stages.RelayMemory, _SHUFFLED, packets=packets, work=work, public=public)

    def load(self, work: stages.RelayMemory, instance: Instance) -> None:
        """Put a permutation into a workspace."""
        work.packets.destination[:] = instance.array()

    def large_run(self, team: Team) -> LargeRun:
        """Return the memory of runs on all threads."""
        return stages.DividedRun(self.layout, self.program, team)
