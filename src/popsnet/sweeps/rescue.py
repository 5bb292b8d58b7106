"""Rescue: copy what can be read of a damaged store to a new one."""

from __future__ import annotations

import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from popsnet.base.errors import InputError, StoreError
from popsnet.base.files import require_writable
from popsnet.base.progress import Progress, patient_progress
from popsnet.base.report import Report, Reported, Table, facts_of, plural
from popsnet.experiment.experiment import Experiment
from popsnet.sweeps import format_2
from popsnet.sweeps import rows as stored
from popsnet.sweeps.database import TABLES, connect, sound_tables
from popsnet.sweeps.kind import Result, UnreadableError
from popsnet.sweeps.rows import KINDS, SHARD, WINDOW, Row, experiment_of
from popsnet.sweeps.store import Store
from popsnet.sweeps.sweep import Sweep

_WIDTHS = {**dict.fromkeys(TABLES, 1), **dict.fromkeys(format_2.OF_SHARDS, 2), "results": 3}
"""How many of the first columns are the key of a table."""

_NAMELESS = "the description of the experiment cannot be read"
_DESCRIBE = "The sweep that made the store describes it: give that as well."

_LONGEST = 2**36
"""Bytes of a file. A longer one that is too short is taken for one with a damaged header."""

_Rows = dict[str, dict[Any, Row]]
"""The rows of each table by their key."""


@dataclass(frozen=True, repr=False)
class Rescue(Reported):
    """The outcome of rescuing a store."""

    store: str
    """The damaged store."""
    new: str
    """The new store."""
    copied: int
    """Shards that were copied."""
    without_digest: int
    """Shards among them that have no digest."""
    lost: tuple[tuple[str, int, str], ...] = ()
    """Shards that were lost: experiment, number of the shard, reason."""
    unread: tuple[str, ...] = ()
    """Tables that SQLite could not read to the end, or at all."""
    points: int = 0
    """Points of traffic that were copied."""
    points_lost: tuple[tuple[str, str], ...] = ()
    """Points of traffic that were lost: name, reason."""

    @property
    def ok(self) -> bool:
        """Whether everything was copied, as far as the file shows."""
        return not self.lost and not self.points_lost and not self.unread

    def report(self) -> Report:
        """Return the outcome as it is shown."""
        facts = facts_of(self, "store", "new", "copied", "without_digest", "unread")
        notes = [
            f"{plural(count, 'shard')} lost: {why}.{f' {_DESCRIBE}' * (why == _NAMELESS)}"
            for why, count in Counter(shard[-1] for shard in self.lost).most_common()
        ]
        notes += [
            f"{plural(count, 'point')} of traffic lost: {why}."
            for why, count in Counter(point[-1] for point in self.points_lost).most_common()
        ]
        if self.unread:
            tables = ", ".join(self.unread)
            notes.append(f"Tables not read to the end: {tables}. More shards may be lost.")
        if self.without_digest:
            notes.append(
                f"{plural(self.without_digest, 'shard')} copied without a digest: only running "
                "them again shows whether they are right (popsnet results verify --all)."
            )
        copied = [plural(self.copied, "shard")] * bool(self.copied or self.lost)
        has_points = bool(self.points or self.points_lost)
        copied += [f"{plural(self.points, 'point')} of traffic"] * has_points
        done = f"{' and '.join(copied)} copied to {self.new}"
        missing = len(self.lost) + len(self.points_lost)
        verdict = f"OK: {done}; none was lost."
        if not self.ok:
            cure = "Run the sweep with this store to run what is missing."
            verdict = f"INCOMPLETE: {done}; {missing:,} lost. {cure}"
        names = "experiment", "shard", "reason"
        rows = [dict(zip(names, shard, strict=True)) for shard in self.lost]
        parts: list[Table | str] = [*notes, Table("lost", "", (), rows)]
        if has_points:
            gone = [{"experiment": point, "reason": why} for point, why in self.points_lost]
            parts.append(Table("points_lost", "", (), gone))
            facts += facts_of(self, "points")
        return Report("", facts, tuple(parts), verdict, ok=self.ok)


