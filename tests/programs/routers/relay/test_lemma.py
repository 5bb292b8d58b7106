"""The lemma: a group that holds m packets delivers m·e^(-m/g) or more of them in a plain sweep.

For d = g, on average over the public bijections, whatever the permutation is. Of the packets that
the group has for b, m_b in number, none share a relay group; those for other groups fall on a given
relay group independently, with chances m_c / g. So with Σ m_b = m the mean is exactly

    Σ_b m_b · Π_(c ≠ b) (1 - m_c / g).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from math import exp, prod

import numpy as np

from popsnet import Network
from popsnet.model.slot import Ints
from tests.conftest import permutation
from tests.each import each, sampled
from tests.programs.routers.relay.staged import Alone, destinations, stage

ABOVE = Fraction(1, 10**12)
"""More than the error of exp."""


def expected(parts: tuple[int, ...], g: int) -> Fraction:
    """The mean, for a group with so many packets for each of some groups."""
    misses = [1 - Fraction(part, g) for part in parts]
    total = Fraction(0)
    for i, part in enumerate(parts):
        total += part * prod(misses[:i] + misses[i + 1 :])
    return total


def partitions(m: int, most: int) -> Iterator[tuple[int, ...]]:
    if not m:
        yield ()
    for first in range(min(m, most), 0, -1):
        for rest in partitions(m - first, first):
            yield (first, *rest)


@each("g", [1, 2, 3, 4, 5, 8, 12, 16])
def test_the_bound_holds_for_every_way_to_spread_packets(g: int) -> None:
    for m in range(1, g + 1):
        of_all = {parts: expected(parts, g) for parts in partitions(m, g) if len(parts) <= g}
        assert min(of_all.values()) >= Fraction(m * exp(-m / g)) - ABOVE
        assert min(of_all, key=lambda parts: of_all[parts]) == (1,) * m  # spread is the worst


def test_the_bound_is_nearly_attained() -> None:
    """So a bound that promised a hundredth more would be wrong."""
    assert expected((1,) * 64, 64) < Fraction(64 * exp(-1) * 1.01)


def spread_from_one_group(network: Network, targets: int) -> Ints:
    """Group 0 has equally many packets for each of so many groups, the last of them itself."""
    d = network.d
    share = d // targets
    wanted = [(b + 1) % targets * d + l for b in range(targets) for l in range(share)]  # noqa: E741
    rest = sorted(set(range(network.n)) - set(wanted))
    order = np.random.default_rng(targets).permutation(len(rest))
    assert len(wanted) == d
    return np.array([*wanted, *np.array(rest)[order]], dtype=np.int32)


@each("held", [1.0, 0.5, 0.2])
@each(
    "kind",
    sampled(
        [
            "random",
            "spread 16",
            "spread 4",
            "spread 2",
            "two-targets",
            "transpose",
            "residue-aligned",
        ],
        3,
    ),
)
def test_a_sweep_delivers_the_exact_mean(kind: str, held: float) -> None:
    """Of each group, over 250 public seeds; 5 standard errors, and never below the bound.

    Packets that are not held any more are taken out by hand, as if they had been delivered.
    """
    network, seeds = Network(16, 16), 250
    if kind.startswith("spread"):
        destination = spread_from_one_group(network, int(kind.split()[1]))
    elif kind == "random":
        destination = permutation(network.n, 3)
    else:
        destination = destinations(network, kind, 3)
    everybody = np.arange(network.n)
    chosen = np.random.default_rng(1).random(network.n) < held
    kept = everybody[chosen & (destination != everybody)].astype(np.int32)
    found = np.zeros((seeds, network.g))
    for seed in range(seeds):
        alone = Alone(network, destination, seed)
        alone.state.pending = kept
        alone.run(stage("S"))
        delivered = np.setdiff1d(kept, alone.state.pending)
        found[seed] = np.bincount(delivered // network.d, minlength=network.g)
    for group in range(network.g):
        mine = destination[kept[kept // network.d == group]]
        parts = tuple(Counter((mine // network.d).tolist()).values())
        mean, m = float(expected(parts, network.g)), len(mine)
        error = max(found[:, group].std(), 0.1) / np.sqrt(seeds)
        assert abs(found[:, group].mean() - mean) < 5 * error, group
        assert mean >= m * exp(-m / network.g) - 1e-12
        assert found[:, group].mean() > m * exp(-m / network.g) - 5 * error
