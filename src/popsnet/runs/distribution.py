"""The distribution of steps and slots over very many runs, as histograms that can be added."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Unpack

import numpy as np
import numpy.typing as npt

from popsnet.base.errors import InputError, as_path, wrong
from popsnet.base.progress import Progress, duration, patient_progress
from popsnet.base.report import Column, Fact, Plotted, Report, Reported, Table, facts_of, plural
from popsnet.base.report.table import NOTHING
from popsnet.base.stats.inference import Summary, binomial_interval, summarize_counts
from popsnet.engines import Engine, Session, Tally, choose_engine
from popsnet.experiment.experiment import Experiment
from popsnet.hardware import Timing
from popsnet.hardware.shown import time_column, timing_facts, timing_notes
from popsnet.model.network import I64, Network
from popsnet.runs import summary
from popsnet.runs.expected_tails import ExpectedTails, Measure, expected_tails
from popsnet.runs.route import ExperimentParameters, experiment_of, numbers_of, require_known
from popsnet.runs.run import joined_engines, require_same_experiment
from popsnet.runs.tally_file import TallyWriter, read_tallies, write_tallies
from popsnet.runs.times import times_of
from popsnet.theory.tails import smallest_g, square_fails
from popsnet.trace import Event, Observer

_MEASURES: tuple[Measure, Measure] = ("slots", "steps")

_ADDED = ("tally", "capped_tally", "undelivered", "seconds", "fault_counts")
"""The fields of two distributions that are added."""

_FOLDED = (14, 14)
"""The first and the last rows of a long table that people see."""


@dataclass(frozen=True, slots=True)
class TailProbability:
    """The probability that a run takes at least this many slots or steps.

    Parameters
    ----------
    at_least : int
        The number of slots or steps, k.
    runs : int
        The runs that ended after exactly k.
    reached : int
        The runs that took at least k. A capped run took at least what it had when it was stopped.
    possible : int
        The same with the runs that were capped before k, which may have taken k.
    probability : float
        The share of runs that took at least k.
    low, high : float
        The interval of the probability: the lower bound from ``reached``, the upper from
        ``possible``.
    exact : float or None
        The exact probability, if the chain is solved.
    fluid : float or None
        The probability in the fluid limit, if there is one.
    bound : float or None
        The bound of the paper, if it is below 1.

    Examples
    --------
    >>> import popsnet
    >>> found = popsnet.distribution(2, 2, runs=1000)
    >>> tail = found.tail("steps")[1]
    >>> tail.at_least, tail.low < tail.exact < tail.high
    (2, True)
    """

    at_least: int
    runs: int
    reached: int
    possible: int
    probability: float
    low: float
    high: float
    exact: float | None
    fluid: float | None
    bound: float | None


@dataclass(frozen=True, repr=False)
class RunsDistribution(Reported, Plotted):
    """The histograms of steps and slots of many runs, with intervals of their tails.

    :func:`distribution` returns it. Two of the same experiment can be added if they have no run in
    common.

    Parameters
    ----------
    experiment : Experiment
        The experiment.
    engine : str
        What executed the runs.
    numbers : tuple of range
        The numbers of the runs, in ascending order.
    tally : Tally
        The histograms of all runs.
    capped_tally : Tally
        The histograms of the runs that were capped.
    undelivered : int
        The packets that were not delivered, in all runs together.
    confidence : float
        The confidence of each interval.
    expected : ExpectedTails
        What is known without runs.
    seconds : float
        The time that the runs took.
    fault_counts : Counter
        Unreachable and held packets and other counts of faults, in all runs together.

    Examples
    --------
    >>> import popsnet
    >>> found = popsnet.distribution(2, 2, runs=500)
    >>> more = popsnet.distribution(2, 2, runs=500, first=500)
    >>> (found + more).tally == popsnet.distribution(2, 2, runs=1000).tally
    True
    """

    __hash__ = None  # type: ignore[assignment]

    _draw = "draw_tails"

    experiment: Experiment
    engine: str
    numbers: tuple[range, ...]
    tally: Tally
    capped_tally: Tally
    undelivered: int
    confidence: float
    expected: ExpectedTails
    seconds: float = field(default=0.0, compare=False)
    fault_counts: Counter[str] = field(default_factory=Counter)

    @property
    def runs(self) -> int:
        """The number of runs."""
        return self.tally.runs

    @property
    def capped(self) -> int:
        """The number of runs that were capped."""
        return self.tally.capped

    @property
    def failed(self) -> bool:
        """Whether a run was capped, or did not deliver every packet that it could deliver."""
        return bool(self.capped or self.undelivered > self.fault_counts["unreachable"])

    @property
    def lost(self) -> int:
        """The number of packets that were lost, in all runs together."""
        return sum(lost * runs for lost, runs in self.tally.lost.items())

    def summary(self, measure: Measure = "slots") -> Summary:
        """Return mean, standard deviation and range of the slots or the steps.

        Parameters
        ----------
        measure : {"slots", "steps"}
            What is counted.

        Returns
        -------
        Summary
            The summary. If runs were capped, mean and maximum are lower bounds.

        Examples
        --------
        >>> import popsnet
        >>> popsnet.distribution(4, 4, router="direct", runs=3).summary()
        Summary(mean=4.0, sd=0.0, min=4, max=4)
        """
        return summarize_counts(self.tally.histograms[_known(measure)])

    def tail(
        self, measure: Measure = "slots", at_least: npt.ArrayLike | None = None
    ) -> list[TailProbability]:
        """Return P(at least k) with its interval, for every k that a run took, and one more.

        Parameters
        ----------
        measure : {"slots", "steps"}
            What is counted.
        at_least : int or sequence of int, optional
            Other numbers k, at least 0.

        Returns
        -------
        list of TailProbability
            The probabilities, in the order of k. No run took the last k if none is given.

        Notes
        -----
        Intervals are those of Clopper and Pearson: each contains its probability with at least the
        confidence that was asked for, for any number of runs. It is the confidence of one interval,
        not of all at once.

        Examples
        --------
        >>> import popsnet
        >>> (none,) = popsnet.distribution(4, 4, router="direct", runs=1000).tail(at_least=5)
        >>> none.probability, round(none.high, 5)
        (0.0, 0.00368)
        """
        histogram = self.tally.histograms[_known(measure)]
        capped = self.capped_tally.histograms[measure]
        if at_least is None:
            at_least = [*histogram, max(histogram) + 1]
        wanted = np.unique(np.asarray(at_least, dtype=np.int64))
        reached = self.runs - _below(histogram, wanted)
        possible = reached + _below(capped, wanted)
        low, _ = binomial_interval(reached, self.runs, self.confidence)
        _, high = binomial_interval(possible, self.runs, self.confidence)
        columns = (column.tolist() for column in (wanted, reached, possible, low, high))
        return [
            TailProbability(
                at_least=least, runs=histogram[least] - capped[least], reached=some, possible=most,
                probability=some / self.runs, low=lowest, high=highest,
                exact=self.expected.exact_tail(measure, least),
                fluid=self.expected.fluid_tail(measure, least),
                bound=self.expected.bounded_tail(measure, least),
            )
            for least, some, most, lowest, highest in zip(*columns, strict=True)
        ]  # fmt: skip

    def __add__(self, other: RunsDistribution) -> RunsDistribution:
        if not isinstance(other, RunsDistribution):
            return NotImplemented
        require_same_experiment(self.experiment, other.experiment)
        if other.confidence != self.confidence:
            raise InputError(
                f"confidence = {self.confidence:g} and {other.confidence:g} differ; give both "
                "results the same confidence."
            )
        return replace(
            self,
            engine=joined_engines(self.engine, other.engine),
            numbers=_united(self.numbers, other.numbers),
            expected=self.expected if self.expected.exact else other.expected,
            **{name: getattr(self, name) + getattr(other, name) for name in _ADDED},
        )

    def write(self, path: str | Path) -> None:
        """Write the histograms to a file, which :func:`read_distribution` reads.

        Parameters
        ----------
        path : str or Path
            The file, which is JSON and is replaced if it exists.

        Raises
        ------
        InputError
            If the router or the permutation has no name, or the file cannot be written.

        Examples
        --------
        >>> import popsnet
        >>> found = popsnet.distribution(2, 2, runs=500)
        >>> found.write("found.json")
        >>> popsnet.read_distribution("found.json") == found
        True
        """
        write_tallies(Path(path), self)

    def in_short(self) -> str:
        """Return the experiment, the number of runs and the mean, in a line."""
        mean = f", {self.summary().mean:,.2f} slots on average" if self.runs else ""
        return f"{plural(self.runs, 'run')} of {self.experiment}{mean}"

    def report(self, timing: Timing | None = None) -> Report:
        """Return the report that the command line prints.

        Parameters
        ----------
        timing : Timing, optional
            The length of a slot, to print times as well.
        """
        experiment = self.experiment
        summaries = {measure: self.summary(measure) for measure in _MEASURES}
        fates = summary.facts_of_fates(experiment, self.fault_counts)
        title = summary.title_of(experiment, self.runs, self.engine)
        facts = (
            *summary.facts_of_experiment(experiment, self.engine),
            *facts_of(experiment, "max_steps"),
            Fact("numbers", [[some.start, some.stop] for some in self.numbers]),
            *facts_of(self, "runs", "capped", "undelivered", "confidence"),
            *summary.facts_of_faults(experiment),
            *([Fact("lost", self.lost)] if fates else []),
            *fates,
            *summary.facts_of_demand(experiment),
            *(Fact(f"{name}_summary", asdict(each)) for name, each in summaries.items()),
            Fact("exact_model", self.expected.exact.model if self.expected.exact else None),
            Fact("theorem", asdict(self.expected.bound) if self.expected.bound else None),
        )
        least = "≥ " * bool(self.capped)
        lines = [
            f"{name}: mean {least}{each.mean:,.4f}, sd {_shown(each.sd)}, best {each.min:,}, "
            f"worst {least}{each.max:,}"
            for name, each in summaries.items()
        ]
        lost = f"{self.lost:,} lost" * bool(experiment.faults)
        counted = ", which count as at least what they had when they were stopped"
        verdict = summary.verdict_of(self, lost, f"{self.capped:,}{counted * bool(self.capped)}")
        limit, steps = experiment.max_steps, self.capped_tally.steps
        stopped = sum(runs for least, runs in steps.items() if least >= limit)
        cure = summary.raise_max_steps(stopped, f"max_steps = {limit}")
        ok, same = not self.failed, summary.about_experiment(experiment)
        report = Report(title, facts, (), verdict, ok, cure, ("max_steps",), same)
        report = report.plus(*lines, *map(self._table, _MEASURES), *self._notes())
        return report if timing is None else self._timed(report, timing)

    def _timed(self, report: Report, timing: Timing) -> Report:
        """Return the report with the time of every number of slots."""
        rows, rule = self.tail("slots"), self.experiment.resolved_variant.propagation
        times = times_of(self.experiment, timing, [row.at_least for row in rows])
        records = [
            {"at_least": row.at_least, "at_least_ns": time, "probability": row.probability}
            for row, time in zip(rows, times, strict=True)
        ]
        columns = (
            time_column("at_least_ns", "at least"),
            Column("probability", show=lambda row: _short(row["probability"])),
        )
        title = "Probability that a run takes at least this long"
        table = Table("times", title, columns, records, folded=_FOLDED)
        return report.plus(*timing_facts(timing, rule), table, *timing_notes(timing, str(rule)))

    def _table(self, measure: Measure) -> Table:
        rows = self.tail(measure)
        columns = [
            Column("at_least", "at least", "integer"),
            Column("reached", "runs", "integer"),
            Column("probability", show=_share),
            _column("low", f"{100 * self.confidence:g} % from"),
            _column("high", "to"),
        ]
        for key, heading in (("exact", ""), ("fluid", "fluid limit"), ("bound", "")):
            if any(getattr(row, key) is not None for row in rows):
                columns.append(_column(key, heading))
        title = f"Probability that a run takes at least this many {measure}"
        return Table(measure, title, tuple(columns), rows, folded=_FOLDED)

    def _notes(self) -> list[str]:
        """Return what the columns are that need no runs."""
        exact, bound = self.expected.exact, self.expected.bound
        notes = [f"exact: {exact.router}, {exact.model}."] if exact else []
        if bound is not None:
            says, from_g = "", smallest_g(square_fails)
            if bound.fails_at_most >= 1:
                says = f"; a bound of 1 or more says nothing (below 1 from g = {from_g:,} on)"
            notes.append(
                f"bound: the paper's theorem, more than {bound.steps:,} steps with probability at "
                f"most {bound.fails_at_most:.3g}{says}."
            )
        return notes


class DistributionParameters(ExperimentParameters, total=False):
    """All parameters of an experiment, and how it is run."""

    first: int
    engine: str
    threads: int | None


def distribution(
    d: Network | Experiment | int,
    g: int | None = None,
    *,
    runs: int = 10**6,
    confidence: float = 0.95,
    exact: bool = True,
    keep: str | Path | None = None,
    progress: Progress = None,
    **parameters: Unpack[DistributionParameters],
) -> RunsDistribution:
    """Return the histograms of steps and slots of very many runs, with intervals of the tails.

    The runs are those of :func:`route`, and only their histograms are kept, so that memory does
    not grow with their number.

    Parameters
    ----------
    d : int, Network or Experiment
        Processors per group; or a network; or an experiment, which already has the parameters
        from ``g`` to ``max_steps`` other than ``runs``, and those of packets and faults.
    g : int
        Groups, if the first argument is a number.
    router : str, Path, Router or generator function
        The router, by default ``mei-rizzi``.
    variant : str, optional
        A variant of the router, or a schedule. By default the router chooses.
    permutation : str, Path or array
        The name of a permutation (by default ``random``), a file, or n destinations.
    runs : int
        The number of runs, at least 1.
    seed, permutation_seed : int
        The seeds of the coins and of the permutations, by default 0.
    max_steps : int
        A run is capped after this many steps, by default 1000.
    first : int
        The number of the first run. Results of other runs of the same experiment can be added.
    engine : {"auto", "objects", "slots", "fused"} or str
        What executes the runs. The results do not depend on it.
    threads : int, optional
        Threads of the ``fused`` engine, by default all processors of the computer.
    confidence : float
        The confidence of each interval, between 0 and 1.
    exact : bool
        Whether to solve the exact chain first, if the network is small enough. The largest chains
        take two minutes.
    keep : str or Path, optional
        A file with the runs that are finished, written every 30 seconds and at the end, also if
        interrupted. Runs that it has already are not repeated, and the result has all its runs.
        A file to which another program adds runs is refused.
    progress : function, bool or None
        A function that is called with the runs done and the total. None shows a bar on a
        terminal after two seconds, False shows nothing.
    packets, matrix, unit, faults, fault_seed, wavelengths
        The packets of every run instead of a permutation, what does not work, and the wavelengths
        of the network, as for :func:`route`. Exact chain, fluid limit and theorem are shown for
        permutations on one wavelength without faults only.

    Returns
    -------
    RunsDistribution
        The histograms, which print as a report.

    Raises
    ------
    InputError
        If a parameter is wrong.
    RuleViolation
        If the router breaks a rule of the machine.
    KeyboardInterrupt
        If interrupted. Its attribute ``distribution`` has the runs that were finished, if any.

    Examples
    --------
    >>> import popsnet
    >>> found = popsnet.distribution(8, 8, router="relay", variant="S", runs=10_000)
    >>> found.runs, found.capped
    (10000, 0)
    """
    require_known("distribution", DistributionParameters, parameters)
    first, threads = parameters.pop("first", 0), parameters.pop("threads", None)
    engine = parameters.pop("engine", "auto")
    experiment = experiment_of(d, g, **parameters)
    numbers = numbers_of(runs, first, threads)
    experiment.require_run(numbers[-1])
    _require_confidence(confidence)
    with nullcontext() if keep is None else TallyWriter.opened(keep, experiment) as writer:
        chosen = choose_engine(engine, experiment, runs=len(numbers), threads=threads)
        shown = not callable(progress) and progress is not False
        expected = expected_tails(experiment, exact=exact, shown=shown)
        nothing = {"numbers": (), "tally": Tally(), "capped_tally": Tally(), "undelivered": 0}
        before = {"engine": chosen.name, **nothing, **({} if writer is None else writer.before)}
        result = RunsDistribution(experiment, confidence=confidence, expected=expected, **before)
        missing = _missing(numbers, result.numbers)
        if not missing:
            return result
        result = replace(result, engine=joined_engines(result.engine, chosen.name))
        return _executed(result, chosen, missing, threads, progress, writer)


def read_distribution(
    path: str | Path, *, confidence: float = 0.95, exact: bool = True
) -> RunsDistribution:
    """Return the histograms of a file that :func:`distribution` or its result has written.

    Parameters
    ----------
    path : str or Path
        The file. The file of a router or a permutation must still be in the same place.
    confidence, exact
        As for :func:`distribution`.

    Returns
    -------
    RunsDistribution
        The histograms.

    Raises
    ------
    InputError
        If the file cannot be read or is damaged, or the experiment is not found again.

    Examples
    --------
    >>> import popsnet
    >>> parts = ("first.json", "second.json")
    >>> for number, part in enumerate(parts):
    ...     popsnet.distribution(2, 2, runs=500, first=500 * number).write(part)
    >>> first, second = map(popsnet.read_distribution, parts)
    >>> (first + second).runs
    1000
    """
    _require_confidence(confidence)
    named = as_path("path", path)
    file = read_tallies(named)
    experiment = file.reopened(named)
    expected = expected_tails(experiment, exact=exact)
    return RunsDistribution(experiment, confidence=confidence, expected=expected, **file.runs)


def _require_confidence(confidence: float) -> None:
    if not (isinstance(confidence, float | int) and 0 < confidence < 1):
        raise wrong("confidence", confidence)("it must be between 0 and 1, such as 0.95.")


def _executed(
    result: RunsDistribution,
    engine: Engine,
    missing: Sequence[range],
    threads: int | None,
    progress: Progress,
    writer: TallyWriter | None,
) -> RunsDistribution:
    """Execute runs, and add them to a distribution block by block."""
    experiment, before, wanted = result.experiment, result.runs, sum(map(len, missing))
    what = f"{experiment.router} on {experiment.network}"
    begin = time.monotonic()
    with patient_progress(what, wanted, progress) as report:

        def words() -> str:
            done, seconds = result.runs - before, time.monotonic() - begin
            text = f"{done:,} of {wanted:,} runs"
            if not done or seconds <= 0:
                return text
            rate = done / seconds
            left = duration((wanted - done) / rate)
            return f"{text}, {rate:,.{0 if rate >= 10 else 2}f} per second, {left} left"

        def observe(event: Event) -> None:
            report(detail=f"{words()}, step {event.step + 1}, slot {event.slot:,}")

        watching = [] if callable(progress) or progress is False else [observe]
        try:
            with engine.open(experiment, threads) as session:
                for part in _parts(result, session, missing, watching):
                    result += part  # at once, or not at all
                    if writer is not None and writer.is_due():
                        writer.write(result)
                    report(result.runs - before, words())
        except KeyboardInterrupt as stop:
            if result.runs:
                stop.distribution = result  # type: ignore[attr-defined]
            stop.add_note(
                f"{result.runs - before:,} of {wanted:,} runs were finished; the attribute "
                "distribution has them, if there are any."
            )
            raise
        finally:
            if writer is not None and result.runs > before:
                writer.write(result)
    return result


def _parts(
    like: RunsDistribution, session: Session, missing: Sequence[range], watching: Sequence[Observer]
) -> Iterator[RunsDistribution]:
    """Yield the distribution of each block of runs."""
    begin = time.perf_counter()
    for numbers in missing:
        left = numbers
        for block in session.tallies(numbers, watching):
            some, left = left[: block.tally.runs], left[block.tally.runs :]
            now = time.perf_counter()
            yield replace(
                like,
                numbers=(some,),
                tally=block.tally,
                capped_tally=block.capped,
                undelivered=len(some) * like.experiment.packets - block.delivered,
                seconds=now - begin,
                fault_counts=block.fault_counts,
            )
            begin = now


def _missing(wanted: range, parts: Sequence[range]) -> list[range]:
    """Return the wanted numbers that are not there; those that are there are in ascending order."""
    starts = [wanted.start, *(max(part.stop, wanted.start) for part in parts)]
    stops = [*(min(part.start, wanted.stop) for part in parts), wanted.stop]
    return [between for between in map(range, starts, stops) if between]


def _united(some: tuple[range, ...], others: tuple[range, ...]) -> tuple[range, ...]:
    """Return the numbers of both, with ranges that follow each other joined."""
    united: list[range] = []
    for part in sorted((*some, *others), key=lambda numbers: numbers.start):
        before = united[-1] if united else range(0)
        if part.start < before.stop:
            again = min(before.stop, part.stop) - part.start
            raise InputError(
                f"{plural(again, 'run')} from number {part.start:,} on would be counted twice; "
                "give each part its own runs by first."
            )
        if united and part.start == before.stop:
            united[-1] = range(before.start, part.stop)
        else:
            united.append(part)
    return tuple(united)


def _known(measure: Measure) -> Measure:
    if measure not in _MEASURES:
        raise wrong("measure", repr(measure))("it must be slots or steps.")
    return measure


def _below(histogram: Counter[int], limits: I64) -> I64:
    """Return how many are below each limit."""
    values = sorted(histogram)
    sums = np.cumsum([0, *(histogram[value] for value in values)])
    below: I64 = sums[np.searchsorted(values, limits)]
    return below


def _shown(value: float | None) -> str:
    return NOTHING if value is None else f"{value:,.4f}"


def _share(row: TailProbability) -> str:
    """Return the share of runs, with ≥ if runs were capped before."""
    return f"{'≥ ' * (row.possible > row.reached)}{_short(row.probability)}"


def _short(probability: float | None) -> str:
    if probability is None:
        return NOTHING
    if probability in (0, 1):
        return f"{probability:.0f}"
    return f"{probability:.6f}" if probability >= 0.001 else f"{probability:.2e}"


def _column(key: str, heading: str) -> Column:
    return Column(key, heading, show=lambda row: _short(getattr(row, key)))
