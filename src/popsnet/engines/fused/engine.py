"""Runs of the fused engine, and what they come to."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial

import numpy as np
import numpy.typing as npt

from popsnet.coins import number_of
from popsnet.engines.fused.arena import cut
from popsnet.engines.fused.large import LargeRun, Tally, large_run_bytes
from popsnet.engines.fused.resident import Scratch, Shape, route, route_many
from popsnet.engines.instance import Instance, Outcome
from popsnet.network import Network
from popsnet.permutations.keyed import KeyedPermutation
from popsnet.permutations.uniform import CHUNK, RANDOM, bucket_bits
from popsnet.routing.mei_rizzi import INTERMEDIATE_GROUP
from popsnet.trace import Event, Listen, Observer, Send

__all__ = ["RESIDENT", "bytes_needed", "execute", "execute_many"]

RESIDENT = 2**20
"""The most packets of a run that is done by one thread."""

_PACKETS_AT_A_TIME = 2**22
_MOST_RUNS_AT_A_TIME = 4096
_STEPS_EXPECTED = 16


def bytes_needed(network: Network, keyed: bool) -> int:
    """Memory for one run; permutations that are not computed are stored while they are made."""
    n = network.n
    if n <= RESIDENT:
        return 40 * n
    return large_run_bytes(n, network.g) + (0 if keyed else 12 * n)


def execute(
    instance: Instance, observers: Sequence[Observer] = (), threads: int | None = None
) -> Outcome:
    """Route one permutation; observers hear of every step instead of every slot."""
    shape = Shape.of(instance.network, instance.max_steps)
    tallies: list[Tally] = []
    for tally in _tallies(instance, shape, observers, threads or os.cpu_count() or 1):
        tallies.append(tally)
        _tell(observers, tally.pending, len(tallies))
    return _outcome(instance.network, instance.variant, tallies)


def _tallies(
    instance: Instance, shape: Shape, observers: Sequence[Observer], threads: int
) -> Iterator[Tally]:
    if instance.network.n <= RESIDENT:
        log = np.empty((instance.max_steps, 4), dtype=np.int64)
        seed, purpose = np.uint64(instance.coins.seed), np.uint64(number_of(INTERMEDIATE_GROUP))
        steps = route(shape, _residues(instance), seed, purpose, Scratch.of(shape), log)
        yield from (Tally(*row) for row in log[:steps].tolist())
        return
    with ThreadPoolExecutor(threads) as executor:
        run = LargeRun(shape, threads, executor)
        targets = instance.destination
        if not isinstance(targets, KeyedPermutation):
            targets = _residues(instance)
        yield from run.steps(targets, instance.coins, partial(_tell, observers))


def _residues(instance: Instance) -> npt.NDArray[np.uint16]:
    return (instance.array() % instance.network.g).astype(np.uint16)


def execute_many(
    network: Network, variant: str, seed: int, permutation_seed: int, max_steps: int, runs: int,
    threads: int | None = None,
) -> Iterator[Outcome]:  # fmt: skip
    """Runs 0, 1, … on uniform permutations, several at a time; in order."""
    shape = Shape.of(network, max_steps)
    stride = min(max(_PACKETS_AT_A_TIME // network.n, 1), _MOST_RUNS_AT_A_TIME)
    count = threads or os.cpu_count() or 1
    workers = [_Worker(shape, seed, permutation_seed, stride) for _ in range(count)]
    with ThreadPoolExecutor(count) as executor:
        waiting: list[Future[list[list[Tally]]]] = []
        starts = iter(range(0, runs, stride))
        try:
            for turn, start in enumerate(starts):
                work = workers[turn % count]
                waiting.append(executor.submit(work.run, start, min(start + stride, runs)))
                if len(waiting) == count:
                    yield from (_outcome(network, variant, one) for one in waiting.pop(0).result())
            for future in waiting:
                yield from (_outcome(network, variant, one) for one in future.result())
        finally:
            executor.shutdown(cancel_futures=True)


class _Worker:
    """What one thread needs to do run after run."""

    def __init__(self, shape: Shape, seed: int, permutation_seed: int, stride: int) -> None:
        n = shape.d * shape.g
        self.bits = bucket_bits(n)
        self.shape, self.scratch = shape, Scratch.of(shape)
        self.seeds = np.uint64(seed), np.uint64(permutation_seed)
        purposes = ("run", RANDOM, INTERMEDIATE_GROUP)
        self.purposes = np.array([number_of(purpose) for purpose in purposes], dtype=np.uint64)
        rows = stride * _STEPS_EXPECTED + shape.max_steps
        self.residues, self.ends, self.drawn, self.steps, log = cut(
            (n, np.uint16),
            (2**self.bits + 1, np.int64),
            (CHUNK, np.uint32),
            (stride, np.int64),
            (4 * rows, np.int64),
        )
        self.log = log.reshape(rows, 4)

    def run(self, first: int, last: int) -> list[list[Tally]]:
        """The tallies of runs first … last - 1."""
        done: list[list[Tally]] = []
        while first < last:
            count = route_many(
                self.shape, *self.seeds, self.purposes, self.bits, first, last, self.scratch,
                self.residues, self.ends, self.drawn, self.log, self.steps,
            )  # fmt: skip
            ends = np.cumsum(self.steps[:count]).tolist()
            rows = [Tally(*row) for row in self.log[: ends[-1]].tolist()]
            done += [rows[a:b] for a, b in zip([0, *ends], ends, strict=False)]
            first += count
        return done


def _outcome(network: Network, variant: str, tallies: Sequence[Tally]) -> Outcome:
    sent = sum(tally.sent for tally in tallies)
    survivors = sum(tally.survivors for tally in tallies)
    pending = tallies[-1].pending
    delivered = network.n - pending
    executed = 3 * delivered if variant == "published" else 0  # acks and last hops
    return Outcome(
        slots=5 * len(tallies),
        steps=len(tallies),
        delivered=delivered,
        lost=0,
        collisions=sum(tally.collided for tally in tallies),
        destroyed=sent - delivered,
        messages=sent + survivors + executed,
        peak_buffers=None,
        capped=pending > 0,
        survivors=tuple(tally.pending for tally in tallies),
    )


def _tell(observers: Sequence[Observer], pending: int, steps: float) -> None:
    event = Event(int(5 * steps), "step", int(steps), pending, _no_records)
    for observe in observers:
        observe(event)


def _no_records() -> tuple[list[Send], list[Listen]]:
    raise ValueError("The fused engine has no messages to record; use the slots engine.")
