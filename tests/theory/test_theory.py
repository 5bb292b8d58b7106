from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, pairwise
from math import exp, isqrt, log, prod

import numpy as np
import pytest

from popsnet import Experiment, InputError, Network, route, summarize
from popsnet.base.errors import PermutationError
from popsnet.programs.router import all_bounds
from popsnet.programs.routers.mei_rizzi import participation
from popsnet.programs.routers.relay import fractions, parse_schedule
from popsnet.programs.routers.relay.census import census_slots
from popsnet.studies.adversaries import FAMILIES, PATH_SYSTEMS, attack_paths, attack_two_hop
from popsnet.theory import (
    TAILS,
    Bound,
    C,
    ConflictGraph,
    Phase,
    bounds_on,
    c_with_slot_five,
    deterministic_slots,
    expected_steps,
    expected_sweeps,
    loads,
    lost_share,
    phase_of,
    smallest_g,
    tails,
)
from popsnet.theory.bounds import guaranteed_congestion, guaranteed_rounds
from popsnet.theory.conflict_graph import lucky_share, planned_degree
from popsnet.theory.exact import mei_rizzi_chain, relay_chain, solve
from popsnet.theory.fluid import _participation
from popsnet.theory.stages import after_park, after_windows
from tests.each import each

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
    outcome = route(1024, 1024, engine="fused")[0].outcome
    for left, load in zip(outcome.survivors[:5], loads(1), strict=False):
        assert left / 2**20 == pytest.approx(load, rel=0.05)


