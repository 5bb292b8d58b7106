"""``popsnet sort``: n values sorted on the machine by a comparator network."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import typer

from popsnet.cli.progress import patient_progress
from popsnet.coins import Coins
from popsnet.errors import InputError
from popsnet.experiments.computation import compute
from popsnet.files import require_writable, write_whole
from popsnet.network import Network
from popsnet.routing.deterministic import sort_slots, sort_values
from popsnet.sorting import NETWORKS, make_network

__all__ = ["MOST_VALUES", "sort_command"]

MOST_VALUES = 2**20
_MOST_LISTED = 1024
"""Values that JSON has all of."""
_FEW = 3
Values = npt.NDArray[Any]


def sort_command(
    d: int, g: int, *, name: str, keys: str, seed: int, out: Path | None, as_json: bool
) -> None:
    """Sort, look at the result, write and show it; exit 1 if it is not in order."""
    network = Network(d, g)
    if out is not None:
        require_writable(out)
    if network.n > MOST_VALUES:
        raise InputError(f"n = {network.n:,}: at most {MOST_VALUES:,} values are sorted.")
    values = _random(network, seed) if keys == "random" else _read(Path(keys), network.n)
    comparators = make_network(name, network.n, seed)
    bound = sort_slots(network, comparators.depth)
    begin = time.perf_counter()
    with patient_progress(f"sorting on {network}", bound) as update:
        done = compute(network, sort_values(network, comparators, values), update)
    seconds = time.perf_counter() - begin
    right = bool(np.array_equal(done.values, np.sort(values)))
    if out is not None:
        _write(out, done.values)
    facts: dict[str, object] = {
        "network": {"d": d, "g": g, "n": network.n},
        "comparators": name,
        "proved": NETWORKS[name].proved,
        "keys": keys,
        "seed": seed,
        "depth": comparators.depth,
        "slots": done.slots,
        "most_slots": bound,
        "messages": done.messages,
        "collisions": done.collisions,
        "sorted": right,
        "first": _listed(done.values[:_FEW]),
        "last": _listed(done.values[-_FEW:]),
        "values": _listed(done.values) if network.n <= _MOST_LISTED else None,
        "out": None if out is None else str(out),
        "seconds": seconds,
    }
    typer.echo(json.dumps(facts, indent=2) if as_json else _text(network, facts, done.values))
    if not right:
        raise typer.Exit(1)


def _text(network: Network, facts: dict[str, object], values: Values) -> str:
    verdict = "OK: in order" if facts["sorted"] else "NOT in order"
    written = f"\nWritten to {facts['out']}." if facts["out"] else ""
    return (
        f"{network.n:,} values on {network} by {facts['comparators']}, {facts['depth']:,} stages\n"
        f"slots {facts['slots']:,}, at most {facts['most_slots']:,}; messages "
        f"{facts['messages']:,}; collisions {facts['collisions']}\n"
        f"{_glimpse(values)}\n"
        f"{verdict}, compared with another sort; {facts['seconds']:.2f} s{written}"
    )


def _glimpse(values: Values) -> str:
    """The first values and the last, or all if they are few."""
    if len(values) <= 2 * _FEW:
        return " ".join(map(str, values.tolist()))
    first, last = values[:_FEW].tolist(), values[-_FEW:].tolist()
    return " ".join(map(str, (*first, "…", *last)))


def _listed(values: Values) -> list[object]:
    """For JSON, which has no infinite numbers: they are texts."""
    return [one if np.isfinite(one) else str(one) for one in values.tolist()]


def _write(path: Path, values: Values) -> None:
    with write_whole(path) as file:
        if path.suffix.lower() == ".npy":
            np.save(file.buffer, values)
        else:
            file.writelines(f"{one}\n" for one in values.tolist())


def _random(network: Network, seed: int) -> Values:
    words = Coins(seed).words("keys to sort", 0, np.arange(network.n, dtype=np.int32))
    return (words >> np.uint64(1)).astype(np.int64)


def _read(path: Path, n: int) -> Values:
    """A file of n numbers: .npy, or text with one in a line or commas between."""
    values: Values
    try:
        if path.suffix.lower() == ".npy":
            values = np.load(path, allow_pickle=False)
        else:
            values = _numbers(path.read_text(encoding="utf-8-sig").replace(",", " ").split())
    except OSError as error:
        raise InputError(
            f"--keys {path}: it could not be read ({error.strerror}); give random or a file."
        ) from error
    except (ValueError, EOFError) as error:
        raise InputError(f"--keys {path}: it is no file of numbers: {error}.") from error
    if values.ndim != 1 or values.dtype.kind not in "iuf" or len(values) != n:
        raise InputError(
            f"--keys {path}: it holds {values.dtype} of shape {values.shape}; give {n} numbers."
        )
    if values.dtype.kind == "f" and np.isnan(values).any():
        raise InputError(f"--keys {path}: nan has no place in any order; give numbers.")
    return values


def _numbers(words: list[str]) -> Values:
    try:
        return np.array([int(word) for word in words], dtype=np.int64)
    except (ValueError, OverflowError):
        return np.array([float(word) for word in words], dtype=np.float64)
