"""Shards: ten consecutive runs of an experiment, and how many of them a precision needs."""

from __future__ import annotations

import math
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

import popsnet
from popsnet.base.errors import PopsnetError, require_one_of
from popsnet.base.stats.inference import summarize_counts
from popsnet.engines.outcome import HISTOGRAMS, TOTALS, FaultCounts, Outcomes, Tally
from popsnet.experiment.experiment import Experiment, whole_number
from popsnet.experiment.stop import share_of_mean
from popsnet.runs.summary import LABELS, experiment_columns
from popsnet.sweeps.kind import (
    ANYWHERE,
    UNREADABLE,
    Provenance,
    Result,
    ResultBatch,
    ResultKind,
    UnreadableError,
)

if TYPE_CHECKING:
    from popsnet.engines import Engine, Session

SHARD_RUNS = 10
"""Shard s of an experiment is its runs 10·s to 10·s + 9."""

MOST_RUNS = 10**7
"""The most runs of an experiment: every shard has a row in the store."""

RUN_COLUMNS = (
    "slots", "slots_delivered", "steps", "delivered", "lost", "collisions", "destroyed",
    "messages", "capped",
)  # fmt: skip
"""The counts that are kept of a single run, in this order: those that every engine has."""

FAULT_COLUMNS = FaultCounts._fields
"""The counts that are kept besides of a run with faults."""

I64 = npt.NDArray[np.int64]

_MOST = 2**63 - 1
"""The largest count that NumPy can represent."""


