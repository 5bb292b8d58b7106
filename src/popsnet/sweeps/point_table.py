"""The points of continuous traffic in a store."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from popsnet.sweeps import point_rows
from popsnet.sweeps.points import Point
from popsnet.sweeps.rows import Row
from popsnet.sweeps.selection import EVERYTHING, Selection
from popsnet.traffic.experiment import TrafficExperiment
from popsnet.traffic.result import TrafficResult

if TYPE_CHECKING:
    from popsnet.sweeps.store import Store


class PointTable:
    """Look up points of continuous traffic in a store. Every row is checked before it is used.

    Parameters
    ----------
    store : Store
        The store.

    Examples
    --------
    >>> import popsnet
    >>> from popsnet.sweeps import collect_traffic
    >>> sweep = popsnet.Sweep.of_traffic(d=4, g=4, loads=[0.1, 0.2], slots=200)
    >>> results = collect_traffic(sweep, store="results.sqlite")
    >>> with popsnet.Store("results.sqlite") as store:
    ...     store.traffic.results() == results
    True
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def count(self) -> int:
        """Return the number of points."""
        return len(self._store.rows("traffic"))

    def points(self, only: Selection = EVERYTHING) -> list[Point]:
        """Return points with their results and provenance, small networks first.

        Parameters
        ----------
        only : Selection
            Which points; all by default.
        """
        found = [self._point(row) for row in self._store.rows("traffic")]
        found = [one for one in found if one.experiment in only]
        return sorted(found, key=lambda one: _order(one.experiment))

    def experiments(self, only: Selection = EVERYTHING) -> list[TrafficExperiment]:
        """Return the experiments of which the store has the result.

        They can be looked up and compared; their ``reopened()`` gives one that can be run.
        """
        return [point.experiment for point in self.points(only)]

    def results(self, only: Selection = EVERYTHING) -> list[TrafficResult]:
        """Return the results of points, small networks first and small loads first."""
        return [point.result for point in self.points(only)]

    def missing(self, experiments: Iterable[TrafficExperiment]) -> list[TrafficExperiment]:
        """Return those of some experiments that the store does not have."""
        there = set(self.experiments())
        return [one for one in experiments if one not in there]

    def get(self, experiment: TrafficExperiment) -> Point | None:
        """Return a point; None if the store does not have it."""
        found = self._store.rows("traffic", experiment.digest)
        return self._point(found[0]) if found else None

    def _point(self, row: Row) -> Point:
        with self._store.errors_named():
            return point_rows.point_of(row)


def _order(one: TrafficExperiment) -> tuple[Any, ...]:
    return one.network.n, one.g, one.arrivals, one.scheduler, one.variant, one.load, one.digest


def traffic_records(points: Iterable[Point]) -> list[dict[str, Any]]:
    """Return a dictionary per point: the experiment, and what a table shows of the result."""
    return [
        {**traffic_fields(one.experiment), **one.result.row(), **label_of(one.experiment)}
        for one in points
    ]


def label_of(experiment: TrafficExperiment) -> dict[str, str]:
    """Return the column with the user's label of a point, which may be empty."""
    return {"label": str(experiment.given.get("label", ""))}


def traffic_fields(experiment: TrafficExperiment) -> dict[str, Any]:
    """Return the columns that say which point it is."""
    names = (
        "scheduler", "version", "variant", "arrivals", "load", "buffer", "seed", "arrival_seed",
        "precision", "max_slots",
    )  # fmt: skip
    return {
        "experiment": experiment.digest,
        **experiment.network.to_dict(),
        **{name: getattr(experiment, name) for name in names},
        "slots_wanted": experiment.slots,
    }
