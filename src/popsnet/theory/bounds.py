"""Bounds on the slots of routing as functions, with their conditions and references.

This module has lower bounds, and the bounds of routers from the literature. Every router of popsnet
states its own bounds, and :func:`popsnet.programs.router.all_bounds` returns all of them. An upper
bound is what a router guarantees; a lower bound is what no router of a class can beat on its worst
permutation. :func:`bounds_on` selects those that hold on a network. Bounds without constants have
no number.

The adversaries of :mod:`popsnet.studies.adversaries` build the permutations and must reach the
lower bounds for classes of algorithms.

**Theorem** (oblivious algorithms). Let D = max(d, g), and t be an integer with t ≤ n - 1 and
⌈n · s / (n + g²)⌉ ≥ t, where s = ⌈n / (1 + tD)⌉. For every path system on POPS(d, g) some
permutation has congestion t. For d = g that is t ≈ √(g/2).

Proof (after Borodin and Hopcroft; Mei and Rizzi). For a destination b let S_b hold the nodes that
at least t of the paths to b go through. b itself is one of them. A path from a source outside S_b
has a last node x outside S_b. As an inner node, x is on at most t - 1 paths to b, and it may
be the source of one more, which the published proof forgets: it is the last one for at most t. The
node after x is in S_b, and a node has at most D predecessors. So n - |S_b| ≤ t · D · |S_b|, that is
|S_b| ≥ s. There are n + g² nodes, so one node v is in S_b for at least t destinations b. Give
these, one after the other, an unused source whose path to b goes through v. There are at least t
such sources, and fewer than t are used. ∎

The published proof takes "any processor in S_b" as the source. That is wrong: a processor of S_b
is one that paths go *through*; its own path need not go through v. With direct paths the only
processor in S_b is b, and the permutation built this way is the identity on the chosen b.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count

from popsnet.base.errors import InputError
from popsnet.model.network import Network, on_network


def guaranteed_congestion(network: Network) -> int:
    """Return the congestion that every path system has on some permutation: the largest t."""
    return next(t for t in count(1) if not _is_reached(network, t + 1))


def _is_reached(network: Network, t: int) -> bool:
    n, degree = network.n, max(network.d, network.g)
    common = -(-n // (1 + t * degree))
    return t <= n - 1 and -(-n * common // (n + network.couplers)) >= t


def guaranteed_slots(network: Network) -> int:
    """Return ⌈log₂ n⌉, the fewest slots of a rigid algorithm.

    The number of packets that a processor can have held at most doubles in a slot.
    """
    return (network.n - 1).bit_length()


def guaranteed_rounds(network: Network) -> int:
    """Return the largest R with R + 1 ≤ g and (2^R - 1)(R + 1) < d.

    For every deterministic two-hop algorithm there is a permutation with a packet that has not
    arrived after T = 2R slots; the proof is in :mod:`popsnet.studies.adversaries.two_hop.keeping`.
    """
    d, g = network.d, network.g
    return next(r for r in count() if (2 ** (r + 1) - 1) * (r + 2) >= d or r + 2 > g)


def conflict_free_arrivals(d: int, g: int, meeting: int = 1) -> list[float]:
    """Return how many packets can have arrived after slots 1, 2, …, while that is less than n.

    No deterministic conflict-free algorithm delivers more of the packets of a random permutation in
    expectation. With κ = ``meeting``, the bound is for algorithms in which at most κ messages ever
    go to one coupler, and two or more destroy each other.

    Parameters
    ----------
    d : int
        Processors per group.
    g : int
        Groups.
    meeting : int
        The most messages that go to one coupler in one slot, on any permutation.

    Returns
    -------
    list of float
        The bounds that say something; from the next slot on the bound is n or more.

    Notes
    -----
    In slot s a coupler's indicators have degree at most D_s = κ(κ + 1)^(s - 1), and after it a
    processor's have degree at most E_s = (κ + 1)^s. A swap of two destinations changes what a
    coupler carries only if one of them is among 2·D_s² packets, and a state only if one is among
    2·E_s². So the coupler's packets, and the arrivals, can be counted, in two ways:

        1 + g²/(n - 1) · Σ_{s ≤ t} 2D_s² (2d + 2g Σ_{r < s} D_r²)
        1 + ng/(n - 1) · (Σ_{s ≤ t} 2D_s² (2 + 2 Σ_{r < s} E_r²) + Σ_{r < t} 4E_r²D_r²)

    The bound is the smaller one. For κ = 1 and d = g it is below n only if 16^t < 12g, and for
    large g it is below n if 16^t < 11g. So routing all permutations takes Ω(log g) slots.

    Examples
    --------
    >>> from popsnet.theory import conflict_free_arrivals
    >>> [round(bound) for bound in conflict_free_arrivals(64, 64)]
    [257, 2306]
    """
    n, bounds, coupler, state = d * g, list[float](), meeting**2, (meeting + 1) ** 2
    groups = processors = couplers = states = 0
    while True:
        groups += 2 * coupler * (2 * d + 2 * g * couplers)
        processors += 2 * coupler * (2 + 2 * states)
        if (arrived := min(g * g * groups, n * g * processors)) >= (n - 1) ** 2:
            return bounds
        bounds.append(1 + arrived / (n - 1))
        processors += 4 * state * coupler
        couplers, states = couplers + coupler, states + state
        coupler, state = coupler * (meeting + 1) ** 2, state * (meeting + 1) ** 2


def guaranteed_conflict_free_slots(network: Network) -> int:
    """Return the least t with 16^t ≥ max(d, d²/g).

    A deterministic algorithm that routes all permutations without conflicts takes at least t
    slots. The proof is in docs/explanation/conflict-free.md.
    """
    d, g = network.d, network.g
    return next(t for t in count() if 16**t >= d and 16**t * g >= d * d)


PAPER = "Mei and Rizzi, On-Line Permutation Routing in POPS Networks"


@on_network
def deterministic_slots(network: Network) -> int:
    """Return the slots of the published deterministic router, for every permutation.

    Parameters
    ----------
    network : Network, or int and int
        The network; g must be a power of two and d a multiple of g, or its d and g.

    Returns
    -------
    int
        4k·lg² + 2k·lg + 21k + 3·lg + 7 with k = d/g and lg = log2 g.

    Raises
    ------
    InputError
        If the count is not known for this network.

    Notes
    -----
    O((d/g)·log² g). The router is that of Datta and Soundaralakshmi (IEEE Transactions on Parallel
    and Distributed Systems, 2003), counted as Mei and Rizzi correct it in their section 4, with
    log n (1 + log n) / 2 stages of odd-even merge sort where log² n had been claimed.

    Examples
    --------
    >>> from popsnet import Network
    >>> from popsnet.theory import deterministic_slots
    >>> deterministic_slots(Network(8, 8))
    79
    """
    if not _published(network):
        raise InputError(
            f"{network}: the published count is known only if G is a power of two and D a multiple "
            "of G."
        )
    k, lg = network.blocks, network.g.bit_length() - 1
    return 4 * k * lg**2 + 2 * k * lg + 21 * k + 3 * lg + 7


def _comparable(network: Network) -> bool:
    """Return whether d = Θ(g), here taken as within a factor of two."""
    return network.g <= 2 * network.d and network.d <= 2 * network.g


def _published(network: Network) -> bool:
    d, g = network.d, network.g
    return d % g == 0 and g & (g - 1) == 0


@dataclass(frozen=True)
class Bound:
    """An upper or lower bound on the slots of routing.

    Examples
    --------
    >>> from popsnet.theory import BOUNDS
    >>> [bound.name for bound in BOUNDS if bound.kind == "lower"]
    ['oblivious', 'oblivious, random', 'rigid', 'two-hop', 'conflict-free']
    """

    name: str
    kind: str
    """``upper`` or ``lower``."""
    formula: str
    holds: str
    """When it holds: always, with high probability, on the worst permutation, …"""
    conditions: str
    reference: str
    applies: Callable[[Network], bool] = lambda network: True
    """Whether the bound applies to a network."""
    slots: Callable[[Network], float] | None = None
    """The slots on a network; None for a bound without constants."""
    leading: bool = False
    """Whether the number is only the leading term, to which O(…) must be added."""

    def __post_init__(self) -> None:
        if self.kind not in ("upper", "lower"):
            raise ValueError(f"{self.name}: kind = {self.kind!r} must be 'upper' or 'lower'.")


BOUNDS = (
    Bound("Datta, Soundaralakshmi", "upper", "4k lg² + 2k lg + 21k + 3 lg + 7", "always",
          "k = d/g an integer, g a power of two", "IEEE Trans. Parallel Distrib. Syst. 2003, as "
          "corrected by Mei and Rizzi, section 4", _published, deterministic_slots),
    Bound("AKS", "upper", "O((d/g) log g)", "always", "asymptotic, very large constants",
          f"{PAPER}, section 2.1"),
    Bound("Rajasekaran, Davila", "upper", "O(d/g + log g)", "with high probability", "asymptotic",
          "ICPADS 2004"),
    Bound("oblivious", "lower", "the largest t with ⌈n⌈n/(1 + tD)⌉/(n + g²)⌉ >= t, D = max(d, g); "
          "about √(g/2) for d = g", "on the worst permutation", "fixed paths, any d, g",
          f"{PAPER}, section 2.2, after Borodin and Hopcroft; repaired in "
          "docs/explanation/oblivious-routing.md", slots=guaranteed_congestion),
    Bound("oblivious, random", "lower", "Ω(log g / log log g)", "on average over permutations",
          "d = Θ(g), fixed paths, asymptotic", f"{PAPER}, section 2.2", _comparable),
    Bound("rigid", "lower", "⌈log2 n⌉", "on the worst permutation",
          "senders and listeners fixed in advance", f"{PAPER}, section 2.2",
          lambda n: n.n > 1, guaranteed_slots),
    Bound("two-hop", "lower", "2R, the largest R < g with (2^R - 1)(R + 1) < d",
          "on the worst permutation", "deterministic, two hops per packet",
          f"{PAPER}, section 2.2; repaired in docs/explanation/two-hop-routing.md",
          lambda n: guaranteed_rounds(n) > 0, lambda n: 2 * guaranteed_rounds(n)),
    Bound("conflict-free", "lower", "⌈log2(max(d, d²/g)) / 4⌉", "on the worst permutation",
          "deterministic, no two messages on one coupler, on any permutation",
          f"conjectured in {PAPER}; proved in docs/explanation/conflict-free.md",
          lambda n: guaranteed_conflict_free_slots(n) > 0, guaranteed_conflict_free_slots),
)  # fmt: skip
"""Lower bounds, and the bounds of routers that popsnet does not implement."""


@on_network
def bounds_on(
    network: Network, bounds: Sequence[Bound] = BOUNDS
) -> list[tuple[Bound, float | None]]:
    """Return the bounds that apply to a network, with their slots.

    Parameters
    ----------
    network : Network, or int and int
        The network, or its d and g.
    bounds : sequence of Bound
        The bounds to select from.

    Returns
    -------
    list of (Bound, float or None)
        Each bound with its number of slots, or None if it has no constants.

    Examples
    --------
    >>> from popsnet import Network
    >>> from popsnet.theory import bounds_on
    >>> {bound.name: slots for bound, slots in bounds_on(Network(8, 8))}["rigid"]
    6
    """
    applicable = [bound for bound in bounds if bound.applies(network)]
    return [(bound, bound.slots(network) if bound.slots else None) for bound in applicable]
