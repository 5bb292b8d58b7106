"""``popsnet sweep``: do the runs that a file asks for and a store does not have."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from popsnet.cli.streams import user_code
from popsnet.cli.tables import add_point, points_table
from popsnet.experiment import Experiment
from popsnet.sweeps.export import row_of
from popsnet.sweeps.runner import collect, require_workers
from popsnet.sweeps.shard import SHARD_RUNS, shards_of
from popsnet.sweeps.store import Store
from popsnet.sweeps.sweep import Sweep, read_sweep

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
            done, total = _progress(sweep, results)
            typer.echo(
                f"Interrupted: {done:,} of {total:,} shards of {SHARD_RUNS} runs are in {store}. "
                "The same command does the rest.",
                err=True,
            )
            raise typer.Exit(_INTERRUPTED)


def _run(sweep: Sweep, results: Store, workers: int | None) -> bool:
    """Whether all was done."""
    try:
        collect(sweep, store=results, workers=workers)
    except KeyboardInterrupt:
        return False
    return True


def _progress(sweep: Sweep, results: Store) -> tuple[int, int]:
    wanted: dict[Experiment, int] = {}
    for experiment, runs in sweep.wanted:
        wanted[experiment] = max(wanted.get(experiment, 0), runs)
    missing = sum(len(results.missing(one, runs)) for one, runs in wanted.items())
    total = sum(shards_of(runs) for runs in wanted.values())
    return total - missing, total


def _as_object(sweep: Sweep, results: Store) -> dict[str, Any]:
    return {
        "store": str(results.path),
        "points": [_point_object(*one, results) for one in _labelled(sweep)],
        "skipped": list(sweep.skipped),
    }


def _labelled(sweep: Sweep) -> list[tuple[Experiment, int, str]]:
    return list(zip(sweep.experiments, sweep.runs, sweep.labels, strict=True))


def _point_object(experiment: Experiment, runs: int, label: str, results: Store) -> dict[str, Any]:
    """An experiment; its figures are there once all its runs are."""
    missing = len(results.missing(experiment, runs)) * SHARD_RUNS
    tally = results.tally(experiment, runs)
    figures = {"point": experiment.digest} if tally is None else row_of(experiment, tally)
    return {"label": label, "runs_wanted": runs, "runs_missing": missing, **figures}


def _print_text(sweep: Sweep, results: Store) -> None:
    labelled = any(sweep.labels)
    table = points_table("label" if labelled else None)
    for experiment, runs, label in _labelled(sweep):
        tally = results.tally(experiment, runs) or results.unbroken(experiment)
        wanted = shards_of(runs) * SHARD_RUNS
        add_point(table, experiment, tally, [label] if labelled else [], wanted)
    Console().print(table)
    if any(runs % SHARD_RUNS for runs in sweep.runs):
        typer.echo(f"Runs are rounded up to whole shards of {SHARD_RUNS}.")
    if sweep.skipped:
        typer.echo(f"Skipped: {len(sweep.skipped)} that do not apply:")
        for text in sweep.skipped:
            typer.echo(f"  {text}")
    typer.echo(f"Results are in {results.path}.")
