"""Drives one large run: phases of ``partitioned`` on threads, step after step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from popsnet.coins import Coins
from popsnet.engines.fused.arena import cut
from popsnet.engines.fused.partitioned import (
    Buckets,
    Hands,
    Sources,
    clear_bits,
    settle,
    throw,
)
from popsnet.engines.fused.passes import U16
from popsnet.engines.fused.resident import Shape
from popsnet.permutations.keyed import KeyedPermutation
from popsnet.routing.mei_rizzi import INTERMEDIATE_GROUP

__all__ = ["LargeRun", "Tally", "large_run_bytes"]

_TABLE = 2**19
"""Couplers of a bucket: half of a second-level cache, at a byte each."""

_ENTRY_BYTES = 4.4e9
"""What the survivors of a round may take."""

_PACKETS_AT_A_TIME = 2**24
"""A thread comes back to be asked whether to go on after so many packets."""


T = TypeVar("T")
Tallies = npt.NDArray[np.int64]


class Tally(NamedTuple):
    """What happened in a step."""

    pending: int
    sent: int
    survivors: int
    collided: int


def rounds_needed(g: int) -> int:
    """In how many rounds to take the intermediate groups, a power of two."""
    rounds = 1
    while _entry_bytes(g, rounds) > _ENTRY_BYTES and rounds < g:
        rounds *= 2
    return rounds


def large_run_bytes(d: int, g: int, threads: int) -> int:
    """Memory of a run with a computed permutation: a bit a packet, a round's survivors, scratch."""
    scratch = threads * (20 * max(d, 2**14) + 2 * _TABLE)
    return d * g // 8 + int(_entry_bytes(g, rounds_needed(g))) + scratch + 2**26


def _entry_bytes(g: int, rounds: int) -> float:
    """Room for one survivor a coupler. Fewer come, but large pages are taken whole."""
    return 8 * g * g / rounds


@dataclass
class LargeRun:
    """The state of a run; ``steps`` makes it go."""

    shape: Shape
    threads: int
    executor: Executor
    rounds: int = 0

    def __post_init__(self) -> None:
        g, rows = self.shape.g, self.shape.rows
        self.rounds = self.rounds or rounds_needed(g)
        if self.rounds > 1 and rows > 1:
            raise ValueError("Rounds need blocks of one group.")
        self.span = -(-g // self.rounds)
        self.shift = min(max((_TABLE // g).bit_length() - 1, 0), (self.span - 1).bit_length())
        self.blocks = -(-g // rows)
        self.cuts = [self.blocks * t // self.threads for t in range(self.threads + 1)]
        self.bucket_count = -(-self.span // 2**self.shift)
        self._allocate()

    def _allocate(self) -> None:
        d, g, rows = self.shape.d, self.shape.g, self.shape.rows
        size, words = rows * d, -(-rows * d // 64)
        self.words = words
        groups = [min(b * rows, g) - min(a * rows, g) for a, b in pairwise(self.cuts)]
        width = 2**self.shift * np.array(groups, dtype=np.int64)[:, None]  # room of one bucket
        offsets = np.concatenate([[0], np.cumsum(width[:, 0] * self.bucket_count)])
        starts = offsets[:-1, None] + width * np.arange(self.bucket_count)
        self.pending = np.empty(self.blocks * words, dtype=np.uint64)
        self.entries = np.empty(offsets[-1], dtype=np.uint64)
        self.starts = np.ascontiguousarray(starts)
        self.ends = self.starts.copy()
        u32 = np.uint32
        self.hands = [
            Hands(
                *cut(
                    (64 * words, u32),
                    (size, u32),
                    (size, u32),
                    (size, u32),
                    (size + 1, u32),
                    (rows * g, np.uint8),
                    (2**self.shift * g, np.uint8),
                )
            )
            for _ in range(self.threads)
        ]

    def reset(self) -> None:
        """All packets are pending: the bits of those there are, block by block."""
        self.ends[:] = self.starts
        size, n = self.shape.rows * self.shape.d, self.shape.d * self.shape.g
        blocks = self.pending.reshape(self.blocks, self.words)
        blocks[:] = _first_bits(size, self.words)
        blocks[-1] = _first_bits(n - (self.blocks - 1) * size, self.words)

    def steps(
        self, targets: U16 | KeyedPermutation, coins: Coins, tell: Callable[[int, float], None]
    ) -> Iterator[Tally]:
        """Do step after step; ``tell`` hears what is pending and how many steps are done."""
        self.reset()
        sources = self._sources(targets)
        pending = self.shape.d * self.shape.g
        step = 0
        while pending > 0 and step < self.shape.max_steps:
            key = np.uint64(coins.key(INTERMEDIATE_GROUP, step))
            law = self.shape.thresholds
            threshold = law[step] if step < len(law) else np.uint64(2**32)
            tallies = np.zeros((self.threads, 3), dtype=np.int64)
            for turn in range(self.rounds):
                buckets = self._buckets(turn)
                for part in self._throw(sources, buckets, key, threshold, tallies):
                    tell(pending, step + (turn + part) / self.rounds)
                self._settle(buckets, tallies)
                pending -= self._clear(buckets)
            sent, survivors, collided = tallies.sum(axis=0).tolist()
            yield Tally(pending, sent, survivors, collided)
            step += 1

    def _sources(self, targets: U16 | KeyedPermutation) -> Sources:
        none = np.empty(0, dtype=np.uint64)
        if isinstance(targets, KeyedPermutation):
            n, half = np.uint64(targets.n), np.uint64(targets.half)
            return Sources(self.pending, np.empty(0, dtype=np.uint16), n, half, targets.keys)
        return Sources(self.pending, targets, np.uint64(0), np.uint64(0), none)

    def _buckets(self, turn: int) -> Buckets:
        low = min(turn * self.span, self.shape.g)
        high = min(low + self.span, self.shape.g)
        return Buckets(self.entries, self.starts, self.ends, low, high, self.shift)

    def _throw(
        self, sources: Sources, buckets: Buckets, key: np.uint64, threshold: np.uint64,
        tallies: Tallies,
    ) -> Iterator[float]:  # fmt: skip
        shape = self.shape
        stride = max(_PACKETS_AT_A_TIME // (shape.rows * shape.d), 1)
        longest = max(b - a for a, b in pairwise(self.cuts))
        for begin in range(0, longest, stride):

            def work(t: int, begin: int = begin) -> None:
                first = self.cuts[t] + begin
                last = min(first + stride, self.cuts[t + 1])
                throw(
                    sources, buckets, self.hands[t], t, shape.d, shape.g, shape.rows, shape.magic,
                    key, threshold, first, last, tallies[t],
                )  # fmt: skip

            self._on_threads(work)
            yield min(begin + stride, longest) / longest

    def _settle(self, buckets: Buckets, tallies: Tallies) -> None:
        def work(t: int) -> None:
            first = self.bucket_count * t // self.threads
            last = self.bucket_count * (t + 1) // self.threads
            settle(buckets, self.hands[t].cells, first, last, tallies[t])

        self._on_threads(work)

    def _clear(self, buckets: Buckets) -> int:
        return sum(self._on_threads(lambda t: clear_bits(self.pending, buckets, t)))

    def _on_threads(self, work: Callable[[int], T]) -> list[T]:
        return list(self.executor.map(work, range(self.threads)))


def _first_bits(count: int, words: int) -> npt.NDArray[np.uint64]:
    bits = np.zeros(words, dtype=np.uint64)
    bits[: count // 64] = ~np.uint64(0)
    if count % 64:
        bits[count // 64] = np.uint64(2 ** (count % 64) - 1)
    return bits
