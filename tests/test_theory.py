from __future__ import annotations

from itertools import islice, pairwise
from math import exp, isqrt

import pytest

from popsnet import InputError, Network, Point, routed, summarize
from popsnet.routing.mei_rizzi import participation
from popsnet.theory import deterministic_slots, expected_steps, loads
from popsnet.theory.fluid import _participation

PRINTED_SLOTS = {
    1: (37, 54, 79, 112, 153, 202, 259, 324, 397, 478, 567, 664),
    4: (118, 177, 268, 391, 546, 733, 952, 1203, 1486, 1801, 2148),
    16: (442, 669, 1024, 1507, 2118, 2857, 3724, 4719, 5842, 7093),
}
"""Column B of the paper's first table: by d/g, from g = 2 on, doubling."""


def test_the_deterministic_formula_gives_every_printed_value() -> None:
    for k, printed in PRINTED_SLOTS.items():
        networks = [Network(k * 2**lg, 2**lg) for lg in range(1, len(printed) + 1)]
        assert networks[-1].n == 2**24
        assert tuple(map(deterministic_slots, networks)) == printed


@pytest.mark.parametrize(("d", "g"), [(6, 4), (2, 4), (3, 3)])
def test_the_deterministic_formula_refuses_other_shapes(d: int, g: int) -> None:
    with pytest.raises(InputError, match="power of two"):
        deterministic_slots(Network(d, g))


@pytest.mark.parametrize("k", [1, 2, 4, 16, 2.5])
def test_the_law_is_the_routers(k: float) -> None:
    network = Network(int(64 * k), 64)
    for step in range(70):
        assert _participation(k, step) == pytest.approx(participation(network, step) / 2**32)


def test_a_full_square_delivers_one_packet_in_c() -> None:
    """The paper's constant c = exp(1 + 1/e), about 3.927."""
    assert next(loads(1)) == pytest.approx(1 - 1 / exp(1 + exp(-1)))


@pytest.mark.parametrize("k", [1, 4, 16])
def test_loads_fall_to_nothing(k: int) -> None:
    course = list(islice(loads(k), 5 * k + 10))
    assert all(after < before or after == 0 for before, after in pairwise([k, *course]))
    assert course[-1] < 1e-9


def test_a_large_run_follows_the_fluid_limit() -> None:
    outcome = Point.of(1024, 1024, engine="fused").execute(0).outcome
    for left, load in zip(outcome.survivors[:5], loads(1), strict=False):
        assert left / 2**20 == pytest.approx(load, rel=0.05)


@pytest.mark.parametrize(
    ("k", "n", "tolerance"), [(1, 2**12, 0.3), (1, 2**16, 0.3), (4, 2**16, 0.5)]
)
def test_the_mean_is_within_a_part_of_a_step(k: int, n: int, tolerance: float) -> None:
    g = isqrt(n // k)
    point = Point.of(k * g, g, variant="idealized", engine="fused")
    mean = summarize([run.outcome.steps for run in routed(point, 200)]).mean
    assert abs(expected_steps(point.network) - mean) < tolerance


def test_the_estimate_is_near_the_exact_mean_of_the_smallest_square() -> None:
    assert expected_steps(Network(2, 2)) == pytest.approx(136 / 45, abs=0.1)
