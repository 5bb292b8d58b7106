"""Goals: which results of each experiment a collection makes, and when it has enough of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from popsnet.base.errors import InputError, require_several, wrong
from popsnet.engines import Tally
from popsnet.experiment.experiment import Experiment, whole_number
from popsnet.experiment.traffic import TrafficExperiment
from popsnet.sweeps.kind import ResultKind
from popsnet.sweeps.rows import KINDS, SHARD, WINDOW, has_results, kind_of
from popsnet.sweeps.shard import MOST_RUNS, SHARD_RUNS, CountedRuns, Precision, shards_of
from popsnet.sweeps.store import Store
from popsnet.sweeps.sweep import ORDERS, Sweep
from popsnet.sweeps.work import Part

Experiments: TypeAlias = Sweep | Iterable[Experiment | tuple[Experiment, int]]


@dataclass
class Goal:
    """The results of one experiment, in stages; after each the precision is looked at."""

    experiment: Experiment
    stages: Sequence[Sequence[int]]
    """The results that must be there at the end of each stage; each has those of the one before."""
    precision: Precision | None = None
    _stage: int = 0

    def missing(self, store: Store) -> list[int]:
        """Return the results that are missing before the next decision; none at the end.

        Decisions depend on the results of whole stages and on nothing else, so that neither the
        order of work nor an interruption changes which results there are in the end.
        """
        numbers = set(store.numbers(self.experiment))
        while True:
            missing = [number for number in self.shards if number not in numbers]
            is_last = self._stage + 1 == len(self.stages)
            if missing or is_last or self.is_precise(store) or self.is_capped(store):
                return missing  # with capped runs it never will be precise
            self._stage += 1

    def is_precise(self, store: Store) -> bool:
        """Return whether the stage is complete and its mean as precise as is wanted."""
        tally = self._whole(store)
        return self.precision is not None and tally is not None and self.precision.reached(tally)

    def is_capped(self, store: Store) -> bool:
        """Return whether the stage is complete and some of its runs were capped."""
        tally = self._whole(store)
        return tally is not None and tally.capped > 0

    def _whole(self, store: Store) -> Tally | None:
        return store.tally(self.experiment, len(self.shards) * SHARD_RUNS)

    @property
    def shards(self) -> Sequence[int]:
        """The numbers of the results of the present stage."""
        return self.stages[self._stage]

    def gathered(self, store: Store) -> CountedRuns:
        """Return the runs that count: the present stage, as far as it goes."""
        numbers = set(store.numbers(self.experiment))
        whole = next((i for i, shard in enumerate(self.shards) if shard not in numbers), None)
        return store.gathered(self.experiment, self.shards[:whole])


@dataclass(frozen=True)
class Goals:
    """What a collection is to do: a goal for each experiment of which something is wanted."""

    wanted: Sequence[tuple[Experiment, int]]
    """The experiments with runs, as they were given."""
    goals: dict[Experiment, Goal]
    precision: Precision | None = None
    part: Part | None = None
    is_breadth: bool = False
    """Whether every experiment gets its first results before any gets its second."""

    @classmethod
    def of(
        cls,
        experiments: Experiments,
        runs: int | None = None,
        precision: float | str | None = None,
        max_runs: int | None = None,
        part: str | Sequence[int] | None = None,
    ) -> Goals:
        """Check and resolve the parameters of :func:`popsnet.collect`."""
        points = experiments.traffic if isinstance(experiments, Sweep) else ()
        if not isinstance(experiments, Sweep):
            require_several("experiments", experiments)
        wanted = _pairs(experiments, 1 if runs is None and precision is not None else runs)
        if precision is not None and points and not wanted:
            raise wrong("precision", precision)(
                "it applies to runs, and there are none. The precision of a point of traffic is "
                "the key precision of its table."
            )
        wide = _precision(wanted, precision, max_runs)
        made = cls._made([*wanted, *((point, 1) for point in points)], wide, part)
        order = experiments.order if isinstance(experiments, Sweep) else ORDERS[0]
        return replace(made, is_breadth=order == "breadth")

    @classmethod
    def of_traffic(
        cls, points: Sequence[TrafficExperiment], part: str | Sequence[int] | None = None
    ) -> Goals:
        """Check and resolve the parameters of :func:`popsnet.sweeps.collect_traffic`."""
        for point in points:
            if not has_results(WINDOW, point):
                raise InputError(f"{point!r:.60} is not a TrafficExperiment.")
        return cls._made([(point, 1) for point in points], None, part)

    @classmethod
    def _made(
        cls,
        wanted: Sequence[tuple[Experiment, int]],
        precision: Precision | None,
        part: str | Sequence[int] | None,
    ) -> Goals:
        """Return the goals for experiments and their numbers of runs, one kind after another."""
        which = None if part is None else Part.of(part)
        most: dict[Experiment, int] = {}
        for experiment, count in wanted:
            most[experiment] = max(most.get(experiment, 0), count)
        goals: dict[Experiment, Goal] = {}
        for kind in KINDS.values():
            mine = {e: runs for e, runs in most.items() if has_results(kind, e)}
            for experiment in mine:
                kind.require_storable(experiment)
            if kind is SHARD and precision is not None:
                for experiment in mine if which is None else which.share(mine):
                    stages = [range(shards_of(look)) for look in precision.looks(mine[experiment])]
                    goals[experiment] = Goal(experiment, stages, precision)
                continue
            ends = {experiment: -(-runs // kind.runs) for experiment, runs in mine.items()}
            shares = {experiment: range(end) for experiment, end in ends.items()}
            for experiment, numbers in (which.shards(ends) if which else shares).items():
                if numbers:
                    experiment.require_run(numbers[-1] * kind.runs + kind.runs - 1)
                    goals[experiment] = Goal(experiment, [numbers])
        runs = [pair for pair in wanted if has_results(SHARD, pair[0])]
        return cls(runs, goals, precision, which)

    def of_kind(self, kind: ResultKind) -> list[Goal]:
        """Return the goals of the experiments whose results are of a kind."""
        return [goal for experiment, goal in self.goals.items() if kind_of(experiment) is kind]

    def is_reached(self, store: Store) -> bool:
        """Return whether a store has everything."""
        return not any(goal.missing(store) for goal in self.goals.values())

    def is_counted_whole(self, kind: ResultKind) -> bool:
        """Whether whole experiments are counted: how many runs a precision needs is not known."""
        return kind is SHARD and self.precision is not None

    def done(self, store: Store, *kinds: ResultKind) -> tuple[int, int]:
        """Return how much of some kinds a store has, and how much there is in all."""
        done = total = 0
        for kind in kinds:
            for goal in self.of_kind(kind):
                missing, wanted = len(goal.missing(store)), len(goal.shards)
                if self.is_counted_whole(kind):
                    missing, wanted = int(missing > 0), 1
                done, total = done + wanted - missing, total + wanted
        return done, total

    def gathered(self, store: Store) -> list[CountedRuns]:
        """Return the runs of each experiment that has some, in the order given."""
        if self.precision is None and self.part is None:
            return [Goal(e, [range(shards_of(runs))]).gathered(store) for e, runs in self.wanted]
        goals = [self.goals.get(experiment) for experiment, _ in self.wanted]
        return [goal.gathered(store) if goal else CountedRuns(Tally()) for goal in goals]


def _pairs(experiments: Experiments, runs: int | None) -> list[tuple[Experiment, int]]:
    """Return every experiment with the number of its runs."""
    if runs is not None:
        runs = whole_number("runs", runs, 1, MOST_RUNS)
    if isinstance(experiments, Sweep):
        return [(experiment, runs or count) for experiment, count in experiments.wanted]
    pairs = []
    for entry in experiments:
        experiment, count = entry if isinstance(entry, tuple) and len(entry) == 2 else (entry, runs)
        if not has_results(SHARD, experiment):
            raise InputError(
                f"{experiment!r:.60} is not an Experiment, nor a pair of one and runs."
            )
        if count is None:
            raise wrong("runs", "None")(f"say how many runs of {experiment} to do.")
        pairs.append((experiment, whole_number("runs", count, 1, MOST_RUNS)))
    return pairs


def _precision(
    wanted: Sequence[tuple[Experiment, int]], wide: float | str | None, max_runs: int | None
) -> Precision | None:
    if wide is None:
        if max_runs is not None:
            raise wrong("max_runs", max_runs)("max_runs needs precision.")
        return None
    precision = Precision.of(wide, max_runs)
    for experiment, runs in wanted:
        if max_runs is not None and runs > max_runs:
            raise wrong("max_runs", max_runs)(
                f"{experiment} has {runs:,} runs in any case; give at least as many."
            )
    return precision
