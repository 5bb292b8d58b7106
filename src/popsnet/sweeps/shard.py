"""Shards: ten consecutive runs of an experiment, the unit in which results are kept."""

from __future__ import annotations

import platform
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

import popsnet
from popsnet.engines import Outcomes
from popsnet.errors import PopsnetError
from popsnet.experiment import Experiment
from popsnet.trace import Event

if TYPE_CHECKING:
    from popsnet.engines import Engine, Session

SHARD_RUNS = 10
"""Shard s of an experiment is its runs 10·s to 10·s + 9."""

NEGLIGIBLE = 2**26
"""Bytes of memory of a worker that are not counted, and that it keeps while it is idle."""

MOST_RUNS = 10**7
"""The most runs of an experiment: every shard has a row in the store."""


class Stopped(PopsnetError):
    """Shards were stopped because they are no longer wanted."""


def shards_of(runs: int) -> int:
    """Return how many shards hold this many runs."""
    return -(-runs // SHARD_RUNS)


@dataclass(frozen=True)
class Provenance:
    """When, where and with what a shard was made. None of it affects the result."""

    engine: str
    popsnet: str
    python: str
    numpy: str
    numba: str
    machine: str
    router_file: str
    permutation_file: str
    seconds: float
    finished: str
    """When, in UTC."""


@dataclass(frozen=True, eq=False)
class Shards:
    """Consecutive finished shards of an experiment."""

    experiment: Experiment
    numbers: range
    outcomes: Outcomes
    provenance: Provenance
    """The same for each of the shards."""


class _Opened(threading.local):
    """The session of this thread, kept for the next shards.

    Sessions that need much memory are closed, so that an idle worker holds none that others need.
    """

    experiment: Experiment | None = None
    asked: str
    engine: Engine
    session: Session

    def close(self) -> None:
        if self.experiment is not None:
            self.experiment = None
            self.session.close()
            del self.session

    def on(self, experiment: Experiment, engine: str) -> Session:
        if self.experiment != experiment or self.asked != engine:
            from popsnet.engines import choose_engine

            self.close()
            self.engine = choose_engine(engine, experiment, fitting=False)  # checked before
            self.session = self.engine.open(experiment, threads=1)
            self.experiment, self.asked = experiment, engine
        return self.session


_opened = _Opened()


def execute_shards(
    experiment: Experiment,
    numbers: range,
    stopped: Callable[[], bool] | None = None,
    engine: str = "auto",
) -> Shards:
    """Run shards on the calling thread; they stop soon after ``stopped()`` is true."""
    begin = time.perf_counter()

    def watch(event: Event) -> None:
        if stopped is not None and stopped():
            raise Stopped("Stopped before the shards were finished.")

    runs = range(numbers.start * SHARD_RUNS, numbers.stop * SHARD_RUNS)
    outcomes = Outcomes.joined(list(_opened.on(experiment, engine).run(runs, [watch])))
    name = _opened.engine.name
    if memory_of(experiment):
        _opened.close()
    _require_whole(experiment, outcomes)
    none = np.empty(0, dtype=np.int64)
    kept = Outcomes(outcomes.table, none, none)  # a store does not keep single steps
    seconds = (time.perf_counter() - begin) / max(len(numbers), 1)
    return Shards(experiment, numbers, kept, _provenance(experiment, name, seconds))


def memory_of(experiment: Experiment) -> int:
    """Return the bytes that the shards of an experiment need on a worker, 0 if negligible."""
    from popsnet.engines import choose_engine

    needed = choose_engine("auto", experiment, fitting=False).memory(experiment, threads=1)
    return needed if needed > NEGLIGIBLE else 0


def _require_whole(experiment: Experiment, outcomes: Outcomes) -> None:
    """Refuse runs that ended with packets neither delivered nor lost."""
    left = experiment.network.n - outcomes.column("delivered") - outcomes.column("lost")
    unfinished = (left > 0) & ~outcomes.column("capped")
    if unfinished.any():
        raise PopsnetError(
            f"Router {experiment.router} ended on {experiment.network}, permutation "
            f"{experiment.shown_permutation}, with {left[np.argmax(unfinished)]:,} packets not "
            "delivered."
        )


@cache
def versions_here() -> tuple[str, str, str, str, str]:
    """Return the versions of popsnet, Python, NumPy and Numba, and the machine."""
    import numba

    versions = popsnet.__version__, platform.python_version(), np.__version__, numba.__version__
    return *versions, f"{platform.node()} {platform.machine()}"


def _provenance(experiment: Experiment, engine: str, seconds: float) -> Provenance:
    files = experiment.router_file, experiment.permutation_file
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return Provenance(engine, *versions_here(), *files, round(seconds, 6), now)
