"""The runs of a plan: those kept in the folder are taken, the others are done and kept."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from popsnet.engines import Tally
from popsnet.paper.plan import Wanted
from popsnet.progress import Progress
from popsnet.sweeps.runner import collect
from popsnet.sweeps.store import Store

STORE = "results.sqlite"
"""The file that runs are kept in."""


def carry_out(
    wanted: Sequence[Wanted], folder: Path, progress: Progress = None
) -> tuple[dict[Wanted, Tally], list[tuple[str, str]]]:
    """Run what is missing and return the results with their provenance."""
    with Store(folder / STORE, create=True) as store:
        tallies = collect(wanted, store=store, progress=progress)
        return dict(zip(wanted, tallies, strict=True)), _origin(store)


def _origin(store: Store) -> list[tuple[str, str]]:
    """When, how long and with what the runs of a store were made; some may be from before."""
    columns = zip(*store.rows("provenance"), strict=True)
    made = dict(zip(store.columns("provenance"), columns, strict=True))
    with_what = (
        f"{name} {', '.join(sorted(set(made[name])))}"
        for name in ("popsnet", "python", "numpy", "numba")
    )
    return [
        ("runs made", f"{min(made['finished'])} to {max(made['finished'])}"),
        ("runs made with", "; ".join(with_what)),
        ("time of all runs", f"{sum(made['seconds']):,.0f} s, those at the same time added up"),
    ]
