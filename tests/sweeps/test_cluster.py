"""Sweeps on Dask clusters: the same store on any workers, also if processes end meanwhile."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread, Timer
from typing import Any

import numpy as np
import pytest

import popsnet
from popsnet import Experiment, collect
from popsnet.base.errors import InputError, PopsnetError
from popsnet.engines import Tally
from popsnet.paper.plan import make_plan
from popsnet.paper.reproduce import STORE, carry_out
from popsnet.sweeps import open_cluster, runner
from popsnet.sweeps.cluster import ClusterExecutor, Sender, execute_parcel, unpack
from popsnet.sweeps.shard import Shards
from popsnet.sweeps.store import Store
from popsnet.sweeps.sweep import Sweep
from popsnet.sweeps.work import Work
from tests.conftest import Cli
from tests.sweeps import edits

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")

SWEEP = """
runs = 300
[[grid]]
shapes = [[4, 4], [6, 3]]
routers = ["mei-rizzi", "direct"]
[[grid]]
shapes = [[4, 4]]
routers = "batcher"
[[traffic]]
shapes = [[2, 2], [3, 2]]
schedulers = ["tdm", "rotor"]
loads = [0.1, 0.3]
slots = 60
"""


def sweep_of(folder: Path, text: str) -> Sweep:
    (folder / "sweep.toml").write_text(text)
    return Sweep.read(folder / "sweep.toml")


def results(path: Path) -> list[list[tuple[Any, ...]]]:
    """All rows that depend on nothing but what was run."""
    with Store(path) as store:
        assert store.flaws() == []
        return edits.results(store)


@pytest.fixture(scope="module")
def cluster() -> Iterator[ClusterExecutor]:
    with open_cluster("local:2") as executor:
        yield executor


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    return sweep_of(tmp_path_factory.mktemp("sweep"), SWEEP)


@pytest.fixture(scope="module")
def expected(sweep: Sweep, tmp_path_factory: pytest.TempPathFactory) -> list[list[tuple[Any, ...]]]:
    path = tmp_path_factory.mktemp("whole") / "r"
    collect(sweep, store=path, progress=False)
    return results(path)


def address_of(cluster: ClusterExecutor) -> str:
    address: str = cluster._client.scheduler.address
    return address


def start_workers(folder: Path, address: str, workers: int) -> subprocess.Popen[bytes]:
    program = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--no-dashboard"]
    program += ["--nworkers", str(workers), "--nthreads", "1"]
    program += ["--death-timeout", "60", "--local-directory", str(folder)]
    return subprocess.Popen(program, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@contextmanager
def late_worker(folder: Path, address: str) -> Iterator[None]:
    """A worker that comes after two seconds."""
    started: list[subprocess.Popen[bytes]] = []
    timer = Timer(2.0, lambda: started.append(start_workers(folder, address, 1)))
    timer.start()
    try:
        yield
    finally:
        timer.join()
        for process in started:
            process.terminate()
            process.wait(30)


@contextmanager
def running(folder: Path, workers: int) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """A scheduler and workers as programs of their own, as a user starts them."""
    file = folder / "scheduler.json"
    both = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    program = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--no-dashboard"]
    program += ["--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(file)]
    started = [subprocess.Popen(program, **both)]  # type: ignore[call-overload]
    try:
        while not file.exists() or not file.read_text().strip():
            assert started[0].poll() is None
            time.sleep(0.05)
        address = json.loads(file.read_text())["address"]
        if workers:
            started.append(start_workers(folder, address, workers))
        yield address, started[0]
    finally:
        for process in reversed(started):
            process.terminate()
            process.wait(30)


def test_the_store_is_that_of_a_local_sweep(
    cluster: ClusterExecutor, sweep: Sweep, expected: list[Any], tmp_path: Path
) -> None:
    tallies = collect(sweep, store=tmp_path / "2", executor=cluster, progress=False)
    assert [tally.runs for tally in tallies] == [300] * 5
    assert results(tmp_path / "2") == expected


@pytest.mark.program
def test_with_one_worker_from_the_command_line(
    cli: Cli, sweep: Sweep, expected: list[Any], tmp_path: Path
) -> None:
    (tmp_path / "sweep.toml").write_text(SWEEP)
    arguments = "sweep", tmp_path / "sweep.toml", "--store", tmp_path / "r"
    finished = cli(*arguments, "--cluster", "local:1")
    assert finished.code == 0, finished.err
    assert "on local:1, 1 worker…" in finished.err
    assert results(tmp_path / "r") == expected
    assert cli(*arguments).out == finished.out


@pytest.mark.program
def test_the_paper_on_a_cluster(cluster: ClusterExecutor, tmp_path: Path) -> None:
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    wanted = make_plan(10, 16, False).wanted
    here, _ = carry_out(wanted, tmp_path / "here", False)
    there, _ = carry_out(wanted, tmp_path / "there", False, cluster)
    assert results(tmp_path / "there" / STORE) == results(tmp_path / "here" / STORE)
    assert here.keys() == there.keys()


@pytest.mark.program
def test_until_a_precision(cluster: ClusterExecutor, tmp_path: Path) -> None:
    wanted = [Experiment(4, 4), Experiment(8, 8)]
    for name, executor in (("here", None), ("there", cluster)):
        store = tmp_path / name
        collect(wanted, precision="3.92%", store=store, executor=executor, progress=False)
    assert results(tmp_path / "there") == results(tmp_path / "here")


@pytest.mark.long  # ends processes, and waits for others to notice
def test_a_killed_worker_loses_nothing(
    cluster: ClusterExecutor, sweep: Sweep, expected: list[Any], tmp_path: Path
) -> None:
    killed: list[int] = []

    def kill(done: int, total: int) -> None:
        if not killed:
            killed.append(min(cluster._client.run(os.getpid).values()))
            os.kill(killed[0], signal.SIGKILL)

    collect(sweep, store=tmp_path / "r", executor=cluster, progress=kill)
    assert killed
    assert results(tmp_path / "r") == expected


@pytest.mark.long  # ends processes, and waits for others to notice
def test_a_killed_client_loses_nothing_that_was_finished(tmp_path: Path) -> None:
    (tmp_path / "sweep.toml").write_text(
        "runs = 2000\n[[grid]]\nshapes = [[4, 4], [8, 8]]\nrouters = 'direct'"
    )
    store, log = tmp_path / "r", tmp_path / "r-wal"
    command = [str(Path(sys.executable).parent / "popsnet"), "sweep", str(tmp_path / "sweep.toml")]
    process = subprocess.Popen(
        [*command, "--store", str(store), "--cluster", "local:2"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    while process.poll() is None and not (log.exists() and log.stat().st_size > 20_000):
        time.sleep(0.01)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    left = results(store)
    assert 0 < len(left[1]) < 400
    collect(Sweep.read(tmp_path / "sweep.toml"), store=store, progress=False)
    collect(Sweep.read(tmp_path / "sweep.toml"), store=tmp_path / "whole", progress=False)
    whole = results(tmp_path / "whole")
    assert set(left[1]) <= set(whole[1])
    assert results(store) == whole


@pytest.mark.long  # ends processes, and waits for others to notice
def test_a_running_scheduler_and_its_loss(
    sweep: Sweep, expected: list[Any], tmp_path: Path
) -> None:
    with running(tmp_path, workers=1) as (address, scheduler):
        with open_cluster(address) as executor:
            collect(sweep, store=tmp_path / "r", executor=executor, progress=False)
            assert results(tmp_path / "r") == expected

        def kill(done: int, total: int) -> None:
            if done > len(sweep.traffic):  # at least one shard
                scheduler.kill()

        lost = pytest.raises(PopsnetError, match=rf"scheduler of {address} is lost.* are kept")
        with open_cluster(address) as executor, lost:
            collect(sweep, store=tmp_path / "s", executor=executor, progress=kill)
    assert 0 < len(results(tmp_path / "s")[1]) < len(expected[1])
    collect(sweep, store=tmp_path / "s", progress=False)
    assert results(tmp_path / "s") == expected


def test_other_versions_are_refused_at_the_start(cluster: ClusterExecutor) -> None:
    set_version = "import popsnet; popsnet.__version__ = {!r}"
    cluster._client.run(exec, set_version.format("0.0.7"))
    try:
        refused = pytest.raises(InputError, match=rf"0\.0\.7 on tcp.*{popsnet.__version__} here")
        with refused, open_cluster(address_of(cluster)):
            pass
    finally:
        cluster._client.run(exec, set_version.format(popsnet.__version__))
    with pytest.raises(InputError, match=rf"{popsnet.__version__} on .*, and 0\.0\.7 here"):
        execute_parcel("0.0.7", b"", ())  # a worker that came later


ROUTER = """
import numpy as np
from popsnet import Slot, register
@register('mine-on-clusters', summary='', slots='', buffers=2)
def mine(network, destination, coins, memory):
    for _ in range({slots}):
        yield Slot()
    memory.deliver(np.arange(network.n), np.arange(network.n))
    yield Slot()
