"""The independent checker, which replays a trace by the rules alone.

It shares no code with the machine or any router. It follows which processors have heard which
packet, lets messages that meet on a coupler destroy each other, and at the end checks whether every
packet reached its destination and whether the outcome that the trace claims is the one it found.

An ack names a packet that its sender has heard of, from the packet itself or from another ack.

A trace with ``buffers`` says what each processor keeps and drops. The replay then knows which
packets each processor holds: a processor keeps only what it has just heard, sends and drops only
what it holds, and holds no more than the router claims. At the end a packet is delivered if its
destination holds it, and lost if no processor does.

Without ``buffers`` a processor has all that it ever heard, and a packet counts as delivered once
its destination had it, even if only as a relay. In either case a run that was stopped early may
claim fewer delivered packets than the replay finds, never more.

What may be sent and heard in a slot is in ``popsnet.trace.replay``. Traces of continuous traffic,
in which packets arrive and leave, have further rules here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from popsnet.base.errors import InputError, Rule
from popsnet.trace.reader import OutcomeLine, SlotLine, TraceReader, read_trace
from popsnet.trace.replay import FaultyParts, Replay, TraceCheck, Violation

_LEAST_KNOWN = 1024
_ROOM = "a processor holds no more of {} packets than it has buffers for them"


@dataclass(slots=True)
class _Packet:
    """A packet of which some processor holds a copy."""

    destination: int
    copies: int = 1
    delivered: bool = False


class TrafficReplay(Replay):
    """The replay of a scheduler's run."""

    drops_rule = "a processor drops only packets it holds, not"

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
            copy = packet * self.n + processor
            self.inside[packet] = _Packet(destination)
            self.own.add(copy)
            self.known.add(copy)
            self._hold(self.own_load, processor, packet, _ROOM.format("its own"))

    def _settle(self, line: SlotLine, heard: dict[int, int]) -> None:
        for processor, packet in line.delivers:
            self._deliver(processor, packet, heard)
        super()._settle(line, heard)
        self._forget(packet for _, packet in line.drops)

    def _deliver(self, processor: int, packet: int, heard: dict[int, int]) -> None:
        here = self.inside.get(packet)
        hears = heard.get(processor) == packet
        holds = 0 <= processor < self.n and packet * self.n + processor in self.held
        if here is None or here.delivered:
            arrived = 0 <= packet < self.packets
            wrong = f"{Rule.DELIVERS_ONCE}, and packet {packet} has left the network"
            self._violation(processor, wrong if arrived else self._no_packet(packet))
        elif here.destination != processor:
            self._violation(
                processor, f"{Rule.DELIVERS_ONCE}, and packet {packet} is for {here.destination}"
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
        self.inside[packet].copies += 1
        self._hold(self.kept_load, processor, packet, _ROOM.format("other"))

    def _drop(self, processor: int, packet: int) -> None:
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
        report = self.report
        waiting = [packet for packet, here in self.inside.items() if not here.delivered]
        report.lost.sort()
        report.held = len(waiting)
        report.undelivered = sorted(report.lost + waiting)
        super()._conclude(outcome)

    def _compare(self, outcome: OutcomeLine) -> None:
        super()._compare(outcome)
        for name in ("delivered", "held"):
            claimed, true = getattr(outcome, name), getattr(self.report, name)
            if claimed != true:
                self._refute(f"{claimed} {name}", true)
        self._compare_lost(outcome)
        self.report.refused = outcome.refused or 0
        if self.report.refused < 0 or (self.report.refused and self.buffers is None):
            self._violation(
                None,
                f"the outcome claims {outcome.refused} refused, and only full buffers refuse "
                "packets",
            )


__all__ = ["TraceCheck", "Violation", "check_trace"]


def check_trace(path: str | Path, progress: Callable[[int], None] | None = None) -> TraceCheck:
    """Replay a trace by the rules of the machine alone.

    Parameters
    ----------
    path : str or Path
        The trace.
    progress : function, optional
        Called with the number of bytes read so far.

    Returns
    -------
    TraceCheck
        The counts of the replay, and all violations.

    Raises
    ------
    TraceFormatError
        If the file cannot be read as a trace.

    Examples
    --------
    >>> import popsnet
    >>> path = popsnet.route(4, 4)[0].write_trace("run.jsonl")
    >>> report = popsnet.check_trace(path)
    >>> report.ok, report.delivered
    (True, 16)
    """
    if not isinstance(path, str | Path):
        raise InputError(
            f"check_trace reads a file, not a {type(path).__name__}; write the trace with "
            "run.write_trace(path)."
        )
    trace = read_trace(path, progress)
    return (TrafficReplay if trace.header.traffic else RouterReplay)(trace).run()


class RouterReplay(Replay):
    """The replay of a router's run, whose packets are all there at the start."""

    drops_rule = f"{Rule.DROPS_WHAT_IT_HOLDS}, not packet"

    def __init__(self, trace: TraceReader) -> None:
        super().__init__(trace)
        header = trace.header
        self.destination = header.destination
        self.start = range(self.network.n) if header.start is None else header.start
        self.load: dict[int, int] = {}  # packets that a processor holds

    def _wrong_header(self) -> str | None:
        """Return what is wrong with the header: its destinations or its starts."""
        n, m = self.network.n, self.packets
        if isinstance(self.start, range):
            whole = m == n and sorted(self.destination) == list(self.start)
            return None if whole else f"the destinations are not a permutation of 0 to {n - 1}"
        if len(self.start) != m:
            return f"there are {len(self.start)} starts and {m} destinations"
        for name, ends in (("starts at", self.start), ("is for", self.destination)):
            for packet, processor in enumerate(ends):
                if not 0 <= processor < n:
                    return f"{Rule.PROCESSOR_EXISTS}, and packet {packet} {name} {processor}"
        crowd = max(Counter(self.start).values(), default=0)
        if self.buffers is not None and crowd > self.buffers:
            return f"{Rule.BUFFERS}, which is {self.buffers}, and one starts with {crowd}"
        return None

    def _begin(self) -> None:
        self.held = {packet * self.n + self.start[packet]: 1 for packet in range(self.packets)}
        self.known = set(self.held)
        self.load = dict(Counter(self.start))

    def _settle(self, line: SlotLine, heard: dict[int, int]) -> None:
        if self.buffers is None:
            self.held.update((packet * self.n + who, 1) for who, packet in heard.items())
        else:
            super()._settle(line, heard)

    def _drop(self, processor: int, packet: int) -> None:
        self.held[packet * self.n + processor] -= 1
        self.load[processor] -= 1

    def _keep(self, processor: int, packet: int) -> None:
        self._hold(self.load, processor, packet, Rule.BUFFERS)

    def _conclude(self, outcome: OutcomeLine | None) -> None:
        report = self.report
        for packet, destination in enumerate(self.destination):
            if not self.held.get(packet * self.n + destination):
                report.undelivered.append(packet)
        report.delivered = report.packets - len(report.undelivered)
        if self.buffers is not None:
            held = {copy // self.n for copy, copies in self.held.items() if copies}
            report.lost = [packet for packet in report.undelivered if packet not in held]
        if self.faults is not None:
            report.unreachable = self._unreachable(self.faults)
        super()._conclude(outcome)
        if self.faults is not None:
            return
        gone = set(report.lost)
        for packet in report.undelivered:
            self._miss(packet, packet in gone)

    def _miss(self, packet: int, is_lost: bool) -> None:
        what = "is lost: no processor holds it" if is_lost else "never reached it"
        self._violation(self.destination[packet], f"its packet {packet} {what}")

    def _unreachable(self, faults: FaultyParts) -> int:
        """Count the packets that are held, and have no path, or only copies at dead processors."""
        gone, missing = set(self.report.lost), set(self.report.undelivered)
        last, ends = max(1, self.first + self.report.slots - 1), (self.start, self.destination)
        alive = {
            copy // self.n
            for copy, copies in self.held.items()
            if copies and faults.acts(last, copy % self.n)
        }
        return sum(
            packet not in alive or not faults.joins(last, *(places[packet] for places in ends))
            for packet in missing - gone
        )

    def _compare(self, outcome: OutcomeLine) -> None:
        report = self.report
        super()._compare(outcome)
        if outcome.delivered > report.delivered:
            self._refute(f"{outcome.delivered} delivered", report.delivered)
        if outcome.delivered < report.packets and self.faults is None:
            self._violation(
                None, f"by its own outcome {outcome.delivered} of {report.packets} packets arrived"
            )
        if self.buffers is not None:
            self._compare_lost(outcome)
        if self.faults is not None and outcome.unreachable not in (None, report.unreachable):
            self._refute(f"{outcome.unreachable} unreachable", report.unreachable)
        if not 0 <= outcome.lost <= report.packets - outcome.delivered:
            self._violation(
                None,
                f"the outcome claims {outcome.lost} lost and {outcome.delivered} delivered of "
                f"{report.packets}",
            )
