"""Degrees against the span of all monomials, and matchings and swaps that are known."""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np

from popsnet.studies.adversaries.all_permutations import AllPermutations
from tests.each import each


def spans(everything: AllPermutations) -> list[np.ndarray]:
    """By D, an orthonormal basis of what all monomials of degree D span."""
    bases, n = [], everything.n
    for degree in range(n):
        columns = [
            (everything.array[:, list(rows)] == images).all(axis=1)
            for rows in combinations(range(n), degree)
            for images in permutations(range(n), degree)
        ]
        basis, sizes, _ = np.linalg.svd(np.array(columns, dtype=float).T, full_matrices=False)
        bases.append(basis[:, sizes > 1e-9])
    return bases


@each("n", [2, 3, 4, 5])
def test_degrees_are_those_of_the_span_of_monomials(n: int) -> None:
    everything, draw = AllPermutations(n), np.random.default_rng(n)
    array, size = everything.array, len(everything.array)
    functions = [draw.random(size) < share for share in (0, 1, *draw.random(30))]
    for _ in range(100):  # unions and differences of a few monomials, which have all degrees
        function = np.zeros(size, dtype=bool)
        for _ in range(draw.integers(1, 5)):
            degree = draw.integers(0, n)
            rows, images = (draw.permutation(n)[:degree] for _ in range(2))
            function ^= (array[:, rows] == images).all(axis=1)
        functions.append(function)
    bases = spans(everything)
    expected = []
    for one in np.array(functions, dtype=float):
        rests = [np.linalg.norm(one - basis @ (basis.T @ one)) for basis in bases]
        expected.append(next(degree for degree, rest in enumerate(rests) if rest < 1e-9))
    assert everything.degrees(np.array(functions)).tolist() == expected
    assert set(expected) == set(range(n))


def test_degrees_that_are_known() -> None:
    everything = AllPermutations(6)
    array = everything.array
    first, second = array[:, 0] == 0, array[:, 1] == 1
    pairs = np.array(everything.pairs).T
    odd = (array[:, pairs[0]] > array[:, pairs[1]]).sum(axis=1) % 2 == 1
    alone = np.arange(720) == 77
    known = [first | True, first, array[:, 0] < 3, first & second, first | second, odd, alone]
    assert everything.degrees(np.array(known)).tolist() == [0, 1, 1, 2, 2, 5, 5]


def test_matchings_and_swaps_that_are_known() -> None:
    everything = AllPermutations(6)
    array = everything.array
    assert everything.largest_matching(array[:, 0] * 0) == 0
    assert everything.largest_matching(array[:, 0]) == 1
    assert everything.largest_matching(array[:, 0] * 6 + array[:, 1]) == 2
    assert everything.largest_matching(np.arange(720)) == 3
    held = np.zeros((6, 720), dtype=bool)
    held[0] = True
    assert everything.unchanged(array[:, 0], held) == 0
    held[1, 5] = True  # on permutation 5 the value does not tell where packet 1 goes
    assert everything.unchanged(array[:, 0], held) == 4
