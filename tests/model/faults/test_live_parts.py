"""Which flows have a path: by the definition of each kind of path, processor by processor."""

from __future__ import annotations

from itertools import product
from math import gcd

import numpy as np

from popsnet import Coins, Faults, Network
from popsnet.model.faults.live_parts import PATHS
from popsnet.traffic import Frame, LiveParts
from tests.each import each

SHAPES = [(3, 3), (2, 4), (5, 2), (1, 4)]
TEXTS = [
    "random:couplers=1", "random:processors=1 coupler:0-0", "receiver:0 transmitter:1",
    "coupler:0-1 random:processors=2",
]  # fmt: skip


class Brute:
    """Paths by their definition."""

    def __init__(self, network: Network, faults: Faults, known: bool = True) -> None:
        self.network, self.frame, self.known = network, Frame(network), known
        self.dead = {(to, by) for to, by, _ in faults.dead("couplers")}
        self.mute = {processor for processor, _ in (*faults.transmitters, *faults.processors)}
        self.deaf = {processor for processor, _ in (*faults.receivers, *faults.processors)}

    def hop(self, p: int, q: int) -> bool:
        d = self.network.d
        return p not in self.mute and q not in self.deaf and (q // d, p // d) not in self.dead

    def kind(self, p: int) -> int:
        return int(self.frame.classes(np.array([p]))[0])

    def relays(self) -> list[int]:
        """The processors that work, of classes in which all do if the dead parts are known."""
        if not self.known:
            return [p for p in range(self.network.n) if p not in self.mute | self.deaf]
        broken = {self.kind(p) for p in self.mute | self.deaf}
        return [p for p in range(self.network.n) if self.kind(p) not in broken]

    def path(self, paths: str, p: int, q: int) -> bool:
        n, residues = self.network.n, self.frame.residues
        if paths == "one hop":
            return self.hop(p, q)
        if paths == "one hop, both ways":
            return self.hop(p, q) and self.hop(q, p)
        if paths == "two hops":
            via = any(self.hop(p, r) and self.hop(r, q) for r in self.relays())
            return via or self.hop(p, q)
        if paths == "two hops, both ways":
            return any(
                self.hop(p, r) and self.hop(r, q) and self.hop(q, r) and self.hop(r, p)
                for r in range(n)
                if self.relays_for(r, p // self.network.d)
            )
        if paths == "three hops":
            same = [r for r in self.relays() if self.kind(r) % residues == self.kind(q) % residues]
            last = {r for r in same if self.hop(r, q)} | {q}
            return any(
                self.hop(p, r) and (r in last or any(self.hop(r, end) for end in last))
                for r in {*self.relays(), q}
            )
        found, before = {p}, set[int]()
        while found != before:
            before = set(found)
            found |= {b for a, b in product(before, range(n)) if self.hop(a, b)}
        return any(self.hop(r, q) for r in found if r == p or r not in self.deaf)

    def relays_for(self, r: int, group: int) -> bool:
        """Whether a processor can be the relay of a group, in the scheduler relay."""
        d, g = self.network.d, self.network.g
        at, index = divmod(r, d)
        if d >= g:
            return index == group
        return (index + at - group) % gcd(d, g) == 0


@each("paths", PATHS)
@each(("d", "g"), SHAPES)
def test_paths_by_their_definition(paths: str, d: int, g: int) -> None:
    network = Network(d, g)
    for text, seed, known in product(TEXTS, range(2), (False, True)):
        faults = Faults.parse(text).drawn(network, Coins(seed))
        brute = Brute(network, faults, known)
        found = LiveParts(network, faults, known).reachable(paths)
        expected = [[brute.path(paths, p, q) for q in range(network.n)] for p in range(network.n)]
        np.testing.assert_array_equal(found, expected, f"{text} {seed} {known}")


def test_without_faults_every_flow_has_every_path() -> None:
    for d, g in SHAPES:
        live = LiveParts(Network(d, g), Faults())
        assert all(live.reachable(paths).all() for paths in PATHS)
