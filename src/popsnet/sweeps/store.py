"""The store: results of shards and of points of traffic in one SQLite file.

Five tables are about runs: ``points`` has the experiments, ``shards`` their histograms, ``runs``
the counts of single runs, ``provenance`` when, where and with what they were made, and ``digests``
a hash of what the last three have of a shard. The first three depend on nothing but the
experiments, so that two stores of the same shards have the same rows in them. A sixth table,
``traffic``, has a row per point of continuous traffic. A shard or a point is written in one
transaction. The write-ahead log keeps what was committed when the program is killed. A power
failure may undo the last commits, but the file stays valid, and the next sweep completes it.

What is read of an experiment is compared with its digests first. A store is not changed before
something is written to it, so a damaged one that was only read is as it was.
"""

from __future__ import annotations

import re
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from popsnet.engines import Tally
from popsnet.errors import InputError, StoreError, as_path
from popsnet.experiment import Experiment
from popsnet.report import Report, data_frame
from popsnet.sweeps import database as sqlite
from popsnet.sweeps import point_table
from popsnet.sweeps import rows as stored
from popsnet.sweeps.exports import (
    RunTable,
    export_experiments,
    export_points,
    export_runs,
    run_columns,
)
from popsnet.sweeps.point_table import Point, PointTable, traffic_records
from popsnet.sweeps.reports import difference, row_of, store_report, why_nothing
from popsnet.sweeps.rows import Row
from popsnet.sweeps.selection import EVERYTHING, Selection
from popsnet.sweeps.shard import SHARD_RUNS, Provenance, Shards, shards_of
from popsnet.traffic.experiment import TrafficExperiment

if TYPE_CHECKING:
    import pandas as pd

_SHARD = """
SELECT d.digest, d.point, d.shard, s.*, r.*, p.* FROM digests AS d
LEFT JOIN shards AS s ON s.point = d.point AND s.shard = d.shard
LEFT JOIN runs AS r ON r.point = d.point AND r.shard = d.shard
LEFT JOIN provenance AS p ON p.point = d.point AND p.shard = d.shard
"""
"""All rows of the shards that have a digest."""

_FEW = 10
"""Experiments that a message names."""


def _order(key: Row) -> tuple[str, int]:
    """Return what sorts shards, even if their numbers are not numbers."""
    return str(key[0]), key[1] if isinstance(key[1], int) else -1


_Any = TypeVar("_Any", Experiment, Experiment | TrafficExperiment)


def _in_words(experiment: Experiment | TrafficExperiment) -> str:
    if isinstance(experiment, TrafficExperiment):
        return str(experiment)
    return f"{experiment}, {experiment.permutation.partition(':')[0]}"


def _named(experiments: Sequence[Experiment | TrafficExperiment]) -> str:
    """Return names and experiments, at most ten of them; no two names are the same."""
    names = {one.digest for one in experiments}
    length = next(one for one in range(6, 65) if len({name[:one] for name in names}) == len(names))
    shown = [f"{one.digest[:length]} ({_in_words(one)})" for one in experiments[:_FEW]]
    more = len(experiments) - len(shown)
    return f"{'; '.join(shown)}{f'; and {more:,} more' if more else ''}."


def _hint(text: str, there: Sequence[Experiment | TrafficExperiment]) -> str:
    """Say which names there are: those with a router, scheduler or permutation if it is one."""
    described = [(one, f"{one.program} {one.variant} {one.workload}") for one in there]
    close = [one for one, words in described if text and text.lower() in words.lower()]
    if not there:
        return "The store is empty."
    what = f"Experiments with {text!r}" if close else "Experiments"
    return f"{what}: {_named(close or there)}"


def is_old(version: object) -> bool:
    """Whether this version of popsnet kept no single runs: 0.2 was the first that did."""
    found = re.match(r"(\d+)\.(\d+)", str(version))
    return found is None or (int(found[1]), int(found[2])) < (0, 2)


