"""Outcomes of runs: of one run, of many as columns, and their exact histograms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

I64 = npt.NDArray[np.int64]

UNKNOWN = -1
"""The value in a column of a count that the engine does not keep."""


class FaultCounts(NamedTuple):
    """The effects of faults on the packets and messages of a run.

    A packet that is neither delivered nor lost is unreachable or held.

    Examples
    --------
    >>> import popsnet
    >>> run = popsnet.route(4, 4, router="direct", faults="processor:0")[0]
    >>> run.delivered, run.lost, run.outcome.faulty.unreachable
    (14, 1, 1)
    """

    unreachable: int
    """Undelivered packets that some processor holds and that have no live path of two hops both
    ways, or whose only copies are at dead processors."""
    held: int
    """Undelivered packets that some live processor holds, and that have such a path."""
    duplicated: int
    """Deliveries of packets that had been delivered before. They are not counted as deliveries."""
    skipped: int
    """Actions that a processor could not take because it had missed the packet."""
    unheard: int
    """Messages that faults kept from a listener, counted once per listener."""


_FAULT_COUNTS = len(FaultCounts._fields)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of routing one permutation.

    Parameters
    ----------
    slots : int
        Slots until the router ended or was stopped.
    slots_delivered : int
        The slot of the last delivery, 0 if there was none.
    steps : int
        Steps that had at least one slot.
    delivered : int
        Packets that their destinations took.
    lost : int
        Packets that are not delivered and that no processor holds any more.
    collisions : int
        Couplers with two or more messages, summed over slots.
    destroyed : int
        Messages on these couplers. A multicast counts once per coupler that destroys it.
    messages : int
        Messages sent. A multicast is one message.
    peak_buffers : int or None
        The most packets that a processor held after a slot or at the start, None if the engine
        does not count them.
    control_bits : int or None
        The most bits in a message, besides packets, None if the engine does not count them.
    capped : bool
        Whether the run was stopped at its largest number of steps, or of slots in a step.
    survivors : tuple of int
        The packets that were not delivered after each step.
    lost_packets : tuple of int
        The packets that are lost.
    faulty : FaultCounts, optional
        Counts of a run with faults.

    Notes
    -----
    The page *What is measured* of the reference defines the counts.

    Examples
    --------
    >>> import popsnet
    >>> outcome = popsnet.route(4, 4, router="direct")[0].outcome
    >>> outcome.slots, outcome.delivered, outcome.survivors
    (4, 16, (0,))
    """

    slots: int
    slots_delivered: int
    steps: int
    delivered: int
    lost: int
    collisions: int
    destroyed: int
    messages: int
    peak_buffers: int | None
    control_bits: int | None
    capped: bool
    survivors: tuple[int, ...]
    lost_packets: tuple[int, ...] = ()
    faulty: FaultCounts | None = None


COLUMNS = tuple(column.name for column in fields(Outcome))[:-3]
"""The counts that an outcome begins with, in the order of the columns of tables."""

_PLACE = {name: place for place, name in enumerate(COLUMNS)}


