"""Routes at random for an hour, every message executed and every packet looked for.

    make soak
    make soak SOAK="--minutes 20 --goal 1e9"
    make soak SOAK="--stages TQX --goal 1e9 --out results/soak-stages.json"
    python -m tests.soak --case 12345 --seed 0

A case is a network, a router and a variant, or a demand to schedule, with everything that decides
its runs, drawn from the root seed and its number. The record of all cases so far is kept in
results/soak.json, with a page for people beside it, and a new start goes on from there. The exit
code is 1 if a case failed; what repeats it is printed.
"""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path
from types import FrameType

from popsnet.base.errors import InputError
from popsnet.base.files import make_folder, require_writable
from popsnet.base.system import threads_here
from tests.soak.cases import draw_case
from tests.soak.checks import check
from tests.soak.record import Record, code_digest, read_record
from tests.soak.soak import soak

_GOAL = "stop when routers that may lose no packet have delivered this many"

OUT = Path(__file__).parents[2] / "results" / "soak.json"


class Terminated(KeyboardInterrupt):
    """SIGTERM, which ends a soak as Ctrl-C does."""


def main(arguments: list[str] | None = None) -> int:
    """Read the options, and soak or repeat a case."""
    given = _options(arguments)
    if given.case is not None:
        return _repeat(given.seed, given.case, given.stages)
    try:
        make_folder(given.out.parent)
        require_writable(given.out)
        record = (
            Record(given.seed, code_digest(), stages=given.stages)
            if given.fresh
            else read_record(given.out, given.seed, given.stages)
        )
    except InputError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 2
    code = 0
    try:
        soak(
            record, given.out, seconds=60 * given.minutes, goal=given.goal, workers=given.workers,
            go_on=given.go_on,
        )  # fmt: skip
    except KeyboardInterrupt as stop:
        code = 143 if isinstance(stop, Terminated) else 130
    print(record.page())
    for fault in record.faults:
        print(f"FAILED {fault['what']}\n  {fault['error']}\n  Repeat it: {fault['command']}")
    rate = record.safe_packets / max(record.cpu_seconds, 1e-9)
    print(f"{rate:,.0f} packets per second and processor. The record is {given.out}.")
    return code or int(bool(record.faults))


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.soak",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    option, endless = parser.add_argument, float("inf")
    option("--minutes", type=_at_least_zero, default=60, help="stop then; default 60")
    option("--goal", type=float, default=endless, metavar="PACKETS", help=_GOAL)
    option("--seed", type=_whole, default=0, help="the root seed; default 0")
    option("--case", type=_whole, help="check this case alone and keep no record")
    option("--stages", type=_letters, default="", help="only schedules of relay with one of these")
    option("--workers", type=_whole, default=threads_here(), help="processes; default: processors")
    option("--go-on", action="store_true", help="go on after a case that fails")
    option("--fresh", action="store_true", help="start again at case 0")
    option("--out", type=Path, default=OUT, help="the record; default results/soak.json")
    given = parser.parse_args(arguments)
    if not given.goal > 0:
        parser.error(f"--goal {given.goal:g}: it must be more than 0.")
    return given


def _whole(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r}: it must be an integer, at least 0.")
    return int(text)


def _letters(text: str) -> str:
    if set(text) - set("PSFRTQX"):
        raise argparse.ArgumentTypeError(f"{text!r}: it must be letters of P, S, F, R, T, Q, X.")
    return text


def _at_least_zero(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1
    if not value >= 0:
        raise argparse.ArgumentTypeError(f"{text!r}: it must be a number, at least 0.")
    return value


def _repeat(root: int, number: int, stages: str) -> int:
    """Check one case and print what it is; a failure ends with its traceback."""
    case = draw_case(root, number, stages)
    print(case, flush=True)
    (router, variant, guarantee), counts, _ = check(case)
    print(f"{router} ({variant}), {guarantee}: {dict(counts)}")
    return 0


def _terminate(number: int, frame: FrameType | None) -> None:
    raise Terminated


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _terminate)
    sys.exit(main())
