"""How many slots routing takes: bounds as functions, with where they hold and who proved them.

Here are the bounds of no router that ships: lower bounds, and routers of the literature. A router
states its own bounds; :func:`popsnet.routing.all_bounds` gives all. Upper bounds are what a router
promises, lower bounds what no router of a kind can do better than on its worst permutation.
:func:`bounds_on` says which of them hold on a network. Bounds without constants have no number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from popsnet.errors import InputError
from popsnet.network import Network
from popsnet.theory.lower_bounds import guaranteed_congestion, guaranteed_rounds, guaranteed_slots

PAPER = "Mei and Rizzi, On-Line Permutation Routing in POPS Networks"


def deterministic_slots(network: Network) -> int:
    """Slots of the published deterministic router: 4k·lg² + 2k·lg + 21k + 3·lg + 7.

    Here k = d/g, a whole number, and lg = log2 g, with g a power of two. It is O((d/g)·log² g),
    for every permutation: the router of Datta and Soundaralakshmi (IEEE Transactions on Parallel
    and Distributed Systems, 2003), counted as Mei and Rizzi correct it in their section 4, with
    log n (1 + log n) / 2 stages of odd-even merge sort where log² n had been claimed.
    """
    if not _published(network):
        raise InputError(
            f"{network}: the count is known for g a power of two and d a multiple of g."
        )
    k, lg = network.blocks, network.g.bit_length() - 1
    return 4 * k * lg**2 + 2 * k * lg + 21 * k + 3 * lg + 7


def _always(network: Network) -> bool:
    return True


def _comparable(network: Network) -> bool:
    """Whether d = Θ(g), read as within a factor of two."""
    return network.g <= 2 * network.d and network.d <= 2 * network.g


def _published(network: Network) -> bool:
    d, g = network.d, network.g
    return d % g == 0 and g & (g - 1) == 0


@dataclass(frozen=True)
class Bound:
    """A statement about slots."""

    name: str
    kind: str
    """Upper or lower."""
    formula: str
    holds: str
    """Always, with high probability, on the worst permutation, …"""
    conditions: str
    reference: str
    applies: Callable[[Network], bool] = _always
    slots: Callable[[Network], float] | None = None
    """None for a bound that has no constants."""
    leading: bool = False
    """Whether the number is the leading term alone, to which O(…) is to be added."""

    def __post_init__(self) -> None:
        if self.kind not in ("upper", "lower"):
            raise ValueError(f"{self.name}: a bound is upper or lower, not {self.kind!r}.")


BOUNDS = (
    Bound("Datta, Soundaralakshmi", "upper", "4k lg² + 2k lg + 21k + 3 lg + 7", "always",
          "k = d/g whole, g a power of two", "IEEE Trans. Parallel Distrib. Syst. 2003, as "
          "corrected by Mei and Rizzi, section 4", _published, deterministic_slots),
    Bound("AKS", "upper", "O((d/g) log g)", "always", "asymptotic, very large constants",
          f"{PAPER}, section 2.1"),
    Bound("Rajasekaran, Davila", "upper", "O(d/g + log g)", "with high probability", "asymptotic",
          "ICPADS 2004"),
    Bound("oblivious", "lower", "the largest t with ⌈n⌈n/(1 + tD)⌉/(n + g²)⌉ >= t, D = max(d, g); "
          "about √(g/2) for d = g", "on the worst permutation", "fixed paths, any d, g",
          f"{PAPER}, section 2.2, after Borodin and Hopcroft; repaired in "
          "page 'oblivious-routing' of the documentation", slots=guaranteed_congestion),
    Bound("oblivious, random", "lower", "Ω(log g / log log g)", "on average over permutations",
          "d = Θ(g), fixed paths, asymptotic", f"{PAPER}, section 2.2", _comparable),
    Bound("rigid", "lower", "⌈log2 n⌉", "on the worst permutation",
          "who sends where is fixed beforehand", f"{PAPER}, section 2.2",
          lambda n: n.n > 1, guaranteed_slots),
    Bound("two-hop", "lower", "2R, the largest R < g with (2^R - 1)(R + 1) < d",
          "on the worst permutation", "deterministic, two hops a packet",
          f"{PAPER}, section 2.2; repaired in page 'two-hop-routing' of the documentation",
          lambda n: guaranteed_rounds(n) > 0, lambda n: 2 * guaranteed_rounds(n)),
)  # fmt: skip
"""Lower bounds, and the bounds of routers that popsnet does not implement."""


def bounds_on(
    network: Network, bounds: Sequence[Bound] = BOUNDS
) -> list[tuple[Bound, float | None]]:
    """The bounds that hold on a network, with their slots where there is a number."""
    there = [bound for bound in bounds if bound.applies(network)]
    return [(bound, bound.slots(network) if bound.slots else None) for bound in there]
