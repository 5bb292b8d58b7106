"""Histograms and sums of many runs, made on the device."""

from __future__ import annotations

import numpy as np
from numba import cuda
from popsnet.engines.fused.arrays import U64

from popsnet_cuda.arguments import ManyRuns
from popsnet_cuda.jit import device

HISTOGRAMS = 3
"""Of steps, slots, and the slots of last deliveries; after them those of the capped runs."""

COLLISIONS, DESTROYED, MESSAGES, DELIVERED = range(4)
TOTALS = 4

_1 = np.uint64(1)


@device
def add_run(
    many: ManyRuns, histograms: U64, steps: np.uint64, slots: np.uint64, last: np.uint64,
    is_capped: bool,
) -> None:  # fmt: skip
    """Add a run to the histograms, by one thread."""
    start = np.uint64(0)
    for _ in range(1 + int(is_capped)):
        cuda.atomic.add(histograms, start + steps, _1)
        cuda.atomic.add(histograms, start + many.width + slots, _1)
        cuda.atomic.add(histograms, start + many.width + many.width + last, _1)
        start += np.uint64(HISTOGRAMS) * many.width
