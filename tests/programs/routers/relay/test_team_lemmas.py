"""Lemmas C and D of the page on log*, for a team stage: counted, not simulated."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest

from popsnet.model.slot import Ints


def left(sources: list[int], targets: list[int], draws: list[list[int]]) -> list[bool]:
    """Return which packets have no free group, given by their groups and draws."""
    return [
        set(mine) <= {y for other in rivals(sources, targets, packet) for y in draws[other]}
        for packet, mine in enumerate(draws)
    ]


def rivals(sources: list[int], targets: list[int], packet: int) -> list[int]:
    """Return the other packets from the same group or for the same group."""
    return [
        other
        for other in range(len(sources))
        if other != packet
        and (sources[other] == sources[packet] or targets[other] == targets[packet])
    ]


@pytest.mark.parametrize(("g", "r", "most"), [(2, 1, 4), (3, 1, 4), (3, 2, 3), (5, 2, 2)])
def test_the_probability_that_no_group_is_free_is_that_of_lemma_c(
    g: int, r: int, most: int
) -> None:
    """All draws of all packets, for the groups of partial permutations.

    With s others it is 1 - (1 - 1/g)^s for r = 1, and at most (rs/g)^r.
    """
    for count in range(1, most + 1):
        sources = [packet // g for packet in range(count)]
        for targets in map(list, set(permutations([place // g for place in range(g * g)], count))):
            draws = np.array(list(product(range(g), repeat=r * count))).reshape(-1, count, r)
            failed = np.mean([left(sources, targets, draw) for draw in draws.tolist()], axis=0)
            others = np.array([len(rivals(sources, targets, packet)) for packet in range(count)])
            assert (failed <= (r * others / g) ** r + 1e-12).all()
            if r == 1:
                assert failed == pytest.approx(1 - (1 - 1 / g) ** others)


def left_of_first(sources: list[int], targets: list[int], draws: Ints) -> int:
    """Return the number of packets that are left of group 0."""
    stay = left(sources, targets, draws.tolist())
    return sum(stays for stays, source in zip(stay, sources, strict=True) if source == 0)


def test_draws_and_blocks_of_draws_change_the_packets_left_of_a_group_as_in_lemma_d() -> None:
    """A draw by at most 2, all draws for one group by at most (r + 1) m; both are attained."""
    random, by_draws, by_blocks = np.random.default_rng(0), set(), set()
    for _ in range(1500):
        g, r = int(random.integers(2, 5)), int(random.integers(1, 4))
        count = int(random.integers(1, g * g + 1))
        packets = random.permutation(g * g)[:count]
        groups = packets // g, random.permutation(g * g)[packets] // g
        sources, targets = (some.tolist() for some in groups)
        draws = random.integers(0, g, (count, r), dtype=np.int32)
        before = left_of_first(sources, targets, draws)
        moved = draws.copy()
        moved[random.integers(count), random.integers(r)] = random.integers(g)
        by_draws.add(abs(left_of_first(sources, targets, moved) - before))
        block = groups[1] == random.integers(g)
        moved = np.where(block[:, None], random.integers(0, g, (count, r), dtype=np.int32), draws)
        change = abs(left_of_first(sources, targets, moved) - before)
        allowed = (r + 1) * int((block & (groups[0] == 0)).sum())
        assert change <= allowed
        if allowed:
            by_blocks.add(change / allowed)
    assert max(by_draws) == 2
    assert max(by_blocks) == 1
