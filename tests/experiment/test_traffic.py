"""A traffic experiment is a value: compared, pickled, written as JSON, run again."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

import popsnet
from popsnet import Experiment, InputError
from popsnet.programs.register import forget_file
from popsnet.programs.scheduler import unregister_scheduler
from popsnet.sweeps.cluster import Sender, execute_parcel, unpack
from popsnet.sweeps.window import without_engine
from popsnet.sweeps.work import Work
from popsnet.traffic import TrafficExperiment
from tests.each import each


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("packets.csv").write_text("1,0,3\n5,2,1\n")
    Path("rates.csv").write_text("0,1\n2,0\n")
    return tmp_path


CASES = [
    {"load": 0.2},
    {"load": 0.2, "scheduler": "aloha:0.5", "pattern": "transpose", "seed": 3, "buffer": 2},
    {"load": 0.2, "burst": 4, "arrival_seed": 9, "slots": 500},
    {"load": 0.2, "matrix": "rates.csv", "max_slots": 1000},
    {"packets": "packets.csv"},
    {"load": 0.2, "matrix": np.array([[0.0, 1.0], [2.0, 0.0]])},
]


@each("case", CASES)
def test_an_experiment_survives_pickle_and_json(case: dict[str, object]) -> None:
    experiment = TrafficExperiment(2, 2, **case)  # type: ignore[arg-type]
    again = pickle.loads(pickle.dumps(experiment))
    assert again == experiment
    assert hash(again) == hash(experiment)
    assert again.digest == experiment.digest
    assert popsnet.simulate(again) == popsnet.simulate(experiment)
    read = TrafficExperiment.from_json(experiment.to_json())
    assert read == experiment
    if isinstance(case.get("matrix"), np.ndarray):
        with pytest.raises(InputError, match="which is not kept"):
            read.reopened()
    else:
        assert read.reopened() == experiment
        assert popsnet.simulate(read.reopened()) == popsnet.simulate(experiment)


@each("case", CASES)
def test_parameters_are_replaced(case: dict[str, object]) -> None:
    experiment = TrafficExperiment(2, 2, **case)  # type: ignore[arg-type]
    other = experiment.replaced(seed=7)
    assert other.seed == 7
    assert other.replaced(seed=experiment.seed) == experiment
    assert experiment.replaced(scheduler="tdm").variant == "standard"


def test_a_changed_file_is_found_out() -> None:
    experiment = TrafficExperiment(2, 2, load=0.2, matrix="rates.csv")
    read = TrafficExperiment.from_json(experiment.to_json())
    Path("rates.csv").write_text("0,1\n1,0\n")
    with pytest.raises(InputError, match="the arrivals here is"):
        read.reopened()


def test_simulate_takes_networks_and_experiments() -> None:
    network = popsnet.Network(2, 3)
    by_network = popsnet.simulate(network, load=0.1, slots=300)
    assert by_network == popsnet.simulate(2, 3, load=0.1, slots=300)
    experiment = TrafficExperiment(2, 3, load=0.1, slots=300)
    assert by_network == popsnet.simulate(experiment)
    with pytest.raises(InputError, match="has all parameters"):
        popsnet.simulate(experiment, load=0.2)


def test_loads_above_the_bound_are_refused_unless_overload_is_wanted() -> None:
    with pytest.raises(InputError, match="no scheduler can carry"):
        TrafficExperiment(4, 4, load=0.9, pattern="group-shift")
    result = popsnet.simulate(4, 4, load=0.9, pattern="group-shift", overload=True, slots=2000)
    assert result.stable is False


def test_a_point_of_traffic_is_not_a_sequence_of_runs(tmp_path: Path) -> None:
    point = TrafficExperiment(2, 2, load=0.1)
    assert isinstance(point, Experiment)
    assert point != Experiment(2, 2)
    assert (point.program, point.workload) == (point.scheduler, point.arrivals)
    assert not hasattr(point, "router")
    with pytest.raises(InputError, match="continuous traffic, not runs of a router"):
        popsnet.route(point)
    with pytest.raises(InputError, match="is not an Experiment, nor a pair"):
        popsnet.collect([point], runs=10, store=tmp_path / "r")
    with pytest.raises(InputError, match=r"There is no parameter 'sed'\. Did you mean 'seed'"):
        point.replaced(sed=2)


SCHEDULER = """
from popsnet.traffic import find_scheduler, register_scheduler
@register_scheduler("own-elsewhere", summary="as tdm")
def own(*arguments):
    return find_scheduler("tdm").variants["standard"](*arguments)
"""


def test_files_travel_by_digest() -> None:
    """A worker has none of them, and gets their contents with the work."""
    Path("own.py").write_text(SCHEDULER)
    np.save("p.npy", [3, 2, 1, 0])
    arrivals: list[dict[str, object]] = [
        {"packets": "packets.csv"},
        {"load": 0.1, "matrix": "rates.csv", "slots": 100},
        {"load": 0.1, "pattern": "p.npy", "slots": 100},
        {"load": 0.1, "pattern": [3, 2, 1, 0], "slots": 100},
    ]
    points = [TrafficExperiment(2, 2, scheduler="own.py", **one) for one in arrivals]  # type: ignore[arg-type]
    sender = Sender()
    work: list[Work] = [(point, range(1)) for point in points]
    parcel, digests = sender.pack(work)
    for name in ("own.py", "packets.csv", "rates.csv", "p.npy"):
        Path(name).unlink()
    forget_file(Path("own.py"))
    contents = [sender.contents[digest] for digest in digests]
    finished = unpack(work, execute_parcel(popsnet.__version__, parcel, digests, *contents))
    assert [one.outcome for one in finished] == [
        without_engine(popsnet.simulate(point)) for point in points
    ]
    unregister_scheduler("own-elsewhere")


def test_a_scheduler_that_changes_meanwhile_is_noticed() -> None:
    path = Path("own.py")
    path.write_text(SCHEDULER)
    sent = pickle.dumps(TrafficExperiment(2, 2, scheduler=path, load=0.1))
    path.write_text(f"{SCHEDULER}EDITED = True\n")
    with pytest.raises(InputError, match="has changed since the work began: the version here"):
        pickle.loads(sent)
    unregister_scheduler("own-elsewhere")
