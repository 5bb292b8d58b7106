"""One large run of the paper's router: the host's part."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numba import cuda
from popsnet.engines.fused.arrays import U64
from popsnet.engines.fused.kernel import LargeRun, StepReport
from popsnet.engines.fused.mei_rizzi import MeiRizziKernel
from popsnet.engines.fused.mei_rizzi.large import RESIDUE
from popsnet.engines.fused.mei_rizzi.layout import LOG
from popsnet.engines.fused.mei_rizzi.passes import SLOTS_PER_STEP
from popsnet.engines.fused.team import Team
from popsnet.experiment.experiment import Instance
from popsnet.model.coins import Coins
from popsnet.model.network import Network
from popsnet.workloads.permutations.keyed import KeyedPermutation

from popsnet_cuda.arguments import Rounds, Shape
from popsnet_cuda.device import is_simulated
from popsnet_cuda.driver import as_u64
from popsnet_cuda.launching import Launch, multiprocessors, require_free, shared_limit, zeros
from popsnet_cuda.mei_rizzi import steps as device_code

_THREADS, _MANY_THREADS, _SIMULATED_THREADS = 256, 1024, 3
_MUCH_SHARED = 24 * 1024
"""Bytes from which a multiprocessor holds few blocks, which get more threads."""

_FILLING = 8
"""Blocks per multiprocessor that set all bits."""
_STEPS_AT_A_TIME = 64
_LARGE = 2**30
"""Packets from which each step is a launch of its own, so that a run can be interrupted."""


@dataclass(frozen=True)
class Division:
    """How the groups of a network are given to blocks of threads."""

    threads: int
    rows: int
    """Groups that a block takes at a time."""
    span: int
    """Intermediate groups whose couplers fit in shared memory at a time."""

    @classmethod
    def of(cls, network: Network, most_shared: int) -> Division:
        """Give every thread about a word of packets at a time."""
        words, cells = -(-network.d // 32), most_shared // 4 * 16
        span = min(network.g, cells)
        threads = _MANY_THREADS if span // 4 > _MUCH_SHARED else _THREADS
        if is_simulated():
            threads = _SIMULATED_THREADS
        rows = min(max(threads // words, 1), max(cells // network.g, 1), network.g)
        return cls(threads, rows, span)

    @property
    def shared(self) -> int:
        """The bytes of shared memory of a block."""
        return -(-self.rows * self.span // 16) * 4


def large_bytes(network: Network, keyed: bool) -> int:
    """Return the bytes of device memory of a run."""
    words, residues = network.g * -(-network.d // 32), 0 if keyed else network.n * RESIDUE.itemsize
    return 4 * (2 * words + -(-network.couplers // 16)) + residues


class LargeMeiRizzi(LargeRun):
    """Runs of the paper's router on the whole device, one after another in the same memory."""

    def __init__(
        self, kernel: MeiRizziKernel, team: Team, division: Division | None = None
    ) -> None:
        network = kernel.network
        super().__init__(network.n, network.g, RESIDUE.type, team)
        require_free(large_bytes(network, keyed=True))
        self._shape, self._program = Shape.of(network), kernel.program
        self._division = division or Division.of(network, shared_limit())
        words = network.g * -(-network.d // 32)
        self._pending, self._survived = zeros(words, np.uint32), zeros(words, np.uint32)
        self._far = zeros(-(-network.couplers // 16), np.uint32)
        self._thresholds = cuda.to_device(self._program.thresholds)

    def steps(self, instance: Instance, report: StepReport) -> Iterator[np.void]:
        """Route one permutation, and yield the row of the log of each step."""
        residues, _ = self.targets(instance.destination)
        keyed = instance.destination
        if not isinstance(keyed, KeyedPermutation):
            keyed = KeyedPermutation(1, Coins(0))
            require_free(residues.nbytes)
        permutation = Rounds.of(keyed), cuda.to_device(residues)
        fill = Launch(device_code.fill_pending, self._division.threads)
        fill(_FILLING * multiprocessors(), (self._shape, self._pending))
        undelivered, step = int(self._shape.n), 0
        while undelivered > 0 and step < self._program.max_steps:
            report(step, SLOTS_PER_STEP * step, undelivered)
            counts = self._launch(permutation, instance.coins.seed, step, undelivered)
            for sent, heard, collided, taken in counts.tolist():
                if undelivered == 0:
                    break
                undelivered, step = undelivered - taken, step + 1
                row = np.zeros(1, dtype=LOG)[0]
                row["undelivered"], row["slots"] = undelivered, SLOTS_PER_STEP * step
                row["sent"], row["survivors"], row["collisions"] = sent, heard, collided
                yield row

    def _launch(
        self, permutation: tuple[Rounds, object], seed: int, first: int, pending: int
    ) -> U64:
        """Execute some steps, and return the counts of each, zeros after the last."""
        program, division = self._program, self._division
        at_a_time = _STEPS_AT_A_TIME if self._shape.n < _LARGE else 1
        last = min(first + at_a_time, program.max_steps)
        counters = zeros((last - first) * device_code.COUNTS, np.uint64)
        plan = device_code.LargeRunSteps(
            *as_u64(
                seed, program.purposes.intermediate, first, last, pending, division.rows,
                division.span,
            )
        )  # fmt: skip
        arguments = (
            self._shape, plan, *permutation, self._thresholds, self._pending, self._survived,
            self._far, counters,
        )  # fmt: skip
        launch = Launch(device_code.route_large, division.threads, division.shared)
        units = -(-int(self._shape.g) // division.rows)
        # All blocks must be resident, because they wait for each other; the simulator has one.
        blocks = 1 if is_simulated() else min(launch.resident(arguments), units)
        launch(blocks, arguments)
        counts: U64 = counters.copy_to_host().reshape(-1, device_code.COUNTS)
        return counts
