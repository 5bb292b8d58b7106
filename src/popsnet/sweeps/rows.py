"""The tables of a store: results as rows, rows as results, and what is wrong with a row."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple
from functools import lru_cache, partial
from hashlib import blake2b
from operator import index
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from popsnet.engines import Outcomes, Tally
from popsnet.engines.outcome import COLUMNS as COUNTS
from popsnet.engines.outcome import HISTOGRAMS, TOTALS
from popsnet.errors import InputError, StoreError
from popsnet.experiment import Experiment
from popsnet.sweeps.shard import SHARD_RUNS, Provenance, Shards

APPLICATION = 0x504F5053  # "POPS"
VERSION = 2

TABLES = {
    "points": """
CREATE TABLE points (
    point TEXT PRIMARY KEY, d INTEGER NOT NULL, g INTEGER NOT NULL, router TEXT NOT NULL,
    version TEXT NOT NULL, variant TEXT NOT NULL, permutation TEXT NOT NULL, seed TEXT NOT NULL,
    permutation_seed TEXT NOT NULL, max_steps INTEGER NOT NULL
) WITHOUT ROWID
""",
    "shards": """
CREATE TABLE shards (
    point TEXT NOT NULL REFERENCES points, shard INTEGER NOT NULL, runs INTEGER NOT NULL,
    capped INTEGER NOT NULL, steps TEXT NOT NULL, slots TEXT NOT NULL,
    slots_delivered TEXT NOT NULL, lost TEXT NOT NULL, collisions INTEGER NOT NULL,
    destroyed INTEGER NOT NULL, messages INTEGER NOT NULL,
    PRIMARY KEY (point, shard)
) WITHOUT ROWID
""",
    "provenance": """
CREATE TABLE provenance (
    point TEXT NOT NULL, shard INTEGER NOT NULL, engine TEXT NOT NULL, popsnet TEXT NOT NULL,
    python TEXT NOT NULL, numpy TEXT NOT NULL, numba TEXT NOT NULL, machine TEXT NOT NULL,
    router_file TEXT NOT NULL, permutation_file TEXT NOT NULL, seconds REAL NOT NULL,
    finished TEXT NOT NULL, PRIMARY KEY (point, shard),
    FOREIGN KEY (point, shard) REFERENCES shards
) WITHOUT ROWID
""",
    "runs": """
CREATE TABLE runs (
    point TEXT NOT NULL, shard INTEGER NOT NULL, counts BLOB NOT NULL,
    PRIMARY KEY (point, shard), FOREIGN KEY (point, shard) REFERENCES shards
) WITHOUT ROWID
""",
    "digests": """
CREATE TABLE digests (
    point TEXT NOT NULL, shard INTEGER NOT NULL, digest TEXT NOT NULL,
    PRIMARY KEY (point, shard), FOREIGN KEY (point, shard) REFERENCES shards
) WITHOUT ROWID
""",
    "traffic": """
CREATE TABLE traffic (
    point TEXT PRIMARY KEY, experiment TEXT NOT NULL, result TEXT NOT NULL,
    provenance TEXT NOT NULL, digest TEXT NOT NULL
) WITHOUT ROWID
""",
}
"""Every table with the statement that creates it. A test of the schema compares the words."""

ADDED = ("runs", "digests", "traffic")
"""Tables that stores of older versions do not have, and that those versions ignore."""

OF_SHARDS = ("runs", "digests")
"""Those of them that have rows of shards."""

RESULTS = ("points", "shards", "runs")
"""The tables whose rows depend on nothing but what was run."""

COLUMNS = {"points": 10, "shards": 11, "runs": 3, "provenance": 12, "digests": 3, "traffic": 5}

RUN_COLUMNS = (
    "slots", "slots_delivered", "steps", "delivered", "lost", "collisions", "destroyed",
    "messages", "capped",
)  # fmt: skip
"""The counts that are kept of a single run, in this order: those that every engine has."""

_KEPT = [COUNTS.index(name) for name in RUN_COLUMNS]

Row = tuple[Any, ...]
I64 = npt.NDArray[np.int64]

_MOST = 2**63 - 1
"""The largest count: what SQLite and NumPy can represent."""


class UnreadableError(StoreError):
    """A row has values that popsnet never writes."""


def experiment_of(row: Row) -> Experiment:
    """Return the experiment of a row.

    Raises
    ------
    UnreadableError
        If the values cannot belong to an experiment, or not to the one of this name.
    """
    point, d, g, router, version, variant, permutation, seed, permutation_seed, max_steps = row
    names = router, version, variant, permutation
    try:
        if not all(isinstance(one, str) for one in (*names, seed, permutation_seed)):
            raise TypeError
        seeds = int(seed), int(permutation_seed)
        experiment = Experiment.recorded((d, g, *names, *seeds, max_steps))
        digest, _ = experiment.digest, experiment.network
    except (InputError, TypeError, ValueError):
        raise UnreadableError(f"Experiment {point} has values that cannot be read.") from None
    if digest != point:
        raise UnreadableError(
            f"Experiment {point} has a name that does not match its parameters (expected {digest})."
        )
    return experiment


def point_row(experiment: Experiment) -> Row:
    """Return the row of an experiment. Seeds are texts: they have 64 bits, SQLite's integers 63."""
    seeds = {"seed": str(experiment.seed), "permutation_seed": str(experiment.permutation_seed)}
    return (experiment.digest, *{**experiment.identity, **seeds}.values())


