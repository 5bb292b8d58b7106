"""Functions on all permutations of a few elements: their degrees, and the swaps that change them.

A function has degree at most D if it is a polynomial of degree at most D in the indicators
[π(i) = x]. The vector space of all functions is a sum of parts, one for each partition λ of n, and
the functions of degree at most D are the sum of those with λ₁ ≥ n - D (Ellis, Friedgut and Pilpel,
J. AMS 2011). So f has this degree if and only if its parts with λ₁ < n - D are 0.

Let χ(ρ) be the sign of ρ times the number of ways to colour the n elements with n - D - 1 colours,
in numbers as equal as possible, so that ρ maps every element to one of its colour. By Young's rule
χ is a sum of irreducible characters with positive coefficients, of exactly those with λ₁ < n - D.
So f has degree at most D if and only if Σ_τ χ(σ⁻¹τ) f(τ) = 0 for every σ. For a 0/1 function these
are sums of at most n! integers that are at most n!, so 64-bit floats compute them exactly.
"""

from __future__ import annotations

from functools import cached_property
from itertools import chain, combinations, permutations

import numpy as np
import numpy.typing as npt

from popsnet.model.network import Bools
from popsnet.model.slot import Ints


class AllPermutations:
    """The n! permutations of n elements, in lexicographic order.

    Functions on them are arrays with a value for each.
    """

    def __init__(self, n: int) -> None:
        self.n = n
        self.array = np.array(list(permutations(range(n))), dtype=np.int64)
        self.pairs = list(combinations(range(n), 2))
        exchanged = [[{i: j, j: i}.get(k, k) for k in range(n)] for i, j in self.pairs]
        self.swapped = self._number(self.array[:, exchanged]).T
        """For each pair of elements, the number of every permutation with their images swapped."""
        choices = (swaps for k in range(n // 2, -1, -1) for swaps in combinations(self.pairs, k))
        disjoint = (swaps for swaps in choices if len({*chain(*swaps)}) == 2 * len(swaps))
        self._matchings = [[self.pairs.index(pair) for pair in swaps] for swaps in disjoint]
        """The sets of disjoint pairs, the largest first."""

    def _number(self, array: Ints) -> Ints:
        weights = self.n ** np.arange(self.n)[::-1]
        return np.searchsorted(self.array @ weights, array @ weights)

    @cached_property
    def _higher(self) -> list[npt.NDArray[np.float64]]:
        """The matrices of the χ(σ⁻¹τ) by D, which map functions of this degree to 0."""
        array, (i, j) = self.array, np.array(self.pairs).T
        odd = (array[:, i] > array[:, j]).sum(axis=1) % 2 == 1
        quotients, matrices = self._number(np.argsort(array, axis=1)[:, array]), []
        for parts in range(self.n - 1, 0, -1):
            colours = np.unique(array % parts, axis=0)
            fixed = (colours[:, array] == colours[:, None]).all(axis=2).sum(axis=0)
            matrices.append(np.where(odd, -fixed, fixed)[quotients].astype(np.float64))
        return matrices

    def degrees(self, functions: Bools) -> Ints:
        """Return the exact degree of each row, a function with values 0 and 1."""
        degrees, left = np.zeros(len(functions), dtype=np.int64), np.arange(len(functions))
        for degree in reversed(range(self.n - 1)):
            higher = (functions[left].astype(np.float64) @ self._higher[degree]).any(axis=1)
            degrees[left[higher]] = degree + 1
            left = left[~higher]
        return degrees

    def largest_matching(self, values: Ints) -> int:
        """Return the most disjoint swaps of which each changes the value at some permutation."""
        changed = values[self.swapped] != values
        return next(len(swaps) for swaps in self._matchings if changed[swaps].all(axis=0).any())

    def unchanged(self, values: Ints, held: Bools) -> int:
        """Return how many swaps of an element that is held do not change the value.

        Row i of ``held`` says on which permutations element i is held.
        """
        same, counts = values[self.swapped] == values, held.astype(np.int64)
        return sum(
            int(equal @ (counts[i] + counts[j]))
            for equal, (i, j) in zip(same, self.pairs, strict=True)
        )
