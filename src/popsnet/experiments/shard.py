"""A shard: ten consecutive runs of a point, the unit in which results are made and kept."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from typing import NamedTuple

import numba
import numpy as np

import popsnet
from popsnet.engines import ENGINES, Engine, Load, Outcome
from popsnet.errors import InputError, PopsnetError
from popsnet.experiments.point import Point, routed
from popsnet.experiments.tally import Tally
from popsnet.network import Network
from popsnet.permutations.files import SUFFIXES
from popsnet.routing import Router, find_router
from popsnet.trace import Event

__all__ = [
    "MOST_RUNS",
    "SHARD_RUNS",
    "Finished",
    "Identity",
    "Provenance",
    "Stopped",
    "Task",
    "execute",
    "shard_engine",
    "shards_of",
    "with_shard_engine",
]

SHARD_RUNS = 10
"""Shard s of a point is its runs 10·s to 10·s + 9."""

MOST_RUNS = 10**7
"""No point may have more: every shard has a row in the store."""

_FORMAT = 1
"""Raised if the same identity comes to mean other runs: other seeds of runs, other shards."""


class Stopped(PopsnetError):
    """The shard was given up because somebody asked to stop."""


def shards_of(runs: int) -> int:
    """How many shards hold so many runs: they are rounded up to whole shards."""
    return -(-runs // SHARD_RUNS)


@dataclass(frozen=True)
class Identity:
    """What decides the runs of a point, and nothing else: no label, no path, no engine."""

    d: int
    g: int
    router: str
    version: str
    variant: str
    permutation: str
    """A name; or for a file its ending and a digest of its bytes."""
    seed: int
    permutation_seed: int
    max_steps: int

    def __post_init__(self) -> None:
        for name in ("d", "g", "max_steps"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} = {getattr(self, name)}: it is at least 1.")

    @classmethod
    def of(cls, point: Point | Identity) -> Identity:
        """The identity of a point."""
        if isinstance(point, Identity):
            return point
        return cls(
            d=point.network.d,
            g=point.network.g,
            router=point.router.name,
            version=point.router.version,
            variant=point.variant,
            permutation=_permutation(point.permutation),
            seed=point.seed,
            permutation_seed=point.permutation_seed,
            max_steps=point.max_steps,
        )

    @property
    def digest(self) -> str:
        """The name of the point in a store: a hash of all its fields."""
        text = json.dumps({"format": _FORMAT, **asdict(self)}, sort_keys=True)
        return blake2b(text.encode(), digest_size=16).hexdigest()

    @property
    def network(self) -> Network:
        """The network it is on."""
        return Network(self.d, self.g)


class Task(NamedTuple):
    """A shard to be done, as plain data that any executor can send anywhere."""

    d: int
    g: int
    router: str
    """A name, or the file that registers it."""
    variant: str
    permutation: str
    seed: int
    permutation_seed: int
    max_steps: int
    engine: str
    digest: str
    """Of the identity that the point must turn out to have where the task is done."""
    shard: int

    @classmethod
    def of(cls, point: Point, digest: str, shard: int) -> Task:
        """The task of one shard of a point."""
        return cls(
            d=point.network.d,
            g=point.network.g,
            router=point.router.file or point.router.name,
            variant=point.variant,
            permutation=_located(point.permutation),
            seed=point.seed,
            permutation_seed=point.permutation_seed,
            max_steps=point.max_steps,
            engine=point.engine.name,
            digest=digest,
            shard=shard,
        )


@dataclass(frozen=True)
class Provenance:
    """Where, when and with what a shard was done. None of it affects the result."""

    engine: str
    popsnet: str
    python: str
    numpy: str
    numba: str
    machine: str
    router_file: str
    permutation_file: str
    seconds: float
    finished: str
    """When, in UTC."""


@dataclass(frozen=True)
class Finished:
    """A shard that was done."""

    identity: Identity
    shard: int
    tally: Tally
    provenance: Provenance


def shard_engine(network: Network, router: Router, variant: str, *, keyed: bool) -> Engine:
    """The engine for shards: ``fused`` where it can be used, else ``slots``."""
    fused, load = ENGINES["fused"], Load(network, router.name, variant, keyed)
    if fused.has(router, variant, network) and fused.obstacle(load) is None:
        return fused
    return ENGINES["slots"]


def with_shard_engine(point: Point) -> Point:
    """The same point on the engine for shards."""
    keyed = point.permutation == "keyed"
    engine = shard_engine(point.network, point.router, point.variant, keyed=keyed)
    return replace(point, engine=engine)


def execute(task: Task, stopped: Callable[[], bool] | None = None) -> Finished:
    """Do a shard on one thread; ``stopped`` is asked now and then whether to give up."""
    begin = time.perf_counter()
    point = _point(task._replace(shard=0))

    def watch(event: Event) -> None:
        if stopped is not None and stopped():
            raise Stopped("Stopped before the shard was done.")

    runs = routed(point, SHARD_RUNS, [watch], threads=1, first=SHARD_RUNS * task.shard)
    tally = Tally.of(_whole(point, (run.outcome for run in runs)))
    identity = Identity.of(point)
    if identity.digest != task.digest:
        raise InputError(
            f"The files of {point.router.name} on {point.network}, permutation "
            f"{point.permutation}, are not those the work began with; begin again."
        )
    seconds = time.perf_counter() - begin
    return Finished(identity, task.shard, tally, _provenance(point, seconds))


def _whole(point: Point, outcomes: Iterable[Outcome]) -> Iterator[Outcome]:
    """Pass on what has an end; a router that just stops has no result to keep."""
    for outcome in outcomes:
        left = point.network.n - outcome.delivered - outcome.lost
        if left and not outcome.capped:
            raise PopsnetError(
                f"Router {point.router.name} ended on {point.network}, permutation "
                f"{point.permutation}, with {left:,} packets still on their way."
            )
        yield outcome


_loading = Lock()


def _point(task: Task) -> Point:
    with _loading:  # a router's file is not to be loaded by two threads at once
        return _loaded(task)


@lru_cache(maxsize=256)
def _loaded(task: Task) -> Point:
    """The point of a task; whoever made the task has checked that it can be run.

    The digest is part of the task, so that a file with a new text is loaded again.
    """
    return Point(
        network=Network(task.d, task.g),
        router=find_router(task.router),
        variant=task.variant,
        permutation=task.permutation,
        seed=task.seed,
        permutation_seed=task.permutation_seed,
        engine=ENGINES[task.engine],
        max_steps=task.max_steps,
    )


def _permutation(name: str) -> str:
    if not _is_file(name):
        return name
    try:
        digest = blake2b(Path(name).read_bytes(), digest_size=16).hexdigest()
    except OSError as error:
        raise InputError(f"{name} could not be read: {error.strerror}.") from error
    return f"file{Path(name).suffix.lower()}:{digest}"


def _is_file(permutation: str) -> bool:
    return Path(permutation).suffix.lower() in SUFFIXES


def _located(permutation: str) -> str:
    return str(Path(permutation).resolve()) if _is_file(permutation) else permutation


def _provenance(point: Point, seconds: float) -> Provenance:
    return Provenance(
        engine=point.engine.name,
        popsnet=popsnet.__version__,
        python=platform.python_version(),
        numpy=np.__version__,
        numba=numba.__version__,
        machine=f"{platform.node()} {platform.machine()}",
        router_file=point.router.file,
        permutation_file=_located(point.permutation) if _is_file(point.permutation) else "",
        seconds=round(seconds, 6),
        finished=datetime.now(UTC).isoformat(timespec="seconds"),
    )
