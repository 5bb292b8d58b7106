"""What the commands of ``popsnet results`` do."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.table import Table

from popsnet.cli.tables import add_point, points_table
from popsnet.engines import Tally
from popsnet.errors import InputError
from popsnet.experiment import Experiment
from popsnet.sweeps.export import row_of
from popsnet.sweeps.shard import SHARD_RUNS, Provenance
from popsnet.sweeps.store import Store
from popsnet.sweeps.verify import Verification, verify

__all__ = ["export_command", "list_command", "merge_command", "show_command", "verify_command"]

_SHORT = 6
"""Signs of a point's name that a list shows."""


def list_command(path: Path, *, as_json: bool) -> None:
    """Print every point of a store."""
    with Store(path) as store:
        if as_json:
            typer.echo(json.dumps({"store": str(path), "points": store.to_records()}, indent=2))
            return
        table = points_table("point")
        points = store.experiments()
        for one in points:
            add_point(table, one, store.unbroken(one), [one.digest[:_SHORT]])
    Console().print(table)
    typer.echo(f"{len(points):,} {'point' if len(points) == 1 else 'points'} in {path}.")


def show_command(path: Path, prefix: str, *, as_json: bool) -> None:
    """Print all there is about the point whose name begins so."""
    with Store(path) as store:
        experiment = _find(store, prefix)
        shards = store.shards(experiment)
        tally = store.unbroken(experiment)
        origins = [store.provenance(experiment, shard) for shard in shards]
    if as_json:
        typer.echo(json.dumps(_as_object(experiment, tally, shards, origins), indent=2))
        return
    typer.echo(f"point {experiment.digest}")
    for name, value in experiment.identity.items():
        typer.echo(f"    {name:16} {value}")
    if tally.runs:
        _print_figures(experiment, tally)
    beyond = len(shards) - tally.runs // SHARD_RUNS
    if beyond:
        typer.echo(f"Not counted, beyond a shard that is missing: {beyond:,}.")
    _print_origins(origins)


def export_command(path: Path, file: Path) -> None:
    """Write a table of the points of a store."""
    with Store(path) as store:
        count = store.export(file)
    typer.echo(f"{count:,} {'point' if count == 1 else 'points'} written to {file}.")


def merge_command(path: Path, others: Sequence[Path]) -> None:
    """Merge stores into one, which is made if it is not there."""
    for other in others:
        if path.exists() and other.exists() and path.samefile(other):
            raise InputError(f"{other} is the store to merge into; give others.")
    stores = [Store(other) for other in others]  # refuse what is no store, before any work
    try:
        with Store(path, create=True) as store:
            for other, opened in zip(others, stores, strict=True):
                new = store.merge(opened)
                typer.echo(f"{other}: {new:,} new {'shard' if new == 1 else 'shards'}.")
    finally:
        for opened in stores:
            opened.close()


def verify_command(path: Path, *, shards: int | None, seed: int, as_json: bool) -> None:
    """Print what is wrong with a store; exit 1 if something is."""
    if shards is not None and shards < 0:
        raise InputError(f"--shards {shards}: give 0 or more, or --all.")
    if seed < 0:
        raise InputError(f"--seed {seed}: give 0 or more.")
    with Store(path) as store:
        verdict = verify(store, shards, seed)
    if as_json:
        found = {"store": str(path), "ok": not verdict.flaws, **asdict(verdict)}
        typer.echo(json.dumps(found, indent=2))
    else:
        _print_verdict(path, verdict)
    if verdict.flaws:
        raise typer.Exit(1)


def _find(store: Store, prefix: str) -> Experiment:
    points = store.experiments()
    found = [one for one in points if one.digest.startswith(prefix)]
    if len(found) == 1:
        return found[0]
    names = ", ".join(one.digest[:_SHORT] for one in (found or points)[:10])
    raise InputError(
        f"{len(found):,} points in {store.path} begin with {prefix!r}, and one is to be shown. "
        f"There are {names or 'none'}."
    )


def _as_object(
    experiment: Experiment, tally: Tally, shards: Sequence[int], origins: Sequence[Provenance]
) -> dict[str, Any]:
    row = row_of(experiment, tally) if tally.runs else experiment.identity
    pairs = zip(shards, origins, strict=True)
    return {**row, "shards": [{"shard": shard, **asdict(one)} for shard, one in pairs]}


def _print_figures(experiment: Experiment, tally: Tally) -> None:
    table = points_table(None)
    add_point(table, experiment, tally)
    console = Console()
    console.print(table)
    for name, histogram in tally.histograms.items():
        table = Table(name, "runs")
        for column in table.columns:
            column.justify = "right"
        for value in sorted(histogram):
            table.add_row(f"{value:,}", f"{histogram[value]:,}")
        console.print(table)
    typer.echo(
        f"{tally.collisions:,} couplers hit twice or more, {tally.destroyed:,} messages destroyed "
        f"of {tally.messages:,} sent."
    )


def _print_origins(origins: Sequence[Provenance]) -> None:
    """Who did the shards, alike ones together."""
    alike = Counter(
        f"engine {one.engine}, popsnet {one.popsnet}, python {one.python}, numpy {one.numpy}, "
        f"numba {one.numba}, on {one.machine}"
        for one in origins
    )
    for text, count in alike.items():
        typer.echo(f"{count:,} {'shard' if count == 1 else 'shards'}: {text}")
    last = max(one.finished for one in origins)
    typer.echo(f"{sum(one.seconds for one in origins):,.2f} s of work, the last at {last}.")


def _print_verdict(path: Path, verdict: Verification) -> None:
    for text in verdict.unknown:
        typer.echo(f"Not run again: {text}")
    for text in verdict.flaws:
        typer.echo(f"  {text}")
    count = verdict.compared
    done = f"{count:,} {'shard' if count == 1 else 'shards'} run again"
    if verdict.flaws:
        typer.echo(f"FAILED: {path} has {len(verdict.flaws):,} flaws; {done}.")
    else:
        typer.echo(f"OK: {path} is whole and agrees with itself; {done}, with the same results.")
