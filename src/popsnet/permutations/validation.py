"""Is it a permutation of [0, n)? If not, where does it fail?"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from popsnet.errors import PermutationError


def require_permutation(values: npt.NDArray[Any], n: int, origin: str) -> npt.NDArray[np.int32]:
    """Return the values as destinations of packets 0 to n - 1; refuse what is no permutation."""
    if values.ndim != 1:
        raise PermutationError(
            f"{origin} has shape {values.shape}; a permutation is one row of n = {n} numbers."
        )
    if len(values) != n:
        raise PermutationError(
            f"{origin} has {len(values)} entries; the network has n = {n} processors and needs "
            "one destination for each."
        )
    if values.dtype.kind not in "iu":
        raise PermutationError(
            f"{origin} holds values of type {values.dtype}; destinations are whole numbers."
        )
    outside = (values < 0) | (values >= n)
    if outside.any():
        i = int(np.argmax(outside))
        raise PermutationError(
            f"{origin} is not a permutation: entry {i} is {values[i]}, outside 0 to {n - 1}."
        )
    destination = values.astype(np.int32)
    times = np.bincount(destination, minlength=n)
    if (times != 1).any():
        twice, never = int(np.argmax(times > 1)), int(np.argmax(times == 0))
        first, second = np.flatnonzero(destination == twice)[:2]
        raise PermutationError(
            f"{origin} is not a permutation: entries {first} and {second} are both {twice}, "
            f"and nobody is sent to {never}."
        )
    return destination
