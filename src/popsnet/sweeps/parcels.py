"""Parcels: pieces of work and their results as bytes, for machines that share no files.

A parcel names the files of routers, permutations and schedulers by digests of their contents. The
contents travel beside it. A worker writes them into a folder of its own, and finds out whether they
are what the experiment was made with.
"""

from __future__ import annotations

import pickle
import platform
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from typing import Any, TypeAlias

import popsnet
from popsnet.engines import find_engine
from popsnet.errors import InputError
from popsnet.experiment import Experiment
from popsnet.routing import plugin
from popsnet.sweeps.points import Point, execute_point
from popsnet.sweeps.shard import Shards, execute_shards
from popsnet.sweeps.work import ANYWHERE, Subject, Work
from popsnet.traffic import scheduler as schedulers
from popsnet.traffic.experiment import TrafficExperiment

Finished: TypeAlias = Shards | Point


@dataclass(frozen=True)
class File:
    """A file that travels: its name without folders, and a digest of its contents."""

    name: str
    digest: str


@dataclass(frozen=True)
class Sent:
    """A subject as it travels: its fields, its files by use, and what has no name."""

    fields: Any
    files: Mapping[str, File]
    unnamed: Mapping[str, Any] = field(default_factory=dict)


class Sender:
    """Packs work. Every file is read once, and its contents are kept."""

    def __init__(self) -> None:
        self.contents: dict[str, bytes] = {}
        """The contents of files by digest."""
        self._files: dict[str, File] = {}
        self._sent: dict[Subject, Sent] = {}

    def pack(self, work: Sequence[Work], engine: str = ANYWHERE) -> tuple[bytes, list[str]]:
        """Return a parcel for an engine, and the digests of the files that it needs."""
        pieces = [(self._packed(subject), shards) for subject, shards in work]
        needed = {file.digest: None for sent, _ in pieces for file in sent.files.values()}
        return pickle.dumps((engine, pieces)), list(needed)

    def _packed(self, subject: Subject) -> Sent:
        if subject not in self._sent:
            self._sent[subject] = (
                self._point(subject)
                if isinstance(subject, TrafficExperiment)
                else self._runs(subject)
            )
        return self._sent[subject]

    def _runs(self, experiment: Experiment) -> Sent:
        files = {}
        if experiment.router_file:
            files["router"] = self._file(experiment.router_file, experiment.version)
        if experiment.permutation_file:
            files["permutation"] = self._file(experiment.permutation_file, experiment.permutation)
        unnamed: dict[str, Any] = {}
        if experiment.demand is not None:
            unnamed["demand"] = experiment.demand
        elif experiment.permutation.startswith("array:"):
            unnamed["permutation"] = experiment.destination(0)
        return Sent(tuple(experiment.identity.values()), files, unnamed)

    def _point(self, experiment: TrafficExperiment) -> Sent:
        path = experiment.given.get("scheduler_file")
        files = {"scheduler": self._file(path, experiment.version)} if path else {}
        return Sent(experiment, files)

    def _file(self, path: str, identity: str) -> File:
        """Read a file, and refuse one whose digest is not the end of its identity."""
        if path not in self._files:
            try:
                data = Path(path).read_bytes()
            except OSError as error:
                raise InputError(f"{path} cannot be read: {error.strerror}.") from error
            digest = blake2b(data, digest_size=16).hexdigest()
            self._files[path], self.contents[digest] = File(Path(path).name, digest), data
        file = self._files[path]
        short = blake2b(self.contents[file.digest], digest_size=8).hexdigest()
        if not identity.endswith((file.digest, short)):
            raise InputError(f"{path} has changed since the work began. Start again.")
        return file


