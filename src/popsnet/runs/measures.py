"""What is measured in the window of a run: delays, hops, order, shares, buffers, backlog.

A packet is *tagged* if it arrives in the window. Delays, hops and order are those of tagged
packets, whenever they are delivered. All other counts are of the slots of the window.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from popsnet.base.compiled import compiled
from popsnet.engines.log import FaultLog, Log
from popsnet.model.network import F64, I32, I64, Bools, Network
from popsnet.runs.batch_means import MOST_SUMS, BatchMeans, Sums, batch_means, dot, merged
from popsnet.workloads.block import Block

Counts = npt.NDArray[np.signedinteger[Any]]

EXACT = 2048
"""Delays below this have a bucket each. Above, buckets have a relative width of at most 2^-10."""
MOST_FLOWS = 2**18
"""About this many pairs of source and destination are followed."""
ENOUGH_ARRIVALS = 1000
"""A flow, a source or a destination is judged if it has this many arrivals in the window."""
_OPEN = 2**62
_LOW = 2**32 - 1
_BITS = 40
"""Delays are shorter than 2^40 slots."""


class Worst(NamedTuple):
    """The flow, source or destination that got the smallest share of its arrivals delivered."""

    kind: str
    """``flow``, ``source`` or ``destination``."""
    source: int | None
    destination: int | None
    arrivals: int
    delivered: int

    @property
    def share(self) -> float:
        """Deliveries over arrivals in the window."""
        return self.delivered / self.arrivals

    def __str__(self) -> str:
        if self.kind == "flow":
            return f"the flow from {self.source} to {self.destination}"
        return f"{self.kind} {self.source if self.kind == 'source' else self.destination}"


KINDS = ("flow", "source", "destination")
"""What is judged by the share of its arrivals that is delivered."""


class WindowCounts(NamedTuple):
    """The counts of all flows, sources and destinations after some slots of a window."""

    slots: int
    tables: tuple[Counts, ...]


class _Counts(NamedTuple):
    """Totals of the window, as the compiled loop keeps them."""

    delivered: int = 0
    """Tagged packets delivered."""
    delay: int = 0
    longest: int = 0
    hops: int = 0
    followed: int = 0
    """Tagged packets delivered in flows that are followed."""
    out_of_order: int = 0
    last: int = -1
    """The slot of the last delivery of a tagged packet."""


def backlog_after(before: int, block: Block, log: Log) -> I64:
    """Return the packets inside after each slot: arrived, not refused, delivered or lost.

    Parameters
    ----------
    before : int
        The packets inside before the first slot.
    block, log : Block and Log
        Arrivals, and what happened.

    Returns
    -------
    array of int64
        A number per slot.
    """
    change = np.diff(block.starts) - np.diff(log.ends, prepend=0)
    change -= log.refused
    change -= log.lost
    return before + np.cumsum(change)


class Window:
    """The measures of a window that begins at a slot and stays open until it is closed.

    Parameters
    ----------
    network : Network
        The network.
    begin : int
        The first slot of the window.

    Notes
    -----
    Flows are the pairs of source and destination. For n ≤ 512 all are followed, otherwise those
    of every s-th source, s = ⌈n²/2^18⌉.

    Examples
    --------
    >>> from popsnet import Network
    >>> from popsnet.runs.measures import Window
    >>> Window(Network(64, 64), 0).every
    64
    """

    def __init__(self, network: Network, begin: int) -> None:
        n = network.n
        self.network, self.begin, self.end = network, begin, _OPEN
        self.last_arrivals = _OPEN
        self.every = -(-n * n // MOST_FLOWS)
        self.next = begin
        self.offered = self.refused = self.lost = self.lost_later = 0
        self.unreachable = self.duplicated = self.skipped = self.unheard = 0
        self.messages = self.collisions = self.destroyed = self.deliveries = 0
        self.own = self.relayed = self.most_own = self.most_relayed = self.integral = 0
        self.backlog, self.arrivals = Sums(), Sums()
        self._row_of = np.full(n, -1, np.int32)
        followed = np.arange(0, n, self.every)
        self._row_of[followed] = np.arange(len(followed))
        self._flows = np.zeros((len(followed) * n, 3), np.int32)
        self._sources, self._destinations = np.zeros((2, n, 2), np.int64)
        self._histogram = np.zeros((_BITS - 11) * (EXACT // 2) + EXACT, np.int64)
        self._delays, self._packets, self._shift = *np.zeros((2, MOST_SUMS), np.int64), 0
        self._totals = np.array(_Counts(), np.int64)
        self._marks: list[WindowCounts] = []

    @property
    def is_open(self) -> bool:
        """Whether packets that arrive next are tagged."""
        return self.end == _OPEN

    def close(self) -> None:
        """End the window before the next slot."""
        self.end = self.next

    def end_arrivals(self) -> None:
        """Say that no packet is tagged from now on, even if the window goes on."""
        self.last_arrivals = self.next

    def close_with_last_delivery(self) -> None:
        """End the window when all tagged packets were delivered, or now if some were not."""
        self.close()
        if not self.inside:
            self.end = max(self.last_arrivals, self.counts.last + 1)

    def mark(self) -> None:
        """Remember the counts of all flows now, to judge two parts of the window apart."""
        tables = tuple(counts[:, :2].copy() for counts in self._tables)
        self._marks = [*self._marks[-2:], WindowCounts(self.slots, tables)]

    def add(self, block: Block, log: Log, backlog: I64) -> None:
        """Add the next slots.

        Parameters
        ----------
        block, log : Block and Log
            Arrivals, and what happened.
        backlog : array of int64
            The packets inside after each slot, see :func:`backlog_after`.
        """
        self.next = block.begin + block.slots
        window, counted = (self.begin, self.end), int(self.is_open)
        if self.is_open:
            self._widen()
            self._add_slots(block, log, backlog)
            _count_arrivals(
                block.sources, block.destinations, self._row_of, self._flows, self._sources,
                self._destinations,
            )  # fmt: skip
            if log.faults is not None:
                self._add_faults(log.faults)
        else:
            self.lost_later += int(log.lost.sum())
        _follow_flows(
            log.arrival, log.source, log.destination, window, counted, self._row_of, self._flows,
            self._totals,
        )  # fmt: skip
        _count_deliveries(
            block.begin, log.ends, log.arrival, log.source, log.destination, log.hops, window,
            counted, self._sources, self._destinations, self._histogram, self._delays,
            self._packets, self._shift, self._totals,
        )  # fmt: skip

    def _add_faults(self, log: FaultLog) -> None:
        """Count what faults did, and take lost packets out of the arrivals of their flows."""
        self.unreachable += len(log.unreachable_rows)
        self.duplicated += log.duplicated
        self.skipped += log.skipped
        self.unheard += log.unheard
        for source, destination in log.lost_flows.tolist():
            self._sources[source, 0] -= 1
            self._destinations[destination, 0] -= 1
            if (row := self._row_of[source]) >= 0:
                self._flows[row * self.network.n + destination, 0] -= 1

    def _widen(self) -> None:
        while (min(self.next, self.last_arrivals) - self.begin - 1) >> self._shift >= MOST_SUMS:
            self._delays, self._packets = merged(self._delays), merged(self._packets)
            self._shift += 1

    def _add_slots(self, block: Block, log: Log, backlog: I64) -> None:
        arrived, delivered, lost = len(block.sources), len(log.arrival), int(log.lost.sum())
        self.offered += arrived
        self.deliveries += delivered
        self.lost += lost
        self.refused += int(log.refused.sum())
        self.messages += int(log.messages.sum())
        self.collisions += int(log.collisions.sum())
        self.destroyed += int(log.destroyed.sum())
        self.own += int(log.own.sum())
        self.relayed += int(log.relayed.sum())
        self.most_own = max(self.most_own, log.most_own)
        self.most_relayed = max(self.most_relayed, log.most_relayed)
        self.integral += int(backlog.sum()) + delivered + lost
        self.backlog.add(backlog)
        self.arrivals.add(np.diff(block.starts))

    @property
    def slots(self) -> int:
        """The slots of the window so far."""
        return min(self.next, self.end) - self.begin

    @property
    def counts(self) -> _Counts:
        """Totals over tagged packets."""
        return _Counts(*self._totals.tolist())

    @property
    def tagged(self) -> int:
        """Tagged packets that were not refused."""
        return self.offered - self.refused

    @property
    def inside(self) -> int:
        """Tagged packets that were not delivered. If packets were lost, some may be these."""
        return self.tagged - self.counts.delivered

    @property
    def arrived(self) -> int:
        """All packets that arrived in the window, also those that have no path."""
        return self.offered + self.unreachable

    @property
    def little(self) -> float | None:
        """The mean delay by Little's law: packets inside, summed over slots, per arrival."""
        return self.integral / self.tagged if self.tagged else None

    @property
    def out_of_order(self) -> float | None:
        """The share of tagged packets delivered after a packet of their flow that came later."""
        counts = self.counts
        return counts.out_of_order / counts.followed if counts.followed else None

    def delays(self, share: float = 1.0) -> BatchMeans | None:
        """Return the mean delay and its interval, from the first part of the window."""
        slots = min(self.slots, self.last_arrivals - self.begin)
        used = ceil(share * slots) >> self._shift
        used = max(used, 1) if share < 1 else -(-slots // (1 << self._shift))
        return batch_means(self._delays[:used], self._packets[:used])

    def percentile(self, share: float) -> int | None:
        """Return the smallest delay that this share of the tagged packets does not exceed.

        Parameters
        ----------
        share : float
            From 0 to 1.

        Returns
        -------
        int or None
            Exact below 2,048 slots, otherwise too large by less than one part in 1,024. None if
            it falls among packets that were not delivered, which count as larger than all others.
        """
        rank = max(1, ceil(share * self.tagged * (1 - 2**-52)))
        counts = self.counts
        if rank > counts.delivered:
            return None
        place = int(np.searchsorted(np.cumsum(self._histogram), rank))
        return min(largest_in(place), counts.longest)

    @property
    def fairness(self) -> float | None:
        """Jain's index of the shares delivered, over sources with arrivals."""
        arrivals, delivered = self._sources[self._sources[:, 0] > 0].T
        shares = delivered / arrivals
        squares = dot(shares, shares)
        return float(shares.sum()) ** 2 / (len(shares) * squares) if squares else None

    @property
    def worst(self) -> Worst | None:
        """The worst of all flows, sources and destinations with at least 1,000 arrivals."""
        return self._worst_of([_enough(counts) for counts in self._tables])

    def starved(self, least_share: float, usual: Callable[[I64], F64]) -> Worst | None:
        """Return the worst of those that were starved in both parts of the window.

        Parameters
        ----------
        least_share : float
            The share of the arrivals below which a flow, source or destination is starved.
        usual : function of numbers of arrivals
            Returns how many packets may be missing by chance.

        Returns
        -------
        Worst or None
            None if there is none, or if no mark divides the window into parts of at least a third.
        """
        mark = min(self._marks, key=lambda mark: abs(2 * mark.slots - self.slots), default=None)
        if mark is None or not self.slots <= 3 * mark.slots <= 2 * self.slots:
            return None
        starved = [
            _enough(counts)
            & (counts[:, 0] - counts[:, 1] > usual(counts[:, 0].astype(np.int64)))
            & (first[:, 1] < least_share * first[:, 0])
            & (counts[:, 1] - first[:, 1] < least_share * (counts[:, 0] - first[:, 0]))
            for counts, first in zip(self._tables, mark.tables, strict=True)
        ]
        return self._worst_of(starved)

    @property
    def _tables(self) -> tuple[Counts, Counts, Counts]:
        """Arrivals and deliveries, a row per flow, source and destination."""
        return self._flows, self._sources, self._destinations

    def _worst_of(self, candidates: Sequence[Bools]) -> Worst | None:
        """Return the candidate that got the smallest share of its arrivals delivered."""
        worst: list[Worst] = []
        for kind, counts, chosen in zip(KINDS, self._tables, candidates, strict=True):
            rows = np.flatnonzero(chosen)
            if len(rows):
                row = int(rows[np.argmin(counts[rows, 1] / counts[rows, 0])])
                worst.append(Worst(kind, *self._ends(kind, row), *counts[row, :2].tolist()))
        return min(worst, key=lambda worst: worst.share, default=None)

    def _ends(self, kind: str, row: int) -> tuple[int | None, int | None]:
        """Return source and destination of a row of counts."""
        if kind == "flow":
            source, destination = divmod(row, self.network.n)
            return source * self.every, destination
        return (row, None) if kind == "source" else (None, row)


def _enough(counts: Counts) -> Bools:
    """Return which rows have enough arrivals to be judged."""
    enough: Bools = counts[:, 0] >= ENOUGH_ARRIVALS
    return enough


@compiled
def _bucket(delay: int) -> int:
    """Return the bucket of a delay: the delay itself below 2,048, then 1,024 per power of two."""
    shift = 0
    while delay >> shift >= EXACT:
        shift += 1
    return shift * (EXACT // 2) + (delay >> shift)


def largest_in(bucket: int) -> int:
    """Return the largest delay in a bucket.

    Examples
    --------
    >>> largest_in(2047), largest_in(2048), largest_in(2049)
    (2047, 2049, 2051)
    """
    shift = max(0, bucket // (EXACT // 2) - 1)
    return ((bucket - shift * (EXACT // 2) + 1) << shift) - 1


@compiled
def _group(
    source: I32, destination: I32, arrival: I64, begin: int, row_of: I32, rows: int
) -> tuple[I64, I64]:
    """Return the packets of the sources that are followed, source by source, in their order.

    Flows are spread over memory, but those of a source lie together. A packet is its destination,
    plus 2^32 times the slots from ``begin`` to its arrival, from 1, and 0 for earlier arrivals.
    """
    starts = np.zeros(rows + 1, np.int64)
    for p in range(len(source)):
        row = row_of[source[p]]
        if row >= 0:
            starts[row + 1] += 1
    for row in range(rows):
        starts[row + 1] += starts[row]
    packets, places = np.empty(starts[rows], np.int64), starts[:rows].copy()
    for p in range(len(source)):
        row = row_of[source[p]]
        if row >= 0:
            since = max(arrival[p] - begin + 1, 0) if len(arrival) else 0
            packets[places[row]] = since << 32 | np.int64(destination[p])
            places[row] += 1
    return starts, packets


@compiled
def _count_arrivals(
    source: I32, destination: I32, row_of: I32, flows: I32, of_source: I64, of_destination: I64
) -> None:
    for p in range(len(source)):
        of_source[source[p], 0] += 1
        of_destination[destination[p], 0] += 1
    n = len(row_of)
    rows = len(flows) // n
    starts, packets = _group(source, destination, np.empty(0, np.int64), 0, row_of, rows)
    for row in range(rows):
        for p in range(starts[row], starts[row + 1]):
            flows[row * n + packets[p], 0] += 1


@compiled
def _follow_flows(
    arrival: I64,
    source: I32,
    destination: I32,
    window: tuple[int, int],
    counted: int,
    row_of: I32,
    flows: I32,
    totals: I64,
) -> None:
    """Count deliveries per flow. A flow keeps the latest arrival, from 1, that was delivered."""
    begin, end = window
    n, last = len(row_of), end - begin
    rows = len(flows) // n
    starts, packets = _group(source, destination, arrival, begin, row_of, rows)
    for row in range(rows):
        for p in range(starts[row], starts[row + 1]):
            f, since = row * n + (packets[p] & _LOW), packets[p] >> 32
            if 0 < since <= last:
                totals[4] += 1
                if since < flows[f, 2]:
                    totals[5] += 1
            flows[f, 1] += counted
            flows[f, 2] = max(flows[f, 2], since)


@compiled
def _count_deliveries(
    slot: int,
    ends: I64,
    arrival: I64,
    source: I32,
    destination: I32,
    hops: I32,
    window: tuple[int, int],
    counted: int,
    of_source: I64,
    of_destination: I64,
    histogram: I64,
    delays: I64,
    packets: I64,
    shift: int,
    totals: I64,
) -> None:
    """Count deliveries, and the delays of tagged packets."""
    begin, end = window
    p, longest, last = 0, totals[2], totals[6]
    delivered, total, hop = 0, 0, 0
    for k in range(len(ends)):
        while p < ends[k]:
            a = arrival[p]
            of_source[source[p], 1] += counted
            of_destination[destination[p], 1] += counted
            if begin <= a < end:
                delay = slot + k - a + 1
                histogram[_bucket(delay)] += 1
                delays[(a - begin) >> shift] += delay
                packets[(a - begin) >> shift] += 1
                delivered += 1
                total += delay
                hop += hops[p]
                longest = max(longest, delay)
                last = slot + k
            p += 1
    totals[0] += delivered
    totals[1] += total
    totals[2], totals[6] = longest, last
    totals[3] += hop
