"""Kinds of inputs: which commands read them, and what is true of those that are accepted."""

from __future__ import annotations

import csv
import io
import json
import re
from base64 import b64decode
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from gzip import decompress
from html.parser import HTMLParser
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import popsnet
from popsnet.programs.routers.relay import parse_schedule
from popsnet.studies.computing import read_keys, write_keys
from popsnet.workloads.permutations import read_permutation, write_permutation
from tests.fuzz.mutation import (
    Mutation,
    database,
    json_tree,
    mutated,
    setting,
    small_number,
    stage,
    swap_numbers,
)
from tests.fuzz.replay import Broken, replay
from tests.fuzz.trial import MEMORY, Done, Finding, call, empty_folder, in_words, tried

CORPUS = Path(__file__).parent / "corpus"


@dataclass(frozen=True)
class Input:
    """An input, with the command that reads it."""

    kind: str
    name: str
    """The file of the corpus that it was made from. Its name may end in the network: -4x2.csv."""
    data: bytes
    command: int
    """Which command of its kind."""


@dataclass(frozen=True)
class Kind:
    """What is done with inputs of a kind.

    In a command, D and G stand for the network, FILE for the input. It may write files that are
    called out.
    """

    commands: tuple[str, ...]
    accepted: Callable[[Done], None]
    """Checks what was done with an input that was not refused."""
    mutations: tuple[Mutation, ...] = ()
    weight: int = 10
    memory: int = 300_000_000
    """Bytes of memory that the command finds available."""


def corpus(kind: str) -> list[Path]:
    """Return the inputs of a kind that are in the repository."""
    return sorted((CORPUS / kind).iterdir())


@cache
def _contents(kind: str) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in corpus(kind)}


def make_input(seed: int, number: int, kinds: Sequence[str] = ()) -> Input:
    """Return input ``number`` of a seed, by mutations of the corpus."""
    rng = Random(f"{seed}/{number}")
    names = list(kinds) or list(KINDS)
    kind = rng.choices(names, [KINDS[name].weight for name in names])[0]
    contents = _contents(kind)
    name = rng.choice(list(contents))
    data = mutated(contents[name], rng, list(contents.values()), KINDS[kind].mutations)
    return Input(kind, name, data, rng.randrange(len(KINDS[kind].commands)))


@cache
def corpus_inputs() -> tuple[Input, ...]:
    """Return every input of the corpus with every command of its kind."""
    return tuple(
        Input(kind, path.name, path.read_bytes(), command)
        for kind in KINDS
        for path in corpus(kind)
        for command in range(len(KINDS[kind].commands))
    )


def attempt(one: Input, folder: Path) -> int:
    """Give an input to its command, check all that is known, and return the exit code."""
    kind = KINDS[one.kind]
    MEMORY.available = kind.memory
    with empty_folder(folder):
        file = Path(f"input{Path(one.name).suffix}")
        if one.kind == "arguments":
            arguments = _typed(one.data)
            for path in corpus("companion"):
                Path(path.name).write_bytes(path.read_bytes())
            done = tried(arguments, one.data, None, lambda name: _is_named(name, arguments))
        else:
            arguments = _arguments(one, file)
            in_file = file.name in arguments
            if in_file:
                file.write_bytes(one.data)
            named = file if in_file else None
            done = tried(arguments, one.data, named, lambda name: name.startswith("out."))
        if not done.refused:
            kind.accepted(done)
    return done.code


def command_of(one: Input) -> str:
    """Return the command that an input is given to, as one would type it."""
    file = Path(f"input{Path(one.name).suffix}")
    return in_words(_typed(one.data) if one.kind == "arguments" else _arguments(one, file))


def _arguments(one: Input, file: Path) -> list[str]:
    shape = re.search(r"-(\d+)x(\d+)\.", one.name)
    d, g = shape.groups() if shape else ("4", "4")
    text = _tame(one.data.decode("utf-8", "surrogateescape"), 32)
    meaning = {"D": d, "G": g, "FILE": file.name, "TEXT": text, "relay:TEXT": f"relay:{text}"}
    return [meaning.get(word, word) for word in KINDS[one.kind].commands[one.command].split()]


def _tame(text: str, most: int) -> str:
    """Return what can be typed, without numbers that are large but not too large to be refused."""
    text = text.replace("\0", "")

    def smaller(number: re.Match[str]) -> str:
        digits = number[0]
        return digits if len(digits) > 12 or int(digits) <= most else str(int(digits) % most)

    return re.sub(r"[0-9]+", smaller, text)


def _typed(data: bytes) -> list[str]:
    """Return the arguments of a command, one per line, none of which leads out of the folder."""
    text = _tame(data.decode("utf-8", "surrogateescape"), 12)
    lines = [re.sub(r"(?<![\dd])/|\.\.|~", "", line) for line in text.split("\n")][:40]
    typed = [line for line in lines if line not in _NOT_TRIED and "completion" not in line]
    for i, before in enumerate(typed[:-1]):
        if before.endswith("runs"):  # a large number is no mistake: it takes long
            typed[i + 1] = typed[i + 1][:3]
    return typed


