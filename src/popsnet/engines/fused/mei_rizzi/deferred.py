"""The ``deferred`` variant, compiled: the copies that wait.

A copy that waits blocks the processor that has it: what is sent to it in slots 1 and 2 is not
heard. Waiting copies have one number per processor, ordered by index, so that the processors that
listen in a step are g whole rows, in the order of the couplers that they listen to.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from popsnet.base.compiled import compiled
from popsnet.engines.fused.arrays import U8, U16, U32, record_type
from popsnet.engines.fused.mei_rizzi.layout import MeiRizziLayout, MeiRizziLogRow, MeiRizziWorkspace

_FREE = np.uint32(0)
_ALONE, _UNHEARD = np.uint8(1), np.uint8(0x40)


class DeferredLogRow(MeiRizziLogRow, Protocol):
    """A step in the log: messages alone on couplers of slots 1 and 2, and those that are heard.

    The slots of the last step are with those of kind 5 after it.
    """

    alone: int
    heard: int
    """In slot 2."""


LOG = record_type(DeferredLogRow)


@compiled
def encode(layout: MeiRizziLayout, destination: U16 | U32, m: int, codes: U32) -> None:
    """Write the codes of all packets of a block."""
    g, bits = np.uint32(layout.g), np.uint32(layout.number_bits)
    for k in range(m):
        codes[k] = (destination[k] % g) << bits | np.uint32(k)


@compiled
def mask(layout: MeiRizziLayout, table: U8, first_group: int, turn: int, waiting: U32) -> int:
    """Mark messages to processors with a waiting copy, and return how many were alone."""
    alone, width = 0, 1 << layout.group_bits
    for row in range(len(table) // width):
        group = first_group + row
        if group >= layout.g:
            break
        cells = table[row << layout.group_bits :]
        busy = waiting[listener(layout, turn, group) << layout.group_bits :]
        for k in range(width):
            alone += int(cells[k] == _ALONE)
            cells[k] |= _UNHEARD if busy[k] != _FREE else np.uint8(0)
    return alone


@compiled(inline=True)
def listener(layout: MeiRizziLayout, turn: int, group: int) -> int:
    """Return the index of the processor that listens to a group in slots 1 and 2."""
    index = turn * layout.g + group
    return index if index < layout.d else group


@compiled
def wait(
    layout: MeiRizziLayout, work: MeiRizziWorkspace, m: int, codes: U32,
    destination: U16 | U32, turn: int,
) -> None:  # fmt: skip
    """Let copies that arrived wait, and leave their names for ``remove``."""
    name_mask, number_mask = (1 << layout.name_bits) - 1, (1 << layout.number_bits) - 1
    group_mask, entries = (1 << layout.group_bits) - 1, work.drawn
    for q in range(m):
        name = np.int64(entries[q]) & name_mask
        cell = np.int64(entries[q]) >> layout.name_bits
        sender, here = cell >> layout.group_bits, cell & group_mask
        block = np.int64(destination[codes[name] & number_mask]) % layout.d // layout.g
        at = listener(layout, turn, int(sender)) << layout.group_bits | here
        work.waiting[at] = block + 1
        work.delivered[q] = name


@compiled
def deliver(waiting: U32, turn: int) -> int:
    """Execute slot 5, which delivers the copies for a block, and return how many."""
    delivered, block = 0, np.uint32(turn + 1)
    for k in range(len(waiting)):
        here = waiting[k] == block
        delivered += int(here)
        waiting[k] = _FREE if here else waiting[k]
    return delivered


@compiled
def deliver_rest(
    layout: MeiRizziLayout, waiting: U32, undelivered: int, steps: int, row: DeferredLogRow
) -> None:
    """Execute the slots after the last step, which deliver all copies, and log them with it."""
    turn, kinds = steps, -(-layout.d // layout.g)
    while undelivered > 0:
        undelivered -= deliver(waiting, turn % kinds)
        turn += 1
    row.undelivered = undelivered
    row.slots += turn - steps
