"""Team stages of relay: every packet has r candidate groups, with a uniform draw for each.

The draws of a packet are used as a set C. A packet from group a to group b is delivered if C has a
group that no other packet of a and no other packet for b has in its set. All sets of all packets
are enumerated, the last few of them as arrays.

Also the schedules of relay that have an exact chain: sweeps and team stages.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import partial
from itertools import product
from math import comb

import numpy as np

from popsnet.base.errors import wrong
from popsnet.model.network import I64, U8, Network
from popsnet.theory.exact.chain import Step
from popsnet.theory.exact.state import State, Weights, without
from popsnet.theory.exact.transition import FRESH, Transition

_LARGEST_CHUNK = 50_000
LARGEST_TOTAL = 2**53
"""Draws of all packets together, up to which floats count them exactly."""

Sets = U8


def candidate_sets(groups: int, candidates: int) -> dict[int, int]:
    """Return the number of draws that give each set, which is written as a number in binary."""
    ways = [
        sum((-1) ** (size - k) * comb(size, k) * k**candidates for k in range(size + 1))
        for size in range(groups + 1)
    ]  # by inclusion and exclusion
    counts = {mask: ways[mask.bit_count()] for mask in range(1, 2**groups)}
    return {mask: number for mask, number in counts.items() if number}


def team(state: State, candidates: int) -> Transition:
    """Return the outcome of a stage from a table of packets by destination and source group."""
    groups = len(state)
    packets = [
        (b, a) for b, line in enumerate(state) for a, count in enumerate(line) for _ in range(count)
    ]
    sets = candidate_sets(groups, candidates)
    rows = 0
    while rows < len(packets) and len(sets) ** (rows + 1) <= _LARGEST_CHUNK:
        rows += 1
    first = len(packets) - rows
    numbers, draws = np.array(list(sets), np.uint8), np.array(list(sets.values()), float)
    every = np.indices([len(sets)] * rows).reshape(rows, len(sets) ** rows)
    arrays, ways = list(numbers[every]), draws[every].prod(axis=0)
    delivered = np.zeros(2 ** len(packets))
    for chosen in product(sets, repeat=first):
        factor = np.prod([float(sets[mask]) for mask in chosen])
        masks = [*(np.array([mask], np.uint8) for mask in chosen), *arrays]
        delivered += factor * np.bincount(_delivered(packets, masks, groups), ways, len(delivered))
    weights: Counter[State] = Counter()
    for bits in map(int, np.flatnonzero(delivered)):
        gone = (packet for number, packet in enumerate(packets) if bits >> number & 1)
        weights[without(state, gone)] += int(delivered[bits])
    return Weights(dict(weights), groups ** (candidates * len(packets)))


def _delivered(packets: list[tuple[int, int]], masks: list[Sets], groups: int) -> I64:
    """Return which packets are delivered, a bit each."""
    alone = [
        [_in_one([mask for packet, mask in zip(packets, masks, strict=True) if packet[end] == x])
         for x in range(groups)]
        for end in (0, 1)
    ]  # fmt: skip
    outcome = np.zeros(max(map(len, masks), default=1), dtype=np.int64)
    for number, ((b, a), mask) in enumerate(zip(packets, masks, strict=True)):
        outcome |= ((mask & alone[0][b] & alone[1][a]) != 0).astype(np.int64) << number
    return outcome


def _in_one(masks: list[Sets]) -> Sets:
    """Return the groups that are in exactly one of these sets."""
    once = twice = np.zeros(1, np.uint8)
    for mask in masks:
        twice = twice | (once & mask)
        once = once | mask
    return once & ~twice


@dataclass(frozen=True)
class ChainStage:
    """A plain sweep, or a team stage with this many candidates."""

    candidates: int | None = None

    def slots(self, network: Network) -> int:
        """Return the number of slots of the stage."""
        return 2 * network.blocks + 1 if self.candidates is None else 5 + 3 * network.blocks

    def step(self, sweep: Step) -> Step:
        """Return the transitions, with those of a sweep given."""
        return sweep if self.candidates is None else partial(team, candidates=self.candidates)


def read_schedule(text: str, network: Network) -> list[ChainStage]:
    """Return the stages of a text like ``S S T2``, of which the last is repeated."""
    words = text.split()
    if not _are_stages(words):
        meant = f" Did you mean {text.upper()!r}?" if _are_stages(text.upper().split()) else ""
        raise wrong("variant", text)(
            "exact chains are computed for schedules of stages S and Tr, as in 'S' or 'S S T2', of "
            f"which the last is repeated.{meant}"
        )
    stages = [ChainStage(int(word[1:]) if word[1:] else None) for word in words]
    while len(stages) > 1 and stages[-1] == stages[-2]:
        stages.pop()
    if stages == [ChainStage()]:
        return stages
    largest = max(stage.candidates or 0 for stage in stages)
    if network.g ** (largest * network.n) > LARGEST_TOTAL:
        raise wrong("variant", text)(
            f"T{largest} has too many draws on {network} for an exact chain; give a smaller number."
        )
    if network.d == network.g and (ChainStage() in stages[FRESH:] or stages[-1] == ChainStage()):
        raise wrong("variant", text)(
            "for d = g, where bijections are turned from the fifth stage on, a schedule with T "
            f"must end in T and have S only among the first {FRESH} stages."
        )
    return stages


def _are_stages(words: list[str]) -> bool:
    return bool(words) and all(re.fullmatch(r"S|T[1-9]\d{0,3}", word) for word in words)
