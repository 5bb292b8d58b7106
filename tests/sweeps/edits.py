"""Stores for tests: their rows, edits by hand, and what popsnet 0.6 would have written."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec

from popsnet.engines.outcome import HISTOGRAMS, TOTALS
from popsnet.sweeps import format_2
from popsnet.sweeps.kind import Result, hash_of
from popsnet.sweeps.rows import APPLICATION
from popsnet.sweeps.shard import RUN_COLUMNS, SHARD_RUNS, columns_of
from popsnet.sweeps.store import Store


def change(path: str | Path, *statements: str) -> None:
    """Execute statements on a store."""
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        for statement in statements:
            database.execute(statement)


def rows_of(store: Store | str | Path, kind: str = "shard") -> list[Result]:
    """Return the results of a kind that a store has."""
    if isinstance(store, Store):
        rows = map(Result._make, store.rows("results"))
        return [row for row in rows if row.kind == kind]
    with Store(store) as opened:
        return rows_of(opened, kind)


def kept(store: Store | str | Path, kind: str = "shard") -> list[tuple[Any, ...]]:
    """Return what results of a kind depend on nothing but what was run."""
    return [tuple(row[:5]) for row in rows_of(store, kind)]


def results(store: Store | str | Path) -> list[list[tuple[Any, ...]]]:
    """Return the experiments, and what their results depend on nothing but what was run."""
    if not isinstance(store, Store):
        with Store(store) as opened:
            return results(opened)
    return [store.rows("experiments"), [*kept(store), *kept(store, "window")]]


def edit(path: str | Path, change: Callable[[Result], Result], *, hashed: bool = False) -> None:
    """Change the results of a store, as someone who may compute hashes."""
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        there = [Result._make(row) for row in database.execute("SELECT * FROM results")]
        database.execute("DELETE FROM results")
        for row in there:
            new = change(row)
            new = new._replace(hash=hash_of(new[:6])) if hashed and new != row else new
            database.execute("INSERT INTO results VALUES (?, ?, ?, ?, ?, ?, ?)", new)


def with_counts(row: Result, **counts: Any) -> Result:
    """Return a shard with other counts of its runs."""
    body = msgspec.msgpack.decode(bytes(row.body))  # type: ignore[arg-type]
    return row._replace(body=msgspec.msgpack.encode({**body, **counts}))


def as_format_2(path: str | Path) -> Path:
    """Write a store again as popsnet 0.6 would have."""
    path = Path(path)
    with Store(path) as store:
        experiments, there = store.rows("experiments"), rows_of(store)
        points = rows_of(store, "window")
    path.unlink()
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        for statement in format_2.TABLES.values():
            database.execute(statement)
        database.execute(f"PRAGMA application_id = {APPLICATION}")
        database.execute(f"PRAGMA user_version = {format_2.VERSION}")
        identities = {digest: json.loads(text) for digest, text in experiments}
        for digest, identity in identities.items():
            if "format" in identity:
                names = "d", "g", "router", "version", "variant", "permutation"
                seeds = str(identity["seed"]), str(identity["permutation_seed"])
                row = (digest, *(identity[name] for name in names), *seeds, identity["max_steps"])
                _insert(database, "points", row)
        for result in there:
            _insert_shard(database, result)
        for result in points:
            identity = {k: v for k, v in identities[result.digest].items() if k != "traffic"}
            text = json.dumps(identity, sort_keys=True)
            row = result.digest, text, result.body, result.provenance
            _insert(database, "traffic", (*row, _digest(row)))
    return path


def _insert_shard(database: sqlite3.Connection, result: Result) -> None:
    columns = columns_of(result)
    texts = [json.dumps(Counter(sorted(columns[name]))) for name in HISTOGRAMS]
    totals = [sum(columns[name]) for name in TOTALS]
    key = result.digest, result.first // SHARD_RUNS
    shard = (*key, SHARD_RUNS, sum(columns["capped"]), *texts, *totals)
    every = [columns[name] for name in RUN_COLUMNS]
    equal = [ten[0] if len(set(ten)) == 1 else ten for ten in every]
    runs = (*key, msgspec.msgpack.encode(equal))
    origin = json.loads(result.provenance)
    given = origin.pop("given")
    names = "engine", "popsnet", "python", "numpy", "numba", "machine"
    files = given["router_file"], given["permutation_file"]
    made = (*(origin[name] for name in names), *files, origin["seconds"], origin["finished"])
    for table, row in (("shards", shard), ("runs", runs), ("provenance", (*key, *made))):
        _insert(database, table, row)
    _insert(database, "digests", (*key, _digest(shard + runs[2:] + made)))


def _insert(database: sqlite3.Connection, table: str, row: tuple[Any, ...]) -> None:
    places = ", ".join("?" * len(row))
    database.execute(f"INSERT INTO {table} VALUES ({places})", row)


def _digest(values: tuple[Any, ...]) -> str:
    return blake2b(msgspec.msgpack.encode(values), digest_size=16).hexdigest()
