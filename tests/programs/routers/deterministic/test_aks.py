"""aks is always right: when the network sorts, and when it does not."""

from __future__ import annotations

from functools import partial

import pytest

from popsnet import Coins, Memory, Network, Outcome, Router
from popsnet.engines import Instance, slots
from popsnet.model.slot import Ints, Slots
from popsnet.programs.router import Route, Variant, get_router
from popsnet.programs.routers.deterministic import aks_slots, batcher_slots
from popsnet.programs.routers.deterministic.aks import certified
from popsnet.programs.routers.to_all import global_or_slots
from popsnet.testing import check_locality
from popsnet.theory.sorting import ComparatorNetwork, bag_tree, merge_exchange
from tests.conftest import permutation
from tests.each import each


def idle(wires: int) -> ComparatorNetwork:
    """A network that sorts nothing but what is sorted."""
    return ComparatorNetwork("idle", wires, lambda: ())


def with_idle(network: Network, destination: Ints, coins: Coins, memory: Memory) -> Slots:
    return certified(idle(network.n), network, destination, memory)


def execute(route: Route, network: Network, destination: Ints) -> Outcome:
    router = Router("any", "", "", buffers=3, variants={"standard": Variant(route)})
    return slots.execute(Instance(network, router, "standard", destination, Coins(0), 10))


@each(("d", "g"), [(1, 8), (1, 40), (4, 16), (8, 8), (16, 4), (13, 4), (3, 13), (40, 1), (9, 7)])
def test_it_takes_one_step_if_the_network_sorts(d: int, g: int) -> None:
    network = Network(d, g)
    destination = permutation(network.n, 4)
    outcome = execute(get_router("aks").variants["standard"].route, network, destination)
    assert (outcome.delivered, outcome.steps, outcome.collisions) == (network.n, 1, 0)
    assert outcome.slots == aks_slots(network)


@pytest.mark.parametrize(("d", "g"), [(1, 8), (4, 6), (8, 8), (12, 4), (7, 3)])
def test_it_takes_a_second_step_if_not(d: int, g: int) -> None:
    network = Network(d, g)
    outcome = execute(with_idle, network, permutation(network.n, 5))
    assert (outcome.delivered, outcome.lost, outcome.steps) == (network.n, 0, 2)
    if 1 < d <= g:
        assert outcome.slots == batcher_slots(network) + -(-g // d) + 1


def test_a_network_that_misses_one_comparator_is_found_out() -> None:
    network, whole = Network(4, 4), list(merge_exchange(16))
    short = ComparatorNetwork("short", 16, lambda: iter(whole[:-1]))
    steps = set()
    for seed in range(20):
        route = partial(by_network, short)
        outcome = execute(route, network, permutation(16, seed))
        assert outcome.delivered == 16
        steps.add(outcome.steps)
    assert 2 in steps


def by_network(
    comparators: ComparatorNetwork,
    network: Network,
    destination: Ints,
    coins: Coins,
    memory: Memory,
) -> Slots:
    return certified(comparators, network, destination, memory)


def test_the_repair_is_local() -> None:
    """Who repairs has heard the global OR."""
    check_locality(with_idle, Network(3, 3), buffers=3)


@each(("d", "g"), [(1, 8), (8, 8), (12, 4), (7, 3), (16, 4), (9, 1)])
def test_the_slots_of_a_repair_are_known(d: int, g: int) -> None:
    network = Network(d, g)
    repair = aks_slots(network, repaired=True) - aks_slots(network)
    outcome = execute(with_idle, network, permutation(network.n, 5))
    assert outcome.slots == global_or_slots(network) + repair
    if d <= g:
        assert repair == batcher_slots(network)
    else:
        assert repair <= 2 * -(-d // g) * merge_exchange(network.n).depth


def test_stages_in_which_few_take_part_are_shorter() -> None:
    network = Network(40, 1)
    assert aks_slots(network) < 2 * 40 * bag_tree(40, 0).depth
