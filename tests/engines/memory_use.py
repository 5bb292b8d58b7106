"""Measure how much memory runs take, beside the engine's estimate.

``python -m tests.engines.memory_use slots relay '' 4 65536`` prints both, in bytes. Each
measurement needs a process of its own: what an earlier one has freed may be used again unseen.
The arguments are the engine, the router, its variant ('' for the default), d and g, and then, if
they are not the defaults, the runs, the threads, the permutation and the slots after which a run is
abandoned.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

from popsnet import Experiment
from popsnet.engines import ENGINES
from popsnet.trace import Event


class Enough(Exception):
    """The run need not be finished: its peak is behind."""


@dataclass(frozen=True)
class Case:
    """Runs whose memory is measured."""

    engine: str
    router: str
    variant: str
    d: int
    g: int
    runs: int = 1
    threads: int = 1
    permutation: str = "random"
    slots: int = 0
    """After this many slots a run is abandoned; 0 for never."""

    def experiment(self, d: int, g: int) -> Experiment:
        variant, permutation = self.variant or None, self.permutation
        return Experiment(d, g, router=self.router, variant=variant, permutation=permutation)

    def __str__(self) -> str:
        return " ".join(value for value in self.arguments if value not in ("", "0"))

    @property
    def estimate(self) -> int:
        experiment = self.experiment(self.d, self.g)
        return ENGINES[self.engine].memory(experiment, self.runs, self.threads)

    @property
    def arguments(self) -> list[str]:
        return list(map(str, astuple(self)))

    def run(self, d: int, g: int) -> None:
        def observe(event: Event) -> None:
            if self.slots and event.slot >= self.slots:
                raise Enough

        with ENGINES[self.engine].open(self.experiment(d, g), self.threads) as session:
            try:
                for _ in session.run(range(self.runs), [observe]):
                    pass
            except Enough:
                pass


def measure(case: Case) -> int:
    """Return the most memory that runs take, above that of a program that has done them before.

    What has been compiled and imported for them is in the baseline.
    """
    if case.engine == "fused":
        case.run(case.d, case.g)
    else:
        case.run(*_tiny(case.d, case.g))
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")
    before = _status("VmRSS")
    case.run(case.d, case.g)
    return _status("VmHWM") - before


def _tiny(d: int, g: int) -> tuple[int, int]:
    """Return a network on which everything that a larger one needs is compiled and imported."""
    while min(d, g) > 8:
        d, g = -(-d // 2), -(-g // 2)
    return min(d, 64), min(g, 64)


def _status(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))


def _case(arguments: Sequence[str]) -> Case:
    """Return the case of these arguments, the inverse of ``Case.arguments``."""
    pairs = zip(fields(Case), arguments, strict=False)
    values: dict[str, Any] = {
        field.name: int(text) if field.type == "int" else text for field, text in pairs
    }
    return Case(**values)


if __name__ == "__main__":
    case = _case(sys.argv[1:])
    print(case.estimate, measure(case))
