"""Rescue: copy what can be read of a damaged store to a new one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from popsnet.errors import InputError, StoreError
from popsnet.experiment import Experiment
from popsnet.files import require_writable
from popsnet.progress import Progress, patient_progress
from popsnet.report import Report, Reported, Table, counted, facts_of
from popsnet.sweeps import point_rows
from popsnet.sweeps import rows as stored
from popsnet.sweeps.pages import Pages, page_sizes, stated_pages
from popsnet.sweeps.rows import Row
from popsnet.sweeps.store import Store, is_old
from popsnet.sweeps.sweep import Sweep

_Key = tuple[str, int]
_Rows = tuple[list[Row], ...]
"""Rows of a shard as they are inserted: experiment, numbers, single runs, provenance, digest."""

_NAMELESS = "the description of the experiment cannot be read"
_DESCRIBE = "The sweep that made the store describes it: give that as well."

_MOST_VERSIONS = 20
"""More rows of one shard are not compared."""

_Found = dict[str, dict[Any, set[Row]]]
"""The rows of each table by their key; unused pages may have other versions of a row."""


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
    pages: int = 0
    """Pages of the file."""
    pages_missing: int = 0
    """Pages that the file should have according to its first page, and does not have."""
    points: int = 0
    """Points of traffic that were copied."""
    points_lost: tuple[tuple[str, str], ...] = ()
    """Points of traffic that were lost: name, reason."""

    @property
    def ok(self) -> bool:
        """Whether everything was copied, as far as the file shows."""
        return not self.lost and not self.points_lost and not self.pages_missing

    def report(self) -> Report:
        """Return the outcome as it is shown."""
        names = "copied", "without_digest", "pages", "pages_missing"
        facts = facts_of(self, "store", "new", *names)
        reasons = Counter(reason for _, _, reason in self.lost)
        notes = [
            f"{counted(count, 'shard')} lost: {why}."
            + (f" {_DESCRIBE}" if why == _NAMELESS else "")
            for why, count in reasons.most_common()
        ]
        points = Counter(reason for _, reason in self.points_lost)
        notes += [
            f"{counted(count, 'point')} of traffic lost: {why}."
            for why, count in points.most_common()
        ]
        if self.pages_missing:
            pages = f"{self.pages_missing:,} of {counted(self.pages + self.pages_missing, 'page')}"
            notes.append(f"{pages} are missing from the file, so that more may be lost.")
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
        As for :func:`collect`, counting pages.

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
    The file is read page by page, without the help of SQLite, so that neither its first page nor
    the links between pages are needed. A shard that left no row in any table is not known to be
    lost; the next sweep finds it missing.

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
    found, size, pages = _read(damaged, progress)
    known = experiments.experiments if isinstance(experiments, Sweep) else experiments
    for one in known:
        found["points"].setdefault(one.digest, set()).add(stored.point_row(one))
    lost: list[tuple[str, int, str]] = []
    points, points_lost = _points(found)
    copied = without_digest = 0
    with TemporaryDirectory(prefix=".popsnet-", dir=target.resolve().parent) as folder:
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
    missing = max(stated_pages(damaged, size) - pages, 0)
    return Rescue(
        str(damaged), str(target), copied, without_digest, tuple(lost), pages, missing,
        len(points), points_lost,
    )  # fmt: skip


def _read(path: Path, progress: Progress) -> tuple[_Found, int, int]:
    """Return all rows that look like those of a store, the size of a page, and the pages."""
    read = []
    for size in page_sizes(path):
        found: _Found = {table: {} for table in stored.TABLES}
        with (
            Pages(path, size) as pages,
            patient_progress("reading", pages.count, progress, "pages") as report,
        ):
            for row in pages.rows(report):
                if table := _table(row):
                    key, row = _keyed(table, row)
                    found[table].setdefault(key, set()).add(row)
        read.append((found, size, pages.count))
    return max(read, key=lambda one: sum(map(len, one[0].values())))


def _table(row: Row) -> str:
    """Return the table that a row may belong to, by the number and type of its values."""
    types = tuple(map(type, row[:3]))
    if len(row) == stored.COLUMNS["points"] and types[0] is str:
        return "points"
    for table, third in (("shards", int), ("provenance", str), ("runs", bytes), ("digests", str)):
        if len(row) == stored.COLUMNS[table] and types == (str, int, third):
            return table
    if len(row) == stored.COLUMNS["traffic"] and set(map(type, row)) == {str}:
        return "traffic"
    return ""


def _keyed(table: str, row: Row) -> tuple[str | _Key, Row]:
    """Return the key of a row, and the row with a time that SQLite stored as an integer."""
    if table in ("points", "traffic"):
        return row[0], row
    if table == "provenance" and isinstance(row[10], int):
        row = (*row[:10], float(row[10]), row[11])
    return row[:2], row


def _shards(found: _Found) -> Iterator[tuple[_Key, _Rows | str]]:
    """Yield each shard of which any table has a row: its rows, or why it is lost."""
    several = (found[table] for table in stored.TABLES if table not in ("points", "traffic"))
    points = {point: _sound_point(rows) for point, rows in found["points"].items()}
    for key in sorted(set[_Key]().union(*several)):
        if point := points.get(key[0]):
            yield key, _checked(found, key, point)
        else:
            yield key, _NAMELESS


def _points(found: _Found) -> tuple[list[Row], tuple[tuple[str, str], ...]]:
    """Return the rows of points of traffic that can be trusted, and why others are lost."""
    rows: list[Row] = []
    lost: list[tuple[str, str]] = []
    for point, versions in sorted(found["traffic"].items()):
        sound = sorted(row for row in versions if not any(point_rows.point_flaws(row)))
        if not sound:
            lost.append((point, "it does not match its digest"))
        elif not all(point_rows.same_result(sound[0], row) for row in sound):
            lost.append((point, "there are several versions of it"))
        else:
            rows.append(sound[0])
    return rows, tuple(lost)


def _sound_point(rows: Iterable[Row]) -> Row | None:
    return next((row for row in rows if not any(stored.point_flaws(row))), None)


def _checked(found: _Found, key: _Key, point: Row) -> _Rows | str:
    """Return the rows of a shard if they can be trusted, otherwise why not."""
    shards, runs, origins, digests = (
        found[table].get(key, set()) for table in ("shards", "runs", "provenance", "digests")
    )
    if not shards:
        return "its numbers cannot be read"
    if not origins:
        return "its provenance cannot be read"
    if not runs and (digests or not all(is_old(row[3]) for row in origins)):
        return "its single runs cannot be read"  # only popsnet 0.1 wrote none
    if len(shards) + len(runs) + len(origins) + len(digests) > _MOST_VERSIONS:
        return "there are several versions of it"
    versions, digest = list(product(shards, runs or [()], origins)), []
    if digests:
        matching = [
            (rows, one) for rows in versions for one in digests if stored.digest_of(*rows) == one[2]
        ]
        if not matching:
            return "it does not match its digest"
        versions, digest = [matching[0][0]], [matching[0][1]]
    if len(versions) > 1:
        return "there are several versions of it"
    shard, run, origin = versions[0]
    flaws = [*stored.shard_flaws(shard), *stored.provenance_flaws(origin)]
    flaws += stored.run_flaws(run, shard) if run else []
    if flaws:
        return "its numbers contradict each other"
    return [point], [shard], [run] if run else [], [origin], digest
