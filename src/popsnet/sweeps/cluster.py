"""Clusters: work handed over to the workers of a Dask scheduler (``popsnet[cluster]``)."""

from __future__ import annotations

import asyncio
import logging
import math
import pickle
import platform
import re
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Executor, Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, TypeVar

import popsnet
from popsnet.base import system
from popsnet.base.errors import InputError, PopsnetError, how_to_install, wrong
from popsnet.base.progress import patient_progress
from popsnet.engines import Engine, find_engine
from popsnet.engines.plugins import usable
from popsnet.experiment.experiment import Experiment, opened_once
from popsnet.programs.files import code_digest
from popsnet.programs.register import forget_file
from popsnet.sweeps.kind import ANYWHERE, ResultBatch
from popsnet.sweeps.rows import kind_of
from popsnet.sweeps.work import Work

if TYPE_CHECKING:
    from distributed import Client, LocalCluster


class File(NamedTuple):
    """A file that travels: its name without folders, and a digest of its contents."""

    name: str
    digest: str


class Record(NamedTuple):
    """An experiment as it travels: its names, its files by use, and what has no name."""

    recorded: Experiment
    files: Mapping[str, File]
    unnamed: Mapping[str, Any]


class Sender:
    """The side that packs work. Every file is read once, and its contents are kept."""

    def __init__(self) -> None:
        self.contents: dict[str, bytes] = {}
        """The contents of files by digest."""
        self._files: dict[str, File] = {}
        self._packed = cache(self._record)

    def pack(self, work: Sequence[Work], engine: str = ANYWHERE) -> tuple[bytes, list[str]]:
        """Return a parcel for an engine, and the digests of the files that it needs."""
        pieces = [(self._packed(subject), shards) for subject, shards in work]
        needed = {file.digest: None for sent, _ in pieces for file in sent.files.values()}
        return pickle.dumps((engine, pieces)), list(needed)

    def _record(self, subject: Experiment) -> Record:
        files = {use: self._file(*file) for use, file in subject.files.items()}
        recorded = subject.recorded(subject.identity, subject.given)
        return Record(recorded, files, subject.unnamed)

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
        code = code_digest(self.contents[file.digest]) if path.endswith(".py") else file.digest
        if not identity.endswith((file.digest, code)):
            raise InputError(f"{path} has changed since the work began. Start again.")
        return file


def execute_parcel(version: str, parcel: bytes, digests: Sequence[str], *contents: bytes) -> bytes:
    """Do the work of a parcel on the calling thread, and return the results as bytes."""
    if version != popsnet.__version__:
        raise InputError(different_versions({platform.node(): popsnet.__version__}, version))
    by_digest = dict(zip(digests, contents, strict=True))
    results: list[tuple[Any, Any]] = []
    engine, pieces = pickle.loads(parcel)  # noqa: S301 - as trusted as the scheduler
    for sent, shards in pieces:
        experiment = _opened(sent, by_digest)
        if engine != ANYWHERE:
            _require(engine, experiment)
        done = kind_of(experiment).execute(experiment, shards, engine=engine)
        results.append((done.outcome, done.provenance))
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


def unpack(work: Sequence[Work], results: bytes) -> list[ResultBatch]:
    """Return the results of a parcel, with the experiments and the names of files from here."""
    received: Any = pickle.loads(results)  # noqa: S301 - as trusted as the scheduler
    return [
        kind_of(e).batch_type(e, numbers, outcome, replace(origin, given=dict(e.given)))
        for (e, numbers), (outcome, origin) in zip(work, received, strict=True)
    ]


def different_versions(versions: Mapping[str, str], here: str) -> str:
    """Say which workers have another version of popsnet."""
    others = ", ".join(f"{version} on {name}" for name, version in sorted(versions.items()))
    return (
        f"Workers have other versions of popsnet: {others}, and {here} here. Install the same "
        "version everywhere."
    )


_files_by_name: dict[tuple[str, str], Path] = {}
"""The file of each router and scheduler that came in a parcel."""


def _opened(sent: Record, contents: Mapping[str, bytes]) -> Experiment:
    """Return the subject that was sent; one with files is opened once."""
    files = tuple(sorted((use, file.digest) for use, file in sent.files.items()))
    try:
        return opened_once((sent.recorded, files), lambda: _open(sent, contents))
    except InputError as error:
        raise InputError(f"Worker {platform.node()} cannot do the work: {error}") from error


def _open(sent: Record, contents: Mapping[str, bytes]) -> Experiment:
    paths = {use: _written(file, contents[file.digest]) for use, file in sent.files.items()}
    for use in paths.keys() & {"router", "scheduler"}:
        name = use, sent.recorded.program
        before = _files_by_name.setdefault(name, paths[use])
        if before != paths[use]:  # of the same name, in an earlier parcel
            forget_file(before)
            _files_by_name[name] = paths[use]
    return sent.recorded.reopened({**sent.unnamed, **paths})


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


