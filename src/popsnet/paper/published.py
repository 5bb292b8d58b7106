"""The paper's two tables, as printed.

According to the paper, the table of steps is of a hundred runs per row. The table of slots is of "a
large number of experiments", other runs than those of the first: its values are not five times as
large. They are all multiples of 0.05, like the mean of a hundred multiples of 5, so a hundred runs
are assumed for them too.
"""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from popsnet.base.stats.inference import Estimate, least_sd
from popsnet.model.network import Network

RUNS = 100
"""Runs behind each printed value."""

SLOTS_A_STEP = 5

RATIOS = (1, 4, 16)
"""The values of d / g that are printed."""

SMALLEST, LARGEST = 4, 2**24
"""The range of n."""

_ROUNDING = 0.005
"""Means are printed with two decimals."""


@dataclass(frozen=True, slots=True)
class PrintedRow:
    """A row of the paper's tables: the values for one network."""

    network: Network
    mean_steps: float
    sd_steps: float
    max_steps: int
    slots: float
    """Mean slots of the randomized router, in the other table."""
    deterministic: int
    """Slots of the deterministic rival."""

    @property
    def steps(self) -> Estimate:
        """The printed mean of steps."""
        return Estimate(self.mean_steps, max(self.sd_steps, least_sd(RUNS)), RUNS, _ROUNDING)

    @property
    def slots_in_print(self) -> Estimate:
        """The printed mean of slots. No sd is printed: five times that of the steps is assumed."""
        return Estimate(self.slots, SLOTS_A_STEP * self.steps.sd, RUNS, _ROUNDING)


@cache
def printed_rows() -> tuple[PrintedRow, ...]:
    """Return all rows, by ratio and then by size."""
    steps, slots = (
        {(int(row["d_over_g"]), int(row["n"])): row for row in csv.DictReader(text.splitlines())}
        for text in map(read_data, ("steps.csv", "slots.csv"))
    )
    return tuple(_row(*where, steps[where] | slots[where]) for where in sorted(steps))


def _row(ratio: int, n: int, row: dict[str, str]) -> PrintedRow:
    g = math.isqrt(n // ratio)
    mean, sd, slots = (float(row[name]) for name in ("mean_steps", "sd_steps", "randomized_slots"))
    most, deterministic = int(row["max_steps"]), int(row["deterministic_slots"])
    return PrintedRow(Network(ratio * g, g), mean, sd, most, slots, deterministic)


def read_data(name: str) -> str:
    """Return the text of a file that ships with the package."""
    return (files("popsnet.paper") / "data" / name).read_text(encoding="utf-8")
