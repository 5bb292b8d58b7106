"""``popsnet sweep``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import popsnet
from popsnet.cli.options import STORE, StoreFile
from popsnet.cli.output import Interrupted, reporting
from popsnet.report import Report


@reporting
def sweep(
    file: Annotated[Path, typer.Argument(metavar="FILE.toml", help="What to run.")],
    store: StoreFile = STORE,
    workers: Annotated[
        int | None, typer.Option(help="Shards at work at once; one per processor if not given.")
    ] = None,
) -> Report:
    """Do all runs that a file asks for, except those that the store has already."""
    from popsnet.sweeps.reports import sweep_report
    from popsnet.sweeps.runner import require_workers, shards_done
    from popsnet.sweeps.shard import SHARD_RUNS

    wanted = popsnet.Sweep.read(file)
    require_workers(workers)
    with popsnet.Store(store, create=True) as results:
        try:
            popsnet.collect(wanted, store=results, workers=workers)
        except KeyboardInterrupt:
            done, total = shards_done(wanted, results)
            message = (
                f"Interrupted: {done:,} of {total:,} shards of {SHARD_RUNS} runs are in {store}. "
                "The same command does the rest."
            )
            raise Interrupted(message, sweep_report(wanted, results)) from None
        return sweep_report(wanted, results)
