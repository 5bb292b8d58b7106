"""Routes many packets by relay, message by message, and looks at every buffer at the end.

    python -m tests.routing.relay.route_many [PACKETS] [--first NUMBER] [--workers WORKERS]

routes 10^8 unless told, on networks of 2^16 to 2^20 processors and on thousands of small ones of
all shapes, by default plans, random schedules, census and roll call, on all named permutations and
the families of the tests. A number stands for a batch of runs; another ``--first`` gives others.
What fails is printed so that it can be run again, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from itertools import count
from multiprocessing import get_context

from tests.routing.relay.staged import FAMILIES, Dose, any_dose

SMALL_RUNS = 100
LARGE: list[tuple[int, int, str | None]] = [
    (1024, 1024, None),
    (256, 256, None),
    (512, 512, "P2 P1 P1 P1 R2 R1"),
    (1024, 512, "P4 P2 P1 P1 R2 R1"),
    (1024, 256, "P(5,5) P4 F F R3 R1"),
    (1024, 256, None),
    (512, 1024, None),
    (1024, 1024, "S"),
    (256, 1024, None),
    (1000, 300, None),
    (700, 701, None),
    (777, 333, "P5 | F P2"),
    (1024, 64, "P(24,17,12,7) F"),
    (1024, 64, "census"),
    (300, 1000, "XY(2,2)"),
    (64, 1024, None),
    (512, 512, "F"),
]


def batch(number: int) -> list[Dose]:
    """The runs that a number stands for: small ones, or one that is large."""
    turn, kind = divmod(number, len(LARGE) + 1)
    if kind == len(LARGE):
        return [any_dose(10_000 + SMALL_RUNS * turn + run, 5000) for run in range(SMALL_RUNS)]
    d, g, variant = LARGE[kind]
    power_of_two = d * g & d * g - 1 == 0
    kinds = [name for name in FAMILIES if power_of_two or name != "bit-reversal"]
    return [Dose(d, g, kinds[(turn + 5 * kind) % len(kinds)], variant, number)]


def do(number: int) -> tuple[int, int, list[str]]:
    """Packets and runs of a batch, and what failed."""
    doses = batch(number)
    found = [(dose, dose.complaint()) for dose in doses]
    failed = [f"{dose}: {complaint}" for dose, complaint in found if complaint is not None]
    return sum(dose.network.n for dose in doses), len(doses), failed


def main() -> int:
    """Route until there are enough packets."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("packets", nargs="?", type=float, default=1e8)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    given = parser.parse_args()
    begin = said = time.monotonic()
    packets, runs, failed = 0, 0, []
    numbers = count(given.first)
    waiting: set[Future[tuple[int, int, list[str]]]] = set()
    with ProcessPoolExecutor(given.workers, get_context("spawn")) as pool:
        while packets < given.packets or waiting:
            while packets < given.packets and len(waiting) < given.workers + 1:
                waiting.add(pool.submit(do, next(numbers)))
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for one in done:
                more_packets, more_runs, complaints = one.result()
                packets, runs = packets + more_packets, runs + more_runs
                failed += complaints
                for complaint in complaints:
                    print(f"FAILED {complaint}", flush=True)
            now = time.monotonic()
            if now - said > 5:
                rate = packets / (now - begin)
                left = max(given.packets - packets, 0) / rate
                print(f"{packets:,} packets in {runs:,} runs, {rate:,.0f} a second, "
                      f"about {left:,.0f} s left", flush=True)  # fmt: skip
                said = now
    seconds = time.monotonic() - begin
    print(f"{packets:,} packets in {runs:,} runs, every message executed, in {seconds:,.0f} s: "
          f"{len(failed)} runs failed.")  # fmt: skip
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