def shards_of(runs: int) -> int:
    """Return how many shards hold this many runs."""
    return -(-runs // SHARD_RUNS)


class CountedRuns(NamedTuple):
    """The runs of an experiment up to the first shard that is missing."""

    tally: Tally
    faults: Mapping[str, int] = MappingProxyType({})
    """Sums of the counts that only runs with faults have."""
    version: str = popsnet.__version__
    """The version of popsnet that made them, or the versions."""
    engine: str = ""
    """The engine that made them, or the engines."""
    seconds: float = 0.0
    """How long their shards took, together."""

    @classmethod
    def of(cls, rows: Sequence[Result], faulty: bool) -> CountedRuns:
        """Return what some shards have; with faults, also the counts that only such runs have."""
        sums = table_of(rows, FAULT_COLUMNS).sum(axis=0).tolist() if faulty else []
        faults = dict(zip(FAULT_COLUMNS, sums, strict=False))
        return cls(tally_of(rows), faults, *made_by(list(map(ShardKind().provenance, rows))))


def made_by(origins: Sequence[Provenance]) -> tuple[str, str, float]:
    """Return the version of popsnet and the engine, or several, and the seconds together."""
    versions, engines = ({getattr(o, name) for o in origins} for name in ("popsnet", "engine"))
    version = ", ".join(sorted(versions)) or popsnet.__version__
    return version, ", ".join(sorted(engines)), round(sum(o.seconds for o in origins), 6)


def is_old(version: object) -> bool:
    """Whether this version of popsnet kept no single runs: 0.2 was the first that did."""
    match = re.match(r"(\d+)\.(\d+)", str(version))
    return match is None or (int(match[1]), int(match[2])) < (0, 2)


@dataclass(frozen=True, eq=False)
class Shards(ResultBatch):
    """Consecutive finished shards of an experiment."""

    outcome: Outcomes
    """The outcomes of all runs."""

    def rows(self) -> list[Result]:
        """Return a row per shard, whose body has the counts of its runs by name.

        A count is an array of ten integers, or one integer if all ten are equal.
        """
        names = RUN_COLUMNS + FAULT_COLUMNS * bool(len(self.outcome.faulty))
        counts = np.stack([self.outcome.column(name) for name in names], axis=-1, dtype=np.int64)
        columns = counts.reshape(-1, SHARD_RUNS, len(names)).transpose(0, 2, 1)
        equal = (columns == columns[:, :, :1]).all(axis=2).tolist()
        digest, origin = self.experiment.digest, self.provenance.to_json()
        return [
            Result.of(
                digest, ShardKind.name, number * SHARD_RUNS, SHARD_RUNS,
                body_of({n: c[0] if s else c for n, c, s in zip(names, ten, same, strict=True)}),
                origin,
            )
            for number, ten, same in zip(self.numbers, columns.tolist(), equal, strict=True)
        ]  # fmt: skip


Column = int | list[int] | dict[int, int]

body_of = msgspec.msgpack.Encoder().encode
"""Makes the body of a shard of its counts by name."""
_counts = msgspec.msgpack.Decoder(dict[str, Column]).decode


def columns_of(row: Result) -> dict[str, list[int]]:
    """Return the counts of the ten runs of a shard; empty if it has histograms only.

    Raises
    ------
    UnreadableError
        If it has values that cannot be counts.
    """
    try:
        body = _counts(row.body)  # type: ignore[arg-type]
        if any(isinstance(body[name], dict) for name in HISTOGRAMS):
            return {}
        columns = {
            name: [column] * SHARD_RUNS if isinstance(column, int) else list(column)
            for name, column in body.items()
        }
        if not columns.keys() >= {*RUN_COLUMNS} or max(columns["capped"]) > 1:
            raise ValueError
        for ten in columns.values():
            if len(ten) != SHARD_RUNS or min(ten) < 0 or max(ten) > _MOST:
                raise ValueError
    except UNREADABLE:
        raise _unreadable(row) from None
    return columns


def _unreadable(row: Result) -> UnreadableError:
    return UnreadableError(
        f"{ShardKind().where_begins(row)} has numbers or single runs that cannot be read."
    )


def tally_of(rows: Sequence[Result]) -> Tally:
    """Return the tally of some shards; equal bodies are read once.

    Raises
    ------
    UnreadableError
        If a row has values that cannot be counts.
    """
    histograms: dict[str, Any] = {name: Counter() for name in HISTOGRAMS}
    sums: dict[str, Any] = Counter()
    bodies = {row.body: row for row in rows}
    for body, times in Counter(row.body for row in rows).items():
        tally = _tally_of_one(bodies[body])
        for name, histogram in tally.histograms.items():
            for value, runs in histogram.items():
                histograms[name][value] += runs * times
        for name in ("runs", "capped", *TOTALS):
            sums[name] += getattr(tally, name) * times
    return Tally(**sums, **histograms)


def _tally_of_one(row: Result) -> Tally:
    """Return the tally of a shard; those of popsnet 0.1 have histograms and sums."""
    columns = columns_of(row)
    try:
        body: dict[str, Any] = columns or _counts(row.body)  # type: ignore[arg-type]
        total: Any = sum if columns else int
        sums: dict[str, Any] = {name: total(body[name]) for name in (*TOTALS, "capped")}
        histograms: dict[str, Any] = {name: Counter(body[name]) for name in HISTOGRAMS}
        for histogram in () if columns else histograms.values():
            counted, least = histogram.total(), min(histogram.values(), default=0)
            if counted != SHARD_RUNS or least < 1 or min(histogram) < 0 or max(histogram) > _MOST:
                raise ValueError
        if not 0 <= sums["capped"] <= SHARD_RUNS or min(sums.values()) < 0:
            raise ValueError
    except UNREADABLE:
        raise _unreadable(row) from None
    return Tally(runs=SHARD_RUNS, **sums, **histograms)


def table_of(rows: Sequence[Result], names: Sequence[str]) -> I64:
    """Return the counts of the runs of some shards: a row per run, in order.

    Counts that a shard does not have are 0. Shards with histograms only are left out.
    """
    none = [0] * SHARD_RUNS
    shards = [columns for row in rows if (columns := columns_of(row))]
    table = np.array([[ten.get(name, none) for name in names] for ten in shards], dtype=np.int64)
    return table.reshape(-1, len(names), SHARD_RUNS).transpose(0, 2, 1).reshape(-1, len(names))


@dataclass(frozen=True, eq=False, repr=False)
class RunTable:
    """The counts of single runs of an experiment."""

    experiment: Experiment
    shards: tuple[int, ...]
    counts: I64
    """A row per run and a column per count."""
    names: tuple[str, ...]
    """The names of the counts."""
    without: int
    """Runs whose counts are not there: popsnet 0.1 did not keep them, or they were deleted."""
    deleted: int = 0
    """Those of them whose counts were deleted."""
    version: str = popsnet.__version__
    """The version of popsnet that made them, or the versions."""
    engines: tuple[str, ...] = ()
    """The engine that made each shard."""
    seconds: tuple[float, ...] = ()
    """The mean time of a run of each shard."""

    @classmethod
    def of(cls, experiment: Experiment, rows: Sequence[Result]) -> RunTable:
        """Return the counts of the runs of some shards."""
        names = RUN_COLUMNS + FAULT_COLUMNS * bool(experiment.faults)
        single = [row for row in rows if columns_of(row)]
        others = [row for row in rows if not columns_of(row)] if len(single) < len(rows) else []
        kind = ShardKind()
        deleted = [row for row in others if not is_old(kind.provenance(row).popsnet)]
        origins = list(map(kind.provenance, single))
        return cls(
            experiment,
            tuple(row.first // SHARD_RUNS for row in single),
            table_of(single, names),
            names,
            without=len(others) * SHARD_RUNS,
            deleted=len(deleted) * SHARD_RUNS,
            version=made_by(origins)[0],
            engines=tuple(origin.engine for origin in origins),
            seconds=tuple(origin.seconds / SHARD_RUNS for origin in origins),
        )

    def __len__(self) -> int:
        return len(self.counts)

    def __repr__(self) -> str:
        return f"<counts of {len(self):,} runs of {self.experiment}>"

    @property
    def numbers(self) -> I64:
        """The numbers of the runs. ``popsnet.route(experiment, first=number)`` repeats one."""
        first = np.array(self.shards, dtype=np.int64)[:, np.newaxis] * SHARD_RUNS
        return (first + np.arange(SHARD_RUNS)).ravel()

    def column(self, name: str) -> npt.NDArray[Any]:
        """Return one count of every run, such as ``"slots"`` or ``"capped"``."""
        require_one_of("name", name, self.names)
        values = self.counts[:, self.names.index(name)]
        return values != 0 if name == "capped" else values

    @property
    def made(self) -> dict[str, npt.NDArray[Any]]:
        """The time of every run, which is the mean of its shard, and its engine."""
        values = {"seconds": np.array(self.seconds), "engine": np.array(self.engines, dtype=object)}
        return {name: np.repeat(each, SHARD_RUNS) for name, each in values.items()}

    @property
    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """The number of every run, its counts, its time and its engine."""
        counts = {name: self.column(name) for name in self.names}
        return {"run": self.numbers, **counts, **self.made}

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield a dictionary per run: the experiment, the number of the run and its counts."""
        shared, columns = experiment_columns(self.experiment, self.version), self.columns
        for row in zip(*(column.tolist() for column in columns.values()), strict=True):
            yield {**shared, **dict(zip(columns, row, strict=True))}


class _ThreadSession(threading.local):
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
            from popsnet.engines.choice import find_engine

            self.close()
            self.engine = _engine(experiment) if engine == ANYWHERE else find_engine(engine)
            self.session = self.engine.open(experiment, threads=1)
            self.experiment, self.asked = experiment, engine
        return self.session


_thread_session = _ThreadSession()


def _engine(experiment: Experiment, fitting: bool = False) -> Engine:
    """Return the engine of an experiment. Engines are imported only where something is run."""
    from popsnet.engines.choice import engine_of_many

    return engine_of_many(experiment, fitting=fitting)


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


class ShardKind(ResultKind):
    """Shards of runs of a router."""

    name = "shard"
    unfinished = "the shards were"
    runs = SHARD_RUNS
    register = "register"
    experiment = Experiment
    files = "router_file", "permutation_file"
    given = frozenset({*files, "label"})
    batch_type = Shards
    then_by = "program", "variant", "workload"
    _expected: ClassVar[dict[tuple[str, str, int, int], float]] = {}
    """Slots by router, version, d and g, so that every expectation is computed once."""

    def require_storable(self, experiment: Experiment) -> None:
        """Refuse a router that its name and version do not identify, and what needs more memory."""
        super().require_storable(experiment)
        _engine(experiment, fitting=True)

    def run(
        self, experiment: Experiment, numbers: range, engine: str, watch: Callable[..., None]
    ) -> tuple[Outcomes, str]:
        """Return the outcomes of the runs of some shards, and the engine."""
        runs = range(numbers.start * SHARD_RUNS, numbers.stop * SHARD_RUNS)
        done = Outcomes.joined(list(_thread_session.on(experiment, engine).run(runs, [watch])))
        name = _thread_session.engine.name
        if self.memory(experiment):
            _thread_session.close()
        _require_whole(experiment, done)
        none = np.empty(0, dtype=np.int64)
        return Outcomes(done.table, none, none, done.faulty), name  # a store keeps no single steps

    def seconds(self, experiment: Experiment, engine: str) -> float:
        """Estimate the seconds that a shard takes, to about a factor of three.

        It is the estimate of the engine for the number of slots that the router expects; by
        default, of an engine that ships, since parts must not depend on what is installed. A router
        that states no expectation is taken to need max(d, g) slots.
        """
        from popsnet.engines.choice import find_engine, shipped_engine

        chosen = shipped_engine(experiment) if engine == ANYWHERE else find_engine(engine)
        key = experiment.router, experiment.version, experiment.d, experiment.g
        if key not in self._expected:
            self._expected[key] = _compute_slots(experiment)
        return float(f"{chosen.seconds(experiment, SHARD_RUNS * self._expected[key]):.1e}")

    def needed(self, experiment: Experiment) -> int:
        """Return the bytes that shards need on a worker."""
        return _engine(experiment).memory(experiment, threads=1)

    def suits(self, experiment: Experiment, engine: str) -> bool:
        """Whether an engine that needs resources can run the experiment."""
        from popsnet.engines.choice import find_engine

        return find_engine(engine).obstacle(experiment) is None

    def batch(self, experiment: Experiment) -> int:
        """Return how many shards are run at once."""
        return _engine(experiment).batch(experiment) // SHARD_RUNS

    def where(self, row: Result) -> str:
        """Return the name of a shard."""
        number = row.first // SHARD_RUNS if type(row.first) is int else row.first
        return f"shard {number} of experiment {row.digest}"

    def flaws(self, row: Result) -> Iterator[str]:
        """Yield what is wrong with the numbers of a shard."""
        try:
            tally_of([row])
        except UnreadableError as error:
            yield str(error)
            return
        where = self.where_begins(row)
        is_whole = type(row.first) is int
        if not is_whole or row.first < 0 or row.first % SHARD_RUNS or row.runs != SHARD_RUNS:
            yield f"{where} has {row.runs} runs; shards are numbered from 0 and have 10."

    def losses(self, row: Result, origin: Provenance) -> Iterator[str]:
        """Yield what to say of single runs that are missing."""
        if not is_old(origin.popsnet) and not columns_of(row):
            yield (
                f"{self.where_begins(row)} has lost its single runs, which popsnet "
                f"{origin.popsnet} keeps. Run the sweep into a new store and merge it to add them."
            )

    def difference(self, row: Result, other: Result, here: str, other_place: str) -> str:
        """Say in which count two results of a shard differ, the most important first."""
        first, two = tally_of([row]), tally_of([other])
        for name in ("slots", "steps", "slots_delivered", "lost"):
            if first.histograms[name] != two.histograms[name]:
                means = [f"{tally.mean(name):,.2f}" for tally in (first, two)]
                if means[0] == means[1]:
                    return f"another histogram of {LABELS[name]} {here} than {other_place}"
                return f"mean {LABELS[name]} {means[0]} {here}, {means[1]} {other_place}"
        for name in ("runs", "capped", *TOTALS):
            values = getattr(first, name), getattr(two, name)
            if values[0] != values[1]:
                return f"{LABELS.get(name, name)} {values[0]:,} {here}, {values[1]:,} {other_place}"
        runs, again = columns_of(row), columns_of(other)
        differ = runs and again and runs != again
        return f"other single runs {here} than {other_place}" if differ else ""

    def adds_to(self, new: Result, row: Result) -> bool:
        """Whether a shard has single runs, and another row of it has not."""
        return bool(columns_of(new)) and not columns_of(row)


def _compute_slots(experiment: Experiment) -> float:
    expected, slots = experiment.resolved_router.claims.expected, math.nan
    if expected is not None:
        with suppress(Exception):  # an estimate only: a wrong claim must not end a sweep
            slots = float(expected.slots(experiment.network))
    return slots if 0 < slots < math.inf else float(max(experiment.d, experiment.g))


FEWEST_RUNS = 50
"""No decision is made with fewer runs: their standard deviation says too little."""

_NORMAL = 1.96
"""Standard errors from the mean to the ends of a 95 % interval."""

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
    """A bound on half the width of the 95 % interval of the mean number of slots.

    Examples
    --------
    >>> Precision.of("2%", None)
    Precision(share=0.02, max_runs=10000)
    """

    share: float
    """As a share of the mean."""
    max_runs: int

    @classmethod
    def of(cls, precision: float | str, max_runs: int | None) -> Precision:
        """Return the precision that a text such as ``"2%"``, or 0.02, stands for."""
        most = MAX_RUNS if max_runs is None else max_runs
        most = whole_number("max_runs", most, FEWEST_RUNS, MOST_RUNS)
        return cls(share_of_mean(precision), most)

    def __str__(self) -> str:
        return f"±{100 * self.share:g} % of the mean"

    def reached(self, tally: Tally) -> bool:
        """Return whether the 95 % interval of the mean number of slots is narrow enough.

        With capped runs it never is: the mean of the others and them is only a lower bound.
        """
        error = standard_error(tally)
        return error is not None and _NORMAL * error <= self.share * tally.mean("slots")

    def looks(self, first: int) -> Iterator[int]:
        """Yield the numbers of runs after which the standard error is looked at.

        They do not depend on results: first, then a quarter more each time, up to ``max_runs``.

        Examples
        --------
        >>> list(Precision.of("2%", 200).looks(10))
        [50, 70, 90, 120, 150, 190, 200]
        """
        most = shards_of(self.max_runs) * SHARD_RUNS
        runs = shards_of(max(first, FEWEST_RUNS)) * SHARD_RUNS
        while runs < most:
            yield runs
            runs = shards_of(-(-runs * 5 // 4)) * SHARD_RUNS
        yield max(most, shards_of(first) * SHARD_RUNS)