def rescue(
    store: str | Path,
    new: str | Path,
    experiments: Sweep | Iterable[Experiment] = (),
    progress: Progress = None,
) -> Rescue:
    """Copy the results of a damaged store that can be read to a new store.

    A shard is copied if its rows in all tables can be read, they match its digest, and its numbers
    are possible; a point of traffic, if its row matches its digest. The damaged file is not
    changed.

    Parameters
    ----------
    store : str or Path
        The damaged store. If there is a write-ahead log beside it, that is read, too.
    new : str or Path
        The file to write, which must not exist.
    experiments : Sweep or iterable of Experiment
        Experiments that the store may have: shards can be assigned to them if their own
        description is lost.
    progress : function, bool or None
        As for :func:`popsnet.collect`, counting shards.

    Returns
    -------
    Rescue
        What was copied and what was lost.

    Raises
    ------
    StoreError
        If no result can be read; then nothing is written.
    InputError
        If the new store exists or cannot be written.

    Notes
    -----
    SQLite reads a copy of the file row by row. Where it finds damage in a table, the rows after it
    are read backwards from the end, and one by one under the names that other tables have. So
    the first page and the upper pages of a table are needed. A shard that left no row in any table
    is not known to be lost; the next sweep finds it missing.

    Examples
    --------
    >>> import popsnet
    >>> experiments = [popsnet.Experiment(4, 4)]
    >>> tallies = popsnet.collect(experiments, runs=20, store="results.sqlite")
    >>> found = popsnet.rescue("results.sqlite", "rescued.sqlite")
    >>> found.copied, found.lost
    (2, ())
    """
    damaged, target = Path(store), Path(new)
    if not damaged.is_file():
        raise StoreError(f"The store {damaged} does not exist.")
    if target.exists():
        raise InputError(f"{target} exists and is not overwritten; give the name of a new file.")
    require_writable(target)
    known = experiments.experiments if isinstance(experiments, Sweep) else experiments
    described = {experiment.digest: experiment.record for experiment in known}
    lost: dict[str, list[tuple[str, int, str]]] = {kind: [] for kind in KINDS}
    copied = dict.fromkeys(KINDS, 0)
    without_digest = 0
    with TemporaryDirectory(prefix=".popsnet-", dir=target.resolve().parent) as folder:
        tables, unread = _read(damaged, Path(folder), progress)
        identities = {**dict(_described(tables)), **described}
        part = Path(folder) / "part.sqlite"
        with Store(part, create=True) as fresh, fresh.inserting() as insert:
            for row in _results(tables):
                if why := _flaw(row, identities):
                    number = row.first // KINDS[row.kind].runs
                    lost[row.kind].append((row.digest, number, why))
                else:
                    insert([(row.digest, identities[row.digest])], [row])
                    copied[row.kind] += 1
                    without_digest += not row.hash
        if not any(copied.values()):
            reasons = Counter(why for several in lost.values() for *_, why in several)
            why, _ = reasons.most_common(1)[0] if reasons else ("", 0)
            what = f" ({reasons.total():,} lost: {why})" if reasons else ""
            raise StoreError(
                f"{damaged} has no shard that can be read{what}. "
                f"{f'{_DESCRIBE} ' if why == _NAMELESS else ''}"
                "Restore it from a backup, or run the sweep again."
            )
        if target.exists():
            raise InputError(f"{target} was made in the meantime; give the name of a new file.")
        part.rename(target)
    return Rescue(
        str(damaged), str(target), copied[SHARD.name], without_digest, tuple(lost[SHARD.name]),
        unread, copied[WINDOW.name], tuple((name, why) for name, _, why in lost[WINDOW.name]),
    )  # fmt: skip


def _read(path: Path, folder: Path, progress: Progress) -> tuple[_Rows, tuple[str, ...]]:
    """Return the rows that SQLite reads of a copy of a store, and tables not read to the end."""
    copy = folder / "damaged.sqlite"
    for end in ("", "-wal"):
        if (source := path.with_name(f"{path.name}{end}")).is_file():
            shutil.copyfile(source, f"{copy}{end}")
    _lengthen(copy)
    rows: _Rows = {table: {} for table in TABLES}
    try:
        with closing(connect(copy, create=False)) as database:
            database.text_factory = partial(str, encoding="utf-8", errors="replace")
            sound = sound_tables(database)
            whole = {table: _scanned(database, table, rows[table]) for table in sound}
            is_old = not sound & stored.TABLES.keys()
            tables = format_2.TABLES if is_old else stored.TABLES
            # A description that is lost shows as results without one.
            others = tables.keys() - {"points", "experiments"}
            unread = sorted(t for t in others if not whole.get(t, t in format_2.ADDED))
            of_shards = {*format_2.OF_SHARDS} & sound
            keys = set[Any]().union(*(rows[table] for table in (*of_shards, "results")))
            with patient_progress("reading", len(keys), progress, "results") as report:
                for number, key in enumerate(keys, start=1):
                    for table in of_shards:
                        if not whole[table] and key not in rows[table]:
                            _look_up(database, table, key, rows[table])
                    report(number)
    except (sqlite3.Error, UnicodeDecodeError, StoreError) as error:
        why = error if isinstance(error, sqlite3.Error) else "its first page is damaged"
        raise StoreError(
            f"{path} has no shard that can be read: SQLite does not open it ({why}). Restore it "
            "from a backup, or run the sweep again."
        ) from error
    return rows, tuple(unread)


