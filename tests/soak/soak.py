"""Draws and checks cases on all processors until a time or a number of packets is reached."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
import traceback
from collections import Counter, deque
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import count
from pathlib import Path

from popsnet.base.progress import patient_progress
from tests.soak.cases import draw_case
from tests.soak.checks import SAFE, check_case
from tests.soak.record import BLOCK, Block, Record

_SECONDS_BETWEEN_WRITES = 5.0


def do_block(root: int, first: int, stages: str = "") -> Block:
    """Check some cases, one after another."""
    done, begin = Block(), time.process_time()
    for number in range(first, first + BLOCK):
        try:
            row, counts, network = check_case(root, number, stages)
        except Exception as error:
            done.faults.append(
                {
                    "case": number,
                    "what": _described(root, number, stages),
                    "error": f"{type(error).__name__}: {error}",
                    "command": command(root, number, stages),
                }
            )
            continue
        done.rows[row] = done.rows.get(row, Counter()) + counts
        done.largest = max(done.largest, (network.d, network.g), key=lambda one: one[0] * one[1])
    done.cpu_seconds = time.process_time() - begin
    return done


def _described(root: int, number: int, stages: str) -> str:
    try:
        return repr(draw_case(root, number, stages))
    except Exception as error:
        return f"it cannot be drawn: {error!r}; {traceback.format_exc(limit=-1)}"


def command(root: int, number: int, stages: str = "") -> str:
    """What repeats a case."""
    only = f" --stages {stages}" if stages else ""
    return f"python -m tests.soak --case {number} --seed {root}{only}"


def soak(
    record: Record,
    path: Path,
    *,
    seconds: float,
    goal: float = float("inf"),
    workers: int = 2,
    go_on: bool = False,
) -> None:
    """Add cases to the record until the time is over, the goal is reached, or a case fails.

    Blocks are added in order, so that the record is always of all cases up to a number and, for a
    goal, does not depend on the workers.

    Parameters
    ----------
    record : Record
        What was done before; it is changed and written to the file every few seconds.
    path : Path
        The file.
    seconds : float
        No case is begun later than this.
    goal : float
        Stop when routers that may lose none have delivered this many packets.
    workers : int
        The number of processes; 0 for none besides this one.
    go_on : bool
        Whether to go on after a case that fails.
    """
    begin = written = time.monotonic()
    before = record.safe_packets
    numbers = count(record.cases, BLOCK)
    waiting: deque[Future[Block]] = deque()
    total = None if goal == float("inf") else int(goal)
    pool = _pool(workers) if workers else None

    def late() -> bool:
        return time.monotonic() - begin >= seconds

    def submit() -> None:
        """Keep the workers busy while there is time."""
        while len(waiting) < 2 * max(workers, 1) and not late():
            first = next(numbers)
            if pool is not None:
                waiting.append(pool.submit(do_block, record.seed, first, record.stages))
                continue
            waiting.append(Future())
            waiting[-1].set_result(do_block(record.seed, first, record.stages))
            return

    try:
        with patient_progress("soak", total) as update:
            submit()
            while waiting and record.safe_packets < goal and (go_on or not record.faults):
                record.add(waiting.popleft().result())
                submit()
                now = time.monotonic()
                rate = (record.safe_packets - before) / max(now - begin, 1e-9)
                update(min(record.safe_packets, total or 0), _detail(record, rate))
                if now - written > _SECONDS_BETWEEN_WRITES:
                    record.write(path)
                    written = now
    except BrokenProcessPool as error:
        last = record.cases + BLOCK * len(waiting) + BLOCK - 1
        error.add_note(f"A process died in a case from {record.cases} to {last}; try --case.")
        raise
    finally:
        if pool is not None:
            for child in multiprocessing.active_children():
                child.terminate()  # what is not in the record is done again
            pool.shutdown(cancel_futures=True)
        record.write(path)


def _detail(record: Record, rate: float) -> str:
    safe = record.total(SAFE)
    return (
        f"{record.cases:,} cases, {safe['delivered']:,} packets by routers that may lose none, "
        f"{safe['lost']:,} lost, {rate:,.0f} per second, {len(record.faults)} failures"
    )


def _pool(workers: int) -> ProcessPoolExecutor:
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(workers, context, initializer=_begin_worker)


def _begin_worker() -> None:
    """Leave Ctrl-C to the parent, and end with it even if it is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()

    def end_with_parent() -> None:
        assert parent is not None
        parent.join()
        os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()
