"""Arrivals: blocks, and the distribution of what arrives."""

from itertools import pairwise

import numpy as np
import pytest

from popsnet import Network
from popsnet.traffic.arrivals import Block, make_arrivals


def joined(blocks: list[Block]) -> list[tuple[int, int, int]]:
    return [
        (block.begin + k, int(block.sources[m]), int(block.destinations[m]))
        for block in blocks
        for k in range(block.slots)
        for m in range(block.starts[k], block.starts[k + 1])
    ]


@pytest.mark.parametrize("pattern", ["uniform", "group-shift", "random", "transpose"])
def test_blocks_of_any_size_have_the_same_packets(pattern: str) -> None:
    arrivals = make_arrivals(Network(3, 4), pattern=pattern, load=0.6, seed=5)
    whole = joined([arrivals.block(0, 50)])
    cuts = [0, 1, 3, 20, 50]
    parts = [arrivals.block(a, b - a) for a, b in pairwise(cuts)]
    assert whole == joined(parts)
    assert [(slot, source) for slot, source, _ in whole] == sorted(
        {(slot, source) for slot, source, _ in whole}
    )


def test_at_load_1_every_processor_gets_a_packet_in_every_slot() -> None:
    block = make_arrivals(Network(2, 3), load=1).block(4, 10)
    assert np.array_equal(block.sources.reshape(10, 6), np.tile(np.arange(6), (10, 1)))
