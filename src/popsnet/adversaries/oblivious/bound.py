"""The congestion that every path system has on some permutation.

**Theorem.** Let D = max(d, g), and let t be a whole number with t ≤ n - 1 and
⌈n · s / (n + g²)⌉ ≥ t, where s = ⌈n / (1 + tD)⌉. For every path system on POPS(d, g) some
permutation has congestion t. For d = g that is t ≈ √(g/2).

Proof (after Borodin and Hopcroft; Mei and Rizzi). For a destination b let S_b hold the nodes that
t or more of the paths to b go through. b itself is one of them. A path from a source outside S_b
has a last node x outside S_b. As an inner node, x is on at most t - 1 paths to b, and it may
be the source of one more, which the published proof forgets: it is the last one for at most t. The
node after x is in S_b, and a node has at most D predecessors. So n - |S_b| ≤ t · D · |S_b|, that is
|S_b| ≥ s. There are n + g² nodes, so one node v is in S_b for at least t destinations b. Give
these, one after the other, an unused source whose path to b goes through v. There are t or more
such sources and fewer than t are used. ∎

The published proof takes "any processor in S_b" for the source. That is wrong: a processor of S_b
is one that paths go *through*; its own path need not go through v. With direct paths the only
processor in S_b is b, and the permutation so built is the identity on the chosen b.
"""

from __future__ import annotations

from popsnet.network import Network

__all__ = ["guaranteed_congestion"]


def guaranteed_congestion(network: Network) -> int:
    """The largest t of the theorem; 1 at least, since a packet takes a slot."""
    t = 1
    while _holds(network, t + 1):
        t += 1
    return t


def _holds(network: Network, t: int) -> bool:
    n, degree = network.n, max(network.d, network.g)
    common = -(-n // (1 + t * degree))
    return t <= n - 1 and -(-n * common // (n + network.couplers)) >= t
