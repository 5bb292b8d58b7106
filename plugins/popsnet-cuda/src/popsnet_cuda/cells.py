"""Couplers on the device: a cell of two bits for each, sixteen cells in a word.

A cell goes from 0 to 1 with its first message, and to 3 with its second. Threads set bits with
atomic operations, in any order, and read cells after all of them have.
"""

from __future__ import annotations

import numpy as np
from numba import cuda
from popsnet.engines.fused.arrays import U32

from popsnet_cuda.jit import device

CELLS_PER_WORD = 16

_0, _1, _3, _4, _15 = np.uint32(0), np.uint32(1), np.uint32(3), np.uint32(4), np.uint32(15)
_FOUR, _FIFTEEN = np.uint64(4), np.uint64(15)
_COLLIDED = np.uint32(0xAAAAAAAA)


@device
def put(cells: U32, at: np.uint32) -> None:
    """Put a message on a coupler of a table in shared memory."""
    first = _1 << ((at & _15) << _1)
    if cuda.atomic.or_(cells, at >> _4, first) & first != _0:
        cuda.atomic.or_(cells, at >> _4, first << _1)


@device
def is_alone(cells: U32, at: np.uint32) -> bool:
    """Return whether a coupler of a table in shared memory has one message."""
    return bool((cells[at >> _4] >> ((at & _15) << _1)) & _3 == _1)


@device
def put_far(cells: U32, at: np.uint64) -> None:
    """Put a message on a coupler of a table in device memory."""
    first = _1 << (np.uint32(at & _FIFTEEN) << _1)
    if cuda.atomic.or_(cells, at >> _FOUR, first) & first != _0:
        cuda.atomic.or_(cells, at >> _FOUR, first << _1)


@device
def is_alone_far(cells: U32, at: np.uint64) -> bool:
    """Return whether a coupler of a table in device memory has one message."""
    return bool((cells[at >> _FOUR] >> (np.uint32(at & _FIFTEEN) << _1)) & _3 == _1)


@device
def clear(cells: U32, thread: np.uint32, threads: np.uint32) -> np.uint32:
    """Clear a table with all threads of a block, and return the collisions that this one saw."""
    collided, at, size = _0, thread, np.uint32(len(cells))
    while at < size:  # a range would divide to count its steps
        collided += np.uint32(cuda.popc(cells[at] & _COLLIDED))
        cells[at] = _0
        at += threads
    return collided


@device
def lowest(bits: np.uint32) -> np.uint32:
    """Return the position of the lowest bit of a word that is not 0."""
    return np.uint32(cuda.ffs(bits)) - _1
