"""Verification: check the numbers of a store, run shards again and compare."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from popsnet.base.errors import InputError, wrong
from popsnet.base.progress import Progress, patient_progress
from popsnet.base.report import Report, Reported, facts_of, plural
from popsnet.experiment.experiment import Experiment, whole_number
from popsnet.programs.router import Router
from popsnet.programs.scheduler import Scheduler
from popsnet.sweeps.database import how_to_rescue
from popsnet.sweeps.kind import ResultBatch
from popsnet.sweeps.reports import gap_notes
from popsnet.sweeps.rows import SHARD, WINDOW, kind_of
from popsnet.sweeps.runner import Workers
from popsnet.sweeps.store import Store
from popsnet.sweeps.work import Queue, Work

Key: TypeAlias = tuple[Experiment, int]
"""An experiment and the number of one of its results."""


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
    points: int = 0
    """Points of traffic of the store; all of them have a digest."""
    points_compared: int = 0
    """Points of traffic that were simulated again."""

    def report(self) -> Report:
        """Return the outcome as it is shown."""
        names = ["shards", "with_digest", "compared", "unknown", "runs_not_counted"]
        names += ["points", "points_compared"] if self.points else []
        facts = facts_of(self, "store", "flaws", *names)
        notes = [f"Not run again: {text}" for text in self.unknown]
        notes += gap_notes(self.runs_not_counted)
        if self.shards or not self.points:
            notes.append(f"{self.with_digest:,} of {plural(self.shards, 'shard')} have a digest.")
        if self.points:
            notes.append(f"{plural(self.points, 'point')} of traffic.")
        if self.flaws:
            notes.append(how_to_rescue(self.store))
        again = [plural(self.compared, "shard")] * bool(self.shards or not self.points)
        again += [plural(self.points_compared, "point")] * bool(self.points)
        done = f"{' and '.join(again)} run again"
        verdict = f"OK: {self.store} is whole and consistent; {done}, with the same results."
        if self.flaws:
            verdict = f"FAILED: {self.store} has {plural(len(self.flaws), 'flaw')}; {done}."
        return Report("", facts, (*notes, *self.flaws), verdict, ok=not self.flaws)


def verify(
    store: Store,
    shards: int | None = None,
    seed: int | None = None,
    workers: int | None = None,
    progress: Progress = None,
    routers: Collection[str | Path] = (),
) -> Verification:
    """Check a store, then run some of its shards and points of traffic again and compare.

    Parameters
    ----------
    store : Store
        What to check.
    shards : int, optional
        How many shards and points together to run again; all of them by default.
    seed : int, optional
        The seed of the choice of shards, by default 0.
    workers, progress
        As for :func:`popsnet.collect`.
    routers : collection of str or Path
        The files of routers and schedulers that may be run. A store can name any file, so the
        others are not. Each must be one that the store names.

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
    elif seed is not None:
        raise wrong("seed", seed)(
            "it chooses some shards, and all are run again; give shards as well, or leave it out."
        )
    seed = whole_number("seed", 0 if seed is None else seed, 0)
    flaws, (total, with_digest) = store.flaws(), store.count(SHARD.name)
    points = store.traffic.count()
    verification = Verification(
        str(store.path), tuple(flaws), shards=total, with_digest=with_digest, points=points
    )
    if flaws:
        return verification
    listed = [*store.experiments(), *store.traffic.experiments()]
    stored: list[Key] = [(e, number) for e in listed for number in store.numbers(e)]
    allowed = _allowed(store, stored, routers)
    work, unknown = _work(store, _sample(stored, shards, seed), allowed)
    compared = Counter[str]()
    unit = "shards and points" if points else "shards"
    with (
        Workers(workers=workers) as crew,
        patient_progress("verifying", len(work), progress, unit) as report,
    ):
        for again in crew.do(Queue(work)):
            flaws += _differences(store, again)
            compared[kind_of(again.experiment).name] += 1
            report(compared.total())
    return replace(
        verification,
        flaws=tuple(flaws),
        compared=compared[SHARD.name],
        unknown=tuple(unknown),
        runs_not_counted=store.runs_not_counted(),
        points_compared=compared[WINDOW.name],
    )


def _differences(store: Store, again: ResultBatch) -> Iterator[str]:
    """Yield how results that were made again differ from what the store has."""
    kind = kind_of(again.experiment)
    for number, row in zip(again.numbers, again.rows(), strict=True):
        stored_row = store.result(again.experiment, number)
        if how := kind.difference(stored_row, row, "in the store", "when run again"):
            yield f"{kind.where_begins(row)}: {how}."


def _sample(stored: list[Key], shards: int | None, seed: int) -> list[Key]:
    if shards is None or shards >= len(stored):
        return stored
    chosen = np.random.default_rng(seed).choice(len(stored), shards, replace=False)
    return [stored[i] for i in sorted(chosen)]


def _allowed(store: Store, stored: Iterable[Key], routers: Collection[str | Path]) -> set[Path]:
    """Return the programs that may be run, and refuse one that the store does not name."""
    allowed = {Path(file).resolve(): file for file in routers}
    if not allowed:
        return set()
    named = {store.provenance(*result).program for result in stored} - {""}
    for path, file in allowed.items():
        if path not in {Path(name).resolve() for name in named}:
            known = f"it names {', '.join(sorted(named))}" if named else "it names none"
            raise wrong("router", file)(
                f"{store.path} does not name this program; {known}. Leave it out."
            )
    return set(allowed)


def _work(store: Store, chosen: Iterable[Key], allowed: set[Path]) -> tuple[list[Work], list[str]]:
    """Return the results that can be made again, and why others cannot."""
    work: list[Work] = []
    unknown: dict[str, None] = {}
    opened: dict[tuple[Any, ...], Experiment] = {}
    for experiment, number in chosen:
        try:
            origin = store.provenance(experiment, number)
            key = experiment, *sorted(origin.given.items())
            if key not in opened:
                _require_allowed(experiment, origin.program, allowed)
                recorded = type(experiment).recorded(experiment.identity, origin.given)
                opened[key] = recorded.reopened()
            work.append((opened[key], range(number, number + 1)))
        except InputError as error:
            unknown[f"Experiment {experiment.digest}: {error}"] = None
    return work, list(unknown)


def _require_allowed(experiment: Experiment, file: str, allowed: set[Path]) -> None:
    """Refuse a program that is in a file, unless the caller has named this file."""
    use = next(iter(experiment.spelling.files))
    if not file:
        registers: dict[str, Any] = {"router": Router, "scheduler": Scheduler}
        registers[use].get(experiment.program)
    elif Path(file).resolve() not in allowed:
        raise InputError(
            f"its {use} is the program {file}, which is run only if you name it (--router {file}, "
            "or routers in Python)."
        )
