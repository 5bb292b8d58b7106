"""Moves of a hypercube, data sum and prefix sums, on shapes of every kind."""

from __future__ import annotations

import numpy as np
import pytest

from popsnet import InputError, Network
from popsnet.programs.schedules.slots_needed import permutation_slots
from popsnet.studies import computing
from popsnet.studies.comparisons import comparison
from popsnet.studies.computing.computation import (
    ComputationResult,
    SortResult,
    Steps,
    StepsResult,
    add_all,
    add_prefixes,
    dimensions,
    execute_steps,
    move,
)
from tests.each import each


def executed(network: Network, steps: Steps) -> StepsResult:
    return StepsResult(*execute_steps(network, steps, lambda slots: None))


SHAPES = [(1, 16), (2, 8), (4, 4), (8, 2), (16, 1), (1, 1), (32, 4)]


@each(("d", "g"), SHAPES)
def test_sums(d: int, g: int) -> None:
    network = Network(d, g)
    values = np.random.default_rng(d).integers(-100, 100, network.n)
    most = dimensions(network) * permutation_slots(network)
    summed = executed(network, add_all(network, values))
    assert (summed.values == values.sum()).all()
    prefixes = executed(network, add_prefixes(network, values))
    assert (prefixes.values == np.cumsum(values)).all()
    assert summed.slots == prefixes.slots == most
    assert summed.collisions == 0


@each(("d", "g"), [shape for shape in SHAPES if shape != (1, 1)])
def test_a_move_takes_as_many_slots_as_in_the_literature(d: int, g: int) -> None:
    network = Network(d, g)
    values = np.arange(network.n)
    for dimension in range(dimensions(network)):
        moved = executed(network, move(network, values, dimension))
        assert (moved.values == values ^ 1 << dimension).all()
        assert moved.slots == (1 if d == 1 else 2 * -(-d // g))


def test_what_is_no_hypercube_is_refused() -> None:
    with pytest.raises(InputError, match="must be a power of two"):
        executed(Network(3, 4), add_all(Network(3, 4), np.arange(12)))
    with pytest.raises(InputError, match="dimensions 0 to 3"):
        executed(Network(4, 4), move(Network(4, 4), np.arange(16), 4))
    with pytest.raises(InputError, match="one processor and no dimension to move along"):
        executed(Network(1, 1), move(Network(1, 1), np.arange(1), 0))


def test_former_names_are_names_of_the_same_classes() -> None:
    """Annotations and ``isinstance`` in programs of users keep working."""
    assert (computing.Computed, computing.Sorted) == (ComputationResult, SortResult)
    assert comparison.Compared is comparison.RouterRuns
