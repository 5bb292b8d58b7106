"""The results of runs: one run, which can be traced, and many runs as columns."""

from __future__ import annotations

import io
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, overload

import numpy as np
import numpy.typing as npt

from popsnet.base.errors import InputError, require_one_of
from popsnet.base.files import write_whole
from popsnet.base.report import Plotted, Report, data_frame, plural
from popsnet.base.stats.inference import summarize_array
from popsnet.engines import ENGINES, Engine, Instance, Outcome, Outcomes, Tally
from popsnet.engines.outcome import COLUMNS, UNKNOWN, FaultCounts
from popsnet.experiment.experiment import Experiment
from popsnet.hardware import Timing
from popsnet.runs.summary import LABELS, RunsSummary, bars, experiment_columns
from popsnet.trace import Observer, TraceWriter

if TYPE_CHECKING:
    import pandas as pd

    from popsnet.runs.slot import RunSlot
    from popsnet.trace.viewer import Page

I64 = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, repr=False)
class Run:
    """One run: its experiment, its number and its outcome.

    The counts of the outcome are attributes of the run, too: ``run.slots`` is
    ``run.outcome.slots``.

    Parameters
    ----------
    experiment : Experiment
        The experiment.
    number : int
        The number of the run in the experiment's sequence.
    outcome : Outcome
        Slots, steps, delivered packets and other counts.
    seconds : float
        The time that the run took.

    Examples
    --------
    >>> import popsnet
    >>> run = popsnet.route(4, 4, router="direct")[0]
    >>> run.slots, run.delivered, run.lost
    (4, 16, 0)
    """

    experiment: Experiment
    number: int
    """The number of the run in the experiment's sequence."""
    outcome: Outcome
    seconds: float = field(compare=False)
    """The time that it took. Runs that were done together share theirs evenly."""

    def __getattr__(self, name: str) -> Any:
        if name in Outcome.__dataclass_fields__:
            return getattr(self.outcome, name)
        raise AttributeError(f"'Run' object has no attribute {name!r}", name=name, obj=self)

    def __dir__(self) -> list[str]:
        return [*object.__dir__(self), *Outcome.__dataclass_fields__]

    def __repr__(self) -> str:
        delivered = f"{self.outcome.delivered:,} of {plural(self.experiment.packets, 'packet')}"
        slots = plural(self.outcome.slots, "slot")
        return f"<run {self.number} of {self.experiment}, {slots}, {delivered} delivered>"

    @property
    def slots_known(self) -> int | None:
        """The slots, or None if the run was capped or did not deliver every packet."""
        whole = self.outcome.delivered == self.experiment.packets and not self.outcome.capped
        return self.outcome.slots if whole else None

    def trace(self) -> str:
        """Execute the run again, message by message, and return its trace as text.

        Returns
        -------
        str
            The trace in JSON Lines, as :meth:`write_trace` writes it.

        Examples
        --------
        >>> import popsnet
        >>> len(popsnet.route(4, 4, router="direct")[0].trace().splitlines())
        6
        """
        file = io.StringIO()
        write_trace(self.experiment, self.number, file)
        return file.getvalue()

    def write_trace(self, path: str | Path) -> Path:
        """Execute the run again, message by message, and write its trace to a file.

        Parameters
        ----------
        path : str or Path
            The file to write.

        Returns
        -------
        Path
            The file. :func:`~popsnet.check_trace` replays it by the rules alone.

        Examples
        --------
        >>> import popsnet
        >>> path = popsnet.route(4, 4)[0].write_trace("run.jsonl")
        >>> popsnet.check_trace(path).ok
        True
        """
        with write_whole(Path(path)) as file:
            write_trace(self.experiment, self.number, file)
        return Path(path)

    def slot(self, number: int) -> RunSlot:
        """Execute the run again, message by message, and return one of its slots.

        It prints itself: who sends what on which coupler, who listens, and what comes of it.

        Parameters
        ----------
        number : int
            The number of the slot, counting from 1.

        Returns
        -------
        RunSlot
            The slot, with the :meth:`~popsnet.runs.slot.RunSlot.conflict_graph` of its step. Its
            ``to_dataframe`` has a row per coupler.

        Raises
        ------
        InputError
            If the run has no such slot, or its variant gives statistics only.

        Examples
        --------
        >>> import popsnet
        >>> slot = popsnet.route(4, 4)[0].slot(5)
        >>> len(slot.delivered), sum(use.result == "collision" for use in slot.couplers())
        (6, 0)
        """
        from popsnet.runs.slot import read_slot

        return read_slot(self.trace(), number)

    def view(self) -> Page:
        """Return the page that plays the run. A notebook shows it, ``save`` writes it.

        Returns
        -------
        Page
            An HTML page in one file.

        Examples
        --------
        >>> import popsnet
        >>> path = popsnet.route(4, 4)[0].view().save("run.html")
        """
        from popsnet.runs.notebook import view

        return view(self)

    def _repr_html_(self) -> str:
        """Return the page that plays the run, for a notebook."""
        from popsnet.runs.notebook import shown

        return shown(self)


