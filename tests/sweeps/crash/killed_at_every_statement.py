"""Run by test_kill: kills a sweep at each statement it makes, or at some, and checks what is left.

It runs in a process of its own without threads, so that it can be forked.
"""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import sys
from collections.abc import Callable
from concurrent.futures import Executor, Future
from itertools import count
from pathlib import Path
from typing import Any

from popsnet import Experiment
from popsnet.sweeps.runner import collect
from popsnet.sweeps.store import Store

WANTED = [(Experiment(4, 4), 30), (Experiment(3, 5, router="direct"), 20)]


class AtOnce(Executor):
    def submit(self, work: Any, /, *arguments: Any, **others: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(work(*arguments))
        return future


def sweep(path: Path, told: int | None = None) -> list[list[tuple[Any, ...]]]:
    with Store(path, create=True) as store:
        report = None if told is None else lambda *_: os.write(told, b".")
        collect(WANTED, store=store, executor=AtOnce(), workers=1, progress=report)  # type: ignore[arg-type]
        return [store.rows("experiments"), kept(store)]


def kept(store: Store) -> list[tuple[Any, ...]]:
    """Return what results depend on nothing but what was run."""
    return [row[:5] for row in store.rows("results")]


def convert(path: Path, told: int) -> None:
    with Store(path, create=True) as store:
        store.convert()


def done_until(work: Callable[[Path, int], object], path: Path, statement: int) -> tuple[bool, int]:
    """Whether the work was killed, and how many shards it had said were finished."""
    listening, told = os.pipe()
    child = os.fork()
    if not child:
        kill_at(statement)
        work(path, told)
        os._exit(0)
    os.close(told)
    _, status = os.waitpid(child, 0)
    with os.fdopen(listening, "rb") as reports:
        said = len(reports.read())
    assert status in (0, signal.SIGKILL), status
    return status == signal.SIGKILL, said


def kill_at(statement: int) -> None:
    connect, made = sqlite3.connect, count(1)

    def connect_counted(*arguments: Any, **others: Any) -> sqlite3.Connection:
        database: sqlite3.Connection = connect(*arguments, **others)

        def trace(_: str) -> None:
            if next(made) == statement:
                os.kill(os.getpid(), signal.SIGKILL)

        database.set_trace_callback(trace)
        return database

    sqlite3.connect = connect_counted  # type: ignore[assignment]


def kill_conversions(old: Path, folder: Path, every: int) -> None:
    """A store of format 2 is whole in either format, whenever its conversion is killed."""
    with Store(old) as store:
        expected = store.rows("experiments"), store.rows("results")
    formats = set()
    for statement in count(1, every):
        path = folder / f"old{statement}.sqlite"
        shutil.copy(old, path)
        killed, _ = done_until(convert, path, statement)
        for create in (False, True):
            with Store(path, create=create) as store:
                formats.add(store.format)
                assert store.flaws() == [], statement
                assert (store.rows("experiments"), store.rows("results")) == expected, statement
                if create:
                    store.convert()
        if (copy := path.with_name(f"{path.name}.format2")).exists():
            with Store(copy) as store:
                assert (store.rows("experiments"), store.rows("results")) == expected, statement
        if not killed:
            assert formats == {2, 3}
            return


def main(folder: Path, old: Path, every: int) -> None:
    kill_conversions(old, folder, every)
    expected = sweep(folder / "whole.sqlite")
    for statement in count(1, every):
        path = folder / f"{statement}.sqlite"
        killed, said = done_until(sweep, path, statement)
        if not killed:
            print(statement - 1)
            return
        with Store(path, create=True) as store:
            assert store.flaws() == [], statement
            there = kept(store)
            assert len(there) >= said, statement
            assert set(there) <= set(expected[1]), statement
        assert sweep(path) == expected, statement


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