_NOT_TRIED = ("paper", "demo", "doctor")
"""Commands that take long or open a browser."""


def _is_named(name: str, arguments: list[str]) -> bool:
    return name in ("view.html", "results.sqlite") or any(name in one for one in arguments)


# What is true of inputs that are accepted


def _require(holds: bool, what: str, detail: object = "") -> None:
    if not holds:
        raise Finding(f"{what}\n{detail}")


def _again(arguments: str) -> dict[str, Any]:
    """Call another command, which must succeed, and return what it prints."""
    code, out, err = call(arguments.split())
    _require(code == 0, f"popsnet {arguments} ends with {code}", err)
    found: dict[str, Any] = json.loads(out)
    return found


def _check_trace(done: Done) -> None:
    """A second checker must say the same, with the same counts."""
    try:
        counts = replay(done.data.removeprefix(b"\xef\xbb\xbf"))
    except Broken:
        _require(done.code == 1, "a trace was accepted that breaks a rule")
        return
    _require(done.code == 0, "a trace was refused that breaks no rule", done.out)
    if "--json" in done.arguments:
        found = tuple(done.result[name] for name in (*counts._fields[:3], "packets"))
        _require(found == counts, f"the counts differ: {found}, {counts}")


class _Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.events = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.events += sum(name.startswith("on") for name, _ in attributes)


@cache
def _tags_of_a_page() -> Counter[str]:
    return _Tags(popsnet.view(popsnet.Experiment(2, 2)).html).tags


