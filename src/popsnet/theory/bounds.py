"""How many slots routing takes: every bound as a function, with where it holds and who proved it.

Upper bounds are what a router promises, lower bounds what no router of a kind can do better than on
its worst permutation. A function raises no error: :func:`bounds_on` says which of them hold on a
network. Bounds without constants have no number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, log2

from popsnet.network import Network
from popsnet.theory.formulas import census_slots, datta_slots, deterministic_slots
from popsnet.theory.lower_bounds import (
    guaranteed_congestion,
    guaranteed_rounds,
    guaranteed_slots,
)

__all__ = [
    "BOUNDS",
    "Bound",
    "bounds_on",
    "deferred_slots",
    "direct_slots",
    "merge_exchange_slots",
    "offline_slots",
    "roll_call_slots",
    "sweep_slots",
    "thinned_slots",
    "two_hop_slots",
]

_PAPER = "Mei and Rizzi, On-Line Permutation Routing in POPS Networks"


def direct_slots(network: Network) -> int:
    """max(d, g): one hop, time-division; every permutation."""
    return max(network.d, network.g)


def offline_slots(network: Network) -> int:
    """1 for d = 1, else 2⌈d/g⌉: every permutation, if it is known to all; optimal."""
    return 1 if network.d == 1 else 2 * network.blocks


def roll_call_slots(network: Network) -> int:
    """2g for d = g: every permutation, no coins."""
    return 2 * network.g


def merge_exchange_slots(network: Network) -> int:
    """t(t + 1)/2 stages of Batcher's merge exchange, t = ⌈log2 n⌉, each routed off-line.

    For d ≤ g: sorting by destination is routing. O(log² n).
    """
    t = (network.n - 1).bit_length()
    return t * (t + 1) // 2 * offline_slots(network)


def deferred_slots(network: Network) -> float:
    """5⌈4(d/g - 1)⌉ + k - 1 for d = kg: the steps of mei-rizzi, and the last copies' wait."""
    return thinned_slots(network) + network.d // network.g - 1


def thinned_slots(network: Network) -> float:
    """5⌈4(d/g - 1)⌉: the steps in which packets of mei-rizzi take part by chance.

    With c + ε = 4, in the limit of large g; afterwards no group has more than g packets. The bound
    of the router is this and O(log log g) more.
    """
    return 5 * ceil(4 * (network.d / network.g - 1))


def sweep_slots(network: Network) -> float:
    """(2k + 1)·log2 log2 d for relay's sweeps, k = ⌈d/g⌉, the leading term: each squares ρ."""
    return (2 * network.blocks + 1) * log2(log2(network.d))


def two_hop_slots(network: Network) -> int:
    """2R: after so many slots some packet has not arrived."""
    return 2 * guaranteed_rounds(network)


def _always(network: Network) -> bool:
    return True


