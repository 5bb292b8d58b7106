"""Plans: valid on every network, near what is measured, never worse than one hop, cheap."""

from __future__ import annotations

from itertools import islice, pairwise
from types import ModuleType

import numpy as np
import pytest

from popsnet import InputError, Network
from popsnet.programs.router import get_router
from popsnet.programs.routers.relay import (
    fractions,
    grid,
    park,
    parse_schedule,
    plan,
    single_attempt,
)
from popsnet.theory import stages
from tests.conftest import permutation
from tests.each import each, sampled
from tests.programs.routers.relay.staged import route

RELAY = get_router("relay")
LARGE = [
    (4096, 4096), (2**20, 2**10), (2**10, 2**20), (2**16, 2), (2, 2**16), (2**20, 1), (1, 2**20),
    (2**30, 1), (1, 2**30), (100_003, 17), (17, 100_003), (2**31 - 1, 2**31 - 1), (240_000, 8),
]  # fmt: skip


def assert_plan_is_valid(network: Network) -> None:
    found = plan(network)
    assert found.schedule.obstacle(network) is None
    assert parse_schedule(str(found.schedule)) == found.schedule
    assert found.slots >= 1 + min(stage.slots(network) for stage in found.schedule.repeated)
    default = RELAY.choose_variant(None, network)
    by_hand = min(found.slots, max(network.d, network.g))
    if default == "direct":
        assert max(network.d, network.g) == by_hand
    else:
        assert default == str(found.schedule)
        assert found.slots == by_hand < max(network.d, network.g)


def test_plans_are_valid_on_many_small_networks() -> None:
    """A twentieth of all d, g up to 40, each d and each g among them."""
    shapes = [(d, g) for d in range(1, 41) for g in range(1, 41) if (3 * d + g) % 20 == 0]
    assert {d for d, _ in shapes} == {g for _, g in shapes} == set(range(1, 41))
    for d, g in shapes:
        assert_plan_is_valid(Network(d, g))


@pytest.mark.long
def test_plans_are_valid_on_all_small_networks() -> None:
    for d in range(1, 41):
        for g in range(1, 41):
            assert_plan_is_valid(Network(d, g))


@each(("d", "g"), LARGE)
def test_plans_are_valid_on_large_networks(d: int, g: int) -> None:
    assert_plan_is_valid(Network(d, g))


@pytest.mark.parametrize(("d", "g"), LARGE)
def test_a_plan_for_a_large_network_takes_little_work(
    d: int, g: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At most a few hundred evaluations of the fluid limit, each of them of a bounded size."""
    evaluations = 0
    largest = 0

    def counted(module: ModuleType, name: str) -> None:
        original = getattr(stages, name)

        def count(*given: object) -> object:
            nonlocal evaluations, largest
            evaluations += 1
            found = original(*given)
            largest = max(largest, found.size)
            return found

        monkeypatch.setattr(module, name, count)

    for module, name in (
        (grid, "after_grid"), (park, "after_park"), (single_attempt, "after_shower")
    ):  # fmt: skip
        counted(module, name)
    plan.__wrapped__(Network(d, g))
    assert 0 < evaluations <= 200
    assert largest <= 400


def test_a_plan_depends_on_the_network_alone() -> None:
    for d, g in [(16, 16), (64, 16), (4, 64), (37, 11)]:
        again = [plan.__wrapped__(Network(d, g)) for _ in range(2)]
        assert again[0] == again[1] == plan(Network(d, g))


PREDICTED = [
    (16, 16, 60),
    (32, 32, 40),
    (64, 64, 30),
    (32, 16, 60),
    (40, 16, 40),
    (64, 16, 30),
    (256, 16, 6),
    (16, 32, 60),
    (30, 40, 30),
    (16, 64, 30),
    (8, 32, 60),
    (37, 17, 40),
]


@each(("d", "g", "runs"), sampled(PREDICTED, 4))
def test_a_plan_predicts_how_many_slots_are_used(d: int, g: int, runs: int) -> None:
    """To a tenth, and four standard errors of the mean of the runs.

    The fluid limit has no luck in it: how many stages the last packet needs is taken from the
    expected number of packets alone. One stage of three or four slots more or less in a hundred is
    what that is worth, and on small networks chances differ by 1/d and 1/g besides.
    """
    network = Network(d, g)
    found = plan(network)
    taken = [
        route(network, permutation(network.n, seed), str(found.schedule), seed).slots
        for seed in range(runs)
    ]
    error = np.std(taken) / np.sqrt(runs)
    assert abs(np.mean(taken) - found.slots) < 0.1 * found.slots + 4 * error


@each(("d", "g"), [(1, 1), (5, 1), (1, 5), (2, 2), (6, 6), (12, 12), (200, 3)])
def test_tiny_networks_are_routed_in_one_hop(d: int, g: int) -> None:
    network = Network(d, g)
    assert RELAY.choose_variant(None, network) == "direct"
    outcome = route(network, permutation(network.n, 0), None, 0)
    assert outcome.slots == max(d, g)


@pytest.mark.parametrize(("d", "g"), [(16, 16), (64, 64), (64, 16), (256, 16), (16, 64)])
def test_the_plan_is_no_worse_than_schedules_one_would_try(d: int, g: int) -> None:
    """Within the tolerance of predictions: by what is measured, not by what is predicted."""
    network = Network(d, g)
    k, classes = -(-d // g), -(-g // d)
    if d < g:
        others = [f"XY({classes},1)", f"XY(1,{classes})"]
    else:
        others = ["S", f"P{k}", f"P{2 * k} P{k}", f"P{3 * k} F"]
    runs = 10

    def mean(text: str) -> float:
        taken = [
            route(network, permutation(network.n, seed), text, seed).slots for seed in range(runs)
        ]
        return float(np.mean(taken))

    best = mean(str(plan(network).schedule))
    for text in others:
        assert best <= 1.1 * mean(text), text


def test_a_network_that_cannot_be_is_refused_before_it_is_planned() -> None:
    with pytest.raises(InputError):
        plan(Network(0, 4))


@each("shape", [(64, 64), (8, 8), (1, 1), (9, 4)])
@each("text", ["P1", "P(2,3)", "S P2 T31 R1", "P4 T31", "P2 T31 X16 S", "Q"])
def test_fractions_fall_to_zero_and_not_below(text: str, shape: tuple[int, int]) -> None:
    """Where hardly anything is left, maps lose all their digits."""
    found = list(islice(fractions(parse_schedule(text), Network(*shape)), 40))
    assert all(0 <= later <= earlier <= 1 for earlier, later in pairwise(found))


def test_memory_is_estimated_also_where_nothing_is_left() -> None:
    schedule = parse_schedule(f"{'P(2,3) ' * 8} T2 | P2")
    assert 0 < schedule.working(Network(64, 64)) < 10**7
