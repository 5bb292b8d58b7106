"""The paper's router, compiled: its variants as kernels."""

from __future__ import annotations

from functools import cached_property, partial
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from popsnet.engines.fused.arrays import U8, Table, allocate, size_of
from popsnet.engines.fused.kernel import RESIDENT, CompiledRuns, Kernel, LargeRun
from popsnet.engines.fused.mei_rizzi import deferred, resident
from popsnet.engines.fused.mei_rizzi.large import RESIDUE, Partition, PartitionedRun, listed
from popsnet.engines.fused.mei_rizzi.layout import (
    LOG,
    MeiRizziLayout,
    MeiRizziProgram,
    MeiRizziWorkspace,
)
from popsnet.engines.fused.mei_rizzi.passes import FLAGS, SPARE
from popsnet.engines.fused.team import Team
from popsnet.experiment.experiment import Instance
from popsnet.workloads.permutations.uniform import CHUNK


class MeiRizziKernel(Kernel[MeiRizziWorkspace]):
    """The variants ``published``, for d = g, and ``idealized``."""

    runs: ClassVar = CompiledRuns(
        LOG, partial(resident.route_runs, None), partial(resident.summarize, None)
    )

    @cached_property
    def layout(self) -> MeiRizziLayout:
        """The division of packets into blocks."""
        return MeiRizziLayout.of(self.network)

    @cached_property
    def program(self) -> MeiRizziProgram:
        """The steps of the variant."""
        executed = self.variant.name != "idealized"
        return MeiRizziProgram.of(self.network, self.max_steps, executed)

    def obstacle(self, keyed: bool) -> str | None:
        """Return why the kernel cannot run, with any amount of memory, or None if it can."""
        d, g, n = self.network.d, self.network.g, self.network.n
        if self.variant.name == "published" and d != g:
            return "it runs variant published only for d = g"
        if d >= 2**31:
            return f"it numbers the processors of a group with 31 bits, and d = {d:,}"
        if n > 2**38:
            return f"it numbers at most 2^38 processors, and n = {n:,}"
        if not (keyed and self.divisible) and n > RESIDENT and not listed(self.layout):
            return f"it stores permutations of up to 2^29 processors only, and n = {n:,}"
        return None

    @property
    def workspace_bytes(self) -> int:
        """The memory of a workspace."""
        return size_of(self._table())

    def large_run_bytes(self, threads: int, keyed: bool) -> int:
        """Return the memory of a large run on this many threads."""
        residues = 0 if keyed else self.network.n * RESIDUE.itemsize
        return Partition(self.layout, threads).bytes + residues

    def workspace(self, stop: U8) -> MeiRizziWorkspace:
        """Return the memory of a thread that executes whole runs."""
        return allocate(MeiRizziWorkspace, self._table(), stop=stop)

    def _table(self, target: npt.DTypeLike = RESIDUE, waiting: int = 0) -> Table:
        layout, n, u32, u64 = self.layout, self.network.n, np.uint32, np.uint64
        spare = layout.size + SPARE  # draws write past their end, and so do selections
        return {
            "targets": (n, target),
            "shuffled": (CHUNK, u32),
            "codes": (n + SPARE, u32),
            "sizes": (layout.blocks, np.int64),
            **dict.fromkeys(("taking", "taken", "couplers"), (spare, u32)),
            "drawn": (spare, layout.entry_type),
            "first": (layout.row_words, u64),
            "entries": (layout.g * layout.g + spare, layout.entry_type),
            "ends": (layout.blocks, np.int64),
            "second": (-(-(layout.g << layout.group_bits) // 8), u64),
            "delivered": (spare, u32),
            "flags": (FLAGS, np.uint8),
            "waiting": (waiting, u32),
        }

    def load(self, work: MeiRizziWorkspace, instance: Instance) -> None:
        """Put the temporary groups of a permutation into a workspace."""
        np.remainder(instance.array(), self.network.g, out=work.targets, casting="unsafe")

    def large_run(self, team: Team) -> LargeRun:
        """Return the memory of runs on all threads."""
        return PartitionedRun(self.layout, self.program, team)


class DeferredKernel(MeiRizziKernel):
    """The variant ``deferred``, in which copies wait. One thread executes a run."""

    runs: ClassVar = CompiledRuns(
        deferred.LOG, partial(resident.route_runs, True), partial(resident.summarize, True)
    )
    divisible = False

    def _table(self, target: npt.DTypeLike = np.uint32, waiting: int = 0) -> Table:
        return super()._table(target, self.layout.d << self.layout.group_bits)

    def load(self, work: MeiRizziWorkspace, instance: Instance) -> None:
        """Put a permutation into a workspace."""
        work.targets[:] = instance.array()
