"""Runs of the fused engine, and what they come to."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, wait
from functools import cached_property, partial
from itertools import pairwise
from queue import SimpleQueue
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from popsnet.coins import number_of
from popsnet.engines.fused.arena import cut
from popsnet.engines.fused.deferred import route_deferred
from popsnet.engines.fused.large import LargeRun, StepCounts, large_run_bytes, listed
from popsnet.engines.fused.passes import U8, U32, U64, Layout
from popsnet.engines.fused.resident import Scratch, law_of, route, route_many
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
from popsnet.permutations.uniform import CHUNK, RANDOM, UniformPermutation
from popsnet.routing.mei_rizzi import INTERMEDIATE_GROUP
from popsnet.slot import Ints
from popsnet.trace import Observer

__all__ = ["Session", "bytes_needed", "obstacle", "runs_deferred"]

_SECONDS_BETWEEN_LOOKS = 0.5
_NOT_YET = -1


def bytes_needed(network: Network, keyed: bool) -> int:
    """Memory for runs on all threads; permutations that are not computed are stored."""
    n, threads = network.n, threads_here()
    if n <= RESIDENT:
        return 40 * n * threads + 2**26
    waiting = 16 * n if network.d > network.g else 0  # copies, of the variant that stores them
    return large_run_bytes(Layout.of(network), threads) + (0 if keyed else 4 * n) + waiting


def obstacle(network: Network, keyed: bool) -> str | None:
    """Why the engine cannot run on a network, however much memory there is."""
    if network.d >= 2**31:
        return f"it numbers the processors of a group with 31 bits, and d = {network.d:,}."
    if network.n > 2**38:
        return f"it numbers at most 2^38 processors, and n = {network.n:,}."
    if not keyed and network.n > RESIDENT and not listed(Layout.of(network)):
        return f"it stores permutations of up to 2^29 processors only, and n = {network.n:,}."
    return None


def runs_deferred(network: Network) -> bool:
    """Whether the variant that stores copies can be run: its packets' codes have to fit."""
    return network.n <= RESIDENT or listed(Layout.of(network))


