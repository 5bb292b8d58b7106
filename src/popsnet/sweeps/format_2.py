"""Stores of format 2, which popsnet up to 0.6 wrote: read as if they were of today's format."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterator
from contextlib import suppress
from itertools import chain
from typing import Any

import msgspec

from popsnet.engines.outcome import HISTOGRAMS, TOTALS
from popsnet.experiment.experiment import Experiment
from popsnet.sweeps.kind import UNREADABLE, Result, hash_of
from popsnet.sweeps.rows import SHARD, WINDOW, Row, Tables, create_tables
from popsnet.sweeps.shard import RUN_COLUMNS, SHARD_RUNS, body_of, tally_of

VERSION = 2

_KEY = "PRIMARY KEY (point, shard), FOREIGN KEY (point, shard) REFERENCES shards"
_COLUMNS = {
    "points": """
    point TEXT PRIMARY KEY, d INTEGER NOT NULL, g INTEGER NOT NULL, router TEXT NOT NULL,
    version TEXT NOT NULL, variant TEXT NOT NULL, permutation TEXT NOT NULL, seed TEXT NOT NULL,
    permutation_seed TEXT NOT NULL, max_steps INTEGER NOT NULL
""",
    "shards": """
    point TEXT NOT NULL REFERENCES points, shard INTEGER NOT NULL, runs INTEGER NOT NULL,
    capped INTEGER NOT NULL, steps TEXT NOT NULL, slots TEXT NOT NULL,
    slots_delivered TEXT NOT NULL, lost TEXT NOT NULL, collisions INTEGER NOT NULL,
    destroyed INTEGER NOT NULL, messages INTEGER NOT NULL,
    PRIMARY KEY (point, shard)
""",
    "provenance": f"""
    point TEXT NOT NULL, shard INTEGER NOT NULL, engine TEXT NOT NULL, popsnet TEXT NOT NULL,
    python TEXT NOT NULL, numpy TEXT NOT NULL, numba TEXT NOT NULL, machine TEXT NOT NULL,
    router_file TEXT NOT NULL, permutation_file TEXT NOT NULL, seconds REAL NOT NULL,
    finished TEXT NOT NULL, {_KEY}
""",
    "runs": f"point TEXT NOT NULL, shard INTEGER NOT NULL, counts BLOB NOT NULL, {_KEY}",
    "digests": f"point TEXT NOT NULL, shard INTEGER NOT NULL, digest TEXT NOT NULL, {_KEY}",
    "traffic": """
    point TEXT PRIMARY KEY, experiment TEXT NOT NULL, result TEXT NOT NULL,
    provenance TEXT NOT NULL, digest TEXT NOT NULL
