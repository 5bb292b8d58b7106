"""epochs: off-line schedules of the packets that wait, one after another.

Detours are off-line schedules of packets around dead parts, in rounds of two slots.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

import numpy as np

from popsnet.base.errors import InputError
from popsnet.model.coins import Coins
from popsnet.model.faults.live_parts import LiveParts
from popsnet.model.frame import Frame
from popsnet.model.network import Bools, Network
from popsnet.model.slot import Slot
from popsnet.model.traffic_memory import NewPackets, TrafficMemory
from popsnet.programs.facts import Explanation
from popsnet.programs.scheduler import DEAD, Running, register_scheduler
from popsnet.programs.schedulers.two_hops import deliver, send_to
from popsnet.programs.schedules import Demand
from popsnet.programs.schedules.construction import make_two_hops
from popsnet.programs.schedules.schedule import TO_DESTINATION, TO_RELAY, Messages, Schedule


def around(schedule: Schedule, demand: Demand, fault_map: LiveParts) -> Sequence[Messages]:
    """Return a schedule without the packets that would use dead parts, and their detours.

    Raises
    ------
    InputError
        If a packet has no live path of at most two hops.
    """
    slots, stuck = schedule.messages, np.zeros(len(demand.source), dtype=np.bool_)
    usable = fault_map.relays[Frame(fault_map.network).classes(fault_map.network.processors)]
    group = fault_map.network.group
    for messages in slots:
        works = fault_map.couplers[group(messages.listeners), group(messages.senders)]
        if messages.phase == TO_RELAY:
            works &= usable[messages.listeners]
        stuck[messages.packets[~works]] = True
    if not stuck.any():
        return slots
    rest = [_only(messages, ~stuck[messages.packets]) for messages in slots]
    return rest + _detours(np.flatnonzero(stuck).tolist(), demand, fault_map, usable)


def _only(hops: Messages, rows: Bools) -> Messages:
    return Messages._make([*(column[rows] for column in hops[:-1]), hops.phase])


class _Round:
    """Two slots: packets that go to relays and on to destinations, or straight in the second."""

    def __init__(self, fault_map: LiveParts, usable: Bools) -> None:
        self._fault_map, self._usable = fault_map, usable
        self._d = fault_map.network.d
        self._taken: set[tuple[str, int, int]] = set()
        self.first: list[tuple[int, int, int, bool]] = []
        self.second: list[tuple[int, int, int, bool]] = []

    def add(self, packet: int, source: int, destination: int) -> bool:
        """Add a packet if there is room for it, through a relay or straight."""
        ends = {("from", source, 0), ("to", destination, 0)}
        if ends & self._taken:
            return False
        a, b = source // self._d, destination // self._d
        for relay, used in self._ways(packet, source, a, b):
            if not used & self._taken:
                self._taken |= used | ends
                if relay != source:
                    self.first.append((source, relay, packet, False))
                self.second.append((relay, destination, packet, relay != source))
                return True
        return False

    def _ways(
        self, packet: int, source: int, a: int, b: int
    ) -> Iterable[tuple[int, set[tuple[str, int, int]]]]:
        """Yield processors that can send the packet in the second slot, and what it takes up."""
        couplers, g = self._fault_map.couplers, self._fault_map.network.g
        if couplers[b, a]:
            yield source, {("second", b, a), ("by", source, 0)}
        for step in range(g):
            via = (packet + step) % g  # so that packets begin with different groups
            if not (couplers[via, a] and couplers[b, via]):
                continue
            for relay in range(via * self._d, (via + 1) * self._d):
                if self._usable[relay] and relay != source:
                    yield relay, {("first", via, a), ("second", b, via), ("by", relay, 0)}


def _detours(
    left: list[int], demand: Demand, fault_map: LiveParts, usable: Bools
) -> list[Messages]:
    """Return rounds in which packets are added as long as there is room."""
    slots: list[Messages] = []
    source, destination = demand.source.tolist(), demand.destination.tolist()
    while left:
        detour_round = _Round(fault_map, usable)
        later = [p for p in left if not detour_round.add(p, source[p], destination[p])]
        if later == left:
            raise InputError(
                f"A packet from processor {source[left[0]]} to {destination[left[0]]} has no live "
                "path of at most two hops, so it cannot be scheduled. Leave out packets that "
                "LiveParts.reach does not reach."
            )
        left = later
        slots += [_hops(detour_round.first, TO_RELAY), _hops(detour_round.second, TO_DESTINATION)]
    return slots


def _hops(rows: list[tuple[int, int, int, bool]], phase: str) -> Messages:
    senders, listeners, packets, from_relay = np.array(rows, dtype=np.int32).reshape(-1, 4).T
    to_relay = np.full(len(rows), phase == TO_RELAY)
    return Messages(senders, listeners, packets, from_relay == 1, to_relay, phase)


def _saturation(network: Network) -> float:
    return min(1.0, network.g / network.d) / (1 if network.d == 1 else 2)


@register_scheduler(
    "epochs",
    online=False,
    summary="two hops, off-line: schedules without conflicts of all packets that wait",
    period=lambda network: 4,
    saturation=_saturation,
    any_traffic=_saturation,
    saturation_formula="min(1, g/d)/2, and 1 for d = 1; the same for any traffic whose rows and "
    "columns are at most this",
    hops="2; 1 for d = 1",
    messages="outside of the network",
    randomness="none",
    reference="A. Mei and R. Rizzi, 2003 (off-line routing)",
    paths="two hops",
    survives_known=DEAD,
    uses_fault_map=True,
    words=Explanation(
        "When a schedule has ended, the packets that wait are scheduled without conflicts, in two "
        "hops, by an edge colouring.",
        {"to relay": "Packets go to relays.", "to destination": "Packets go to destinations.",
         "idle": "No packet waits."},
    ),
)  # fmt: skip
def epochs(
    network: Network, public: Coins, coins: Coins, memory: TrafficMemory,
    fault_map: LiveParts | None = None,
) -> Running:  # fmt: skip
    """Schedule all packets that wait, execute the schedule, and begin again.

    A schedule takes 2·max(h, ⌈Δ/g⌉) slots, where h is the largest number of packets of a processor
    and Δ that of a group, sent or received. A relay holds a packet for one slot. If dead parts are
    known, packets that would use them are sent afterwards, in rounds of two slots.
    """
    waiting: list[np.ndarray] = []
    slots: deque[Messages] = deque()
    while True:
        arrived: NewPackets = yield None
        waiting.append(np.array(arrived))
        if not slots:
            rows = np.concatenate(waiting, axis=1).astype(np.int64)
            waiting = []
            if rows.shape[1]:
                demand = Demand(network, rows[0], rows[2])
                schedule = make_two_hops(demand)
                slots += (
                    schedule.messages if fault_map is None else around(schedule, demand, fault_map)
                )
        if not slots:
            yield Slot(phase="idle")
            continue
        slot = slots.popleft()
        packets = rows[1][slot.packets]
        inbox = yield send_to(network, slot.senders, packets, slot.listeners, slot.phase)
        memory.drop(slot.senders, packets)
        if slot.phase == TO_DESTINATION:
            deliver(inbox, memory)
        else:
            memory.store(inbox.receivers, inbox.packets)
