"""``popsnet sort``: n values sorted on the machine by a comparator network."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import typer

from popsnet.computing import sort, write_keys
from popsnet.files import require_writable
from popsnet.network import Network

__all__ = ["sort_command"]

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
    begin = time.perf_counter()
    values = None if keys == "random" else Path(keys)
    done = sort(network, values, comparators=name, seed=seed)
    seconds = time.perf_counter() - begin
    if out is not None:
        write_keys(out, done.values)
    facts: dict[str, object] = {
        "network": {"d": d, "g": g, "n": network.n},
        "comparators": name,
        "proved": done.proved,
        "keys": keys,
        "seed": seed,
        "depth": done.depth,
        "slots": done.slots,
        "most_slots": done.most_slots,
        "messages": done.messages,
        "collisions": done.collisions,
        "sorted": done.in_order,
        "first": _listed(done.values[:_FEW]),
        "last": _listed(done.values[-_FEW:]),
        "values": _listed(done.values) if network.n <= _MOST_LISTED else None,
        "out": None if out is None else str(out),
        "seconds": seconds,
    }
    typer.echo(json.dumps(facts, indent=2) if as_json else _text(network, facts, done.values))
    if not done.in_order:
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
