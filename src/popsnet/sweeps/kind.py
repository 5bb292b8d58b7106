"""What every kind of result in a store has: rows, provenance, and how results are made."""

from __future__ import annotations

import json
import math
import platform
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cache
from hashlib import blake2b
from operator import attrgetter
from typing import Any, ClassVar, NamedTuple, TypeAlias

import msgspec
import numpy as np

import popsnet
from popsnet.base.errors import InputError, PopsnetError, StoreError
from popsnet.experiment.experiment import Experiment

NEGLIGIBLE = 2**26
"""Bytes of memory of a worker that are not counted, and that it keeps while it is idle."""

ANYWHERE = "auto"
"""The engine of work that needs no resources: every worker chooses."""


Stop: TypeAlias = Callable[[], bool] | None
"""Says whether work is not wanted any more; None if it is wanted in any case."""


class UnreadableError(StoreError):
    """A row has values that popsnet never writes."""


class StoppedError(PopsnetError):
    """Work was stopped because it is no longer wanted."""


class Result(NamedTuple):
    """A row of the table ``results``."""

    digest: str
    """The name of the experiment."""
    kind: str
    first: int
    """The number of its first run."""
    runs: int
    body: bytes | str
    """What came out, in a form that depends on the kind."""
    provenance: str
    hash: str
    """A hash of the other values; empty in results of popsnet up to 0.2.0."""

    @classmethod
    def of(cls, *values: Any) -> Result:
        """Return a row of the first six values, with their hash."""
        return cls._make((*values, hash_of(values)))


def hash_of(values: tuple[Any, ...]) -> str:
    """Return the hash of the values of a row but for its own hash.

    It finds damage and careless edits. It is not a signature, since anyone can compute it.
    """
    return blake2b(msgspec.msgpack.encode(values), digest_size=16).hexdigest()


