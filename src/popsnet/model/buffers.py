"""Which packets each processor holds: a table for few buffers, a hash table for many.

Both have the same methods. A processor may hold the same packet in several buffers.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from popsnet.model import loops
from popsnet.model.loops import FREE, I32, Bools, Table

NO_VALUES: I32 = np.empty(0, dtype=np.int32)
"""Stands for the values of pairs that have none."""

MOST_CELLS = 8
"""Up to this many buffers are looked through one by one."""


class Cells:
    """Few buffers: a row per buffer and a column per processor."""

    def __init__(self, n: int, buffers: int) -> None:
        self.buffers = buffers
        self._cells = np.full((buffers, n), FREE, dtype=np.int32)

    def put_in(self, processors: I32, packets: I32) -> tuple[int, int]:
        """Store packets, and return the first without a free buffer, or -1, and the most held."""
        return loops.put_in(self._cells, processors, packets)

    def take_out(self, processors: I32, packets: I32) -> int:
        """Free the buffer of each packet, and return the first that is not there, or -1."""
        return loops.take_out(self._cells, processors, packets)

    def find(self, processors: I32, packets: I32) -> Bools:
        """Return whether each packet is in a buffer of its processor."""
        held = np.empty(len(processors), dtype=np.bool_)
        loops.find(self._cells, processors, packets, held)
        return held

    def hold_all(self, processors: I32, packets: I32) -> bool:
        """Return whether every packet is in a buffer of its processor."""
        return loops.hold_all(self._cells, processors, packets)

    def most_held(self, processors: I32) -> int:
        """Return the most packets that one of these processors holds."""
        return loops.most_held(self._cells, processors)

    def content(self) -> tuple[I32, I32]:
        """Return all pairs of a processor and a packet that it holds."""
        rows, processors = np.nonzero(self._cells != FREE)
        return processors.astype(np.int32), self._cells[rows, processors]


class HashTable:
    """Many buffers: pairs of processor and packet in a hash table, with values if asked."""

    def __init__(self, n: int, buffers: int, valued: bool = False) -> None:
        self.buffers, self._valued = buffers, valued
        self.used = 0
        """The packets in the buffers."""
        self.table = self._empty(1024, np.zeros(n, dtype=np.int32))

    def _empty(self, size: int, held: I32) -> Table:
        values = np.empty(size if self._valued else 0, dtype=np.int32)
        return Table(np.full(size, FREE, dtype=np.int64), values, held)

    def put_in(self, processors: I32, packets: I32, values: I32 = NO_VALUES) -> tuple[int, int]:
        """Store packets, and return the first without a free buffer, or -1, and the most held."""
        self.used += len(processors)
        if 2 * self.used > len(self.table.pairs):
            before = self.table
            self.table = self._empty(1 << int(4 * self.used).bit_length(), before.held)
            loops.insert_all(self.table, before)
        return loops.insert(self.table, self.buffers, processors, packets, values)

    def take_out(self, processors: I32, packets: I32) -> int:
        """Free the buffer of each packet, and return the first that is not there, or -1."""
        self.used -= len(processors)
        return loops.remove(self.table, processors, packets)

    def find(self, processors: I32, packets: I32) -> Bools:
        """Return whether each packet is in a buffer of its processor."""
        held = np.empty(len(processors), dtype=np.bool_)
        loops.look_up(self.table.pairs, processors, packets, held)
        return held

    def hold_all(self, processors: I32, packets: I32) -> bool:
        """Return whether every packet is in a buffer of its processor."""
        return bool(self.find(processors, packets).all())

    def most_held(self, processors: I32) -> int:
        """Return the most packets that one of these processors holds."""
        return int(self.table.held[processors].max(initial=0))

    def content(self) -> tuple[I32, I32]:
        """Return all pairs of a processor and a packet that it holds."""
        pairs = np.sort(self.table.pairs[self.table.pairs != FREE])
        return (pairs >> 32).astype(np.int32), (pairs & 0xFFFFFFFF).astype(np.int32)


BufferTable: TypeAlias = Cells | HashTable
"""The buffers of all processors."""


def make_buffers(n: int, buffers: int) -> BufferTable:
    """Return free buffers for n processors."""
    return Cells(n, buffers) if buffers <= MOST_CELLS else HashTable(n, buffers)