_T = TypeVar("_T")
_P = ParamSpec("_P")

MOST_WORKERS = 1024
"""The most worker processes that are started here."""

_VERSION = "__import__('popsnet').__version__"

_SECONDS_TO_CONNECT = 10
_SECONDS_TO_ANSWER = 30
_SECONDS_BETWEEN_LOOKS = 1.0
_SECONDS_TO_CLOSE = 5.0


@contextmanager
def open_cluster(address: str) -> Iterator[ClusterExecutor]:
    """Connect to a Dask cluster, or start one here, for as long as a block lasts.

    Needs the extra ``popsnet[cluster]``. Programs that start workers here must be guarded by
    ``if __name__ == "__main__":``, as for a process pool of the standard library.

    Parameters
    ----------
    address : str
        The address of a running Dask scheduler, such as ``"tcp://host:8786"``; or ``"local:4"``,
        which starts four worker processes here and ends them afterwards.

    Yields
    ------
    ClusterExecutor
        The ``executor`` of :func:`popsnet.collect` and :func:`popsnet.sweeps.collect_traffic`.

    Raises
    ------
    InputError
        If there is no scheduler at the address, or a worker has another version of popsnet.

    Examples
    --------
    >>> import popsnet
    >>> popsnet.sweeps.open_cluster("local:0").__enter__()  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    popsnet.base.errors.InputError: cluster = 'local:0': the number of workers must be ...
    """
    with _connected(address) as (client, is_local):
        with patient_progress(f"workers of {address}"):
            _require_same_version(client, address)
        yield ClusterExecutor(client, address, is_local)


@dataclass(frozen=True)
class WorkerStatus:
    """A worker of a cluster, as ``popsnet doctor --cluster`` shows it.

    Parameters
    ----------
    address : str
        Its address.
    popsnet, python : str or None
        Their versions there, None if popsnet is not installed.
    threads : int
        How many pieces of work it does at once.
    memory : int or None
        Its limit of memory in bytes, None if there is none.
    resources : str
        What it states to have, as in ``dask worker --resources NAME=1``.

    Examples
    --------
    >>> from popsnet.sweeps.cluster import WorkerStatus
    >>> WorkerStatus("tcp://host:1234", "0.6.0", "3.13.1", 4, None, "NAME=1").resources
    'NAME=1'
    """

    address: str
    popsnet: str | None
    python: str | None
    threads: int
    memory: int | None
    resources: str


def describe_workers(address: str) -> list[WorkerStatus]:
    """Return the workers of a cluster, of any version.

    Parameters
    ----------
    address : str
        As for :func:`open_cluster`.

    Returns
    -------
    list of WorkerStatus
        The workers in the order of their addresses.

    Raises
    ------
    InputError
        If there is no scheduler at the address, or its workers do not answer.

    Examples
    --------
    >>> from popsnet.sweeps.cluster import describe_workers
    >>> describe_workers("local:0")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    popsnet.base.errors.InputError: cluster = 'local:0': the number of workers must be ...
    """
    with _connected(address) as (client, _):
        popsnet_there = _evaluated(client, address, _VERSION)
        python_there = _evaluated(client, address, "__import__('platform').python_version()")
        return [
            WorkerStatus(
                name, popsnet_there.get(name), python_there.get(name), worker["nthreads"],
                worker["memory_limit"] or None, stated(worker["resources"]),
            )
            for name, worker in sorted(client.scheduler_info(n_workers=-1)["workers"].items())
        ]  # fmt: skip


@contextmanager
def _connected(address: str) -> Iterator[tuple[Client, bool]]:
    """Connect to a scheduler or start one, and say whether it is one of this machine."""
    count = local_workers(address)
    try:
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise wrong("cluster", repr(address))(
            f"it needs distributed ({error}). {how_to_install('cluster')}"
        ) from error

    with ExitStack() as open_things:
        open_things.enter_context(_quiet())
        with patient_progress(f"connecting to {address}"):
            scheduler: LocalCluster | str = address
            if count is None:
                _require_answer(address)
            else:
                scheduler = LocalCluster(
                    n_workers=count, threads_per_worker=1, processes=True, memory_limit=0,
                    dashboard_address="127.0.0.1:0", silence_logs=logging.CRITICAL,
                )  # fmt: skip
                open_things.callback(_close, scheduler)
            client = Client(scheduler, timeout=_SECONDS_TO_CONNECT, set_as_default=False)
            open_things.callback(_close, client)
        yield client, count is not None


