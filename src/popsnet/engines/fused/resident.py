"""Whole runs in the cache: for networks whose couplers fit in it, one thread a run."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from popsnet.compiled import compiled
from popsnet.engines.fused.arena import cut
from popsnet.engines.fused.passes import (
    U8,
    U16,
    U32,
    clear,
    count,
    draw,
    encode,
    pick,
    relay,
    remove,
    row_magic,
    select,
    take_part,
)
from popsnet.network import Network
from popsnet.permutations.uniform import fill, shuffle
from popsnet.routing.mei_rizzi import participation
from popsnet.splitmix import run_key, step_key

__all__ = ["Scratch", "Shape", "route", "route_many"]

I64 = npt.NDArray[np.int64]

_BLOCK = 2**14


class Shape(NamedTuple):
    """What all runs on a network share."""

    d: int
    g: int
    rows: int
    """Groups in a block."""
    magic: int
    bits: int
    """Bits of a packet's number in its block."""
    thresholds: npt.NDArray[np.uint64]
    """A packet takes part in step s if its coin is below thresholds[s]; later ones all do."""
    max_steps: int

    @classmethod
    def of(cls, network: Network, max_steps: int) -> Shape:
        """The shape of a network: blocks of 2^14 packets, or of one group if that has more."""
        rows = min(max(_BLOCK // network.d, 1), network.g)
        return cls(
            d=network.d,
            g=network.g,
            rows=rows,
            magic=row_magic(network.d, rows),
            bits=(rows * network.d).bit_length(),
            thresholds=_law(network, max_steps),
            max_steps=max_steps,
        )


def _law(network: Network, max_steps: int) -> npt.NDArray[np.uint64]:
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
    alone: U32
    table: U8  # slot 1, the couplers out of one block
    senders: U32  # positions of the survivors of slot 1, block after block
    second: U32  # their couplers in slot 2
    ends: I64
    cells: U8  # slot 2, all couplers
    stop: U8  # set by another thread to end the run before its time

    @classmethod
    def of(cls, shape: Shape, stop: U8) -> Scratch:
        """Scratch for runs of this shape."""
        size, couplers = shape.rows * shape.d, shape.g * shape.g
        blocks = -(-shape.g // shape.rows)
        u32, spare = np.uint32, size + 1  # a selection writes one place past its end
        arrays = cut(
            (shape.d * shape.g, u32),
            (blocks, np.int64),
            (spare, u32),
            (spare, u32),
            (size, u32),
            (spare, u32),
            (shape.rows * shape.g, np.uint8),
            (couplers + spare, u32),
            (couplers + spare, u32),
            (blocks, np.int64),
            (couplers, np.uint8),
        )
        return cls._make([*arrays, stop])


@compiled
def route(
    shape: Shape, residues: U16, seed: np.uint64, purpose: np.uint64, s: Scratch, log: I64
) -> int:
    """Route one permutation; returns the steps.

    Logs for each step: pending after it, senders, survivors of slot 1, couplers collided.
    """
    g, size, bits, magic = shape.g, shape.rows * shape.d, shape.bits, shape.magic
    blocks, n = len(s.sizes), shape.d * shape.g
    for block in range(blocks):
        low = block * size
        s.sizes[block] = min(size, n - low)
        encode(residues[low:], s.sizes[block], bits, s.codes[low:])
    step, pending = 0, n
    while pending > 0 and step < shape.max_steps and s.stop[0] == 0:
        key = step_key(seed, purpose, step)
        all_take_part = step >= len(shape.thresholds)
        sent, collided, filled = 0, 0, 0
        for block in range(blocks):
            low, m, codes = block * size, s.sizes[block], s.codes[block * size :]
            senders, second = s.senders[filled:], s.second[filled:]
            if not all_take_part:
                m = take_part(codes, m, bits, low, key, shape.thresholds[step], s.taking)
                pick(codes, s.taking, m, s.taken)
                codes = s.taken
            draw(codes, m, bits, low, key, g, magic, s.couplers)
            count(s.couplers, m, s.table)
            survivors = select(s.couplers, m, s.table, senders)
            collided += clear(s.couplers, m, s.table, shape.rows * g)
            relay(senders, survivors, codes, bits, s.couplers, g, magic, second)
            count(second, survivors, s.cells)
            if not all_take_part:
                pick(s.taking, senders, survivors, senders)
            sent += m
            filled += survivors
            s.ends[block] = filled
        start, pending = 0, 0
        for block in range(blocks):
            m = s.ends[block] - start
            home = select(s.second[start:], m, s.cells, s.alone)
            s.sizes[block] = remove(
                s.alone, home, s.senders[start:], s.codes[block * size :], s.sizes[block]
            )
            pending += s.sizes[block]
            start += m
        collided += clear(s.second, filled, s.cells, g * g)
        log[step, 0], log[step, 1], log[step, 2], log[step, 3] = pending, sent, filled, collided
        step += 1
    return step


@compiled
def route_many(
    shape: Shape, seed: np.uint64, permutation_seed: np.uint64, purposes: npt.NDArray[np.uint64],
    first: int, last: int, s: Scratch, residues: U16, drawn: U32, log: I64, steps: I64,
) -> int:  # fmt: skip
    """Runs first, first + 1, … on uniform permutations, those the same seeds give elsewhere.

    Returns how many: up to last, or as many as the log has room for.
    """
    filled, done = 0, 0
    for run in range(first, last):
        if len(log) - filled < shape.max_steps or s.stop[0] != 0:
            break
        instance = run_key(permutation_seed, purposes[0], run)
        fill(residues, shape.g)
        shuffle(residues, 0, len(residues), step_key(instance, purposes[1], 1), drawn)
        coins = run_key(seed, purposes[0], run)
        steps[done] = route(shape, residues, coins, purposes[2], s, log[filled:])
        filled += steps[done]
        done += 1
    return done
