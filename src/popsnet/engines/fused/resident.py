"""Whole runs in the cache: for networks whose couplers fit in it, one thread a run."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from popsnet.compiled import compiled
from popsnet.engines.fused.arena import cut
from popsnet.engines.fused.passes import (
    FLAGS,
    I64,
    SPARE,
    U8,
    U16,
    U32,
    U64,
    Layout,
    clear,
    count,
    draw,
    encode,
    pick,
    remove,
    rename,
    select,
    take_part,
)
from popsnet.network import Network
from popsnet.permutations.uniform import fill, shuffle
from popsnet.routing.mei_rizzi import participation
from popsnet.splitmix import origin, run_key, step_key


def law_of(network: Network, max_steps: int) -> npt.NDArray[np.uint64]:
    """The thresholds of the steps in which not everybody takes part."""
    steps = min(-(-4 * (network.d - network.g) // network.g), max_steps)
    return np.fromiter((participation(network, step) for step in range(steps)), np.uint64, steps)


class Scratch(NamedTuple):
    """Memory that runs use one after another; fresh memory is slow."""

    codes: U32  # pending packets, block after block
    sizes: I64  # how many of each block
    taking: U32  # positions of those that take part in a step, and
    taken: U32  # their codes
    couplers: U32
    drawn: U32 | U64  # entries of all packets of a block
    first_words: U64  # slot 1, the couplers out of one block, eight in a word
    first: U8
    entries: U32 | U64  # survivors of slot 1, block after block
    ends: I64
    second_words: U64  # slot 2, all couplers
    second: U8
    home: U32
    flags: U8  # of a selection
    stop: U8  # set by another thread to end the run before its time

    @classmethod
    def of(cls, layout: Layout, stop: U8) -> Scratch:
        """Scratch for runs on a network."""
        size, blocks, u32, u64 = layout.size, layout.blocks, np.uint32, np.uint64
        entry = layout.entry_type
        spare = size + SPARE  # draws write past their end, and so do selections
        first = -(-(layout.rows << layout.group_bits) // 8)
        second = -(-(layout.g << layout.group_bits) // 8)
        codes, sizes, taking, taken, couplers, drawn, first_words, entries, ends, second_words = (
            cut(
                (layout.d * layout.g + SPARE, u32),
                (blocks, np.int64),
                (spare, u32),
                (spare, u32),
                (spare, u32),
                (spare, entry),
                (first, u64),
                (layout.g * layout.g + spare, entry),
                (blocks, np.int64),
                (second, u64),
            )
        )
        home, flags = cut((spare, u32), (FLAGS, np.uint8))
        return cls(
            codes, sizes, taking, taken, couplers, drawn, first_words, first_words.view(np.uint8),
            entries, ends, second_words, second_words.view(np.uint8), home,
            flags, stop,
        )  # fmt: skip


@compiled
def route(
    layout: Layout, law: U64, max_steps: int, residues: U16, seed: np.uint64, purpose: np.uint64,
    s: Scratch, log: I64,
) -> int:  # fmt: skip
    """Route one permutation; returns the steps.

    Logs for each step: pending after it, senders, survivors of slot 1, couplers collided.
    A packet takes part in step i if its coin is below law[i]; later ones have all take part.
    """
    size, bits = layout.rows * layout.d, layout.number_bits
    blocks, n = len(s.sizes), layout.d * layout.g
    for block in range(blocks):
        low = block * size
        s.sizes[block] = min(size, n - low)
        encode(residues[low:], s.sizes[block], bits, s.codes[low:])
    step, pending = 0, n
    while pending > 0 and step < max_steps and s.stop[0] == 0:
        key = step_key(seed, purpose, step)
        sent, collided, filled = 0, 0, 0
        begin, stride = origin(key, np.uint64(0)), origin(np.uint64(0), np.uint64(size - 1))
        for block in range(blocks):
            m, codes = s.sizes[block], s.codes[block * size :]
            entries = s.entries[filled:]
            if step < len(law):
                m = take_part(codes, m, bits, begin, law[step], s.taking)
                pick(codes, s.taking, m, s.taken)
                codes = s.taken
            draw(layout, codes, m, begin, 0, s.couplers, s.drawn)
            count(s.couplers, m, 0, s.first)
            survivors = select(s.couplers, m, 0, s.first, s.drawn, s.flags, entries)
            collided += clear(s.first_words)
            count(entries, survivors, layout.name_bits, s.second)
            if step < len(law):
                rename(entries, survivors, layout.name_bits, s.taking, 0)
            sent += m
            filled += survivors
            s.ends[block] = filled
            begin += stride
        start, pending = 0, 0
        for block in range(blocks):
            m, entries = s.ends[block] - start, s.entries[start:]
            home = select(entries, m, layout.name_bits, s.second, entries, s.flags, s.home)
            s.sizes[block] = remove(
                s.home, home, layout.name_bits, s.codes[block * size :], s.sizes[block]
            )
            pending += s.sizes[block]
            start += m
        collided += clear(s.second_words)
        log[step, 0], log[step, 1], log[step, 2], log[step, 3] = pending, sent, filled, collided
        step += 1
    return step


@compiled
def route_many(
    layout: Layout, law: U64, max_steps: int, seed: np.uint64, permutation_seed: np.uint64,
    purposes: U64, first: int, last: int, s: Scratch, residues: U16, drawn: U32, log: I64,
    steps: I64,
) -> int:  # fmt: skip
    """Runs first, first + 1, … on uniform permutations, those the same seeds give elsewhere.

    Returns how many: up to last, or as many as the log has room for.
    """
    filled, done = 0, 0
    for run in range(first, last):
        if len(log) - filled < max_steps or s.stop[0] != 0:
            break
        instance = run_key(permutation_seed, purposes[0], run)
        fill(residues, layout.g)
        shuffle(residues, 0, len(residues), step_key(instance, purposes[1], 1), drawn)
        coins = run_key(seed, purposes[0], run)
        steps[done] = route(layout, law, max_steps, residues, coins, purposes[2], s, log[filled:])
        filled += steps[done]
        done += 1
    return done
