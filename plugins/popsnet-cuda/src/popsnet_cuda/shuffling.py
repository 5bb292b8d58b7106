"""Uniform permutations in shared memory: the shuffle of ``uniform``, by a block of threads.

Fisher and Yates' method swaps places i and j(i) for i = n - 1, n - 2, …. The threads of a block
take the next of these swaps, one each. A swap whose two places occur in none of the others can be
done before or after them, and so at the same time. The other swaps, few unless i is small, are done
in their order by one thread. (Shun and others, "Sequential random permutation, list contraction and
tree contraction are highly parallel", 2015, show that the dependences are short.)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import cuda
from popsnet.engines.fused.arrays import U32
from popsnet.workloads.permutations.uniform import draw_place

from popsnet_cuda.cells import is_alone, lowest, put
from popsnet_cuda.jit import device

SCRATCH = 32
"""Words of zeros that a shuffle needs, one per warp."""

_0, _1, _2, _4, _5, _31 = (np.uint32(value) for value in (0, 1, 2, 4, 5, 31))
_NONE = np.uint64(0)


@device
def fill(places: Any, n: np.uint32, modulus: np.uint32) -> None:
    """Write 0, 1, 2, … mod ``modulus``."""
    k, threads = np.uint32(cuda.threadIdx.x), np.uint32(cuda.blockDim.x)
    while k < n:
        places[k] = k % modulus
        k += threads


@device
def swap(places: Any, i: np.uint32, j: np.uint32) -> None:
    """Swap two places."""
    kept = places[i]
    places[i] = places[j]
    places[j] = kept


@device
def cell_of(place: np.uint32, cells: np.uint32) -> np.uint32:
    """Return the cell that stands for a place. Several places may have one."""
    return place if place < cells else place % cells


@device
def shuffle(
    places: Any, n: np.uint32, cells: np.uint32, key: np.uint64, table: U32, drawn: U32, flags: U32
) -> None:
    """Shuffle n places with all threads.

    ``table`` has this many empty cells, ``drawn`` a word per thread, and ``flags`` are zeros. All
    threads must have passed a barrier since they were written. All are left as they were.
    """
    t, threads = np.uint32(cuda.threadIdx.x), np.uint32(cuda.blockDim.x)
    end = n
    while end > _1:
        m, is_parallel = min(threads, end - _1), end > _4 * threads
        i = end - _1 - t if t < m else _0
        j = np.uint32(draw_place(key, _NONE, np.uint64(i)))
        at_i, at_j = cell_of(i, cells), cell_of(j, cells)
        if t < m:
            drawn[t] = j
        if is_parallel and t < m:
            put(table, at_i)
            if i != j:
                put(table, at_j)
        cuda.syncthreads()
        if t < m:
            if is_parallel and is_alone(table, at_i) and (i == j or is_alone(table, at_j)):
                swap(places, i, j)
            else:
                cuda.atomic.or_(flags, t >> _5, _1 << (t & _31))
        cuda.syncthreads()
        if is_parallel and t < m:
            table[at_i >> _4] = _0
            table[at_j >> _4] = _0
        if t == _0:
            w = _0
            while w << _5 < m:
                rest = flags[w]
                flags[w] = _0
                while rest != _0:
                    k = (w << _5) + lowest(rest)
                    rest &= rest - _1
                    swap(places, end - _1 - k, drawn[k])
                w += _1
        cuda.syncthreads()
        end -= m