def shard_rows(shards: Shards) -> list[Row]:
    """Return the rows of shards: sums and histograms of ten runs each, column by column."""
    digest, outcomes = shards.experiment.digest, shards.outcomes
    columns: list[Sequence[Any]] = [
        [digest] * len(shards.numbers),
        shards.numbers,
        [SHARD_RUNS] * len(shards.numbers),
        _sums(outcomes, "capped"),
        *(_texts(outcomes, name) for name in HISTOGRAMS),
        *(_sums(outcomes, name) for name in TOTALS),
    ]
    return list(zip(*columns, strict=True))


def _by_shard(outcomes: Outcomes, name: str) -> Any:
    return outcomes.column(name).reshape(-1, SHARD_RUNS)


def _sums(outcomes: Outcomes, name: str) -> list[int]:
    sums: list[int] = _by_shard(outcomes, name).sum(axis=1).tolist()
    return sums


def _texts(outcomes: Outcomes, name: str) -> list[str]:
    """Return the histogram of each shard as text."""
    values = np.sort(_by_shard(outcomes, name).astype(np.int64), axis=1).tobytes()
    size = 8 * SHARD_RUNS
    return [_text(values[i : i + size]) for i in range(0, len(values), size)]


@lru_cache(maxsize=2**12)  # many shards of a small network have the same histogram
def _text(ordered: bytes) -> str:
    return json.dumps(Counter(np.frombuffer(ordered, dtype=np.int64).tolist()))


def run_rows(shards: Shards) -> list[Row]:
    """Return the counts of every run: per shard a MessagePack array with an entry per column.

    An entry is an array of ten integers, or one integer if all ten are equal.
    """
    digest, kept = shards.experiment.digest, shards.outcomes.table[:, _KEPT]
    columns = kept.reshape(-1, SHARD_RUNS, len(_KEPT)).transpose(0, 2, 1)
    equal = (columns == columns[:, :, :1]).all(axis=2).tolist()
    return [
        (digest, number, _encode([c[0] if one else c for c, one in zip(ten, same, strict=True)]))
        for number, ten, same in zip(shards.numbers, columns.tolist(), equal, strict=True)
    ]


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[int | list[int]]).decode


def counts_of(rows: Sequence[Row]) -> I64:
    """Return the counts of the runs of some shards: a row per run, in order.

    Raises
    ------
    UnreadableError
        If a row has values that cannot be counts.
    """
    found = [_ten_runs(row) for row in rows]
    table = np.array(found, dtype=np.int64).reshape(-1, len(RUN_COLUMNS), SHARD_RUNS)
    return table.transpose(0, 2, 1).reshape(-1, len(RUN_COLUMNS))


def _ten_runs(row: Row) -> list[list[int]]:
    point, shard, counts = row
    try:
        columns = [[one] * SHARD_RUNS if isinstance(one, int) else one for one in _decode(counts)]
    except (msgspec.MsgspecError, TypeError, RecursionError):
        columns = []
    if [len(one) for one in columns] != [SHARD_RUNS] * len(RUN_COLUMNS) or not all(
        min(one) >= 0 and max(one) <= _MOST for one in columns
    ):
        raise UnreadableError(
            f"Shard {shard} of experiment {point} has single runs that cannot be read."
        )
    return columns


def provenance_rows(shards: Shards) -> list[Row]:
    """Return when, where and with what the shards were made."""
    digest, origin = shards.experiment.digest, astuple(shards.provenance)
    return [(digest, number, *origin) for number in shards.numbers]


