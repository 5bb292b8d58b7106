"""The SQLite file of a store: opened with care, because it may be damaged, or made by others."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from popsnet.base.errors import StoreError
from popsnet.base.files import require_writable
from popsnet.sweeps import format_2, rows
from popsnet.sweeps.kind import UnreadableError

MAGIC = b"SQLite format 3\0"
"""The first bytes of an SQLite file."""

_PATIENCE_SECONDS = 60.0
_LONGEST_ROW = 2**24
"""Bytes. Longer rows are refused, so that a damaged length does not fill the memory."""

_ENVIRONMENT = frozenset((
    sqlite3.SQLITE_PERM, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_READONLY, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_NOLFS, sqlite3.SQLITE_AUTH,
))  # fmt: skip
"""Errors that say nothing about what is in the file."""


class DamagedError(StoreError):
    """The file is a store, or was one, and something in it is not as popsnet wrote it."""


def how_to_rescue(path: Path | str) -> str:
    """Return the sentence that names the cure for a damaged store."""
    return f"popsnet results rescue {path} NEW copies the results that can be read to a new store."


def damaged(path: Path, what: str) -> DamagedError:
    """Return the error that says what is damaged, and the cure."""
    return DamagedError(f"{path} is damaged: {what.rstrip('.')}. {how_to_rescue(path)}")


@contextmanager
def errors_named(path: Path) -> Iterator[None]:
    """Turn errors of SQLite and unreadable values into errors that name the file and the cure."""
    try:
        yield
    except sqlite3.ProgrammingError as error:
        raise StoreError(f"{path} could not be used: {error} Open it again.") from error
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in _ENVIRONMENT:
            hint = f" {_if_damaged(path)}" if code == sqlite3.SQLITE_READONLY else ""
            raise StoreError(f"{path} could not be used: {error}.{hint}") from error
        not_text = str(error).startswith("Could not decode")
        raise damaged(path, "it has text that is not UTF-8" if not_text else str(error)) from error
    except UnicodeDecodeError as error:
        raise damaged(path, "it has text that is not UTF-8") from error
    except UnreadableError as error:
        raise damaged(path, str(error)) from error


def connect(path: Path, create: bool) -> sqlite3.Connection:
    """Open a file for reading, or with ``create`` for writing, and trust nothing that is in it."""
    _require_sqlite(path, create)
    address = f"{path.resolve().as_uri()}?mode={'rwc' if create else 'rw'}"
    database = sqlite3.connect(address, uri=True, isolation_level=None, timeout=_PATIENCE_SECONDS)
    try:
        database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_ROW)
        if sys.version_info >= (3, 12):
            database.setconfig(sqlite3.SQLITE_DBCONFIG_DEFENSIVE, True)
        database.execute("PRAGMA trusted_schema = 0")
        database.execute("PRAGMA cell_size_check = 1")
        database.execute(f"PRAGMA query_only = {not create:d}")
    except BaseException:
        database.close()
        raise
    return database


def _require_sqlite(path: Path, create: bool) -> None:
    """Refuse a file that is not a database, earlier than SQLite would."""
    if create:
        require_writable(path)
    if not path.is_file():
        if path.exists():
            what = "a folder" if path.is_dir() else "a device or a pipe"
            raise StoreError(f"{path} is {what}, not a store.")
        if not create:
            raise StoreError(f"The store {path} does not exist. popsnet sweep writes one.")
        return
    with path.open("rb") as file:
        first = file.read(len(MAGIC))
    if not first and not create:
        raise StoreError(f"{path} is empty. popsnet sweep writes results.")
    if first and first != MAGIC:
        raise StoreError(
            f"{path} is not a store of results: it is not an SQLite file. {_if_damaged(path)}"
        )


def _if_damaged(path: Path) -> str:
    return f"If it was a store and is damaged: {how_to_rescue(path)}"


def fetch(database: sqlite3.Connection, query: str, *values: object) -> list[tuple[Any, ...]]:
    """Return the rows of a query."""
    with closing(database.execute(query, values)) as rows_read:
        return rows_read.fetchall()


def make_store(database: sqlite3.Connection) -> None:
    """Make a database a store if it has no tables and belongs to no program."""
    tables = fetch(database, "SELECT 1 FROM sqlite_master LIMIT 1")
    if not tables and fetch(database, "PRAGMA application_id") == [(0,)]:
        rows.create_tables(database)
        database.execute(f"PRAGMA application_id = {rows.APPLICATION}")
        database.execute(f"PRAGMA user_version = {rows.VERSION}")


TABLES = {**format_2.TABLES, **rows.TABLES}
"""The tables of all formats."""
_FORMATS = {rows.VERSION: rows.TABLES, format_2.VERSION: format_2.TABLES}
"""The tables of each format that is read."""


def require_store(database: sqlite3.Connection, path: Path) -> None:
    """Refuse a database that is not a store, or a damaged one."""
    ((application,),) = fetch(database, "PRAGMA application_id")
    if application != rows.APPLICATION:
        raise StoreError(
            f"{path} is a database of another program, not a store of popsnet. Give another name. "
            f"{_if_damaged(path)}"
        )
    _format(database, path)
    ((state,),) = fetch(database, "PRAGMA quick_check(1)")
    if state != "ok":
        raise damaged(path, state)


def tables_of(database: sqlite3.Connection, path: Path) -> rows.Tables:
    """Return the tables of a store, as its format has them now; another program may convert it."""
    version, names = _format(database, path)
    return rows.Tables(database) if version == rows.VERSION else format_2.tables_of(database, names)


def _format(database: sqlite3.Connection, path: Path) -> tuple[int, set[str]]:
    """Return the format of a store and which of its tables there are."""
    ((version,),) = fetch(database, "PRAGMA user_version")
    if version not in _FORMATS:
        raise StoreError(
            f"{path} has format {version}, and this popsnet reads {rows.VERSION} and "
            f"{format_2.VERSION}. Use the popsnet that wrote it, or another store. "
            f"{_if_damaged(path)}"
        )
    return version, _names(database, path, _FORMATS[version])


def _names(database: sqlite3.Connection, path: Path, tables: Mapping[str, str]) -> set[str]:
    """Return which tables there are, all as popsnet creates them.

    A view or a trigger in their place could return anything, or run for ever.
    """
    present = set()
    schema = fetch(database, "SELECT type, name, tbl_name, sql FROM sqlite_master")
    for kind, name, table, text in schema:
        if ours := {str(name).lower(), str(table).lower()} & tables.keys():
            (own, *_) = ours
            if (kind, name, table) != ("table", own, own) or not _same(text, tables[own]):
                raise damaged(path, f"its {kind} {name} is not what popsnet creates")
            present.add(own)
    if missing := tables.keys() - present - {*format_2.ADDED}:
        raise damaged(path, f"it has no table {min(missing)}")
    return present


def sound_tables(database: sqlite3.Connection) -> set[str]:
    """Return the tables that are as popsnet creates them, in either format."""
    schema = fetch(database, "SELECT name, sql FROM sqlite_master WHERE type = 'table'")
    return {name for name, text in schema if _same(text, TABLES.get(name, ""))}


def _same(text: object, statement: str) -> bool:
    return isinstance(text, str) and text.split() == statement.split()
