"""Sources that try to send: which packet each chooses, and whether it is alone on its coupler."""

from __future__ import annotations

import numpy as np

from popsnet.compiled import compiled
from popsnet.network import I32, I64
from popsnet.splitmix import step_key, word
from popsnet.traffic.fused.couplers import cell, empty
from popsnet.traffic.fused.parts import NEXT, U64

_ALWAYS, _LOW = np.uint64(1 << 32), np.uint64(0xFFFFFFFF)


@compiled
def make_keys(seed: np.uint64, purposes: U64, step: int, keys: U64) -> None:
    """Write the keys of the coins of a step, one per place in the window."""
    for w in range(len(purposes)):
        keys[w] = step_key(seed, purposes[w], step)


@compiled(inline=True)
def passes(keys: U64, w: int, source: int, fails: int, most: int, fixed: int) -> bool:
    """Return whether the packet at place w may be tried: at random, less often if it failed.

    ``fixed`` is the threshold of every packet, or -1.
    """
    limit = np.uint64(fixed) if fixed >= 0 else _ALWAYS >> np.uint64(min(fails, most))
    return bool(limit == _ALWAYS or (word(keys[w], np.uint64(source)) & _LOW) < limit)


@compiled
def put(names: I64, counts: I32, couplers: I64, cells: I32, m: int) -> tuple[int, int]:
    """Put messages on couplers, and return the collisions and the messages destroyed."""
    collisions = destroyed = 0
    for q in range(m):
        at = cell(names, couplers[q])
        cells[q] = at
        counts[at] += 1
        if counts[at] == 2:
            collisions += 1
            destroyed += 2
        elif counts[at] > 2:
            destroyed += 1
    return collisions, destroyed


@compiled
def mark_alone(names: I64, counts: I32, cells: I32, m: int, alone: I32) -> None:
    """Write whether each message is alone, and take all of them off their couplers."""
    for q in range(m):
        alone[q] = counts[cells[q]] == 1
    empty(names, counts, cells, m)


@compiled
def unlink(row: int, before: int, pool: I32, head: int, tail: int) -> tuple[int, int]:
    """Remove a packet from a list; ``before`` is the one before it, or -1. Returns its ends."""
    after = pool[row, NEXT]
    if before < 0:
        head = after
    else:
        pool[before, NEXT] = after
    return head, (before if after < 0 else tail)
