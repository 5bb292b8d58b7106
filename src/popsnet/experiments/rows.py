"""The tables of a store: results as rows, rows as results, and what is wrong with a row."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from operator import index
from pathlib import Path
from typing import Any

from popsnet.errors import InputError, StoreError
from popsnet.experiments.shard import SHARD_RUNS, Identity
from popsnet.experiments.tally import Tally

__all__ = [
    "APPLICATION", "COLUMNS", "RESULTS", "SCHEMA", "VERSION", "identity_of", "point_flaws",
    "point_row", "shard_flaws", "tally_of", "tally_row",
]  # fmt: skip

APPLICATION = 0x504F5053  # "POPS"
VERSION = 2

SCHEMA = f"""
CREATE TABLE points (
    point TEXT PRIMARY KEY, d INTEGER NOT NULL, g INTEGER NOT NULL, router TEXT NOT NULL,
    version TEXT NOT NULL, variant TEXT NOT NULL, permutation TEXT NOT NULL, seed TEXT NOT NULL,
    permutation_seed TEXT NOT NULL, max_steps INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE shards (
    point TEXT NOT NULL REFERENCES points, shard INTEGER NOT NULL, runs INTEGER NOT NULL,
    capped INTEGER NOT NULL, steps TEXT NOT NULL, slots TEXT NOT NULL,
    slots_delivered TEXT NOT NULL, lost TEXT NOT NULL, collisions INTEGER NOT NULL,
    destroyed INTEGER NOT NULL, messages INTEGER NOT NULL,
    PRIMARY KEY (point, shard)
) WITHOUT ROWID;
CREATE TABLE provenance (
    point TEXT NOT NULL, shard INTEGER NOT NULL, engine TEXT NOT NULL, popsnet TEXT NOT NULL,
    python TEXT NOT NULL, numpy TEXT NOT NULL, numba TEXT NOT NULL, machine TEXT NOT NULL,
    router_file TEXT NOT NULL, permutation_file TEXT NOT NULL, seconds REAL NOT NULL,
    finished TEXT NOT NULL, PRIMARY KEY (point, shard),
    FOREIGN KEY (point, shard) REFERENCES shards
) WITHOUT ROWID;
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {VERSION};
"""

RESULTS = ("points", "shards")
"""The tables whose rows depend on nothing but what was run."""

COLUMNS = {"points": 10, "shards": 11, "provenance": 12}


def identity_of(row: tuple[Any, ...], path: Path) -> Identity:
    """The point that a row stands for; refuses what cannot be one, in the name of the store."""
    _, d, g, router, version, variant, permutation, seed, permutation_seed, max_steps = row
    try:
        seeds = int(seed), int(permutation_seed)
        return Identity(d, g, router, version, variant, permutation, *seeds, max_steps)
    except (TypeError, ValueError):
        raise StoreError(f"{path}: point {row[0]} has numbers that cannot be read.") from None


def tally_of(row: tuple[Any, ...], path: Path) -> Tally:
    """What a shard came to; refuses what cannot be that, in the name of the store."""
    point, shard, runs, capped, steps, slots, home, lost, *counts = row
    try:
        shard, runs, capped, *counts = map(index, (shard, runs, capped, *counts))
        steps, slots, home, lost = map(_histogram, (steps, slots, home, lost))
        return Tally(runs, capped, steps, slots, home, lost, *counts)
    except (ValueError, AttributeError, TypeError):
        raise StoreError(
            f"{path}: shard {shard} of point {point} has numbers that cannot be read."
        ) from None


def point_row(identity: Identity) -> tuple[Any, ...]:
    """Without the digest. Seeds are texts: they have 64 bits, SQLite's integers 63 and a sign."""
    seeds = {"seed": str(identity.seed), "permutation_seed": str(identity.permutation_seed)}
    return tuple({**asdict(identity), **seeds}.values())


def tally_row(tally: Tally) -> tuple[Any, ...]:
    """Without the point and the shard."""
    histograms = map(_text, tally.histograms.values())
    counts = (tally.collisions, tally.destroyed, tally.messages)
    return (tally.runs, tally.capped, *histograms, *counts)


def _text(histogram: Counter[int]) -> str:
    return json.dumps({str(value): histogram[value] for value in sorted(histogram)})


def _histogram(text: str) -> Counter[int]:
    return Counter({int(value): index(count) for value, count in json.loads(text).items()})


def point_flaws(row: tuple[Any, ...], path: Path) -> Iterator[str]:
    """What is wrong with a point: its name, or what it says."""
    try:
        digest = identity_of(row, path).digest
    except (InputError, TypeError, ValueError) as error:
        yield f"Point {row[0]}: {error}"
        return
    if digest != row[0]:
        yield f"Point {row[0]} is not named after what it is: that is {digest}."


def shard_flaws(row: tuple[Any, ...], path: Path) -> Iterator[str]:
    """What is wrong with the numbers of a shard."""
    point, shard = row[:2]
    where = f"Shard {shard} of point {point}"
    try:
        tally = tally_of(row, path)
    except StoreError as error:
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
