"""Processes that try inputs. One that dies, or takes too long for an input, is noticed."""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import shutil
import signal
import tempfile
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TypeAlias

from tests.fuzz.kinds import Input, attempt, corpus_inputs, make_input
from tests.fuzz.trial import Finding, limited

LIMIT_SECONDS = 60.0
"""An input that takes longer is a finding. Most take milliseconds, unless a kernel is compiled."""

_MOST_BYTES = 4 * 2**30
"""A worker may have this much more address space than it has at the start."""

Result: TypeAlias = tuple[int, str, str, str]
"""The number of an input, its kind, its exit code, and what was found."""


@dataclass(frozen=True)
class Options:
    """What is tried."""

    seed: int
    kinds: tuple[str, ...] = ()
    limit: float = LIMIT_SECONDS

    def input(self, number: int) -> Input:
        """Return an input: those below zero are the corpus as it is."""
        return (
            corpus_inputs()[-1 - number]
            if number < 0
            else make_input(self.seed, number, self.kinds)
        )


def trial(one: Input, folder: Path) -> tuple[str, str]:
    """Return the exit code, and what was found, or an empty text."""
    try:
        return str(attempt(one, folder)), ""
    except Finding as found:
        return "finding", str(found)
    except Exception as error:  # the oracle calls the library as well
        return "finding", f"{type(error).__name__}: {error}\n{traceback.format_exc()}"


def work(options: Options, numbers: range, pipe: Connection, dump: str) -> None:
    """Try inputs and report each; what a worker does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the program that started it says what is done
    _limit_memory()
    folder = Path(place()) / f"popsnet-fuzz-{os.getpid()}"
    with limited(), Path(dump).open("w", encoding="utf-8") as file:
        for number in numbers:
            faulthandler.dump_traceback_later(options.limit, exit=True, file=file)
            one = options.input(number)
            pipe.send((number, one.kind, *trial(one, folder)))
        faulthandler.cancel_dump_traceback_later()


def place() -> str:
    """Return a folder for files that need not reach a disk."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else tempfile.gettempdir()


def _limit_memory() -> None:
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    import psutil

    most = psutil.Process().memory_info().vms + _MOST_BYTES
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))


@dataclass
class Worker:
    """A process that tries every ``jobs``-th input."""

    options: Options
    left: range
    dump: Path
    process: BaseProcess = field(init=False)
    pipe: Connection = field(init=False)

    def start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe(duplex=False)
        arguments = (self.options, self.left, other, str(self.dump))
        self.process = context.Process(target=work, args=arguments, daemon=True)
        self.process.start()
        other.close()

    def receive(self) -> Result:
        """Return the next result; after a death, start again behind that input."""
        try:
            result: Result = self.pipe.recv()
            number = result[0]
        except EOFError:
            self.process.join()
            number = self.left[0]
            _remove_folder(self.process.pid)
            result = number, self.options.input(number).kind, "finding", self._death()
            self.left = self.left[1:]
            if self.left:
                self.start()
            return result
        self.left = self.left[self.left.index(number) + 1 :]
        return result

    def _death(self) -> str:
        dumped = self.dump.read_text(encoding="utf-8") if self.dump.exists() else ""
        if "Timeout" in dumped:
            return f"no end after {self.options.limit:.0f} s\n{dumped}"
        return f"the process died, exit code {self.process.exitcode}\n{dumped}"

    def stop(self) -> None:
        self.process.kill()  # a command would take SIGTERM for its own
        self.process.join()
        _remove_folder(self.process.pid)


def _remove_folder(process: int | None) -> None:
    shutil.rmtree(Path(place()) / f"popsnet-fuzz-{process}", ignore_errors=True)


def results(options: Options, numbers: range, jobs: int) -> Iterator[Result]:
    """Try inputs in worker processes; yield number, kind, exit code and finding of each."""
    with tempfile.TemporaryDirectory() as folder:
        parts = [numbers[i::jobs] for i in range(jobs)]
        workers = [
            Worker(options, part, Path(folder, str(i))) for i, part in enumerate(parts) if part
        ]
        try:
            for one in workers:
                one.start()
            while busy := {one.pipe: one for one in workers if one.left}:
                for pipe in wait(list(busy)):
                    yield busy[pipe].receive()  # type: ignore[index]
        finally:
            for one in workers:
                one.stop()
