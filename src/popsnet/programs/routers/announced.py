"""Demands served after announcements: within groups, or to all processors.

Both are deterministic and free of collisions, and serve as relations of the router ``direct``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from popsnet.base.errors import SizeError
from popsnet.base.system import available_memory, format_bytes
from popsnet.model.coins import Coins
from popsnet.model.memory import Memory
from popsnet.model.network import I32, I64, Bools, Network
from popsnet.model.slot import Exchange, Ints, Slot, Slots
from popsnet.programs.facts import explained
from popsnet.programs.router import register_relation
from popsnet.programs.routers.direct import direct_slots, listening_in
from popsnet.programs.routers.to_all import one_per_coupler
from popsnet.programs.schedules.cache import schedule_buffers, schedule_demand
from popsnet.programs.schedules.colouring.colouring import colour_edges
from popsnet.programs.schedules.demand import Demand, most
from popsnet.programs.schedules.schedule import deliver_home, ranks

_WITHIN = "announce within groups"
_ACROSS = "announce to all groups"
_PASSED = "pass the lists on"
_PHASE = "to destination"


class _Lists(NamedTuple):
    """What every processor announces: the destinations of its packets, in its own order.

    A destination j is announced as j + 1, and 0 stands for no further packet.
    """

    table: I32
    """A row per processor."""
    packets: I32
    """The packets, by source, and those of a source in its own order."""

    @classmethod
    def of(cls, network: Network, start: I32, destination: Ints, packets: I32) -> _Lists:
        """Return the lists of some packets."""
        packets = packets[np.argsort(start[packets], kind="stable")]
        source = start[packets]
        table = np.zeros((network.n, max(most(start), 1)), dtype=np.int32)
        table[source, ranks(source, network.n)] = destination[packets] + 1
        return cls(table, packets)

    def bits(self, network: Network) -> int:
        """Return the bits of the longest list."""
        return int(self.table.shape[1]) * network.n.bit_length()


def deliver_local(destination: Ints, memory: Memory) -> I32:
    """Deliver the packets that start at their destinations, and return the others."""
    at_home = memory.start == destination
    packets = np.flatnonzero(at_home).astype(np.int32)
    deliver_home(memory, memory.start[packets], packets)
    return np.flatnonzero(~at_home).astype(np.int32)


def _rows(lists: I32) -> tuple[I64, I32]:
    """Return the row and the destination of every packet in lists that were announced."""
    row, place = np.nonzero(lists)
    return row, lists[row, place] - 1


def _tell_groups(
    network: Network, contents: Ints, bits: int, turns: int, speaks: Bools, phase: str
) -> Exchange[Bools]:
    """Let processors tell their groups what they know, by index; return who heard all."""
    processors = network.processors
    group, index = network.group(processors), network.index(processors)
    informed = np.ones(network.n, dtype=np.bool_)
    for turn in range(turns):
        speakers = processors[(index == turn) & speaks]
        inbox = yield Slot.send_control(
            speakers, group[speakers], group, contents=contents[speakers], bits=bits, phase=phase,
            conflict_free=True,
        )  # fmt: skip
        informed &= np.isin(processors, inbox.receivers)
    return informed


@register_relation("direct", "in-groups", words=explained("direct in-groups", "direct in-groups"))
def in_groups(network: Network, destination: Ints, coins: Coins, memory: Memory) -> Slots:
    """Send every packet straight to its destination, in rounds of max(d, g) slots.

    As in :func:`~popsnet.programs.routers.direct.direct`, destination (b, m) listens in slot t of a
    round to the group a with a + m ≡ t mod max(d, g), so it need not know who sends. In that slot
    group a may send one packet to each (b, m), and each processor of it one packet: the packets of
    group a for indices m are edges between its processors and the groups b. A colouring of these
    edges gives the rounds, as many as the largest degree Δ: the most packets that a processor has
    for destinations with one index, or a group for one destination. Each group computes it for
    itself, after its processors have announced their packets in d slots. So it takes at most d +
    Δ·max(d, g) slots, Δ ≤ h, and no processor has to know Δ or h: as in every router the run ends
    with the last delivery, which only the simulation sees.

    A processor that missed an announcement, because of a fault, cannot compute the rounds. It
    knows that it did, because every processor announces its list, and sends nothing.
    """
    period, processors = direct_slots(network), network.processors
    lists = _Lists.of(network, memory.start, destination, deliver_local(destination, memory))
    turns = network.d if network.d > 1 else 0  # a processor knows its own list
    everyone = np.ones(network.n, dtype=np.bool_)
    informed = yield from _tell_groups(
        network, lists.table, lists.bits(network), turns, everyone, _WITHIN
    )
    source, to = _rows(lists.table)  # what every processor that is informed has heard
    rounds = _rounds(network, source, to)
    slot = rounds * period + (network.group(source) + network.index(to)) % period
    order = np.argsort(slot, kind="stable")
    ends = np.searchsorted(slot[order], np.arange(int(slot.max(initial=-1)) + 2))
    for t in range(len(ends) - 1):
        now = order[ends[t] : ends[t + 1]]
        now = now[informed[source[now]]]
        senders, packets = source[now].astype(np.int32), lists.packets[now]
        inbox = yield Slot.send_packets(
            senders, network.group(destination[packets]), listening_in(network, processors, t),
            packets=packets, phase=_PHASE, step=t // period, conflict_free=True,
        )  # fmt: skip
        memory.drop(senders, packets)
        mine = inbox.destinations == inbox.receivers
        memory.deliver(inbox.receivers[mine], inbox.packets[mine])


def _rounds(network: Network, source: I64, to: I32) -> I64:
    """Return the round of each packet, which the group of its source computes."""
    rounds = np.zeros(len(source), dtype=np.int64)
    by, index = network.group(source), network.index(to)
    starts = np.searchsorted(by, np.arange(network.g + 1))
    for a in range(network.g):
        own = slice(starts[a], starts[a + 1])
        left = index[own] * network.d + network.index(source[own])
        right = index[own] * network.g + network.group(to[own])
        ends = (np.unique(side, return_inverse=True)[1] for side in (left, right))
        rounds[own] = colour_edges(*ends)
    return rounds


@register_relation(
    "direct", "to-all", buffers=schedule_buffers, words=explained("direct to-all", "direct to-all")
)
def to_all(network: Network, destination: Ints, coins: Coins, memory: Memory) -> Slots:
    """Announce all packets to all processors in d⌈g/d⌉ + min(d, g) slots, and follow a schedule.

    In d⌈g/d⌉ slots every processor sends its list of destinations to all groups, and processor
    (x, l) listens to the groups l, l + d, … in turn. Then (x, l) passes the lists that it has heard
    on to group x, in one message. Now all processors know all packets, and compute the schedule
    that the router ``offline`` would follow. These messages are large: each holds the lists of
    ⌈g/d⌉ groups, up to h·max(d, g) numbers if d and g divide each other.

    A processor that missed a list, because of a fault, takes no part in what follows.
    """
    every = np.arange(len(destination), dtype=np.int32)
    lists = _Lists.of(network, memory.start, destination, every)
    _require_room(network, lists)
    heard, complete = yield from _announce_across(network, lists)
    bits, turns = lists.bits(network) * heard.shape[1] * network.d, min(network.d, network.g)
    informed = yield from _tell_groups(network, heard, bits, turns, complete, _PASSED)
    source, to = _rows(lists.table)  # what every processor that is informed has heard
    schedule = schedule_demand(Demand(network, source, to)).renumbered(lists.packets)
    yield from schedule.follow(memory, None if informed.all() else informed)


def _announce_across(network: Network, lists: _Lists) -> Exchange[tuple[I32, Bools]]:
    """Let every group hear all lists; return them by hearer, turn and speaker, and who has all."""
    d, g, processors = network.d, network.g, network.processors
    index = network.index(processors)
    turns = -(-g // d)
    heard = np.zeros((network.n, turns, d, lists.table.shape[1]), dtype=np.int32)
    complete = np.ones(network.n, dtype=np.bool_)
    for turn in range(turns):
        listeners, listened = one_per_coupler(network, turn * d)
        for spoken in range(d):
            speakers = processors[index == spoken]
            inbox = yield Slot.broadcast(
                speakers, g, (listeners, listened), contents=lists.table[speakers],
                bits=lists.bits(network), phase=_ACROSS, conflict_free=True,
            )  # fmt: skip
            heard[inbox.receivers, turn, spoken] = inbox.contents
            complete[listeners] &= np.isin(listeners, inbox.receivers)
    return heard, complete


def _require_room(network: Network, lists: _Lists) -> None:
    """Refuse lists that all processors together cannot hear here."""
    per_processor = -(-network.g // network.d) * network.d * lists.table.shape[1]
    needed = 3 * 4 * network.n * per_processor
    if needed > available_memory():
        raise SizeError(
            f"The announcements of direct (to-all) need about {format_bytes(needed)} on {network}, "
            f"{format_bytes(available_memory())} are available here; use direct:in-groups or relay."
        )