class Session(Threads):
    """Runs on one network, one after another in the same memory."""

    def __init__(self, network: Network, max_steps: int, threads: int | None = None) -> None:
        super().__init__(threads)
        self._network = network
        self._layout = Layout.of(network)
        self._law, self._max_steps = law_of(network, max_steps), max_steps

    def execute(self, instance: Instance, observers: Sequence[Observer] = ()) -> Outcome:
        """Route one permutation, a large one on all threads."""
        if instance.variant == "deferred":
            return self._route_deferred(instance, observers)
        route = self._route_small if self._network.n <= RESIDENT else self._route_large
        counts: list[StepCounts] = []
        for step in route(instance, observers):
            counts.append(step)
            _tell(observers, step.pending, len(counts))
        return _outcome(self._network, instance.variant, counts)

    def _route_small(
        self, instance: Instance, observers: Sequence[Observer]
    ) -> Iterator[StepCounts]:
        log = np.empty((self._max_steps, 4), dtype=np.int64)
        seed, purpose = np.uint64(instance.coins.seed), np.uint64(number_of(INTERMEDIATE_GROUP))
        residues = (instance.array() % self._network.g).astype(np.uint16)
        work = partial(route, self._layout, self._law, self._max_steps, residues, seed, purpose)
        try:  # a wait can be interrupted
            steps = self._executor.submit(work, self._scratch, log).result()
        except BaseException:  # the thread is still at work in its memory
            self._abandon("_scratch")
            raise
        yield from (StepCounts(*row) for row in log[:steps].tolist())

    def _route_deferred(self, instance: Instance, observers: Sequence[Observer]) -> Outcome:
        log = np.full((self._max_steps, 7), _NOT_YET, dtype=np.int64)
        future = self._executor.submit(self._deferred, instance, self._hands, log)
        try:
            while not wait([future], _SECONDS_BETWEEN_LOOKS).done:
                steps = int(np.count_nonzero(log[:, 0] != _NOT_YET))
                _tell(observers, int(log[steps - 1, 0]) if steps else self._network.n, steps)
            return future.result()
        except BaseException:  # the thread is still at work in its memory
            self._abandon("_hands")
            raise

    def _deferred(self, instance: Instance, hands: _Hands, log: npt.NDArray[np.int64]) -> Outcome:
        seed, purpose = np.uint64(instance.coins.seed), np.uint64(number_of(INTERMEDIATE_GROUP))
        destination = instance.array().astype(np.uint32)
        fixed = (self._layout, self._law, self._max_steps)
        steps, more = route_deferred(*fixed, destination, seed, purpose, *hands, log)
        return _deferred_outcome(self._network, log[:steps], more)

    def execute_deferred(self, instances: Iterable[Instance]) -> Iterator[Outcome]:
        """Route several permutations with copies that wait, a thread each; in order."""
        idle: SimpleQueue[_Hands] = SimpleQueue()
        for _ in range(self._threads):
            idle.put(_Hands.of(self._layout, self._stop))

        def work(instance: Instance) -> Outcome:
            hands = idle.get()
            log = np.empty((self._max_steps, 7), dtype=np.int64)
            outcome = self._deferred(instance, hands, log)
            idle.put(hands)
            return outcome

        waiting: deque[Future[Outcome]] = deque()
        for instance in instances:
            if len(waiting) > self._threads:
                yield waiting.popleft().result()
            waiting.append(self._executor.submit(work, instance))
        yield from (future.result() for future in waiting)

    def _route_large(
        self, instance: Instance, observers: Sequence[Observer]
    ) -> Iterator[StepCounts]:
        targets = self._targets(instance.destination)
        try:
            yield from self._large_run.steps(targets, instance.coins, partial(_tell, observers))
        except BaseException:  # a thread may still be at work in its memory
            del self._large_run
            raise

    def _targets(
        self, destination: Ints | KeyedPermutation | UniformPermutation
    ) -> npt.NDArray[np.uint16] | KeyedPermutation:
        """What says where packets go: all temporary groups, or the computed permutation."""
        if isinstance(destination, KeyedPermutation):
            return destination
        g, residues = self._network.g, self._residues
        if isinstance(destination, UniformPermutation):
            destination.write(residues, g, self._threads, self._executor.map)
        else:
            np.remainder(destination, g, out=residues, casting="unsafe")
        return residues

    @cached_property
    def _scratch(self) -> Scratch:
        return Scratch.of(self._layout, self._stop)

    @cached_property
    def _hands(self) -> _Hands:
        return _Hands.of(self._layout, self._stop)

    @cached_property
    def _large_run(self) -> LargeRun:
        return LargeRun(self._layout, self._law, self._max_steps, self._threads, self._executor)

    @cached_property
    def _residues(self) -> npt.NDArray[np.uint16]:
        return np.empty(self._network.n, dtype=np.uint16)

    def execute_many(
        self, variant: str, seed: int, permutation_seed: int, runs: int, first: int = 0
    ) -> Iterator[list[Outcome]]:
        """Runs on uniform permutations, a thread each; in order, many at a time."""
        for block in self.run_blocks(seed, permutation_seed, runs, first):
            yield [
                _outcome(self._network, variant, [StepCounts(*row) for row in rows])
                for rows in block.rows()
            ]

    def run_blocks(
        self, seed: int, permutation_seed: int, runs: int, first: int = 0
    ) -> Iterator[Block]:
        """The same as they come from the threads, many runs in a block of arrays."""
        stride = runs_at_a_time(self._network)
        fixed = self._layout, self._law, self._max_steps, self._stop
        workers = [
            _Worker(*fixed, seed, permutation_seed, stride).run for _ in range(self._threads)
        ]
        yield from in_turn(self._executor, workers, first, first + runs, stride)


