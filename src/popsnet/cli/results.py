"""``popsnet results``."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

import popsnet
from popsnet.cli.options import STORE, StoreFile
from popsnet.cli.output import reporting
from popsnet.errors import InputError
from popsnet.report import Column, Fact, Report, Table, counted

app = typer.Typer(help="List, show, export, merge and verify results.", no_args_is_help=True)


@app.command("list")
@reporting
def list_(store: StoreFile = STORE) -> Report:
    """List every experiment with its runs and means."""
    with popsnet.Store(store) as results:
        return results.report()


@app.command()
@reporting
def show(
    experiment: Annotated[
        str, typer.Argument(metavar="EXPERIMENT", help="The first characters of its name.")
    ],
    store: StoreFile = STORE,
) -> Report:
    """Show one experiment: what it is, its histograms, where and when it was run."""
    from popsnet.sweeps.reports import experiment_report

    with popsnet.Store(store) as results:
        return experiment_report(results, experiment)


@app.command()
@reporting
def export(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Ends in .csv, .json or .parquet.")],
    store: StoreFile = STORE,
) -> Report:
    """Write a table with one row per experiment."""
    with popsnet.Store(store) as results:
        count = results.export(file)
    words = f"{counted(count, 'experiment')} written to {file}."
    return Report("", (Fact("file", str(file)), Fact("experiments", count)), (words,))


@app.command()
@reporting
def merge(
    others: Annotated[list[Path], typer.Argument(metavar="OTHER...", help="Stores to take from.")],
    store: StoreFile = STORE,
) -> Report:
    """Take over what other stores have; results that contradict each other are an error."""
    for other in others:
        if store.exists() and other.exists() and store.samefile(other):
            raise InputError(f"{other} is the store to merge into; give others.")
    with ExitStack() as opened:  # refuses what is not a store, before any work
        stores = [opened.enter_context(popsnet.Store(other)) for other in others]
        results = opened.enter_context(popsnet.Store(store, create=True))
        rows = [{"store": str(one.path), "new_shards": results.merge(one)} for one in stores]
    columns = Column("store", kind="text"), Column("new_shards", kind="integer")
    return Report("", (Fact("store", str(store)),), (Table("merged", "", columns, rows),))


@app.command()
@reporting
def verify(
    store: StoreFile = STORE,
    shards: Annotated[int, typer.Option(help="Run this many shards again.")] = 5,
    seed: Annotated[int, typer.Option(help="Chooses the shards.")] = 0,
    every: Annotated[bool, typer.Option("--all", help="Run all shards again.")] = False,
) -> Report:
    """Check a store and run some of its shards again."""
    with popsnet.Store(store) as results:
        return popsnet.verify(results, None if every else shards, seed).report()