def provenance_of(row: Row) -> Provenance:
    """Return when, where and with what a shard was made.

    Raises
    ------
    UnreadableError
        If a value has another type than popsnet writes.
    """
    point, shard, *origin = row
    found = Provenance(*origin)
    texts = [value for value in origin if isinstance(value, str) and "\0" not in value]
    is_time = isinstance(found.seconds, float) and 0 <= found.seconds < math.inf
    if len(texts) != len(origin) - 1 or not is_time:
        raise UnreadableError(
            f"Shard {shard} of experiment {point} has provenance that cannot be read."
        )
    return found


def digest_of(shard: Row, run: Row, provenance: Row) -> str:
    """Return the digest of a shard: a hash of all values of its rows in three tables.

    It finds damage and careless edits. It is not a signature, since anyone can compute it.
    """
    return blake2b(_encode(shard + run[2:] + provenance[2:]), digest_size=16).hexdigest()


def digest_rows(shards: list[Row], runs: list[Row], provenance: list[Row]) -> list[Row]:
    """Return the digests of shards, whose rows are given in the same order."""
    rows = zip(shards, runs, provenance, strict=True)
    return [(*shard[:2], digest_of(shard, run, origin)) for shard, run, origin in rows]


def tally_of(rows: Sequence[Row]) -> Tally:
    """Return the tally of some shards.

    Raises
    ------
    UnreadableError
        If a row has values that cannot be counts.
    """
    if not rows:
        return Tally()
    _, shards, *columns = zip(*rows, strict=True)
    try:
        sum(map(index, shards))  # refuses what is not a number
        runs, capped, *totals = (sum(map(index, one)) for one in (*columns[:2], *columns[6:]))
        histograms = [_histogram(one) for one in columns[2:6]]
        return Tally(runs, capped, *histograms, *totals)  # type: ignore[arg-type]
    except (ValueError, AttributeError, TypeError, RecursionError):
        if len(rows) > 1:  # say which of them it is
            for row in rows:
                tally_of([row])
        point, shard, *_ = rows[0]
        raise UnreadableError(
            f"Shard {shard} of experiment {point} has numbers that cannot be read."
        ) from None


def _histogram(texts: Sequence[str]) -> Counter[int]:
    """Return the sum of many histograms; equal texts are read once."""
    total: Counter[int] = Counter()
    for text, times in Counter(texts).items():
        for value, count in json.loads(text).items():
            if not -_MOST <= (number := int(value)) <= _MOST:
                raise ValueError
            total[number] += times * index(count)
    return total


def flaws_in(read: Callable[[Row], object], row: Row) -> Iterator[str]:
    """Yield what is wrong with a row that is read in some way."""
    try:
        read(row)
    except UnreadableError as error:
        yield str(error)


point_flaws = partial(flaws_in, experiment_of)
"""Yields what is wrong with the row of an experiment."""


def shard_flaws(row: Row) -> Iterator[str]:
    """Yield what is wrong with the numbers of a shard."""
    point, shard = row[:2]
    where = f"Shard {shard} of experiment {point}"
    try:
        tally = tally_of([row])
    except UnreadableError as error:
        yield str(error)
        return
    if shard < 0 or tally.runs != SHARD_RUNS:
        yield f"{where} has {tally.runs} runs; shards are numbered from 0 and have 10."
    for name, histogram in tally.histograms.items():
        counted, least = histogram.total(), min(histogram.values(), default=1)
        if counted != tally.runs or least < 1 or min(histogram, default=0) < 0:
            yield f"{where}: the histogram of {name} has {counted} of {tally.runs} runs."
    if not 0 <= tally.capped <= tally.runs:
        yield f"{where} has {tally.capped} capped of {tally.runs} runs."
    if min(tally.collisions, tally.destroyed, tally.messages) < 0:
        yield f"{where} has a negative count."


provenance_flaws = partial(flaws_in, provenance_of)
"""Yields what is wrong with the provenance of a shard."""


def run_flaws(row: Row, shard_row: Row) -> Iterator[str]:
    """Yield what is wrong with the runs of a shard: they must add up to its numbers."""
    try:
        columns = dict(zip(RUN_COLUMNS, _ten_runs(row), strict=True))
        tally = tally_of([shard_row])
    except UnreadableError as error:
        yield str(error)
        return
    sums = {name: sum(columns[name]) for name in (*TOTALS, "capped")}
    counters = {name: Counter(columns[name]) for name in HISTOGRAMS}
    if Tally(runs=SHARD_RUNS, **sums, **counters) != tally:  # type: ignore[arg-type]
        yield (
            f"Shard {row[1]} of experiment {row[0]}: its single runs contradict its histograms or "
            "totals."
        )
