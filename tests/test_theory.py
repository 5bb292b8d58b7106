from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, pairwise
from math import exp, isqrt, prod

import numpy as np
import pytest

from popsnet import InputError, Network, Point, routed, summarize
from popsnet.routing.mei_rizzi import participation
from popsnet.routing.relay import fractions, parse_schedule
from popsnet.theory import deterministic_slots, expected_steps, loads
from popsnet.theory.fluid import _participation
from popsnet.theory.stages import after_park, after_windows

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


@pytest.mark.parametrize(
    ("d", "schedule"),
    [
        (256, "S"),
        (256, "P2 P1"),
        (256, "P(3,2) P1"),
        (256, "P1 R2 R1"),
        (512, "P4 P3 P2"),
        (512, "P(4,3) P1"),
        (512, "S"),
        (512, "F"),
        (768, "P(6,4) F"),
        (1024, "P(8,5) P3 F"),
        (1024, "P2 P(5,5) F"),
        (300, "P3 P2 P1"),
        (300, "R2"),
        (64, "XY(2,2)"),
        (100, "XY(3,1)"),
    ],
)
def test_relay_follows_the_fluid_limit(d: int, schedule: str) -> None:
    """Stage by stage, for as long as at least a twentieth of all packets is left."""
    point = Point.of(d, 256, router="relay", variant=schedule, max_steps=4)
    limit = list(islice(fractions(parse_schedule(schedule), point.network), 4))
    runs = [run.outcome.survivors for run in routed(point, 2)]
    measured = [sum(left) / len(left) / point.network.n for left in zip(*runs, strict=True)]
    assert limit[0] > 0.1
    for left, fraction in zip(measured, limit, strict=False):
        if fraction > 0.05:
            assert left == pytest.approx(fraction, rel=0.06)


@pytest.mark.parametrize(("d", "g"), [(4096, 4096), (2**14, 2**12), (10**4, 2**12)])
def test_one_window_is_a_special_case_of_several(d: int, g: int) -> None:
    network, rho = Network(d, g), np.array([1.0, 0.4, 0.1])
    for window in (1, 3, 8):
        several = [after_windows(network, one, (window,)) for one in rho.tolist()]
        assert several == pytest.approx(after_park(network, rho, window).tolist(), rel=0.01)


def test_after_a_shower_all_that_were_pending_try_again() -> None:
    network = Network(256, 256)
    first, shower, again, sweep = islice(fractions(parse_schedule("S R1 R1 S"), network), 4)
    assert again / shower == pytest.approx(shower / first)
    assert sweep / again == pytest.approx(1 - exp(-first))


def shares(packets: int, most: int) -> Iterator[tuple[int, ...]]:
    """Every way to share packets out among destination groups, the most to the first."""
    if packets == 0:
        yield ()
    for first in range(min(packets, most), 0, -1):
        for rest in shares(packets - first, first):
            yield (first, *rest)


@pytest.mark.parametrize("g", [1, 2, 3, 5, 8, 12])
def test_the_lemma_of_the_sweep(g: int) -> None:
    """docs/explanation/relay.md: spread traffic is the worst case."""
    for m in range(1, g + 1):
        spread = m * (1 - 1 / g) ** (m - 1)
        assert spread >= m * exp(-m / g)
        for counts in shares(m, m):
            through = sum(
                count * prod(1 - other / g for j, other in enumerate(counts) if j != i)
                for i, count in enumerate(counts)
            )
            assert through >= spread * (1 - 1e-12)
            assert through > spread * (1 + 1e-9) or max(counts) == 1 or m == 1


@pytest.mark.parametrize("name", ["random", "transpose", "shift:d", "group-permutation", "tornado"])
def test_the_lemma_holds_of_the_bijections_in_use(name: str) -> None:
    g, runs = 16, 200
    point = Point.of(g, g, router="relay", variant="S", permutation=name, max_steps=1)
    home = [g * g - run.outcome.survivors[0] for run in routed(point, runs)]
    error = np.std(home) / runs**0.5
    assert np.mean(home) >= g * g * (1 - 1 / g) ** (g - 1) - 4 * error
