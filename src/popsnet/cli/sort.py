"""``popsnet sort``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import popsnet
from popsnet.cli import options as opt
from popsnet.cli.output import reporting, with_file
from popsnet.cli.timing import Timed, timed
from popsnet.report import Fact, Report


@reporting
@timed
def sort(
    d: opt.D,
    g: opt.G,
    network: Annotated[
        str,
        typer.Option(help=opt.SORTING_NETWORKS, autocompletion=opt.complete_sorting_network),
    ] = "merge-exchange",
    keys: Annotated[
        str, typer.Option(help="random, or a file with D·G numbers: .npy or text.")
    ] = "random",
    seed: Annotated[
        int | None, typer.Option(help="Random seed of the keys and of bag-tree (default 0).")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Write the sorted values to this file: .npy, or text.",
            callback=opt.require_file,
        ),
    ] = None,
    timing: Timed = None,
) -> Report:  # fmt: skip
    """Sort D·G values on POPS(D, G), slot by slot."""
    from popsnet.computing import write_keys

    values = None if keys == "random" else Path(keys)
    done = popsnet.sort(popsnet.Network(d, g), values, comparators=network, seed=seed)
    report = done.report(timing).plus(Fact("keys", keys), Fact("seed", seed or 0))
    if out is None:
        return report
    write_keys(out, done.values)
    return with_file(report, "Values", out)
