"""Bounds: closed forms, and the definition of each by brute force."""

from fractions import Fraction

import numpy as np
import pytest

from popsnet import InputError, Network
from popsnet.workloads.largest_loads import Bounds, Rates, require_admissible
from popsnet.workloads.matrices import resolve_matrix
from popsnet.workloads.patterns import resolve_pattern
from tests.each import each
from tests.workloads.matrices_of import groups_of, matrix_of

SHAPES = [(8, 8), (16, 4), (4, 16), (7, 3), (5, 2), (1, 6), (6, 1), (2, 2)]


@each(("d", "g"), SHAPES)
def test_uniform_with_self_is_bounded_by_the_groups_alone(d: int, g: int) -> None:
    bounds = resolve_pattern("uniform-with-self", Network(d, g)).bounds()
    assert bounds.any.load == pytest.approx(min(1, g / d))
    assert bounds.one_hop.load == pytest.approx(min(1, g / d))


@each(("d", "g"), SHAPES)
def test_uniform_over_others(d: int, g: int) -> None:
    """For d ≥ g two groups exchange a little more than one packet per slot at load g/d."""
    n, bounds = d * g, resolve_pattern("uniform", Network(d, g)).bounds()
    pairs, rate = g * (g - 1), Fraction(d * d, n - 1)
    exact = Fraction(min(d, g), d)
    if d >= g > 1:
        exact = min(exact, (g * min(d, g) + pairs) / (n + pairs * rate))
        assert bounds.any.name == "hops"
    inside = Fraction(d * (d - 1), n - 1)
    if g == 1:
        exact = min(exact, (1 + 1) / (n + inside))
    assert bounds.any.load == pytest.approx(float(exact))
    largest = rate if g > 1 else inside
    assert bounds.one_hop.load == pytest.approx(min(float(exact), float(1 / largest)))


@each(("d", "g"), [shape for shape in SHAPES if shape[1] > 1])
def test_group_shift(d: int, g: int) -> None:
    bounds, most = resolve_pattern("group-shift", Network(d, g)).bounds(), min(d, g)
    assert bounds.any.load == min(most / d, (most + 1) / (2 * d))
    assert bounds.one_hop.load == 1 / d


def test_a_permutation_in_one_hop_is_bounded_by_its_most_crowded_pair() -> None:
    assert resolve_pattern("shift:d", Network(4, 4)).bounds().one_hop.load == 1 / 4
    assert resolve_pattern("transpose", Network(4, 4)).bounds().one_hop.load == 1


def test_incast_is_bounded_by_its_destination() -> None:
    bound = resolve_pattern("incast:5", Network(4, 4)).bounds().any
    assert (bound.name, bound.load) == ("columns", 1 / 16)


@each("text", ["gravity", "hotspot:2:0.5", "random", "uniform", "group-shift"])
@each(("d", "g"), [(4, 3), (3, 4), (9, 2), (4, 4)])
def test_hops_is_the_largest_load_that_its_inequality_allows(text: str, d: int, g: int) -> None:
    network = Network(d, g)
    groups = groups_of(matrix_of(text, network, 2), network)
    capacity = g * min(d, g)

    def hops(load: float) -> float:
        return float((load * groups + np.maximum(0, load * groups - 1)).sum())

    bound = resolve_pattern(text, network, 2).bounds().hops
    assert hops(bound) == pytest.approx(capacity)


def test_a_matrix_has_the_bounds_of_the_pattern_that_it_spells_out() -> None:
    network = Network(5, 3)
    for text in ("uniform", "group-shift", "gravity", "hotspot:4:0.3", "random"):
        spelt = resolve_matrix(matrix_of(text, network, 0), network).bounds()
        named = resolve_pattern(text, network).bounds()
        for row, other in zip(spelt.report_rows(), named.report_rows(), strict=True):
            assert row.load == pytest.approx(other.load)


def test_report_rows_name_every_bound_with_its_rule() -> None:
    rows = resolve_pattern("group-shift", Network(8, 4)).bounds().report_rows()
    assert [row.name for row in rows] == [
        "rows", "columns", "groups out", "groups in", "hops", "pairs",
    ]  # fmt: skip
    assert [row.load for row in rows] == [1, 1, 0.5, 0.5, 5 / 16, 1 / 8]
    assert rows[2].meaning == "a group sends at most 4 per slot"
    assert "at most 16 messages fit in a slot" in rows[4].meaning


def test_rates_leave_out_pairs_that_cannot_be_crowded() -> None:
    rates = Rates.of(
        source=1, destination=1, group_out=4, group_in=4, pairs=[0.5, 3, 1, 2, 9],
        counts=[7, 1, 2, 4, 0],
    )  # fmt: skip
    assert (rates.pair, rates.pairs.tolist(), rates.counts.tolist()) == (3, [3, 2], [1, 4])


def test_a_load_above_the_bound_is_refused() -> None:
    bounds = resolve_pattern("group-shift", Network(8, 8)).bounds()
    require_admissible(bounds, 0.5625)
    with pytest.raises(InputError) as caught:
        require_admissible(bounds, 0.6)
    assert str(caught.value) == (
        "load = 0.6: on POPS(8, 8) no scheduler can carry more than 0.5625 packets per processor "
        "and slot of this pattern (hops: at most 64 messages fit in a slot, 1 per pair of groups; "
        "what a pair has above that takes two hops). Choose a smaller load; overload = True "
        "allows it."
    )


def test_rounding_does_not_refuse_the_bound_itself() -> None:
    bounds = Bounds.of(Network(3, 3), resolve_pattern("uniform", Network(3, 3)).rates())
    require_admissible(bounds, bounds.any.load * (1 + 1e-12))
