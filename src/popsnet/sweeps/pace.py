"""Pace: how fast work is done, and how much time is left by an estimate."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from popsnet.progress import duration
from popsnet.sweeps.parcels import Finished
from popsnet.sweeps.points import Point
from popsnet.sweeps.work import ANYWHERE


class Pace:
    """Compares the time that work takes with estimates of it."""

    def __init__(self) -> None:
        self._begin = time.monotonic()
        self._done = 0
        self._estimated = 0.0
        self._ratios: dict[str, float] = {}

    def note(self, results: Sequence[Finished], estimated: float, engine: str = ANYWHERE) -> None:
        """Count results of an engine that took this many seconds by an estimate."""
        seconds = 0.0
        for one in results:
            shards = 1 if isinstance(one, Point) else len(one.numbers)
            seconds += one.provenance.seconds * shards
            self._done += shards
        self._estimated += estimated
        if seconds > 0 and estimated > 0:
            self._ratios[engine] = (self._ratios.get(engine, 1.0) + seconds / estimated) / 2

    def estimate_of(self, seconds: float, engine: str = ANYWHERE) -> float:
        """Return the estimate of work that takes this many seconds with an engine."""
        return seconds / self._ratios.get(engine, 1.0)

    def words(self, unit: str, left: float | None) -> Iterator[str]:
        """Yield the speed and the time left, for work of this many seconds by estimate."""
        elapsed = time.monotonic() - self._begin
        if self._done:
            rate = self._done / elapsed
            yield f"{rate:,.{0 if rate >= 10 else 2}f} {unit} per second"
        if left is not None and self._estimated > 0:
            yield f"{duration(left * elapsed / self._estimated)} left"
