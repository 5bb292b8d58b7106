"""Verification: check the numbers of a store, run shards again and compare."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

import numpy as np

from popsnet.engines import Tally
from popsnet.errors import InputError, wrong
from popsnet.experiment import Experiment, whole_number
from popsnet.progress import Progress, patient_progress
from popsnet.report import Report, Reported, counted, facts_of
from popsnet.routing import get_router
from popsnet.sweeps import point_table
from popsnet.sweeps.cluster import Finished
from popsnet.sweeps.database import how_to_rescue
from popsnet.sweeps.point_table import Point
from popsnet.sweeps.reports import difference, gap_notes
from popsnet.sweeps.rows import counts_of, run_rows
from popsnet.sweeps.runner import Workers
from popsnet.sweeps.store import Store
from popsnet.sweeps.work import ONE_PIECE, Queue, Subject, Work
from popsnet.traffic.experiment import TrafficExperiment

Stored: TypeAlias = tuple[Subject, int]
"""An experiment and one of its shards; or a point of traffic, and 0."""


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
            notes.append(f"{self.with_digest:,} of {counted(self.shards, 'shard')} have a digest.")
        if self.points:
            notes.append(f"{counted(self.points, 'point')} of traffic.")
        if self.flaws:
            notes.append(how_to_rescue(self.store))
        again = [counted(self.compared, "shard")] * bool(self.shards or not self.points)
        again += [counted(self.points_compared, "point")] * bool(self.points)
        done = f"{' and '.join(again)} run again"
        verdict = (
            f"FAILED: {self.store} has {counted(len(self.flaws), 'flaw')}; {done}."
            if self.flaws
            else f"OK: {self.store} is whole and consistent; {done}, with the same results."
        )
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
        As for :func:`collect`.
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
    flaws, (there, with_digest) = store.flaws(), store.count_shards()
    points = store.traffic.count()
    found = Verification(
        str(store.path), tuple(flaws), shards=there, with_digest=with_digest, points=points
    )
    if flaws:
        return found
    stored: list[Stored] = [
        (one, shard) for one in store.experiments() for shard in store.shards(one)
    ]
    stored += [(one, 0) for one in store.traffic.experiments()]
    allowed = _allowed(store, stored, routers)
    work, unknown = _work(store, _sample(stored, shards, seed), allowed)
    simulated = 0
    unit = "shards and points" if points else "shards"
    with (
        Workers(workers=workers) as crew,
        patient_progress("verifying", len(work), progress, unit) as report,
    ):
        for done, again in enumerate(crew.do(Queue(work)), start=1):
            flaws += _differences(store, again)
            simulated += isinstance(again, Point)
            report(done)
    return replace(
        found,
        flaws=tuple(flaws),
        compared=len(work) - simulated,
        unknown=tuple(unknown),
        runs_not_counted=store.runs_not_counted(),
        points_compared=simulated,
    )


def _differences(store: Store, again: Finished) -> Iterator[str]:
    """Yield how a shard or a point that was run again differs from what the store has."""
    if isinstance(again, Point):
        yield from _point_differences(store, again)
        return
    tally, shard = Tally.of(again.outcomes), again.numbers[0]
    kept, where = store.shard(again.experiment, shard), f"Shard {shard} of experiment "
    where += again.experiment.digest
    if tally != kept:
        yield f"{where}: {difference(kept, tally, 'in the store', 'when run again')}."
    runs = store.shard_runs(again.experiment, shard)
    if runs is not None and runs != counts_of(run_rows(again)).tolist():
        yield f"{where} has other single runs in the store than when it is run again."


def _point_differences(store: Store, again: Point) -> Iterator[str]:
    kept = store.traffic.get(again.experiment)
    assert kept is not None
    rows = point_table.point_row(kept), point_table.point_row(again)
    if not point_table.same_result(*rows):
        how = point_table.point_difference(*rows, "in the store", "when run again")
        yield f"Point {again.experiment.digest} of traffic: {how}."


def _sample(stored: list[Stored], shards: int | None, seed: int) -> list[Stored]:
    if shards is None or shards >= len(stored):
        return stored
    chosen = np.random.default_rng(seed).choice(len(stored), shards, replace=False)
    return [stored[i] for i in sorted(chosen)]


def _allowed(store: Store, stored: Iterable[Stored], routers: Collection[str | Path]) -> set[Path]:
    """Return the programs that may be run, and refuse one that the store does not name."""
    allowed = {Path(one).resolve(): one for one in routers}
    if not allowed:
        return set()
    named = {_program(store, *one) for one in stored} - {""}
    for path, given in allowed.items():
        if path not in {Path(one).resolve() for one in named}:
            known = f"it names {', '.join(sorted(named))}" if named else "it names none"
            raise wrong("router", given)(
                f"{store.path} does not name this program; {known}. Leave it out."
            )
    return set(allowed)


def _program(store: Store, subject: Subject, shard: int) -> str:
    """Return the file of the router or the scheduler, empty if it ships."""
    if isinstance(subject, TrafficExperiment):
        file = subject.given.get("scheduler_file") or ""
        return file or (subject.scheduler if subject.scheduler.endswith(".py") else "")
    return store.provenance(subject, shard).router_file


def _work(
    store: Store, chosen: Iterable[Stored], allowed: set[Path]
) -> tuple[list[Work], list[str]]:
    """Return the shards and points that can be run again, and why others cannot."""
    work: list[Work] = []
    unknown: dict[str, None] = {}
    opened: dict[tuple[Experiment, tuple[str, str]], Experiment] = {}
    for experiment, shard in chosen:
        try:
            if isinstance(experiment, TrafficExperiment):
                if program := _program(store, experiment, shard):
                    _require_named("scheduler", program, allowed)
                work.append((experiment.reopened(), ONE_PIECE))
                continue
            origin = store.provenance(experiment, shard)
            key = experiment, (origin.router_file, origin.permutation_file)
            if key not in opened:
                _require_allowed(experiment.router, origin.router_file, allowed)
                recorded = Experiment.recorded(experiment.identity.values(), key[1])
                opened[key] = recorded.reopened()
            work.append((opened[key], range(shard, shard + 1)))
        except InputError as error:
            unknown[f"Experiment {experiment.digest}: {error}"] = None
    return work, list(unknown)


def _require_allowed(name: str, file: str, allowed: set[Path]) -> None:
    """Refuse a router that is in a file, unless the caller has named this file."""
    if not file:
        get_router(name)
    else:
        _require_named("router", file, allowed)


def _require_named(what: str, file: str, allowed: set[Path]) -> None:
    if Path(file).resolve() not in allowed:
        raise InputError(
            f"its {what} is the program {file}, which is run only if you name it (--router {file}, "
            "or routers in Python)."
        )
