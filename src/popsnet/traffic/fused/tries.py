"""Sources that try to send: which packet each chooses, and whether it is alone on its coupler."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from popsnet.compiled import compiled
from popsnet.network import I32, I64
from popsnet.splitmix import step_key, word
from popsnet.traffic.fused.couplers import Couplers, cell, empty
from popsnet.traffic.fused.register import Opening
from popsnet.traffic.fused.state import NEXT, U64, KernelState
from popsnet.traffic.schedulers.attempts import Patience

_ALWAYS, _LOW = np.uint64(1 << 32), np.uint64(0xFFFFFFFF)


class Chances(NamedTuple):
    """The private seed and the purposes of the window; when packets that failed are tried again."""

    private: np.uint64
    purposes: U64
    keys: U64
    most: int
    fixed: int


class Tries(NamedTuple):
    """What sources try in a data slot, until the ack slot."""

    sources: I32
    rows: I32
    before: I32
    alone: I32
    cells: I32
    couplers: I64


def chances_of(opening: Opening, patience: Patience) -> Chances:
    """Return when sources with this patience try packets again."""
    purposes = opening.retries(patience.window)
    empty = np.empty_like(purposes)
    return Chances(opening.private, purposes, empty, patience.most, patience.fixed)


def new_tries(n: int) -> Tries:
    """Return room for what n sources try."""
    one, two, three, four, five = (np.empty(n, dtype=np.int32) for _ in range(5))
    return Tries(one, two, three, four, five, np.empty(n, dtype=np.int64))


@compiled
def make_keys(chances: Chances, step: int) -> None:
    """Write the keys of the coins of a step, one per place in the window."""
    for w in range(len(chances.purposes)):
        chances.keys[w] = step_key(chances.private, chances.purposes[w], step)


@compiled(inline=True)
def passes(keys: U64, w: int, source: int, fails: int, most: int, fixed: int) -> bool:
    """Return whether the packet at place w may be tried: at random, less often if it failed.

    ``fixed`` is the threshold of every packet, or -1.
    """
    limit = np.uint64(fixed) if fixed >= 0 else _ALWAYS >> np.uint64(min(fails, most))
    return bool(limit == _ALWAYS or (word(keys[w], np.uint64(source)) & _LOW) < limit)


@compiled
def put(couplers: Couplers, names: I64, cells: I32, m: int) -> tuple[int, int]:
    """Put messages on couplers, and return the collisions and the messages destroyed."""
    counts = couplers.counts
    collisions = destroyed = 0
    for q in range(m):
        at = cell(couplers, names[q])
        cells[q] = at
        counts[at] += 1
        if counts[at] == 2:
            collisions += 1
            destroyed += 2
        elif counts[at] > 2:
            destroyed += 1
    return collisions, destroyed


@compiled
def mark_alone(couplers: Couplers, cells: I32, m: int, alone: I32) -> None:
    """Write whether each message is alone, and take all of them off their couplers."""
    for q in range(m):
        alone[q] = couplers.counts[cells[q]] == 1
    empty(couplers, cells, m)


@compiled
def pick(m: int, tries: Tries, state: KernelState) -> int:
    """Write the packets that are alone on their couplers, and return how many there are."""
    heard = 0
    for q in range(m):
        state.sent[heard], state.senders[heard] = tries.rows[q], tries.sources[q]
        heard += tries.alone[q]
    return heard


@compiled
def unlink(row: int, before: int, pool: I32, head: int, tail: int) -> tuple[int, int]:
    """Remove a packet from a list; ``before`` is the one before it, or -1. Returns its ends."""
    after = pool[row, NEXT]
    if before < 0:
        head = after
    else:
        pool[before, NEXT] = after
    return head, (before if after < 0 else tail)
