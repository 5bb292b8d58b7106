"""Shards: ten consecutive runs of an experiment, and how many of them a precision needs."""

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
from popsnet.errors import PopsnetError, wrong
from popsnet.experiment import Experiment
from popsnet.trace import Event

if TYPE_CHECKING:
    from popsnet.engines import Engine, Session


import math
import re
from collections.abc import Iterator

from popsnet.engines import Tally
from popsnet.experiment import whole_number
from popsnet.stats.inference import summarize_counts

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
            from popsnet.engines.engine import engine_of_many

            self.close()
            if engine == "auto":
                self.engine = engine_of_many(experiment)
            else:
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
    from popsnet.engines.engine import engine_of_many

    needed = engine_of_many(experiment).memory(experiment, threads=1)
    return needed if needed > NEGLIGIBLE else 0


def _require_whole(experiment: Experiment, outcomes: Outcomes) -> None:
    """Refuse runs that ended with packets that nothing kept from being delivered."""
    accounted = ("delivered", "lost", "unreachable", "held")
    left = experiment.packets - np.sum([outcomes.column(name) for name in accounted], axis=0)
    unfinished = (left > 0) & ~outcomes.column("capped")
    if unfinished.any():
        raise PopsnetError(
            f"Router {experiment.router} ended on {experiment.network}, {experiment.way} "
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
            raise wrong("until_se", until_se)(
                "give a positive percentage of the mean, such as 1%, or a number of slots, such as "
                "0.05."
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
