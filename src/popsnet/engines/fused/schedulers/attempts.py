"""Sources that try to send: which packet each chooses, and whether it is alone on its coupler.

How many messages are on each coupler is in a table of all couplers, or of those in use.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from popsnet.base.compiled import compiled
from popsnet.base.splitmix import step_key, word
from popsnet.engines.fused.schedulers.packets import NEXT, KernelState
from popsnet.engines.fused.schedulers.register import Opening
from popsnet.model.network import I32, I64, U64
from popsnet.programs.schedulers.attempts import Patience

_ALWAYS, _LOW = np.uint64(1 << 32), np.uint64(0xFFFFFFFF)
_FACTOR = 0x9E3779B1
_TABLE = 8
"""Times the processors: the largest number of couplers that all have a cell."""


class Couplers(NamedTuple):
    """A cell per coupler, or hashed cells for at most n couplers at a time."""

    names: I64
    """The coupler that has each cell; empty if all couplers have cells."""
    counts: I32


def new_couplers(d: int, g: int) -> Couplers:
    """Return cells without messages."""
    if g <= _TABLE * d:
        return Couplers(np.empty(0, dtype=np.int64), np.zeros(g * g, dtype=np.int32))
    size = 1 << (2 * d * g).bit_length()
    return Couplers(np.full(size, -1, dtype=np.int64), np.zeros(size, dtype=np.int32))


@compiled
def cell(couplers: Couplers, coupler: int) -> int:
    """Return the cell of a coupler, a new one if it has none."""
    names = couplers.names
    if len(names) == 0:
        return coupler
    mask = len(names) - 1
    at = ((coupler ^ (coupler >> 24)) * _FACTOR >> 8) & mask
    while names[at] != coupler:
        if names[at] < 0:
            names[at] = coupler
            break
        at = (at + 1) & mask
    return at


@compiled
def empty(couplers: Couplers, cells: I32, m: int) -> None:
    """Take the messages off these cells."""
    for q in range(m):
        couplers.counts[cells[q]] = 0
    if len(couplers.names) > 0:
        for q in range(m):
            couplers.names[cells[q]] = -1


class Chances(NamedTuple):
    """The private seed and the purposes of the window; when packets that failed are tried again."""

    private: np.uint64
    purposes: U64
    keys: U64
    most: int
    fixed: int


class Tries(NamedTuple):
    """The packets that sources try in a data slot, until the ack slot."""

    sources: I32
    rows: I32
    before: I32
    alone: I32
    cells: I32
    couplers: I64


def chances_of(opening: Opening, patience: Patience) -> Chances:
    """Return when sources with this patience try packets again."""
    names = (f"retry {place}" for place in range(patience.window))
    private, *numbers = opening.coins("private", *names)
    purposes = np.array(numbers)
    return Chances(private, purposes, np.empty_like(purposes), patience.most, patience.fixed)


def new_tries(n: int) -> Tries:
    """Return room for what n sources try."""
    sources, rows, before, alone, cells = (np.empty(n, dtype=np.int32) for _ in range(5))
    return Tries(sources, rows, before, alone, cells, np.empty(n, dtype=np.int64))


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
def pick(m: int, chosen: I32, tries: Tries, state: KernelState) -> int:
    """Write the packets that are chosen, as by being alone, and return how many there are."""
    heard = 0
    for q in range(m):
        state.sent[heard], state.senders[heard] = tries.rows[q], tries.sources[q]
        heard += chosen[q]
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
