"""Which packets each processor holds: a table for few buffers, a hash table for many.

Both have the same methods. A processor may hold the same packet in several buffers.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from popsnet.compiled import compiled

I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

FREE = -2
"""Stands for a free buffer: never the number of a packet, nor that of no packet."""

MOST_CELLS = 8
"""Up to this many buffers are looked through one by one."""

_FACTOR = np.uint64(0x9E3779B97F4A7C15)


class Buffers(Protocol):
    """The buffers of all processors."""

    buffers: int
    """The buffers of each processor."""

    def put_in(self, processors: I32, packets: I32) -> tuple[int, int]:
        """Store packets, and return the first without a free buffer, or -1, and the most held."""

    def take_out(self, processors: I32, packets: I32) -> int:
        """Free the buffer of each packet, and return the first that is not there, or -1."""

    def find(self, processors: I32, packets: I32) -> Bools:
        """Return whether each packet is in a buffer of its processor."""

    def hold_all(self, processors: I32, packets: I32) -> bool:
        """Return whether every packet is in a buffer of its processor."""

    def most_held(self, processors: I32) -> int:
        """Return the most packets that one of these processors holds."""

    def content(self) -> tuple[I32, I32]:
        """Return all pairs of a processor and a packet that it holds."""


def make_buffers(n: int, buffers: int) -> Buffers:
    """Return free buffers for n processors."""
    return Cells(n, buffers) if buffers <= MOST_CELLS else Hashed(n, buffers)


class Cells:
    """Few buffers: a row per buffer and a column per processor."""

    def __init__(self, n: int, buffers: int) -> None:
        self.buffers = buffers
        self._cells = np.full((buffers, n), FREE, dtype=np.int32)

    def put_in(self, processors: I32, packets: I32) -> tuple[int, int]:
        """Store packets, and return the first without a free buffer, or -1, and the most held."""
        return _put_in(self._cells, processors, packets)

    def take_out(self, processors: I32, packets: I32) -> int:
        """Free the buffer of each packet, and return the first that is not there, or -1."""
        return _take_out(self._cells, processors, packets)

    def find(self, processors: I32, packets: I32) -> Bools:
        """Return whether each packet is in a buffer of its processor."""
        held = np.empty(len(processors), dtype=np.bool_)
        _find(self._cells, processors, packets, held)
        return held

    def hold_all(self, processors: I32, packets: I32) -> bool:
        """Return whether every packet is in a buffer of its processor."""
        return _hold_all(self._cells, processors, packets)

    def most_held(self, processors: I32) -> int:
        """Return the most packets that one of these processors holds."""
        return _most_held(self._cells, processors)

    def content(self) -> tuple[I32, I32]:
        """Return all pairs of a processor and a packet that it holds."""
        rows, processors = np.nonzero(self._cells != FREE)
        return processors.astype(np.int32), self._cells[rows, processors]


class Hashed:
    """Many buffers: pairs of processor and packet in a hash table with linear probing."""

    def __init__(self, n: int, buffers: int) -> None:
        self.buffers = buffers
        self._held = np.zeros(n, dtype=np.int32)
        self._pairs = np.full(1024, FREE, dtype=np.int64)
        self._used = 0

    def put_in(self, processors: I32, packets: I32) -> tuple[int, int]:
        """Store packets, and return the first without a free buffer, or -1, and the most held."""
        self._used += len(processors)
        if 2 * self._used > len(self._pairs):
            before = self._pairs
            self._pairs = np.full(1 << int(4 * self._used).bit_length(), FREE, dtype=np.int64)
            _insert_all(self._pairs, before)
        return _insert(self._pairs, self._held, self.buffers, processors, packets)

    def take_out(self, processors: I32, packets: I32) -> int:
        """Free the buffer of each packet, and return the first that is not there, or -1."""
        self._used -= len(processors)
        return _remove(self._pairs, self._held, processors, packets)

    def find(self, processors: I32, packets: I32) -> Bools:
        """Return whether each packet is in a buffer of its processor."""
        held = np.empty(len(processors), dtype=np.bool_)
        _look_up(self._pairs, processors, packets, held)
        return held

    def hold_all(self, processors: I32, packets: I32) -> bool:
        """Return whether every packet is in a buffer of its processor."""
        return bool(self.find(processors, packets).all())

    def most_held(self, processors: I32) -> int:
        """Return the most packets that one of these processors holds."""
        return int(self._held[processors].max(initial=0))

    def content(self) -> tuple[I32, I32]:
        """Return all pairs of a processor and a packet that it holds."""
        pairs = np.sort(self._pairs[self._pairs != FREE])
        return (pairs >> 32).astype(np.int32), (pairs & 0xFFFFFFFF).astype(np.int32)


@compiled
def _put_in(cells: I32, processors: I32, packets: I32) -> tuple[int, int]:
    peak = 0
    for k in range(len(processors)):
        j, free, held = processors[k], -1, 1
        for b in range(len(cells)):
            if cells[b, j] == FREE:
                free = b
            else:
                held += 1
        if free < 0:
            return k, peak
        cells[free, j] = packets[k]
        peak = max(peak, held)
    return -1, peak


@compiled
def _most_held(cells: I32, processors: I32) -> int:
    most = 0
    for j in processors:
        held = 0
        for b in range(len(cells)):
            held += int(cells[b, j] != FREE)
        most = max(most, held)
    return most


@compiled
def _take_out(cells: I32, processors: I32, packets: I32) -> int:
    for k in range(len(processors)):
        j, at = processors[k], -1
        for b in range(len(cells)):  # to the end: a branch would not be predictable
            at = b if cells[b, j] == packets[k] else at
        if at < 0:
            return k
        cells[at, j] = FREE
    return -1


@compiled
def _find(cells: I32, processors: I32, packets: I32, held: Bools) -> None:
    for k in range(len(processors)):
        j, found = processors[k], False
        for b in range(len(cells)):
            found |= cells[b, j] == packets[k]
        held[k] = found and packets[k] >= 0


@compiled
def _hold_all(cells: I32, processors: I32, packets: I32) -> bool:
    for k in range(len(processors)):
        j, found = processors[k], False
        for b in range(len(cells)):
            found |= cells[b, j] == packets[k]
        if not found or packets[k] < 0:
            return False
    return True


@compiled
def _pair(processor: int, packet: int) -> np.int64:
    return np.int64(processor) << 32 | np.int64(packet)


@compiled
def _place(pair: np.int64, size: int) -> np.int64:
    """Return where a pair is looked for first, in a table of a power of two."""
    word = np.uint64(pair) * _FACTOR
    return np.int64((word ^ (word >> np.uint64(32))) & np.uint64(size - 1))


@compiled
def _where(pairs: I64, pair: np.int64) -> np.int64:
    """Return the place of a pair, or of the free entry at which the search for it ends."""
    at = _place(pair, len(pairs))
    while pairs[at] not in (FREE, pair):
        at = (at + 1) & (len(pairs) - 1)
    return at


@compiled
def _insert_all(pairs: I64, more: I64) -> None:
    for pair in more:
        if pair != FREE:
            at = _place(pair, len(pairs))
            while pairs[at] != FREE:
                at = (at + 1) & (len(pairs) - 1)
            pairs[at] = pair


@compiled
def _insert(pairs: I64, held: I32, most: int, processors: I32, packets: I32) -> tuple[int, int]:
    peak = 0
    for k in range(len(processors)):
        j = processors[k]
        if held[j] >= most:
            return k, peak
        at = _place(_pair(j, packets[k]), len(pairs))
        while pairs[at] != FREE:
            at = (at + 1) & (len(pairs) - 1)
        pairs[at] = _pair(j, packets[k])
        held[j] += 1
        peak = max(peak, held[j])
    return -1, peak


@compiled
def _remove(pairs: I64, held: I32, processors: I32, packets: I32) -> int:
    last = len(pairs) - 1
    for k in range(len(processors)):
        gap = _where(pairs, _pair(processors[k], packets[k]))
        if pairs[gap] == FREE:
            return k
        held[processors[k]] -= 1
        at = (gap + 1) & last
        while pairs[at] != FREE:  # move up what would not be found beyond the gap
            if (at - _place(pairs[at], len(pairs))) & last >= (at - gap) & last:
                pairs[gap], gap = pairs[at], at
            at = (at + 1) & last
        pairs[gap] = FREE
    return -1


@compiled
def _look_up(pairs: I64, processors: I32, packets: I32, held: Bools) -> None:
    for k in range(len(processors)):
        found = pairs[_where(pairs, _pair(processors[k], packets[k]))] != FREE
        held[k] = found and packets[k] >= 0