@dataclass(frozen=True, slots=True, eq=False)
class Outcomes:
    """The outcomes of many runs as columns.

    Parameters
    ----------
    table : array of int64
        A row per run and a column for each count.
    survivors : array of int64
        The packets that were not delivered after each step: of the first run, then of the second,
        and so on. A run has as many entries as steps.
    lost_packets : array of int64
        The lost packets in the same way. A run has as many entries as lost packets.
    faulty : array of int64
        A row per run and a column for each of :class:`FaultCounts`, no rows without faults.

    Examples
    --------
    >>> import popsnet
    >>> outcomes = popsnet.route(4, 4, router="direct", runs=3).outcomes
    >>> len(outcomes), outcomes.column("slots")
    (3, array([4, 4, 4]))
    """

    table: I64
    survivors: I64
    lost_packets: I64
    faulty: I64 = field(default_factory=lambda: np.empty((0, _FAULT_COUNTS), np.int64))

    def __post_init__(self) -> None:
        for values in (self.table, self.survivors, self.lost_packets, self.faulty):
            values.flags.writeable = False  # results are read, never changed

    @classmethod
    def of(cls, outcomes: Iterable[Outcome]) -> Outcomes:
        """Return outcomes as columns."""
        done = list(outcomes)
        rows = [
            [UNKNOWN if (value := getattr(run, name)) is None else int(value) for name in COLUMNS]
            for run in done
        ]
        return cls(
            np.array(rows, dtype=np.int64).reshape(-1, len(COLUMNS)),
            _joined(run.survivors for run in done),
            _joined(run.lost_packets for run in done),
            _joined(([run.faulty] for run in done if run.faulty is not None), _FAULT_COUNTS),
        )

    @classmethod
    def joined(cls, parts: Sequence[Outcomes]) -> Outcomes:
        """Concatenate the runs of several tables."""
        some, names = (cls.of(()), *parts), (column.name for column in fields(cls))
        return cls(*(np.concatenate([getattr(part, name) for part in some]) for name in names))

    def __len__(self) -> int:
        return len(self.table)

    def __iter__(self) -> Iterator[Outcome]:
        survivors = np.split(self.survivors, self.column("steps")[:-1].cumsum())
        lost = np.split(self.lost_packets, self.column("lost")[:-1].cumsum())
        return map(self._outcome, range(len(self)), survivors, lost)

    def column(self, name: str) -> npt.NDArray[Any]:
        """Return one count of every run."""
        if name in FaultCounts._fields:
            counts = self.faulty[:, FaultCounts._fields.index(name)]
            return counts if len(self.faulty) else np.zeros(len(self), np.int64)
        values = self.table[:, _PLACE[name]]
        return values != 0 if name == "capped" else values

    @property
    def fault_counts(self) -> Counter[str]:
        """The sums of the counts that only runs with faults have."""
        return Counter({name: int(self.column(name).sum()) for name in FaultCounts._fields})

    def at(self, place: int) -> Outcome:
        """Return the outcome of one run."""
        return next(iter(self.take(np.array([place]))))

    def _outcome(self, place: int, survivors: I64, lost: I64) -> Outcome:
        counts: dict[str, Any] = {
            name: None if value == UNKNOWN else value
            for name, value in zip(COLUMNS, self.table[place].tolist(), strict=True)
        }
        return Outcome(
            **{**counts, "capped": bool(counts["capped"])},
            survivors=tuple(survivors.tolist()),
            lost_packets=tuple(lost.tolist()),
            faulty=FaultCounts(*self.faulty[place].tolist()) if len(self.faulty) else None,
        )

    def take(self, places: I64) -> Outcomes:
        """Return the outcomes of the runs at these places."""
        survivors = _pieces(self.survivors, self.column("steps"), places)
        faulty = self.faulty[places] if len(self.faulty) else self.faulty
        lost_packets = _pieces(self.lost_packets, self.column("lost"), places)
        return Outcomes(self.table[places], survivors, lost_packets, faulty)

    def __reduce__(self) -> tuple[type[Outcomes], tuple[I64, I64, I64, I64]]:
        """Return what makes it again where it is received, with read-only arrays."""
        return type(self), (self.table, self.survivors, self.lost_packets, self.faulty)


def _pieces(values: I64, lengths: I64, places: I64) -> I64:
    """Return the values of the runs at these places, if any are kept."""
    if not len(values):
        return values
    starts, wanted = (lengths.cumsum() - lengths)[places], lengths[places]
    inside = np.arange(wanted.sum()) - np.repeat(wanted.cumsum() - wanted, wanted)
    pieces: I64 = values[np.repeat(starts, wanted) + inside]
    return pieces


def _joined(parts: Iterable[Any], *width: int) -> I64:
    """Concatenate numbers, or rows of this width."""
    none = np.empty((0, *width), np.int64)
    return np.concatenate([none, *(np.asarray(part, dtype=np.int64) for part in parts)])


