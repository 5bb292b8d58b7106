"""The passes of the fused engine: tiny loops over arrays, each doing one thing to one block.

A block is a few whole groups. Its packets have local numbers 0, 1, …; ``first`` is the number of
the first of them in the network. Two words stand for a packet, both made of fields so that a
shift finds each:

- its code, while it is pending: residue (its temporary group), local number;
- its entry, on its way through a step: intermediate group, residue, name. The first two are its
  coupler in slot 2, a cell; the name says where the packet is to be found again, in a lot of one
  or more blocks.

Loops select without branching: they write always, and move on only if the condition holds.
Positions are unsigned, for Numba looks twice at an index that might be negative.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from popsnet.compiled import compiled
from popsnet.engines.fused.bits import ones
from popsnet.network import Network
from popsnet.splitmix import word

__all__ = [
    "Layout",
    "clear",
    "count",
    "draw",
    "encode",
    "padded",
    "pick",
    "remove",
    "rename",
    "select",
    "take_part",
]

U8 = npt.NDArray[np.uint8]
U16 = npt.NDArray[np.uint16]
U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]
I64 = npt.NDArray[np.int64]

_0, _1, _32 = np.uint64(0), np.uint64(1), np.uint64(32)
_LOWER = np.uint64(0xFFFFFFFF)
_COLLIDED = np.uint64(0x0202020202020202)
_ALONE = np.uint8(1)

_BLOCK, _LARGE_BLOCK = 2**14, 2**15
_MANY = 2**20
"""Up to so many packets blocks are small."""


class Layout(NamedTuple):
    """How the packets of a network are cut into blocks, and words into fields."""

    d: int
    g: int
    rows: int
    """Groups in a block."""
    magic: int
    """Packet p of a block is in row (p · magic) >> 32 of it: exact up to 2^16 packets."""
    number_bits: int
    """Bits of a packet's number in its block."""
    group_bits: int
    lot: int
    """Blocks in a lot."""
    name_bits: int
    """Bits of a name in a lot."""

    @classmethod
    def of(cls, network: Network, rows: int = 0, lot: int = 0) -> Layout:
        """Blocks of a fitting size, or of one group if that has more; or of so many rows.

        A lot has about a hundred survivors for each bucket of 2^18 couplers.
        """
        block = _BLOCK if network.n <= _MANY else _LARGE_BLOCK
        rows = rows or min(max(block // network.d, 1), network.g)
        lot = lot or max((network.couplers >> 10) // (rows * network.d), 1)
        return cls(
            d=network.d,
            g=network.g,
            rows=rows,
            magic=0 if rows == 1 else -(-(2**32) // network.d),
            number_bits=(rows * network.d - 1).bit_length(),
            group_bits=(network.g - 1).bit_length(),
            lot=lot,
            name_bits=(lot * padded(rows * network.d) - 1).bit_length(),
        )

    @property
    def size(self) -> int:
        """Packets in a block."""
        return self.rows * self.d

    @property
    def blocks(self) -> int:
        """Blocks of the network; the last may have fewer rows."""
        return -(-self.g // self.rows)

    @property
    def code_bits(self) -> int:
        """Bits of a code."""
        return self.number_bits + self.group_bits


def padded(size: int) -> int:
    """Names in a block: as many as there are bits in whole words."""
    return -(-size // 64) * 64


@compiled
def encode(residues: U16, m: int, number_bits: int, codes: U32) -> None:
    """The codes of all packets of a block."""
    for k in range(m):
        codes[k] = np.uint32(residues[k]) << np.uint32(number_bits) | np.uint32(k)


@compiled
def take_part(
    codes: U32, m: int, number_bits: int, first: int, key: np.uint64, threshold: np.uint64, out: U32
) -> int:
    """The positions of the packets whose coin (the lower half of their word) is low enough."""
    start, mask, s = np.uint64(first), np.uint64((1 << number_bits) - 1), _0
    for k in range(m):
        out[s] = k
        s += np.uint64((word(key, start + (np.uint64(codes[k]) & mask)) & _LOWER) < threshold)
    return int(np.int64(s))


@compiled
def pick(values: U32, positions: U32, m: int, out: U32) -> None:
    """The values at these positions."""
    for k in range(m):
        out[k] = values[positions[k]]


@compiled
def draw(
    layout: Layout, codes: U32, m: int, first: int, key: np.uint64, first_name: int,
    couplers: U32, entries: U64,
) -> None:  # fmt: skip
    """Slot 1: each packet draws an intermediate group, and so its coupler out of its group."""
    start, name = np.uint64(first), np.uint64(first_name)
    number_bits, name_bits = np.uint64(layout.number_bits), np.uint64(layout.name_bits)
    bound, to_row = np.uint64(np.uint32(layout.g)), np.uint64(np.uint32(layout.magic))
    group_bits, mask = np.uint64(layout.group_bits), (_1 << number_bits) - _1
    for k in range(m):
        code = np.uint64(codes[k])
        group = ((word(key, start + (code & mask)) >> _32) * bound) >> _32
        couplers[k] = (((code & mask) * to_row) >> _32) << group_bits | group
        cell = group << group_bits | code >> number_bits
        entries[k] = cell << name_bits | (name + np.uint64(k))


@compiled
def rename(entries: U64, m: int, name_bits: int, names: U32, first_name: int) -> None:
    """Replace positions by what stands there in a list of names."""
    mask, start = np.uint64((1 << name_bits) - 1), np.uint64(first_name)
    for q in range(m):
        position = (entries[q] & mask) - start
        entries[q] = (entries[q] & ~mask) | (np.uint64(names[position]) + start)


@compiled
def count(messages: U32 | U64, m: int, shift: int, table: U8) -> None:
    """Put m messages on their couplers: a cell goes from 0 to 1, 3, 7, … and never back to 1."""
    to_cell = np.uint64(shift)
    for k in range(m):
        cell = np.uint64(messages[k]) >> to_cell
        table[cell] = (table[cell] << _ALONE) | _ALONE


@compiled
def select(messages: U32 | U64, m: int, shift: int, table: U8, entries: U64, out: U32 | U64) -> int:
    """The entries whose message is alone on its coupler."""
    to_cell, s = np.uint64(shift), _0
    for k in range(m):
        out[s] = entries[k]
        s += np.uint64(table[np.uint64(messages[k]) >> to_cell] == _ALONE)
    return int(np.int64(s))


@compiled
def clear(words: U64) -> int:
    """Make all couplers of a table silent, eight at a time, and say how many had collided."""
    collided = _0
    for w in range(len(words)):
        collided += ones(words[w] & _COLLIDED)
        words[w] = _0
    return int(np.int64(collided))


@compiled
def remove(home: U32, s: int, name_bits: int, codes: U32, m: int) -> int:
    """Take s packets, named by position in rising order, out of m: the last fills each gap."""
    mask, last = np.uint32((1 << name_bits) - 1), np.uint64(m)
    for q in range(s):
        last -= np.uint64(1)
        codes[home[np.uint64(s - 1 - q)] & mask] = codes[last]
    return int(np.int64(last))
