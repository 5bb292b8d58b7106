"""The replay of continuous traffic: packets arrive during the run and leave when delivered.

Besides the rules of every slot, packets must be numbered in the order in which they arrive, and
each is delivered at most once, by its destination, which hears it in the slot or holds it.
Processors that hold copies of a delivered packet drop them in this slot or later. Every packet that
arrived is delivered, lost or inside at the end, and the outcome must say how many. A packet is lost
after a slot in which its last copy is dropped and it is not delivered.

A trace with ``buffers`` = B says that a source holds up to B of its own packets, and a processor up
to B packets that it keeps for others. If a processor has a packet in both ways, a drop concerns
the kept copy.

The replay forgets a packet that has left and of which no copy is held, so it needs memory for
the packets inside only. An ack of a forgotten packet is not checked.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from popsnet.errors import Rule
from popsnet.trace.reader import OutcomeLine, SlotLine, TraceReader
from popsnet.trace.replay import Replay

_LEAST_KNOWN = 1024


@dataclass(slots=True)
class _Packet:
    """A packet of which some processor holds a copy."""

    destination: int
    copies: int = 1
    delivered: bool = False


class TrafficReplay(Replay):
    """The replay of a scheduler's run."""

    def __init__(self, trace: TraceReader) -> None:
        super().__init__(trace)
        self.inside: dict[int, _Packet] = {}
        self.own: set[int] = set()  # copies that arrived where they are
        self.own_load: dict[int, int] = {}  # by processor
        self.kept_load: dict[int, int] = {}
        self.most_known = _LEAST_KNOWN

    def _wrong_header(self) -> str | None:
        if self.trace.header.destination or self.trace.header.start:
            return "packets of continuous traffic arrive in slots, and the header names some"
        return None

    def _no_packet(self, packet: int) -> str:
        return f"packet {packet} has not arrived"

    def _has_left(self, packet: int) -> bool:
        return packet not in self.inside

    def _arrive(self, line: SlotLine) -> None:
        for processor, packet, destination in line.arrives:
            if packet != self.packets:
                self._violation(
                    processor,
                    f"packets are numbered in order of arrival: {self.packets} is next, not "
                    f"{packet}",
                )
            if packet < self.packets:
                continue
            self.packets = packet + 1
            self.report.packets += 1
            if not (0 <= processor < self.n and 0 <= destination < self.n):
                self._violation(
                    processor, f"{Rule.PROCESSOR_EXISTS}, and packet {packet} is for {destination}"
                )
                continue
            self._take_in(processor, packet, destination)

    def _take_in(self, processor: int, packet: int, destination: int) -> None:
        copy = packet * self.n + processor
        self.inside[packet] = _Packet(destination)
        self.held[copy] = 1
        self.own.add(copy)
        self.known.add(copy)
        self._load(self.own_load, processor, "its own")

    def _settle(self, line: SlotLine, heard: dict[int, int]) -> None:
        for processor, packet in line.delivers:
            self._deliver(processor, packet, heard)
        for processor, packet in line.drops:
            if 0 <= processor < self.n and packet * self.n + processor in self.held:
                self._take_out(processor, packet)
            else:
                self._violation(processor, f"a processor drops only packets it holds, not {packet}")
        for processor, packet in line.keeps:
            if heard.pop(processor, None) == packet:
                self._keep(processor, packet)
            else:
                self._violation(processor, f"{Rule.KEEPS_WHAT_IT_HEARD}, not packet {packet}")
        self._forget(packet for _, packet in line.drops)

    def _deliver(self, processor: int, packet: int, heard: dict[int, int]) -> None:
        here = self.inside.get(packet)
        hears = heard.get(processor) == packet
        holds = 0 <= processor < self.n and packet * self.n + processor in self.held
        if here is None or here.delivered:
            arrived = 0 <= packet < self.packets
            wrong = f"{Rule.DELIVERS_HOME}, and packet {packet} has left the network"
            self._violation(processor, wrong if arrived else self._no_packet(packet))
        elif here.destination != processor:
            self._violation(
                processor, f"{Rule.DELIVERS_HOME}, and packet {packet} is for {here.destination}"
            )
        elif not hears and not holds:
            self._violation(
                processor,
                "a processor delivers a packet that it hears in the slot or holds, not packet "
                f"{packet}",
            )
        else:
            here.delivered = True
            self.report.delivered += 1

    def _keep(self, processor: int, packet: int) -> None:
        copy = packet * self.n + processor
        self.inside[packet].copies += 1
        self.held[copy] = self.held.get(copy, 0) + 1
        self._load(self.kept_load, processor, "other")

    def _take_out(self, processor: int, packet: int) -> None:
        """Remove a copy that is held, a kept one first."""
        copy = packet * self.n + processor
        self.inside[packet].copies -= 1
        self.held[copy] -= 1
        is_own = copy in self.own and self.held[copy] == 0
        load = self.own_load if is_own else self.kept_load
        load[processor] -= 1
        if not self.held[copy]:
            del self.held[copy]
            self.own.discard(copy)

    def _load(self, load: dict[int, int], processor: int, whose: str) -> None:
        load[processor] = load.get(processor, 0) + 1
        if self.buffers is not None and load[processor] > self.buffers:
            self._violation(
                processor,
                f"a processor holds no more of {whose} packets than it has buffers for them, "
                f"which is {self.buffers}",
            )

    def _forget(self, dropped: Iterable[int]) -> None:
        """Remove packets of which no processor holds a copy; those not delivered are lost."""
        for packet in dropped:
            here = self.inside.get(packet)
            if here is not None and here.copies == 0:
                del self.inside[packet]
                if not here.delivered:
                    self.report.lost.append(packet)
        if len(self.known) > self.most_known:
            self.known = {copy for copy in self.known if copy // self.n in self.inside}
            self.most_known = max(_LEAST_KNOWN, 2 * len(self.known))

    def _conclude(self, outcome: OutcomeLine | None) -> None:
        found = self.report
        waiting = [packet for packet, here in self.inside.items() if not here.delivered]
        found.lost.sort()
        found.held = len(waiting)
        found.undelivered = sorted(found.lost + waiting)
        if outcome is None:
            self._violation(None, "there is no outcome line: the trace ends too early")
        else:
            self._compare(outcome)

    def _compare(self, outcome: OutcomeLine) -> None:
        self._compare_slots(outcome)
        for name in ("delivered", "held"):
            claimed, true = getattr(outcome, name), getattr(self.report, name)
            if claimed != true:
                self._violation(
                    None, f"the outcome claims {claimed} {name}; the replay finds {true}"
                )
        self._compare_lost(outcome)
        self.report.refused = outcome.refused or 0
        if self.report.refused < 0 or (self.report.refused and self.buffers is None):
            self._violation(
                None,
                f"the outcome claims {outcome.refused} refused, and only full buffers refuse "
                "packets",
            )
