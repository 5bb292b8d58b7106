"""The store: results of experiments of every kind in one SQLite file.

The table ``experiments`` has the identities of which their names are hashes. The table ``results``
has a row for each shard of ten runs and for each window of continuous traffic, with what came out
(``body``), when, where and with what it was made (``provenance``), and a hash of all that. The body
depends on nothing but the experiment, so that two stores of the same results have the same bodies.
Results that are finished together are written in one transaction. The write-ahead log keeps what
was committed when the program is killed. A power failure may undo the last commits, but the file
stays valid, and the next sweep completes it.

What is read of an experiment is compared with its hashes first. A store is not changed before
something is written to it, so a damaged one that was only read is as it was. A store of format 2 is
read as it is, and converted before the first write.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from popsnet.base.errors import InputError, StoreError, as_path
from popsnet.base.progress import patient_progress
from popsnet.base.report import Plotted, Report, data_frame
from popsnet.engines import Tally
from popsnet.experiment.experiment import Experiment
from popsnet.sweeps import database as sqlite
from popsnet.sweeps import format_2
from popsnet.sweeps import rows as stored
from popsnet.sweeps.exports import export_records, export_runs, run_columns, uniform
from popsnet.sweeps.kind import Provenance, Result, ResultBatch, ResultKind, UnreadableError
from popsnet.sweeps.reports import row_of, store_report, traffic_records, why_nothing
from popsnet.sweeps.rows import KINDS, SHARD, WINDOW, experiment_of, has_results, kind_of
from popsnet.sweeps.selection import EVERYTHING, NEWEST, Selection, older
from popsnet.sweeps.shard import SHARD_RUNS, CountedRuns, RunTable, shards_of, tally_of
from popsnet.sweeps.window import Point, PointTable, result_of

if TYPE_CHECKING:
    import pandas as pd

_One = TypeVar("_One", bound=Experiment)

_FEW = 10
"""Experiments that a message names."""


def _in_words(experiment: Experiment) -> str:
    workload = experiment.workload.partition(":")[0]
    text = str(experiment)
    return text if workload in text else f"{text}, {workload}"


def _named(experiments: Sequence[Experiment]) -> str:
    """Return names and experiments, at most ten of them; no two names are the same."""
    names = {experiment.digest for experiment in experiments}
    length = next(i for i in range(6, 65) if len({name[:i] for name in names}) == len(names))
    shown = [f"{each.digest[:length]} ({_in_words(each)})" for each in experiments[:_FEW]]
    more = len(experiments) - len(shown)
    return f"{'; '.join(shown)}{f'; and {more:,} more' if more else ''}."


def _hint(text: str, experiments: Sequence[Experiment]) -> str:
    """Say which names there are: those with a router, scheduler or permutation if it is one."""
    described = [(e, f"{e.program} {e.variant} {e.workload}".lower()) for e in experiments]
    close = [experiment for experiment, words in described if text and text.lower() in words]
    if not experiments:
        return "The store is empty."
    what = f"Experiments with {text!r}" if close else "Experiments"
    return f"{what}: {_named(close or experiments)}"


class Store(Plotted):
    """A file of results.

    Runs of routers are kept in shards of ten runs. A store has a shard completely or not at all.

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

    _draw = "draw_results"

    def __init__(self, path: str | Path, *, create: bool = False) -> None:
        self.path, self._writes = as_path("store", path), create
        self._in_log_mode = self._is_damaged = self._is_described = False
        self._sound: set[str] = set()
        self._tables_of: tuple[int, stored.Tables] | None = None
        self.traffic = PointTable(self)
        """The points of continuous traffic."""
        with self.errors_named():
            self._database = sqlite.connect(self.path, create)
            try:
                if create:
                    with self._transaction():
                        sqlite.make_store(self._database)
                sqlite.require_store(self._database, self.path)
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
        self._forget_tables()
        self._database.close()

    def __repr__(self) -> str:
        return f"Store({str(self.path)!r})"

    def require_writes(self) -> None:
        """Refuse to run anything for a store that was opened for reading."""
        if not self._writes:
            raise StoreError(
                f"{self.path} was opened for reading: open it with create=True to add results."
            )

    @property
    def format(self) -> int:
        """The format of the file now: another program may convert it."""
        with self.errors_named():
            ((version,),) = sqlite.fetch(self._database, "PRAGMA user_version")
        return int(version)

    @property
    def _tables(self) -> stored.Tables:
        version = self.format
        if self._tables_of is None or self._tables_of[0] != version:
            self._forget_tables()
            with self.errors_named():
                self._tables_of = version, sqlite.tables_of(self._database, self.path)
        return self._tables_of[1]

    def _forget_tables(self) -> None:
        """Read the tables again at the next use; those of an older format are in memory."""
        if self._tables_of is not None and self._tables_of[0] == format_2.VERSION:
            self._tables_of[1].close()
        self._tables_of = None

    def put(self, done: ResultBatch) -> None:
        """Write results that were finished together in one transaction.

        Raises
        ------
        StoreError
            If the store has another result for one of them.
        """
        experiment = done.experiment
        with self.inserting() as insert:
            insert([(experiment.digest, experiment.record)], done.rows())

    def numbers(self, experiment: Experiment) -> list[int]:
        """Return the numbers of the results of an experiment that the store has."""
        kind = kind_of(experiment)
        self._require_sound(experiment)
        with self.errors_named():
            firsts = self._tables.firsts(experiment.digest, kind.name)
        return [first // kind.runs for first in firsts]

    def missing(self, experiment: Experiment, runs: int) -> list[int]:
        """Return the shards that this many runs of an experiment need and the store lacks."""
        numbers = set(self.numbers(experiment))
        return [shard for shard in range(shards_of(runs)) if shard not in numbers]

    def shards(self, experiment: Experiment) -> list[int]:
        """Return the shards of an experiment that the store has."""
        return self.numbers(experiment)

    def tally(self, experiment: Experiment, runs: int) -> Tally | None:
        """Return the tally of the shards that hold this many runs; None if one is missing."""
        rows = self.results(experiment, shards_of(runs))
        with self.errors_named():
            return None if len(rows) < shards_of(runs) else tally_of(rows)

    def results(
        self, experiment: Experiment, end: int | None = None, begin: int = 0
    ) -> list[Result]:
        """Return the results of an experiment with some numbers, as the store keeps them."""
        kind = kind_of(experiment)
        self._require_sound(experiment)
        last = None if end is None else end * kind.runs
        with self.errors_named():
            return list(self._tables.results(experiment.digest, kind.name, begin * kind.runs, last))

    def result(self, experiment: Experiment, number: int) -> Result:
        """Return one result of an experiment as the store keeps it."""
        for row in self.results(experiment, number + 1, number):
            return row
        raise InputError(f"{self.path} does not have shard {number} of this experiment.")

    def unbroken(self, experiment: Experiment) -> Tally:
        """Return the tally of all runs up to the first shard that is missing.

        Shards beyond a gap were finished early because they were quick, and would bias a mean.
        """
        return self.gathered(experiment).tally

    def gathered(self, experiment: Experiment, shards: Sequence[int] | None = None) -> CountedRuns:
        """Return what some shards have, by default those up to the first that is missing."""
        chosen = set(range(self._unbroken_shards(experiment)) if shards is None else shards)
        rows = self.results(experiment, max(chosen, default=-1) + 1, min(chosen, default=0))
        rows = [row for row in rows if row.first // SHARD_RUNS in chosen]
        with self.errors_named():
            return CountedRuns.of(rows, bool(experiment.faults))

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
        rows = self.results(experiment, self._unbroken_shards(experiment))
        with self.errors_named():
            return RunTable.of(experiment, rows)

    def experiments(self, only: Selection = EVERYTHING) -> list[Experiment]:
        """Return every experiment that has a shard, small networks first.

        They can be looked up and compared; their ``reopened()`` gives one that can be run.

        Parameters
        ----------
        only : Selection
            Which experiments; all by default.
        """
        return self.of_versions(self._of(SHARD), only)

    def of_versions(self, experiments: Sequence[_One], only: Selection) -> list[_One]:
        """Return what is selected of all experiments of a kind, of the versions that are wanted."""
        selected = [experiment for experiment in experiments if experiment in only]
        if only.versions == "all":
            return selected
        old = older(experiments, lambda key: max(made.finished for made in self.provenances(key)))
        return [key for key in selected if (key in old) == (only.versions == "older")]

    def _of(self, kind: ResultKind) -> list[Experiment]:
        """Return the experiments that have results of a kind, small networks first."""
        with self.errors_named():
            self._require_described()
            identities: dict[str, str] = dict(self._tables.experiments())
            names = [digest for digest, name in self._tables.kinds() if name == kind.name]
            experiments = [experiment_of(digest, identities[digest]) for digest in names]
            for experiment in experiments:
                if not has_results(kind, experiment):
                    name = experiment.digest
                    raise UnreadableError(f"Experiment {name} has no results of kind {kind.name}.")
        return sorted(experiments, key=kind.order)

    def _require_described(self) -> None:
        """Refuse results whose name is not that of an experiment, which no search would find."""
        if not self._is_described:
            for flaw in self._undescribed():
                raise UnreadableError(flaw)
            self._is_described = True

    def _undescribed(self) -> Iterator[str]:
        """Yield which experiments have results and are not described, which no list would show."""
        named: dict[str, str] = dict(self._tables.experiments())
        missing = "has results, and its row in the table experiments is missing"
        for digest in sorted({name for name, _ in self._tables.kinds()} - named.keys(), key=str):
            yield f"Experiment {digest} {missing}."

    def _require_sound(self, experiment: Experiment) -> None:
        """Refuse an experiment of which something is not as popsnet wrote it.

        Results without a hash, which older versions wrote, must have numbers that are possible.
        """
        digest = experiment.digest
        if digest in self._sound:
            return
        with self.errors_named():
            self._require_described()
            for row in self._tables.experiments(digest):
                experiment_of(*row)
            for result in self._tables.results(digest):
                for flaw in stored.row_flaws(result):
                    raise UnreadableError(flaw)
        self._sound.add(digest)

    def selected(self, only: Selection, *kinds: ResultKind) -> list[Experiment]:
        """Return the selected experiments of some kinds of results; by default, of runs.

        Raises
        ------
        InputError
            If there are experiments, and none of them is selected, which is a slip.
        """
        every = [experiment for kind in kinds or (SHARD,) for experiment in self._of(kind)]
        only.require_any(every, self.path)
        selected = self.of_versions(every, only)
        if every and not selected:
            which = "older" if only.versions == "newest" else "the newest"
            raise InputError(f"{self.path} has results of {which} versions only for this.")
        return selected

    def left_out(self, only: Selection = NEWEST, *kinds: ResultKind) -> int:
        """Return how many experiments are not selected because they are of older versions."""
        if only.versions != "newest":
            return 0
        every = replace(only, versions="all")
        return len(self.selected(every, *kinds)) - len(self.selected(only, *kinds))

    def find(self, prefix: str) -> Experiment:
        """Return the experiment whose name, which is its digest, begins with these characters.

        Raises
        ------
        InputError
            If there is none, or more than one.
        """
        return self._found(prefix, self.experiments())

    def find_any(self, prefix: str) -> Experiment:
        """Return the experiment of runs or of traffic whose name begins with these characters.

        Raises
        ------
        InputError
            If there is none, or more than one.
        """
        return self._found(prefix, [*self.experiments(), *self.traffic.experiments()])

    def _found(self, prefix: str, experiments: Sequence[Experiment]) -> Experiment:
        matches = [experiment for experiment in experiments if experiment.digest.startswith(prefix)]
        if len(matches) == 1:
            return matches[0]
        which = f"No experiment in {self.path} has a name that begins"
        hint = _hint(prefix, experiments)
        if matches:
            which = f"{len(matches):,} experiments in {self.path} have names that begin"
            hint = f"Give more of these: {_named(matches)}"
        raise InputError(f"{which} with {prefix!r}. {hint}")

    def provenance(self, experiment: Experiment, shard: int) -> Provenance:
        """Return when, where and with what a shard or a point was made."""
        with self.errors_named():
            return kind_of(experiment).provenance(self.result(experiment, shard))

    def provenances(self, experiment: Experiment) -> list[Provenance]:
        """Return when, where and with what each shard of an experiment was made, in order."""
        with self.errors_named():
            return list(map(kind_of(experiment).provenance, self.results(experiment)))

    def shard(self, experiment: Experiment, shard: int) -> Tally:
        """Return the tally of one shard."""
        with self.errors_named():
            return tally_of([self.result(experiment, shard)])

    def points(self) -> list[Point]:
        """Return the points of traffic with their results and provenance, small networks first."""
        return list(map(self._point, self._of(WINDOW)))

    def _point(self, experiment: Experiment) -> Point:
        row = self.result(experiment, 0)
        with self.errors_named():
            origin = WINDOW.provenance(row)
            named: Any = type(experiment).recorded(experiment.identity, origin.given)
            return Point(named, range(1), result_of(row), origin)

    def point(self, experiment: Experiment) -> Point | None:
        """Return a point of traffic; None if the store does not have it."""
        return self._point(experiment) if self.numbers(experiment) else None

    def report(self, only: Selection = NEWEST) -> Report:
        """Return the experiments and the means of their runs, as they are shown."""
        chosen = self.selected(only, *KINDS.values())
        return store_report(
            self,
            [experiment for experiment in chosen if kind_of(experiment) is SHARD],
            [self._point(experiment) for experiment in chosen if kind_of(experiment) is WINDOW],
            self.left_out(only, *KINDS.values()),
        )

    def to_records(
        self, only: Selection = NEWEST, *, per_run: bool = False, traffic: bool = False
    ) -> list[dict[str, Any]]:
        """Return a dictionary per experiment, per run, or per point of traffic.

        Parameters
        ----------
        only : Selection
            Which experiments; by default all, of programs with several versions the newest.
        per_run : bool
            Return a dictionary per run instead: the experiment, the number of the run, its counts.
        traffic : bool
            Return a dictionary per point of traffic instead.
        """
        if traffic:
            points = self.selected_points(only)
            made = [{n: getattr(p.provenance, n) for n in ("seconds", "engine")} for p in points]
            return [row | more for row, more in zip(traffic_records(points), made, strict=True)]
        if per_run:
            return uniform(record for table in self._run_tables(only) for record in table.records())
        gathered = ((e, self.gathered(e)) for e in self.selected(only))
        return uniform(
            row_of(e, runs) | {"seconds": runs.seconds, "engine": runs.engine}
            for e, runs in gathered
            if runs.tally.runs
        )

    def to_dataframe(
        self, only: Selection = NEWEST, *, per_run: bool = False, traffic: bool = False
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
        only: Selection = NEWEST,
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
            Which experiments; by default all, of programs with several versions the newest.
        per_run : bool
            Write a row per run instead of a row per experiment.
        traffic : bool
            Write a row per point of traffic instead.
        """
        reason = why_nothing(0 if traffic else self.runs_not_counted(only))
        if per_run and not traffic:
            return export_runs(self._run_tables(only), Path(path), reason)
        what = "points of traffic" if traffic else "results"
        return export_records(what, self.to_records(only, traffic=traffic), Path(path), reason)

    def selected_points(self, only: Selection = NEWEST) -> list[Point]:
        """Return the selected points of traffic; refuse a selection of nothing, which is a slip."""
        return list(map(self._point, self.selected(only, WINDOW)))

    def _run_tables(self, only: Selection) -> list[RunTable]:
        return [self.runs(experiment) for experiment in self.selected(only)]

    def runs_without_counts(self, only: Selection = NEWEST) -> tuple[int, int]:
        """Return how many runs, up to gaps, have no counts of their own.

        First the runs that popsnet 0.1 made, then those whose counts were deleted.
        """
        tables = self._run_tables(only)
        deleted = sum(table.deleted for table in tables)
        return sum(table.without for table in tables) - deleted, deleted

    def rows(self, table: str) -> list[tuple[Any, ...]]:
        """Return the rows of ``experiments`` or of ``results``, as today's format has them."""
        with self.errors_named():
            return [*(self._tables.results() if table == "results" else self._tables.experiments())]

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
        with self.inserting() as insert:
            before = self._count()
            rows = other.rows("results")
            digests = {row[0] for row in rows}
            insert([row for row in other.rows("experiments") if row[0] in digests], rows)
        return self._count() - before

    def drop(self, experiments: Iterable[Experiment]) -> None:
        """Remove experiments with all their results, all or nothing.

        Parameters
        ----------
        experiments : iterable of Experiment
            Those to remove, such as ``store.experiments(Selection(versions="older"))``.

        Examples
        --------
        >>> import popsnet
        >>> from popsnet.sweeps import Selection
        >>> experiments = [popsnet.Experiment(4, 4, seed=seed) for seed in (0, 1)]
        >>> tallies = popsnet.collect(experiments, runs=10, store="results.sqlite")
        >>> with popsnet.Store("results.sqlite", create=True) as store:
        ...     store.drop(store.experiments(Selection(seed=1)))
        ...     [experiment.seed for experiment in store.experiments()]
        [0]
        """
        names = [(experiment.digest,) for experiment in experiments]
        with self.inserting():
            for table in ("results", "experiments"):
                self._database.executemany(f"DELETE FROM {table} WHERE digest = ?", names)  # noqa: S608
        self._sound.difference_update(name for (name,) in names)
        with suppress(sqlite3.OperationalError):  # another program is reading
            self._database.execute("VACUUM")

    def _count(self) -> int:
        return sum(self.count(kind)[0] for kind in KINDS)

    def flaws(self) -> list[str]:
        """Return what is wrong with the file, with results and with names of experiments."""
        with self.errors_named():
            check = sqlite.fetch(self._database, "PRAGMA integrity_check")
            if broken := [text for (text,) in check if text != "ok"]:
                return broken
            flaws = list(self._undescribed())
            for row in self._tables.experiments():
                with self._noted(flaws):
                    experiment_of(*row)
            for result in self._tables.results():
                flaws += self._flaws_of(result)
        return flaws

    def _flaws_of(self, row: Result) -> list[str]:
        """Return what is wrong with a result; if nothing else is, whether it matches its hash."""
        kind, flaws = KINDS.get(row.kind), list[str]()
        if kind is not None:
            flaws += kind.flaws(row)
            with self._noted(flaws):
                flaws += kind.losses(row, kind.provenance(row))
        return flaws or list(stored.row_flaws(row))

    @contextmanager
    def _noted(self, flaws: list[str]) -> Iterator[None]:
        """Add what cannot be read to a list."""
        try:
            yield
        except UnreadableError as error:
            flaws.append(str(error))

    def count(self, kind: str) -> tuple[int, int]:
        """Return how many results of a kind there are, and how many of them have a digest."""
        with self.errors_named():
            return self._tables.count(kind)

    @contextmanager
    def inserting(self) -> Iterator[Callable[..., None]]:
        """Return a function that inserts rows of ``experiments`` and ``results``.

        All are inserted in one transaction. The first one converts a store of an older format.
        """
        self.require_writes()
        self.convert()
        with self.errors_named():
            if not self._in_log_mode:
                self._database.execute("PRAGMA journal_mode = WAL")
                self._database.execute("PRAGMA synchronous = NORMAL")
                self._in_log_mode = True
            with self._transaction():
                yield self._insert

    def convert(self) -> None:
        """Give a store of format 2 today's format, and keep the old file beside it.

        All of it happens in one transaction, after every result was compared with its digest.

        Raises
        ------
        StoreError
            If something is damaged; then nothing is changed.
        """
        if self.format != format_2.VERSION:
            return
        with self.errors_named(), patient_progress(f"converting {self.path.name}", None):
            with self._transaction():
                if self.format != format_2.VERSION:
                    return  # another program has just done it
                self._forget_tables()  # another program may have added results
                old = self._tables
                for flaw in self.flaws():
                    raise UnreadableError(flaw)
                self._keep_old()
                stored.create_tables(self._database, old.experiments(), old.results())
                for name in reversed(format_2.TABLES):
                    self._database.execute(f"DROP TABLE IF EXISTS {name}")
                self._database.execute(f"PRAGMA user_version = {stored.VERSION}")
            with suppress(sqlite3.OperationalError):  # another program is reading
                self._database.execute("VACUUM")

    def _keep_old(self) -> None:
        """Write a copy of the file beside it, whole or not at all."""
        copy = self.path.with_name(f"{self.path.name}.format2")
        part = copy.with_name(f"{copy.name}.part")
        part.unlink(missing_ok=True)
        with (
            closing(sqlite.connect(self.path, create=False)) as source,
            closing(sqlite3.connect(part)) as target,
        ):
            source.backup(target)
            target.execute("PRAGMA journal_mode = DELETE")
        shutil.copymode(self.path, part)
        part.replace(copy)

    def _insert(self, experiments: Sequence[stored.Row], results: Sequence[Result]) -> None:
        self._database.executemany(stored.INSERT["experiments"], experiments)
        new = self._database.executemany(stored.INSERT["results"], results).rowcount
        if new < len(results):
            for row in results:
                self._require_same(row)

    def _require_same(self, row: Result) -> None:
        """Refuse a result that differs from the one with its key, or add what is lacking there."""
        key = "digest = ? AND kind = ? AND first = ?"
        query = f"SELECT * FROM results WHERE {key}"  # noqa: S608
        (stored_row,) = map(Result._make, sqlite.fetch(self._database, query, *row[:3]))
        kind = KINDS[row.kind]
        if difference := kind.difference(stored_row, row, "there", "in the new result"):
            raise StoreError(
                f"{self.path} has another result for {kind.where(row)}: {difference}. One of the "
                "two is wrong; popsnet results verify --all finds out which."
            )
        if kind.adds_to(row, stored_row):
            self._database.execute(f"DELETE FROM results WHERE {key}", row[:3])  # noqa: S608
            self._database.execute(stored.INSERT["results"], row)

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
