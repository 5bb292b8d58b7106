"""How much load a pattern leaves possible for any scheduler."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]


def _none() -> F64:
    return np.empty(0)


def _no_counts() -> I64:
    return np.empty(0, np.int64)


@dataclass(frozen=True)
class Rates:
    """How a pattern spreads packets, in packets per slot at a mean load of 1."""

    source: float
    destination: float
    group_out: float
    group_in: float
    pair: float
    crowded: F64 = field(default_factory=_none)
    counts: I64 = field(default_factory=_no_counts)
