"""Drives one large run: phases of ``partitioned`` on threads, step after step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from popsnet.coins import Coins
from popsnet.engines.fused.arena import cut
from popsnet.engines.fused.partitioned import (
    Buckets,
    Hands,
    Packets,
    settle,
    strike,
    throw,
)
from popsnet.engines.fused.passes import SPARE, U16, U64, Layout
from popsnet.permutations.keyed import KeyedPermutation
from popsnet.routing.mei_rizzi import INTERMEDIATE_GROUP

__all__ = ["LargeRun", "StepCounts", "large_run_bytes", "listed"]

_FEWEST_BITS, _MOST_BITS = 18, 20
"""Couplers of a bucket, as a power of two: they fit in a second-level cache, at a byte each."""

_LISTED = 2**29
"""The most packets whose codes are kept; above, they have a bit each and nothing else."""

_ENTRY_BYTES = 4.4e9
"""What the survivors of a round may take."""

_PACKETS_AT_A_TIME = 2**24
"""A thread comes back to be asked whether to go on after so many packets."""

_GAP = 16
"""Numbers between what different threads write to: a cache line and the one fetched with it."""

Tallies = npt.NDArray[np.int64]


class StepCounts(NamedTuple):
    """What happened in a step."""

    pending: int
    sent: int
    survivors: int
    collided: int


def listed(layout: Layout) -> bool:
    """Whether the codes of pending packets are kept; they have 32 bits."""
    return layout.d * layout.g <= _LISTED and layout.code_bits <= 32


def rounds_needed(g: int) -> int:
    """In how many rounds to take the intermediate groups, a power of two."""
    rounds = 1
    while _entry_bytes(g, rounds) > _ENTRY_BYTES and rounds < g:
        rounds *= 2
    return rounds


def table_bits(layout: Layout) -> int:
    """Couplers of a bucket, as a power of two: more where there would be too many buckets."""
    return min(max(2 * layout.group_bits - 7, _FEWEST_BITS), _MOST_BITS)


def large_run_bytes(layout: Layout, threads: int) -> int:
    """Memory of a run: what is pending, the survivors of a round with their bounds, scratch."""
    n, g = layout.d * layout.g, layout.g
    pending = n // 8 + (4 * n if listed(layout) else 0)
    rounds = rounds_needed(g)
    buckets = max(g << layout.group_bits >> table_bits(layout), 1)
    bounds = 4 * (layout.blocks // layout.lot + 1) * (buckets // rounds + 1)
    scratch = threads * (32 * layout.size + (2 << table_bits(layout)))
    return pending + int(_entry_bytes(g, rounds)) + bounds + scratch + 2**26


def _entry_bytes(g: int, rounds: int) -> float:
    """Room for one survivor a coupler. Fewer come, but large pages are taken whole."""
    return 8 * g * g / rounds


@dataclass
class LargeRun:
    """The state of runs, one after another; ``steps`` makes one go."""

    layout: Layout
    law: U64
    max_steps: int
    threads: int
    executor: Executor
    rounds: int = 0
    listed: bool | None = None

    def __post_init__(self) -> None:
        layout, g = self.layout, self.layout.g
        self.rounds = self.rounds or rounds_needed(g)
        if self.listed is None:
            self.listed = listed(layout)
        self.span = -(-g // self.rounds)
        shift = max(table_bits(layout) - layout.group_bits, 0)
        group_shift = min(shift, (self.span - 1).bit_length())
        self.cell_bits = group_shift + layout.group_bits
        self.bucket_count = -(-self.span // 2**group_shift)
        self.lots = -(-layout.blocks // layout.lot)
        cuts = [self.lots * t // self.threads * layout.lot for t in range(self.threads)]
        self.cuts = [*cuts, layout.blocks]
        self._allocate()

    def _allocate(self) -> None:
        layout, count = self.layout, self.bucket_count
        size, words = layout.size, -(-layout.size // 64)
        u32, u64 = np.uint32, np.uint64
        rows = np.diff(np.minimum(np.array(self.cuts) * layout.rows, layout.g))
        width = (rows << (self.cell_bits - layout.group_bits))[:, None]  # room of one bucket
        firsts = np.concatenate([[0], np.cumsum(width * count)])
        self.starts = firsts[:-1, None] + width * np.arange(count + _GAP)
        self.ends = self.starts.copy()
        self.bounds = np.zeros((self.lots, count), dtype=u32)
        self.entries = np.empty(firsts[-1], dtype=u64)
        self.codes = np.empty(layout.d * layout.g + SPARE if self.listed else 0, dtype=u32)
        self.sizes = np.zeros(layout.blocks, dtype=np.int64)
        self.bits = np.empty(layout.blocks * words, dtype=u64)
        self.hands = []
        for _ in range(self.threads):
            numbers, taking, taken, couplers, drawn, survivors, first, second, read = cut(
                (64 * words + SPARE, u32),
                (size + 1, u32),
                (size + SPARE, u32),
                (size + SPARE, u32),
                (size + SPARE, u64),
                (size + 1, u64),
                (-(-(layout.rows << layout.group_bits) // 8), u64),
                (-(-(2**self.cell_bits) // 8), u64),
                (count, u32),
            )
            self.hands.append(
                Hands(
                    numbers, taking, taken, couplers, drawn, survivors, first,
                    first.view(np.uint8), second, second.view(np.uint8), read,
                )
            )  # fmt: skip

    def steps(
        self, targets: U16 | KeyedPermutation, coins: Coins, tell: Callable[[int, float], None]
    ) -> Iterator[StepCounts]:
        """Do step after step; ``tell`` hears what is pending and how many steps are done."""
        packets = self._packets(targets)
        pending = self.layout.d * self.layout.g
        step = 0
        while pending > 0 and step < self.max_steps:
            key = np.uint64(coins.key(INTERMEDIATE_GROUP, step))
            threshold = self.law[step] if step < len(self.law) else np.uint64(2**32)
            tallies = np.zeros((self.threads, 4 + _GAP), dtype=np.int64)
            for turn in range(self.rounds):
                buckets = self._buckets(turn)
                for part in self._throw(packets, buckets, step, key, threshold, tallies):
                    tell(pending, step + (turn + part) / self.rounds)
                self._settle(buckets, tallies)
                self._strike(packets, buckets)
            sent, survivors, collided, home = tallies.sum(axis=0)[:4].tolist()
            pending -= home
            yield StepCounts(pending, sent, survivors, collided)
            step += 1

    def _packets(self, targets: U16 | KeyedPermutation) -> Packets:
        """All packets are pending."""
        self.ends[:] = self.starts  # a run that was interrupted may have left them elsewhere
        residues, permutation = np.empty(0, dtype=np.uint16), KeyedPermutation(1, Coins(0))
        if isinstance(targets, KeyedPermutation):
            permutation = targets
        else:
            residues = targets
        packets = Packets(
            self.codes, self.sizes, self.bits, residues,
            np.uint64(permutation.n), np.uint64(permutation.half), permutation.keys,
        )  # fmt: skip
        if residues.size and not self.listed:
            raise ValueError("Without codes the permutation has to be computed.")
        size, n, count = self.layout.size, self.layout.d * self.layout.g, self.layout.blocks
        blocks = self.bits.reshape(count, -1)
        blocks[:] = _first_bits(size, blocks.shape[1])
        blocks[-1] = _first_bits(n - (count - 1) * size, blocks.shape[1])
        return packets

    def _buckets(self, turn: int) -> Buckets:
        low = min(turn * self.span, self.layout.g)
        high = min(low + self.span, self.layout.g)
        shift = self.cell_bits + self.layout.name_bits
        return Buckets(self.entries, self.starts, self.ends, self.bounds, low, high, shift)

    def _throw(
        self, packets: Packets, buckets: Buckets, step: int, key: np.uint64,
        threshold: np.uint64, tallies: Tallies,
    ) -> Iterator[float]:  # fmt: skip
        stride = max(_PACKETS_AT_A_TIME // self.layout.size, 1)
        longest = max(b - a for a, b in pairwise(self.cuts))
        for begin in range(0, longest, stride):

            def work(t: int, begin: int = begin) -> None:
                first = self.cuts[t] + begin
                last = min(first + stride, self.cuts[t + 1])
                throw(
                    self.layout, packets, buckets, self.hands[t], t, step, key, threshold, first,
                    last, tallies[t],
                )  # fmt: skip

            self._on_threads(work)
            yield min(begin + stride, longest) / longest

    def _settle(self, buckets: Buckets, tallies: Tallies) -> None:
        def work(t: int) -> None:
            first = self.bucket_count * t // self.threads
            last = self.bucket_count * (t + 1) // self.threads
            settle(self.layout, buckets, self.hands[t], first, last, tallies[t])

        self._on_threads(work)

    def _strike(self, packets: Packets, buckets: Buckets) -> None:
        def work(t: int) -> None:
            first, last = self.cuts[t], self.cuts[t + 1]
            strike(self.layout, packets, buckets, self.hands[t], t, first, last)

        self._on_threads(work)

    def _on_threads(self, work: Callable[[int], None]) -> None:
        list(self.executor.map(work, range(self.threads)))


def _first_bits(count: int, words: int) -> npt.NDArray[np.uint64]:
    bits = np.zeros(words, dtype=np.uint64)
    bits[: count // 64] = ~np.uint64(0)
    if count % 64:
        bits[count // 64] = np.uint64(2 ** (count % 64) - 1)
    return bits