""",
}

TABLES: dict[str, str] = {
    name: f"CREATE TABLE {name} ( {columns} ) WITHOUT ROWID" for name, columns in _COLUMNS.items()
}
"""Every table with the statement that created it."""

ADDED = ("runs", "digests", "traffic")
"""Tables that stores of older versions do not have."""

OF_SHARDS = {"shards": 11, "runs": 3, "provenance": 12, "digests": 3}
"""The tables with a row for each shard, and how many columns they have."""

CHANGED = "rows of format 2 that contradict each other"
"""The hash of a result that was not as popsnet wrote it."""


def shard_of(key: Row, shard: Row, runs: Row, origin: Row, digest: Row) -> Result:
    """Return a shard as today's format has it, of its rows in four tables; missing ones are empty.

    If it does not match its digest, or without one contradicts itself, no hash is right.
    """
    point, number = key
    body, provenance, sound = b"", "", True
    try:
        histograms, columns = _histograms(shard), {}
        body = body_of(histograms)
        if runs:
            columns = dict(zip(RUN_COLUMNS, msgspec.msgpack.decode(runs[2]), strict=True))
            body = body_of(columns)
        *texts, seconds, finished = origin[2:]
        names = "engine", "popsnet", "python", "numpy", "numba", "machine"
        files = dict(zip(("router_file", "permutation_file"), texts[6:], strict=True))
        more = {"given": files, "seconds": seconds, "finished": finished}
        provenance = json.dumps({**dict(zip(names, texts, strict=False)), **more}, sort_keys=True)
    except UNREADABLE:
        sound = False
    first = number * SHARD_RUNS if type(number) is int else number
    if type(first) is int and abs(first) >= 2**63:  # more than SQLite keeps
        first, sound = number, False
    values = point, SHARD.name, first, shard[2] if shard else 0, body, provenance
    result = Result._make((*values, ""))
    if digest:
        sound = sound and hash_of(shard + runs[2:] + origin[2:]) == digest[2]
    elif sound:
        sound = not any(SHARD.flaws(result))
        if sound and runs:  # they must add up to histograms and totals
            sound = vars(tally_of([result])) == {**histograms, "runs": SHARD_RUNS}
    if not sound:
        return result._replace(hash=CHANGED)
    return result._replace(hash=hash_of(values) if digest else "")


def _histograms(shard: Row) -> dict[str, Any]:
    """Return the histograms and totals of a row of the table ``shards``."""
    _, _, _, capped, *texts, collisions, destroyed, messages = shard
    totals = zip((*TOTALS, "capped"), (collisions, destroyed, messages, capped), strict=True)
    read = [{int(value): runs for value, runs in json.loads(text).items()} for text in texts]
    return {
        **{name: dict(sorted(runs.items())) for name, runs in zip(HISTOGRAMS, read, strict=True)},
        **{name: total for name, total in totals if type(total) is int},
    }


def window_of(row: Row) -> Result:
    """Return a point of traffic as today's format has it."""
    point, _, result, provenance, digest = row
    values = point, WINDOW.name, 0, 1, result, provenance
    return Result._make((*values, hash_of(values) if hash_of(row[:4]) == digest else CHANGED))


def point_of(row: Row) -> Row:
    """Return the name and the identity of a row of the table ``points``."""
    digest, *values = row
    with suppress(*UNREADABLE):
        names = [*Experiment.spelling.keys({})]
        record = dict(zip(names, values, strict=True))
        record |= {name: int(record[name]) for name in ("seed", "permutation_seed")}
        return digest, Experiment.recorded(record).record
    return digest, ""


def arrivals_of(row: Row) -> Row:
    """Return the name and the identity of a row of the table ``traffic``."""
    with suppress(*UNREADABLE):
        values = {WINDOW.experiment.spelling.tag: WINDOW.experiment.spelling.format}
        return row[0], json.dumps({**values, **json.loads(row[1])}, sort_keys=True)
    return row[0], ""


def tables_of(database: sqlite3.Connection, names: Collection[str]) -> Tables:
    """Return what is in some of the tables of format 2 as tables of today, kept in memory."""
    old, today = Tables(database), sqlite3.connect(":memory:")

    def rows(table: str) -> Iterator[Row]:
        query = f"SELECT * FROM {table} ORDER BY point"  # noqa: S608 - names of ours
        return old.each(query) if table in names else iter(())

    try:
        described = chain(map(point_of, rows("points")), map(arrivals_of, rows("traffic")))
        results = chain(_shards(old, names), map(window_of, rows("traffic")))
        create_tables(today, described, results)
    except BaseException:
        today.close()
        raise
    return Tables(today)


def _shards(old: Tables, names: Collection[str]) -> Iterator[Result]:
    """Yield each shard of which any table has a row."""
    tables = [table for table in OF_SHARDS if table in names]
    keys = " UNION ".join(f"SELECT point, shard FROM {table}" for table in tables)  # noqa: S608
    joins = " ".join(f"LEFT JOIN {table} USING (point, shard)" for table in tables)
    columns = ", ".join(f"{table}.*" for table in tables)
    for row in old.each(f"SELECT k.*, {columns} FROM ({keys}) AS k {joins} ORDER BY 1, 2"):  # noqa: S608
        key, place, parts = row[:2], 2, {}
        for table in tables:
            part = row[place : place + OF_SHARDS[table]]
            parts[table] = () if part[0] is None else part
            place += OF_SHARDS[table]
        yield shard_of(key, *(parts.get(table, ()) for table in OF_SHARDS))
