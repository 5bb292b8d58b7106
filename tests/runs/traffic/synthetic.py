"""Queues that are understood exactly, as sessions: one server per destination."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from popsnet import Network
from popsnet.engines.log import Log
from popsnet.workloads.block import Block


def block_of(begin: int, slots: int, rows: list[tuple[int, int, int]]) -> Block:
    """A block of rows (slot, source, destination)."""
    rows = sorted(rows)
    counts = np.bincount([slot - begin for slot, _, _ in rows], minlength=slots)
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    sources = np.array([source for _, source, _ in rows], np.int32)
    return Block(begin, starts, sources, np.array([to for _, _, to in rows], np.int32))


def log_of(
    block: Block, deliveries: list[tuple[int, int, int, int]], before: int = 0, **counts: int
) -> Log:
    """A log of deliveries (slot, arrival, source, destination); counts are those of slot 0."""
    deliveries = sorted(deliveries, key=lambda row: (row[0], row[3]))
    slots = len(block.starts) - 1
    per_slot = np.bincount([row[0] - block.begin for row in deliveries], minlength=slots)
    columns = np.array(deliveries, np.int64).reshape(-1, 4).T
    first: dict[str, Any] = {name: np.zeros(slots, np.int32) for name in Log._fields[:7]}
    for name, count in counts.items():
        first[name][0] = count
    inside = before + np.cumsum(np.diff(block.starts) - per_slot - first["refused"] - first["lost"])
    first["own"] = inside.astype(np.int32)
    source, destination = columns[2].astype(np.int32), columns[3].astype(np.int32)
    return Log(
        **first, ends=np.cumsum(per_slot), arrival=columns[1].copy(), source=source,
        destination=destination, hops=np.ones(len(deliveries), np.int32),
        refused_rows=np.empty(0, np.int64), most_own=int(first["own"].max(initial=before)),
        most_relayed=0,
    )  # fmt: skip


F64 = npt.NDArray[np.float64]


@dataclass
class Coming:
    """Bernoulli arrivals: source i gets a packet with probability rates[i], for targets[i]."""

    network: Network
    rates: list[float]
    targets: list[int]
    seed: int = 0
    name: str = "synthetic"

    @property
    def load(self) -> float:
        return sum(self.rates) / self.network.n

    def block(self, begin: int, slots: int) -> Block:
        rows = []
        for source, (rate, target) in enumerate(zip(self.rates, self.targets, strict=True)):
            places = np.arange(begin // 4096, (begin + slots - 1) // 4096 + 1)
            for place in places.tolist():  # the draws do not depend on the blocks
                drawn = np.random.default_rng((self.seed, source, place)).random(4096) < rate
                found = np.flatnonzero(drawn) + place * 4096
                inside = found[(found >= begin) & (found < begin + slots)]
                rows += [(slot, source, target) for slot in inside.tolist()]
        return block_of(begin, slots, rows)


@dataclass
class Servers:
    """Each destination takes the oldest packet for it in the last slot of each of its frames."""

    frame: Callable[[int], int]
    inside: int = 0
    _last: dict[int, int] = field(default_factory=dict)
    _leaving: list[tuple[int, int, int, int]] = field(default_factory=list)

    def advance(self, block: Block, /) -> Log:
        slots = np.repeat(np.arange(len(block.starts) - 1), np.diff(block.starts)) + block.begin
        for slot, source, to in zip(
            slots.tolist(), block.sources.tolist(), block.destinations.tolist(), strict=True
        ):
            turn = max(self._last.get(to, -1) + 1, slot // self.frame(to))
            self._last[to] = turn
            leaves = (turn + 1) * self.frame(to) - 1
            heapq.heappush(self._leaving, (leaves, to, slot, source))
        out = []
        while self._leaving and self._leaving[0][0] < block.begin + len(block.starts) - 1:
            leaves, to, slot, source = heapq.heappop(self._leaving)
            out.append((leaves, slot, source, to))
        log = log_of(block, out, self.inside)
        self.inside = int(log.own[-1])
        return log

    def close(self) -> None:
        pass


def exact_delays(frame: int, rate: float, most: int = 400) -> F64:
    """The distribution of the delay with Bernoulli arrivals and one service per frame.

    The queue after a service is a Markov chain; a packet that arrives in slot u of a frame waits
    for those in the queue, and for those that came earlier in the frame.
    """
    from scipy.special import comb

    def binomial(n: int) -> F64:
        k = np.arange(n + 1)
        found: F64 = comb(n, k) * rate**k * (1 - rate) ** (n - k)
        return found

    arrivals = binomial(frame)
    step = np.zeros((most, most))
    for q in range(most):
        for k, p in enumerate(arrivals):
            step[q, min(max(q + k - 1, 0), most - 1)] += p
    equations = np.vstack([step.T - np.eye(most), np.ones(most)])
    queue = np.linalg.lstsq(equations, np.eye(most + 1)[-1])[0]
    delays = np.zeros(frame * (most + frame + 1))
    for u in range(frame):
        ahead = np.convolve(queue, binomial(u))
        delays[(frame - u) + frame * np.arange(len(ahead))] += ahead / frame
    return delays
