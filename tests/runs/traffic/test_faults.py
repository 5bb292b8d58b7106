"""Continuous traffic with faults: every scheduler ends with a report, and survives what it says."""

from __future__ import annotations

import json
import pickle
from math import sqrt
from pathlib import Path

import numpy as np
import pytest

import popsnet
from popsnet import Coins, Faults, InputError, Network, Slot, check_trace
from popsnet.engines.log import Log
from popsnet.engines.traffic_slots import MessageSession
from popsnet.model.faults import KINDS
from popsnet.programs.scheduler import Running
from popsnet.programs.scheduler_faults import TrafficFaults
from popsnet.testing import check_scheduler_locality
from popsnet.traffic import (
    LiveParts,
    Scheduler,
    TrafficExperiment,
    TrafficMemory,
    all_schedulers,
    make_arrivals,
    write_trace,
)
from popsnet.workloads.block import Block
from popsnet.workloads.largest_loads import Bounds
from popsnet.workloads.patterns import resolve_pattern
from tests.conftest import Cli
from tests.each import each, rarely, sampled
from tests.workloads.matrices_of import groups_of, matrix_of

NAMES = [one.name for one in all_schedulers() if not one.file]
SHAPES: list[tuple[int, ...]] = [(5, 2), (2, 4), (3, 4)]
TUNED: list[tuple[int, ...]] = [(5, 2, 2), (7, 2, 2), (2, 4, 3), (4, 3, 2)]
"""With wavelengths."""
FAULTS = {
    "couplers": "coupler:0-1",
    "transmitters": "transmitter:2",
    "receivers": "receiver:3",
    "processors": "processor:1",
    "loss": "loss:0.05",
}


def run(
    name: str, shape: tuple[int, ...], faults: str, *, known: bool = False, load: float = 0.02,
    slots: int = 150, rest: int = 350, pattern: str = "uniform",
) -> tuple[Log, Log, MessageSession]:  # fmt: skip
    """Let packets arrive, then wait until none that has a path is inside, but not for ever.

    A packet of relay that has failed often is tried once in 2^8 cycles of four slots, and on
    POPS(3, 3) with a dead coupler one attempt in three has a live path. The log of the wait has the
    sums of all of it.
    """
    network, scheduler = Network(*shape), popsnet.traffic.find_scheduler(name)
    trouble = TrafficFaults(network, scheduler, Faults.parse(faults), 3, known)
    session = MessageSession(
        network, scheduler, next(iter(scheduler.variants)), faults=trouble, seed=1
    )
    arrivals = make_arrivals(network, load=load, pattern=pattern)
    none = np.empty(0, np.int32)
    quiet = Block(slots, np.zeros(rest + 1, np.int64), none, none)
    first, later = session.advance(arrivals.block(0, slots)), session.advance(quiet)
    for _ in range(100 if name == "relay" else 9):
        if session.memory.inside <= len(session.unreachable):
            break
        more = session.advance(quiet)
        assert later.faults is not None
        assert more.faults is not None
        flows = np.concatenate([later.faults.lost_flows, more.faults.lost_flows])
        later = later._replace(
            arrival=np.concatenate([later.arrival, more.arrival]),
            lost=np.concatenate([later.lost, more.lost]), own=more.own,
            faults=later.faults._replace(lost_flows=flows),
        )  # fmt: skip
    session.close()
    return first, later, session


CASES = [
    (shape, kind, known) for shape in SHAPES + TUNED for kind in KINDS for known in (False, True)
    if not (known and kind == "loss")
]  # fmt: skip
FEW = [case for case in CASES if case[0] == SHAPES[0] and not case[2]]
FEW += [(SHAPES[0], "processors", True), (TUNED[0], "couplers", True), (TUNED[0], "loss", False)]


