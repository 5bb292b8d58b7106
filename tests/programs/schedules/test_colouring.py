"""Edge colourings: proper, balanced, and the same for the same seed."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from popsnet import InputError
from popsnet.model.slot import Ints
from popsnet.programs.schedules.colouring.colouring import colour_edges, perfect_matching
from popsnet.programs.schedules.colouring.multigraph import make_regular
from tests.each import each


def assert_balanced(left: Ints, right: Ints, colours: Ints, count: int) -> None:
    """From the definition alone."""
    assert len(colours) == len(left)
    assert set(colours.tolist()) <= set(range(count))
    for ends in (left, right):
        met = set(zip(ends.tolist(), colours.tolist(), strict=True))
        assert len(met) == len(ends)
    sizes = np.bincount(colours, minlength=count)
    assert sizes.max() - sizes.min() <= 1


def largest_degree(left: Ints, right: Ints) -> int:
    return int(max(np.bincount(left).max(), np.bincount(right).max()))


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 7)), min_size=1, max_size=70),
    st.integers(0, 12),
    st.integers(0, 2**64 - 1),
)
def test_any_multigraph_is_coloured(edges: list[tuple[int, int]], more: int, seed: int) -> None:
    left, right = np.array(edges).T
    degree = largest_degree(left, right)
    assert_balanced(left, right, colour_edges(left, right, seed=seed), degree)
    wanted = degree + more
    assert_balanced(left, right, colour_edges(left, right, wanted, seed=seed), wanted)


@each("degree", [*range(1, 34), 63, 64, 65, 100, 127, 255])
@each("nodes", [1, 2, 7, 40])
def test_regular_graphs_of_any_degree(nodes: int, degree: int) -> None:
    left = np.repeat(np.arange(nodes), degree)
    right = np.random.default_rng(degree).permutation(left)
    assert_balanced(left, right, colour_edges(left, right), degree)
    wanted = max(degree, nodes)
    assert_balanced(left, right, colour_edges(left, right, wanted), wanted)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ([0] * 9, [0] * 9),  # all edges alike
        ([0] * 9, range(9)),  # a star
        (range(9), [4] * 9),
        ([5] * 3, [1000] * 3),  # vertices without edges
        ([0, 0, 1, 1, 2, 2] * 50, [0, 1, 1, 2, 2, 0] * 50),  # a thick circle
    ],
    ids=["parallel", "star", "star on the right", "far", "circle"],
)
def test_graphs_of_special_form(left: list[int], right: list[int]) -> None:
    ends = np.array(left), np.array(right)
    for more in (0, 1, 20):
        wanted = largest_degree(*ends) + more
        assert_balanced(*ends, colour_edges(*ends, wanted), wanted)


def test_the_same_seed_gives_the_same_colours_and_another_gives_others() -> None:
    left = np.repeat(np.arange(50), 7)
    right = np.random.default_rng(1).permutation(left)
    assert (colour_edges(left, right, seed=5) == colour_edges(left, right, seed=5)).all()
    assert (colour_edges(left, right, seed=5) != colour_edges(left, right, seed=6)).any()


def test_what_goes_in_is_not_changed() -> None:
    left, right = np.array([0, 0, 1], dtype=np.int32), np.array([0, 1, 1], dtype=np.int32)
    before = left.copy(), right.copy()
    for ends in (left, right):
        ends.flags.writeable = False  # or an error is raised
    assert_balanced(left, right, colour_edges(left, right, 5), 5)
    assert np.array_equal((left, right), before)


@pytest.mark.parametrize("degree", [3, 5, 21])
def test_a_matching_is_as_large_as_networkx_says(degree: int) -> None:
    left = np.repeat(np.arange(60, dtype=np.int32), degree)
    right = np.random.default_rng(degree).permutation(left)
    ends, _ = make_regular(left, right, degree)
    edges = np.arange(len(left), dtype=np.int32)
    matched = perfect_matching(ends, edges, degree, np.uint64(9))
    plain = nx.Graph((int(a), int(b) + 60) for a, b in zip(left, right, strict=True))
    assert 2 * len(matched) == len(nx.bipartite.hopcroft_karp_matching(plain, range(60)))
    assert sorted(ends[matched]) == list(range(60))
    assert sorted(matched // degree) == list(range(60))


def test_no_edges_have_no_colours() -> None:
    nothing = np.empty(0, dtype=np.int64)
    assert len(colour_edges(nothing, nothing)) == 0
    assert len(colour_edges(nothing, nothing, 3)) == 0


@each(
    ("left", "right", "colours", "complaint"),
    [
        ([0, 1], [0], None, "2 left ends and 1 right ends"),
        ([0, -1], [0, 1], None, r"left\[1\] is -1"),
        ([0, 1], [0, 2**31], None, r"right\[1\] is 2147483648"),
        ([0, 0], [0, 1], 1, "a vertex has 2 edges, which"),
        ([0.5], [0], None, "left has dtype"),
        ([[0]], [0], None, "left has dtype"),
    ],
)
def test_what_is_no_graph_is_refused(
    left: list[int], right: list[int], colours: int | None, complaint: str
) -> None:
    with pytest.raises(InputError, match=complaint):
        colour_edges(np.array(left), np.array(right), colours)
