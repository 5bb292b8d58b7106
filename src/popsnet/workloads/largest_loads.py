"""The largest load of a pattern that any scheduler can carry, and the largest for one hop.

In a slot a group of POPS(d, g) sends at most M = min(d, g) packets: each of its d processors sends
one message, and each of the g couplers that leave the group carries one. It hears at most M for the
same reason: each of its d processors listens to one coupler, and g couplers lead to the group.
With W wavelengths a coupler carries W messages per slot, and M = min(d, gW).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from popsnet.base.errors import wrong
from popsnet.model.network import F64, I64, Network

if TYPE_CHECKING:
    from popsnet.model.faults.live_parts import LiveParts


_TINY = 1e-300
_ROUNDING = 1e-9
"""Loads above a bound by less than this, relatively, are taken for the bound itself."""


@dataclass(frozen=True, eq=False)
class Rates:
    """How a pattern loads a network: packets per slot at a mean load of 1.

    At a mean load of x all rates are multiplied by x.

    Examples
    --------
    >>> from popsnet import Network
    >>> from popsnet.workloads.patterns import resolve_pattern
    >>> rates = resolve_pattern("group-shift", Network(4, 3)).rates()
    >>> rates.source, rates.group_out, rates.pair
    (1.0, 4.0, 4.0)
    """

    source: float
    """The largest rate at which a processor sends its own packets."""
    destination: float
    """The largest rate of packets for one processor."""
    group_out: float
    """The largest rate of packets from one group."""
    group_in: float
    """The largest rate of packets for one group."""
    pair: float
    """The largest rate of packets from one group to one group."""
    pairs: F64
    """The rates above 1 from one group to one group, in descending order. No other rate between
    groups matters to a bound, as no load is above 1. They add up to at most n, so there are at
    most n of them, however many pairs of groups the network has."""
    counts: I64
    """The number of pairs of groups that have each of these rates."""

    @staticmethod
    def of(
        *, source: float = 1, destination: float = 1, group_out: float, group_in: float,
        pairs: npt.ArrayLike, counts: npt.ArrayLike = 1,
    ) -> Rates:  # fmt: skip
        """Return rates, given those of all pairs of groups and how many pairs have each.

        A count of 0 is allowed. Pairs that send nothing can be left out.
        """
        values = np.atleast_1d(np.asarray(pairs, np.float64))
        numbers = np.broadcast_to(np.asarray(counts, np.int64), values.shape)
        values, numbers = values[numbers > 0], numbers[numbers > 0]
        order = np.argsort(-values, kind="stable")
        order = order[: np.count_nonzero(values > 1)]
        largest = float(values.max(initial=0))
        return Rates(
            float(source), float(destination), float(group_out), float(group_in), largest,
            values[order], numbers[order],
        )  # fmt: skip


class Limit(NamedTuple):
    """A largest load, and why it is one."""

    name: str
    """The name of the bound."""
    load: float
    """The largest mean load, in packets per processor and slot."""
    meaning: str
    """The rule that gives the bound."""


@dataclass(frozen=True)
class Bounds:
    """The largest mean load of a pattern, by several rules.

    Notes
    -----
    Every rule compares packets per slot in the long run. Let x be the load.

    *rows*: a source sends each of its packets at least once, and one message per slot.

    *columns*: a destination hears each of its packets, and one coupler per slot.

    *groups out*, *groups in*: a group sends, and hears, at most M packets per slot, as the top of
    this module proves. A packet that is sent to several groups at once is one packet.

    *hops*: the way of a packet is a sequence of hops, each in a slot of its own, and in a slot all
    groups together send at most g·M packets. So at most g·M hops are made per slot. A packet from
    group a to group b that makes one hop uses coupler c(b, a), which carries one message per slot.
    If such packets come at a rate x·r, at least x·r - 1 of them per slot make two hops or more.
    With the sum of all rates n, the load satisfies n·x + Σ max(0, x·r - 1) ≤ g·M. The left side is
    the maximum, over all sets of k pairs, of (n + the sum of their rates)·x - k, and for each k the
    k largest rates give the largest value. So x ≤ (g·M + k) / (n + the sum of the k largest rates)
    for every k, and the least of these numbers is the bound.

    *pairs*: with one hop per packet, all packets from group a to group b use coupler c(b, a).

    With W wavelengths a coupler carries W messages per slot: *hops* has x·r - W in place of x·r - 1
    and g·M + kW in place of g·M + k, and *pairs* allows W packets per slot.

    g need not divide d: no rule supposes it.

    Examples
    --------
    >>> from popsnet import Network
    >>> from popsnet.workloads.patterns import resolve_pattern
    >>> bounds = resolve_pattern("group-shift", Network(8, 8)).bounds()
    >>> bounds.any.name, bounds.any.load
    ('hops', 0.5625)
    >>> bounds.one_hop.load
    0.125
    """

    rows: float
    columns: float
    groups_out: float
    groups_in: float
    hops: float
    pairs: float
    network: Network
    carried: int | None = None
    """The packets that all groups together can send per slot, if parts are dead."""

    @staticmethod
    def of(network: Network, rates: Rates) -> Bounds:
        """Return the bounds of a pattern with these rates."""
        most = min(network.d, network.channels)
        return Bounds(
            _over(1, rates.source), _over(1, rates.destination), _over(most, rates.group_out),
            _over(most, rates.group_in), _hops(network, rates),
            _over(network.wavelengths, rates.pair), network,
        )  # fmt: skip

    @staticmethod
    def with_faults(network: Network, flows: F64, live: LiveParts, paths: str) -> Bounds:
        """Return the bounds of a pattern on a network with dead parts.

        Parameters
        ----------
        network : Network
            The network.
        flows : array of float
            The rates from each processor to each, n × n, at a mean load of 1.
        live : LiveParts
            The parts that work.
        paths : str
            The paths of the scheduler. Flows without one are not carried and do not count.

        Notes
        -----
        A group with f dead couplers that leave it, and t dead transmitters, sends at most
        min(d - t, (g - f)·W) packets per slot, and what it hears is bounded in the same way. The
        sum of these numbers over all groups takes the place of g·M in the rule of hops, and packets
        of a pair of groups whose coupler is dead all make two hops or more. A dead coupler is dead
        on all of its wavelengths.
        """
        d, g, several = network.d, network.g, network.wavelengths
        rates = np.where(live.reachable(paths), flows, 0.0)
        pairs = rates.reshape(g, d, g, d).sum(axis=(1, 3))
        works = live.couplers.T  # from a to b
        out = np.minimum(live.sends.reshape(g, d).sum(axis=1), several * works.sum(axis=1))
        into = np.minimum(live.hears.reshape(g, d).sum(axis=1), several * works.sum(axis=0))
        alive = np.sort(pairs[works])[::-1]
        sums = np.concatenate(([0.0], np.cumsum(alive))) + rates.sum() + pairs[~works].sum()
        hops = (int(out.sum()) + several * np.arange(len(sums))) / np.maximum(sums, _TINY)
        return Bounds(
            _over(1, rates.sum(axis=1).max()), _over(1, rates.sum(axis=0).max()),
            _least(out, pairs.sum(axis=1)), _least(into, pairs.sum(axis=0)),
            float(hops.min()) if rates.any() else float("inf"),
            _over(several, alive.max(initial=0)), network, int(out.sum()),
        )  # fmt: skip

    @property
    def any(self) -> Limit:
        """The largest load for any scheduler: the least of all bounds but *pairs*."""
        return min(self.report_rows()[:-1], key=lambda bound: bound.load)

    @property
    def one_hop(self) -> Limit:
        """The largest load for schedulers that send every packet once: the least of all bounds."""
        return min(self.report_rows(), key=lambda bound: bound.load)

    def report_rows(self) -> list[Limit]:
        """Return all bounds for printing: name, load and meaning."""
        most, several = min(self.network.d, self.network.channels), self.network.wavelengths
        coupler, number = ("coupler", "one") if several == 1 else ("channel", several)
        out = into = f"at most {most} per slot"
        carried, dead, pair = self.network.g * most, "", "a group sends a group"
        if self.carried is not None:
            out, into = (
                f"at most one packet per slot and live {part} or {coupler}"
                for part in ("transmitter", "receiver")
            )
            carried, dead = self.carried, ", or 0 if the coupler is dead"
            pair = "a live coupler carries"
        hops = (
            f"at most {carried} messages fit in a slot, {several} per pair of groups{dead}; what a "
            "pair has above that takes two hops"
        )
        return [
            Limit("rows", self.rows, "a processor sends at most one packet per slot"),
            Limit("columns", self.columns, "a processor hears at most one packet per slot"),
            Limit("groups out", self.groups_out, f"a group sends {out}"),
            Limit("groups in", self.groups_in, f"a group hears {into}"),
            Limit("hops", self.hops, hops),
            Limit("pairs", self.pairs, f"one hop: {pair} at most {number} per slot"),
        ]


def require_admissible(bounds: Bounds, load: float) -> None:
    """Refuse a load that no scheduler can carry.

    Parameters
    ----------
    bounds : Bounds
        The bounds of the pattern.
    load : float
        The mean number of packets per processor and slot.

    Raises
    ------
    InputError
        If the load is above the bound for any scheduler.

    Examples
    --------
    >>> from popsnet import Network
    >>> from popsnet.workloads.largest_loads import require_admissible
    >>> from popsnet.workloads.patterns import resolve_pattern
    >>> require_admissible(resolve_pattern("group-shift", Network(8, 8)).bounds(), 0.5)
    """
    bound = bounds.any
    if load > bound.load * (1 + _ROUNDING):
        raise wrong("load", f"{load:g}", "overload")(
            f"on {bounds.network} no scheduler can carry more than {bound.load:.6g} packets per "
            f"processor and slot of this pattern ({bound.name}: {bound.meaning}). Choose a smaller "
            "load; overload = True allows it."
        )


def _least(most: npt.NDArray[np.signedinteger[Any]], rates: F64) -> float:
    """Return the largest load of the group that can carry the least of its rate."""
    return min(_over(*pair) for pair in zip(most.tolist(), rates.tolist(), strict=True))


def _over(most: float, rate: float) -> float:
    return most / rate if rate > 0 else float("inf")


def _hops(network: Network, rates: Rates) -> float:
    capacity = network.g * min(network.d, network.channels)
    pairs = np.concatenate(([0], np.cumsum(rates.counts))) * network.wavelengths
    sums = np.concatenate(([0.0], np.cumsum(rates.pairs * rates.counts)))
    return float(((capacity + pairs) / (network.n + sums)).min())
