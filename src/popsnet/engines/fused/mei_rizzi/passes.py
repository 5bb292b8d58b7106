"""The passes of the fused engine: tiny loops over arrays, each doing one thing to one block.

A block is a few whole groups. Its packets have local numbers 0, 1, …; ``first`` is the number of
the first of them in the network. Two words stand for a packet, both made of fields so that a
shift finds each:

- its code, while it is pending: residue (its temporary group), local number;
- its entry, on its way through a step: intermediate group, residue, name. The first two are its
  coupler in slot 2, a cell. The name says where to find the packet again, in a batch of one or more
  blocks.

Loops select without branching: they always write, and advance only if the condition holds.
Positions are unsigned, because Numba checks an index that might be negative.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from popsnet.base.compiled import compiled
from popsnet.base.splitmix import mix, premix, word_from
from popsnet.engines.fused.arrays import U8, U16, U32, U64
from popsnet.engines.fused.bits import LANES, flags_set, ones, pack
from popsnet.engines.fused.mei_rizzi.layout import MeiRizziLayout

_0, _32, _31 = np.uint64(0), np.uint64(32), np.uint32(31)
_LOWER = np.uint64(0xFFFFFFFF)
_COLLIDED = np.uint64(0x0202020202020202)
_ALONE = np.uint8(1)

SLOTS_PER_STEP = 5

SPARE = 32
"""Places after the packets of a block, because whole vectors are drawn."""

_CHUNK = 1024
"""Packets that go through all loops of a pass together, and so stay in the nearest cache."""

FLAGS = _CHUNK + LANES
"""The scratch memory of a selection."""


class EntryFields(NamedTuple):
    """Where the fields of a code go in an entry of 32 bits."""

    residues: np.uint32  # the bits of a residue in a code
    rows: np.uint32  # the bits of a row in a code, none if it has no bits of its own
    up: np.uint32  # shifts an intermediate group
    lift: np.uint32  # shifts a residue


@compiled
def encode(residues: U16 | U32, m: int, number_bits: int, codes: U32) -> None:
    """Write the codes of all packets of a block."""
    for k in range(m):
        codes[k] = np.uint32(residues[k]) << np.uint32(number_bits) | np.uint32(k)


@compiled
def take_part(
    codes: U32, m: int, number_bits: int, begin: np.uint64, threshold: np.uint64, out: U32
) -> int:
    """Select the positions of packets whose coin, the lower half of their word, is low enough."""
    mask, s = np.uint32((1 << number_bits) - 1), _0
    for k in range(m):
        out[s] = k
        s += np.uint64((mix(word_from(begin, np.uint64(codes[k] & mask))) & _LOWER) < threshold)
    return int(np.int64(s))


@compiled
def pick(values: U32, positions: U32, m: int, out: U32) -> None:
    """Copy the values at these positions."""
    for k in range(m):
        out[k] = values[positions[k]]


@compiled
def draw(
    layout: MeiRizziLayout, codes: U32, m: int, begin: np.uint64, first_name: int, couplers: U32,
    entries: U32 | U64,
) -> None:  # fmt: skip
    """Draw an intermediate group for each packet, and so its coupler in slot 1.

    ``begin`` is the origin of the words of the block. The groups are drawn first, in ``couplers``,
    because the draws need 64-bit lanes and the rest fits twice as many packets in a vector. Whole
    vectors are drawn, so that no packets are left over: all arrays have ``SPARE`` places more than
    packets, and what is drawn there has no meaning.
    """
    m = -(-m // SPARE) * SPARE
    numbers = np.uint32((1 << layout.number_bits) - 1)
    up, lift = layout.group_bits + layout.name_bits, layout.name_bits - layout.number_bits
    square = layout.d == 1 << layout.group_bits  # a row of a block has as many bits as a group
    rows = np.uint32(numbers & ~np.uint32(layout.d - 1)) if square else np.uint32(0)
    fields = EntryFields(np.uint32(~numbers), rows, np.uint32(up), np.uint32(lift))
    for low in range(0, m, _CHUNK):
        some, size, groups = codes[low:], min(_CHUNK, m - low), couplers[low:]
        name, out = first_name + low, entries[low:]
        draw_groups(layout, some, size, begin, groups)
        if entries.itemsize == 4:  # a constant where this is compiled
            enter(some, size, fields, np.uint32(name), groups, out)
        else:
            enter_wide(layout, some, size, name, groups, out)
        if not square or entries.itemsize != 4:
            find_couplers(layout, some, size, groups)


@compiled
def draw_groups(layout: MeiRizziLayout, codes: U32, m: int, begin: np.uint64, groups: U32) -> None:
    """Draw intermediate groups: the upper half of a word, scaled to [0, g).

    For g = 2^b that is its upper b bits, which the last shift of the mixing does not change.
    """
    mask, bound = np.uint32((1 << layout.number_bits) - 1), np.uint64(np.uint32(layout.g))
    if layout.g == 1 << layout.group_bits and 0 < layout.group_bits < 32:
        down = np.uint64(64 - layout.group_bits)
        for k in range(m):
            groups[k] = premix(word_from(begin, np.uint64(codes[k] & mask))) >> down
    else:
        for k in range(m):
            drawn = mix(word_from(begin, np.uint64(codes[k] & mask)))
            groups[k] = ((drawn >> _32) * bound) >> _32


@compiled
def enter(
    codes: U32, m: int, fields: EntryFields, name: np.uint32, groups: U32, entries: U32 | U64
) -> None:
    """Make entries of 32 bits, and couplers if the row of a source is some bits of its code.

    The shifts are masked: one that might be longer than 31 is done in 64 bits.
    """
    residues, rows, up, lift = fields.residues, fields.rows, fields.up & _31, fields.lift & _31
    for k in range(m):
        cell = np.uint32(groups[k] << up) | np.uint32((codes[k] & residues) << lift)
        entries[k] = cell | np.uint32(np.uint32(k) + name)
        groups[k] |= codes[k] & rows


@compiled
def enter_wide(
    layout: MeiRizziLayout, codes: U32, m: int, first_name: int, groups: U32, entries: U32 | U64
) -> None:
    """Make entries of 64 bits."""
    name, name_bits = np.uint64(first_name), np.uint64(layout.name_bits)
    group_bits, number_bits = np.uint64(layout.group_bits), np.uint64(layout.number_bits)
    for k in range(m):
        cell = np.uint64(groups[k]) << group_bits | np.uint64(codes[k]) >> number_bits
        entries[k] = cell << name_bits | (name + np.uint64(k))


@compiled
def find_couplers(layout: MeiRizziLayout, codes: U32, m: int, groups: U32) -> None:
    """Replace the groups drawn by couplers: the row of the source in its block, then the group."""
    mask = np.uint32((1 << layout.number_bits) - 1)
    if layout.d == 1 << layout.group_bits:
        rows = mask & ~np.uint32(layout.d - 1)
        for k in range(m):
            groups[k] |= codes[k] & rows
    elif layout.rows > 1:
        to_row, group_bits = np.uint64(np.uint32(layout.magic)), np.uint64(layout.group_bits)
        for k in range(m):
            row = (np.uint64(codes[k] & mask) * to_row) >> _32
            groups[k] |= row << group_bits


@compiled
def rename(entries: U32 | U64, m: int, name_bits: int, names: U32, first_name: int) -> None:
    """Replace positions by the names at these positions of a list."""
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
def select(
    messages: U32 | U64, m: int, shift: int, table: U8, entries: U32 | U64, flags: U8,
    out: U32 | U64,
) -> int:  # fmt: skip
    """Select the entries whose message is alone on its coupler.

    Cells are looked up one by one, and narrow entries are then chosen by the vector: ``entries``
    and ``out`` have ``SPARE`` places more than entries.
    """
    s = _0
    if entries.itemsize == 4 and out.itemsize == 4:  # constants where this is compiled
        for low in range(0, m, _CHUNK):
            size, some = min(_CHUNK, m - low), entries[low:]
            look_up(messages[low:], size, shift, table, flags)
            for k in range(0, size, LANES):
                at = np.uint64(k)
                s += pack(flags_set(flags, at), some, at, out, s)
        return int(np.int64(s))
    to_cell = np.uint64(shift)
    for k in range(m):
        out[s] = entries[k]
        s += np.uint64(table[np.uint64(messages[k]) >> to_cell] == _ALONE)
    return int(np.int64(s))


@compiled
def select_pairs(
    couplers: U32, m: int, table: U8, entries: U32 | U64, flags: U8, out_couplers: U32,
    out: U32 | U64,
) -> int:  # fmt: skip
    """Do the same with narrow entries, and keep the couplers of those selected."""
    s = _0
    for low in range(0, m, _CHUNK):
        size, some, messages = min(_CHUNK, m - low), entries[low:], couplers[low:]
        look_up(messages, size, 0, table, flags)
        for k in range(0, size, LANES):
            at = np.uint64(k)
            chosen = flags_set(flags, at)
            pack(chosen, messages, at, out_couplers, s)
            s += pack(chosen, some, at, out, s)
    return int(np.int64(s))


@compiled
def look_up(messages: U32 | U64, m: int, shift: int, table: U8, flags: U8) -> None:
    """Read the cells of m messages, and set the flags after them to 0 up to a whole vector."""
    to_cell, rest = np.uint64(shift), flags[m : m + LANES]
    for k in range(LANES):
        rest[k] = np.uint8(0)
    for k in range(m):
        flags[k] = table[np.uint64(messages[k]) >> to_cell]


@compiled
def clear(words: U64) -> int:
    """Clear all couplers of a table, eight at a time, and return how many had collided."""
    collided = _0
    for w in range(len(words)):
        collided += ones(words[w] & _COLLIDED)
        words[w] = _0
    return int(np.int64(collided))


@compiled
def remove(delivered: U32, s: int, name_bits: int, codes: U32, m: int) -> int:
    """Remove s packets, by positions in ascending order, from m: the last fills each gap."""
    mask, last = np.uint32((1 << name_bits) - 1), np.uint64(m)
    for q in range(s):
        last -= np.uint64(1)
        codes[delivered[np.uint64(s - 1 - q)] & mask] = codes[last]
    return int(np.int64(last))
