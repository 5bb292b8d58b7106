"""Files with the histograms of finished runs, to which later runs are added."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import DecodeError, Meta, Struct
from msgspec.json import decode
from msgspec.structs import asdict

from popsnet.base.errors import InputError, PopsnetError, as_path
from popsnet.base.files import alone_with, require_writable, write_whole
from popsnet.engines import Tally
from popsnet.engines.outcome import HISTOGRAMS, TOTALS
from popsnet.experiment.experiment import Experiment

if TYPE_CHECKING:
    from popsnet.runs.distribution import RunsDistribution

_SECONDS_BETWEEN_WRITES = 30.0

_Count = Annotated[int, Meta(ge=0)]
_Histogram = dict[int, Annotated[int, Meta(ge=1)]]
_Range = tuple[_Count, Annotated[int, Meta(le=2**62)]]


class _TallyRecord(Struct, frozen=True, forbid_unknown_fields=True):
    """A tally in a file."""

    runs: _Count
    capped: _Count
    steps: _Histogram
    slots: _Histogram
    slots_delivered: _Histogram
    lost: _Histogram
    collisions: int
    destroyed: int
    messages: int

    @classmethod
    def of(cls, tally: Tally) -> dict[str, Any]:
        """Return what is written, with the values of histograms in ascending order."""
        plain = {name: getattr(tally, name) for name in ("runs", "capped", *TOTALS)}
        histograms = tally.histograms.items()
        return plain | {name: dict(sorted(counts.items())) for name, counts in histograms}

    def tally(self) -> Tally:
        """Return the tally."""
        counts: dict[str, Any] = {name: Counter(getattr(self, name)) for name in HISTOGRAMS}
        return Tally(**{**asdict(self), **counts})


class TallyFile(Struct, frozen=True, forbid_unknown_fields=True):
    """The contents of a file."""

    format: Literal["popsnet distribution"]
    version: Literal[1]
    experiment: dict[str, Any]
    engine: str
    numbers: list[_Range]
    undelivered: _Count
    seconds: Annotated[float, Meta(ge=0)]
    tally: _TallyRecord
    capped_tally: _TallyRecord
    fault_counts: dict[str, _Count] = {}  # of runs with faults alone

    def flaw(self) -> str:
        """Return in which way the numbers contradict each other; empty if they do not."""
        ends = [end for some in self.numbers for end in some]
        runs = sum(stop - start for start, stop in self.numbers)
        if ends != sorted(set(ends)) or runs != self.tally.runs:
            return "the numbers of the runs are not those of its histograms"
        if self.tally.capped != self.capped_tally.runs or self.capped_tally.runs > runs:
            return "the numbers of capped runs differ"
        for name in HISTOGRAMS:
            every, capped = (getattr(tally, name) for tally in (self.tally, self.capped_tally))
            if (sum(every.values()), sum(capped.values())) != (runs, self.tally.capped):
                return f"the histogram of {name} has another number of runs"
            if any(times > every.get(value, 0) for value, times in capped.items()):
                return f"the histogram of {name} has fewer runs than capped runs"
        return ""

    @property
    def runs(self) -> dict[str, Any]:
        """The fields of a distribution that depend on its runs."""
        return {
            **{name: getattr(self, name) for name in ("engine", "undelivered", "seconds")},
            **{name: getattr(self, name).tally() for name in ("tally", "capped_tally")},
            "numbers": tuple(range(*part) for part in self.numbers),
            "fault_counts": Counter(self.fault_counts),
        }

    def require(self, experiment: Experiment, path: Path) -> None:
        """Refuse an experiment other than that of the file."""
        old, new = self.experiment, experiment.identity
        if other := [name for name in new if old.get(name) != new[name]]:
            values = ", ".join(f"{name} = {old.get(name)} and not {new[name]}" for name in other)
            raise InputError(
                f"{path} has runs of another experiment: {values}. Give another file, or the "
                "parameters of the runs that it has.",
                others=other,
            )

    def reopened(self, path: Path) -> Experiment:
        """Return the experiment, with its router and its permutation."""
        try:
            return Experiment.from_json(json.dumps(self.experiment))
        except InputError as error:
            raise InputError(f"The experiment of {path} cannot be found again: {error}") from error


def read_tallies(path: Path) -> TallyFile:
    """Return the runs that a file has."""
    try:
        file = decode(path.read_bytes(), type=TallyFile)
        flaw = file.flaw()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from error
    except (DecodeError, UnicodeDecodeError, RecursionError) as error:
        flaw = str(error)
    if flaw:
        raise InputError(f"{path} is not a file of a distribution, or is damaged: {flaw}.")
    return file


def write_tallies(path: Path, runs: RunsDistribution) -> None:
    """Write runs to a file, whole or not at all."""
    record = {
        "format": "popsnet distribution",
        "version": 1,
        "experiment": json.loads(runs.experiment.to_json()),
        "engine": runs.engine,
        "numbers": [[some.start, some.stop] for some in runs.numbers],
        "undelivered": runs.undelivered,
        "seconds": round(runs.seconds, 3),
        "tally": _TallyRecord.of(runs.tally),
        "capped_tally": _TallyRecord.of(runs.capped_tally),
    }
    if any(runs.fault_counts.values()):
        record["fault_counts"] = dict(runs.fault_counts)
    with write_whole(path) as file:
        file.write(json.dumps(record, indent=1) + "\n")


class TallyWriter:
    """The file of one distribution while its runs are executed.

    Several programs could not add to it at once: each would write the runs that it has itself. So
    only one has it, and a file that has changed nevertheless is not overwritten.
    """

    def __init__(self, path: Path, experiment: Experiment) -> None:
        self.path = path
        experiment.to_json()  # refused if the router or the permutation has no name
        self.before = dict[str, Any]()
        """The fields of the runs that the file has at the beginning; empty if there is no file."""
        if self.path.exists():
            file = read_tallies(self.path)
            file.require(experiment, self.path)
            self.before = file.runs
        self._note()

    @classmethod
    @contextmanager
    def opened(cls, path: str | Path, experiment: Experiment) -> Iterator[TallyWriter]:
        """Return a writer for a block, and refuse a file that another program adds to."""
        named = as_path("keep", path)
        require_writable(named)
        with alone_with(named):
            yield cls(named, experiment)

    def write(self, runs: RunsDistribution) -> None:
        """Write the runs that are finished now."""
        if self._now() != self._contents:
            raise PopsnetError(
                f"Another program has changed {self.path} in the meantime, so it is not "
                "overwritten. Give every program a file of its own, and add the results."
            )
        write_tallies(self.path, runs)
        self._note()

    def is_due(self) -> bool:
        """Whether the file has not been written for some time."""
        return time.monotonic() > self._written + _SECONDS_BETWEEN_WRITES

    def _note(self) -> None:
        self._contents, self._written = self._now(), time.monotonic()

    def _now(self) -> bytes | None:
        return self.path.read_bytes() if self.path.exists() else None
