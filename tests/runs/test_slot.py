"""A slot of a run prints itself, and has the conflict graph that the viewer draws."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import popsnet
from popsnet import InputError
from popsnet.model.coins import Coins
from popsnet.runs.phase_analysis import analyse_phases
from popsnet.runs.run import Run
from popsnet.theory.conflict_graph import ConflictGraph

RUNS = {
    "mei-rizzi": popsnet.Experiment(4, 4),
    "relay": popsnet.Experiment(8, 4, router="relay", variant="S"),
    "faults": popsnet.Experiment(4, 4, router="direct", faults="coupler:0-1 receiver:5 loss:0.1"),
    "wavelengths": popsnet.Experiment(8, 4, router="relay", wavelengths=2),
    "demand": popsnet.Experiment(
        4, 4, router="relay",
        packets=popsnet.schedules.Demand(
            popsnet.Network(4, 4), np.array([0, 0, 5]), np.array([9, 9, 2])
        ),
    ),
}  # fmt: skip


def traced(experiment: popsnet.Experiment) -> Run:
    return popsnet.route(experiment, engine="slots")[0]


@pytest.mark.parametrize("name", RUNS)
def test_the_slots_of_a_run_add_up(name: str) -> None:
    run = traced(RUNS[name])
    slots = [run.slot(number) for number in range(1, run.slots + 1)]
    uses = [slot.couplers() for slot in slots]
    collisions = sum(use.result == "collision" for one in uses for use in one)
    assert collisions == run.collisions
    assert sum(len(use.messages) for one in uses for use in one if use.result == "collision") == (
        run.destroyed
    )
    course = slots[0].course
    at_start = [p for p, slot in course.delivered.items() if slot == 0 and p not in course.taken]
    assert sum(len(slot.delivered) for slot in slots) + len(at_start) == run.delivered
    for slot in slots:
        text = str(slot)
        assert max(map(len, text.splitlines())) <= 80
        assert text.startswith(f"Slot {slot.number} of {run.slots} of ")


@pytest.mark.parametrize("router", ["direct", "offline", "mei-rizzi"])
@pytest.mark.parametrize("permutation", ["identity", [0, 1, 3, 2]])
def test_packets_that_start_at_their_destinations_are_delivered_when_they_are_heard(
    router: str, permutation: str | list[int]
) -> None:
    run = popsnet.route(2, 2, router=router, permutation=permutation)[0]
    delivered = {t: run.slot(t).delivered for t in range(1, run.slots + 1)}
    assert max(t for t, packets in delivered.items() if packets) == run.slots_delivered
    assert sorted(packet for packets in delivered.values() for packet in packets) == [0, 1, 2, 3]


def test_a_slot_names_senders_listeners_and_collisions() -> None:
    slot = traced(RUNS["mei-rizzi"]).slot(1)
    text = str(slot)
    for use in slot.couplers():
        if use.messages:
            assert f"{use.by}→{use.to}" in text
        if use.result == "collision":
            assert not use.heard
            assert len(use.messages) > 1
    last = traced(RUNS["mei-rizzi"])
    delivering = [last.slot(number) for number in range(1, last.slots + 1)]
    packet = next(slot for slot in delivering if slot.delivered).delivered[0]
    home = RUNS["mei-rizzi"].destination(0)[packet]
    assert any(f"packet {packet} at processor {home}" in str(slot) for slot in delivering)
    assert slot.to_records()[0].keys() >= {"to", "by", "messages", "listeners", "heard"}


def test_a_large_slot_is_a_summary() -> None:
    text = str(popsnet.route(32, 32, router="direct")[0].slot(1))
    assert len(text.splitlines()) < 40
    assert " more" in text


def test_slots_count_from_1() -> None:
    run = popsnet.route(4, 4, router="direct")[0]
    for wrong in (0, 5, -1):
        with pytest.raises(InputError, match=f"^slot = {wrong}: the run has slots 1 to 4; give"):
            run.slot(wrong)
    with pytest.raises(InputError, match="must be an integer"):
        run.slot("1")  # type: ignore[arg-type]


def test_the_conflict_graph_is_that_of_the_analysis() -> None:
    experiment = popsnet.Experiment(8, 8, seed=3)
    run, destination = traced(experiment), experiment.destination(0)
    steps = list(analyse_phases(experiment.network, destination, Coins(3).for_run(0)))
    for number, step in enumerate(steps):
        graph = run.slot(5 * number + 1).conflict_graph()
        packets = sorted(packet for *_, packet in graph.edges(keys=True))
        assert packets == step.graph.packets.tolist()
        degrees = [degree for _, degree in sorted(graph.degree())]
        assert degrees == step.graph.degrees.tolist()
        colours = {packet: colour for *_, packet, colour in graph.edges(keys=True, data="colour")}
        assert [
            colours[packet] for packet in step.graph.packets[step.taking].tolist()
        ] == step.colours.tolist()
        within = run.slot(5 * number + 4).conflict_graph()
        assert sorted(within.edges(keys=True)) == sorted(graph.edges(keys=True))


def test_other_routers_have_groups_of_destinations_on_the_right() -> None:
    run = traced(RUNS["relay"])
    graph = run.slot(1).conflict_graph()
    destination = RUNS["relay"].destination(0)
    ends = {packet: {u, v} for u, v, packet in graph.edges(keys=True)}
    assert len(ends) == sum(destination[i] != i for i in range(32))
    for packet, nodes in ends.items():
        assert nodes == {("group", packet // 8), ("destination group", destination[packet] // 8)}
    demand = traced(RUNS["demand"]).slot(1).conflict_graph()
    assert demand.number_of_edges(("group", 0), ("destination group", 2)) == 2


def test_the_network_is_a_directed_graph() -> None:
    network = popsnet.Network(3, 2, wavelengths=2)
    graph = network.to_networkx()
    assert graph.graph == {"d": 3, "g": 2, "wavelengths": 2}
    kinds = [kind for _, kind in graph.nodes(data="kind")]
    assert (kinds.count("processor"), kinds.count("coupler")) == (network.n, network.couplers)
    for j in range(network.n):
        assert graph.nodes[j]["group"] == network.group(j)
        assert graph.nodes[j]["index"] == network.index(j)
        assert len(list(graph.successors(j))) == len(list(graph.predecessors(j))) == network.g
    for b, a in ((0, 1), (1, 0), (1, 1)):
        node = graph.nodes[b, a]
        assert (node["number"], node["from"], node["to"]) == (network.coupler(b, a), a, b)
        assert {network.group(j) for j in graph.predecessors((b, a))} == {a}
        assert {network.group(j) for j in graph.successors((b, a))} == {b}
        assert all(graph.edges[(b, a), j]["to"] == b for j in graph.successors((b, a)))
    with pytest.raises(InputError, match="would have 16,777,216 edges, and at most 10,000,000"):
        popsnet.Network(2**9, 2**7).to_networkx()


def test_networkx_is_optional() -> None:
    begin = "import sys; sys.modules['networkx'] = None; import popsnet; "
    run = "popsnet.route(2, 2)[0].slot(1).conflict_graph()"
    for call in ("popsnet.Network(2, 2).to_networkx()", run):
        program = [sys.executable, "-c", begin + call]
        last = subprocess.run(program, capture_output=True, text=True).stderr.splitlines()[-1]
        assert "A graph of NetworkX needs networkx" in last
        assert "pip install 'popsnet[networkx]'" in last
    graph = ConflictGraph.of(popsnet.Network(2, 2), np.arange(4)).to_networkx()
    assert graph.number_of_edges() == 4
