"""How many messages are on each coupler in a slot: a table of all couplers, or of those in use."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from popsnet.compiled import compiled
from popsnet.network import I32, I64

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
