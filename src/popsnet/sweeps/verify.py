"""Verification: check the numbers of a store, run shards again and compare."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from popsnet.engines import Tally
from popsnet.errors import InputError
from popsnet.experiment import Experiment, whole_number
from popsnet.progress import Progress, patient_progress
from popsnet.report import Report, Reported, counted, facts_of
from popsnet.routing import get_router
from popsnet.sweeps.database import how_to_rescue
from popsnet.sweeps.reports import difference, gap_notes
from popsnet.sweeps.rows import counts_of, run_rows
from popsnet.sweeps.runner import Workers
from popsnet.sweeps.shard import Shards
from popsnet.sweeps.store import Store
from popsnet.sweeps.work import Queue, Work


@dataclass(frozen=True, repr=False)
class Verification(Reported):
    """The outcome of verifying a store."""

    store: str
    """The file."""
    flaws: tuple[str, ...] = ()
    """What is wrong with the store."""
    compared: int = 0
    """Shards that were run again."""
    unknown: tuple[str, ...] = ()
    """Experiments that cannot be run again here, and why."""
    runs_not_counted: int = 0
    """Runs behind a missing shard."""
    shards: int = 0
    """Shards of the store."""
    with_digest: int = 0
    """Shards that have a digest, with which all their rows were compared."""

    def report(self) -> Report:
        """Return the outcome as it is shown."""
        names = "shards", "with_digest", "compared", "unknown", "runs_not_counted"
        facts = facts_of(self, "store", "flaws", *names)
        notes = [f"Not run again: {text}" for text in self.unknown]
        notes += gap_notes(self.runs_not_counted)
        notes.append(f"{self.with_digest:,} of {counted(self.shards, 'shard')} have a digest.")
        if self.flaws:
            notes.append(how_to_rescue(self.store))
        done = f"{counted(self.compared, 'shard')} run again"
        verdict = (
            f"FAILED: {self.store} has {counted(len(self.flaws), 'flaw')}; {done}."
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
    routers: Collection[str | Path] = (),
) -> Verification:
    """Check a store, then run some of its shards again and compare.

    Parameters
    ----------
    store : Store
        What to check.
    shards : int, optional
        How many shards to run again; all of them by default.
    seed : int
        The seed of the choice of shards.
    workers, progress
        As for :func:`collect`.
    routers : collection of str or Path
        The files of routers that may be run. A store can name any file, so the others are not.

    Returns
    -------
    Verification
        Its ``flaws`` are empty if nothing is wrong.

    Examples
    --------
    >>> import popsnet
    >>> tallies = popsnet.collect([popsnet.Experiment(4, 4)], runs=20, store="results.sqlite")
    >>> with popsnet.Store("results.sqlite") as store:
    ...     found = popsnet.verify(store)
    >>> found.flaws, found.compared
    ((), 2)
    """
    if shards is not None:
        whole_number("shards", shards, 0)
    whole_number("seed", seed, 0)
    flaws, (there, with_digest) = store.flaws(), store.count_shards()
    if flaws:
        return Verification(str(store.path), tuple(flaws), shards=there, with_digest=with_digest)
    behind = store.runs_not_counted()
    stored = [(one, shard) for one in store.experiments() for shard in store.shards(one)]
    work, unknown = _work(store, _sample(stored, shards, seed), routers)
    compared = 0
    with (
        Workers(workers=workers) as crew,
        patient_progress("verifying", len(work), progress, "shards") as report,
    ):
        for compared, again in enumerate(crew.do(Queue(work)), start=1):
            flaws += _differences(store, again)
            report(compared)
    return Verification(
        str(store.path), tuple(flaws), compared, tuple(unknown), behind, there, with_digest
    )


def _differences(store: Store, again: Shards) -> Iterator[str]:
    """Yield how a shard that was run again differs from what the store has."""
    tally, shard = Tally.of(again.outcomes), again.numbers[0]
    kept, where = store.shard(again.experiment, shard), f"Shard {shard} of experiment "
    where += again.experiment.digest
    if tally != kept:
        yield f"{where}: {difference(kept, tally, 'in the store', 'when run again')}."
    runs = store.shard_runs(again.experiment, shard)
    if runs is not None and runs != counts_of(run_rows(again)).tolist():
        yield f"{where} has other single runs in the store than when it is run again."


def _sample(
    stored: list[tuple[Experiment, int]], shards: int | None, seed: int
) -> list[tuple[Experiment, int]]:
    if shards is None or shards >= len(stored):
        return stored
    chosen = np.random.default_rng(seed).choice(len(stored), shards, replace=False)
    return [stored[i] for i in sorted(chosen)]


def _work(
    store: Store, chosen: Iterable[tuple[Experiment, int]], routers: Collection[str | Path]
) -> tuple[list[Work], list[str]]:
    """Return the shards that can be run again, and why others cannot."""
    allowed = {Path(one).resolve() for one in routers}
    work: list[Work] = []
    unknown: dict[str, None] = {}
    opened: dict[tuple[Experiment, tuple[str, str]], Experiment] = {}
    for experiment, shard in chosen:
        origin = store.provenance(experiment, shard)
        key = experiment, (origin.router_file, origin.permutation_file)
        try:
            if key not in opened:
                _require_allowed(experiment.router, origin.router_file, allowed)
                recorded = Experiment.recorded(experiment.identity.values(), key[1])
                opened[key] = recorded.reopened()
        except InputError as error:
            unknown[f"Experiment {experiment.digest}: {error}"] = None
        else:
            work.append((opened[key], range(shard, shard + 1)))
    return work, list(unknown)


def _require_allowed(name: str, file: str, allowed: set[Path]) -> None:
    """Refuse a router that is in a file, unless the caller has named this file."""
    if not file:
        get_router(name)
    elif Path(file).resolve() not in allowed:
        raise InputError(
            f"its router is the program {file}, which is run only if you name it (--router {file}, "
            "or routers in Python)."
        )