@pytest.mark.parametrize(
    "cases", [FEW, *rarely([[case for case in CASES if case not in FEW]])], ids=len
)
@pytest.mark.parametrize("name", sampled(NAMES, 4))
def test_every_scheduler_ends_with_a_report(
    name: str, cases: list[tuple[tuple[int, ...], str, bool]]
) -> None:
    """What survives delivers every packet that has a path; all others account for every packet."""
    scheduler = popsnet.traffic.find_scheduler(name)
    for shape, kind, known in cases:
        if len(shape) == 3 and not scheduler.wavelengths:
            continue
        first, later, session = run(name, shape, FAULTS[kind], known=known)
        assert first.faults is not None
        assert later.faults is not None
        arrived = len(make_arrivals(Network(*shape), load=0.02).block(0, 150).sources)
        unreachable = len(first.faults.unreachable_rows)
        lost = int(first.lost.sum() + later.lost.sum())
        delivered = len(first.arrival) + len(later.arrival)
        held = arrived - unreachable - lost - delivered
        assert 0 <= held <= session.memory.inside
        assert len(first.faults.lost_flows) + len(later.faults.lost_flows) == lost
        assert unreachable < arrived
        if scheduler.expects(frozenset({kind}), known):
            assert (lost, held, session.memory.duplicated) == (0, 0, 0), shape
            assert not session.memory.tolerant
        else:
            assert session.memory.tolerant


def test_what_is_said_to_survive_is_stated_by_every_scheduler() -> None:
    for scheduler in all_schedulers():
        if scheduler.file:
            continue
        assert scheduler.paths != "any"
        assert scheduler.survives <= scheduler.survives_known <= set(KINDS)
        assert scheduler.survives_known >= set(KINDS) - {"loss"}


@each("name", ["tdm", "vlb", "rotor", "hop3", "epochs", "ideal"])
def test_loss_loses_packets_of_schedulers_without_acknowledgements(name: str) -> None:
    first, later, _ = run(name, (3, 3), "loss:0.3", load=0.05)
    assert first.lost.sum() + later.lost.sum() > 10


@pytest.mark.parametrize("name", ["vlb", "hop3", "epochs"])
def test_relayed_packets_over_dead_couplers_are_lost_unless_they_are_known(name: str) -> None:
    first, later, _ = run(name, (3, 3), "coupler:0-1", load=0.05)
    assert first.lost.sum() + later.lost.sum() > 3
    first, later, _ = run(name, (3, 3), "coupler:0-1", load=0.05, known=True)
    assert first.lost.sum() + later.lost.sum() == 0
    assert first.faults is not None
    assert not len(first.faults.unreachable_rows)


@pytest.mark.parametrize("name", ["aloha", "relay"])
def test_lost_acknowledgements_deliver_no_packet_twice(name: str) -> None:
    """A third of all acks is lost, so that many packets are sent again after their delivery."""
    first, later, session = run(name, (3, 3), "loss:0.33", load=0.02, rest=2000)
    assert first.lost.sum() + later.lost.sum() == 0
    assert session.memory.inside == session.memory.duplicated == 0
    assert not session.memory.tolerant


def test_relay_reaches_over_a_dead_coupler_without_knowing_it() -> None:
    first, later, _ = run("relay", (3, 3), "coupler:0-1", pattern="group-shift")
    assert len(first.arrival) + len(later.arrival) > 20
    assert first.faults is not None
    assert not len(first.faults.unreachable_rows)


def test_unreachable_packets_block_aloha_unless_they_are_refused() -> None:
    """They fill the window of packets that a source tries, before those for other groups."""
    options = {"scheduler": "aloha", "load": 0.05, "faults": "coupler:0-1", "slots": 2000}
    blocked = popsnet.simulate(4, 4, **options, progress=False)  # type: ignore[arg-type]
    free = popsnet.simulate(4, 4, **options, known_faults=True, progress=False)  # type: ignore[arg-type]
    assert (blocked.verdict, free.verdict) == ("unstable", "stable")
    assert blocked.unreachable > 0
    assert free.unreachable > 0
    assert free.lost == free.undelivered == 0


def test_an_ack_for_another_source_is_not_taken_for_ones_own() -> None:
    """A dead transmitter does not disturb, and its processor hears the ack of a neighbour."""
    for name in ("aloha", "relay"):
        first, later, session = run(name, (4, 2), "transmitter:0", load=0.05, rest=1500)
        assert first.lost.sum() + later.lost.sum() == 0
        assert not session.lost