@pytest.mark.parametrize(
    ("k", "n", "tolerance"), [(1, 2**12, 0.3), (1, 2**16, 0.3), (4, 2**16, 0.5)]
)
def test_the_mean_is_within_a_part_of_a_step(k: int, n: int, tolerance: float) -> None:
    g = isqrt(n // k)
    runs = route(k * g, g, variant="idealized", engine="fused", runs=200)
    mean = summarize(runs.steps.tolist()).mean
    assert abs(expected_steps(runs.experiment.network) - mean) < tolerance


def test_the_estimate_is_near_the_exact_mean_of_the_smallest_square() -> None:
    assert expected_steps(Network(2, 2)) == pytest.approx(136 / 45, abs=0.1)


@each(
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
    experiment = Experiment(d, 256, router="relay", variant=schedule, max_steps=4)
    limit = list(islice(fractions(parse_schedule(schedule), experiment.network), 4))
    runs = [run.outcome.survivors for run in route(experiment, runs=2, engine="fused")]
    measured = [sum(left) / len(left) / experiment.network.n for left in zip(*runs, strict=True)]
    assert limit[0] > 0.1
    for left, fraction in zip(measured, limit, strict=False):
        if fraction > 0.05:
            assert left == pytest.approx(fraction, rel=0.06)


@pytest.mark.parametrize(("d", "g"), [(4096, 4096), (2**14, 2**12), (10**4, 2**12)])
def test_one_window_is_a_special_case_of_several(d: int, g: int) -> None:
    network, rho = Network(d, g), np.array([1.0, 0.4, 0.1])
    for window in (1, 3, 8):
        several = [after_windows(network, fraction, (window,)) for fraction in rho.tolist()]
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


@each("g", [1, 2, 3, 5, 8, 12])
def test_the_lemma_of_the_sweep(g: int) -> None:
    """docs/explanation/relay.md: spread traffic is the worst case.

    The same holds in slot 2 of mei-rizzi, of packets for one temporary group that come from so many
    groups: the claim whose proof the paper leaves out.
    """
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
    experiment = Experiment(g, g, router="relay", variant="S", permutation=name, max_steps=1)
    done = route(experiment, runs=runs, engine="slots")
    home = [g * g - run.outcome.survivors[0] for run in done]
    error = np.std(home) / runs**0.5
    assert np.mean(home) >= g * g * (1 - 1 / g) ** (g - 1) - 4 * error


def test_the_estimate_of_sweeps_is_near_the_exact_means() -> None:
    """It has no correction for small networks, where it is half a stage too long."""
    for g, tolerance in ((2, 0.9), (3, 0.5)):
        exact = float(solve(relay_chain(Network(g, g))).mean)
        assert 0 < expected_sweeps(Network(g, g)) - exact < tolerance


def test_c_with_slot_five() -> None:
    assert pytest.approx(3.927014, abs=1e-6) == C
    assert c_with_slot_five(1) == C
    limit = C * exp(1 / C)  # for d much larger than g
    assert limit == pytest.approx(5.06587, abs=1e-5)
    assert c_with_slot_five(1e6) == pytest.approx(limit, rel=1e-5)


@pytest.mark.parametrize("k", [2, 4, 16])
def test_c_with_slot_five_is_what_the_fluid_limit_takes(k: int) -> None:
    """Steps at one packet a coupler in which slot 5 counts, from load k down to 1."""
    load, steps = float(k), 0
    while load > 1:
        arrived = exp(-1 - exp(-1))
        load -= arrived * (1 - arrived / k) ** (k - 1)
        steps += 1
    assert steps == pytest.approx(c_with_slot_five(k) * (k - 1), abs=1)


@pytest.mark.parametrize("k", [1, 1.5, 2, 2.25, 4])
def test_published_loses_the_share_of_the_fluid_limit(k: float) -> None:
    runs = route(int(64 * k), 64, variant="published", runs=3, engine="slots")
    lost = runs.lost.sum() / (3 * runs.experiment.network.n)
    assert lost == pytest.approx(lost_share(k), abs=0.01)


SPEAKING = {
    "phase 1, degree g to g/4": 593_032,
    "phase 2, to g^(5/6)": 160_458_213,
    "phase 3, sparse": 2**18 + 1,
    "all packets delivered, d = g": 160_483_302,
}


def test_tail_bounds_say_something_from_these_g_on() -> None:
    found = {tail.name: smallest_g(tail.fails) for tail in TAILS}
    assert {name: found[name] for name in SPEAKING} == SPEAKING
    assert found["one step of d > g"] == pytest.approx(6.8e20, rel=0.001)
    for tail in TAILS:
        g = found[tail.name]
        assert tail.fails(g) < 1 <= tail.fails(g - g // 10**9 - 1)


def test_a_level_that_nothing_reaches_is_refused() -> None:
    with pytest.raises(InputError, match="no g"):
        smallest_g(tails.sparse_fails, 1e-60)


def test_the_phases_have_the_papers_numbers_of_steps() -> None:
    assert tails.phase_one_steps(1 / 3) == 16
    assert tails.phase_one_steps() == 20
    assert tails.sparse_steps() == 18
    for g in (10**3, 10**6, 10**12):
        t = tails.phase_two_steps(g)
        goal = -log(g, 3) / 6
        assert 2**t * (1 + log(0.25, 3)) <= goal < 2 ** (t - 1) * (1 + log(0.25, 3))
        assert tails.square_steps(g) == 20 + t + 18


def test_the_law_with_four_is_covered_from_ten_million_groups_on() -> None:
    """The least c + ε(g) of the theorem for d > g is c/(1 - g^(-1/3))⁴."""
    above, below = (C / (1 - g ** (-1 / 3)) ** 4 for g in (10_319_732, 10_319_731))
    assert above <= 4 < below


def test_the_unrounded_lemma_holds_exactly() -> None:
    """Against the exact law from the state in which each of three groups has two packets.

    The lemma for sparse conflict graphs is packets·(2(degree - 1)/g)^steps before it is rounded: a
    packet fails in a step only if another packet at one of its ends has its colour.
    """
    state = ((0, 1, 1), (1, 0, 1), (1, 1, 0))
    chain = mei_rizzi_chain(Network(3, 3), list(range(9)))
    chain.start = {state: next(iter(chain.start.values()))}
    for steps, within in enumerate(solve(chain).within[:8]):
        assert 1 - within <= min(1.0, 6 * (2 * (2 - 1) / 3) ** steps)


def test_bounds_have_numbers_where_they_hold() -> None:
    found = {bound.name: slots for bound, slots in bounds_on(Network(64, 64), all_bounds())}
    assert found["direct"] == 64
    assert found["off-line"] == 2
    assert found["roll call"] == 128
    assert found["merge exchange"] == 2 * 78
    assert found["Datta, Soundaralakshmi"] == deterministic_slots(Network(64, 64))
    assert found["datta"] == 164
    assert found["oblivious"] == guaranteed_congestion(Network(64, 64)) == 6
    assert found["rigid"] == 12
    assert found["two-hop"] == 2 * guaranteed_rounds(Network(64, 64)) == 6
    assert found["conflict-free"] == 2
    assert found["AKS"] is None
    wide = {bound.name: slots for bound, slots in bounds_on(Network(256, 64), all_bounds())}
    assert wide["mei-rizzi, d > g"] == 60
    assert wide["mei-rizzi, deferred"] == 63
    assert wide["relay, fresh coins"] == 27
    assert wide["oblivious"] == guaranteed_congestion(Network(256, 64)) == 7
    assert wide["conflict-free"] == 3
    flat = {bound.name: slots for bound, slots in bounds_on(Network(1, 16), all_bounds())}
    assert (flat["off-line"], flat["merge exchange"]) == (1, 10)


@pytest.mark.parametrize(("d", "g"), [(8, 8), (16, 8), (5, 7)])
def test_adversaries_reach_what_theory_says(d: int, g: int) -> None:
    """Theory and adversaries have one formula, and the second keep it."""
    network = Network(d, g)
    found = {bound.name: slots for bound, slots in bounds_on(network)}
    oblivious = attack_paths(PATH_SYSTEMS["grid"], network, 1)
    assert found["oblivious"] == oblivious.guaranteed <= oblivious.matching.outcome.slots
    two_hop = attack_two_hop(FAMILIES["hashed"], network)
    assert found["two-hop"] == two_hop.guaranteed <= two_hop.slots


def test_a_census_takes_its_slots_in_four_runs_of_five() -> None:
    """With N as it is, all 50 runs do."""
    runs = route(128, 16, router="relay", variant="census", runs=50, engine="slots")
    assert (runs.slots == census_slots(runs.experiment.network)).sum() >= 40
    with pytest.raises(InputError, match="multiple of g"):
        census_slots(Network(6, 4))


@pytest.mark.parametrize(("d", "g"), [(1, 2), (2, 1), (3, 2), (2, 7), (2, 2)])
def test_no_lower_bound_is_above_an_upper_one_that_always_holds(d: int, g: int) -> None:
    """Not even on tiny networks; the router that knows all is no router of their kinds."""
    bounds = [
        (bound, slots)
        for bound, slots in bounds_on(Network(d, g), all_bounds())
        if slots is not None
    ]
    always = [s for bound, s in bounds if bound.holds == "always" and bound.name != "off-line"]
    lower = [s for bound, s in bounds if bound.kind == "lower" and bound.name != "rigid"]
    assert max(lower, default=0) <= min(always)


def test_a_bound_is_upper_or_lower() -> None:
    assert all(bound.reference and bound.conditions for bound in all_bounds())
    with pytest.raises(ValueError, match=r"must be .upper. or .lower."):
        Bound("mine", "middle", "1", "always", "any", "me")


def test_a_conflict_graph_knows_its_degrees() -> None:
    graph = ConflictGraph.of(Network(2, 2), np.array([2, 0, 1, 3]))
    assert graph.sources.tolist() == [0, 0, 1, 1]
    assert graph.temporaries.tolist() == [0, 0, 1, 1]
    assert graph.degrees.tolist() == [2, 2, 2, 2]
    assert graph.max_degree == 2
    first, both = graph.survivors(np.array([0, 1, 1, 1]))
    assert first.tolist() == [True, True, False, False]
    assert both.tolist() == [True, True, False, False]
    assert graph.without(both).packets.tolist() == [2, 3]
    part = ConflictGraph.of(Network(2, 2), np.array([2, 0, 1, 3]), np.array([1]))
    assert part.degrees.tolist() == [1, 0, 1, 0]


def test_a_conflict_graph_refuses_what_does_not_fit() -> None:
    with pytest.raises(InputError, match="3 destinations"):
        ConflictGraph.of(Network(2, 2), np.array([0, 1, 2]))
    with pytest.raises(PermutationError, match="not a permutation of 0 to 3"):
        ConflictGraph.of(Network(2, 2), np.array([0, 1, 2, 2]))
    with pytest.raises(PermutationError, match="not a permutation of 0 to 3"):
        ConflictGraph.of(Network(2, 2), np.array([1, 2, 3, 4]))
    with pytest.raises(ValueError, match="the same length"):
        ConflictGraph(Network(2, 2), np.array([0]), np.array([0]), np.array([0, 1]))


def test_phases_by_degree() -> None:
    assert phase_of(4096, 5000) is Phase.THINNING
    assert phase_of(4096, 1366) is Phase.CONSTANT
    assert phase_of(4096, 1365) is Phase.SQUARING
    assert phase_of(4096, 1024) is Phase.SPARSE  # 4096^(5/6)
    assert not any(phase_of(729, degree) is Phase.SQUARING for degree in range(1, 730))
    square = Network(4096, 4096)
    assert lucky_share(square, 4096, 0) == pytest.approx(exp(-2) / 2)
    assert lucky_share(square, 1200, 4) == pytest.approx((1 - 1200 / 4096) * exp(-2 * 1200 / 4096))
    assert lucky_share(square, 10, 7) is None
    wide = Network(4 * 64, 64)
    assert [planned_degree(wide, step) for step in (0, 4, 99)] == [256, 192, 64]
    assert lucky_share(wide, 256, 0) == 1 / 16
