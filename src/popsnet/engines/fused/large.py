"""Drives one large run: threads do the pieces of ``partitioned``, and Python looks on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_EXCEPTION, Executor, wait
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from popsnet.coins import Coins, number_of
from popsnet.engines.fused.arena import cut
from popsnet.engines.fused.partitioned import (
    DONE,
    GAP,
    STOP,
    TAKEN,
    WAITING,
    Buckets,
    Hands,
    Packets,
    Plan,
    work,
)
from popsnet.engines.fused.passes import FLAGS, SPARE, U16, U64, Layout
from popsnet.permutations.keyed import KeyedPermutation
from popsnet.routing.mei_rizzi import INTERMEDIATE_GROUP

_FEWEST_BITS, _MOST_BITS = 18, 20
"""Couplers of a bucket, as a power of two: they fit in a second-level cache, at a byte each."""

_LISTED = 2**29
"""The most packets whose codes are kept; above, they have a bit each and nothing else."""

_ENTRY_BYTES = 4.4e9
"""What the survivors of a round may take."""

_PARTS_PER_THREAD, _FEWEST_PARTS = 4, 16
"""A thread that is done takes another part, so that none waits long for the slowest. The bits of a
part are few enough for a cache."""

_SKEW = 5 * 64
"""Bytes more between buckets, an odd number of cache lines. All buckets fill up at the same rate;
at distances of a power of two, their ends would share one set of a cache."""

_MOST_IN_A_PART, _MOST_PARTS = 2**24, 2**10
"""Packets, as long as the parts are not too many; between pieces of work a run can be told to stop,
and tells how far it is."""

_STEPS_AT_A_TIME = 64
"""Steps that threads do before their tallies are emptied."""

_SECONDS_BETWEEN_LOOKS = 0.1
_SECONDS_TO_WAIT = 1e-4
"""A thread that has waited in vain for others lets go of its processor for this long."""


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
        self.narrow = self.cell_bits + layout.name_bits <= 32
        parts = min(layout.d * layout.g // _MOST_IN_A_PART, _MOST_PARTS)
        parts = min(max(parts, _PARTS_PER_THREAD * self.threads, _FEWEST_PARTS), self.lots)
        cuts = [self.lots * part // parts * layout.lot for part in range(parts)]
        self.cuts = np.array([*cuts, layout.blocks])
        self._allocate()

    def _allocate(self) -> None:
        layout, count = self.layout, self.bucket_count
        size, words = layout.size, -(-layout.size // 64)
        u32, u64, u8 = np.uint32, np.uint64, np.uint8
        entry = u32 if self.narrow else u64
        rows = np.diff(np.minimum(self.cuts * layout.rows, layout.g))
        room = rows << (self.cell_bits - layout.group_bits)  # of one bucket
        width = (room + _SKEW // np.dtype(entry).itemsize)[:, None]
        firsts = np.concatenate([[0], np.cumsum(width * count)])
        self.starts = firsts[:-1, None] + width * np.arange(count + GAP)
        self.ends = self.starts.copy()
        self.bounds = np.zeros((self.lots, count), dtype=u32)
        self.entries = np.empty(firsts[-1], dtype=entry)
        self.codes = np.empty(layout.d * layout.g + SPARE if self.listed else 0, dtype=u32)
        self.sizes = np.zeros(layout.blocks, dtype=np.int64)
        self.bits = np.empty(layout.blocks * words, dtype=u64)
        self.hands = []
        for _ in range(self.threads):
            pieces = cut(
                (64 * words + SPARE, u32),
                (size + 1, u32),
                (size + SPARE, u32),
                (size + SPARE, u32),
                (size + SPARE, entry),
                (size + SPARE, entry),
                (size + SPARE if self.narrow else 0, u32),
                (FLAGS, u8),
                (-(-(layout.rows << layout.group_bits) // 8), u64),
                (-(-(2**self.cell_bits) // 8), u64),
            )
            *others, first, second = pieces
            tables = first, first.view(u8), second, second.view(u8)
            self.hands.append(Hands(*[*others, *tables]))
        self.shared = np.zeros((3 + self.threads) * GAP, dtype=np.int64)
        self.home = np.zeros(self.threads * GAP, dtype=np.int64)
        self.tallies = np.zeros((self.threads, _STEPS_AT_A_TIME, 4), dtype=np.int64)

    def steps(
        self, targets: U16 | KeyedPermutation, coins: Coins, tell: Callable[[int, float], None]
    ) -> Iterator[StepCounts]:
        """Do step after step; ``tell`` hears what is pending and how many steps are done."""
        packets = self._packets(targets)
        pending, step = self.layout.d * self.layout.g, 0
        self.home[:] = 0
        while pending > 0 and step < self.max_steps:
            for counts in self._some_steps(packets, coins, step, pending, tell):
                pending, step = counts.pending, step + 1
                yield counts

    def _some_steps(
        self, packets: Packets, coins: Coins, first: int, pending: int,
        tell: Callable[[int, float], None],
    ) -> Iterator[StepCounts]:  # fmt: skip
        """Do as many steps as there are tallies for, all threads together."""
        last = min(first + _STEPS_AT_A_TIME, self.max_steps)
        pieces = self.rounds * (len(self.cuts) - 1 + self.bucket_count)
        self.shared[:], self.tallies[:] = 0, 0
        self.shared[TAKEN] = self.shared[DONE] = first * pieces
        keys = np.array([coins.seed, number_of(INTERMEDIATE_GROUP)], dtype=np.uint64)
        plan = Plan(
            self.law, keys, self.rounds, self.span, self.cuts, last, self.shared, self.home,
            self.tallies,
        )  # fmt: skip
        shift = self.cell_bits + self.layout.name_bits
        buckets = Buckets(self.entries, self.starts, self.ends, self.bounds, 0, 0, shift)

        def work_on(t: int) -> None:
            while work(self.layout, packets, buckets, self.hands[t], plan, t) == WAITING:
                time.sleep(_SECONDS_TO_WAIT)

        futures = [self.executor.submit(work_on, t) for t in range(self.threads)]
        step = first
        try:
            while True:
                timeout = _SECONDS_BETWEEN_LOOKS
                ended, others = wait(futures, timeout, return_when=FIRST_EXCEPTION)
                for future in ended:
                    future.result()
                done = int(self.shared[DONE]) / pieces
                while step < int(done):
                    sent, survivors, collided, home = self.tallies[:, step - first].sum(axis=0)
                    pending -= int(home)
                    step += 1
                    yield StepCounts(pending, int(sent), int(survivors), int(collided))
                if not others:
                    return
                tell(pending, done)
        finally:
            self.shared[STOP] = 1

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


def _first_bits(count: int, words: int) -> npt.NDArray[np.uint64]:
    bits = np.zeros(words, dtype=np.uint64)
    bits[: count // 64] = ~np.uint64(0)
    if count % 64:
        bits[count // 64] = np.uint64(2 ** (count % 64) - 1)
    return bits
