"""relay compiled: runs of one schedule on one network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from popsnet.coins import Coins
from popsnet.engines.fused.arena import cut
from popsnet.engines.fused.kernel import Kernel, Worker, rows_of_log
from popsnet.engines.fused.passes import I64, U8, U32
from popsnet.engines.fused.relay.ground import Ground, Hands, Packets, hands_bytes
from popsnet.engines.fused.relay.large import LargeRun
from popsnet.engines.fused.relay.program import Program
from popsnet.engines.fused.relay.stages import LOGGED, Public, public_bytes, route, route_many
from popsnet.engines.fused.summaries import summarize_relay
from popsnet.engines.fused.threads import RESIDENT, runs_at_a_time, tell
from popsnet.engines.outcome import COLUMNS, Outcome, Outcomes
from popsnet.experiment import Instance
from popsnet.network import Network
from popsnet.permutations.keyed import KeyedPermutation
from popsnet.permutations.uniform import CHUNK, UniformPermutation
from popsnet.routing.relay.schedule import RelaySchedule
from popsnet.system import threads_here
from popsnet.trace import Observer


def relay_bytes(network: Network, schedule: RelaySchedule, keyed: bool) -> int:
    """Memory for runs on all threads: bits, destinations unless they are computed, scratch."""
    program = Program.of(network, schedule)
    ground, threads = Ground.of(network, program), threads_here()
    bits = 16 * ground.blocks * ground.words
    stored, scratch = 4 * network.n, hands_bytes(ground, program)
    public = public_bytes(ground, program)
    if network.n <= RESIDENT:
        return threads * (bits + stored + scratch + public) + 2**26
    return bits + (0 if keyed else stored) + public + threads * scratch + 2**26


def relay_obstacle(network: Network) -> str | None:
    """Why it cannot be run on a network, however much memory there is."""
    if network.n < 2**31:
        return None
    return f"for relay it numbers processors with 31 bits, and n = {network.n:,}"


class RelayKernel(Kernel):
    """Runs of one schedule, one after another in the same memory."""

    _scratch: ClassVar = ("workers", "_resident", "_large_run", "_bits", "_destination")

    def __init__(
        self, network: Network, schedule: RelaySchedule, max_steps: int, threads: int | None = None
    ) -> None:
        super().__init__(network, max_steps, threads)
        self._schedule = schedule
        self._program = Program.of(network, schedule)
        self._ground = Ground.of(network, self._program)

    def execute(self, instance: Instance, observers: Sequence[Observer] = ()) -> Outcome:
        """Route one permutation, a large one on all threads."""
        if (variant := instance.resolved_variant).schedule != self._schedule:
            raise ValueError(f"This kernel runs {self._schedule}, not {variant.name}.")
        by = self._route_small if self._network.n <= RESIDENT else self._route_large
        rows: list[I64] = []
        try:  # a wait can be interrupted
            for row in by(instance, observers):
                rows.append(row)
                tell(observers, len(rows), int(row[2]), int(row[0]))
        except BaseException:  # threads are still at work in their memory
            self._abandon()
            raise
        table = np.empty((1, len(COLUMNS)), dtype=np.int64)
        survivors, steps = np.empty(len(rows), dtype=np.int64), np.array([len(rows)])
        summarize_relay(self._network.n, np.array(rows), steps, table, survivors)
        return Outcomes(table, survivors, survivors[:0]).at(0)

    def _route_small(self, instance: Instance, observers: Sequence[Observer]) -> Iterator[I64]:
        worker = self._resident
        worker.packets.destination[:] = instance.array()
        seed = np.uint64(instance.coins.seed)
        log = np.empty((self._max_steps, LOGGED), dtype=np.int64)
        work = partial(route, *worker.fixed, worker.packets, worker.hands, worker.public)
        steps = self._interruptible(partial(work, seed, log))
        yield from log[:steps]

    def _route_large(self, instance: Instance, observers: Sequence[Observer]) -> Iterator[I64]:
        packets = self._packets(instance)
        yield from self._large_run.steps(packets, instance.coins.seed, partial(tell, observers))

    def _packets(self, instance: Instance) -> Packets:
        destination = instance.destination
        if isinstance(destination, KeyedPermutation):
            return _packets(self._bits, np.empty(0, dtype=np.uint32), destination)
        if isinstance(destination, UniformPermutation):
            n, each = self._network.n, self._executor.map
            destination.write(self._destination, n, self._threads, each)
        else:
            self._destination[:] = destination
        return _packets(self._bits, self._destination)

    @cached_property
    def _resident(self) -> _Worker:
        return self._worker(logged=False)

    @cached_property
    def _large_run(self) -> LargeRun:
        shared = self._threads, self._executor, self._stop
        return LargeRun(self._ground, self._program, self._max_steps, *shared)

    @cached_property
    def _bits(self) -> npt.NDArray[np.uint64]:
        return np.zeros((2, self._ground.blocks * self._ground.words), dtype=np.uint64)

    @cached_property
    def _destination(self) -> U32:
        return np.empty(self._network.n, dtype=np.uint32)

    def make_worker(self) -> Worker:
        """Return the memory of one more thread."""
        return self._worker(logged=True)

    def _worker(self, *, logged: bool) -> _Worker:
        fixed = self._network, self._ground, self._program, self._max_steps, self._stop
        return _Worker(*fixed, logged)


class _Worker(Worker):
    """The memory of one thread; without a log, for single runs."""

    def __init__(
        self, network: Network, ground: Ground, program: Program, max_steps: int, stop: U8,
        logged: bool,
    ) -> None:  # fmt: skip
        words = ground.blocks * ground.words
        self._n, self.fixed = network.n, (ground, program, max_steps)
        self.hands, self.public = Hands.of(ground, program, stop), Public.of(ground, program)
        rows = rows_of_log(network, max_steps) if logged else 0
        bits, destination, self._drawn, self.steps, log = cut(
            (2 * words, np.uint64),
            (network.n, np.uint32),
            (CHUNK, np.uint32),
            (runs_at_a_time(network), np.int64),
            (LOGGED * rows, np.int64),
        )
        self.packets = _packets(bits.reshape(2, words), destination)
        self.log = log.reshape(-1, LOGGED)

    def route(self, seeds: tuple[int, int], first: int, last: int) -> int:
        return route_many(
            *self.fixed, self.packets, self.hands, self.public, np.array(seeds, dtype=np.uint64),
            first, last, self._drawn, self.log, self.steps,
        )  # fmt: skip

    def summarize(self, count: int, table: I64, survivors: I64) -> None:
        summarize_relay(self._n, self.log, self.steps[:count], table, survivors)


def _packets(
    bits: npt.NDArray[np.uint64], destination: U32, keyed: KeyedPermutation | None = None
) -> Packets:
    keyed = keyed or KeyedPermutation(1, Coins(0))
    return Packets(
        bits[0], bits[1], destination, np.uint64(keyed.n), np.uint64(keyed.half), keyed.keys
    )