def execute_parcel(version: str, parcel: bytes, digests: Sequence[str], *contents: bytes) -> bytes:
    """Do the work of a parcel on the calling thread, and return the results as bytes."""
    if version != popsnet.__version__:
        raise InputError(different_versions({platform.node(): popsnet.__version__}, version))
    there = dict(zip(digests, contents, strict=True))
    results: list[tuple[Any, Any]] = []
    engine, pieces = pickle.loads(parcel)  # noqa: S301 - as trusted as the scheduler
    for sent, shards in pieces:
        subject = _opened(sent, there)
        if isinstance(subject, TrafficExperiment):
            point = execute_point(subject)
            results.append((point.result, point.provenance))
        else:
            if engine != ANYWHERE:
                _require(engine, subject)
            done = execute_shards(subject, shards, engine=engine)
            results.append((done.outcomes, done.provenance))
    return pickle.dumps(results)


def _require(name: str, experiment: Experiment) -> None:
    """Refuse work for an engine that this worker cannot use, whatever its resources say."""
    try:
        reason = find_engine(name).supports(experiment)
    except InputError as error:
        reason = str(error).rstrip(".")
    if reason is not None:
        raise InputError(
            f"Worker {platform.node()} states the resources of engine {name} and cannot run "
            f"{experiment} with it: {reason}. Install what is missing, or start it without them."
        )


def unpack(work: Sequence[Work], results: bytes) -> list[Finished]:
    """Return the results of a parcel, with the experiments and the names of files from here."""
    received = pickle.loads(results)  # noqa: S301 - as trusted as the scheduler
    return [_finished(*piece, *one) for piece, one in zip(work, received, strict=True)]


def _finished(subject: Subject, shards: range, result: Any, origin: Any) -> Finished:
    if isinstance(subject, TrafficExperiment):
        return Point(subject, result, replace(origin, given=dict(subject.given)))
    files = {"router_file": subject.router_file, "permutation_file": subject.permutation_file}
    return Shards(subject, shards, result, replace(origin, **files))


def different_versions(there: Mapping[str, str], here: str) -> str:
    """Say which workers have another version of popsnet."""
    found = ", ".join(f"{version} on {name}" for name, version in sorted(there.items()))
    return (
        f"Workers have other versions of popsnet: {found}, and {here} here. Install the same "
        "version everywhere."
    )


_MOST_OPENED = 1000
"""Subjects that a worker keeps, of this and of other sweeps."""

_opening = Lock()
_opened_before: dict[Any, Subject] = {}
_files_by_name: dict[tuple[str, str], Path] = {}
"""The file of each router and scheduler that came in a parcel."""


def _opened(sent: Sent, contents: Mapping[str, bytes]) -> Subject:
    """Return the subject that was sent; one with files is opened once."""
    files = tuple(sorted((use, file.digest) for use, file in sent.files.items()))
    with _opening:  # the file of a router must not be loaded by two threads at once
        key = sent.fields, files
        if key not in _opened_before:
            if len(_opened_before) >= _MOST_OPENED:
                _opened_before.clear()
            try:
                _opened_before[key] = _open(sent, contents)
            except InputError as error:
                raise InputError(f"Worker {platform.node()} cannot do the work: {error}") from error
        return _opened_before[key]


def _open(sent: Sent, contents: Mapping[str, bytes]) -> Subject:
    paths = {use: _written(file, contents[file.digest]) for use, file in sent.files.items()}
    if isinstance(sent.fields, TrafficExperiment):
        if "scheduler" not in paths:
            return sent.fields
        _make_room("scheduler", sent.fields.scheduler, paths["scheduler"])
        return sent.fields.with_scheduler(schedulers.find_scheduler(paths["scheduler"]))
    named = (str(paths.get(use, "")) for use in ("router", "permutation"))
    recorded = Experiment.recorded(sent.fields, named)
    if "router" in paths:
        _make_room("router", recorded.router, paths["router"])
    return recorded.reopened(sent.unnamed)


def _make_room(use: str, name: str, path: Path) -> None:
    """Forget a router or scheduler of the same name that came in an earlier parcel."""
    before = _files_by_name.get((use, name))
    if before is not None and before != path:
        (plugin if use == "router" else schedulers).forget_file(before)
    _files_by_name[use, name] = path


def _written(file: File, data: bytes) -> Path:
    """Return the path of a file that came in a parcel."""
    path = Path(_folder().name) / file.digest / Path(file.name).name
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
    return path


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="popsnet-")