def _square(network: Network) -> bool:
    return network.d == network.g


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
    Bound("direct", "upper", "max(d, g)", "always", "any d, g", "time-division",
          slots=direct_slots),
    Bound("off-line", "upper", "2⌈d/g⌉, 1 if d = 1", "always", "the permutation is known to all",
          "Mei and Rizzi, J. Parallel Distrib. Comput. 2003", slots=offline_slots),
    Bound("roll call", "upper", "2g", "always", "d = g", "popsnet, relay's variant",
          _square, roll_call_slots),
    Bound("merge exchange", "upper", "t(t + 1)/2 stages of 2 (1 if d = 1), t = ⌈log2 n⌉",
          "always", "d <= g", "Batcher 1968; Knuth 5.2.2 M", lambda n: n.d <= n.g,
          merge_exchange_slots),
    Bound("datta", "upper", "k(4 lg² + 2 lg + 9) - ⌈k/g⌉ for d = kg, g = 2^lg; else alike",
          "always", "any d, g",
          "popsnet, docs/explanation/deterministic.md, after Datta and Soundaralakshmi",
          slots=datta_slots),
    Bound("Datta, Soundaralakshmi", "upper", "4k lg² + 2k lg + 21k + 3 lg + 7", "always",
          "k = d/g whole, g a power of two", "IEEE Trans. Parallel Distrib. Syst. 2003, as "
          "corrected by Mei and Rizzi, section 4", _published, deterministic_slots),
    Bound("AKS", "upper", "O((d/g) log g)", "always", "asymptotic, very large constants",
          f"{_PAPER}, section 2.1"),
    Bound("Rajasekaran, Davila", "upper", "O(d/g + log g)", "with high probability", "asymptotic",
          "ICPADS 2004"),
    Bound("mei-rizzi, d = g", "upper", "O(log log g)", "with high probability",
          "d = g, asymptotic; its constants: the tail bounds", f"{_PAPER}, section 3.1", _square),
    Bound("mei-rizzi, d > g", "upper", "5⌈4(d/g - 1)⌉ + O(log log g)", "with high probability",
          "counts what survives slot 2 as home", f"{_PAPER}, section 3.2",
          lambda n: n.d > n.g, thinned_slots, leading=True),
    Bound("mei-rizzi, deferred", "upper", "5⌈4(d/g - 1)⌉ + d/g - 1 + O(log log g)",
          "with high probability", "d > g, g divides d; loses nothing",
          "popsnet, docs/explanation/mei-rizzi-analysis.md and exact-chains.md",
          lambda n: n.d > n.g and n.d % n.g == 0, deferred_slots, leading=True),
    Bound("relay, fresh coins", "upper", "(2⌈d/g⌉ + 1)(log2 log2 d + O(1)): 3 log2 log2 g + O(1) "
          "for d = g", "with high probability", "d >= g, sweeps, every one with new and truly "
          "random bijections", "popsnet, docs/explanation/relay.md, the theorem",
          lambda n: n.d >= n.g and n.d > 2, sweep_slots, leading=True),
    Bound("relay, as it is", "upper", "O(log g)", "with high probability", "d = g, sweeps, truly "
          "random bijections, turned from the fifth on; 3 log2 log2 g + O(1) is the fluid limit "
          "and what is measured", "popsnet, docs/explanation/relay.md, turned sweeps", _square),
    Bound("relay, census", "upper", "3k + √(2kr + r²/9) + r/3 + 2⌈log2 g⌉ + 3, k = d/g, "
          "r = ln 5g²", "with probability 4/5, if sets have room, as measured",
          "g divides d, k >= 8; messages of g counters",
          "popsnet, docs/explanation/relay.md, Bernstein's inequality",
          lambda n: n.d % n.g == 0 and n.d >= 8 * n.g, census_slots),
    Bound("oblivious", "lower", "the largest t with ⌈n⌈n/(1 + tD)⌉/(n + g²)⌉ >= t, D = max(d, g); "
          "about √(g/2) for d = g", "on the worst permutation", "fixed paths, any d, g",
          f"{_PAPER}, section 2.2, after Borodin and Hopcroft; repaired in "
          "docs/explanation/oblivious-routing.md", slots=guaranteed_congestion),
    Bound("oblivious, random", "lower", "Ω(log g / log log g)", "on average over permutations",
          "d = Θ(g), fixed paths, asymptotic", f"{_PAPER}, section 2.2", _comparable),
    Bound("rigid", "lower", "⌈log2 n⌉", "on the worst permutation",
          "who sends where is fixed beforehand", f"{_PAPER}, section 2.2",
          lambda n: n.n > 1, guaranteed_slots),
    Bound("two-hop", "lower", "2R, the largest R < g with (2^R - 1)(R + 1) < d",
          "on the worst permutation", "deterministic, two hops a packet",
          f"{_PAPER}, section 2.2; repaired in docs/explanation/two-hop-routing.md",
          lambda n: guaranteed_rounds(n) > 0, two_hop_slots),
)  # fmt: skip


def bounds_on(
    network: Network, bounds: Sequence[Bound] = BOUNDS
) -> list[tuple[Bound, float | None]]:
    """The bounds that hold on a network, with their slots where there is a number."""
    there = [bound for bound in bounds if bound.applies(network)]
    return [(bound, bound.slots(network) if bound.slots else None) for bound in there]
