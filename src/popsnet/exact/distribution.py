"""The exact distribution of a number of steps."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

_DIGITS = 2**106
"""A square root of a fraction is worked out on so many times it, squared: beyond a float's."""


@dataclass(frozen=True)
class Distribution:
    """Mean and variance, and the probabilities of the first few numbers of steps."""

    mean: Fraction
    variance: Fraction
    within: tuple[Fraction, ...]
    """P(steps ≤ s) for s = 0, 1, …"""
    states: int
    """Of the chain, up to the names of groups."""

    def __post_init__(self) -> None:
        if any(after < before for before, after in zip(self.within, self.within[1:], strict=False)):
            raise ValueError("The probabilities of at most s steps do not grow with s.")
        if self.variance < 0:
            raise ValueError(f"variance = {float(self.variance)}: a variance is not negative.")

    @property
    def sd(self) -> float:
        """The standard deviation."""
        return isqrt(int(self.variance * _DIGITS)) / isqrt(_DIGITS)

    @property
    def left(self) -> Fraction:
        """The probability of more steps than ``within`` has."""
        return 1 - self.within[-1]

    def probability(self, steps: int) -> Fraction:
        """P(steps = s)."""
        return self.within[steps] - (self.within[steps - 1] if steps else 0)

    def quantile(self, part: Fraction) -> int | None:
        """The least s with P(steps ≤ s) ≥ part, or None if ``within`` does not reach it."""
        return next((s for s, probability in enumerate(self.within) if probability >= part), None)