def test_a_part_that_dies_later_works_until_then() -> None:
    first, _, _ = run("tdm", (3, 3), "coupler:0-1@100", load=0.1, slots=200)
    assert first.faults is not None
    rows = first.faults.unreachable_rows
    starts = make_arrivals(Network(3, 3), load=0.1).block(0, 200).starts
    assert len(rows)
    assert rows.min() >= starts[99]
    both = (first.source // 3 == 0) & (first.destination // 3 == 1)
    assert both.any()
    assert first.arrival[both].max() < 99


# The share that is delivered after losses


def hops_without_faults(name: str, arrivals: int, load: float) -> np.ndarray:
    network = Network(4, 4)
    session = MessageSession(network, popsnet.traffic.find_scheduler(name), "standard", seed=1)
    log = session.advance(make_arrivals(network, load=load).block(0, arrivals))
    return np.bincount(log.hops, minlength=4)


@pytest.mark.parametrize(("name", "load"), [("tdm", 0.5), ("vlb", 0.3), ("hop3", 0.2)])
def test_a_packet_of_h_hops_arrives_with_probability_1_minus_loss_to_the_h(
    name: str, load: float
) -> None:
    """Σ N_h (1 - ε)^h packets are delivered, where N_h make h hops without loss.

    Losses of messages are independent. A false alarm at 4.5 standard errors has a probability of
    7·10^-6. Loss changes only by which relay a packet goes, and so N_h by chance, which the error
    contains: the variance of (1 - ε)^h is less than that of the binomial distribution.
    """
    loss, slots = 0.1, 1500
    counts = hops_without_faults(name, slots, load)
    network, scheduler = Network(4, 4), popsnet.traffic.find_scheduler(name)
    faults = TrafficFaults(network, scheduler, Faults(loss=loss), 5)
    session = MessageSession(network, scheduler, "standard", faults=faults, seed=1)
    log = session.advance(make_arrivals(network, load=load).block(0, slots))
    h = np.arange(4)
    expected = float(counts @ (1 - loss) ** h)
    p = expected / counts.sum()
    error = sqrt(2 * counts.sum() * p * (1 - p))
    waiting = 60  # packets inside at the end, which may differ between the runs
    assert abs(len(log.arrival) - expected) < 4.5 * error + waiting
    if name == "tdm":
        assert counts[1] == counts.sum()
        error = sqrt(counts.sum() * loss * (1 - loss))
        assert abs(int(log.lost.sum()) - loss * counts.sum()) < 4.5 * error


# Bounds


@each("shape", [(8, 8), (6, 3), (2, 5), (8, 3, 2), (2, 5, 3)])
@each(
    "pattern",
    ["uniform", "uniform-with-self", "group-shift", "hotspot:2:0.3", "incast:3", "gravity:7",
     "transpose"],
)  # fmt: skip
def test_flows_and_bounds_agree_with_those_of_an_intact_network(
    shape: tuple[int, ...], pattern: str
) -> None:
    network = Network(*shape)
    resolved = resolve_pattern(pattern, network, 7)
    flows = resolved.flows()
    np.testing.assert_allclose(flows, matrix_of(pattern, network, 7), rtol=1e-8, atol=1e-12)
    intact = Bounds.with_faults(network, flows, LiveParts(network, Faults()), "any")
    for one, other in zip(intact.report_rows(), resolved.bounds().report_rows(), strict=True):
        assert one.name == other.name
        assert one.load == pytest.approx(other.load)


def test_flows_of_a_matrix_and_of_a_list(tmp_path: Path) -> None:
    network = Network(2, 2)
    dealt = make_arrivals(network, matrix=np.array([[1.0, 3.0], [2.0, 2.0]]), load=0.1).flows()
    np.testing.assert_allclose(groups_of(dealt, network), np.array([[0.5, 1.5], [1.0, 1.0]]))
    assert np.diag(dealt).sum() == 0
    path = tmp_path / "list.csv"
    path.write_text("1,0,3,3\n5,2,1,1\n")
    listed = make_arrivals(network, packets=path).flows()
    assert (listed[0, 3], listed[2, 1], listed.sum()) == (3, 1, 4)


@pytest.mark.parametrize(
    ("faults", "cut"), [("coupler:0-1", 7 / 8), ("coupler:0-1 coupler:0-2", 6 / 8)]
)
def test_a_group_with_f_dead_couplers_carries_g_minus_f(faults: str, cut: float) -> None:
    rotor, tdm = (
        TrafficExperiment(8, 8, scheduler=name, load=0.1, faults=faults)
        for name in ("rotor", "tdm")
    )
    assert rotor.bounds.any.load == pytest.approx(cut)
    assert tdm.bounds.any.load > 0.98  # it does not carry the flows over dead couplers
    with pytest.raises(InputError, match="groups out: a group sends at most"):
        rotor.replaced(load=cut + 0.01)


@each("wavelengths", [1, 2])
def test_the_bound_of_hops_by_bisection(wavelengths: int) -> None:
    network = Network(4, 3, wavelengths)
    faults = Faults.parse("coupler:0-1 coupler:2-2 transmitter:5")
    live = LiveParts(network, faults)
    flows = np.where(live.reachable("two hops"), matrix_of("group-shift", network), 0)
    pairs, works = groups_of(flows, network), live.couplers.T
    carried = sum(min(4 - (a == 1), wavelengths * int(works[a].sum())) for a in range(3))

    def fits(x: float) -> bool:
        return bool(
            flows.sum() * x + np.maximum(0, x * pairs - wavelengths * works).sum() <= carried
        )

    low, high = 0.0, 4.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    found = Bounds.with_faults(network, matrix_of("group-shift", network), live, "two hops")
    assert found.hops == pytest.approx(low)


# Values


def test_an_experiment_without_faults_is_what_it_was() -> None:
    one = TrafficExperiment(4, 4, load=0.1)
    assert "faults" not in one.identity
    assert one == TrafficExperiment(4, 4, load=0.1, faults="", fault_seed=5)
    assert TrafficExperiment.recorded(one.identity) == one
    result = popsnet.simulate(one.replaced(slots=1000), progress=False)
    assert "faults" not in result.to_dict()["setting"]
    assert "unreachable" not in result.to_dict()
    assert "unreachable" not in result.row()


def test_an_experiment_with_faults_is_a_value() -> None:
    options = {"load": 0.1, "faults": "random:couplers=2 loss:0.01", "fault_seed": 7}
    one = TrafficExperiment(4, 4, **options, known_faults=True)  # type: ignore[arg-type]
    assert one.digest != TrafficExperiment(4, 4, **options).digest  # type: ignore[arg-type]
    assert one.digest != one.replaced(fault_seed=8).digest
    assert pickle.loads(pickle.dumps(one)) == one
    again = TrafficExperiment.from_json(one.to_json())
    assert (again, again.reopened()) == (one, one)
    assert one.replaced(load=0.2).known_faults
    result = popsnet.simulate(one.replaced(slots=1000), progress=False)
    again_result = type(result).from_dict(json.loads(json.dumps(result.to_dict())))
    assert again_result == result
    assert result.faults == one.faults
    assert result.drawn_faults.startswith("coupler:")


def test_what_is_refused() -> None:
    with pytest.raises(InputError, match="no part is dead"):
        TrafficExperiment(4, 4, load=0.1, known_faults=True)
    with pytest.raises(InputError, match="no part is dead"):
        TrafficExperiment(4, 4, load=0.1, faults="loss:0.1", known_faults=True)
    with pytest.raises(InputError, match="there is no coupler:0-4"):
        TrafficExperiment(4, 4, load=0.1, faults="coupler:0-4")
    for faults, known, scheduler in (("loss:0.1", False, "tdm"), ("coupler:0-1", False, "aloha"),
                                     ("receiver:1", True, "relay")):  # fmt: skip
        one = TrafficExperiment(
            4, 4, scheduler=scheduler, load=0.02, slots=20, faults=faults, known_faults=known
        )
        with pytest.raises(InputError, match=r"no compiled code .* with faults"):
            popsnet.simulate(one, engine="fused")
        assert popsnet.simulate(one).engine == "slots"


def test_lost_packets_do_not_make_a_point_unstable() -> None:
    result = popsnet.simulate(4, 4, scheduler="tdm", load=0.4, faults="loss:0.2", slots=2000,
                              progress=False)  # fmt: skip
    assert result.verdict == "stable"
    assert not result.survives
    assert 0.1 < result.lost / result.arrived < 0.3
    assert "tdm does not survive these faults" in str(result.report())
    share = result.lost / result.arrived
    lost = f"Stable, but with {result.lost:,} lost packets ({share:.1%}): "
    assert result.report().verdict == f"{lost}{result.reason}"


# Traces, and what schedulers may know


@each(("name", "known"), sampled([(name, known) for name in NAMES for known in (False, True)], 5))
def test_traces_of_faulty_traffic_are_right(tmp_path: Path, name: str, known: bool) -> None:
    faults = "coupler:0-1@20 receiver:3 processor:4 loss:0.3/listener"
    path = tmp_path / "run.jsonl"
    for d, g in ((3, 3), (2, 4)):
        point = TrafficExperiment(d, g, scheduler=name, load=0.2, faults=faults, overload=True,
                                  known_faults=known)  # fmt: skip
        write_trace(point, path, 120)
        found = check_trace(path)
        assert found.violations == []
        assert found.faulty
    lines = path.read_text().splitlines()
    assert any("misses" in line for line in lines)
    header = json.loads(lines[0])
    del header["faults"]["loss"]
    path.write_text("\n".join([json.dumps(header), *lines[1:]]) + "\n")
    assert any("only if the header has a loss" in str(one) for one in check_trace(path).violations)


def test_a_trace_that_hears_over_a_dead_coupler_is_found(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    point = TrafficExperiment(2, 2, scheduler="tdm", load=0.3)
    write_trace(point, path, 40)
    header, *rest = path.read_text().splitlines()
    dead = {**json.loads(header), "faults": {"couplers": [[1, 0, 1]]}}
    path.write_text("\n".join([json.dumps(dead), *rest]) + "\n")
    assert any(
        "delivers a packet that it hears" in str(one) for one in check_trace(path).violations
    )


@each("scheduler", [one for one in all_schedulers() if one.online])
def test_schedulers_are_local_with_faults(scheduler: Scheduler) -> None:
    faults = "coupler:0-1 processor:3 loss:0.1"
    for known in (False, True):
        check_scheduler_locality(
            scheduler, Network(2, 3), faults=faults, known_faults=known, pairs=2, max_slots=40
        )


def careless(network: Network, public: Coins, coins: Coins, memory: TrafficMemory) -> Running:
    """Let processor 0 send each packet twice, and every destination deliver what was sent."""
    while True:
        arrived = yield None
        rows = arrived.processors == 0
        packets, to = arrived.packets[rows][:1], arrived.destinations[rows][:1]
        for again in range(2):
            if again:
                yield None
            listening = np.zeros(network.n, dtype=np.int64)
            yield Slot.send_packets(
                0 * packets, network.group(to), listening, packets=packets, phase="send"
            )
            memory.deliver(to, packets)
        memory.drop(0 * packets, packets)


def test_a_careless_scheduler_is_counted_and_not_refused() -> None:
    result = popsnet.simulate(
        2, 2, scheduler=careless, load=0.2, faults="loss:0.3", slots=2000, progress=False
    )
    assert result.duplicated > 20
    assert result.skipped > 20


def test_the_command_line(cli: Cli) -> None:
    words = ["traffic", "4", "4", "--scheduler", "tdm", "--load", "0.2", "--slots", "1000"]
    done = cli(*words, "--fault", "random:couplers=2", "--loss", "0.01", "--known-faults", "--json")
    assert done.code == 0  # a point with lost packets is a result
    found = json.loads(done.out)
    assert found["faults"] == "random:couplers=2 loss:0.01"
    assert found["known_faults"]
    assert found["unreachable"] > 0
    assert found["lost"] > 0
    assert not found["survives"]
    assert found["points"][0]["unreachable"] == found["unreachable"]
    refused = cli(*words, "--known-faults")
    assert refused.code == 2
    assert "--known-faults" in refused.err
    assert "--loss 0.1 needs packets" in cli("traffic", "4", "4", "--loss", "0.1").err
