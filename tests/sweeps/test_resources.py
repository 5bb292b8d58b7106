"""Workers that state the resources of an engine take the shards that it supports.

The engine is a stand-in of another distribution: the compiled one under another name, which refuses
to work on a worker that does not state the resource.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from distributed import Client, Nanny, Scheduler, SpecCluster

import popsnet
from popsnet import Experiment, collect
from popsnet.base.errors import InputError
from popsnet.experiment.traffic import TrafficExperiment
from popsnet.sweeps import open_cluster
from popsnet.sweeps.cluster import ClusterExecutor, Sender, execute_parcel
from popsnet.sweeps.store import Store
from popsnet.sweeps.work import suits
from tests.engines.plugin import forget_plugins, install, write_plugin
from tests.sweeps.edits import results

pytestmark = [
    pytest.mark.program,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning"),
]

WANTED = [
    *(Experiment(4, 4, seed=seed) for seed in range(4)),
    *(Experiment(4, 4, router="relay", variant="S", seed=seed) for seed in range(4)),
    Experiment(4, 4, router="direct"),
]


STAND_IN = """
from popsnet.engines.fused.engine import FusedEngine
from popsnet.base.errors import InputError

class StandIn(FusedEngine):
    name = "tiny"
    resources = {"tiny": 1}

    def supports(self, experiment):
        return "no" if experiment.router != "mei-rizzi" else super().supports(experiment)

    def open(self, experiment, threads=None):
        from distributed import get_worker

        if not get_worker().state.total_resources.get("tiny"):
            raise InputError("this worker states no resource")
        return super().open(experiment, threads)

ENGINE = StandIn()
"""
"""The compiled engine as if it needed a device, for mei-rizzi alone."""

ELSEWHERE = (
    STAND_IN
    + """
class Elsewhere(StandIn):
    def supports(self, experiment):
        return "there is no device"

    def obstacle(self, experiment):
        return StandIn.supports(self, experiment)

ENGINE = Elsewhere()
"""
)
"""The same on a machine without the device."""


@pytest.fixture(autouse=True)
def installed(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    folder = tmp_path / "installed"
    folder.mkdir()
    write_plugin(folder, getattr(request, "param", STAND_IN))
    install(monkeypatch, folder)
    yield
    uninstall(monkeypatch)


def uninstall(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    sys.modules.pop("tiny_engine", None)
    forget_plugins()


elsewhere = pytest.mark.parametrize("installed", [ELSEWHERE], indirect=True)


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
        return results(store)


def compare_with_local(folder: Path) -> None:
    collect(WANTED, 300, folder / "here", progress=False)
    assert rows(folder / "there") == rows(folder / "here")


@pytest.mark.parametrize("address", [[worker(tiny=1), worker(tiny=1)]], indirect=True)
def test_workers_with_the_resource_do_what_the_engine_supports(
    address: str, tmp_path: Path
) -> None:
    with open_cluster(address) as executor:
        assert (executor.workers, executor.room) == (2, {"tiny": 2, "auto": 2})
        collect(WANTED, 300, tmp_path / "there", executor=executor, progress=False)
    engines = engines_of(tmp_path / "there")
    assert "tiny" in engines["mei-rizzi"]
    assert engines["relay"] == {"fused"}
    assert engines["direct"] == {"slots"}
    compare_with_local(tmp_path)


@pytest.mark.program
@pytest.mark.parametrize("address", [[worker(tiny=1), worker()]], indirect=True)
def test_other_workers_take_their_part(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Work for the engine goes there alone, or the engine would refuse it."""
    sent: list[str] = []
    send = ClusterExecutor.send

    def noted(self: ClusterExecutor, work: Any, engine: str = "auto") -> Any:
        sent.append(engine)
        return send(self, work, engine)

    monkeypatch.setattr(ClusterExecutor, "send", noted)
    with open_cluster(address) as executor:
        assert executor.room == {"tiny": 1, "auto": 1}
        collect(WANTED, 300, tmp_path / "there", executor=executor, progress=False)
    assert set(sent) == {"auto", "tiny"}
    compare_with_local(tmp_path)


@pytest.mark.long  # ends a worker, and waits for the scheduler to notice
@pytest.mark.parametrize("address", [[worker(tiny=1), worker()]], indirect=True)
def test_without_the_resource_the_others_do_the_rest(address: str, tmp_path: Path) -> None:
    retired: list[str] = []
    with open_cluster(address) as executor:
        there = executor._client.scheduler_info(n_workers=-1)["workers"].items()
        (special,) = (name for name, one in there if one["resources"])

        def retire(done: int, total: int) -> None:
            if not retired:
                retired.append(special)
                executor._client.retire_workers([special], close_workers=True)

        collect(WANTED, 300, tmp_path / "there", executor=executor, progress=retire)
        executor._looked = float("-inf")
        assert executor.room == {"auto": 1}
    compare_with_local(tmp_path)


@pytest.mark.parametrize("address", [[worker()]], indirect=True)
def test_without_the_resource_nothing_is_sent_for_the_engine(address: str, tmp_path: Path) -> None:
    with open_cluster(address) as executor:
        collect(WANTED, 300, tmp_path / "there", executor=executor, progress=False)
    assert engines_of(tmp_path / "there")["mei-rizzi"] == {"fused"}


@elsewhere
def test_this_machine_needs_no_device() -> None:
    assert suits(Experiment(4, 4), "tiny")
    assert not suits(Experiment(4, 4, router="direct"), "tiny")
    assert not suits(TrafficExperiment(4, 4, load=0.1), "tiny")


@elsewhere
def test_a_worker_that_cannot_use_the_engine_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    parcel, digests = Sender().pack([(Experiment(4, 4), range(1))], "tiny")
    wrong = r"states the resources of engine tiny and cannot .* with it: "
    with pytest.raises(InputError, match=f"{wrong}there is no device. Install"):
        execute_parcel(popsnet.__version__, parcel, digests)
    uninstall(monkeypatch)
    with pytest.raises(InputError, match=f"{wrong}engine = 'tiny': there is no such engine"):
        execute_parcel(popsnet.__version__, parcel, digests)


@pytest.mark.long  # starts a cluster with the command, in processes of its own
def test_workers_of_this_machine_take_resources_from_the_settings_of_dask(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DASK_DISTRIBUTED__WORKER__RESOURCES__TINY", "1")
    (tmp_path / "sweep.toml").write_text("runs = 300\n[[grid]]\nd = 4\ng = 4\n")
    command = [sys.executable, "-m", "popsnet", "sweep", "sweep.toml", "--cluster", "local:1"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    assert "tiny" in engines_of(tmp_path / "results.sqlite")["mei-rizzi"]  # not without resources
