"""The runs of a plan: those kept in the folder are taken, the others are done and kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from popsnet.experiments import Tally
from popsnet.experiments.runner import collect
from popsnet.experiments.store import Store
from popsnet.paper.plan import Plan, Wanted

__all__ = ["STORE", "carry_out"]

STORE = "results.sqlite"
"""The file that runs are kept in."""


def carry_out(
    plan: Plan, folder: Path, progress: Callable[[int, int], None]
) -> tuple[Callable[[Wanted], Tally], list[tuple[str, str]]]:
    """Do what is not done yet; where the results are to be had, and when and how they were made."""
    with Store(folder / STORE, create=True) as store:
        collect([(one.point, one.runs) for one in plan.wanted], store, progress=progress)
        tallies = {id(one): _kept(store, one) for one in plan.wanted}
        return lambda wanted: tallies[id(wanted)], _origin(store)


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


def _kept(store: Store, wanted: Wanted) -> Tally:
    tally = store.tally(wanted.point, wanted.runs)
    assert tally is not None
    return tally
