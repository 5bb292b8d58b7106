"""Exchanges between pairs of processors: of packets to sort, and of values."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from popsnet.compiled import compiled
from popsnet.couplers import hashed_bytes
from popsnet.memory import Memory, plain
from popsnet.network import Network
from popsnet.routing.deterministic.pairs import I32, Pairs, pair_up
from popsnet.schedules.cache import kept_bytes
from popsnet.schedules.schedule import TO_DESTINATION
from popsnet.slot import Inbox, Ints, Kind, Slot
from popsnet.sorting import ComparatorStage

I64 = npt.NDArray[np.int64]


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

    def sort(
        self, stages: Iterable[ComparatorStage], place: Ints, of: str, step: int = 0
    ) -> Generator[Slot, Inbox, None]:
        """Send packets through the stages of a comparator network with wire q at ``place[q]``."""
        for number, stage in enumerate(stages, start=1):
            pairs = pair_up(self.network, place[stage.low], place[stage.high])
            yield from self._keep_smaller_low(pairs, f"{of} stage {number}: ", step)

    def _keep_smaller_low(self, pairs: Pairs, of: str, step: int) -> Generator[Slot, Inbox, None]:
        """Execute a stage: partners send each other copies, and each keeps one of the two.

        The low end keeps the smaller key. Both see both destinations and so decide alike: one drops
        what the other keeps. A processor holds its own packet, one that it relays and, in later
        rounds for d > g, its partner's: two packets for one round, three for several.
        """
        memory, schedule, own = self.memory, pairs.schedule, self.packets[pairs.ends]
        heard, targets = np.empty_like(own), np.empty_like(own)
        for number, messages in enumerate(schedule.messages):
            senders, listeners, rows, from_relay, _, phase = messages
            inbox = yield schedule.slot(number, own, of, step)
            assert len(inbox.receivers) == len(listeners)
            if from_relay[:1].any():  # then all are
                memory.drop(senders, own[rows])
            memory.store(listeners, inbox.packets)
            if phase == TO_DESTINATION:
                heard[rows], targets[rows] = inbox.packets, inbox.destinations
        both = self.packets, self.destinations, self.keys
        memory.drop(*_decide(pairs.low, pairs.high, *both, heard, targets))

    def send(
        self, senders: Ints, groups: Ints, listening: tuple[Ints, Ints], phase: str
    ) -> Generator[Slot, Inbox, Inbox]:
        """Let these processors send their packets, and drop them, in a slot without conflict."""
        packets = self.packets[senders]
        inbox = yield Slot.send_packets(
            senders, groups, listening, packets=packets, phase=phase, conflict_free=True
        )
        self.memory.drop(senders, packets)
        return inbox


def swap_values(
    pairs: Pairs, values: npt.NDArray[Any], of: str, bits: int | None = None
) -> Generator[Slot, Inbox, npt.NDArray[Any]]:
    """Exchange values in every pair, and return the values that all processors then have."""
    schedule, carried = pairs.schedule, values[pairs.ends]
    for number in range(schedule.slots):
        slot = schedule.slot(number, None, of)
        rows = schedule.transmissions(number)[2]
        inbox = yield replace(
            slot, packets=None, kind=Kind.CONTROL, contents=carried[rows], bits=bits
        )
        assert inbox.contents is not None
        carried[rows] = inbox.contents
    learned = values.copy()
    learned[np.concatenate((pairs.high, pairs.low))] = carried
    return learned


@compiled
def _decide(
    low: I32, high: I32, packets: I32, destinations: I32, keys: I64, heard: I32, targets: I32
) -> tuple[I32, I32]:
    """Decide what each end drops. The high end hears what the low end sent, and vice versa."""
    m = len(low)
    dropped = np.empty(2 * m, dtype=np.int32)
    for i in range(m):
        j, k = low[i], high[i]
        if keys[j] <= keys[k]:
            dropped[i], dropped[m + i] = heard[m + i], heard[i]
            continue
        dropped[i], dropped[m + i] = packets[j], packets[k]
        packets[k], packets[j] = heard[i], heard[m + i]
        destinations[k], destinations[j] = targets[i], targets[m + i]
        keys[j], keys[k] = keys[k], keys[j]
    return np.concatenate((low, high)), dropped