def require_traceable(experiment: Experiment) -> None:
    """Refuse to trace a variant that gives statistics only."""
    if experiment.idealized:
        raise InputError(
            f"Variant {experiment.variant} of {experiment.router} gives statistics only, not a "
            "route that can be traced; choose another variant."
        )


def write_trace(
    experiment: Experiment,
    number: int,
    file: TextIO,
    observers: Sequence[Observer] = (),
    engine: Engine = ENGINES["slots"],
) -> Run:
    """Execute one run and write its trace, as it happens, to an open file."""
    require_traceable(experiment)
    begin, instance = time.perf_counter(), experiment.instance(number)
    outcome = trace_instance(
        instance, experiment.seed, file, lambda trace: engine.execute(instance, [trace, *observers])
    )
    return Run(experiment, number, outcome, time.perf_counter() - begin)


def trace_instance(
    instance: Instance, seed: int, file: TextIO, execute: Callable[[Observer], Outcome]
) -> Outcome:
    """Write the trace of an instance while ``execute`` runs it."""
    network, router, variant = instance.network, instance.router, instance.resolved_variant
    buffers, words = router.buffers_on(network, variant), router.words_on(network, variant)
    destination, trace = instance.array(), TraceWriter(file)
    faults = None if instance.faults is None else instance.faults.faults.to_dict()
    trace.begin(
        network, router.name, variant.name, seed, destination, buffers, instance.start, words,
        faults,
    )  # fmt: skip
    outcome = execute(trace)
    unreachable = 0 if outcome.faulty is None else outcome.faulty.unreachable
    trace.end(outcome.slots, outcome.delivered, outcome.lost_packets, unreachable=unreachable)
    return outcome


def require_same_experiment(first: Experiment, other: Experiment) -> None:
    """Refuse to join results of two experiments."""
    if first != other:
        values, others = first.identity, other.identity
        keys = [key for key in {**values, **others} if values.get(key) != others.get(key)]
        differ = ", ".join(f"{key} {values.get(key)!r} and {others.get(key)!r}" for key in keys)
        raise InputError(
            f"{first} and {other} are two experiments ({differ}); "
            "add results of one experiment only."
        )


def joined_engines(some: str, others: str) -> str:
    """Return the engines of two results that were joined."""
    return ", ".join(dict.fromkeys((*some.split(", "), *others.split(", "))))


