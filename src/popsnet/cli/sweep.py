"""``popsnet sweep``: do the runs that a file asks for and a store does not have."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from popsnet.cli.progress import patient_progress
from popsnet.cli.streams import user_code
from popsnet.cli.tables import add_point, points_table
from popsnet.experiments.export import row_of
from popsnet.experiments.runner import collect, require_workers
from popsnet.experiments.shard import SHARD_RUNS, Identity, shards_of
from popsnet.experiments.store import Store
from popsnet.experiments.sweep import Entry, Sweep, read_sweep

__all__ = ["sweep_command"]

_INTERRUPTED = 130


def sweep_command(file: Path, *, store: Path, workers: int | None, as_json: bool) -> None:
    """Run what is missing, print all; exit with 130 if interrupted: what is done is kept."""
    with user_code(as_json):
        sweep = read_sweep(file)
    require_workers(workers)
    with Store(store, create=True) as results:
        with user_code(as_json):
            finished = _run(sweep, results, workers)
        if as_json:
            typer.echo(json.dumps(_as_object(sweep, results), indent=2))
        else:
            _print_text(sweep, results)
        if not finished:
            done, total = _progress(sweep.entries, results)
            typer.echo(
                f"Interrupted: {done:,} of {total:,} shards of {SHARD_RUNS} runs are in {store}. "
                "The same command does the rest.",
                err=True,
            )
            raise typer.Exit(_INTERRUPTED)


def _run(sweep: Sweep, results: Store, workers: int | None) -> bool:
    """Whether all was done."""
    with patient_progress("sweep", None) as update:

        def show(done: int, total: int) -> None:
            update(done, f"{done:,} of {total:,} shards", total)

        try:
            collect(sweep.wanted, results, workers=workers, progress=show)
        except KeyboardInterrupt:
            return False
    return True


def _progress(entries: Sequence[Entry], results: Store) -> tuple[int, int]:
    wanted: dict[Identity, int] = {}
    for point, runs, _ in entries:
        identity = Identity.of(point)
        wanted[identity] = max(wanted.get(identity, 0), runs)
    missing = sum(len(results.missing(identity, runs)) for identity, runs in wanted.items())
    total = sum(shards_of(runs) for runs in wanted.values())
    return total - missing, total


def _as_object(sweep: Sweep, results: Store) -> dict[str, Any]:
    return {
        "store": str(results.path),
        "points": [_point_object(entry, results) for entry in sweep.entries],
        "skipped": list(sweep.skipped),
    }


def _point_object(entry: Entry, results: Store) -> dict[str, Any]:
    """A point; its figures are there once all its runs are."""
    identity = Identity.of(entry.point)
    missing = len(results.missing(identity, entry.runs)) * SHARD_RUNS
    tally = results.tally(identity, entry.runs)
    figures = {"point": identity.digest} if tally is None else row_of(identity, tally)
    return {"label": entry.label, "runs_wanted": entry.runs, "runs_missing": missing, **figures}


def _print_text(sweep: Sweep, results: Store) -> None:
    labelled = any(entry.label for entry in sweep.entries)
    table = points_table("label" if labelled else None)
    for point, runs, label in sweep.entries:
        identity = Identity.of(point)
        tally = results.tally(identity, runs) or results.unbroken(identity)
        wanted = shards_of(runs) * SHARD_RUNS
        add_point(table, identity, tally, [label] if labelled else [], wanted)
    Console().print(table)
    if any(runs % SHARD_RUNS for _, runs, _ in sweep.entries):
        typer.echo(f"Runs are rounded up to whole shards of {SHARD_RUNS}.")
    if sweep.skipped:
        typer.echo(f"Skipped: {len(sweep.skipped)} that do not apply:")
        for text in sweep.skipped:
            typer.echo(f"  {text}")
    typer.echo(f"Results are in {results.path}.")
