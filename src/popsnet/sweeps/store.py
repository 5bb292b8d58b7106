"""The store: results of shards in one SQLite file.

Three tables: ``points`` says which experiments were run, ``shards`` what they came to,
``provenance`` where and when. The first two depend on nothing but the experiments, so that two
stores of the same shards have the same rows in them. A shard is written in one transaction. The
write-ahead log keeps what was committed when the program is killed; a power failure may undo the
last commits, and leaves a whole file that the next sweep completes.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from popsnet.engines import Tally
from popsnet.errors import InputError, StoreError
from popsnet.experiment import Experiment
from popsnet.files import require_writable
from popsnet.report import Report, data_frame
from popsnet.sweeps import rows as stored
from popsnet.sweeps.reports import export, row_of, store_report
from popsnet.sweeps.rows import Row
from popsnet.sweeps.shard import SHARD_RUNS, Provenance, Shards, shards_of

if TYPE_CHECKING:
    import pandas as pd

_MAGIC = b"SQLite format 3\0"
_PATIENCE_SECONDS = 60.0


class Store:
    """Results of shards, in a file. A shard that is there is whole.

    Parameters
    ----------
    path : str or Path
        The file.
    create : bool
        Make the file if it does not exist.

    Examples
    --------
    >>> import popsnet
    >>> tallies = popsnet.collect([popsnet.Experiment(4, 4)], runs=10, store="results.sqlite")
    >>> with popsnet.Store("results.sqlite") as store:
    ...     [str(experiment) for experiment in store.experiments()]
    ['mei-rizzi (published) on POPS(4, 4)']
    """

    def __init__(self, path: str | Path, *, create: bool = False) -> None:
        self.path, self._writes = Path(path), create
        with self._errors_named():
            _require_sqlite(self.path, create)
            address = f"{self.path.resolve().as_uri()}?mode={'rwc' if create else 'rw'}"
            self._database = sqlite3.connect(
                address, uri=True, isolation_level=None, timeout=_PATIENCE_SECONDS
            )
            try:
                if create:
                    self._create()
                self._require_ours()
                if create:
                    self._database.execute("PRAGMA journal_mode = WAL")
                    self._database.execute("PRAGMA synchronous = NORMAL")
            except BaseException:
                self._database.close()
                raise

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Leave one plain file behind, unless others are using it."""
        if self._writes:
            with suppress(sqlite3.OperationalError):
                self._database.execute("PRAGMA busy_timeout = 0")
                self._database.execute("PRAGMA journal_mode = DELETE")
        self._database.close()

    def __repr__(self) -> str:
        return f"Store({str(self.path)!r})"

    def put(self, done: Shards) -> None:
        """Keep shards, in one transaction. What is there already must be the same."""
        point = stored.point_row(done.experiment)
        shards, provenance = stored.shard_rows(done), stored.provenance_rows(done)
        with self._errors_named(), self._transaction():
            self._insert([point], shards, provenance)

    def missing(self, experiment: Experiment, runs: int) -> list[int]:
        """Return the shards of an experiment that this many runs need and that are not there."""
        there = set(self.shards(experiment))
        return [shard for shard in range(shards_of(runs)) if shard not in there]

    def shards(self, experiment: Experiment) -> list[int]:
        """Return the shards of an experiment that are there."""
        query = "SELECT shard FROM shards WHERE point = ? ORDER BY shard"
        return [shard for (shard,) in self._rows(query, experiment.digest)]

    def tally(self, experiment: Experiment, runs: int) -> Tally | None:
        """Return the tally of the shards that hold this many runs; None if one is missing."""
        wanted = shards_of(runs)
        query = "SELECT * FROM shards WHERE point = ? AND shard < ? ORDER BY shard"
        rows = self._rows(query, experiment.digest, wanted)
        return None if len(rows) < wanted else stored.tally_of(rows, self.path)

    def unbroken(self, experiment: Experiment) -> Tally:
        """Return the tally of all runs up to the first shard that is missing.

        What lies beyond a gap is there because it was done quickly, and would bias a mean.
        """
        shards = self.shards(experiment)
        whole = next((i for i, shard in enumerate(shards) if i != shard), len(shards))
        tally = self.tally(experiment, whole * SHARD_RUNS)
        assert tally is not None
        return tally

    def experiments(self) -> list[Experiment]:
        """Return every experiment with a shard, small networks first.

        They can be looked up; ``reopened()`` gives one that can be run.
        """
        query = "SELECT * FROM points ORDER BY d * g, g, router, variant, permutation, point"
        return [stored.experiment_of(row, self.path) for row in self._rows(query)]

    def find(self, prefix: str) -> Experiment:
        """Return the one experiment whose name, its digest, begins so."""
        there = self.experiments()
        found = [one for one in there if one.digest.startswith(prefix)]
        if len(found) == 1:
            return found[0]
        names = ", ".join(one.digest[:6] for one in (found or there)[:10])
        raise InputError(
            f"{len(found):,} experiments in {self.path} begin with {prefix!r}, and one must. "
            f"There are {names or 'none'}."
        )

    def provenance(self, experiment: Experiment, shard: int) -> Provenance:
        """Return where a shard that is there comes from."""
        _, _, *origin = self._row("provenance", experiment, shard)
        return Provenance(*origin)

    def shard(self, experiment: Experiment, shard: int) -> Tally:
        """Return the tally of one shard that is there."""
        return stored.tally_of([self._row("shards", experiment, shard)], self.path)

    def _row(self, table: str, experiment: Experiment, shard: int) -> Row:
        query = f"SELECT * FROM {table} WHERE point = ? AND shard = ?"  # noqa: S608
        rows = self._rows(query, experiment.digest, shard)
        if not rows:
            raise InputError(f"{self.path} does not have shard {shard} of this experiment.")
        return rows[0]

    def report(self) -> Report:
        """Return the experiments and the means of their runs, as they are shown."""
        return store_report(self)

    def to_records(self) -> list[dict[str, Any]]:
        """Return a dictionary per experiment: what was run, and figures of its runs."""
        tallies = ((one, self.unbroken(one)) for one in self.experiments())
        return [row_of(one, tally) for one, tally in tallies if tally.runs]

    def to_dataframe(self) -> pd.DataFrame:
        """Return a pandas data frame with a row per experiment; needs ``popsnet[pandas]``."""
        return data_frame(self.to_records())

    def export(self, path: str | Path) -> int:
        """Write a row per experiment to a file: .csv, .json or .parquet; return how many."""
        records = self.to_records()
        export(records, Path(path))
        return len(records)

    def rows(self, table: str) -> list[tuple[Any, ...]]:
        """All rows of a table, in the order of its key."""
        key = "point" if table == "points" else "point, shard"
        return self._rows(f"SELECT * FROM {table} ORDER BY {key}")  # noqa: S608

    def columns(self, table: str) -> list[str]:
        """The names of the columns of a table."""
        return [name for _, name, *_ in self._rows(f"PRAGMA table_info({table})")]

    def merge(self, other: Store) -> int:
        """Take over what another store has, all or nothing; how many shards were new."""
        flaws = other.flaws()
        if flaws:
            raise StoreError(f"{other.path} contradicts itself and is not merged: {flaws[0]}")
        before = self._count()
        points = {row[0]: row for row in other.rows("points")}
        pairs = zip(other.rows("shards"), other.rows("provenance"), strict=True)
        with self._errors_named(), self._transaction():
            for shard, provenance in pairs:
                self._insert([points[shard[0]]], [shard], [provenance])
        return self._count() - before

    def flaws(self) -> list[str]:
        """Return what is wrong: the file, the numbers of a shard, the names of experiments."""
        found = [text for (text,) in self._rows("PRAGMA integrity_check") if text != "ok"]
        if found:
            return found
        orphans = self._rows("PRAGMA foreign_key_check")
        found = [f"A row of {table} belongs to nothing." for table, *_ in orphans]
        if len(self.rows("shards")) != len(self.rows("provenance")):
            found.append("There are shards without provenance.")
        found += [one for row in self.rows("points") for one in stored.point_flaws(row, self.path)]
        found += [one for row in self.rows("shards") for one in stored.shard_flaws(row, self.path)]
        return found

    def _create(self) -> None:
        with self._transaction():
            tables = self._rows("SELECT 1 FROM sqlite_master LIMIT 1")
            if not tables and self._rows("PRAGMA application_id") == [(0,)]:
                for statement in stored.SCHEMA.split(";"):
                    self._database.execute(statement)

    def _require_ours(self) -> None:
        ((application,),) = self._rows("PRAGMA application_id")
        ((version,),) = self._rows("PRAGMA user_version")
        if application != stored.APPLICATION:
            raise StoreError(
                f"{self.path} is a database of something else, not a store of popsnet; "
                "give another name."
            )
        if version != stored.VERSION:
            raise StoreError(
                f"{self.path} has format {version}, and this popsnet reads {stored.VERSION}; "
                "use the popsnet that wrote it, or another store."
            )
        ((state,),) = self._rows("PRAGMA quick_check(1)")
        if state != "ok":
            raise StoreError(f"{self.path} is damaged ({state}); restore it from a backup.")

    def _insert(self, points: list[Row], shards: list[Row], provenance: list[Row]) -> None:
        for table, rows in (("points", points), ("shards", shards)):
            if self._insert_new(table, rows) < len(rows):
                self._require_same(table, rows)
        self._insert_new("provenance", provenance)

    def _require_same(self, table: str, rows: list[Row]) -> None:
        """Refuse rows that differ from what is there under their key."""
        key, names = (1, "point = ?") if table == "points" else (2, "point = ? AND shard = ?")
        query = f"SELECT * FROM {table} WHERE {names}"  # noqa: S608
        for row in rows:
            (there,) = self._rows(query, *row[:key])
            if there != row:
                which = f"{f'shard {row[1]} of ' if key == 2 else ''}experiment {row[0]}"
                raise StoreError(
                    f"{self.path} has another result for {which}: {there[key:]}, not {row[key:]}. "
                    "One of the two is wrong; verify() finds out which."
                )

    def _insert_new(self, table: str, rows: list[Row]) -> int:
        """Insert rows whose key is not there; return how many."""
        places = ", ".join("?" * stored.COLUMNS[table])
        query = f"INSERT OR IGNORE INTO {table} VALUES ({places})"  # noqa: S608
        return self._database.executemany(query, rows).rowcount

    def _count(self) -> int:
        ((count,),) = self._rows("SELECT count(*) FROM shards")
        return int(count)

    def _rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        with self._errors_named(), closing(self._database.execute(query, values)) as found:
            return found.fetchall()

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
    def _errors_named(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.ProgrammingError as error:
            raise StoreError(f"{self.path} could not be used: {error} Open it again.") from error
        except sqlite3.OperationalError as error:
            raise StoreError(f"{self.path} could not be used: {error}.") from error
        except sqlite3.DatabaseError as error:
            raise StoreError(
                f"{self.path} is damaged or cut short ({error}); restore it from a backup."
            ) from error


def _require_sqlite(path: Path, create: bool) -> None:
    """Refuse what is no database, before SQLite is asked: it would answer late."""
    if create:
        require_writable(path)
    if not path.is_file():
        if not create:
            raise StoreError(f"There is no store {path}; a sweep writes one.")
        return
    with path.open("rb") as file:
        first = file.read(len(_MAGIC))
    if not first and not create:
        raise StoreError(f"{path} is empty; a sweep writes results.")
    if first and first != _MAGIC:
        raise StoreError(f"{path} is not a store of results, nor any SQLite file.")
