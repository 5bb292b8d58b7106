"""Goals: which shards of each experiment a collection does, and when it has enough of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from popsnet.engines import Tally
from popsnet.engines.engine import engine_of_many
from popsnet.errors import InputError, require_several, wrong
from popsnet.experiment import Experiment, whole_number
from popsnet.sweeps import point_table as traffic_points
from popsnet.sweeps.shard import MOST_RUNS, SHARD_RUNS, Precision, shards_of
from popsnet.sweeps.store import Store
from popsnet.sweeps.sweep import Sweep
from popsnet.sweeps.work import Part
from popsnet.traffic.experiment import TrafficExperiment

Wanted: TypeAlias = Sweep | Iterable[Experiment | tuple[Experiment, int]]


@dataclass
class Goal:
    """The shards of one experiment, in stages; after each stage the precision is looked at."""

    experiment: Experiment
    stages: Sequence[Sequence[int]]
    """The shards that must be there at the end of each stage; every stage has the one before."""
    precision: Precision | None = None
    _stage: int = 0

    def missing(self, store: Store) -> list[int]:
        """Return the shards that are missing before the next decision; none at the end.

        Decisions depend on the results of whole stages and on nothing else, so that neither the
        order of work nor an interruption changes which shards there are in the end.
        """
        there = set(store.shards(self.experiment))
        while True:
            missing = [shard for shard in self.shards if shard not in there]
            if missing or self._stage + 1 == len(self.stages) or self._is_settled(store):
                return missing
            self._stage += 1

    def is_precise(self, store: Store) -> bool:
        """Return whether the stage is complete and its mean as precise as is wanted."""
        tally = self._whole(store)
        return self.precision is not None and tally is not None and self.precision.reached(tally)

    def is_capped(self, store: Store) -> bool:
        """Return whether the stage is complete and some of its runs were capped."""
        tally = self._whole(store)
        return tally is not None and tally.capped > 0

    def _is_settled(self, store: Store) -> bool:
        """Return whether more runs are of no use: the mean is precise, or never will be."""
        return self.is_precise(store) or self.is_capped(store)

    def _whole(self, store: Store) -> Tally | None:
        return store.tally(self.experiment, len(self.shards) * SHARD_RUNS)

    @property
    def shards(self) -> Sequence[int]:
        """The shards of the present stage."""
        return self.stages[self._stage]

    def tally(self, store: Store) -> Tally:
        """Return the tally of the runs that count: the present stage, as far as it goes."""
        return store.tally_of(self.experiment, self._counted(store))

    def _counted(self, store: Store) -> Sequence[int]:
        """Return the shards up to the first that is missing."""
        there = set(store.shards(self.experiment))
        whole = next((i for i, shard in enumerate(self.shards) if shard not in there), None)
        return self.shards if whole is None else self.shards[:whole]


@dataclass(frozen=True)
class Goals:
    """What a collection is to do: a goal for each experiment that has shards to do."""

    wanted: Sequence[tuple[Experiment, int]]
    goals: dict[Experiment, Goal]
    precision: Precision | None = None
    part: Part | None = None
    points: Sequence[TrafficExperiment] = ()
    """The points of continuous traffic, each once."""

    @classmethod
    def of(
        cls,
        experiments: Wanted,
        runs: int | None = None,
        until_se: float | str | None = None,
        max_runs: int | None = None,
        part: str | Sequence[int] | None = None,
    ) -> Goals:
        """Check and resolve the parameters of :func:`popsnet.collect`."""
        traffic = experiments.traffic if isinstance(experiments, Sweep) else ()
        if not isinstance(experiments, Sweep):
            require_several("experiments", experiments)
        wanted = _pairs(experiments, 1 if runs is None and until_se is not None else runs)
        for experiment, _ in wanted:
            _require_storable(experiment)
            engine_of_many(experiment, fitting=True)
        if until_se is not None and traffic and not wanted:
            raise wrong("until_se", until_se)(
                "it applies to runs, and there are none. The precision of a point of traffic is "
                "the key precision of its table."
            )
        precision = _precision(wanted, until_se, max_runs)
        which = None if part is None else Part.of(part)
        most: dict[Experiment, int] = {}
        for experiment, count in wanted:
            most[experiment] = max(most.get(experiment, 0), count)
        stages: dict[Experiment, Sequence[Sequence[int]]]
        if precision is not None:
            mine = most if which is None else which.share(most)
            stages = {
                one: [range(shards_of(look)) for look in precision.looks(most[one])] for one in mine
            }
        else:
            whole = {one: shards_of(count) for one, count in most.items()}
            shares: Mapping[Experiment, Sequence[int]] = (
                {one: range(end) for one, end in whole.items()}
                if which is None
                else which.shards(whole)
            )
            stages = {one: [shards] for one, shards in shares.items() if shards}
        goals = {one: Goal(one, several, precision) for one, several in stages.items()}
        return cls(wanted, goals, precision, which, _points(traffic, which))

    @classmethod
    def of_traffic(
        cls, points: Iterable[TrafficExperiment], part: str | Sequence[int] | None = None
    ) -> Goals:
        """Check and resolve the parameters of :func:`popsnet.sweeps.collect_traffic`."""
        which = None if part is None else Part.of(part)
        return cls((), {}, None, which, _points(points, which))

    def missing_points(self, store: Store) -> list[TrafficExperiment]:
        """Return the points of traffic that a store does not have."""
        return store.traffic.missing(self.points) if self.points else []

    def is_reached(self, store: Store) -> bool:
        """Return whether a store has everything."""
        runs = any(goal.missing(store) for goal in self.goals.values())
        return not runs and not self.missing_points(store)

    def shards_done(self, store: Store) -> tuple[int, int]:
        """Return how many of the shards a store has, and how many there are in all."""
        total = sum(len(goal.shards) for goal in self.goals.values())
        return total - sum(len(goal.missing(store)) for goal in self.goals.values()), total

    def tallies(self, store: Store) -> list[Tally]:
        """Return a tally for each experiment in the order given."""
        return [self._tally(store, *pair) for pair in self.wanted]

    def _tally(self, store: Store, experiment: Experiment, runs: int) -> Tally:
        if self.precision is None and self.part is None:
            return store.tally(experiment, runs) or store.unbroken(experiment)
        goal = self.goals.get(experiment)
        return Tally() if goal is None else goal.tally(store)


def _points(wanted: Iterable[TrafficExperiment], part: Part | None) -> Sequence[TrafficExperiment]:
    """Return the points that a collection is to do."""
    points = list(dict.fromkeys(wanted))
    for one in points:
        if not isinstance(one, TrafficExperiment):
            raise InputError(f"{one!r:.60} is not a TrafficExperiment.")
        traffic_points.require_storable(one)
    return points if part is None else part.share(points)


def _pairs(experiments: Wanted, runs: int | None) -> list[tuple[Experiment, int]]:
    """Return every experiment with the number of its runs."""
    if runs is not None:
        runs = whole_number("runs", runs, 1, MOST_RUNS)
    if isinstance(experiments, Sweep):
        return [(one, runs or count) for one, count in experiments.wanted]
    if isinstance(experiments, Experiment):
        experiments = [experiments]
    pairs = []
    for one in experiments:
        experiment, count = one if isinstance(one, tuple) and len(one) == 2 else (one, runs)
        if not isinstance(experiment, Experiment) or isinstance(experiment, TrafficExperiment):
            raise InputError(
                f"{experiment!r:.60} is not an Experiment, nor a pair of one and runs."
            )
        if count is None:
            raise wrong("runs", "None")(f"say how many runs of {experiment} to do.")
        pairs.append((experiment, whole_number("runs", count, 1, MOST_RUNS)))
    return pairs


def _require_storable(experiment: Experiment) -> None:
    if experiment.faults:
        raise InputError(
            f"{experiment} has faults ({experiment.faults}), and a store keeps runs without faults "
            "only; use route() or survival() for faults."
        )
    if experiment.wavelengths > 1:
        raise InputError(
            f"{experiment}: a store keeps runs of networks with one wavelength per coupler; use "
            "route() for several."
        )
    if not experiment.storable:
        raise InputError(
            f"Router {experiment.router} is not registered, so its results could not be told from "
            "those of a later version. Put it into a file with @popsnet.register(...) and give "
            "the file."
        )


def _precision(
    wanted: Sequence[tuple[Experiment, int]], until_se: float | str | None, max_runs: int | None
) -> Precision | None:
    if until_se is None:
        if max_runs is not None:
            raise wrong("max_runs", max_runs)("max_runs needs until_se.")
        return None
    precision = Precision.of(until_se, max_runs)
    for experiment, runs in wanted:
        if max_runs is not None and runs > max_runs:
            raise wrong("max_runs", max_runs)(
                f"{experiment} has {runs:,} runs in any case; give at least as many."
            )
    return precision
