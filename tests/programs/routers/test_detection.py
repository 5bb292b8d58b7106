"""Termination detection: the same run, its slots of a global OR a step, and everybody knows."""

from __future__ import annotations

import json

import pytest

from popsnet import Coins, InputError, Machine, Network, route
from popsnet.programs.router import get_router
from popsnet.testing import check_locality
from popsnet.workloads.permutations import make_permutation
from tests.conftest import Cli
from tests.programs.routers.relay.staged import drive


@pytest.mark.parametrize(
    ("router", "variant", "d", "g"),
    [
        ("mei-rizzi", "published", 8, 8),
        ("mei-rizzi", "deferred", 16, 4),
        ("relay", "P2 P1", 16, 16),
        ("relay", "XY(2,2)", 4, 8),
    ],
)
def test_it_adds_its_slots_to_every_step(router: str, variant: str, d: int, g: int) -> None:
    for run in range(5):
        (plain,) = route(d, g, router=router, variant=variant, first=run)
        (asked,) = route(d, g, router=router, variant=f"{variant}+or", first=run)
        assert (asked.delivered, asked.lost, asked.capped) == (d * g, 0, False)
        assert asked.slots - asked.slots_delivered >= -(-g // d) + 1
        if router == "mei-rizzi" and d == g:
            assert asked.steps == plain.steps
            assert asked.slots == plain.slots + 2 * plain.steps


def test_it_is_local() -> None:
    check_locality(get_router("mei-rizzi"), Network(3, 3), variants=["published+or"], pairs=4)
    check_locality(get_router("mei-rizzi"), Network(5, 3), variants=["deferred+or"], pairs=4)
    check_locality(get_router("relay"), Network(4, 4), variants=["P2 P1+or"], pairs=4)


def test_the_option(cli: Cli) -> None:
    result = json.loads(cli("route", 8, 8, "--detect", "--json").out)
    assert result["variant"] == "published+or"
    assert cli("route", 64, 64, "--router", "relay", "--detect").code == 0
    assert cli("route", 256, 256, "--router", "relay", "--detect").code == 0
    assert cli("route", 8, 8, "--variant", "idealized", "--detect").code == 2
    with pytest.raises(InputError, match="cannot have termination detection"):
        get_router("mei-rizzi").variant("idealized+or")


def test_every_processor_drops_its_copies_when_it_knows() -> None:
    """A shower delivers without acks, so sources still hold packets when the run is over."""
    network = Network(36, 30)
    destination = make_permutation("reversal", network, Coins(0))
    variant = get_router("relay").variant("R1 P3+or")
    for seed in range(3):
        machine = Machine(network, destination, buffers=100)
        running = variant.route(network, destination, Coins(seed), machine.memory)
        drive(machine, running)
        assert machine.memory.delivered == network.n
        assert len(machine.memory.content()[0]) == network.n, seed