class _Hands(NamedTuple):
    """What a thread needs for runs in which copies wait."""

    scratch: Scratch
    waiting: U32

    @classmethod
    def of(cls, layout: Layout, stop: U8) -> _Hands:
        (waiting,) = cut((layout.d << layout.group_bits, np.uint32))
        return cls(Scratch.of(layout, stop), waiting)


class _Worker:
    """What one thread needs to do run after run."""

    def __init__(
        self, layout: Layout, law: U64, max_steps: int, stop: U8, seed: int, permutation_seed: int,
        stride: int,
    ) -> None:  # fmt: skip
        n = layout.d * layout.g
        self.fixed = layout, law, max_steps
        self.stop, self.scratch = stop, Scratch.of(layout, stop)
        self.seeds = np.uint64(seed), np.uint64(permutation_seed)
        purposes = ("run", RANDOM, INTERMEDIATE_GROUP)
        self.purposes = np.array([number_of(purpose) for purpose in purposes], dtype=np.uint64)
        rows = stride * STEPS_EXPECTED + max_steps
        self.residues, self.drawn, self.steps, log = cut(
            (n, np.uint16), (CHUNK, np.uint32), (stride, np.int64), (4 * rows, np.int64)
        )
        self.log = log.reshape(rows, 4)

    def run(self, first: int, last: int) -> list[Block]:
        """Runs first … last - 1."""
        fixed = *self.fixed, *self.seeds, self.purposes
        memory = self.scratch, self.residues, self.drawn, self.log, self.steps

        def work(first: int, last: int) -> int:
            return route_many(*fixed, first, last, *memory)

        return in_blocks(work, first, last, self.stop, self.steps, self.log)


def _outcome(network: Network, variant: str, counts: Sequence[StepCounts]) -> Outcome:
    sent = sum(step.sent for step in counts)
    survivors = sum(step.survivors for step in counts)
    undelivered = [step.pending for step in counts]
    pending = undelivered[-1]
    delivered = network.n - pending
    published = variant == "published"
    executed = 3 * delivered if published else 0  # acks and last hops
    return Outcome(
        slots=5 * len(counts),
        slots_delivered=_last_delivery(network.n, undelivered, 5 if published else 2),
        steps=len(counts),
        delivered=delivered,
        lost=0,
        collisions=sum(step.collided for step in counts),
        destroyed=sent - delivered,
        messages=sent + survivors + executed,
        peak_buffers=None,
        control_bits=int(executed > 0),
        capped=pending > 0,
        survivors=tuple(undelivered),
    )


def _last_delivery(n: int, undelivered: Sequence[int], slot: int) -> int:
    """The last slot that delivered, if packets are delivered in this slot of a step."""
    steps = enumerate(pairwise([n, *undelivered]))
    return max((5 * step + slot for step, (before, after) in steps if after < before), default=0)


def _deferred_outcome(network: Network, log: npt.NDArray[np.int64], more: int) -> Outcome:
    sent, alone_1, heard_1, alone_2, heard_2, collided = log[:, 1:].sum(axis=0).tolist()
    undelivered = log[:, 0].tolist()
    delivered = network.n - undelivered[-1]
    slots = 5 * len(log) + more  # if there are more, the last of them brings the last copy home
    return Outcome(
        slots=slots,
        slots_delivered=slots if more else _last_delivery(network.n, undelivered, 5),
        steps=len(log),
        delivered=delivered,
        lost=0,
        collisions=collided,
        destroyed=sent - alone_1 + heard_1 - alone_2,
        messages=sent + heard_1 + 2 * heard_2 + delivered,
        peak_buffers=None,
        control_bits=int(heard_2 > 0),
        capped=heard_2 < network.n,
        survivors=tuple(undelivered),
    )


def _tell(observers: Sequence[Observer], pending: int, steps: float) -> None:
    tell(observers, int(steps), int(5 * steps), pending)
