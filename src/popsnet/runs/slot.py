"""One slot of a run: who sends and listens, and the conflict graph of its step."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from msgspec import UNSET

from popsnet.base.errors import wrong
from popsnet.base.report import Column, Fact, Report, Reported, Table
from popsnet.experiment.experiment import whole_number
from popsnet.model.network import about
from popsnet.theory.conflict_graph import ConflictGraph
from popsnet.trace.reader import Header, SlotLine, TraceReader
from popsnet.trace.replay import FaultyParts

if TYPE_CHECKING:
    import networkx as nx

_SHOWN_NUMBERS = 8
_FOLDED = 16, 8
"""Couplers at the top and at the bottom of a long table."""


class CouplerUse(NamedTuple):
    """What happens on a coupler, and a wavelength, in a slot."""

    to: int
    by: int
    """The group that the coupler leads to, and the one that it comes from."""
    wavelength: int
    messages: tuple[str, ...]
    """``processor: what it sends`` for every message."""
    listeners: tuple[int, ...]
    heard: tuple[int, ...]
    """The listeners that hear the message."""

    @property
    def result(self) -> str:
        """What comes of the messages."""
        if len(self.messages) > 1:
            return "collision"
        if not self.messages:
            return "silence"
        return f"heard by {_some(self.heard)}" if self.heard else "not heard"


class _Course(NamedTuple):
    """The slots of a run, and when each packet was delivered or lost for good."""

    slots: list[SlotLine]
    delivered: dict[int, int]
    lost: dict[int, int]
    taken: dict[int, int]
    """When the destinations of packets that start there last heard them."""

    def step_of(self, slot: int) -> list[SlotLine]:
        """Return the slots of the step of a slot, as the viewer shows them."""
        first = last = slot - 1
        while first > 0 and _same_step(self.slots[first - 1], self.slots[first]):
            first -= 1
        while last + 1 < len(self.slots) and _same_step(self.slots[last], self.slots[last + 1]):
            last += 1
        return self.slots[first : last + 1]


@dataclass(frozen=True, repr=False)
class RunSlot(Reported):
    """One slot of a run, as :meth:`popsnet.Run.slot` returns it. It prints itself.

    Examples
    --------
    >>> import popsnet
    >>> print(popsnet.route(2, 2, router="direct", permutation="reversal")[0].slot(1))
    Slot 1 of 2 of direct (standard) on POPS(2, 2): to destination
    messages   2
    collisions 0
    coupler sent        listens result
    1→0     2: packet 2 1       heard by 1
    0→1     1: packet 1 2       heard by 2
    Delivered: packet 2 at processor 1, packet 1 at processor 2.
    Listening to silence: 0, 3.
    """

    header: Header
    course: _Course
    number: int

    @property
    def line(self) -> SlotLine:
        """The line of the slot in the trace."""
        return self.course.slots[self.number - 1]

    @property
    def delivered(self) -> list[int]:
        """The packets that are at their destinations for good from this slot on.

        A packet that starts at its destination is one of them in the last slot in which the
        destination hears it, and in no slot if it never does. A trace does not tell when a router
        delivers a packet that the destination holds already.
        """
        slots = self.course.delivered | self.course.taken
        return [packet for packet, slot in slots.items() if slot == self.number]

    def couplers(self) -> list[CouplerUse]:
        """Return the couplers that a processor sends on or listens to, by number."""
        g, several = self.header.network.g, self.header.network.wavelengths
        sent, listeners, heard = _channels(self.header, self.line)
        return [
            CouplerUse(
                *divmod(channel // several, g),
                channel % several,
                tuple(f"{send[0]}: {_message(send)}" for send in sent[channel]),
                tuple(listeners[channel]),
                tuple(heard[channel] if len(sent[channel]) == 1 else ()),
            )
            for channel in sorted({*sent, *listeners})
        ]

    def conflict_graph(self) -> nx.MultiGraph[Any]:
        """Return the conflict graph of the step of this slot as a NetworkX graph.

        It is the graph that the viewer draws: an edge for each packet that is neither delivered
        nor lost when the step begins.

        Returns
        -------
        networkx.MultiGraph
            As :meth:`popsnet.theory.ConflictGraph.to_networkx` describes it. Edges also have
            ``colour``, the group that the source sends the packet to in this step, or None. For
            routers other than mei-rizzi the nodes on the right are ``("destination group", b)``.

        Raises
        ------
        InputError
            If networkx is not installed (the extra ``popsnet[networkx]``).

        Examples
        --------
        >>> import popsnet
        >>> graph = popsnet.route(4, 4)[0].slot(1).conflict_graph()
        >>> graph.number_of_nodes(), graph.number_of_edges()
        (8, 16)
        """
        header, course, slots = self.header, self.course, self.course.step_of(self.number)
        network, first = header.network, slots[0].slot
        destination = np.array(header.destination)
        start = np.arange(len(destination)) if header.start is None else np.array(header.start)
        gone = {
            p for end in (course.delivered, course.lost) for p, slot in end.items() if slot < first
        }
        pending = np.delete(np.arange(len(destination)), sorted(gone))
        by_residue = header.conflict_graph == "residue"
        targets = destination % network.g if by_residue else destination // network.d
        right = "temporary group" if by_residue else "destination group"
        made = ConflictGraph(network, pending, start[pending] // network.d, targets[pending])
        graph, colours = made.to_networkx(right), dict[int, int]()
        for line in slots:
            for processor, groups, kind, packet in line.sends:
                if kind == "packet" and packet is not None and processor == start[packet]:
                    colours.setdefault(packet, groups[0])
        for _, _, packet, values in graph.edges(keys=True, data=True):
            values["colour"] = colours.get(packet)
        return graph

    def report(self) -> Report:
        """Return the report of the slot: counts, and a row per coupler that is in use."""
        header, uses = self.header, self.couplers()
        several = header.network.wavelengths > 1
        used = [use for use in uses if use.messages]
        collisions = sum(len(use.messages) > 1 for use in used)
        where = [f"packet {p} at processor {header.destination[p]}" for p in self.delivered]
        silent = [listener for use in uses if not use.messages for listener in use.listeners]
        facts = (
            Fact("messages", len(self.line.sends), "messages"),
            Fact("collisions", collisions, "collisions"),
            Fact("delivered", self.delivered),
            Fact("hear_silence", silent),
        )
        notes = [
            f"{title}: {_some(some, 4)}."
            for title, some in (("Delivered", where), ("Listening to silence", silent))
            if some
        ]
        columns = (
            Column("coupler", kind="text", show=lambda use: _name(use, several)),
            Column("messages", "sent", "text", lambda use: _some(use.messages, 3)),
            Column("listeners", "listens", "text", lambda use: _some(use.listeners)),
            Column("result", "result", "text"),
        )
        run = f"{len(self.course.slots)} of {header.name} on {header.network}"
        title = f"Slot {self.number} of {run}: {self.line.phase}"
        table = Table("couplers", "", columns, used, folded=_FOLDED)
        return Report(title, facts, (table, *notes), about=about(header.network))


def read_slot(text: str, number: int) -> RunSlot:
    """Return a slot of a run from the trace of the whole run."""
    trace = TraceReader("the trace", text.encode().splitlines(keepends=True))
    header, lines = trace.header, [line for line in trace if isinstance(line, SlotLine)]
    slot = whole_number("slot", number)
    if not 1 <= slot <= len(lines):
        raise wrong("slot", slot)(f"the run has slots 1 to {len(lines)}; give one of these.")
    return RunSlot(header, _course(header, lines), slot)


def _channels(header: Header, line: SlotLine) -> tuple[defaultdict[int, list[Any]], ...]:
    """Return the messages on each channel, and the processors that listen to it and that hear."""
    network = header.network
    d, g, several = network.d, network.g, network.wavelengths
    faults = FaultyParts(network, header.faults) if header.faults else None
    sent, listeners, heard = (defaultdict[int, list[Any]](list) for _ in range(3))
    tuned = line.send_wavelengths or [0] * len(line.sends)
    for send, wavelength in zip(line.sends, tuned, strict=True):
        if faults is None or faults.sends(line.slot, send[0]):
            for group in send[1]:
                sent[(group * g + send[0] // d) * several + wavelength].append(send)
    tuned = line.listen_wavelengths or [0] * len(line.listens)
    listens = [(*ends, wave) for ends, wave in zip(line.listens, tuned, strict=True)]
    hears = listens
    if faults is not None:
        alone = {at: sends[0] if len(sends) == 1 else None for at, sends in sent.items()}
        hears = faults.silence(line, listens, alone)[0]
    for processors, these in ((listeners, listens), (heard, hears)):
        for processor, group, wavelength in these:
            processors[(processor // d * g + group) * several + wavelength].append(processor)
    return sent, listeners, heard


def _taken(header: Header, lines: list[SlotLine], packets: Iterable[int]) -> dict[int, int]:
    """Return the last slot in which each packet that starts at its destination is heard there."""
    taken, destination = dict[int, int](), {i: header.destination[i] for i in packets}
    for line in lines if destination else ():
        sent, _, heard = _channels(header, line)
        for channel, processors in heard.items():
            if len(sent[channel]) == 1:
                kind, packet = sent[channel][0][2:]
                if kind == "packet" and destination.get(packet) in processors:
                    taken[packet] = line.slot
    return taken


def _course(header: Header, lines: list[SlotLine]) -> _Course:
    destination = header.destination
    start = range(len(destination)) if header.start is None else header.start
    copies = dict.fromkeys(range(len(destination)), 1)
    delivered = {i: 0 for i, processor in enumerate(start) if processor == destination[i]}
    taken, lost = _taken(header, lines, delivered), dict[int, int]()
    for line in lines:
        for processor, packet in line.drops:
            copies[packet] -= 1
            if processor == destination[packet]:
                delivered.pop(packet, None)
        for processor, packet in line.keeps:
            copies[packet] += 1
            if processor == destination[packet]:
                delivered.setdefault(packet, line.slot)
        for packet in {packet for _, packet in (*line.drops, *line.keeps)}:
            if copies[packet]:
                lost.pop(packet, None)
            else:
                lost.setdefault(packet, line.slot)
    return _Course(lines, delivered, lost, taken)


def _same_step(line: SlotLine, following: SlotLine) -> bool:
    if line.step is not UNSET and following.step is not UNSET:
        return line.step == following.step
    return bool(re.match(r"\d", following.phase)) and not re.match(r"1\b", following.phase)


def _message(send: Sequence[Any]) -> str:
    kind, packet = send[2], send[3]
    return kind if packet is None else f"{kind} {packet}"


def _name(use: CouplerUse, several: bool) -> str:
    return f"{use.by}→{use.to}" + (f" wavelength {use.wavelength}" if several else "")


def _some(values: Sequence[Any], most: int = _SHOWN_NUMBERS) -> str:
    """Return a few of the values with commas between them, and how many more there are."""
    shown = ", ".join(map(str, values[:most]))
    return shown if len(values) <= most else f"{shown}, and {len(values) - most:,} more"
