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
) -> Callable[[Wanted], Tally]:
    """Do what is not done yet; where the results are to be had."""
    with Store(folder / STORE, create=True) as store:
        collect([(one.point, one.runs) for one in plan.wanted], store, progress=progress)
        tallies = {id(one): _kept(store, one) for one in plan.wanted}
    return lambda wanted: tallies[id(wanted)]


def _kept(store: Store, wanted: Wanted) -> Tally:
    tally = store.tally(wanted.point, wanted.runs)
    assert tally is not None
    return tally
