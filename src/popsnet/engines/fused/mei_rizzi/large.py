"""One large run: threads execute the pieces of ``partitioned``, and Python supervises."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from popsnet.engines.fused.arrays import I64, U16, U64, Table, allocate, size_of
from popsnet.engines.fused.kernel import KeyedRounds, LargeRun, StepReport
from popsnet.engines.fused.mei_rizzi import partitioned
from popsnet.engines.fused.mei_rizzi.layout import LOG, MeiRizziLayout, MeiRizziProgram
from popsnet.engines.fused.mei_rizzi.passes import FLAGS, SLOTS_PER_STEP, SPARE
from popsnet.engines.fused.team import GAP, Team
from popsnet.experiment.experiment import Instance

RESIDUE = np.dtype(np.uint16)
"""The type of stored destinations, mod g."""

_FEWEST_BITS, _MOST_BITS = 18, 20
"""Couplers of a bucket, as a power of two, which fit in a second-level cache at a byte each."""

_LISTED = 2**29
"""The most packets whose codes are kept. More packets have only a bit each."""

_ENTRY_BYTES = 4.4e9
"""The memory that the survivors of a round may take."""

_PARTS_PER_THREAD, _FEWEST_PARTS = 4, 16
"""A thread that is done takes another part, so that none waits long for the slowest. The bits of a
part are few enough for a cache."""

_SKEW = 5 * 64
"""Bytes more between buckets, an odd number of cache lines. All buckets fill up at the same rate;
at distances of a power of two, their ends would share one set of a cache."""

_MOST_IN_A_PART, _MOST_PARTS = 2**24, 2**10
"""Packets, as long as the parts are not too many; between pieces of work a run can be told to stop,
and reports how far it is."""

_STEPS_AT_A_TIME = 64
"""Steps that threads execute before their tallies are emptied."""

_SECONDS_TO_WAIT = 1e-4
"""A thread that has waited too long for others yields its processor for this long."""


def listed(layout: MeiRizziLayout) -> bool:
    """Return whether the codes of pending packets are kept, in 32 bits each."""
    return layout.d * layout.g <= _LISTED and layout.number_bits + layout.group_bits <= 32


def rounds_needed(g: int) -> int:
    """Return the rounds in which to take the intermediate groups, a power of two.

    There is room for one survivor per coupler. Fewer come, but large pages are whole.
    """
    rounds = 1
    while 8 * g * g / rounds > _ENTRY_BYTES and rounds < g:
        rounds *= 2
    return rounds


class Partition:
    """The division of a run into parts and buckets for threads, and the arrays that it needs."""

    def __init__(self, layout: MeiRizziLayout, threads: int) -> None:
        self.layout, self.threads, self.rounds = layout, threads, rounds_needed(layout.g)
        self.codes = listed(layout)
        """Whether there is a list of codes."""
        self.span = -(-layout.g // self.rounds)
        """Intermediate groups of a round."""
        table_bits = min(max(2 * layout.group_bits - 7, _FEWEST_BITS), _MOST_BITS)
        shift = max(table_bits - layout.group_bits, 0)  # more, so that buckets are not too many
        group_shift = min(shift, (self.span - 1).bit_length())
        self.cell_bits = group_shift + layout.group_bits
        self.bucket_count = -(-self.span // 2**group_shift)
        self.batches = -(-layout.blocks // layout.batch)
        parts = min(layout.d * layout.g // _MOST_IN_A_PART, _MOST_PARTS)
        parts = min(max(parts, _PARTS_PER_THREAD * threads, _FEWEST_PARTS), self.batches)
        cuts = [self.batches * part // parts * layout.batch for part in range(parts)]
        self.cuts: I64 = np.array([*cuts, layout.blocks])
        """The first block of each part, and the end."""

    @property
    def bytes(self) -> int:
        """The memory of all arrays."""
        return size_of(self.shared_table()) + self.threads * size_of(self.thread_table())

    @property
    def entry(self) -> type[np.uint32] | type[np.uint64]:
        """The type of an entry."""
        return np.uint32 if self.cell_bits + self.layout.name_bits <= 32 else np.uint64

    def widths(self) -> I64:
        """Return the entries of one bucket in each part."""
        rows = np.diff(np.minimum(self.cuts * self.layout.rows, self.layout.g))
        room = rows << (self.cell_bits - self.layout.group_bits)
        return room + _SKEW // np.dtype(self.entry).itemsize

    def shared_table(self) -> Table:
        """Return the large arrays that threads share."""
        layout, count = self.layout, self.bucket_count
        return {
            "entries": (int(self.widths().sum()) * count, self.entry),
            "bounds": ((self.batches, count), np.uint32),
            "codes": (layout.d * layout.g + SPARE if self.codes else 0, np.uint32),
            "sizes": (layout.blocks, np.int64),
            "bits": ((layout.blocks, -(-layout.size // 64)), np.uint64),
        }

    def thread_table(self) -> Table:
        """Return the arrays of a thread."""
        size, u32, entry = self.layout.size, np.uint32, self.entry
        return {
            "numbers": (64 * -(-size // 64) + SPARE, u32),
            "taking": (size + 1, u32),
            **dict.fromkeys(("taken", "couplers"), (size + SPARE, u32)),
            **dict.fromkeys(("drawn", "survivors"), (size + SPARE, entry)),
            "scattered": (size + SPARE if entry is u32 else 0, u32),
            "flags": (FLAGS, np.uint8),
            "first": (self.layout.row_words, np.uint64),
            "second": (-(-(2**self.cell_bits) // 8), np.uint64),
        }


class PartitionedRun(LargeRun):
    """Runs of the paper's router on all threads, their packets in parts and buckets."""

    def __init__(self, layout: MeiRizziLayout, program: MeiRizziProgram, team: Team) -> None:
        super().__init__(layout.d * layout.g, layout.g, RESIDUE.type, team)
        self.layout, self.program = layout, program
        self.parted = parted = Partition(layout, team.size)
        count, threads, width = parted.bucket_count, range(team.size), parted.widths()[:, None]
        firsts = np.concatenate([[0], np.cumsum(width * count)])
        starts = firsts[:-1, None] + width * np.arange(count + GAP)
        shared = {name: np.zeros(*array) for name, array in parted.shared_table().items()}
        entries, shift = shared["entries"], parted.cell_bits + layout.name_bits
        fixed = entries, starts, starts.copy(), shared["bounds"]
        self.buckets = partitioned.Buckets(*fixed, low=0, high=0, shift=shift)
        self.codes, self.sizes, self.bits = shared["codes"], shared["sizes"], shared["bits"]
        table = parted.thread_table()
        self.workspaces = [allocate(partitioned.PartitionWorkspace, table) for _ in threads]
        self.shared = np.zeros(partitioned.HELD + len(threads) * GAP, dtype=np.int64)
        self.delivered = np.zeros(len(threads) * GAP, dtype=np.int64)
        self.tallies = np.zeros((len(threads), _STEPS_AT_A_TIME), dtype=partitioned.TALLY)

    def steps(self, instance: Instance, report: StepReport) -> Iterator[np.void]:
        """Route one permutation, and yield the row of the log of each step."""
        packets, seed = self._packets(*self.targets(instance.destination)), instance.coins.seed
        undelivered, step = self.layout.d * self.layout.g, 0
        self.delivered[:] = 0
        while undelivered > 0 and step < self.program.max_steps:
            for row in self._some_steps(packets, np.uint64(seed), step, undelivered, report):
                undelivered, step = int(row["undelivered"]), step + 1
                yield row

    def _some_steps(
        self, packets: partitioned.PartitionedPackets, seed: np.uint64, first: int,
        undelivered: int, report: StepReport,
    ) -> Iterator[np.void]:  # fmt: skip
        """Execute as many steps as there are tallies, on all threads together."""
        parted, program = self.parted, self.program
        last = min(first + _STEPS_AT_A_TIME, program.max_steps)
        pieces = parted.rounds * (len(parted.cuts) - 1 + parted.bucket_count)
        self.shared[:], self.tallies[:] = 0, 0
        self.shared[partitioned.TAKEN] = self.shared[partitioned.DONE] = first * pieces
        plan = partitioned.PartitionPlan(
            program, seed, parted.rounds, parted.span, parted.cuts, last, self.shared,
            self.delivered, self.tallies,
        )  # fmt: skip

        def work_on(t: int) -> None:
            fixed = self.layout, packets, self.buckets, self.workspaces[t]
            while partitioned.do_pieces(*fixed, plan, t) == partitioned.WAITING:
                time.sleep(_SECONDS_TO_WAIT)

        step = first
        try:
            for _ in self.team.do(work_on):
                done = int(self.shared[partitioned.DONE]) / pieces
                for row in self._rows(step, int(done), first, undelivered):
                    undelivered, step = int(row["undelivered"]), step + 1
                    yield row
                report(int(done), int(SLOTS_PER_STEP * done), undelivered)
            end = int(self.shared[partitioned.DONE]) // pieces
            yield from self._rows(step, end, first, undelivered)
        finally:
            self.shared[partitioned.STOP] = 1

    def _rows(self, step: int, end: int, first: int, undelivered: int) -> Iterator[np.void]:
        """Return the steps that are done as rows of the log."""
        for number in range(step, end):
            tallies, row = self.tallies[:, number - first], np.zeros(1, dtype=LOG)[0]
            for name in ("sent", "survivors", "collisions"):
                row[name] = tallies[name].sum()
            undelivered -= int(tallies["delivered"].sum())
            row["undelivered"], row["slots"] = undelivered, SLOTS_PER_STEP * (number + 1)
            yield row

    def _packets(self, residues: U16, keyed: KeyedRounds) -> partitioned.PartitionedPackets:
        """Return all packets as pending."""
        if residues.size and not self.codes.size:
            raise ValueError("Without codes the permutation has to be computed.")
        self.buckets.ends[:] = self.buckets.starts  # an interrupted run may leave others
        size, n, blocks = self.layout.size, self.layout.d * self.layout.g, self.layout.blocks
        words = self.bits.shape[1]
        self.bits[:] = _first_bits(size, words)
        self.bits[-1] = _first_bits(n - (blocks - 1) * size, words)
        fixed = self.codes, self.sizes, self.bits.reshape(-1)
        return partitioned.PartitionedPackets(*fixed, residues, keyed)


def _first_bits(count: int, words: int) -> U64:
    bits = np.zeros(words, dtype=np.uint64)
    bits[: count // 64] = ~np.uint64(0)
    if count % 64:
        bits[count // 64] = np.uint64(2 ** (count % 64) - 1)
    return bits
