"""Every router with faults: it ends with a report, and the checker agrees with the machine."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import popsnet
from popsnet import Experiment, Faults, InputError, Network
from popsnet.experiment.traffic import TrafficExperiment
from popsnet.programs.schedules import Demand
from popsnet.sweeps import collect_traffic
from tests.each import sampled

SHAPES = ((4, 4), (7, 3), (1, 5), (3, 7))
STAGES = ("S", "F", "P2 P1", "P(2,1) F", "P1 R1", "T2 S", "P1 Q", "X2 P1", "XY(2,2)")
FAULTS = (
    "random:couplers=1 random:processors=1@500",
    "random:couplers={half}@4 loss:0.3/listener",
    "random:transmitters=1@3 random:receivers=1",
    "random:processors={few}@2 loss:0.05",
    "loss:1",
)


def _texts(network: Network) -> Iterator[str]:
    half, few = -(-network.couplers // 2), -(-network.n // 8)
    for text in sampled(FAULTS, 3):
        yield text.format(half=half, few=few)


def _variants() -> Iterator[tuple[str, str]]:
    for router in popsnet.all_routers():
        for variant in router.variants:
            yield router.name, variant
            if not router.variants[variant].idealized:
                yield router.name, f"{variant}+or"
    yield from (("relay", stage) for stage in STAGES)


def _account(run: popsnet.Run, path: Path) -> None:
    """Check that every packet is accounted for, and replay the run."""
    faulty = run.outcome.faulty
    assert faulty is not None
    packets = run.experiment.packets
    assert run.delivered + run.lost + faulty.unreachable + faulty.held == packets, run
    if run.experiment.idealized:
        return
    found = popsnet.check_trace(run.write_trace(path))
    assert found.ok, (run.experiment, found.violations)
    assert found.slots == run.slots
    assert found.delivered >= run.delivered
    assert found.lost == list(run.outcome.lost_packets)
    assert found.unreachable == faulty.unreachable


@pytest.mark.parametrize(("router", "variant"), list(_variants()))
def test_every_router_ends_with_a_report(router: str, variant: str, tmp_path: Path) -> None:
    tried = 0
    for number, shape in sampled(enumerate(SHAPES), 3):
        network, permutation = Network(*shape), ("random", "reversal")[number % 2]
        for text in _texts(network):
            try:
                experiment = Experiment(
                    *shape, router=router, variant=variant, faults=text, permutation=permutation,
                    seed=number, permutation_seed=number, fault_seed=number, max_steps=8,
                )  # fmt: skip
            except InputError:
                continue  # it does not apply to the network
            _account(popsnet.route(experiment, progress=False)[0], tmp_path / "run.jsonl")
            tried += 1
    assert tried >= 3


@pytest.mark.parametrize(
    ("router", "variant"),
    [(router.name, name) for router in popsnet.all_routers() for name in router.relations],
)
def test_every_router_of_demands_ends_with_a_report(
    router: str, variant: str, tmp_path: Path
) -> None:
    generator = np.random.default_rng(5)
    for number, shape in sampled(enumerate(SHAPES), 3):
        network = Network(*shape)
        ends = generator.integers(0, network.n, (2, 2 * network.n))
        for text in _texts(network):
            experiment = Experiment(
                *shape, router=router, variant=variant, faults=text, fault_seed=number,
                seed=number, max_steps=8, packets=Demand(network, *ends),
            )  # fmt: skip
            _account(popsnet.route(experiment, progress=False)[0], tmp_path / "run.jsonl")


@pytest.mark.parametrize("router", ["mei-rizzi", "relay", "direct", "relay:F", "offline"])
def test_without_faults_nothing_changes(router: str) -> None:
    plain = popsnet.route(8, 8, router=router, runs=3)
    assert Experiment(8, 8, router=router, faults="").digest == plain.experiment.digest
    later = popsnet.route(8, 8, router=router, runs=3, faults="coupler:0-1@1000", fault_seed=7)
    assert (later.slots == plain.slots).all()
    assert (later.messages == plain.messages).all()
    assert (later.collisions == plain.collisions).all()
    assert (later.outcomes.faulty == 0).all()


def test_parts_that_die_after_the_end_change_nothing() -> None:
    """A run ends when no packet can be delivered with what is dead, whatever dies later."""
    options = {"router": "relay", "variant": "survive", "runs": 3}
    for dead in ("processor:9", "coupler:0-1 transmitter:2"):
        runs, later = (
            popsnet.route(4, 4, **options, faults=f"{dead} {more}", progress=False)  # type: ignore[arg-type]
            for more in ("", "receiver:5@100000 processor:7@100000")
        )
        assert (runs.unreachable > 0).any() or "coupler" in dead
        for name in ("slots", "delivered", "unreachable", "held", "messages"):
            assert (getattr(runs, name) == getattr(later, name)).all(), (dead, name)
        assert not later.failed


def test_a_packet_is_held_until_its_path_is_dead(tmp_path: Path) -> None:
    """A run that is stopped before parts die counts what they will cut off as held."""
    for slot in (1, 1000):
        faults = Faults(processors=[(processor, slot) for processor in range(8)])
        run = popsnet.route(
            4, 4, router="relay", variant="survive", faults=faults, max_steps=1, progress=False
        )[0]
        found = run.outcome.faulty
        assert found is not None
        assert found.unreachable + found.held > 0
        assert (found.unreachable > 0) == (slot == 1)
        _account(run, tmp_path / "run.jsonl")


def test_faults_are_part_of_the_experiment() -> None:
    experiment = Experiment(4, 4, faults="coupler:0-1 loss:0.25", fault_seed=3)
    assert Experiment.from_json(experiment.to_json()) == experiment
    assert experiment.replaced(seed=4).faults == "coupler:0-1 loss:0.25"
    assert experiment.replaced(faults=None) == Experiment(4, 4)
    assert experiment != Experiment(4, 4)
    assert experiment.digest != experiment.replaced(fault_seed=4).digest
    assert Experiment.recorded(experiment.identity.values()) == experiment
    assert eval(repr(experiment), {"Experiment": Experiment}) == experiment
    assert experiment.storable


def test_identities_and_stores_keep_couplers_as_they_were(tmp_path: Path) -> None:
    """Results of earlier versions are found again: only what people read and write has changed."""
    faults = "coupler:0-1@5 coupler:2-0"
    runs = Experiment(4, 4, router="direct", faults=faults)
    point = TrafficExperiment(4, 4, scheduler="tdm", load=0.01, slots=50, faults=faults)
    for experiment in (runs, point):
        assert experiment.identity["faults"] == "coupler:0,2 coupler:1,0@5"
        assert experiment.faults == "coupler:2-0 coupler:0-1@5"
        assert type(experiment).recorded(experiment.identity) == experiment
    popsnet.collect([runs], runs=10, store=tmp_path / "r")
    (result,) = collect_traffic([point], tmp_path / "r")
    stored = (tmp_path / "r").read_bytes()
    assert (b"coupler:0,2" in stored, b"coupler:2-0" in stored) == (True, False)
    assert result is not None
    assert result.setting.faults == point.faults
    with popsnet.Store(tmp_path / "r") as store:
        assert [kept.setting for kept in store.traffic.results()] == [result.setting]
        assert {row["faults"] for row in store.to_records()} == {runs.faults}


def test_engines_without_faults_say_so() -> None:
    for engine in ("fused", "objects"):
        with pytest.raises(InputError, match="this one has faults"):
            popsnet.route(4, 4, faults="loss:0.1", engine=engine)
    assert popsnet.route(4, 4, faults="loss:0.1", runs=300, max_steps=20).engine == "slots"


def test_lost_and_repeated_packets_are_those_of_the_protocol() -> None:
    """One dead coupler in the last hop of mei-rizzi: acknowledged, and then lost."""
    permutation = [1, 5, 8, 9, 3, 10, 11, 14, 15, 13, 0, 7, 2, 6, 12, 4]
    runs = popsnet.route(
        4, 4, permutation=permutation, runs=50, faults=Faults(couplers=["1-3"]), max_steps=50
    )
    assert runs.lost.sum() > 0
    assert (runs.delivered + runs.lost + runs.unreachable + runs.held == 16).all()
    wanted = {packet for packet, to in enumerate(permutation) if to // 4 == 3 and to % 4 == 1}
    assert set(runs.outcomes.lost_packets.tolist()) <= wanted


def test_a_packet_of_a_dead_processor_is_unreachable() -> None:
    runs = popsnet.route(4, 4, router="relay:F", permutation="reversal", faults="processor:3")
    assert runs.unreachable.tolist() == [2]  # from it, and for it
    assert not runs.failed
    assert "2 unreachable" in str(runs.summary())
