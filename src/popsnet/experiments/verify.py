"""Are the results of a store what the routers do? Shards are done again and compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from popsnet.errors import InputError
from popsnet.experiments.point import Point
from popsnet.experiments.runner import Crew, Job, jobs_of
from popsnet.experiments.shard import Finished, Identity
from popsnet.experiments.store import Store

__all__ = ["Verdict", "verify"]


@dataclass(frozen=True)
class Verdict:
    """What was found."""

    flaws: tuple[str, ...] = ()
    """What is wrong; a store that has none is to be trusted."""
    compared: int = 0
    """Shards that were done again."""
    unknown: tuple[str, ...] = ()
    """Points that cannot be done again here, and why."""


def verify(
    store: Store,
    shards: int | None = None,
    seed: int = 0,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Verdict:
    """Check a store, then do some of its shards again, chosen by a seed; or all of them."""
    flaws = store.flaws()
    if flaws:
        return Verdict(tuple(flaws))
    stored = [(identity, shard) for identity in store.points() for shard in store.shards(identity)]
    chosen = _sample(stored, shards, seed)
    jobs, unknown = _jobs(store, chosen)
    flaws, compared = [], 0
    with Crew(workers=workers) as crew:
        for again in crew.work(jobs):
            flaws += _differences(store.finished(again.identity, again.shard), again)
            compared += 1
            if progress is not None:
                progress(compared, len(jobs))
    return Verdict(tuple(flaws), compared, tuple(unknown))


def _sample(
    stored: list[tuple[Identity, int]], shards: int | None, seed: int
) -> list[tuple[Identity, int]]:
    if shards is None or shards >= len(stored):
        return stored
    chosen = np.random.default_rng(seed).choice(len(stored), shards, replace=False)
    return [stored[i] for i in sorted(chosen)]


def _jobs(store: Store, chosen: Iterable[tuple[Identity, int]]) -> tuple[list[Job], list[str]]:
    jobs: list[Job] = []
    unknown: dict[str, None] = {}
    for identity, shard in chosen:
        try:
            point = _point(store.finished(identity, shard))
        except InputError as error:
            unknown[f"Point {identity.digest}: {error}"] = None
        else:
            jobs += jobs_of(point, identity, [shard])
    return jobs, list(unknown)


def _point(stored: Finished) -> Point:
    """The point of a shard as it is made here and now; refuses one that is not the same."""
    one, files = stored.identity, stored.provenance
    point = Point.of(
        one.d,
        one.g,
        router=files.router_file or one.router,
        variant=one.variant,
        permutation=files.permutation_file or one.permutation,
        seed=one.seed,
        permutation_seed=one.permutation_seed,
        engine=stored.provenance.engine,
        max_steps=one.max_steps,
    )
    here = Identity.of(point)
    if here != one:
        other = "version" if replace(here, version=one.version) == one else "permutation"
        raise InputError(f"the {other} here is {getattr(here, other)}, not {getattr(one, other)}.")
    return point


def _differences(stored: Finished, again: Finished) -> list[str]:
    if stored.tally == again.tally:
        return []
    where = f"Shard {stored.shard} of point {stored.identity.digest}"
    return [f"{where} is {stored.tally}, and comes to {again.tally} here."]
