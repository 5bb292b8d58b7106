"""Workers of a cluster that have a GPU take the shards that the engine cuda supports.

The engine is a stand-in here: the compiled one under another name, which refuses to work on a
worker that does not have the resource GPU.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from distributed import Client, Nanny, Scheduler, SpecCluster

import popsnet
from popsnet import Experiment, collect
from popsnet.engines import ENGINES
from popsnet.engines.fused.engine import FusedEngine
from popsnet.engines.session import Session
from popsnet.errors import InputError
from popsnet.sweeps import open_cluster
from popsnet.sweeps.cluster import ClusterExecutor
from popsnet.sweeps.parcels import Sender, execute_parcel
from popsnet.sweeps.rows import RESULTS
from popsnet.sweeps.store import Store
from popsnet.sweeps.work import runs_on_gpu
from popsnet.traffic.experiment import TrafficExperiment

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")

WANTED = [
    *(Experiment(4, 4, seed=seed) for seed in range(4)),
    *(Experiment(4, 4, router="relay", variant="S", seed=seed) for seed in range(4)),
    Experiment(4, 4, router="direct"),
]


class StandIn(FusedEngine):
    """The compiled engine as if it were on a GPU, for mei-rizzi alone."""

    name = "cuda"

    def supports(self, experiment: Experiment) -> str | None:
        return "no" if experiment.router != "mei-rizzi" else super().supports(experiment)

    def open(self, experiment: Experiment, threads: int | None = None) -> Session:
        from distributed import get_worker

        if not get_worker().state.total_resources.get("GPU"):
            raise InputError("this worker has no GPU")
        return super().open(experiment, threads)


def add_stand_in() -> None:
    ENGINES["cuda"] = StandIn()


@pytest.fixture(autouse=True)
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENGINES, "cuda", StandIn())


def worker(**resources: float) -> dict[str, Any]:
    return {"cls": Nanny, "options": {"nthreads": 1, "memory_limit": 0, "resources": resources}}


@pytest.fixture
def address(request: pytest.FixtureRequest) -> Iterator[str]:
    """A cluster with these workers, each a process of its own."""
    workers = dict(enumerate(request.param))
    scheduler = {
        "cls": Scheduler,
        "options": {"dashboard_address": "127.0.0.1:0", "port": 0, "host": "127.0.0.1"},
    }
    with (
        SpecCluster(workers, scheduler) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        client.wait_for_workers(len(workers))
        client.run(add_stand_in)
        yield cluster.scheduler_address


def engines_of(path: Path) -> dict[str, set[str]]:
    """The engines that made the shards of each router."""
    found: dict[str, set[str]] = {}
    with Store(path) as store:
        for one in store.experiments():
            made = {origin.engine for origin in store.provenances(one)}
            found.setdefault(one.router, set()).update(made)
    return found


def rows(path: Path) -> list[Any]:
    with Store(path) as store:
        assert store.flaws() == []
        return [store.rows(table) for table in RESULTS]


def compare_with_local(folder: Path) -> None:
    ENGINES.pop("cuda")
    collect(WANTED, 300, folder / "here", progress=False)
    assert rows(folder / "there") == rows(folder / "here")


@pytest.mark.parametrize("address", [[worker(GPU=1), worker(GPU=1)]], indirect=True)
def test_workers_with_a_gpu_do_what_it_supports_on_it(address: str, tmp_path: Path) -> None:
    with open_cluster(address) as executor:
        assert (executor.workers, executor.gpus, executor.threads) == (2, 2, 2)
        collect(WANTED, 300, tmp_path / "there", executor=executor, progress=False)
    engines = engines_of(tmp_path / "there")
    assert "cuda" in engines["mei-rizzi"]
    assert engines["relay"] == {"fused"}
    assert engines["direct"] == {"slots"}
    compare_with_local(tmp_path)


@pytest.mark.parametrize("address", [[worker(GPU=1), worker()]], indirect=True)
def test_other_workers_take_their_part(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Work for the GPU goes there alone, or the engine would refuse it."""
    sent: list[str] = []
    send = ClusterExecutor.send

    def noted(self: ClusterExecutor, work: Any, engine: str = "auto") -> Any:
        sent.append(engine)
        return send(self, work, engine)

    monkeypatch.setattr(ClusterExecutor, "send", noted)
    with open_cluster(address) as executor:
        assert (executor.gpus, executor.threads) == (1, 1)
        collect(WANTED, 300, tmp_path / "there", executor=executor, progress=False)
    assert set(sent) == {"auto", "cuda"}
    compare_with_local(tmp_path)


@pytest.mark.long  # ends a worker, and waits for the scheduler to notice
@pytest.mark.parametrize("address", [[worker(GPU=1), worker()]], indirect=True)
def test_without_gpus_the_others_do_the_rest(address: str, tmp_path: Path) -> None:
    retired: list[str] = []
    with open_cluster(address) as executor:
        there = executor._client.scheduler_info(n_workers=-1)["workers"].items()
        (gpu,) = (name for name, one in there if one["resources"])

        def retire(done: int, total: int) -> None:
            if not retired:
                retired.append(gpu)
                executor._client.retire_workers([gpu], close_workers=True)

        collect(WANTED, 300, tmp_path / "there", executor=executor, progress=retire)
        executor._looked = float("-inf")
        assert executor.gpus == 0
    compare_with_local(tmp_path)


@pytest.mark.parametrize("address", [[worker()]], indirect=True)
def test_without_the_resource_nothing_is_sent_to_gpus(address: str, tmp_path: Path) -> None:
    with open_cluster(address) as executor:
        collect(WANTED, 300, tmp_path / "there", executor=executor, progress=False)
    assert engines_of(tmp_path / "there")["mei-rizzi"] == {"fused"}


class Elsewhere(StandIn):
    """The engine on a machine without a GPU."""

    def supports(self, experiment: Experiment) -> str | None:
        return "there is no GPU"

    def obstacle(self, experiment: Experiment) -> str | None:
        return StandIn.supports(self, experiment)


def test_this_machine_needs_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENGINES, "cuda", Elsewhere())
    assert runs_on_gpu(Experiment(4, 4))
    assert not runs_on_gpu(Experiment(4, 4, router="direct"))
    assert not runs_on_gpu(TrafficExperiment(4, 4, load=0.1))
    monkeypatch.delitem(ENGINES, "cuda")
    assert not runs_on_gpu(Experiment(4, 4))


def test_a_worker_that_cannot_use_its_gpu_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENGINES, "cuda", Elsewhere())
    parcel, digests = Sender().pack([(Experiment(4, 4), range(1))], "cuda")
    with pytest.raises(InputError, match=r"states the resource GPU and cannot .*: there is no GPU"):
        execute_parcel(popsnet.__version__, parcel, digests)
