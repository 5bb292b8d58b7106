"""Statistics of a sample. Knows nothing of networks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Summary", "summarize"]


@dataclass(frozen=True, slots=True)
class Summary:
    """Mean, spread and range of a sample."""

    mean: float
    sd: float | None
    """Sample standard deviation (n - 1 in the denominator); None for a single value."""
    min: int
    max: int


def summarize(sample: Sequence[int]) -> Summary:
    """The summary of a sample that is not empty."""
    mean = math.fsum(sample) / len(sample)
    sd = None
    if len(sample) > 1:
        sd = math.sqrt(math.fsum((x - mean) ** 2 for x in sample) / (len(sample) - 1))
    return Summary(mean, sd, min(sample), max(sample))
