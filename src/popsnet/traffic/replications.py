"""One point several times, each time with other arrivals and coins: a verdict for each run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from popsnet.experiment import whole_number
from popsnet.hardware import Timing
from popsnet.progress import Progress
from popsnet.report import Column, Fact, Report, Reported, Row, Table, counted, facts_of
from popsnet.stats.inference import Estimate, confidence_interval
from popsnet.traffic.curves import fault_facts, run_together
from popsnet.traffic.experiment import TrafficExperiment
from popsnet.traffic.result import COLUMNS, TrafficResult
from popsnet.traffic.times import CURVE_COLUMNS, rules_of, time_facts, time_notes, time_table

MOST_RUNS = 10_000


@dataclass(frozen=True, repr=False)
class Replications(Reported):
    """The runs of a point, each with arrivals and coins of its own.

    Parameters
    ----------
    experiment : TrafficExperiment
        The point, which is run 0.
    runs : int
        The number of runs that were asked for.
    results : mapping
        The result of each run that was finished, by its number.

    Examples
    --------
    >>> from popsnet.traffic import TrafficExperiment, replicate
    >>> point = TrafficExperiment(4, 4, scheduler="tdm", load=0.5, slots=2000)
    >>> runs = replicate(point, 5)
    >>> runs.verdicts["stable"], runs.delay.runs
    (5, 5)
    """

    experiment: TrafficExperiment
    runs: int
    results: Mapping[int, TrafficResult]

    @property
    def verdicts(self) -> Counter[str]:
        """The number of runs with each verdict."""
        return Counter(result.verdict for result in self.results.values())

    @property
    def delay(self) -> Estimate | None:
        """The mean of the mean delays of runs, and their spread; None for fewer than two runs.

        Runs without a delivered packet have no delay.
        """
        every = [result.delay.mean for result in self.results.values()]
        means = [mean for mean in every if mean is not None]
        if len(means) < 2:
            return None
        return Estimate(float(np.mean(means)), float(np.std(means, ddof=1)), len(means))

    def rows(self, timing: Timing | None = None) -> list[Row]:
        """Return a row per run, with its seeds, in order.

        Parameters
        ----------
        timing : Timing, optional
            The length of a slot, for times and bit rates as well.
        """
        seeds = "seed", "arrival_seed"
        return [
            {"run": run, **{name: getattr(result, name) for name in seeds}, **result.row(timing)}
            for run, result in sorted(self.results.items())
        ]

    def report(self, timing: Timing | None = None) -> Report:
        """Return the report that the command line prints: a row per run.

        Parameters
        ----------
        timing : Timing, optional
            The length of a slot, to print times and bit rates as well.
        """
        if not self.results:
            return Report()
        point, network = self.experiment, self.experiment.network
        faults = f"\nfaults {point.faults}, fault seed {point.fault_seed}" if point.faults else ""
        title = (
            f"{network}: {network.n:,} processors in {counted(network.g, 'group')} of "
            f"{network.d:,}\n{point.scheduler} ({point.variant}), "
            f"{counted(self.runs, 'run')} from seed {point.seed}\narrivals {point.arrivals}, load "
            f"{point.load:g}, arrival seed {point.arrival_seed}{faults}"
        )
        rows = self.rows(timing)
        table = Table("runs", "Delay in slots", (_RUN, *COLUMNS[2:]), rows)
        report = Report(title, self._facts(), (table, *self._notes()), self._verdict())
        if timing is None:
            return report
        times = time_table((_RUN, *CURVE_COLUMNS[2:]), rows)
        of = timing, rules_of(self.results.values(), timing)
        return report.plus(*time_facts(*of), times, *time_notes(*of))

    def _facts(self) -> tuple[Fact, ...]:
        point, delay = self.experiment, self.delay
        first = next(iter(self.results.values()))
        facts: list[Fact] = [
            *facts_of(point, "network", "scheduler", "variant", "arrivals", "load", "buffer"),
            *facts_of(point, "seed", "arrival_seed"),
            *fault_facts(first),
            Fact("finished", len(self.results)),
            Fact("verdicts", dict(self.verdicts)),
        ]
        if delay is not None:
            low, high = confidence_interval(delay)
            spread = {"mean": delay.mean, "sd": delay.sd, "interval": [low, high]}
            text = f"{delay.mean:,.2f} ± {(high - low) / 2:,.2f} (95 %), standard deviation "
            facts.append(Fact("delay", spread, "mean delay of runs", text=f"{text}{delay.sd:,.2f}"))
        return tuple(facts)

    def _notes(self) -> list[str]:
        left = self.runs - len(self.results)
        notes = [f"{counted(left, 'run')} not finished."] if left else []
        for run, result in sorted(self.results.items()):
            if result.verdict != "stable":
                notes.append(f"Run {run} is {result.verdict}: {result.reason}")
        return notes

    def _verdict(self) -> str:
        said = [f"{verdict} in {count}" for verdict, count in self.verdicts.most_common()]
        return f"{', '.join(said)} of {counted(len(self.results), 'run')}.".capitalize()


_RUN = Column("run", kind="integer")


def replicate(
    experiment: TrafficExperiment,
    runs: int,
    *,
    engine: str = "auto",
    workers: int | None = None,
    progress: Progress = None,
) -> Replications:
    """Run a point several times, each time with other arrivals and coins.

    Parameters
    ----------
    experiment : TrafficExperiment
        The point. It is run 0, and :meth:`TrafficExperiment.for_run` gives the others.
    runs : int
        The number of runs.
    engine : {"auto", "slots", "fused"}
        What executes the slots.
    workers : int, optional
        How many runs are executed at once; by default, as many as there are processors.
    progress : function, bool or None
        A function that is called with the runs done and the total. None shows a bar on a
        terminal after two seconds, False shows nothing.

    Returns
    -------
    Replications
        The results, with a verdict for each run.

    Raises
    ------
    KeyboardInterrupt
        If interrupted. Its attribute ``replications`` has the runs that were finished.

    Examples
    --------
    >>> from popsnet.traffic import TrafficExperiment, replicate
    >>> point = TrafficExperiment(4, 4, scheduler="aloha", load=0.1, slots=2000)
    >>> list(replicate(point, 3).results)
    [0, 1, 2]
    """
    whole_number("runs", runs, 1, MOST_RUNS)
    results: dict[int, TrafficResult] = {}

    def work(run: int, execute: Any) -> None:
        results[run] = execute(experiment.for_run(run))

    try:
        run_together(work, runs, runs, engine, workers, progress)
    except KeyboardInterrupt as stop:
        stop.replications = Replications(experiment, runs, results)  # type: ignore[attr-defined]
        raise
    return Replications(experiment, runs, dict(sorted(results.items())))