HISTOGRAMS = ("steps", "slots", "slots_delivered", "lost")
"""The counts of which a tally has a histogram."""

TOTALS = ("collisions", "destroyed", "messages")
"""The counts of which a tally has the sum over all runs."""


@dataclass(frozen=True)
class Tally:
    """Counts of many runs: exact histograms and sums, which can be added.

    Parameters
    ----------
    runs, capped : int
        The runs, and those of them that were capped. Capped runs are in the histograms, too.
    steps, slots, slots_delivered, lost : Counter
        Histograms: how many runs have each value. ``slots_delivered`` is the slot of the last
        delivery, ``lost`` the number of lost packets.
    collisions, destroyed, messages : int
        Sums over all runs.

    Examples
    --------
    >>> import popsnet
    >>> tally = popsnet.route(4, 4, router="direct", runs=3).tally
    >>> (tally + tally).slots
    Counter({4: 6})
    """

    runs: int = 0
    capped: int = 0
    steps: Counter[int] = field(default_factory=Counter)
    slots: Counter[int] = field(default_factory=Counter)
    slots_delivered: Counter[int] = field(default_factory=Counter)
    lost: Counter[int] = field(default_factory=Counter)
    collisions: int = 0
    destroyed: int = 0
    messages: int = 0

    @classmethod
    def of(cls, outcomes: Outcomes) -> Tally:
        """Return the tally of some runs."""
        counts: dict[str, Any] = {name: _histogram(outcomes, name) for name in HISTOGRAMS}
        counts |= {name: int(outcomes.column(name).sum()) for name in (*TOTALS, "capped")}
        return cls(runs=len(outcomes), **counts)

    @property
    def histograms(self) -> dict[str, Counter[int]]:
        """All histograms by name."""
        return {name: getattr(self, name) for name in HISTOGRAMS}

    def mean(self, name: str = "slots") -> float:
        """Return the mean of a count over the runs.

        Parameters
        ----------
        name : {"slots", "steps", "slots_delivered", "lost"}
            A count that has a histogram.

        Returns
        -------
        float
            The mean.

        Examples
        --------
        >>> import popsnet
        >>> popsnet.route(4, 4, router="direct", runs=3).tally.mean("slots")
        4.0
        """
        histogram = self.histograms[name]
        return sum(value * runs for value, runs in histogram.items()) / histogram.total()

    def __add__(self, other: Tally) -> Tally:
        pairs = ((getattr(self, field.name), getattr(other, field.name)) for field in fields(self))
        return Tally(*(mine + theirs for mine, theirs in pairs))


@dataclass(frozen=True)
class TalliedRuns:
    """The histograms of some runs, and of those of them that were capped.

    Parameters
    ----------
    tally : Tally
        The histograms of all these runs.
    capped : Tally
        The histograms of the runs that were capped. It has no sums.
    delivered : int
        The packets that were delivered, in all these runs together.
    fault_counts : Counter
        The counts of :class:`FaultCounts`, in all these runs together.

    Examples
    --------
    >>> import popsnet
    >>> from popsnet.engines.outcome import TalliedRuns
    >>> some = TalliedRuns.of(popsnet.route(4, 4, router="direct", runs=3).outcomes)
    >>> some.tally.runs, some.capped.runs, some.delivered
    (3, 0, 48)
    """

    tally: Tally
    capped: Tally
    delivered: int
    fault_counts: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, outcomes: Outcomes) -> TalliedRuns:
        """Return the histograms of outcomes."""
        places = np.flatnonzero(outcomes.column("capped"))
        capped = replace(Tally.of(outcomes.take(places)), collisions=0, destroyed=0, messages=0)
        delivered = int(outcomes.column("delivered").sum())
        return cls(Tally.of(outcomes), capped, delivered, outcomes.fault_counts)


def _histogram(outcomes: Outcomes, name: str) -> Counter[int]:
    values, counts = np.unique(outcomes.column(name), return_counts=True)
    return Counter(dict(zip(values.tolist(), counts.tolist(), strict=True)))
