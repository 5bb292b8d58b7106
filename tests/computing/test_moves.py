"""Moves of a hypercube, data sum and prefix sums, on shapes of every kind."""

from __future__ import annotations

import json

import numpy as np
import pytest

from popsnet import InputError, Network
from popsnet.computing.computation import execute_steps
from popsnet.computing.moves import add_all, add_prefixes, dimensions, move, move_slots
from tests.conftest import Cli

SHAPES = [(1, 16), (2, 8), (4, 4), (8, 2), (16, 1), (1, 1), (32, 4)]


@pytest.mark.parametrize(("d", "g"), SHAPES)
def test_sums(d: int, g: int) -> None:
    network = Network(d, g)
    values = np.random.default_rng(d).integers(-100, 100, network.n)
    most = dimensions(network) * move_slots(network)
    summed = execute_steps(network, add_all(network, values))
    assert (summed.values == values.sum()).all()
    prefixes = execute_steps(network, add_prefixes(network, values))
    assert (prefixes.values == np.cumsum(values)).all()
    assert summed.slots == prefixes.slots == most
    assert summed.collisions == 0


@pytest.mark.parametrize(("d", "g"), [shape for shape in SHAPES if shape != (1, 1)])
def test_a_move_takes_as_many_slots_as_in_the_literature(d: int, g: int) -> None:
    network = Network(d, g)
    values = np.arange(network.n)
    for dimension in range(dimensions(network)):
        moved = execute_steps(network, move(network, values, dimension))
        assert (moved.values == values ^ 1 << dimension).all()
        assert moved.slots == (1 if d == 1 else 2 * -(-d // g))


def test_what_is_no_hypercube_is_refused() -> None:
    with pytest.raises(InputError, match="no power of two"):
        execute_steps(Network(3, 4), add_all(Network(3, 4), np.arange(12)))
    with pytest.raises(InputError, match="dimensions 0 to 3"):
        execute_steps(Network(4, 4), move(Network(4, 4), np.arange(16), 4))
    with pytest.raises(InputError, match="one processor and no dimension to move along"):
        execute_steps(Network(1, 1), move(Network(1, 1), np.arange(1), 0))


@pytest.mark.parametrize("what", ["move", "sum", "prefix-sums"])
def test_the_command(cli: Cli, what: str) -> None:
    result = json.loads(cli("compute", what, 8, 4, "--dimension", 3, "--json").out)
    assert (result["right"], result["slots"]) == (True, 4 if what == "move" else 20)
    assert "OK: right" in cli("compute", what, 2, 2).out


@pytest.mark.parametrize(
    "wrong", [("nothing", 2, 2), ("sum", 3, 3), ("move", 2, 2, "--dimension", 2), ("sum", 0, 1)]
)
def test_what_cannot_be_computed_is_refused(cli: Cli, wrong: tuple[object, ...]) -> None:
    assert cli("compute", *wrong).code == 2


def test_one_processor_can_add_and_has_nowhere_to_move(cli: Cli) -> None:
    assert cli("compute", "sum", 1, 1).code == cli("compute", "prefix-sums", 1, 1).code == 0
    finished = cli("compute", "move", 1, 1)
    assert (finished.code, finished.out) == (2, "")
    assert "POPS(1, 1) has one processor and no dimension" in finished.err
    assert "-1" not in finished.err