def _require_answer(address: str) -> None:
    """Refuse an address at which no Dask scheduler answers.

    A client would wait for an answer without end, and could not be closed.
    """
    with ThreadPoolExecutor(1) as apart:  # a notebook has a loop in this thread
        try:
            answer = apart.submit(asyncio.run, _identity(address)).result()
            if answer.get("type") != "Scheduler":
                raise InputError(f"it is the address of a {answer.get('type', 'stranger').lower()}")
        except Exception as error:  # what answers need not be a scheduler
            raise wrong("cluster", repr(address))(
                f"there is no Dask scheduler at this address ({_reason(error)}). Start one with "
                "'dask scheduler', or use local:N for N workers on this machine."
            ) from error


async def _identity(address: str) -> dict[str, Any]:
    """Ask who is at an address."""
    from distributed.core import connect
    from distributed.security import Security

    async with asyncio.timeout(_SECONDS_TO_CONNECT + 1):
        options = Security().get_connection_args("client")
        comm = await connect(address, timeout=_SECONDS_TO_CONNECT, **options)
        try:
            await comm.write({"op": "identity", "reply": True})
            answer: dict[str, Any] = await comm.read()
            return answer
        finally:
            comm.abort()


def _reason(error: BaseException) -> str:
    """Return the first cause of an error in words."""
    while error.__cause__ is not None:
        error = error.__cause__
    if isinstance(error, TimeoutError | asyncio.CancelledError | MemoryError):
        return "there is no answer, or not one of Dask"
    return str(error) or type(error).__name__


def _close(client: Any) -> None:
    """Close a client or a cluster; busy workers that take too long end with this program."""
    with suppress(OSError, TimeoutError):
        client.close(timeout=_SECONDS_TO_CLOSE)


