"""Demands served by folds, four slots each, until all packets have arrived."""

from __future__ import annotations

from itertools import count

import numpy as np

from popsnet.base.compiled import compiled
from popsnet.base.splitmix import word
from popsnet.model.coins import Coins
from popsnet.model.memory import Memory
from popsnet.model.network import I32, U64, Bools, Network
from popsnet.model.slot import Ints, Slot, Slots
from popsnet.programs.routers.announced import deliver_local
from popsnet.programs.routers.to_all import among, broadcast
from popsnet.programs.schedules.schedule import ranks

FOLDS_PER_STEP = 16
"""The folds that count as a step, so that ``max_steps`` allows for long demands."""


_SEED = "folds seed"
_TRY = "folds try"
_PLACE = "folds place"

_HALVING = 4
"""After this many failures a packet is tried half as often."""


def folds(network: Network, destination: Ints, coins: Coins, memory: Memory) -> Slots:
    """Serve a demand by folds: attempt, forward, confirm and acknowledge, without end.

    It is the stage F of the schedules, for any number of packets per processor. In slot 1 processor
    0 sends a seed to all. In each fold destination (b, l) has its relay group T = l + a public
    number of b mod g, drawn anew. Every source tries one of its packets at random. A packet that
    failed f times takes part with probability min(1, g/d)·2^(-f/4): many packets for few
    destinations would otherwise destroy each other for ever, since those of one group for one
    destination meet on the same coupler in every fold.

    Relay (T, a) hears at most one packet from group a, and forwards it. For d < g a group has too
    few processors to hear all groups, so the groups that T hears change from fold to fold, and
    sources try only packets whose T hears them. Destinations listen to their T.

    Nothing is lost: a source drops its packet only after an ack, and an ack starts at the
    destination. The last two slots are free of conflicts: at most one packet passed c(b, T), so one
    destination of b confirms to T, and only (T, a) sends acks to a, for the one packet that it
    heard. A packet that was delivered is therefore acknowledged in the same fold.

    With many packets per source and d = g, a fold delivers a share of 0.2546 of the couplers, so h
    packets per processor take about 15.7h slots. No processor knows h. As in other routers the run
    ends when every source has its acks, and only the simulation sees that.
    """
    pending = deliver_local(destination, memory)
    if not len(pending):
        return
    seed = int(coins.words(_SEED, 0, np.arange(1))[0])
    knows = yield from broadcast(network, seed, phase="seed")
    yield from among(knows, _serve(network, destination, coins, memory, pending, Coins(seed)))


def _serve(
    network: Network, destination: Ints, coins: Coins, memory: Memory, pending: I32, public: Coins
) -> Slots:
    """Execute folds, in which processors that have heard the seed take part."""
    group, processors = network.group, network.processors
    own = _Pending(network, pending, memory.start)
    for fold in count():
        if not len(own.packets):
            return
        step, places = fold // FOLDS_PER_STEP, FoldPlaces(network, public, _PLACE, fold)
        relays = places.relay_group(destination[own.packets])
        words = coins.words(_TRY, fold, processors)
        tried = own.choose(words, places.is_open(own.source, relays))
        sources, packets, relays = own.source[tried], own.packets[tried], relays[tried]
        held = yield Slot.send_packets(
            sources, relays, places.listening(), packets=packets, phase="folds: attempt", step=step
        )
        memory.store(held.receivers, held.packets)
        targets = group(held.destinations)
        heard = yield Slot.forward(
            held, targets, places.relay_group(processors), phase="folds: delivery", step=step
        )
        mine = heard.at(heard.destinations == heard.receivers)
        memory.deliver(mine.receivers, mine.packets)
        confirmed = yield Slot.acknowledge(
            mine, mine.groups, (held.receivers, targets), phase="folds: destinations confirm",
            step=step, conflict_free=True,
        )  # fmt: skip
        arrived = np.isin(held.receivers, confirmed.receivers)
        copies = held.at(~(arrived & (held.receivers == held.destinations)))
        memory.drop(copies.receivers, copies.packets)
        passed = held.at(arrived)
        acks = yield Slot.acknowledge(
            passed, passed.groups, (sources, relays), phase="folds: acks", step=step,
            conflict_free=True,
        )  # fmt: skip
        done = np.isin(sources, acks.receivers)
        memory.drop(sources[done], packets[done])
        own.conclude(tried, done)


class FoldPlaces:
    """Through which group packets reach each destination in one fold.

    The coins of ``purpose`` decide, which all processors know.
    """

    def __init__(self, network: Network, public: Coins, purpose: str, fold: int) -> None:
        self._network, self._turn = network, fold * network.d % network.g
        self._shift = public.draws(network.g, purpose, fold, np.arange(network.g))

    def relay_group(self, destinations: Ints) -> I32:
        """Return the relay group of packets for these destinations."""
        network = self._network
        shift = self._shift[network.group(destinations)]
        return ((network.index(destinations) + shift) % network.g).astype(np.int32)

    def is_open(self, sources: Ints, relay_groups: Ints) -> Bools:
        """Return whether a processor of the relay group listens to the group of the source."""
        network = self._network
        turned = (network.group(sources) - relay_groups - self._turn) % network.g
        return turned < network.d

    def listening(self) -> tuple[Ints, Ints]:
        """Return the relays that listen, and the group of each."""
        network, processors = self._network, self._network.processors
        group, index = network.group(processors), network.index(processors)
        listens = index < network.g
        return processors[listens], ((index + group + self._turn) % network.g)[listens]


class _Pending:
    """The packets that sources still have, by source, and how often each has failed."""

    def __init__(self, network: Network, packets: I32, start: I32) -> None:
        self.packets: I32 = packets[np.argsort(start[packets], kind="stable")]
        self.source: I32 = start[self.packets]
        self._place = ranks(self.source, network.n)
        self._fails = np.zeros(len(packets), dtype=np.int32)
        first, rarest = min(1, network.g / network.d), (network.n - 1).bit_length() + 4
        tries = range(rarest * _HALVING + 1)
        limits = [round(2**32 * first * 2 ** (-fails / _HALVING)) for fails in tries]
        self._limits = np.array(limits, dtype=np.uint64)
        """The probability of a try, times 2^32, by failures."""

    def choose(self, words: U64, may: Bools) -> I32:
        """Return the places of the packets that sources try, at most one each, with their words."""
        chosen = np.full(len(words), -1, dtype=np.int32)
        limits = self._limits[self._fails.clip(max=len(self._limits) - 1)]
        _choose(self.source, self._place, limits, may, words, chosen)
        return chosen[chosen >= 0]

    def conclude(self, tried: I32, done: Bools) -> None:
        """Remove the packets that arrived, and count the failures of the others."""
        self._fails[tried[~done]] += 1
        left = np.ones(len(self.packets), dtype=np.bool_)
        left[tried[done]] = False
        self.packets, self.source = self.packets[left], self.source[left]
        self._place, self._fails = self._place[left], self._fails[left]


@compiled
def _choose(source: I32, place: I32, limits: U64, may: Bools, words: U64, chosen: I32) -> None:
    """Choose for each source one of the packets that pass their coins, each equally likely."""
    best = np.zeros(len(words), dtype=np.uint64)
    for k in range(len(source)):
        i = source[k]
        drawn = word(words[i], np.uint64(place[k]))
        high = drawn >> np.uint64(32)
        passes = may[k] and (drawn & np.uint64(0xFFFFFFFF)) < limits[k]
        if passes and (chosen[i] < 0 or high > best[i]):
            best[i], chosen[i] = high, k