class Store:
    """Open a file of results.

    Results are kept in shards of ten runs. A store has a shard completely or not at all.

    Parameters
    ----------
    path : str or Path
        The file.
    create : bool
        Open the file for writing, and make it if it does not exist.

    Raises
    ------
    StoreError
        If the file does not exist, is damaged, or is not a store.

    Examples
    --------
    >>> import popsnet
    >>> tallies = popsnet.collect([popsnet.Experiment(4, 4)], runs=10, store="results.sqlite")
    >>> with popsnet.Store("results.sqlite") as store:
    ...     [str(experiment) for experiment in store.experiments()]
    ['mei-rizzi (published) on POPS(4, 4)']
    """

    def __init__(self, path: str | Path, *, create: bool = False) -> None:
        self.path, self._writes = as_path("store", path), create
        self._in_log_mode = self._is_damaged = self._has_all_points = False
        self._sound: set[str] = set()
        self.traffic = PointTable(self)
        """The points of continuous traffic."""
        with self.errors_named():
            self._database = sqlite.connect(self.path, create)
            try:
                if create:
                    self._create()
                self._tables = sqlite.require_store(self._database, self.path)
            except BaseException:
                self._database.close()
                raise

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; it is one plain file then, unless other programs are using it."""
        if self._writes and not self._is_damaged:
            with suppress(sqlite3.OperationalError):
                self._database.execute("PRAGMA busy_timeout = 0")
                self._database.execute("PRAGMA journal_mode = DELETE")
        self._database.close()

    def __repr__(self) -> str:
        return f"Store({str(self.path)!r})"

    def require_writes(self) -> None:
        """Refuse to run anything for a store that was opened for reading."""
        if not self._writes:
            raise StoreError(
                f"{self.path} was opened for reading: open it with create=True to add results."
            )

    def put(self, done: Shards | Point) -> None:
        """Write shards, or a point of traffic, in one transaction.

        Raises
        ------
        StoreError
            If the store has another result for one of them.
        """
        if isinstance(done, Point):
            with self.inserting() as insert:
                insert(traffic=[point_table.point_row(done)])
            return
        point, runs = stored.point_row(done.experiment), stored.run_rows(done)
        shards, provenance = stored.shard_rows(done), stored.provenance_rows(done)
        digests = stored.digest_rows(shards, runs, provenance)
        with self.inserting() as insert:
            insert([point], shards, runs, provenance, digests)

    def missing(self, experiment: Experiment, runs: int) -> list[int]:
        """Return the shards that this many runs of an experiment need and the store lacks."""
        there = set(self.shards(experiment))
        return [shard for shard in range(shards_of(runs)) if shard not in there]

    def shards(self, experiment: Experiment) -> list[int]:
        """Return the shards of an experiment that the store has."""
        self._require_sound(experiment)
        query = "SELECT shard FROM shards WHERE point = ? ORDER BY shard"
        return [shard for (shard,) in self._rows(query, experiment.digest)]

    def tally(self, experiment: Experiment, runs: int) -> Tally | None:
        """Return the tally of the shards that hold this many runs; None if one is missing."""
        wanted = shards_of(runs)
        rows = self._shard_rows(experiment, wanted)
        return None if len(rows) < wanted else self._tally(rows)

    def tally_of(self, experiment: Experiment, shards: Iterable[int]) -> Tally:
        """Return the tally of those of these shards that the store has."""
        chosen = set(shards)
        rows = self._shard_rows(experiment, max(chosen, default=-1) + 1)
        return self._tally([row for row in rows if row[1] in chosen])

    def _tally(self, rows: Sequence[Row]) -> Tally:
        with self.errors_named():
            return stored.tally_of(rows)

    def _shard_rows(self, experiment: Experiment, end: int) -> list[Row]:
        self._require_sound(experiment)
        query = "SELECT * FROM shards WHERE point = ? AND shard < ? ORDER BY shard"
        return self._rows(query, experiment.digest, end)

    def unbroken(self, experiment: Experiment) -> Tally:
        """Return the tally of all runs up to the first shard that is missing.

        Shards beyond a gap were finished early because they were quick, and would bias a mean.
        """
        tally = self.tally(experiment, self._unbroken_shards(experiment) * SHARD_RUNS)
        assert tally is not None
        return tally

    def _unbroken_shards(self, experiment: Experiment) -> int:
        shards = self.shards(experiment)
        return next((i for i, shard in enumerate(shards) if i != shard), len(shards))

    def runs_not_counted(self, only: Selection = EVERYTHING) -> int:
        """Return how many runs of some experiments are behind a missing shard."""
        return sum(map(self.runs_not_counted_of, self.experiments(only)))

    def runs_not_counted_of(self, experiment: Experiment) -> int:
        """Return how many runs of an experiment are behind a missing shard."""
        behind = len(self.shards(experiment)) - self._unbroken_shards(experiment)
        return behind * SHARD_RUNS

    def runs(self, experiment: Experiment) -> RunTable:
        """Return the counts of single runs, up to the first shard that is missing.

        Shards that popsnet 0.1 wrote have no counts of single runs and are left out; the
        ``numbers`` of the runs show it.

        Examples
        --------
        >>> import popsnet
        >>> experiment = popsnet.Experiment(4, 4, router="direct")
        >>> tallies = popsnet.collect([experiment], runs=10, store="results.sqlite")
        >>> with popsnet.Store("results.sqlite") as store:
        ...     store.runs(experiment).column("slots").tolist()
        [4, 4, 4, 4, 4, 4, 4, 4, 4, 4]
        """
        whole = self._unbroken_shards(experiment)
        query = "SELECT * FROM runs WHERE point = ? AND shard < ? ORDER BY shard"
        rows = self._rows(query, experiment.digest, whole) if "runs" in self._tables else []
        return RunTable(
            experiment,
            tuple(shard for _, shard, _ in rows),
            self._counts(rows),
            without=(whole - len(rows)) * SHARD_RUNS,
            deleted=self._deleted(experiment, whole) if len(rows) < whole else 0,
        )

    def _counts(self, rows: Sequence[Row]) -> stored.I64:
        with self.errors_named():
            return stored.counts_of(rows)

    def _deleted(self, experiment: Experiment, end: int) -> int:
        """Return how many of the first runs have no counts although they were kept once."""
        deleted = [
            shard
            for point, shard, version in self._without_runs()
            if point == experiment.digest and shard < end and not is_old(version)
        ]
        return len(deleted) * SHARD_RUNS

    def _without_runs(self) -> list[Row]:
        """Return experiment, number and version of popsnet of shards without single runs."""
        query = "SELECT point, shard, popsnet FROM provenance"
        if "runs" in self._tables:
            query += " WHERE (point, shard) NOT IN (SELECT point, shard FROM runs)"
        return self._rows(f"{query} ORDER BY point, shard")

    def experiments(self, only: Selection = EVERYTHING) -> list[Experiment]:
        """Return every experiment that has a shard, small networks first.

        They can be looked up and compared; their ``reopened()`` gives one that can be run.

        Parameters
        ----------
        only : Selection
            Which experiments; all by default.
        """
        query = "SELECT * FROM points ORDER BY d * g, g, router, variant, permutation, point"
        with self.errors_named():
            there = [stored.experiment_of(row) for row in self._rows(query)]
            self._require_all_points()
        return [one for one in there if one in only]

    def _require_all_points(self) -> None:
        """Refuse shards of an experiment that is not described, which no list would show."""
        if not self._has_all_points:
            for flaw in self._undescribed():
                raise stored.UnreadableError(flaw)
            self._has_all_points = True

    def _undescribed(self) -> Iterator[str]:
        """Yield which experiments have shards and are not described."""
        query = "SELECT DISTINCT point FROM shards WHERE point NOT IN (SELECT point FROM points)"
        for (point,) in self._rows(f"{query} ORDER BY point"):
            yield f"Experiment {point} has shards, and its row in the table points is missing."

    def _require_sound(self, experiment: Experiment) -> None:
        """Refuse an experiment of which something is not as popsnet wrote it.

        Shards without a digest, which older versions wrote, must have numbers that are possible
        and agree with their single runs.
        """
        point = experiment.digest
        if point in self._sound:
            return
        with self.errors_named():
            for row in self._rows("SELECT * FROM points WHERE point = ?", point):
                stored.experiment_of(row)
            query = "SELECT * FROM shards WHERE point = ?"
            values = [point]
            if "digests" in self._tables:
                for _, flaw in self._digest_flaws("WHERE d.point = ?", point):
                    raise stored.UnreadableError(flaw)
                query += " AND shard NOT IN (SELECT shard FROM digests WHERE point = ?)"
                values += [point]
            runs = self._single_runs_of(point)
            for row in self._each(query, *values):
                single = runs.get(row[1])
                flaws = [
                    *stored.shard_flaws(row),
                    *(stored.run_flaws(single, row) if single else ()),
                ]
                for flaw in flaws:
                    raise stored.UnreadableError(flaw)
        self._sound.add(point)

    def _single_runs_of(self, point: str) -> dict[object, Row]:
        """Return the rows of single runs of the shards without a digest, by shard."""
        if "runs" not in self._tables:
            return {}
        query, values = "SELECT * FROM runs WHERE point = ?", [point]
        if "digests" in self._tables:
            query += " AND shard NOT IN (SELECT shard FROM digests WHERE point = ?)"
            values += [point]
        return {row[1]: row for row in self._rows(query, *values)}

    def _digest_flaws(self, which: str = "", *values: object) -> Iterator[tuple[Row, str]]:
        """Yield the key of each shard that does not match its digest, and what to say."""
        ends = (3, 14, 17, 29)
        for row in self._each(f"{_SHARD} {which}", *values):
            digest, *key = row[:3]
            shard, run, origin = (row[i:j] for i, j in pairwise(ends))
            where = f"Shard {key[1]} of experiment {key[0]}"
            parts = {"shards": shard, "runs": run, "provenance": origin}
            gone = [name for name, one in parts.items() if one[0] is None]
            if gone:
                yield tuple(key), f"{where} has no row in the table {gone[0]}."
            elif stored.digest_of(shard, run, origin) != digest:
                yield tuple(key), f"{where} was changed: its digest does not match its rows."

    def _selected(self, only: Selection) -> list[Experiment]:
        """Return the selected experiments; refuse a selection of nothing, which is a slip."""
        return only.require_any(self.experiments(), self.path)

    def find(self, prefix: str) -> Experiment:
        """Return the experiment whose name, which is its digest, begins with these characters.

        Raises
        ------
        InputError
            If there is none, or more than one.
        """
        return self._found(prefix, self.experiments())

    def find_any(self, prefix: str) -> Experiment | TrafficExperiment:
        """Return the experiment of runs or of traffic whose name begins with these characters.

        Raises
        ------
        InputError
            If there is none, or more than one.
        """
        there: list[Experiment | TrafficExperiment] = [*self.experiments()]
        return self._found(prefix, [*there, *self.traffic.experiments()])

    def _found(self, prefix: str, there: Sequence[_Any]) -> _Any:
        found = [one for one in there if one.digest.startswith(prefix)]
        if len(found) == 1:
            return found[0]
        which = f"{len(found):,} experiments in {self.path} have names that begin"
        if not found:
            which = f"No experiment in {self.path} has a name that begins"
        cure = "Give more of these: " if found else ""
        hint = _named(found) if found else _hint(prefix, there)
        raise InputError(f"{which} with {prefix!r}. {cure}{hint}")

    def provenance(self, experiment: Experiment, shard: int) -> Provenance:
        """Return when, where and with what a shard was made."""
        row = self._row("provenance", experiment, shard)
        with self.errors_named():
            return stored.provenance_of(row)

    def provenances(self, experiment: Experiment) -> list[Provenance]:
        """Return when, where and with what each shard of an experiment was made, in order."""
        self._require_sound(experiment)
        query = "SELECT * FROM provenance WHERE point = ? ORDER BY shard"
        with self.errors_named():
            return [stored.provenance_of(row) for row in self._rows(query, experiment.digest)]

    def shard(self, experiment: Experiment, shard: int) -> Tally:
        """Return the tally of one shard."""
        return self._tally([self._row("shards", experiment, shard)])

    def _row(self, table: str, experiment: Experiment, shard: int) -> Row:
        self._require_sound(experiment)
        query = f"SELECT * FROM {table} WHERE point = ? AND shard = ?"  # noqa: S608
        rows = self._rows(query, experiment.digest, shard)
        if not rows:
            raise InputError(f"{self.path} does not have shard {shard} of this experiment.")
        return rows[0]

    def shard_runs(self, experiment: Experiment, shard: int) -> list[list[int]] | None:
        """Return the counts of the ten runs of a shard; None if they were not kept."""
        query = "SELECT * FROM runs WHERE point = ? AND shard = ?"
        self._require_sound(experiment)
        rows = self._rows(query, experiment.digest, shard) if "runs" in self._tables else []
        counts: list[list[int]] = self._counts(rows).tolist()
        return counts or None

    def report(self, only: Selection = EVERYTHING) -> Report:
        """Return the experiments and the means of their runs, as they are shown."""
        runs, points = self._chosen(only)
        return store_report(self, runs, points)

    def _chosen(self, only: Selection) -> tuple[list[Experiment], list[Point]]:
        """Return the selected experiments and points; refuse a selection of nothing."""
        points = {point.experiment: point for point in self.traffic.points()}
        there: list[Experiment | TrafficExperiment] = [*self.experiments(), *points]
        chosen = only.require_any(there, self.path)
        runs = [one for one in chosen if not isinstance(one, TrafficExperiment)]
        return runs, [points[one] for one in chosen if isinstance(one, TrafficExperiment)]

    def to_records(
        self, only: Selection = EVERYTHING, *, per_run: bool = False, traffic: bool = False
    ) -> list[dict[str, Any]]:
        """Return a dictionary per experiment, per run, or per point of traffic.

        Parameters
        ----------
        only : Selection
            Which experiments; all by default.
        per_run : bool
            Return a dictionary per run instead: the experiment, the number of the run, its counts.
        traffic : bool
            Return a dictionary per point of traffic instead.
        """
        if traffic:
            return traffic_records(self.selected_points(only))
        if per_run:
            return [record for table in self._run_tables(only) for record in table.records()]
        tallies = ((one, self.unbroken(one)) for one in self._selected(only))
        return [row_of(one, tally) for one, tally in tallies if tally.runs]

    def to_dataframe(
        self, only: Selection = EVERYTHING, *, per_run: bool = False, traffic: bool = False
    ) -> pd.DataFrame:
        """Return a pandas data frame with a row per experiment, per run, or per point of traffic.

        It needs ``popsnet[pandas]``. The parameters are those of :meth:`to_records`.
        """
        if per_run and not traffic:
            return data_frame(run_columns(self._run_tables(only)))
        return data_frame(self.to_records(only, traffic=traffic))

    def export(
        self,
        path: str | Path,
        only: Selection = EVERYTHING,
        *,
        per_run: bool = False,
        traffic: bool = False,
    ) -> int:
        """Write a row per experiment, per run or per point to a file; return the number of rows.

        Parameters
        ----------
        path : str or Path
            The file. Its name ends in .csv, .json or .parquet.
        only : Selection
            Which experiments; all by default.
        per_run : bool
            Write a row per run instead of a row per experiment.
        traffic : bool
            Write a row per point of traffic instead.
        """
        if traffic:
            return export_points(traffic_records(self.selected_points(only)), Path(path))
        reason = why_nothing(self.runs_not_counted(only))
        if per_run:
            return export_runs(self._run_tables(only), Path(path), reason)
        return export_experiments(self.to_records(only), Path(path), reason)

    def selected_points(self, only: Selection = EVERYTHING) -> list[Point]:
        """Return the selected points of traffic; refuse a selection of nothing, which is a slip."""
        points = {point.experiment: point for point in self.traffic.points()}
        return [points[one] for one in only.require_any(points, self.path)]

    def _run_tables(self, only: Selection) -> list[RunTable]:
        return [self.runs(one) for one in self._selected(only)]

    def runs_without_counts(self, only: Selection = EVERYTHING) -> tuple[int, int]:
        """Return how many runs, up to gaps, have no counts of their own.

        First the runs that popsnet 0.1 made, then those whose counts were deleted.
        """
        tables = self._run_tables(only)
        deleted = sum(table.deleted for table in tables)
        return sum(table.without for table in tables) - deleted, deleted

    def rows(self, table: str, point: str | None = None) -> list[tuple[Any, ...]]:
        """Return the rows of a table, of all experiments or of one, in the order of its key."""
        if table in stored.ADDED and table not in self._tables:
            return []
        key = "point" if table in ("points", "traffic") else "point, shard"
        which, values = ("", ()) if point is None else ("WHERE point = ?", (point,))
        return self._rows(f"SELECT * FROM {table} {which} ORDER BY {key}", *values)  # noqa: S608

    def columns(self, table: str) -> list[str]:
        """Return the names of the columns of a table."""
        return [name for _, name, *_ in self._rows(f"PRAGMA table_info({table})")]

    def merge(self, other: Store) -> int:
        """Add the results of another store, all or nothing, and return how many were new.

        Shards and points of traffic are counted. Counts of single runs are added to shards that are
        here without them.

        Raises
        ------
        StoreError
            If the other store contradicts itself or this one; then nothing is added.
        """
        flaws = other.flaws()
        if flaws:
            raise StoreError(
                f"{other.path} contradicts itself and is not merged: {flaws[0]} "
                f"{sqlite.how_to_rescue(other.path)}"
            )
        points = {row[0]: row for row in other.rows("points")}
        runs, digests = ({row[:2]: row for row in other.rows(name)} for name in stored.OF_SHARDS)
        pairs = zip(other.rows("shards"), other.rows("provenance"), strict=True)
        before = self._count() + self.traffic.count()
        with self.inserting() as insert:
            insert(traffic=other.rows("traffic"))
            for shard, origin in pairs:
                key = shard[:2]
                counts, digest = ([one[key]] if key in one else [] for one in (runs, digests))
                insert([points[key[0]]], [shard], counts, [origin], digest)
        return self._count() + self.traffic.count() - before

    def flaws(self) -> list[str]:
        """Return what is wrong with the file, with shards and with names of experiments."""
        found = [text for (text,) in self._rows("PRAGMA integrity_check") if text != "ok"]
        if found:
            return found
        found = list(self._undescribed())
        found += [one for row in self.rows("points") for one in stored.point_flaws(row)]
        shards = {row[:2]: row for row in self.rows("shards")}
        flaws: defaultdict[Row, list[str]] = defaultdict(list)
        for key, flaw in self._missing_rows(shards.keys()):
            flaws[key].append(flaw)
        for key, row in shards.items():
            flaws[key] += stored.shard_flaws(row)
        for row in self.rows("provenance"):
            flaws[row[:2]] += stored.provenance_flaws(row)
        for row in self.rows("runs"):
            if row[:2] in shards:
                flaws[row[:2]] += stored.run_flaws(row, shards[row[:2]])
        for key, flaw in self._digest_flaws() if "digests" in self._tables else ():
            flaws[key] = flaws[key] or [flaw]  # the digest finds what the others have not found
        found += [one for several in flaws.values() for one in several]
        return found + [one for row in self.rows("traffic") for one in point_table.point_flaws(row)]

    def count_shards(self) -> tuple[int, int]:
        """Return how many shards there are, and how many of them have a digest."""
        both = "SELECT count(*) FROM shards JOIN digests USING (point, shard)"
        return self._count(), self._rows(both)[0][0] if "digests" in self._tables else 0

    def _missing_rows(self, shards: Collection[Row]) -> Iterator[tuple[Row, str]]:
        """Yield the keys of shards of which rows are missing, and what to say."""
        origins, *added = (
            {row[:2] for row in self.rows(table)} for table in ("provenance", *stored.OF_SHARDS)
        )
        for key in sorted(origins.union(*added).difference(shards), key=_order):
            where = f"Shard {key[1]} of experiment {key[0]}"
            yield key, f"{where} is missing from the table shards, although other tables have it."
        for key in sorted(set(shards) - origins, key=_order):
            yield key, f"Shard {key[1]} of experiment {key[0]} has no provenance."
        for point, shard, version in self._without_runs():
            if (key := (point, shard)) in shards and not is_old(version):
                yield (
                    key,
                    f"Shard {shard} of experiment {point} has lost its single runs, which popsnet "
                    f"{version} keeps. Run the sweep into a new store and merge it to add them.",
                )

    def _create(self) -> None:
        with self._transaction():
            if sqlite.is_blank(self._database):
                sqlite.create_tables(self._database)

    @contextmanager
    def inserting(self) -> Iterator[Callable[..., None]]:
        """Return a function that inserts rows, all in one transaction.

        Its parameters are the rows of ``points``, ``shards``, ``runs``, ``provenance``, ``digests``
        and ``traffic``. The first transaction adds tables that an old store does not have.
        """
        self.require_writes()
        with self.errors_named():
            if not self._in_log_mode:
                self._database.execute("PRAGMA journal_mode = WAL")
                self._database.execute("PRAGMA synchronous = NORMAL")
                self._in_log_mode = True
            with self._transaction():
                for table in stored.TABLES.keys() - self._tables:
                    if not self.columns(table):  # another program may have added it
                        self._database.execute(stored.TABLES[table])
                yield self._insert
            self._tables = set(stored.TABLES)

    def _insert(
        self,
        points: Sequence[Row] = (),
        shards: Sequence[Row] = (),
        runs: Sequence[Row] = (),
        provenance: Sequence[Row] = (),
        digests: Sequence[Row] = (),
        traffic: Sequence[Row] = (),
    ) -> None:
        for table, rows in (("points", points), ("shards", shards), ("runs", runs)):
            if self._insert_new(table, rows) < len(rows):
                self._require_same(table, rows)
        if self._insert_new("provenance", provenance) < len(provenance):
            query = "SELECT * FROM provenance WHERE point = ? AND shard = ?"
            kept = {row[:2] for row in provenance if self._rows(query, *row[:2]) == [row]}
            digests = [row for row in digests if row[:2] in kept]  # which cover provenance, too
        self._insert_new("digests", digests)
        if self._insert_new("traffic", traffic) < len(traffic):
            self._require_same_points(traffic)

    def _require_same_points(self, rows: Sequence[Row]) -> None:
        """Refuse points that have another result here; their provenance may differ."""
        for row in rows:
            (there,) = self._rows("SELECT * FROM traffic WHERE point = ?", row[0])
            if not point_table.same_result(there, row):
                both = point_table.point_difference(there, row, "there", "in the new result")
                raise self._contradiction(f"point {row[0]} of traffic: {both}")

    def _contradiction(self, what: str) -> StoreError:
        return StoreError(
            f"{self.path} has another result for {what}. One of the two is wrong; "
            "popsnet results verify --all finds out which."
        )

    def _require_same(self, table: str, rows: Sequence[Row]) -> None:
        """Refuse rows that differ from those with the same key."""
        key, names = (1, "point = ?") if table == "points" else (2, "point = ? AND shard = ?")
        query = f"SELECT * FROM {table} WHERE {names}"  # noqa: S608
        for row in rows:
            (there,) = self._rows(query, *row[:key])
            if there != row:
                which = f"{f'shard {row[1]} of ' if key == 2 else ''}experiment {row[0]}"
                both = ""
                if table == "shards":
                    here, new = (stored.tally_of([one]) for one in (there, row))
                    both = f": {difference(here, new, 'there', 'in the new result')}"
                raise self._contradiction(f"{which}{both}")

    def _insert_new(self, table: str, rows: Sequence[Row]) -> int:
        """Insert rows whose key is new and return how many there were."""
        places = ", ".join("?" * stored.COLUMNS[table])
        query = f"INSERT OR IGNORE INTO {table} VALUES ({places})"  # noqa: S608
        return self._database.executemany(query, rows).rowcount

    def _count(self) -> int:
        ((count,),) = self._rows("SELECT count(*) FROM shards")
        return int(count)

    def _rows(self, query: str, *values: object) -> list[Row]:
        with self.errors_named():
            return sqlite.fetch(self._database, query, *values)

    def _each(self, query: str, *values: object) -> Iterator[Row]:
        """Yield the rows of a query one by one, for there may be many."""
        with self.errors_named(), closing(self._database.execute(query, values)) as found:
            yield from found

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._database.execute("COMMIT")
        except BaseException:
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")
            raise

    @contextmanager
    def errors_named(self) -> Iterator[None]:
        """Turn errors of SQLite and unreadable values into errors that name the file."""
        try:
            with sqlite.errors_named(self.path):
                yield
        except sqlite.DamagedError:
            self._is_damaged = True
            raise
