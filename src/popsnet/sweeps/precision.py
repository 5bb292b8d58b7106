"""Runs until a precision is reached: when to look, and when to stop."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from popsnet.engines import Tally
from popsnet.errors import InputError
from popsnet.experiment import whole_number
from popsnet.stats.inference import summarize_counts
from popsnet.sweeps.shard import MOST_RUNS, SHARD_RUNS, shards_of

FEWEST_RUNS = 50
"""No decision is made with fewer runs: their standard deviation says too little."""

MAX_RUNS = 10_000
"""The default largest number of runs of an experiment."""


def standard_error(tally: Tally) -> float | None:
    """Return the standard error of the mean number of slots.

    None if there are fewer than two runs, or if runs were capped: then there is no telling how
    far the mean is from the true one.
    """
    if tally.runs < 2 or tally.capped:
        return None
    sd = summarize_counts(tally.slots).sd
    assert sd is not None
    return sd / math.sqrt(tally.runs)


@dataclass(frozen=True)
class Precision:
    """A bound on the standard error of the mean number of slots.

    Examples
    --------
    >>> Precision.of("1%", None)
    Precision(error=0.01, relative=True, max_runs=10000)
    >>> Precision.of(0.05, 500)
    Precision(error=0.05, relative=False, max_runs=500)
    """

    error: float
    relative: bool
    """Whether the error is a fraction of the mean, not a number of slots."""
    max_runs: int

    @classmethod
    def of(cls, until_se: float | str, max_runs: int | None) -> Precision:
        """Return the precision that a text such as ``"1%"``, or a number of slots, stands for."""
        text = str(until_se).strip()
        found = re.fullmatch(r"(\d+\.?\d*|\.\d+)(e[-+]?\d+)?\s*(%)?", text, re.IGNORECASE)
        error = float(f"{found[1]}{found[2] or ''}") / (100 if found[3] else 1) if found else 0.0
        if isinstance(until_se, bool) or found is None or not 0 < error < math.inf:
            raise InputError(
                f"until_se = {until_se}: give a positive percentage of the mean, such as 1%, or a "
                "number of slots, such as 0.05."
            )
        most = MAX_RUNS if max_runs is None else max_runs
        most = whole_number("max_runs", most, FEWEST_RUNS, MOST_RUNS)
        return cls(error, bool(found[3]), most)

    def __str__(self) -> str:
        if self.relative:
            return f"{100 * self.error:g} % of the mean"
        return f"{self.error:g} slot{'s' * (self.error != 1)}"

    def reached(self, tally: Tally) -> bool:
        """Return whether the standard error of the mean number of slots is small enough.

        With capped runs it never is: the mean of the others and them is only a lower bound.
        """
        error = standard_error(tally)
        if error is None:
            return False
        return error <= self.error * (tally.mean("slots") if self.relative else 1)

    def looks(self, first: int) -> Iterator[int]:
        """Yield the numbers of runs after which the standard error is looked at.

        They do not depend on results: first, then a quarter more each time, up to ``max_runs``.

        Examples
        --------
        >>> list(Precision.of("1%", 200).looks(10))
        [50, 70, 90, 120, 150, 190, 200]
        """
        most = shards_of(self.max_runs) * SHARD_RUNS
        runs = shards_of(max(first, FEWEST_RUNS)) * SHARD_RUNS
        while runs < most:
            yield runs
            runs = shards_of(-(-runs * 5 // 4)) * SHARD_RUNS
        yield max(most, shards_of(first) * SHARD_RUNS)