"""

SCHEDULER = """
from popsnet.traffic import find_scheduler, register_scheduler
register_scheduler("mine", summary="{text}")(find_scheduler("tdm").variant()[1])
"""

FILES = """
runs = 20
[[grid]]
routers = "mine.py"
permutations = "p.npy"
d = 2
g = 2
[[traffic]]
shapes = [[2, 2]]
schedulers = "plan.py"
loads = [0.1]
slots = 60
"""


@pytest.mark.parametrize("slots", [1, 2])
def test_files_travel_with_the_work(cluster: ClusterExecutor, tmp_path: Path, slots: int) -> None:
    """They are gone when the work is done; and the second time, they differ by their contents."""
    (tmp_path / "mine.py").write_text(ROUTER.format(slots=slots))
    (tmp_path / "plan.py").write_text(SCHEDULER.format(text=slots))
    np.save(tmp_path / "p.npy", np.arange(4))
    sweep = sweep_of(tmp_path, FILES)
    sender = Sender()
    subjects: list[Experiment] = [*sweep.experiments, *sweep.traffic]
    sender.pack([(subject, range(1)) for subject in subjects])
    for name in ("mine.py", "plan.py", "p.npy"):
        (tmp_path / name).rename(tmp_path / f"{name} away")
    before, cluster._sender = cluster._sender, sender
    try:
        (tally,) = collect(sweep, store=tmp_path / "r", executor=cluster, progress=False)
    finally:
        cluster._sender = before
    assert (tally.runs, tally.mean("slots")) == (20, slots + 1)
    with Store(tmp_path / "r") as store:
        assert store.traffic.count() == 1
        (experiment,) = store.experiments()
        origin = store.provenances(experiment)[0]
        files = origin.given["router_file"], origin.given["permutation_file"]
        assert files == tuple(str(tmp_path / name) for name in ("mine.py", "p.npy"))


def test_files_of_demands_travel_by_their_digest(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("0,2\n1,0\n")
    for way in ("packets", "matrix"):
        experiment = Experiment(2, 2, router="direct", **{way: path})  # type: ignore[arg-type]
        sender, work = Sender(), [(experiment, range(1))]
        parcel, digests = sender.pack(work)
        contents = [sender.contents.pop(digest) for digest in digests]
        path.rename(tmp_path / "elsewhere.csv")
        results = execute_parcel(popsnet.__version__, parcel, digests, *contents)
        (tmp_path / "elsewhere.csv").rename(path)
        (done,) = unpack(work, results)
        assert isinstance(done, Shards)
        assert Tally.of(done.outcome) == popsnet.route(experiment, runs=10).tally


def test_a_file_that_has_changed_is_not_sent(tmp_path: Path) -> None:
    np.save(tmp_path / "p.npy", np.arange(16))
    experiment = Experiment(4, 4, permutation=tmp_path / "p.npy")
    np.save(tmp_path / "p.npy", np.arange(16)[::-1])
    with pytest.raises(InputError, match=r"p\.npy has changed since the work began"):
        Sender().pack([(experiment, range(1))])
    (tmp_path / "p.npy").unlink()
    with pytest.raises(InputError, match=r"p\.npy cannot be read: No such file"):
        Sender().pack([(experiment, range(1))])


def test_arrays_and_demands_travel(cluster: ClusterExecutor, tmp_path: Path) -> None:
    wanted = [Experiment(4, 4, permutation=np.arange(16)[::-1]), Experiment(4, 4)]
    for name, executor in (("here", None), ("there", cluster)):
        collect(wanted, 30, tmp_path / name, executor=executor, progress=False)
    assert results(tmp_path / "there") == results(tmp_path / "here")


def test_an_error_on_a_worker_is_an_error_here(cluster: ClusterExecutor, tmp_path: Path) -> None:
    experiment = Experiment.recorded((4, 4, "nowhere", "1", "standard", "random", 0, 0, 1000))
    future = cluster.send([(experiment, range(1))])
    with pytest.raises(InputError, match=r"Worker .* cannot do the work: .*nowhere"):
        cluster.received([(experiment, range(1))], future)


def test_small_shards_share_messages(
    cluster: ClusterExecutor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[Sequence[Work]] = []
    send = cluster.send

    def noted(work: Sequence[Work], engine: str) -> Future[bytes]:
        sent.append(work)
        return send(work, engine)

    monkeypatch.setattr(cluster, "send", noted)
    wanted = [Experiment(2, 2, router="direct", seed=seed) for seed in range(200)]
    collect(wanted, 30, tmp_path / "r", executor=cluster, progress=False)
    done = [(one, shard) for work in sent for one, shards in work for shard in shards]
    assert len(done) == len(set(done)) == 600
    assert len(sent) <= 120
    assert all(len(shards) == 3 for work in sent[:1] for _, shards in work[:-1])


def test_progress_shows_workers_speed_and_time_left(
    cluster: ClusterExecutor, sweep: Sweep, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[str] = []

    @contextmanager
    def recorded(*_: object) -> Iterator[Callable[..., None]]:
        yield lambda done=None, detail="": shown.append(detail)

    monkeypatch.setattr(runner, "patient_progress", recorded)
    collect(sweep, store=tmp_path / "r", executor=cluster)
    form = r"\d+ of 158 parts of 10 runs and points, \d workers?, [\d,.]+ per second, .* left"
    assert all(re.fullmatch(form, one) for one in shown), shown
    assert shown[-1].startswith("158 of 158")
    assert shown[-1].endswith(" 0 s left")


@pytest.mark.parametrize(
    ("address", "complaint"),
    [
        ("local:0", "must be from 1 to 1,024"),
        ("local:9999", "must be from 1 to 1,024"),
        ("local", "such as tcp://host:8786, or local:N"),
        ("local:two", "such as tcp://host:8786, or local:N"),
        ("", "such as tcp://host:8786, or local:N"),
        ("http://127.0.0.1:8786", "such as tcp://host:8786, or local:N"),
        ("tcp://127.0.0.1:1", "there is no Dask scheduler at this address"),
        ("tls://127.0.0.1:1", "there is no Dask scheduler at this address (TLS expects"),
    ],
)
def test_what_is_no_cluster_is_refused(
    cli: Cli, tmp_path: Path, address: str, complaint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("popsnet.sweeps.cluster._SECONDS_TO_CONNECT", 0.5)
    (tmp_path / "sweep.toml").write_text(SWEEP)
    arguments = tmp_path / "sweep.toml", "--store", tmp_path / "r", "--cluster", address
    finished = cli("sweep", *arguments)
    assert (finished.code, finished.out) == (2, "")
    assert complaint in " ".join(finished.err.split())
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n"])
def test_what_does_not_answer_as_dask_does_is_refused(
    monkeypatch: pytest.MonkeyPatch, answer: bytes
) -> None:
    """Such as a scheduler that hangs, or another program."""
    monkeypatch.setattr("popsnet.sweeps.cluster._SECONDS_TO_CONNECT", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as server:

        def reply() -> None:
            with suppress(OSError):
                while True:
                    connections.append(server.accept()[0])
                    connections[-1].sendall(answer)

        connections: list[socket.socket] = []
        Thread(target=reply, daemon=True).start()
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        refused = pytest.raises(InputError, match="there is no answer, or not one of Dask")
        with refused, open_cluster(address):
            pass
        for one in connections:
            one.close()


def test_the_address_of_a_worker_is_refused(cluster: ClusterExecutor) -> None:
    address = next(iter(cluster._client.scheduler_info(n_workers=-1)["workers"]))
    with pytest.raises(InputError, match="it is the address of a worker"), open_cluster(address):
        pass


def test_stores_are_refused_before_the_cluster_is_opened(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("popsnet.sweeps.cluster.open_cluster", lambda _: pytest.fail("opened"))
    (tmp_path / "sweep.toml").write_text(SWEEP)
    arguments = "sweep", tmp_path / "sweep.toml", "--cluster", "local:2", "--store"
    for store, words in ((tmp_path / "no" / "r", "no folder"), (tmp_path / "sweep.toml", "SQLite")):
        refused = cli(*arguments, store)
        assert refused.code == 2
        assert words in refused.err


def test_an_empty_file_becomes_a_store(cli: Cli, tmp_path: Path) -> None:
    """As one that was created when the disk was full."""
    sweep_of(tmp_path, "[[grid]]\nshapes = [[2, 2]]\n")
    (tmp_path / "s.sqlite").touch()
    finished = cli("sweep", tmp_path / "sweep.toml", "--store", tmp_path / "s.sqlite")
    assert (finished.code, finished.err) == (0, "Running 1 part of 10 runs, of 1 experiment…\n")


@pytest.mark.long  # starts programs
def test_workers_that_come_late_do_the_work(
    sweep: Sweep, expected: list[Any], tmp_path: Path
) -> None:
    with running(tmp_path, workers=0) as (address, _), open_cluster(address) as executor:
        assert (executor.workers, executor.room) == (0, {"auto": 1})
        with late_worker(tmp_path, address):
            collect(sweep, store=tmp_path / "r", executor=executor, progress=False)
    assert results(tmp_path / "r") == expected


def test_a_cluster_has_its_own_workers(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "sweep.toml").write_text(SWEEP)
    finished = cli("sweep", tmp_path / "sweep.toml", "--cluster", "local:2", "--workers", 2)
    assert finished.code == 2
    assert "Give only one" in finished.err


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match=r"needs distributed.*popsnet\[cluster\]"):
        open_cluster("local:2").__enter__()