@dataclass(frozen=True)
class Provenance:
    """When, where and with what a result was made. None of it affects the result."""

    engine: str
    popsnet: str
    python: str
    numpy: str
    numba: str
    machine: str
    given: Mapping[str, str | int | float | None]
    """What was given, such as the names of files."""
    seconds: float
    finished: str
    """When, in UTC."""

    @property
    def program(self) -> str:
        """The file of the router or the scheduler, empty if it ships."""
        return str(self.given.get("router_file") or self.given.get("scheduler_file") or "")

    @classmethod
    def now(cls, engine: str, experiment: Experiment, seconds: float) -> Provenance:
        """Return the provenance of a result that is finished now, on this machine."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        return cls(engine, *versions_here(), dict(experiment.given), round(seconds, 6), now)

    def to_json(self) -> str:
        """Return the text that a store keeps."""
        return json.dumps(asdict(self), sort_keys=True)


@cache
def versions_here() -> tuple[str, str, str, str, str]:
    """Return the versions of popsnet, Python, NumPy and Numba, and the machine."""
    import numba

    versions = popsnet.__version__, platform.python_version(), np.__version__, numba.__version__
    return *versions, f"{platform.node()} {platform.machine()}"


@dataclass(frozen=True, eq=False)
class ResultBatch(ABC):
    """Results of an experiment that were finished together."""

    experiment: Experiment
    numbers: range
    """The numbers of the results."""
    outcome: Any
    provenance: Provenance
    """The same for each of them."""

    @abstractmethod
    def rows(self) -> list[Result]:
        """Return the rows of the results."""


class ResultKind(ABC):
    """How results of a kind are made, kept and compared."""

    name: ClassVar[str]
    """The kind in the table ``results``."""
    unfinished: ClassVar[str]
    """What is said of work that was stopped."""
    runs: ClassVar[int]
    """The runs of one result."""
    register: ClassVar[str]
    """The function that registers programs."""
    experiment: ClassVar[type[Experiment]]
    given: ClassVar[frozenset[str]]
    """What may be known of an experiment besides its identity."""
    batch_type: ClassVar[type[ResultBatch]]
    then_by: ClassVar[tuple[str, ...]]
    """What sorts experiments on the same network."""

    # What is done.

    def require_storable(self, experiment: Experiment) -> None:
        """Refuse an experiment that its identity does not describe, or that cannot be run."""
        if not experiment.storable:
            use = next(iter(experiment.spelling.files))
            raise InputError(
                f"{use.capitalize()} {experiment.program} is not registered, so its results could "
                "not be told from those of a later version. Put it into a file with "
                f"@popsnet.{self.register}(...) and give the file."
            )

    def execute(
        self, experiment: Any, numbers: range, stopped: Stop = None, engine: str = ANYWHERE
    ) -> ResultBatch:
        """Make results on the calling thread; it stops soon after ``stopped()`` is true."""
        begin = time.perf_counter()

        def watch(*_: object) -> None:
            if stopped is not None and stopped():
                raise StoppedError(f"Stopped before {self.unfinished} finished.")

        outcome, used = self.run(experiment, numbers, engine, watch)
        seconds = (time.perf_counter() - begin) / len(numbers)
        origin = Provenance.now(used, experiment, seconds)
        return self.batch_type(experiment, numbers, outcome, origin)

    @abstractmethod
    def run(
        self, experiment: Any, numbers: range, engine: str, watch: Callable[..., None]
    ) -> tuple[Any, str]:
        """Return the outcome of some results, and the engine; ``watch`` ends unwanted work."""

    @abstractmethod
    def seconds(self, experiment: Any, engine: str) -> float:
        """Estimate the seconds that a result takes.

        Two significant digits are kept, so that different machines agree on the order of work.
        """

    def memory(self, experiment: Any) -> int:
        """Estimate the bytes that the work needs on a worker, 0 if negligible."""
        needed = self.needed(experiment)
        return needed if needed > NEGLIGIBLE else 0

    @abstractmethod
    def needed(self, experiment: Any) -> int:
        """Estimate the bytes that the work needs."""

    def suits(self, experiment: Any, engine: str) -> bool:
        """Whether an engine that needs resources can do the work; by default, none can."""
        return False

    def batch(self, experiment: Any) -> int:
        """Return how many results are made at once."""
        return 1

    # What is kept.

    @abstractmethod
    def where(self, row: Result) -> str:
        """Return the name of a result, as in "shard 3 of experiment c73"."""

    @abstractmethod
    def flaws(self, row: Result) -> Iterator[str]:
        """Yield what is wrong with the numbers of a result."""

    def losses(self, row: Result, origin: Provenance) -> Iterator[str]:
        """Yield what a result has lost that the popsnet which made it keeps."""
        return iter(())

    @abstractmethod
    def difference(self, row: Result, other: Result, here: str, other_place: str) -> str:
        """Say how two results of the same number differ; empty if they do not."""

    def adds_to(self, new: Result, row: Result) -> bool:
        """Whether a row says more than another one of the same result."""
        return False

    def order(self, experiment: Any) -> tuple[Any, ...]:
        """Return what sorts experiments, small networks first."""
        return attrgetter("network.n", "g", *self.then_by, "digest")(experiment)

    def where_begins(self, row: Result) -> str:
        """Return the name of a result at the beginning of a sentence."""
        where = self.where(row)
        return where[0].upper() + where[1:]

    def provenance(self, row: Result) -> Provenance:
        """Return when, where and with what a result was made.

        Raises
        ------
        UnreadableError
            If it is not what popsnet writes.
        """
        try:
            origin = msgspec.json.decode(row.provenance, type=Provenance)
            if not (origin.given.keys() <= self.given and 0 <= origin.seconds < math.inf):
                raise ValueError
        except UNREADABLE:
            raise UnreadableError(
                f"{self.where_begins(row)} has provenance that cannot be read."
            ) from None
        return origin


UNREADABLE = (
    PopsnetError, msgspec.MsgspecError, KeyError, TypeError, ValueError, AttributeError,
    RecursionError, OverflowError,
)  # fmt: skip
"""What reading values raises that popsnet never writes."""
