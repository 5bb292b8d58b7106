"""Rescue: copy what can be read of a damaged store to a new one."""

from __future__ import annotations

import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from popsnet.errors import InputError, StoreError
from popsnet.experiment import Experiment
from popsnet.files import require_writable
from popsnet.progress import Progress, patient_progress
from popsnet.report import Report, Reported, Table, counted, facts_of
from popsnet.sweeps import point_table
from popsnet.sweeps import rows as stored
from popsnet.sweeps.database import connect, sound_tables
from popsnet.sweeps.rows import Row
from popsnet.sweeps.store import Store, is_old
from popsnet.sweeps.sweep import Sweep

OF_SHARDS = {"shards", "provenance", *stored.OF_SHARDS}
"""The tables with a row for each shard."""

_Key = tuple[str, int]
_Rows = tuple[list[Row], ...]
"""Rows of a shard as they are inserted: experiment, numbers, single runs, provenance, digest."""

_NAMELESS = "the description of the experiment cannot be read"
_DESCRIBE = "The sweep that made the store describes it: give that as well."

_LONGEST = 2**36
"""Bytes of a file. A longer one that is too short is taken for one with a damaged header."""

_Found = dict[str, dict[Any, Row]]
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
            f"{counted(count, 'shard')} lost: {why}.{f' {_DESCRIBE}' * (why == _NAMELESS)}"
            for why, count in Counter(one[-1] for one in self.lost).most_common()
        ]
        notes += [
            f"{counted(count, 'point')} of traffic lost: {why}."
            for why, count in Counter(one[-1] for one in self.points_lost).most_common()
        ]
        if self.unread:
            notes.append(
                f"Tables not read to the end: {', '.join(self.unread)}. More shards may be lost."
            )
        if self.without_digest:
            notes.append(
                f"{counted(self.without_digest, 'shard')} copied without a digest: only running "
                "them again shows whether they are right (popsnet results verify --all)."
            )
        lost = [
            {"experiment": point, "shard": shard, "reason": why} for point, shard, why in self.lost
        ]
        copied = [counted(self.copied, "shard")] * bool(self.copied or self.lost)
        copied += [f"{counted(self.points, 'point')} of traffic"] * self._has_points
        done = f"{' and '.join(copied)} copied to {self.new}"
        missing = len(self.lost) + len(self.points_lost)
        verdict = (
            f"OK: {done}; none was lost."
            if self.ok
            else f"INCOMPLETE: {done}; {missing:,} lost. Run the sweep with this store to "
            "run what is missing."
        )
        tables = [Table("lost", "", (), lost)]
        if self._has_points:
            gone = [{"experiment": point, "reason": why} for point, why in self.points_lost]
            tables.append(Table("points_lost", "", (), gone))
            facts += facts_of(self, "points")
        return Report("", facts, (*notes, *tables), verdict, ok=self.ok)

    @property
    def _has_points(self) -> bool:
        return bool(self.points or self.points_lost)


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
        As for :func:`collect`, counting shards.

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
    described = {one.digest: stored.point_row(one) for one in known}
    lost: list[tuple[str, int, str]] = []
    copied = without_digest = 0
    with TemporaryDirectory(prefix=".popsnet-", dir=target.resolve().parent) as folder:
        found, unread = _read(damaged, Path(folder), progress)
        found["points"].update(described)
        points, points_lost = _points(found)
        part = Path(folder) / "part.sqlite"
        with Store(part, create=True) as fresh, fresh.inserting() as insert:
            for key, rows in _shards(found):
                if isinstance(rows, str):
                    lost.append((*key, rows))
                else:
                    insert(*rows)
                    copied += 1
                    without_digest += not rows[-1]
            insert(traffic=points)
        if not copied and not points:
            why, _ = Counter(reason for *_, reason in lost).most_common(1)[0] if lost else ("", 0)
            what = f" ({len(lost):,} lost: {why})" if lost else ""
            raise StoreError(
                f"{damaged} has no shard that can be read{what}. "
                f"{f'{_DESCRIBE} ' if why == _NAMELESS else ''}"
                "Restore it from a backup, or run the sweep again."
            )
        if target.exists():
            raise InputError(f"{target} was made in the meantime; give the name of a new file.")
        part.rename(target)
    return Rescue(
        str(damaged), str(target), copied, without_digest, tuple(lost), unread, len(points),
        points_lost,
    )  # fmt: skip


