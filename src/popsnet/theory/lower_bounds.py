"""Lower bounds for classes of algorithms, as numbers for a network.

The adversaries of :mod:`popsnet.adversaries` build the permutations and must reach these numbers.

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

from popsnet.network import Network


def guaranteed_congestion(network: Network) -> int:
    """Return the congestion that every path system has on some permutation: the largest t."""
    t = 1
    while _is_reached(network, t + 1):
        t += 1
    return t


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
    arrived after T = 2R slots; the proof is in :mod:`popsnet.adversaries.two_hop.keeping`.
    """
    rounds = 0
    while (2 ** (rounds + 1) - 1) * (rounds + 2) < network.d and rounds + 2 <= network.g:
        rounds += 1
    return rounds
