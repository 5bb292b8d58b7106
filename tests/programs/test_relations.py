"""Routers that serve demands: right, within their claims and bounds, local, on every shape."""

from __future__ import annotations

import pickle
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from popsnet import (
    Experiment,
    InputError,
    Network,
    Run,
    SizeError,
    Store,
    check_trace,
    collect,
    route,
)
from popsnet.model.slot import Ints
from popsnet.programs.router import all_routers, get_router
from popsnet.programs.schedules import Demand
from popsnet.runs.demands import read_packets
from popsnet.testing import LocalityError, check_locality
from popsnet.trace import Event
from tests.each import each, examples, sampled

WAYS = [f"{router.name}:{name}" for router in all_routers() for name in router.relations]
ONLINE = [way for way in WAYS if get_router(way.partition(":")[0]).online]
SHAPES = [
    (1, 1), (1, 2), (2, 1), (1, 6), (6, 1), (2, 2), (3, 3), (5, 5), (4, 7), (7, 4), (5, 11),
    (11, 5), (16, 3), (3, 16), (12, 8), (8, 12),
]  # fmt: skip


def at_random(d: int, g: int, packets: int, seed: int) -> Demand:
    rng = np.random.default_rng(seed)
    network = Network(d, g)
    return Demand(network, rng.integers(0, network.n, packets), rng.integers(0, network.n, packets))