def local_workers(address: str) -> int | None:
    """Return how many workers to start here; None for the address of a scheduler."""
    refused = wrong("cluster", repr(address))
    if not isinstance(address, str):
        raise refused("give the address of a Dask scheduler as a text, or local:N.")
    if match := re.fullmatch(r"local:(\d{1,9})", address):
        if not 1 <= int(match[1]) <= MOST_WORKERS:
            raise refused(f"the number of workers must be from 1 to {MOST_WORKERS:,}.")
        return int(match[1])
    if not re.fullmatch(r"(?!local)((tcp|tls|ucx|ws|wss)://)?[^\s/]+:\d{1,5}", address):
        raise refused(
            "give the address of a Dask scheduler, such as tcp://host:8786, or local:N "
            "for N workers on this machine."
        )
    return None


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep Dask from writing about lost workers and schedulers: popsnet says what matters.

    Dask gives some of its loggers levels of their own. What its tasks raise goes to asyncio's.
    """
    names = [name for name in logging.root.manager.loggerDict if name.startswith("distributed.")]
    loggers = [logging.getLogger(name) for name in ("asyncio", "distributed", *names)]
    before = [logger.level for logger in loggers]
    try:
        for logger in loggers:
            logger.setLevel(logging.CRITICAL)
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)


def _evaluated(client: Client, address: str, expression: str) -> dict[str, str | None]:
    """Evaluate an expression on all workers, None where it fails.

    It is a text, since a worker without popsnet cannot receive a function of popsnet.
    """
    try:
        values = client.sync(
            client._run, eval, expression, on_error="return", callback_timeout=_SECONDS_TO_ANSWER
        )
    except (OSError, TimeoutError) as error:
        raise wrong("cluster", repr(address))(
            f"not every worker answers within {_SECONDS_TO_ANSWER} s. End those that hang, and try "
            "again."
        ) from error
    return {name: None if isinstance(value, Exception) else value for name, value in values.items()}


def _require_same_version(client: Client, address: str) -> None:
    here, versions = popsnet.__version__, _evaluated(client, address, _VERSION)
    if others := {name: version or "none" for name, version in versions.items() if version != here}:
        raise InputError(different_versions(others, here))


class ClusterExecutor(Executor):
    """An executor whose work is done by the workers of a Dask scheduler.

    :func:`open_cluster` makes it. ``collect`` gives it parcels of several pieces of work, with the
    contents of files, and the workers need nothing but the same version of popsnet.

    Parameters
    ----------
    client : distributed.Client
        The connection to the scheduler.
    address : str
        The address as it was given.
    is_local : bool
        Whether the workers are processes of this machine that were started for this purpose.

    Examples
    --------
    >>> from popsnet.sweeps.cluster import ClusterExecutor
    >>> ClusterExecutor.submit.__doc__
    'Call a function on a worker.'
    """

    def __init__(self, client: Client, address: str, is_local: bool = False) -> None:
        self.address = address
        self._client, self._is_local = client, is_local
        self._engines = {name: engine for name, engine in usable().items() if engine.resources}
        self._executors = {ANYWHERE: client.get_executor(pure=False)} | {
            name: client.get_executor(pure=False, resources=dict(engine.resources))
            for name, engine in self._engines.items()
        }
        self._sender = Sender()
        self._sent = cache(self._upload)
        self._looked, self._there = -math.inf, list[dict[str, Any]]()
        self._room: dict[str, int] = {}

    def submit(self, work: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> Future[_T]:
        """Call a function on a worker."""
        future: Future[_T] = self._executors[ANYWHERE].submit(work, *args, **kwargs)
        return future

    def send(self, work: Sequence[Work], engine: str = ANYWHERE) -> Future[bytes]:
        """Hand over pieces of work as one task; :meth:`received` reads the result.

        Work for an engine that needs resources is done by workers that state them.
        """
        self.require_scheduler()
        parcel, digests = self._sender.pack(work, engine)
        contents = [self._sent(digest) for digest in digests]
        arguments = popsnet.__version__, parcel, digests, *contents
        future: Future[bytes] = self._executors[engine].submit(execute_parcel, *arguments)
        return future

    def _upload(self, digest: str) -> Any:
        """Return the contents of a file on the cluster, as a task that can be done again.

        Data that is merely scattered would be lost with the worker that has it.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a large permutation is sent once
            contents = self._sender.contents[digest]
            return self._client.submit(bytes, contents, key=f"popsnet-file-{digest}")

    def received(self, work: Sequence[Work], future: Future[bytes]) -> list[ResultBatch]:
        """Return the results of work that was sent; a lost scheduler or worker is an error."""
        from distributed import KilledWorker

        try:
            results = future.result()
        except CancelledError as error:
            raise self._lost() from error
        except KilledWorker as error:
            raise PopsnetError(
                f"Several workers of {self.address} ended, one after another, with {work[0][0]}, "
                "perhaps because memory ran out. Finished results are kept. Give the workers more "
                "memory, and do the rest."
            ) from error
        return unpack(work, results)

    def require_scheduler(self) -> None:
        """Raise an error if the connection to the scheduler is lost."""
        if self._client.status != "running":
            raise self._lost()

    def _lost(self) -> PopsnetError:
        return PopsnetError(
            f"The Dask scheduler of {self.address} is lost: it has ended, or cannot be reached. "
            "Finished results are kept. Start it again, and do the rest."
        )

    @property
    def workers(self) -> int:
        """The number of workers now."""
        return len(self._look())

    @property
    def room(self) -> dict[str, int]:
        """How many pieces of work the workers do at once: by engine that needs resources, and else.

        For work that needs no resources these are the threads of workers that state none of them;
        those of all workers if there are no others, and at least 1.
        """
        self._look()
        return self._room

    @property
    def memory(self) -> float:
        """The bytes of memory of all workers, infinite if that is not known."""
        limits = [worker["memory_limit"] for worker in self._look()]  # 0 if there is none
        if self._is_local:
            return float(system.available_memory())
        return float(sum(limits)) if limits and all(limits) else math.inf

    def _look(self) -> list[dict[str, Any]]:
        """Return the workers, for which the scheduler is asked once per second."""
        if time.monotonic() < self._looked + _SECONDS_BETWEEN_LOOKS:
            return self._there
        self.require_scheduler()
        try:
            ask = self._client.scheduler.identity
            identity = self._client.sync(ask, n_workers=-1, callback_timeout=_SECONDS_TO_CONNECT)
        except (OSError, TimeoutError, ValueError) as error:
            raise self._lost() from error
        self._looked, self._there = time.monotonic(), list(identity["workers"].values())
        self._room = _room(self._there, self._engines)
        return self._there


def stated(resources: Mapping[str, float]) -> str:
    """Return resources as they are given to a worker."""
    return ",".join(f"{name}={amount:g}" for name, amount in resources.items())


def _room(workers: Sequence[dict[str, Any]], engines: Mapping[str, Engine]) -> dict[str, int]:
    """Return how many pieces of work workers do at once, by engine."""
    pieces = {name: [_pieces(w, engine) for w in workers] for name, engine in engines.items()}
    threads = [worker["nthreads"] for worker in workers]
    others = [some for some, *has in zip(threads, *pieces.values(), strict=True) if not any(has)]
    with_room = {name: sum(some) for name, some in pieces.items() if any(some)}
    return {**with_room, ANYWHERE: max(sum(others) or sum(threads), 1)}


def _pieces(worker: dict[str, Any], engine: Engine) -> int:
    """Return how many pieces of work for an engine the resources of a worker are enough for."""
    resources = worker["resources"]
    return min(int(resources.get(name, 0) / amount) for name, amount in engine.resources.items())
