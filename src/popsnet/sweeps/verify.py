"""Are the results of a store what the routers do? Shards are done again and compared."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from popsnet.engines import Tally
from popsnet.errors import InputError
from popsnet.experiment import Experiment, whole_number
from popsnet.progress import Progress, patient_progress
from popsnet.report import Report, Reported, counted, facts_of
from popsnet.sweeps.runner import Work, Workers
from popsnet.sweeps.store import Store


@dataclass(frozen=True, repr=False)
class Verification(Reported):
    """What was found."""

    store: str
    """The file."""
    flaws: tuple[str, ...] = ()
    """What is wrong; a store that has none can be trusted."""
    compared: int = 0
    """Shards that were done again."""
    unknown: tuple[str, ...] = ()
    """Experiments that cannot be done again here, and why."""

    def report(self) -> Report:
        """Return what was found as it is shown."""
        facts = facts_of(self, "store", "flaws", "compared", "unknown")
        notes = [f"Not run again: {text}" for text in self.unknown]
        done = f"{counted(self.compared, 'shard')} run again"
        verdict = (
            f"FAILED: {self.store} has {len(self.flaws):,} flaws; {done}."
            if self.flaws
            else f"OK: {self.store} is whole and consistent; {done}, with the same results."
        )
        return Report("", facts, (*notes, *self.flaws), verdict, ok=not self.flaws)


def verify(
    store: Store,
    shards: int | None = None,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress = None,
) -> Verification:
    """Check a store, then do some of its shards again and compare.

    Parameters
    ----------
    store : Store
        What to check.
    shards : int, optional
        How many shards to do again, chosen by the seed; all of them if not given.
    seed : int
        Chooses the shards.
    workers, progress
        See :func:`collect`.
    """
    if shards is not None:
        whole_number("shards", shards, 0)
    whole_number("seed", seed, 0)
    flaws = store.flaws()
    if flaws:
        return Verification(str(store.path), tuple(flaws))
    stored = [(one, shard) for one in store.experiments() for shard in store.shards(one)]
    work, unknown = _work(store, _sample(stored, shards, seed))
    compared = 0
    with (
        Workers(workers=workers) as crew,
        patient_progress("verifying", len(work), progress, "shards") as report,
    ):
        for compared, again in enumerate(crew.do(work), start=1):
            tally, shard = Tally.of(again.outcomes), again.numbers[0]
            kept = store.shard(again.experiment, shard)
            if tally != kept:
                where = f"Shard {shard} of experiment {again.experiment.digest}"
                flaws.append(f"{where} is {kept}, and comes to {tally} here.")
            report(compared)
    return Verification(str(store.path), tuple(flaws), compared, tuple(unknown))


def _sample(
    stored: list[tuple[Experiment, int]], shards: int | None, seed: int
) -> list[tuple[Experiment, int]]:
    if shards is None or shards >= len(stored):
        return stored
    chosen = np.random.default_rng(seed).choice(len(stored), shards, replace=False)
    return [stored[i] for i in sorted(chosen)]


def _work(store: Store, chosen: Iterable[tuple[Experiment, int]]) -> tuple[list[Work], list[str]]:
    """The shards that can be done again, and why others cannot."""
    work: list[Work] = []
    unknown: dict[str, None] = {}
    opened: dict[tuple[Experiment, tuple[str, str]], Experiment] = {}
    for experiment, shard in chosen:
        origin = store.provenance(experiment, shard)
        key = experiment, (origin.router_file, origin.permutation_file)
        try:
            if key not in opened:
                recorded = Experiment.recorded(experiment.identity.values(), key[1])
                opened[key] = recorded.reopened()
        except InputError as error:
            unknown[f"Experiment {experiment.digest}: {error}"] = None
        else:
            work.append((opened[key], range(shard, shard + 1)))
    return work, list(unknown)