def hot(d: int, g: int, packets: int, seed: int) -> Demand:
    """Most packets come from one processor or go to one."""
    demand = at_random(d, g, packets, seed)
    source, destination = demand.source.copy(), demand.destination.copy()
    source[: packets // 3] = 0
    destination[packets // 2 :] = demand.network.n - 1
    return Demand(demand.network, source, destination)


def run_of(router: str, demand: Demand, trace: Path | None = None, seed: int = 0) -> Run:
    (run,) = route(demand.network, router=router, packets=demand, seed=seed, trace=trace)
    return run


@pytest.mark.parametrize("router", WAYS)
@pytest.mark.parametrize(("d", "g"), sampled(SHAPES, 7))
def test_every_packet_comes_home_by_the_rules(router: str, d: int, g: int, tmp_path: Path) -> None:
    for seed, make in enumerate((at_random, hot, at_random)):
        demand, trace = make(d, g, 5 * d * g, seed), tmp_path / f"{seed}.jsonl"
        run = run_of(router, demand, trace, seed)
        report = check_trace(trace)
        assert report.ok, report.violations
        assert (run.delivered, run.lost, run.capped) == (demand.packets, 0, False)
        assert (report.delivered, report.lost) == (demand.packets, [])
        assert (report.slots, report.messages) == (run.slots, run.messages)
        assert (report.collisions, report.destroyed) == (run.collisions, run.destroyed)
        assert run.peak_buffers <= run.experiment.buffers


@pytest.mark.parametrize("router", WAYS)
@given(d=st.integers(1, 9), g=st.integers(1, 9), data=st.data())
@examples(40)
def test_any_demand_is_served(router: str, d: int, g: int, data: st.DataObject) -> None:
    """Also demands of one packet, and those with many packets from one processor to another."""
    ends = st.tuples(st.integers(0, d * g - 1), st.integers(0, d * g - 1))
    rows = np.array(data.draw(st.lists(ends, min_size=1, max_size=40)))
    run = run_of(router, Demand(Network(d, g), rows[:, 0], rows[:, 1]))
    assert (run.delivered, run.lost, run.capped) == (len(rows), 0, False)


def rounds_of(demand: Demand) -> int:
    """The largest degree that direct's documentation states, counted one by one."""
    d, counts = demand.network.d, Counter[tuple[str, int, int]]()
    for source, to in zip(demand.source.tolist(), demand.destination.tolist(), strict=True):
        if source != to:
            counts["a processor has for destinations with an index", source, to % d] += 1
            counts["a group has for a destination", source // d, to] += 1
    return max(counts.values(), default=0)


@given(
    d=st.integers(1, 8), g=st.integers(1, 8), packets=st.integers(1, 80), seed=st.integers(0, 99)
)
def test_direct_takes_one_hop_in_its_rounds(d: int, g: int, packets: int, seed: int) -> None:
    demand = at_random(d, g, packets, seed)
    run, rounds = run_of("direct", demand), rounds_of(demand)
    announced = d if d > 1 else 0
    away = int((demand.source != demand.destination).sum())
    assert run.steps in (rounds, 1)  # the announcements belong to the first
    least, most = ((max(rounds, 1) - k) * max(d, g) for k in (1, 0))
    assert announced + min(least, run.slots) <= run.slots <= announced + most
    assert run.collisions == 0
    assert run.messages == away + announced * g
    assert rounds <= demand.h


@each(("d", "g"), SHAPES)
def test_announcements_to_all_come_before_the_schedule(d: int, g: int) -> None:
    demand = at_random(d, g, 4 * d * g, 3)
    announced = d * -(-g // d) + min(d, g)
    assert run_of("direct:to-all", demand).slots == announced + run_of("offline", demand).slots


def test_the_order_of_packets_does_not_change_a_schedule() -> None:
    demand = at_random(4, 5, 60, 1)
    order = np.random.default_rng(2).permutation(60)
    other = Demand(demand.network, demand.source[order], demand.destination[order])
    runs = [
        run_of(router, packets)
        for router in ("offline", "direct:to-all")
        for packets in (demand, other)
    ]
    assert runs[0].slots == runs[1].slots
    assert runs[2].slots == runs[3].slots


def test_lists_that_do_not_fit_in_memory_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("popsnet.programs.routers.announced.available_memory", lambda: 1000)
    with pytest.raises(SizeError, match="use direct:in-groups or relay"):
        run_of("direct:to-all", at_random(4, 4, 40, 0))


@pytest.mark.parametrize("router", WAYS)
def test_packets_at_home_and_no_packets(router: str) -> None:
    network = Network(2, 3)
    everyone = np.repeat(network.processors, 3)
    run = run_of(router, Demand(network, everyone, everyone))
    assert (run.delivered, run.lost, run.capped) == (18, 0, False)
    none = run_of(router, Demand(network, everyone[:0], everyone[:0]))
    assert (none.delivered, none.lost, none.capped) == (0, 0, False)


def test_relay_has_no_conflict_but_in_attempts_and_deliveries() -> None:
    """The last two slots of a fold promise it to the machine; here it is counted as well."""
    sent: Counter[str] = Counter()

    def count(event: Event) -> None:
        sent[event.phase] += len(event.records()[0])

    demand = at_random(5, 5, 200, 1)
    (run,) = route(demand.network, router="relay", packets=demand, observers=[count])
    away = int((demand.source != demand.destination).sum())
    assert sent["folds: destinations confirm"] == sent["folds: acks"] == away
    assert sent["folds: attempt"] > sent["folds: delivery"] > away
    assert run.slots % 4 == 1


@each("router", WAYS)
@each("network", [Network(4, 4), Network(2, 5)])
def test_every_phase_is_explained(router: str, network: Network) -> None:
    """The viewer shows these texts."""
    phases: set[str] = set()
    demand = at_random(network.d, network.g, 60, 2)

    def note(event: Event) -> None:
        phases.add(event.phase)

    (run,) = route(network, router=router, packets=demand, observers=[note])
    experiment = run.experiment
    words = experiment.resolved_router.words_on(network, experiment.resolved_variant)
    assert words["explanation"]
    assert phases <= set(words["phases"])


def test_a_store_keeps_runs_of_demands(tmp_path: Path) -> None:
    experiment = Experiment(4, 4, router="direct", packets=at_random(4, 4, 30, 1))
    store = tmp_path / "results.sqlite"
    (tally,) = collect([experiment], runs=10, store=store)
    assert tally.slots.total() == 10
    assert tally == route(experiment, runs=10).tally
    with Store(store) as kept:
        assert kept.experiments() == [experiment]
        assert kept.tally(experiment, 10) == tally


def test_runs_differ_by_their_coins_and_repeat() -> None:
    demand = at_random(6, 6, 200, 4)
    runs = route(6, 6, router="relay", packets=demand, runs=6, seed=9)
    assert len(set(runs.slots.tolist())) > 1
    again = route(6, 6, router="relay", packets=demand, runs=6, seed=9)
    assert runs.slots.tolist() == again.slots.tolist()
    later = route(6, 6, router="relay", packets=demand, runs=2, first=4, seed=9)
    assert later.slots.tolist() == runs.slots[4:].tolist()


def test_uniform_demands_take_relay_about_sixteen_slots_per_packet() -> None:
    """A fold delivers 0.2546 of the couplers while sources have many packets: 15.7h slots."""
    rng, network, h = np.random.default_rng(0), Network(32, 32), 40
    columns = [rng.permutation(network.n) for _ in range(h)]
    demand = Demand(network, np.tile(network.processors, h), np.concatenate(columns))
    (run,) = route(network, router="relay", packets=demand)
    assert 12 * h < run.slots < 24 * h


@each("router", ONLINE)
@each(("d", "g"), sampled([(2, 5), (3, 3), (2, 2), (1, 4), (5, 2)], 2))
def test_the_ways_of_on_line_routers_are_local(router: str, d: int, g: int) -> None:
    check_locality(router, Network(d, g), packets=at_random(d, g, 2 * d * g, 1))


def test_an_off_line_schedule_is_not_local() -> None:
    with pytest.raises(LocalityError, match="offline standard, slot 1"):
        check_locality("offline", Network(3, 3), packets=at_random(3, 3, 18, 1))


def test_a_router_that_serves_no_demands_names_those_that_do() -> None:
    with pytest.raises(InputError, match="these routers do: direct, offline, relay"):
        route(2, 2, router="batcher", packets=[[0, 1]])
    with pytest.raises(InputError, match=r"'folds'.*It does by: in-groups, to-all"):
        route(2, 2, router="direct:folds", packets=[[0, 1]])
    with pytest.raises(InputError, match=r"variant 'to-al'\. Did you mean"):
        route(2, 2, router="direct:to-al", packets=[[0, 1]])


def test_packets_are_given_in_one_way() -> None:
    with pytest.raises(InputError, match="permutation and matrix each give"):
        route(2, 2, router="direct", permutation="transpose", matrix=[[0, 1], [1, 0]])
    with pytest.raises(InputError, match="packets and matrix each give"):
        route(2, 2, router="direct", packets=[[0, 1]], matrix=[[0, 1], [1, 0]])
    with pytest.raises(InputError, match="The packets are for"):
        route(3, 3, router="direct", packets=at_random(2, 2, 3, 0))
    with pytest.raises(InputError, match="permutation and packets each give"):
        Experiment(2, 2, router="direct", permutation="shift", packets=at_random(2, 2, 3, 0))


def test_an_experiment_with_a_demand_is_a_value() -> None:
    demand = at_random(4, 4, 30, 1)
    experiment = Experiment(4, 4, router="relay", packets=demand)
    same = Experiment(4, 4, router="relay", packets=Demand(demand.network, *_ends(demand)))
    assert experiment == same
    assert experiment.digest == same.digest
    assert experiment != Experiment(4, 4, router="relay", packets=at_random(4, 4, 30, 2))
    assert (experiment.packets, experiment.variant) == (30, "folds")
    received = pickle.loads(pickle.dumps(experiment))
    assert received == experiment
    assert route(received).slots == route(experiment).slots
    assert experiment.replaced(seed=1).demand is not None
    assert experiment.replaced(seed=1).seed == 1
    with pytest.raises(InputError, match="packets have no name"):
        experiment.to_json()
    with pytest.raises(InputError, match="its demand was not given as a file, and is not kept"):
        Experiment.recorded(experiment.identity.values()).reopened()
    with pytest.raises(InputError, match="it routes permutations, and no demands"):
        route(experiment, engine="fused")
    with pytest.raises(InputError, match="it routes permutations, and no demands"):
        route(experiment, engine="objects")


def _ends(demand: Demand) -> tuple[Ints, Ints]:
    return demand.source.astype(np.int64), demand.destination.astype(np.int64)


def test_a_demand_is_not_changed_by_its_owner() -> None:
    source = np.array([0, 0, 1], dtype=np.int32)
    demand = Demand(Network(2, 2), source, np.array([3, 2, 3], dtype=np.int32))
    experiment = Experiment(2, 2, router="direct", packets=demand)
    source[:] = 2
    assert experiment.demand is not None
    assert experiment.demand.source.tolist() == [0, 0, 1]


def test_the_report_tells_of_the_demand() -> None:
    runs = route(4, 3, router="direct", matrix=[[0, 9, 1], [4, 0, 4], [2, 2, 0]], runs=2)
    report = runs.report().to_dict()
    assert (report["packets"], report["max_per_processor"], report["lower_bound"]) == (22, 3, 6)
    assert report["ok"]
    assert "22 packets, at most 3 from or for a processor" in str(runs.summary())
    assert runs[0].slots_known == runs.slots[0]
    assert len(runs[0].trace().splitlines()) == runs.slots[0] + 2


def test_a_router_of_ones_own_can_serve_demands(tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text(
        "import popsnet\n"
        "from popsnet.programs.routers.announced import in_groups\n"
        "from popsnet.programs.routers.direct import direct\n"
        "def own(network, destination, coins, memory):\n"
        "    yield from direct(network, destination, coins, memory)\n"
        "popsnet.register('own', summary='', slots='', buffers=2)(own)\n"
        "@popsnet.register_relation('own', 'plain')\n"
        "def serve(network, destination, coins, memory):\n"
        "    yield from in_groups(network, destination, coins, memory)\n"
    )
    demand = at_random(3, 4, 40, 2)
    assert run_of(str(file), demand).slots == run_of("direct", demand).slots


def test_demands_are_read_in_every_way(tmp_path: Path) -> None:
    network = Network(2, 2)
    np.save(tmp_path / "packets.npy", np.array([[0, 3], [0, 1]]))
    np.save(tmp_path / "matrix.npy", np.array([[0, 3], [1, 0]]))
    (tmp_path / "packets.csv").write_text("source,destination\n0,3\n0,1\n")
    for demand in (tmp_path / "packets.npy", str(tmp_path / "packets.csv"), [[0, 3], [0, 1]]):
        assert route(network, router="direct", packets=demand).delivered.tolist() == [2]
    assert route(network, router="direct", matrix=tmp_path / "matrix.npy").delivered[0] == 4
    assert read_packets(network).packets == 4
