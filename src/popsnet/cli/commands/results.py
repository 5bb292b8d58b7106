"""``popsnet results``: its commands and their options; ``stored`` does what they say."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from popsnet.cli.options import STORE, Json

__all__ = ["app"]

app = typer.Typer(help="List, show, export, merge and verify results.", no_args_is_help=True)

Store = Annotated[Path, typer.Option(help="The store that popsnet sweep has written.")]


@app.command("list")
def list_(store: Store = STORE, json: Json = False) -> None:
    """List every point with its runs and means."""
    from popsnet.cli.stored import list_command

    list_command(store, as_json=json)


@app.command()
def show(
    point: Annotated[str, typer.Argument(metavar="POINT", help="The first signs of its name.")],
    store: Store = STORE,
    json: Json = False,
) -> None:
    """Show one point: what it is, its histograms, where and when it was run."""
    from popsnet.cli.stored import show_command

    show_command(store, point, as_json=json)


@app.command()
def export(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Ends in .csv, .json or .parquet.")],
    store: Store = STORE,
) -> None:
    """Write a table with one row a point."""
    from popsnet.cli.stored import export_command

    export_command(store, file)


@app.command()
def merge(
    others: Annotated[list[Path], typer.Argument(metavar="OTHER...", help="Stores to take from.")],
    store: Store = STORE,
) -> None:
    """Take over what other stores have; results that contradict each other are an error."""
    from popsnet.cli.stored import merge_command

    merge_command(store, others)


@app.command()
def verify(
    store: Store = STORE,
    shards: Annotated[int, typer.Option(help="So many shards are run again.")] = 5,
    seed: Annotated[int, typer.Option(help="Decides which.")] = 0,
    every: Annotated[bool, typer.Option("--all", help="All shards are run again.")] = False,
    json: Json = False,
) -> None:
    """Check a store and run some of its shards again; exit 1 if something is wrong."""
    from popsnet.cli.stored import verify_command

    verify_command(store, shards=None if every else shards, seed=seed, as_json=json)
