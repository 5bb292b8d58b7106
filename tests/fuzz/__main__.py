"""``python -m tests.fuzz``: give popsnet inputs that it does not expect.

An input is made from one in the corpus by mutations, and depends only on the seed and its number.
Worker processes give inputs to the command line. A worker that dies, or works on one input for too
long, is a finding too.
"""

from __future__ import annotations

import argparse
import faulthandler
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tests.fuzz.kinds import KINDS, Input, command_of, corpus_inputs
from tests.fuzz.trial import limited
from tests.fuzz.workers import LIMIT_SECONDS, Options, place, results, trial

_MOST_SAVED = 3
"""Findings of the same kind that are saved; all are counted."""

_SECONDS_BETWEEN_LINES = 5.0


@dataclass
class Summary:
    """What was tried and found."""

    options: Options
    folder: Path
    codes: dict[str, Counter[str]] = field(default_factory=dict)
    found: Counter[str] = field(default_factory=Counter)
    begin: float = field(default_factory=time.monotonic)

    def add(self, number: int, kind: str, code: str, finding: str) -> None:
        """Count a result; save a finding unless there are several like it."""
        self.codes.setdefault(kind, Counter())[code] += 1
        if not finding:
            return
        what = f"{kind}: {signature(finding)}"
        self.found[what] += 1
        if self.found[what] <= _MOST_SAVED:
            print(f"FOUND {what}\n  {self._save(number, finding)}", flush=True)

    def _save(self, number: int, finding: str) -> Path:
        one = self.options.input(number)
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"{one.kind}-{self.options.seed}-{number}-{one.name}"
        path.write_bytes(one.data)
        again = f"python -m tests.fuzz --seed {self.options.seed} --input {number}"
        kinds = "".join(f" --kind {kind}" for kind in self.options.kinds)
        text = f"{again}{kinds}\n{command_of(one)[:2000]}\n\n{finding}\n"
        Path(f"{path}.finding").write_text(text, encoding="utf-8", errors="backslashreplace")
        return path

    @property
    def count(self) -> int:
        return sum(sum(codes.values()) for codes in self.codes.values())

    def progress(self) -> str:
        seconds = time.monotonic() - self.begin
        found = sum(self.found.values())
        return f"{self.count:,} inputs in {seconds:.0f} s, {found:,} findings"

    def __str__(self) -> str:
        names = sorted({code for codes in self.codes.values() for code in codes})
        rows = [["kind", "inputs", *(f"exit {name}" for name in names)]]
        for kind, codes in sorted(self.codes.items()):
            rows.append([kind, *map(str, [sum(codes.values()), *(codes[one] for one in names)])])
        table = "\n".join("".join(f"{cell:>13}" for cell in row) for row in rows)
        found = "".join(f"\n{count:6,} × {what}" for what, count in self.found.most_common())
        return f"{table}\n{self.progress()}, seed {self.options.seed}.{found}"


def signature(finding: str) -> str:
    """Return what findings of the same cause have in common: the first line, and the last place."""
    first, *rest = finding.splitlines() or [""]
    places = [line.strip() for line in rest if re.match(r'\s*File ".*popsnet/', line)]
    where = re.sub(r'File ".*(popsnet/[^"]*)"', r"\1", places[-1]) if places else ""
    return f"{re.sub(r'[0-9]+', 'N', first)[:100]} {where}".strip()


def minimized(one: Input, is_same: Callable[[Input], bool]) -> Input:
    """Remove parts of an input, half of it at first, as long as the finding remains."""
    size = max(len(one.data) // 2, 1)
    while size:
        begin = 0
        while begin < len(one.data):
            less = replace(one, data=one.data[:begin] + one.data[begin + size :])
            if is_same(less):
                one = less
            else:
                begin += size
        size //= 2
    return one


def repeat(options: Options, number: int, folder: Path) -> int:
    """Try one input in this process, and save a smaller one if it is a finding."""
    one = options.input(number)
    work_folder = Path(place()) / f"popsnet-fuzz-{os.getpid()}"
    print(f"{one.kind}, from {one.name}: {command_of(one)}")
    with limited():
        faulthandler.dump_traceback_later(options.limit, exit=True, file=sys.__stderr__ or 2)
        code, finding = trial(one, work_folder)
        faulthandler.cancel_dump_traceback_later()
        if not finding:
            print(f"exit code {code}")
            return 0
        print(finding)
        what = signature(finding)
        less = minimized(one, lambda other: signature(trial(other, work_folder)[1]) == what)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"smaller-{one.kind}-{options.seed}-{number}-{one.name}"
    path.write_bytes(less.data)
    print(f"{len(one.data):,} bytes, of which {len(less.data):,} are enough: {path}")
    return 1


def run(options: Options, numbers: range, jobs: int, folder: Path) -> int:
    """Try inputs, show progress and a summary; return how the program ends."""
    summary = Summary(options, folder)
    shown = summary.begin
    code = 0
    try:
        for result in results(options, numbers, jobs):
            summary.add(*result)
            if time.monotonic() - shown > _SECONDS_BETWEEN_LINES:
                shown = time.monotonic()
                print(summary.progress(), file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        code = 130
    print(summary)
    return 1 if summary.found else code


def main(arguments: list[str] | None = None) -> int:
    """Read the options and do what they say."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    add: Any = parser.add_argument
    add("--inputs", type=int, default=20_000, help="how many; default 20,000, after the corpus")
    add("--seed", type=int, default=0, help="seed of the mutations; default 0")
    add("--input", type=int, help="try this input alone, and make it smaller if it is a finding")
    add("--kind", action="append", choices=list(KINDS), help="only this kind; may be repeated")
    add("--jobs", type=int, default=os.cpu_count() or 1, help="processes; default: all processors")
    add("--limit", type=float, default=LIMIT_SECONDS, help="seconds for an input; default 60")
    add("--findings", type=Path, default=Path("build/fuzz"), help="folder; default build/fuzz")
    given = parser.parse_args(arguments)
    options = Options(given.seed, tuple(given.kind or ()), given.limit)
    if given.input is not None:
        return repeat(options, given.input, given.findings)
    first = 0 if given.kind else -len(corpus_inputs())
    return run(options, range(first, given.inputs), max(given.jobs, 1), given.findings)


if __name__ == "__main__":
    sys.exit(main())
