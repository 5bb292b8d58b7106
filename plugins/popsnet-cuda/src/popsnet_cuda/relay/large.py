"""One large run of relay: the host's part, stage by stage."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numba import cuda
from popsnet.engines.fused.arrays import U32, Records
from popsnet.engines.fused.kernel import LargeRun, StepReport
from popsnet.engines.fused.relay import RelayKernel
from popsnet.engines.fused.relay.bijections import WORDS
from popsnet.engines.fused.relay.layout import TALLY
from popsnet.engines.fused.relay.program import FOLD, PARK, SHOWER, row_of
from popsnet.engines.fused.relay.shower import announce
from popsnet.engines.fused.relay.stages import LOG
from popsnet.engines.fused.team import Team
from popsnet.experiment.experiment import Instance
from popsnet.model.coins import Coins
from popsnet.programs.routers.relay.bijection import FRESH
from popsnet.programs.routers.relay.router import SEED
from popsnet.programs.routers.relay.state import ATTEMPT
from popsnet.workloads.permutations.keyed import KeyedPermutation

from popsnet_cuda.arguments import Rounds, Shape
from popsnet_cuda.launching import Launch, multiprocessors, require_free, shared_limit, zeros
from popsnet_cuda.mei_rizzi.large import Division
from popsnet_cuda.relay import stages as device_code
from popsnet_cuda.relay.many import ACKED, BITS, FACTS, LATEST, MOVING, SEED_BITS
from popsnet_cuda.relay.places import RelaySteps
from popsnet_cuda.tallying import COLLISIONS, DELIVERED, DESTROYED, MESSAGES

_BLOCKS_PER_MULTIPROCESSOR = 8


class LargeRelay(LargeRun):
    """Runs of relay on the whole device, one after another in the same memory."""

    def __init__(self, kernel: RelayKernel, team: Team) -> None:
        network, program = kernel.network, kernel.program
        super().__init__(network.n, network.n, np.uint32, team)
        self.network, self.program = network, program
        self.shape, self.constants = Shape.of(network), RelaySteps.of(network, program)
        self.division = Division.of(network, shared_limit() // 2)  # half as much is for sets
        words = network.g * -(-network.d // 32)
        require_free(4 * 2 * words + 8 * program.copies * WORDS * network.g)
        self.pending, self.undelivered = zeros(words, np.uint32), zeros(words, np.uint32)
        self.rows = zeros(program.copies * WORDS * network.g, np.uint64)
        units = -(-network.g // self.division.rows)
        self.blocks = min(multiprocessors() * _BLOCKS_PER_MULTIPROCESSOR, units)

    def steps(self, instance: Instance, report: StepReport) -> Iterator[np.void]:
        """Route one permutation, and yield the row of the log of each step."""
        program, n = self.program, self.network.n
        run = _Run(self, instance)
        moving = pending = run.begin()
        tally = np.zeros(1, dtype=TALLY)
        tally["messages"], tally["bits"] = 1, SEED_BITS
        slots, last, step = 1, int(moving < n), 0
        while step == 0 or (pending > 0 and step < program.max_steps):
            if pending > 0:
                report(step, slots, moving - int(tally["delivered"][0]))
                stage = program.stages[row_of(step, len(program.stages), program.repeated)]
                latest = run.execute(stage, tally)
                pending = moving - int(tally["acked"][0])
                if stage["kind"] == SHOWER and tally["delivered"][0] == moving:
                    pending = 0
                last = slots + latest if latest else last
                slots += int(stage["slots"])
            row = np.zeros(1, dtype=LOG)
            for name in ("messages", "collisions", "destroyed", "bits"):
                row[name] = tally[name]
            row["undelivered"], row["pending"] = moving - tally["delivered"], pending
            row["slots"], row["slots_delivered"] = slots, last
            step += 1
            yield row[0]


class _Run:
    """One run: its permutation, its coins, and how many of them are used."""

    def __init__(self, memory: LargeRelay, instance: Instance) -> None:
        self._memory, self._coins = memory, instance.coins
        self._public = Coins(instance.coins.word(SEED, 0, 0))
        self._bijections, self._windows, self._fresh = 0, 0, 0
        targets, _ = memory.targets(instance.destination)
        keyed = instance.destination
        if not isinstance(keyed, KeyedPermutation):
            keyed = KeyedPermutation(1, Coins(0))
            require_free(targets.nbytes)
        self._rounds, self._targets = Rounds.of(keyed), cuda.to_device(targets)
        self._turn = zeros(memory.network.g, np.uint32)

    def begin(self) -> int:
        """Mark all packets that are not at their destinations, and return how many."""
        memory, counters = self._memory, zeros(FACTS, np.uint64)
        self._launch(
            device_code.begin, 0, memory.shape, self._rounds, self._targets, memory.pending,
            memory.undelivered, counters,
        )  # fmt: skip
        return int(counters.copy_to_host()[MOVING])

    def execute(self, stage: np.void, tally: Records) -> int:
        """Execute a stage, add its counts, and return the slot of its last delivery, or 0."""
        kind, first = int(stage["kind"]), int(stage["first"])
        self._draw(first if kind == SHOWER else 1)
        counters = zeros(FACTS, np.uint64)
        if kind == SHOWER:
            waiting = self._shower(first, counters)
        else:
            self._attempt(kind, first, int(stage["second"]), counters)
        facts = counters.copy_to_host()
        for name, fact in _SUMS.items():
            tally[name] += int(facts[fact])
        tally["bits"] = max(int(tally["bits"][0]), int(facts[BITS]))
        if kind == SHOWER:
            self._global_or(waiting.copy_to_host(), tally)
        return int(facts[LATEST])

    def _draw(self, number: int) -> None:
        """Draw the next public bijections."""
        memory = self._memory
        for u in range(number):
            numbers = (self._public.seed, self._bijections, self._fresh, u)
            self._launch(
                device_code.draw, 0, memory.shape, memory.constants, *map(np.uint64, numbers),
                self._turn, memory.rows,
            )  # fmt: skip
            if not (self._bijections >= FRESH and self._fresh > 0):
                self._fresh = self._bijections + 1
            self._bijections += 1

    def _attempt(self, kind: int, first: int, second: int, counters: Any) -> None:
        memory, division = self._memory, self._memory.division
        windows = memory.program.windows[first:second].astype(np.uint64)
        if kind == FOLD:
            windows = np.ones(1, dtype=np.uint64)
        keys = np.zeros(len(windows), dtype=np.uint64)
        for i in range(len(windows) if kind == PARK else 0):
            keys[i] = self._coins.key(ATTEMPT, self._windows)
            self._windows += 1
        before = int(windows.sum()) + (len(windows) if len(windows) > 1 else 0)
        numbers = map(np.uint64, (division.rows, kind == FOLD, before))
        cells = -(-division.rows * memory.network.g // 16)
        self._launch(
            device_code.attempt, 4 * (cells + -(-cells // 2)), memory.shape, memory.constants,
            self._rounds, *numbers, cuda.to_device(windows), cuda.to_device(keys), self._targets,
            memory.rows, memory.pending, memory.undelivered, counters,
        )  # fmt: skip

    def _shower(self, copies: int, counters: Any) -> Any:
        """Execute a shower, and return the destinations that still wait, by group."""
        memory, division = self._memory, self._memory.division
        waiting = zeros(2 * memory.network.g, np.uint32)
        self._launch(
            device_code.shower, 4 * -(-division.rows * memory.network.g // 16), memory.shape,
            memory.constants, self._rounds, np.uint64(division.rows), np.uint64(copies),
            self._targets, memory.rows, memory.pending, memory.undelivered, waiting, counters,
        )  # fmt: skip
        return waiting

    def _global_or(self, waiting: U32, tally: Records) -> None:
        """Count the two slots of the global OR."""
        g, record = self._memory.network.g, tally[0]
        counts, firsts = waiting[:g].astype(np.int64), waiting[g:].astype(np.int64)
        senders = counts + 1 - firsts
        crowded = senders[senders > 1]
        tally["messages"] += senders.sum()
        tally["collisions"] += g * len(crowded)
        tally["destroyed"] += g * crowded.sum()
        announce(1, g, int(np.count_nonzero(counts)) + int(counts[0] == 0), record)

    def _launch(self, kernel: Any, shared: int, *arguments: Any) -> None:
        memory = self._memory
        Launch(kernel, memory.division.threads, shared)(memory.blocks, arguments)


_SUMS = {
    "messages": MESSAGES,
    "collisions": COLLISIONS,
    "destroyed": DESTROYED,
    "delivered": DELIVERED,
    "acked": ACKED,
}
"""The counts of a tally, by their places on the device."""