class _CountOfRuns:
    """A count of every run, under the name of its column."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, runs: Runs | None, owner: type) -> I64:
        if runs is None:
            raise AttributeError(self._name)
        return runs.outcomes.column(self._name)


@dataclass(frozen=True, eq=False, repr=False)
class Runs(Plotted, Sequence[Run]):
    """The runs of an experiment, in order, as NumPy arrays.

    ``runs.slots`` and the other counts are arrays with an entry per run. ``runs[i]`` is one
    :class:`Run`, which can be traced and viewed, and ``runs[a:b]`` is a part of them as
    :class:`Runs`. ``runs + more`` joins runs of one experiment that have different numbers.
    :func:`~popsnet.route` returns this class.

    Parameters
    ----------
    experiment : Experiment
        The experiment.
    engine : str
        The name of the engine that executed the runs.
    numbers : sequence of int
        The number of each run in the experiment's sequence.
    outcomes : Outcomes
        The counts of all runs.
    seconds : array of float
        The time that each run took.

    Examples
    --------
    >>> import popsnet
    >>> runs = popsnet.route(8, 8, runs=20, seed=1)
    >>> len(runs), runs.slots.dtype, runs.lost.sum()
    (20, dtype('int64'), np.int64(0))
    >>> values, counts = runs.histogram("steps")
    >>> int(counts.sum())
    20
    >>> runs[0].slots == runs.slots[0]
    np.True_
    """

    _draw = "draw_runs"

    experiment: Experiment
    engine: str
    """The name of the engine that executed the runs."""
    numbers: Sequence[int]
    """The number of each run in the experiment's sequence."""
    outcomes: Outcomes
    seconds: npt.NDArray[np.float64]
    """The time that each run took. Runs that were done together share theirs evenly."""

    def __post_init__(self) -> None:
        self.seconds.flags.writeable = False

    def __len__(self) -> int:
        return len(self.outcomes)

    @overload
    def __getitem__(self, place: int) -> Run: ...
    @overload
    def __getitem__(self, place: slice | npt.NDArray[Any] | list[int]) -> Runs: ...
    def __getitem__(self, place: int | slice | npt.NDArray[Any] | list[int]) -> Run | Runs:
        try:
            places = np.arange(len(self))[place]
        except IndexError:
            places = None
        if places is None or places.ndim > 1 or place is None or isinstance(place, bool):
            raise IndexError(
                f"{place!r:.40}: there are {len(self):,} runs; give a number, a slice, or an array "
                "of integers or booleans."
            )
        if places.ndim == 0:
            place = int(places)
            number, seconds = self.numbers[place], float(self.seconds[place])
            return Run(self.experiment, number, self.outcomes.at(place), seconds)
        numbers = tuple(self.numbers[i] for i in places.tolist())
        outcomes, times = self.outcomes.take(places), self.seconds[places]
        return replace(self, numbers=numbers, outcomes=outcomes, seconds=times)

    def __iter__(self) -> Iterator[Run]:
        rest = zip(self.numbers, self.outcomes, self.seconds.tolist(), strict=True)
        return (Run(self.experiment, *row) for row in rest)

    def __add__(self, more: Runs) -> Runs:
        """Return these runs and more of the same experiment, with other numbers."""
        if not isinstance(more, Runs):
            return NotImplemented
        require_same_experiment(self.experiment, more.experiment)
        if both := set(self.numbers) & set(more.numbers):
            raise InputError(
                f"Run {min(both):,} is in both; add runs of other numbers, such as those of "
                f"route(experiment, runs=…, first={max(*self.numbers, *more.numbers) + 1})."
            )
        engine, numbers = joined_engines(self.engine, more.engine), (*self.numbers, *more.numbers)
        outcomes = Outcomes.joined([self.outcomes, more.outcomes])
        seconds = np.concatenate([self.seconds, more.seconds])
        return Runs(self.experiment, engine, numbers, outcomes, seconds)

    def __radd__(self, start: object) -> Runs:
        """Return these runs for the 0 with which :func:`sum` starts."""
        return self if isinstance(start, int) and start == 0 else NotImplemented

    slots = _CountOfRuns()
    """The slots of each run, until the router ended or was stopped."""
    slots_delivered = _CountOfRuns()
    """The slot of the last delivery in each run, 0 if there was none."""
    steps = _CountOfRuns()
    """The steps of each run that had at least one slot."""
    delivered = _CountOfRuns()
    """The packets of each run that their destinations took."""
    lost = _CountOfRuns()
    """The packets that each run lost: undelivered, and held by no processor."""
    unreachable = _CountOfRuns()
    """The undelivered packets of each run that are held and have no live path, after faults."""
    held = _CountOfRuns()
    """The undelivered packets of each run that are held and have a live path, after faults."""
    duplicated = _CountOfRuns()
    """The deliveries in each run of packets that had been delivered before, after faults."""
    collisions = _CountOfRuns()
    """The collisions of each run: couplers with two or more messages, summed over slots."""
    destroyed = _CountOfRuns()
    """The messages on these couplers. A multicast counts once per coupler that destroys it."""
    messages = _CountOfRuns()
    """The messages that were sent. A multicast is one message."""

    @property
    def peak_buffers(self) -> I64 | None:
        """The most packets that a processor held after a slot, None if they were not counted."""
        return self._known("peak_buffers")

    @property
    def control_bits(self) -> I64 | None:
        """The most bits in a message, besides packets, None if they were not counted."""
        return self._known("control_bits")

    @property
    def capped(self) -> npt.NDArray[np.bool_]:
        """Whether each run was stopped before it ended."""
        return self.outcomes.column("capped")

    def _known(self, name: str) -> I64 | None:
        values = self.outcomes.column(name)
        return None if (values == UNKNOWN).any() else values

    @property
    def tally(self) -> Tally:
        """The exact histograms of all runs, which can be added to those of other runs."""
        return Tally.of(self.outcomes)

    @property
    def fault_counts(self) -> Counter[str]:
        """What became of packets and messages because of faults, in all runs together."""
        return self.outcomes.fault_counts

    @property
    def undelivered(self) -> int:
        """The number of packets that were not delivered, in all runs together."""
        return int((self.experiment.packets - self.delivered).sum())

    @property
    def failed(self) -> bool:
        """Whether a run was capped, or did not deliver every packet that it could deliver."""
        left = self.delivered + self.unreachable < self.experiment.packets
        return bool((self.capped | left).any())

    def histogram(self, name: str = "slots") -> tuple[I64, I64]:
        """Return the values of a count in ascending order, and the number of runs with each.

        Parameters
        ----------
        name : str
            One of the counts, such as ``"slots"`` or ``"steps"``.

        Returns
        -------
        values, counts : array of int
            The values, and how many runs have each of them.

        Raises
        ------
        InputError
            If there is no such count, or the engine does not keep it.

        Examples
        --------
        >>> import popsnet
        >>> popsnet.route(4, 4, router="direct", runs=10).histogram("slots")
        (array([4]), array([10]))
        """
        require_one_of("name", name, COLUMNS)
        if self._known(name) is None:
            text = f"Engine {self.engine} does not count {name}; use engine='slots'."
            raise InputError(text, others=["engine"])
        values, counts = np.unique(self.outcomes.column(name), return_counts=True)
        return values, counts

    def summary(self) -> RunsSummary:
        """Return mean, standard deviation, minimum and maximum of every count.

        Returns
        -------
        RunsSummary
            A mapping from names of counts, which prints itself as a table.

        Raises
        ------
        InputError
            If there are no runs.

        Examples
        --------
        >>> import popsnet
        >>> popsnet.route(4, 4, router="direct", runs=10).summary()["slots"].mean
        4.0
        """
        if not len(self):
            raise InputError("There are no runs to summarize; give at least one.")
        known = (name for name in LABELS if name in self._names and self._known(name) is not None)
        figures = {name: summarize_array(self.outcomes.column(name)) for name in known}
        return RunsSummary(self, figures)

    def report(self, timing: Timing | None = None) -> Report:
        """Return the report that the command line prints.

        Parameters
        ----------
        timing : Timing, optional
            The length of a slot, to print times as well.

        Returns
        -------
        Report
            Tables and facts, as text, JSON, CSV or HTML.

        Examples
        --------
        >>> import popsnet
        >>> runs = popsnet.route(4, 4, router="direct", runs=2)
        >>> runs.report(popsnet.Timing("20ns", fibre="10m")).to_dict()["times"][0]["mean_ns"]
        140.0
        """
        return self.summary().report(timing)

    def to_records(self) -> list[dict[str, Any]]:
        """Return a dictionary per run, with Python numbers.

        Returns
        -------
        list of dict
            The number of the run, its counts and its time.

        Examples
        --------
        >>> import popsnet
        >>> popsnet.route(4, 4, router="direct", runs=2).to_records()[1]["slots"]
        4
        """
        columns = self._columns()
        rows = zip(*(column.tolist() for column in columns.values()), strict=True)
        records = [dict(zip(columns, row, strict=True)) for row in rows]
        for record in records:
            for name in ("peak_buffers", "control_bits"):
                record[name] = None if record[name] == UNKNOWN else record[name]
            left = record["delivered"] < self.experiment.packets
            record["slots_known"] = None if record["capped"] or left else record["slots"]
        for place in np.flatnonzero(self.lost).tolist():
            records[place]["lost_packets"] = list(self.outcomes.at(place).lost_packets)
        return records

    def to_dataframe(self) -> pd.DataFrame:
        """Return a pandas data frame with a row per run.

        The columns before ``run`` say what was run, so that frames can be concatenated. They are
        those of :meth:`popsnet.Store.to_dataframe` with ``per_run=True``.

        Returns
        -------
        pandas.DataFrame
            A row per run.

        Raises
        ------
        InputError
            If pandas is not installed (the extra ``popsnet[pandas]``).

        Examples
        --------
        >>> import popsnet
        >>> popsnet.route(4, 4, router="direct", runs=3).to_dataframe()["slots"].max()
        np.int64(4)
        """
        columns = self._columns()
        for name in ("peak_buffers", "control_bits"):
            if self._known(name) is None:
                del columns[name]
        same = experiment_columns(self.experiment)
        counts = {name: [value] * len(self) for name, value in same.items()}
        return data_frame({**counts, **columns, "engine": [self.engine] * len(self)})

    def _columns(self) -> dict[str, npt.NDArray[Any]]:
        counts = {name: self.outcomes.column(name) for name in self._names}
        return {"run": np.array(self.numbers), **counts, "seconds": self.seconds}

    @property
    def _names(self) -> tuple[str, ...]:
        """The counts that these runs have."""
        return COLUMNS + (FaultCounts._fields if self.experiment.faults else ())

    def __repr__(self) -> str:
        text, capped, missing = "", int(self.capped.sum()), self.undelivered
        if len(self):
            text = f", {'at least ' * bool(capped)}{self.slots.mean():.2f} slots on average"
            text += f", {capped:,} capped" * bool(capped)
            text += f", {missing:,} packets not delivered" * bool(missing)
        return f"<{plural(len(self), 'run')} of {self.experiment}{text}>"

    def _repr_html_(self) -> str:
        """Return the summary and a histogram of the slots, for a notebook."""
        if not len(self):
            return f"<p>{escape(repr(self))}</p>"
        return self.summary()._repr_html_() + bars(*self.histogram("slots"))
