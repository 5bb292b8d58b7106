"""Arrays cut from one piece of memory.

Each begins on a cache line of its own, so that threads do not share one by accident, and a large
piece gets large pages from the system, which small arrays would not.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

_LINE = 128
_LARGE_PAGES = 2**22
"""NumPy asks for large pages for arrays of four megabytes and more."""


def cut(*pieces: tuple[int, npt.DTypeLike]) -> list[npt.NDArray[Any]]:
    """Arrays of zeros, each given by its length and type."""
    sizes = [length * np.dtype(kind).itemsize for length, kind in pieces]
    spans = [-(-size // _LINE) * _LINE for size in sizes]
    total = sum(spans) + _LINE
    if total > _LARGE_PAGES // 4:
        total = max(total, _LARGE_PAGES)
    memory = np.zeros(total, dtype=np.uint8)
    start = -memory.ctypes.data % _LINE
    arrays = []
    for (_, kind), size, span in zip(pieces, sizes, spans, strict=True):
        arrays.append(memory[start : start + size].view(kind))
        start += span
    return arrays
