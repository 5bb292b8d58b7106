"""Runs of relay on the fused engine, and what they come to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property, partial

import numpy as np
import numpy.typing as npt

from popsnet.coins import Coins
from popsnet.engines.fused.arena import cut
from popsnet.engines.fused.passes import I64, U8, U32
from popsnet.engines.fused.relay.ground import Ground, Hands, Packets, hands_bytes
from popsnet.engines.fused.relay.large import LargeRun
from popsnet.engines.fused.relay.program import Program
from popsnet.engines.fused.relay.stages import (
    LOGGED,
    Public,
    public_bytes,
    route,
    route_many,
)
from popsnet.engines.fused.threads import (
    RESIDENT,
    STEPS_EXPECTED,
    Block,
    Threads,
    in_blocks,
    in_turn,
    runs_at_a_time,
    tell,
    threads_here,
)
from popsnet.engines.instance import Instance, Outcome
from popsnet.network import Network
from popsnet.permutations.keyed import KeyedPermutation
from popsnet.permutations.uniform import CHUNK, UniformPermutation
from popsnet.trace import Observer

__all__ = ["RelaySession", "relay_bytes", "relay_obstacle"]


def relay_bytes(network: Network, variant: str, keyed: bool) -> int:
    """Memory for runs on all threads: bits, destinations unless they are computed, scratch."""
    program = Program.of(network, variant)
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
    return f"for relay it numbers processors with 31 bits, and n = {network.n:,}."


class RelaySession(Threads):
    """Runs of one schedule on one network, one after another in the same memory."""

    def __init__(
        self, network: Network, variant: str, max_steps: int, threads: int | None = None
    ) -> None:
        super().__init__(threads)
        self._network, self._variant, self._max_steps = network, variant, max_steps
        self._program = Program.of(network, variant)
        self._ground = Ground.of(network, self._program)

    def execute(self, instance: Instance, observers: Sequence[Observer] = ()) -> Outcome:
        """Route one permutation, a large one on all threads."""
        if instance.variant != self._variant:
            raise ValueError(f"This session runs {self._variant}, not {instance.variant}.")
        by = self._route_small if self._network.n <= RESIDENT else self._route_large
        rows: list[list[int]] = []
        try:  # a wait can be interrupted
            for row in by(instance, observers):
                rows.append(row.tolist())
                tell(observers, len(rows), rows[-1][2], rows[-1][0])
        except BaseException:  # threads are still at work in their memory
            self._abandon("_worker", "_large_run", "_bits", "_destination")
            raise
        return _outcome(self._network, rows)

    def _route_small(self, instance: Instance, observers: Sequence[Observer]) -> Iterator[I64]:
        worker = self._worker
        worker.packets.destination[:] = instance.array()
        seed = np.uint64(instance.coins.seed)
        log = np.empty((self._max_steps, LOGGED), dtype=np.int64)
        work = partial(route, *worker.fixed, worker.packets, worker.hands, worker.public)
        steps = self._executor.submit(work, seed, log).result()
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
    def _worker(self) -> _Worker:
        return _Worker(self._ground, self._program, self._max_steps, self._stop)

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

    def execute_many(
        self, variant: str, seed: int, permutation_seed: int, runs: int, first: int = 0
    ) -> Iterator[list[Outcome]]:
        """Runs on uniform permutations, a thread each; in order, many at a time."""
        for block in self.run_blocks(seed, permutation_seed, runs, first):
            yield [_outcome(self._network, rows) for rows in block.rows()]

    def run_blocks(
        self, seed: int, permutation_seed: int, runs: int, first: int = 0
    ) -> Iterator[Block]:
        """The same as they come from the threads, many runs in a block of arrays."""
        stride = runs_at_a_time(self._network)
        seeds = np.array([seed, permutation_seed], dtype=np.uint64)
        fixed = self._ground, self._program, self._max_steps, self._stop
        workers = [_Worker(*fixed, seeds, stride).run for _ in range(self._threads)]
        yield from in_turn(self._executor, workers, first, first + runs, stride)


class _Worker:
    """What one thread needs to do run after run."""

    def __init__(
        self, ground: Ground, program: Program, max_steps: int, stop: U8,
        seeds: npt.NDArray[np.uint64] | None = None, stride: int = 0,
    ) -> None:  # fmt: skip
        words = ground.blocks * ground.words
        self.fixed = ground, program, max_steps
        self.stop, self.seeds = stop, seeds
        self.hands, self.public = Hands.of(ground, program, stop), Public.of(ground, program)
        rows = stride * STEPS_EXPECTED + max_steps
        bits, destination, self.drawn, self.steps, log = cut(
            (2 * words, np.uint64),
            (ground.d * ground.g, np.uint32),
            (CHUNK, np.uint32),
            (stride, np.int64),
            (LOGGED * rows if stride else 0, np.int64),
        )
        self.packets = _packets(bits.reshape(2, words), destination)
        self.log = log.reshape(-1, LOGGED)

    def run(self, first: int, last: int) -> list[Block]:
        """Runs first … last - 1."""
        assert self.seeds is not None
        fixed = *self.fixed, self.packets, self.hands, self.public, self.seeds

        def work(first: int, last: int) -> int:
            return route_many(*fixed, first, last, self.drawn, self.log, self.steps)

        return in_blocks(work, first, last, self.stop, self.steps, self.log)


def _packets(
    bits: npt.NDArray[np.uint64], destination: U32, keyed: KeyedPermutation | None = None
) -> Packets:
    keyed = keyed or KeyedPermutation(1, Coins(0))
    return Packets(
        bits[0], bits[1], destination, np.uint64(keyed.n), np.uint64(keyed.half), keyed.keys
    )


def _outcome(network: Network, rows: Sequence[Sequence[int]]) -> Outcome:
    hungry, pending, slots, last, messages, collisions, destroyed, bits = rows[-1]
    return Outcome(
        slots=slots,
        slots_delivered=last,
        steps=len(rows),
        delivered=network.n - hungry,
        lost=0,
        collisions=collisions,
        destroyed=destroyed,
        messages=messages,
        peak_buffers=None,
        control_bits=bits,
        capped=pending > 0,
        survivors=tuple(row[0] for row in rows),
    )