def _read(path: Path, folder: Path, progress: Progress) -> tuple[_Found, tuple[str, ...]]:
    """Return the rows that SQLite reads of a copy of a store, and tables not read to the end."""
    copy = folder / "damaged.sqlite"
    for end in ("", "-wal"):
        if (source := path.with_name(f"{path.name}{end}")).is_file():
            shutil.copyfile(source, f"{copy}{end}")
    _lengthen(copy)
    found: _Found = {table: {} for table in stored.TABLES}
    try:
        with closing(connect(copy, create=False)) as database:
            database.text_factory = partial(str, encoding="utf-8", errors="replace")
            there = sound_tables(database)
            whole = {table: _scanned(database, table, found[table]) for table in there}
            # A description that is lost shows as shards without one.
            others = stored.TABLES.keys() - {"points"}
            unread = sorted(one for one in others if not whole.get(one, one in stored.ADDED))
            keys = set[Any]().union(*(found[table] for table in OF_SHARDS))
            with patient_progress("reading", len(keys), progress, "shards") as report:
                for number, key in enumerate(keys, start=1):
                    for table in OF_SHARDS & there:
                        if not whole[table] and key not in found[table]:
                            _look_up(database, table, key, found[table])
                    report(number)
    except (sqlite3.Error, UnicodeDecodeError, StoreError) as error:
        why = error if isinstance(error, sqlite3.Error) else "its first page is damaged"
        raise StoreError(
            f"{path} has no shard that can be read: SQLite does not open it ({why}). Restore it "
            "from a backup, or run the sweep again."
        ) from error
    return found, tuple(unread)


def _lengthen(path: Path) -> None:
    """Give a file that was cut short the length that it states, or SQLite would refuse it."""
    with path.open("rb+") as file:
        header = file.read(32).ljust(32, b"\0")
        size = int.from_bytes(header[28:32]) * int.from_bytes(header[16:18])
        if path.stat().st_size < size <= _LONGEST:
            file.truncate(size)


def _scanned(database: sqlite3.Connection, table: str, rows: dict[Any, Row]) -> bool:
    """Read a table from both ends up to what is damaged; return whether it is whole."""
    width = 2 if table in OF_SHARDS else 1
    for order in ("ASC", "DESC"):
        names = ", ".join(f"{place} {order}" for place in range(1, width + 1))
        last: Any = None
        try:
            with closing(database.execute(f"SELECT * FROM {table} ORDER BY {names}")) as found:  # noqa: S608 - names of ours
                for row in found:
                    key = row[:2] if width == 2 else row[0]
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


def _look_up(database: sqlite3.Connection, table: str, key: _Key, rows: dict[Any, Row]) -> None:
    """Read one row, if SQLite finds it."""
    query = f"SELECT * FROM {table} WHERE point = ? AND shard = ?"  # noqa: S608 - names of ours
    with suppress(sqlite3.Error, UnicodeDecodeError):
        found = database.execute(query, key).fetchall()
        rows.update((key, row) for row in found if _is_plausible(table, row))


_TYPES = {"shards": (str, int, int), "provenance": (str, int, str), "runs": (str, int, bytes),
          "digests": (str, int, str), "traffic": (str,) * 5, "points": (str,)}  # fmt: skip


def _is_plausible(table: str, row: Row) -> bool:
    """Return whether the first values of a row have the types that popsnet writes."""
    return all(type(value) is kind for value, kind in zip(row, _TYPES[table], strict=False))


def _shards(found: _Found) -> Iterator[tuple[_Key, _Rows | str]]:
    """Yield each shard of which any table has a row: its rows, or why it is lost."""
    points = {
        name: row for name, row in found["points"].items() if not any(stored.point_flaws(row))
    }
    for key in sorted(set[_Key]().union(*(found[table] for table in OF_SHARDS))):
        point = points.get(key[0])
        yield key, _NAMELESS if point is None else _checked(found, key, point)


def _points(found: _Found) -> tuple[list[Row], tuple[tuple[str, str], ...]]:
    """Return the rows of points of traffic that can be trusted, and why others are lost."""
    rows = sorted(found["traffic"].items())
    sound = {name: row for name, row in rows if not any(point_table.point_flaws(row))}
    lost = [(name, "it does not match its digest") for name, _ in rows if name not in sound]
    return list(sound.values()), tuple(lost)


def _checked(found: _Found, key: _Key, point: Row) -> _Rows | str:
    """Return the rows of a shard if they can be trusted, otherwise why not."""
    shard, run, origin, digest = (
        found[table].get(key, ()) for table in ("shards", "runs", "provenance", "digests")
    )
    if not shard:
        return "its numbers cannot be read"
    if not origin:
        return "its provenance cannot be read"
    if not run and (digest or not is_old(origin[3])):
        return "its single runs cannot be read"  # only popsnet 0.1 wrote none
    if digest and stored.digest_of(shard, run, origin) != digest[2]:
        return "it does not match its digest"
    flaws = [*stored.shard_flaws(shard), *stored.provenance_flaws(origin)]
    flaws += stored.run_flaws(run, shard) if run else []
    if flaws:
        return "its numbers contradict each other"
    return [point], [shard], [run] if run else [], [origin], [digest] if digest else []
