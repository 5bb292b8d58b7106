"""The passes of the fused engine: tiny loops over arrays, each doing one thing to one block.

A block is a few whole groups. Its packets have local numbers 0, 1, …; ``first`` is the number of
the first of them in the network. A packet's code is its residue (its temporary group) and its
local number in one word: all that decides its fate. Loops select without branching: they write
always, and move on only if the condition holds.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from popsnet.compiled import compiled
from popsnet.splitmix import word

__all__ = [
    "clear",
    "count",
    "draw",
    "encode",
    "pick",
    "relay",
    "remove",
    "row_magic",
    "select",
    "take_part",
]

U8 = npt.NDArray[np.uint8]
U16 = npt.NDArray[np.uint16]
U32 = npt.NDArray[np.uint32]

_32 = np.uint64(32)
_LOWER = np.uint64(0xFFFFFFFF)
_1 = np.uint8(1)


def row_magic(d: int, rows: int) -> int:
    """M such that packet p of a block of groups of d is in row (p · M) >> 32 of it.

    Exact while the block has at most 2^16 packets, or a single row.
    """
    return 0 if rows == 1 else -(-(2**32) // d)


@compiled
def encode(residues: U16, m: int, bits: int, codes: U32) -> None:
    """The codes of all packets of a block; local numbers take so many bits."""
    for k in range(m):
        codes[k] = np.uint32(residues[k]) << np.uint32(bits) | np.uint32(k)


@compiled
def take_part(
    codes: U32, m: int, bits: int, first: int, key: np.uint64, threshold: np.uint64, out: U32
) -> int:
    """The positions of the packets whose coin (the lower half of their word) is low enough."""
    start, mask, s = np.uint64(first), np.uint64((1 << bits) - 1), 0
    for k in range(m):
        out[s] = k
        s += int((word(key, start + (np.uint64(codes[k]) & mask)) & _LOWER) < threshold)
    return s


@compiled
def pick(values: U32, positions: U32, m: int, out: U32) -> None:
    """The values at these positions."""
    for k in range(m):
        out[k] = values[positions[k]]


@compiled
def draw(
    codes: U32, m: int, bits: int, first: int, key: np.uint64, g: int, magic: int, couplers: U32
) -> None:
    """Slot 1: each packet draws an intermediate group, and so its coupler out of its group."""
    start, mask = np.uint64(first), np.uint64((1 << bits) - 1)
    bound, to_row = np.uint64(np.uint32(g)), np.uint64(np.uint32(magic))
    for k in range(m):
        packet = np.uint64(codes[k]) & mask
        group = ((word(key, start + packet) >> _32) * bound) >> _32
        couplers[k] = ((packet * to_row) >> _32) * bound + group


@compiled
def count(couplers: U32, m: int, table: U8) -> None:
    """Put m messages on their couplers: a cell goes from 0 to 1, 3, 7, … and never back to 1."""
    for k in range(m):
        table[couplers[k]] = (table[couplers[k]] << _1) | _1


@compiled
def select(couplers: U32, m: int, table: U8, out: U32) -> int:
    """The positions of the messages that are alone on their coupler."""
    s = 0
    for k in range(m):
        out[s] = k
        s += int(table[couplers[k]] == _1)
    return s


@compiled
def clear(couplers: U32, m: int, table: U8, size: int) -> int:
    """Make the couplers silent again, and say how many had collided."""
    collided = 0
    if 16 * m > size:  # the whole table is faster than one by one
        for cell in range(size):
            collided += int(table[cell] > _1)
            table[cell] = 0
    else:
        for k in range(m):
            collided += int(table[couplers[k]] > _1)
            table[couplers[k]] = 0
    return collided


@compiled
def relay(
    alone: U32, s: int, codes: U32, bits: int, first: U32, g: int, magic: int, second: U32
) -> None:
    """Slot 2: the couplers of the survivors, from intermediate to temporary group."""
    mask, shift = np.uint64((1 << bits) - 1), np.uint64(bits)
    bound, to_row = np.uint64(np.uint32(g)), np.uint64(np.uint32(magic))
    for q in range(s):
        code = np.uint64(codes[alone[q]])
        row = ((code & mask) * to_row) >> _32
        group = np.uint64(first[alone[q]]) - row * bound
        second[q] = group * bound + (code >> shift)


@compiled
def remove(home: U32, s: int, senders: U32, codes: U32, m: int) -> int:
    """Take s of the senders out of the m pending packets: the last one fills each gap."""
    for q in range(s - 1, -1, -1):
        m -= 1
        codes[senders[home[q]]] = codes[m]
    return m
