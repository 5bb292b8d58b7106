"""Exchanges between pairs of processors: of packets to sort, and of values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from popsnet.base.compiled import compiled
from popsnet.model.loops import plain
from popsnet.model.medium import hashed_bytes
from popsnet.model.memory import Memory
from popsnet.model.network import I32, I64, Network
from popsnet.model.slot import NO_PACKET, Exchange, Inbox, Ints, Kind, Slot, Slots
from popsnet.programs.routers.deterministic.pairs import Pairs, pair_up
from popsnet.programs.schedules.cache import kept_bytes
from popsnet.programs.schedules.schedule import TO_DESTINATION
from popsnet.theory.sorting import ComparatorStage


def sorting_bytes(network: Network, stages: int) -> int:
    """Return the memory of sorting: the schedules of all stages, and what one of them takes.

    That is packets, destinations and keys, twice if they are heard, pairs with their colours, a
    slot and its inbox.
    """
    n = network.n
    return kept_bytes(stages * n) + 80 * n + hashed_bytes(network, n)


class SortedPackets:
    """One packet per processor to sort, with the key made of its destination."""

    def __init__(self, network: Network, destination: Ints, keys: I64, memory: Memory) -> None:
        self.network = network
        self.packets: I32 = np.arange(len(destination), dtype=np.int32)
        self.destinations: I32 = plain(destination).copy()
        self.keys = keys
        self.memory = memory

    def sort(self, stages: Iterable[ComparatorStage], place: Ints, of: str, step: int = 0) -> Slots:
        """Send packets through the stages of a comparator network with wire q at ``place[q]``."""
        for number, stage in enumerate(stages, start=1):
            pairs = pair_up(self.network, place[stage.low], place[stage.high])
            yield from self._keep_smaller_low(pairs, f"{of} stage {number}: ", step)

    def _keep_smaller_low(self, pairs: Pairs, of: str, step: int) -> Slots:
        """Execute a stage: partners send each other copies, and each keeps one of the two.

        The low end keeps the smaller key. Both see both destinations and so decide alike: one drops
        what the other keeps. A processor holds its own packet, one that it relays and, in later
        rounds for d > g, its partner's: two packets for one round, three for several. One that
        hears nothing, because of a fault, keeps its own.
        """
        memory, schedule, own = self.memory, pairs.schedule, self.packets[pairs.ends]
        heard, targets = np.full_like(own, NO_PACKET), np.full_like(own, NO_PACKET)
        for number, messages in enumerate(schedule.messages):
            senders, listeners, rows, from_relay, _, phase = messages
            inbox = yield schedule.slot(number, own, of, step)
            if from_relay[:1].any():  # then all are
                memory.drop(senders, own[rows])
            memory.store(inbox.receivers, inbox.packets)
            if phase == TO_DESTINATION:
                rows = heard_rows(rows, listeners, inbox)
                heard[rows], targets[rows] = inbox.packets, inbox.destinations
        both = self.packets, self.destinations, self.keys
        dropped = _decide(pairs.low, pairs.high, *both, heard, targets)
        hears = dropped != NO_PACKET
        memory.drop(pairs.ends[hears], dropped[hears])

    def send(
        self, senders: Ints, groups: Ints, listening: tuple[Ints, Ints], phase: str
    ) -> Exchange[Inbox]:
        """Let these processors send their packets, and drop them, in a slot without conflict."""
        packets = self.packets[senders]
        inbox = yield Slot.send_packets(
            senders, groups, listening, packets=packets, phase=phase, conflict_free=True
        )
        self.memory.drop(senders, packets)
        return inbox


def swap_values(
    pairs: Pairs, values: npt.NDArray[Any], of: str, bits: int | None = None
) -> Exchange[npt.NDArray[Any]]:
    """Exchange values in every pair, and return the values that all processors then have.

    A processor that hears nothing, because of a fault, keeps its own value.
    """
    schedule, carried = pairs.schedule, values[pairs.ends]
    has_value = np.ones(len(carried), dtype=np.bool_)
    for number in range(schedule.slots):
        slot = schedule.slot(number, None, of)
        rows = schedule.transmissions(number)[2]
        slot = replace(slot, packets=None, kind=Kind.CONTROL, contents=carried[rows], bits=bits)
        inbox = yield slot if has_value[rows].all() else slot.only(sending=has_value[rows])
        heard = heard_rows(rows, slot.listeners, inbox)
        carried[heard] = inbox.contents
        has_value[rows] = False
        has_value[heard] = True
    learned = values.copy()
    learned[np.concatenate((pairs.high, pairs.low))[has_value]] = carried[has_value]
    return learned


def heard_rows(rows: I32, listeners: Ints, inbox: Inbox) -> I32:
    """Return the rows of the listeners that heard something: all, unless there are faults."""
    if len(inbox.receivers) == len(listeners):
        return rows
    return rows[np.isin(listeners, inbox.receivers)]


@compiled
def _decide(
    low: I32, high: I32, packets: I32, destinations: I32, keys: I64, heard: I32, targets: I32
) -> I32:
    """Decide what each end drops, if it hears something, and let it keep the other packet.

    The high end hears what the low end sent, and vice versa.
    """
    m = len(low)
    dropped = heard.copy()
    for i in range(m):
        j, k = low[i], high[i]
        dropped[i], dropped[m + i] = heard[m + i], heard[i]
        if keys[j] <= keys[k]:
            continue
        first, second = keys[j], keys[k]
        if heard[m + i] != NO_PACKET:
            dropped[i], packets[j], destinations[j] = packets[j], heard[m + i], targets[m + i]
            keys[j] = second
        if heard[i] != NO_PACKET:
            dropped[m + i], packets[k], destinations[k] = packets[k], heard[i], targets[i]
            keys[k] = first
    return dropped
