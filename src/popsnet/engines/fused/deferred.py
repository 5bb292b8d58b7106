"""The ``deferred`` variant, compiled: the same passes, and who has a copy that waits.

A copy that waits blocks the processor that has it: what is sent to it in slots 1 and 2 is not
heard. Where copies wait is one number for each processor, its index first, so that the processors
whose turn it is to listen in a step are g whole rows, and lie beside the couplers they listen to.
"""

from __future__ import annotations

import numpy as np

from popsnet.compiled import compiled
from popsnet.engines.fused.passes import (
    I64,
    U8,
    U32,
    U64,
    Layout,
    clear,
    count,
    draw,
    pick,
    remove,
    rename,
    select,
    take_part,
)
from popsnet.engines.fused.resident import Scratch
from popsnet.permutations.uniform import fill, shuffle
from popsnet.splitmix import origin, run_key, step_key

_FREE = np.uint32(0)
_ALONE, _UNHEARD = np.uint8(1), np.uint8(0x40)


@compiled
def route_deferred(
    layout: Layout, law: U64, max_steps: int, destination: U32, seed: np.uint64,
    purpose: np.uint64, s: Scratch, waiting: U32, log: I64,
) -> tuple[int, int]:  # fmt: skip
    """Route one permutation; returns the steps, and the slots of kind 5 after the last of them.

    ``waiting`` has a number for each index and group: 0, or 1 + the block a copy there is for.
    Logs for each step: not delivered after it, senders in slot 1, alone there, heard there,
    alone in slot 2, heard there, couplers collided.
    """
    d, g, size, bits = layout.d, layout.g, layout.rows * layout.d, layout.name_bits
    kinds, n = -(-d // g), d * g
    waiting[:] = _FREE
    for block in range(len(s.sizes)):
        low = block * size
        s.sizes[block] = min(size, n - low)
        encode_destinations(layout, destination[low:], s.sizes[block], s.codes[low:])
    step, pending, delivered = 0, n, 0
    while pending > 0 and step < max_steps and s.stop[0] == 0:
        key, turn = step_key(seed, purpose, step), step % kinds
        sent, alone_1, heard_1, alone_2, heard_2, collided = 0, 0, 0, 0, 0, 0
        for block in range(len(s.sizes)):
            begin = origin(key, np.uint64(block * size))
            m, codes = s.sizes[block], s.codes[block * size :]
            if step < len(law):
                m = take_part(codes, m, layout.number_bits, begin, law[step], s.taking)
                pick(codes, s.taking, m, s.taken)
                codes = s.taken
            draw(layout, codes, m, begin, 0, s.couplers, s.drawn)
            count(s.couplers, m, 0, s.first)
            alone_1 += hush(layout, s.first, block * layout.rows, turn, waiting)
            entries = s.entries[heard_1:]
            heard = select(s.couplers, m, 0, s.first, s.drawn, s.flags, entries)
            collided += clear(s.first_words)
            count(entries, heard, bits, s.second)
            if step < len(law):
                rename(entries, heard, bits, s.taking, 0)
            sent += m
            heard_1 += heard
            s.ends[block] = heard_1
        alone_2 = hush(layout, s.second, 0, turn, waiting)
        start, pending = 0, 0
        for block in range(len(s.sizes)):
            m, codes, low = s.ends[block] - start, s.codes[block * size :], block * size
            entries = s.entries[start:]
            home = select(entries, m, bits, s.second, entries, s.flags, s.drawn)
            wait(layout, s.drawn, home, codes, destination[low:], turn, waiting, s.home)
            s.sizes[block] = remove(s.home, home, bits, codes, s.sizes[block])
            heard_2 += home
            pending += s.sizes[block]
            start += m
        collided += clear(s.second_words)
        delivered += bring_home(waiting, turn)
        log[step, 0], log[step, 1], log[step, 2] = n - delivered, sent, alone_1
        log[step, 3], log[step, 4], log[step, 5], log[step, 6] = heard_1, alone_2, heard_2, collided
        step += 1
    more = 0
    while pending == 0 and delivered < n:
        delivered += bring_home(waiting, (step + more) % kinds)
        more += 1
    if step > 0:
        log[step - 1, 0] = n - delivered
    return step, more


@compiled
def route_many_deferred(
    layout: Layout, law: U64, max_steps: int, seed: np.uint64, permutation_seed: np.uint64,
    purposes: U64, first: int, last: int, s: Scratch, waiting: U32, destination: U32, drawn: U32,
    log: I64, steps: I64, more: I64,
) -> int:  # fmt: skip
    """Runs first, first + 1, … on uniform permutations, those the same seeds give elsewhere.

    Returns how many: up to last, or as many as the log has room for.
    """
    filled, done = 0, 0
    for run in range(first, last):
        if len(log) - filled < max_steps or s.stop[0] != 0:
            break
        instance = run_key(permutation_seed, purposes[0], run)
        fill(destination, len(destination))
        shuffle(destination, 0, len(destination), step_key(instance, purposes[1], 1), drawn)
        coins = run_key(seed, purposes[0], run)
        steps[done], more[done] = route_deferred(
            layout, law, max_steps, destination, coins, purposes[2], s, waiting, log[filled:]
        )
        filled += steps[done]
        done += 1
    return done


@compiled
def encode_destinations(layout: Layout, destination: U32, m: int, codes: U32) -> None:
    """The codes of all packets of a block."""
    g, bits = np.uint32(layout.g), np.uint32(layout.number_bits)
    for k in range(m):
        codes[k] = (destination[k] % g) << bits | np.uint32(k)


@compiled
def hush(layout: Layout, table: U8, first_group: int, turn: int, waiting: U32) -> int:
    """Make unheard what is sent to processors with a copy that waits; how many were alone."""
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
def listener(layout: Layout, turn: int, group: int) -> int:
    """The index of the processor that listens to a group in slots 1 and 2."""
    index = turn * layout.g + group
    return index if index < layout.d else group


@compiled
def wait(
    layout: Layout, entries: U32 | U64, m: int, codes: U32, destination: U32, turn: int,
    waiting: U32, names: U32,
) -> None:  # fmt: skip
    """The copies that arrived wait where they are; their names are left for ``remove``."""
    name_mask, number_mask = (1 << layout.name_bits) - 1, (1 << layout.number_bits) - 1
    group_mask = (1 << layout.group_bits) - 1
    for q in range(m):
        name = np.int64(entries[q]) & name_mask
        cell = np.int64(entries[q]) >> layout.name_bits
        sender, here = cell >> layout.group_bits, cell & group_mask
        block = np.int64(destination[codes[name] & number_mask]) % layout.d // layout.g
        waiting[listener(layout, turn, int(sender)) << layout.group_bits | here] = block + 1
        names[q] = name


@compiled
def bring_home(waiting: U32, turn: int) -> int:
    """Slot 5: the copies for a block are delivered."""
    delivered, block = 0, np.uint32(turn + 1)
    for k in range(len(waiting)):
        home = waiting[k] == block
        delivered += int(home)
        waiting[k] = _FREE if home else waiting[k]
    return delivered