def _check_page(done: Done) -> None:
    """The page has the trace as data, and no element that other pages do not have."""
    html = Path("out.html").read_text(encoding="utf-8")
    found = _Tags(html)
    _require(found.tags == _tags_of_a_page() and not found.events, "the page has other elements")
    data = re.search(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', html, re.DOTALL)
    _require(data is not None, "the page has no data")
    assert data is not None
    (run,) = json.loads(data[1])["runs"]
    text = done.data.decode("utf-8-sig", "replace")
    _require(decompress(b64decode(run["gzip"])).decode() == text, "the page has another trace")


def _check_sweep(done: Done) -> None:
    """Experiments written as a grid each are read again; all of them are in the store."""
    sweep = popsnet.Sweep.read(done.file)
    grids = "".join(
        f"[[grid]]\nshapes = [[{one.d}, {one.g}]]\n"
        f"routers = [{json.dumps(f'{one.router}:{one.variant}')}]\n"
        f"permutations = [{json.dumps(one.permutation_file or one.permutation)}]\nruns = {runs}\n"
        f"seed = {one.seed}\npermutation_seed = {one.permutation_seed}\n"
        f"max_steps = {one.max_steps}\n"
        for one, runs in sweep.wanted
    )
    Path("again.toml").write_text(grids, encoding="utf-8")
    again = popsnet.Sweep.read("again.toml")
    _require(again.wanted == sweep.wanted, "written and read again, the sweep differs", grids)
    with popsnet.Store("out.sqlite") as store:
        missing = [one for one, runs in sweep.wanted if store.missing(one, runs)]
        _require(not missing, "the store lacks runs", missing)
        _require(set(store.experiments()) == set(sweep.experiments), "the store has other runs")


def _check_schedule_text(done: Done) -> None:
    """The text of a schedule, read again, is the same schedule."""
    text = done.data.decode("utf-8", "surrogateescape")
    schedule = parse_schedule(_tame(text, 32))
    _require(parse_schedule(str(schedule)) == schedule, "read again, the schedule differs")
    capped = "stopped by --max-steps" in done.err
    _require(done.code == 0 or capped, "a packet was not delivered", done.out)


def _check_demand(done: Done) -> None:
    """The trace holds by the rules, and the table has the same messages."""
    _require(done.code == 0, "the schedule does not deliver every packet", done.out)
    found = _again("check out.jsonl --json")
    _require(found["packets"] == done.result["packets"], "the trace has other packets")
    with Path("out.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    _require(len(rows) == found["messages"] == done.result["messages"], "the table differs")
    _require(found["collisions"] == 0, "the schedule has collisions")
    expected = _packets_in(done)
    if expected is not None:
        _require(found["packets"] == expected, f"{expected} packets are in the file")


def _packets_in(done: Done) -> int | None:
    """Count the packets of a file with plain integers and commas; None for any other file."""
    if done.file.suffix != ".csv" or re.search(rb"[;\t#.eE]", done.data.partition(b"\n")[2]):
        return None
    rows = [row for row in _table(done.data) if any(cell is not None for cell in row)]
    numbers = [[cell for cell in row if cell is not None] for row in rows]
    if numbers != rows or len({len(row) for row in rows}) != 1 or re.search(rb"[;\t#]", done.data):
        return None
    g = int(done.arguments[2])
    if "--matrix" in done.arguments and len(rows) == len(rows[0]) == g:
        return sum(map(sum, numbers))
    return len(rows) if len(rows[0]) == 2 else sum(row[-1] for row in numbers)


_DECIMAL = re.compile(r"\s*([+-]?)0*([0-9]+)(?:\.0*)?\s*")


def _decimal(cell: str) -> int | None:
    found = _DECIMAL.fullmatch(cell)
    return int(found[1] + found[2]) if found else None


def _plain_numbers(data: bytes) -> list[list[int]]:
    """Read a table of decimal numbers that was accepted; only the first row may be a heading.

    Rows without a number and the last columns may be blank.
    """
    text = re.sub(rb"(?m)[, \t\r]+$", b"", data)
    table = _table(text)
    if table and all(cell is None for cell in table[0]):
        table = table[1:]
    numbers = [[cell for cell in row if cell is not None] for row in table]
    _require(numbers == table, "cells were accepted that are not integers", table)
    return numbers


def _table(data: bytes) -> list[list[int | None]]:
    """Return the cells between commas, those that are not integers as None."""
    text = data.decode("utf-8-sig")
    rows = [row for row in csv.reader(io.StringIO(text, newline="")) if any(row)]
    return [list(map(_decimal, row)) for row in rows]


def _check_permutation(done: Done) -> None:
    """It is a permutation, and is the same when it is written in any format and read again."""
    n = int(done.arguments[1]) * int(done.arguments[2])
    read = read_permutation(done.file, n)
    _require(sorted(read.tolist()) == list(range(n)), "this is not a permutation", read)
    for suffix in (".npy", ".csv", ".json"):
        path = Path(f"out{suffix}")
        write_permutation(path, read)
        _require(np.array_equal(read_permutation(path, n), read), f"as {suffix} it differs")
    if done.file.suffix == ".csv":
        table = _plain_numbers(done.data)
        if all(len(row) == 1 for row in table):
            _require([row[0] for row in table] == read.tolist(), "other numbers were read")


def _check_keys(done: Done) -> None:
    """The values are those of the file, sorted; written and read again they are the same."""
    n = int(done.arguments[1]) * int(done.arguments[2])
    given, values = read_keys(done.file, n), read_keys(Path("out.txt"), n)
    _require(sorted(given.tolist()) == values.tolist(), "these are not the values, sorted", values)
    write_keys(Path("out.npy"), given)
    _require(np.array_equal(read_keys(Path("out.npy"), n), given), "read again, the values differ")


def _check_store(done: Done) -> None:
    """A rescued store can be read."""
    if Path("out.sqlite").exists():
        _again("results list --store out.sqlite --json")


def _check_arguments(done: Done) -> None:
    """A trace that was written holds by the rules, unless the run failed."""
    trace = Path("out.jsonl")
    if done.code == 0 and trace.is_file():
        _again("check out.jsonl --json")


def _line_of_others(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    """Replace an argument by one of another command."""
    lines = data.split(b"\n")
    lines[rng.randrange(len(lines))] = rng.choice(rng.choice(others).split(b"\n"))
    return b"\n".join(lines)


_LITTLE = 30_000_000
"""Bytes of memory in which thousands of packets can be scheduled, and not millions."""

KINDS = {
    "trace": Kind(("check FILE --json", "check FILE"), _check_trace, (json_tree,), 25),
    "page": Kind(("view FILE --out out.html --no-open",), _check_page, (json_tree,), 8),
    "sweep": Kind(
        ("sweep FILE --store out.sqlite --workers 1 --json",), _check_sweep, (setting,), 12
    ),
    "schedule": Kind(
        (
            "route D G --router relay --schedule TEXT --max-steps 50 --json",
            "route D G --router relay:TEXT --runs 2 --max-steps 50 --engine slots",
        ),
        _check_schedule_text,
        (stage,),
    ),
    "demand": Kind(
        ("schedule D G --packets FILE --out out.csv --trace out.jsonl --json",),
        _check_demand,
        (small_number, swap_numbers),
        memory=_LITTLE,
    ),
    "matrix": Kind(
        ("schedule D G --matrix FILE --out out.csv --trace out.jsonl --json",),
        _check_demand,
        (small_number, swap_numbers),
        memory=_LITTLE,
    ),
    "permutation": Kind(
        (
            "schedule D G --permutation FILE --json",
            "route D G --router direct --permutation FILE --json",
        ),
        _check_permutation,
        (json_tree, small_number, swap_numbers, swap_numbers),
        15,
    ),
    "keys": Kind(
        ("sort D G --keys FILE --out out.txt",), _check_keys, (small_number, swap_numbers)
    ),
    "store": Kind(
        (
            "results list --store FILE --json",
            "results export --out out.csv --store FILE",
            "results export --out out.json --per-run --store FILE",
            "results plot --csv --store FILE",
            "results merge FILE --store out.sqlite",
            "results verify --store FILE --shards 1",
            "results rescue FILE out.sqlite --json",
        ),
        _check_store,
        (database,),
        15,
    ),
    "arguments": Kind(("",), _check_arguments, (_line_of_others, small_number), 20),
}
