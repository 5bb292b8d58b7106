"""``popsnet sort``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from popsnet.cli.options import D, G, complete_sorting_network
from popsnet.cli.output import reporting
from popsnet.report import Fact, Report


@reporting
def sort(
    d: D,
    g: G,
    network: Annotated[
        str,
        typer.Option(
            help="merge-exchange, bitonic or bag-tree.", autocompletion=complete_sorting_network
        ),
    ] = "merge-exchange",
    keys: Annotated[
        str, typer.Option(help="random, or a file of D·G numbers: .npy, or text.")
    ] = "random",
    seed: Annotated[int, typer.Option(help="Seed of random keys, and of the bag tree.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Write the sorted values: .npy, or text, one per line."),
    ] = None,
) -> Report:
    """Sort D·G values on POPS(D, G), slot by slot; exit 1 if they are not in order then."""
    from popsnet import computing
    from popsnet.files import require_writable
    from popsnet.network import Network

    if out is not None:
        require_writable(out)
    values = None if keys == "random" else Path(keys)
    done = computing.sort(Network(d, g), values, comparators=network, seed=seed)
    report = done.report().plus(Fact("keys", keys), Fact("seed", seed))
    if out is None:
        return report
    computing.write_keys(out, done.values)
    return report.plus(Fact("out", str(out)), f"Values written to {out}.")
