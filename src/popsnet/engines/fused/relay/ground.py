"""What the stages of relay work on: blocks of packets, and the memory of a thread.

A block is a few whole groups. For d < g it is the G = ⌈g/d⌉ groups that the same member of every
relay group hears, so that in all stages packets of different blocks never meet on their first hop.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from popsnet.compiled import compiled
from popsnet.engines.fused.arena import cut
from popsnet.engines.fused.passes import I64, U8, U16, U32, U64
from popsnet.engines.fused.relay.program import Program
from popsnet.network import Network

MESSAGES, COLLISIONS, DESTROYED, HOME, ACKED, LAST, BITS = range(7)
"""What is tallied of a run: sums, the last slot of a stage that delivered, the most bits so far."""

TALLIED = 7

_BLOCK = 2**14
_CELLS = 2**19
"""Of a window, for all groups of a block; a block has fewer groups where windows are long."""


class Ground(NamedTuple):
    """How the packets of a network are cut into blocks, and what numbers are divided by."""

    d: int
    g: int
    k: int
    """Classes: ⌈d/g⌉."""
    rows: int
    """Groups in a block."""
    blocks: int
    words: int
    """Words with a bit a packet, of a block."""
    by_d: tuple[int, int]
    by_g: tuple[int, int]
    superclasses: int
    width: int
    """Places of a grid: the groups, rounded up to whole superclasses."""

    @classmethod
    def of(cls, network: Network, program: Program, rows: int = 0) -> Ground:
        """Blocks of a fitting size, or of so many groups."""
        d, g = network.d, network.g
        superclasses = -(-g // d)
        if d < g:
            rows = superclasses
        most = min(_BLOCK // d, _CELLS // (g * program.widest), g)
        rows = rows or max(most, 1)
        return cls(
            d=d,
            g=g,
            k=-(-d // g),
            rows=rows,
            blocks=-(-g // rows),
            words=-(-rows * d // 64),
            by_d=_divisor(d),
            by_g=_divisor(g),
            superclasses=superclasses,
            width=superclasses * -(-g // superclasses),
        )

    @property
    def size(self) -> int:
        """Packets in a block."""
        return self.rows * self.d


def _divisor(number: int) -> tuple[int, int]:
    """For :func:`divide`: exact below 2^31 (Granlund and Montgomery, 1994)."""
    shift = 31 + (number - 1).bit_length()
    return (1 << shift) // number + 1, shift


@compiled(inline=True)
def divide(value: np.uint64, by: tuple[int, int]) -> np.uint64:
    """The quotient by the number that ``by`` stands for."""
    return (value * np.uint64(by[0])) >> np.uint64(by[1])


class Packets(NamedTuple):
    """Who still waits, a bit a packet, and where packets go. Every block begins a new word."""

    pending: U64
    """Sources that do not know that their packet has arrived."""
    hungry: U64
    """Packets that have not arrived; all of them are pending."""
    destination: U32
    """Empty if the permutation is computed:"""
    n: np.uint64
    half: np.uint64
    keys: U64


class Hands(NamedTuple):
    """The memory of a thread."""

    numbers: U32  # of packets in their block
    targets: U32  # their destinations
    places: U32  # under a public bijection
    sets: U32  # (source group, relay group) in the block; of a shower copy after copy
    classes: U32
    turns: U32  # in which slot of a window
    cells: U32  # (set, turn)
    alone: U32  # positions of those alone in their cell
    order: U32  # the same by turn
    starts: I64  # of each turn, in that order
    table: U8  # how many are in a cell: 0, 1, 3, 7, …
    left: U32  # room in a set, by class
    acked: U16  # by set: the last window with an ack
    struck: U64  # bits of packets of a block
    taken: U64  # places of a grid's relays in use, found by hashing
    stop: U8  # set by another thread to end the work before its time

    @classmethod
    def of(cls, ground: Ground, program: Program, stop: U8) -> Hands:
        """For one thread."""
        return cls(*[*cut(*_pieces(ground, program)), stop])


def _pieces(ground: Ground, program: Program) -> list[tuple[int, type]]:
    spare = ground.words * 64 + 1  # bits are unpacked by the word, a selection writes past its end
    sets = ground.rows * ground.g if ground.d >= ground.g else ground.g
    u32, slots = np.uint32, max(program.widest, program.turns)
    return [
        *([(spare, u32)] * 3),
        (spare * program.copies, u32),
        *([(spare, u32)] * 5),
        (slots + 1, np.int64),
        (sets * program.widest, np.uint8),
        (sets * ground.k, u32),
        (sets, np.uint16),
        (ground.words, np.uint64),
        (2 << spare.bit_length() if ground.d < ground.g else 0, np.uint64),
    ]


def hands_bytes(ground: Ground, program: Program) -> int:
    """Memory of one thread."""
    return sum(length * np.dtype(kind).itemsize for length, kind in _pieces(ground, program))
