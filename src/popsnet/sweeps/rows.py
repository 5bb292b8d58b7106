"""The kinds of results, the tables of a store, and what is read of them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from functools import cache
from hashlib import blake2b
from typing import Any, get_type_hints

import msgspec

from popsnet.experiment.experiment import Experiment
from popsnet.sweeps.kind import UNREADABLE, Result, ResultKind, UnreadableError, hash_of
from popsnet.sweeps.shard import ShardKind
from popsnet.sweeps.window import WindowKind

APPLICATION = 0x504F5053  # "POPS"
VERSION = 3

TABLES: Mapping[str, str] = {
    "experiments": """
CREATE TABLE experiments (digest TEXT PRIMARY KEY, identity TEXT NOT NULL) WITHOUT ROWID
""",
    "results": """
CREATE TABLE results (
    digest TEXT NOT NULL REFERENCES experiments, kind TEXT NOT NULL, first INTEGER NOT NULL,
    runs INTEGER NOT NULL, body BLOB NOT NULL, provenance TEXT NOT NULL, hash TEXT NOT NULL,
    PRIMARY KEY (digest, kind, first)
) WITHOUT ROWID
""",
}
"""Every table with the statement that creates it. A test of the schema compares the words."""

INSERT = {
    "experiments": "INSERT OR IGNORE INTO experiments VALUES (?, ?)",
    "results": "INSERT OR IGNORE INTO results VALUES (?, ?, ?, ?, ?, ?, ?)",
}
"""The statement that adds a row to each table, unless it is there."""

SHARD, WINDOW = ShardKind(), WindowKind()

KINDS: Mapping[str, ResultKind] = {kind.name: kind for kind in (SHARD, WINDOW)}
"""The kinds by their names in a store."""

_BY_TAG: Mapping[str, ResultKind] = {kind.experiment.spelling.tag: kind for kind in KINDS.values()}


def kind_of(experiment: object) -> ResultKind:
    """Return the kind of results that an experiment has.

    Raises
    ------
    KeyError
        If it is not an experiment.
    """
    spelling = getattr(experiment, "spelling", None)
    return _BY_TAG[getattr(spelling, "tag", "")]


def has_results(kind: ResultKind, value: object) -> bool:
    """Whether a value is an experiment whose results are of a kind."""
    return getattr(value, "spelling", None) is kind.experiment.spelling


def experiment_of(digest: str, identity: str) -> Experiment:
    """Return the experiment of a row of the table ``experiments``.

    Raises
    ------
    UnreadableError
        If the values cannot belong to an experiment, or not to the one of this name.
    """
    expected = ""
    try:
        expected = blake2b(identity.encode(), digest_size=16).hexdigest()
        values = json.loads(identity)
        (tag,) = _BY_TAG.keys() & values.keys()
        kind = _BY_TAG[tag].experiment
        if values.pop(tag) != kind.spelling.format:
            raise ValueError
        msgspec.convert(values, _identity_type(tag, frozenset(kind.spelling.keys(values))))
        experiment = kind.recorded(values)
        expected, _ = experiment.digest, experiment.network
    except UNREADABLE:
        raise UnreadableError(f"Experiment {digest} has values that cannot be read.") from None
    if expected != digest:
        raise UnreadableError(
            f"Experiment {digest} has a name that does not match its parameters (expected "
            f"{expected})."
        )
    return experiment


@cache
def _identity_type(tag: str, keys: frozenset[str]) -> Any:
    kind = _BY_TAG[tag].experiment
    hints, names = get_type_hints(kind), kind.spelling.names
    values = [(key, hints[names[key]]) for key in sorted(keys)]
    return msgspec.defstruct("Identity", values, forbid_unknown_fields=True)


Row = tuple[Any, ...]


def create_tables(
    database: sqlite3.Connection, experiments: Iterable[Row] = (), results: Iterable[Row] = ()
) -> None:
    """Create the tables, with some rows."""
    for statement in TABLES.values():
        database.execute(statement)
    database.executemany(INSERT["experiments"], experiments)
    database.executemany(INSERT["results"], results)


def row_flaws(row: Result) -> Iterator[str]:
    """Yield what is wrong with a result: its hash, or if it has none, its numbers."""
    kind = KINDS.get(row.kind)
    if kind is None:
        yield f"Experiment {row.digest} has a result of the unknown kind {row.kind}."
    elif row.hash and row.hash != hash_of(row[:6]):
        yield f"{kind.where_begins(row)} was changed: its digest does not match its row."
    elif not row.hash:
        yield from kind.flaws(row)


class Tables:
    """The tables of a store."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def close(self) -> None:
        """Close the file that they are in, or free the memory."""
        self._database.close()

    def each(self, query: str, *values: object) -> Iterator[Row]:
        """Yield the rows of a query one by one, for there may be many."""
        with closing(self._database.execute(query, values)) as rows:
            yield from rows

    def experiments(self, digest: str | None = None) -> list[Row]:
        """Return the name and the identity of the experiments, or of one."""
        which, *values = ("WHERE digest = ?", digest) if digest is not None else ("",)
        return list(self.each(f"SELECT * FROM experiments {which} ORDER BY digest", *values))  # noqa: S608

    def results(
        self,
        digest: str | None = None,
        kind: str | None = None,
        begin: int | None = None,
        end: int | None = None,
    ) -> Iterator[Result]:
        """Yield results in order: all, or those of an experiment, of a kind, of some runs."""
        conditions = {"digest = ?": digest, "kind = ?": kind, "first >= ?": begin, "first < ?": end}
        chosen = {text: value for text, value in conditions.items() if value is not None}
        where = f"WHERE {' AND '.join(chosen)}" if chosen else ""
        query = f"SELECT * FROM results {where} ORDER BY digest, kind, first"  # noqa: S608
        return map(Result._make, self.each(query, *chosen.values()))

    def firsts(self, digest: str, kind: str) -> list[int]:
        """Return the first runs of the results of a kind that an experiment has, in order."""
        query = "SELECT first FROM results WHERE digest = ? AND kind = ? ORDER BY first"
        return [first for (first,) in self.each(query, digest, kind)]

    def kinds(self) -> list[Row]:
        """Return each experiment that has results, and of which kind."""
        return list(self.each("SELECT DISTINCT digest, kind FROM results ORDER BY digest, kind"))

    def count(self, kind: str) -> tuple[int, int]:
        """Return how many results of a kind there are, and how many of them have a hash."""
        query = "SELECT count(*), count(nullif(hash, '')) FROM results WHERE kind = ?"
        ((total, hashed),) = self.each(query, kind)
        return total, hashed
