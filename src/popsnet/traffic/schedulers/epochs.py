"""epochs: off-line schedules of the packets that wait, one after another."""

from __future__ import annotations

import numpy as np

from popsnet.coins import Coins
from popsnet.network import Network
from popsnet.routing.facts import Words
from popsnet.schedules import Demand
from popsnet.schedules.construction import make_two_hops
from popsnet.schedules.schedule import TO_DESTINATION
from popsnet.slot import Slot
from popsnet.traffic.live_parts import LiveParts
from popsnet.traffic.memory import Arrived, TrafficMemory
from popsnet.traffic.scheduler import DEAD, Running, register_scheduler
from popsnet.traffic.schedulers.detours import Hops, around, hops_of
from popsnet.traffic.schedulers.two_hops import deliver


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
    takes_map=True,
    words=Words(
        "When a schedule has ended, the packets that wait are scheduled without conflicts, in two "
        "hops, by an edge colouring.",
        {"to relay": "Packets go to relays.", "to destination": "Packets go to destinations.",
         "idle": "No packet waits."},
    ),
)  # fmt: skip
def epochs(
    network: Network, public: Coins, coins: Coins, memory: TrafficMemory,
    known: LiveParts | None = None,
) -> Running:  # fmt: skip
    """Schedule all packets that wait, execute the schedule, and begin again.

    A schedule takes 2·max(h, ⌈Δ/g⌉) slots, where h is the largest number of packets of a processor
    and Δ that of a group, sent or received. A relay holds a packet for one slot. If dead parts are
    known, packets that would use them are sent afterwards, in rounds of two slots.
    """
    waiting: list[np.ndarray] = []
    slots: list[Hops] = []
    number = 0
    while True:
        arrived: Arrived = yield None
        waiting.append(np.array(arrived))
        if not slots:
            rows = np.concatenate(waiting, axis=1).astype(np.int64)
            waiting, number = [], 0
            if rows.shape[1]:
                demand = Demand(network, rows[0], rows[2])
                schedule = make_two_hops(demand)
                slots = hops_of(schedule) if known is None else around(schedule, demand, known)
        if not slots:
            yield Slot(phase="idle")
            continue
        senders, listeners, positions, phase = slots[number]
        packets, is_last = rows[1][positions], phase == TO_DESTINATION
        inbox = yield Slot.send_packets(
            senders, network.group(listeners), (listeners, network.group(senders)), packets=packets,
            phase=phase, conflict_free=True,
        )  # fmt: skip
        memory.drop(senders, packets)
        if is_last:
            deliver(inbox, memory)
        else:
            memory.store(inbox.receivers, inbox.packets)
        number += 1
        if number == len(slots):
            slots = []