def _lengthen(path: Path) -> None:
    """Give a file that was cut short the length that it states, or SQLite would refuse it."""
    with path.open("rb+") as file:
        header = file.read(32).ljust(32, b"\0")
        size = int.from_bytes(header[28:32]) * int.from_bytes(header[16:18])
        if path.stat().st_size < size <= _LONGEST:
            file.truncate(size)


def _scanned(database: sqlite3.Connection, table: str, rows: dict[Any, Row]) -> bool:
    """Read a table from both ends up to what is damaged; return whether it is whole."""
    width = _WIDTHS[table]
    for order in ("ASC", "DESC"):
        names = ", ".join(f"{place} {order}" for place in range(1, width + 1))
        last: Any = None
        try:
            with closing(database.execute(f"SELECT * FROM {table} ORDER BY {names}")) as cursor:  # noqa: S608 - names of ours
                for row in cursor:
                    key = row[:width] if width > 1 else row[0]
                    if last is not None and not (key > last if order == "ASC" else key < last):
                        raise sqlite3.DatabaseError("rows are not in order")
                    last = key
                    if _is_plausible(table, row):
                        rows[key] = row
            if order == "ASC":
                return True
        except (sqlite3.Error, UnicodeDecodeError, TypeError):
            continue
    return False


def _look_up(database: sqlite3.Connection, table: str, key: Row, rows: dict[Any, Row]) -> None:
    """Read one row, if SQLite finds it."""
    query = f"SELECT * FROM {table} WHERE point = ? AND shard = ?"  # noqa: S608 - names of ours
    with suppress(sqlite3.Error, UnicodeDecodeError):
        read = database.execute(query, key).fetchall()
        rows.update((key, row) for row in read if _is_plausible(table, row))


_TYPES = {
    "shards": (str, int, int), "provenance": (str, int, str), "runs": (str, int, bytes),
    "digests": (str, int, str), "traffic": (str,) * 5, "points": (str,),
    "experiments": (str, str), "results": (str, str, int, int),
}  # fmt: skip


def _is_plausible(table: str, row: Row) -> bool:
    """Return whether the first values of a row have the types that popsnet writes."""
    return all(type(value) is kind for value, kind in zip(row, _TYPES[table], strict=False))


def _described(tables: _Rows) -> Iterator[Row]:
    """Yield the name and the identity of each experiment whose description can be read."""
    rows = [*tables["experiments"].values(), *map(format_2.point_of, tables["points"].values())]
    rows += map(format_2.arrivals_of, tables["traffic"].values())
    for row in rows:
        with suppress(UnreadableError):
            experiment_of(*row)
            yield row


def _results(tables: _Rows) -> Iterator[Result]:
    """Yield each result of which any table has a row."""
    keys = set[Any]().union(*(tables[table] for table in format_2.OF_SHARDS))
    for key in sorted(keys):
        yield format_2.shard_of(key, *(tables[table].get(key, ()) for table in format_2.OF_SHARDS))
    yield from map(format_2.window_of, tables["traffic"].values())
    for row in tables["results"].values():
        if row[1] in KINDS:
            yield Result._make(row)


def _flaw(row: Result, identities: Mapping[str, str]) -> str:
    """Return why a result is lost; empty if it can be trusted."""
    kind = KINDS[row.kind]
    if row.digest not in identities:
        return _NAMELESS
    if not row.body:
        return "its numbers cannot be read"
    if not row.provenance:
        return "its provenance cannot be read"
    try:
        origin = kind.provenance(row)
        if row.hash and any(stored.row_flaws(row)):
            return "it does not match its digest"
        if any(kind.losses(row, origin)):
            return "its single runs cannot be read"  # only popsnet 0.1 wrote none
    except UnreadableError:
        return "it does not match its digest" if row.hash else "its provenance cannot be read"
    return "its numbers contradict each other" if any(kind.flaws(row)) else ""
