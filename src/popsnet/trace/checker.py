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

Traces of continuous traffic, in which packets arrive and leave, have rules of their own in
``popsnet.trace.traffic``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

from popsnet.errors import InputError, Rule
from popsnet.trace.reader import OutcomeLine, SlotLine, TraceReader, read_trace
from popsnet.trace.replay import FaultyParts, Replay, TraceCheck, Violation
from popsnet.trace.traffic import TrafficReplay

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
    return (TrafficReplay if trace.header.traffic else _RouterReplay)(trace).run()


class _RouterReplay(Replay):
    """The replay of a router's run, whose packets are all there at the start."""

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
            self._hold(line, heard, self.buffers)

    def _hold(self, line: SlotLine, heard: dict[int, int], buffers: int) -> None:
        """Update what every processor holds."""
        held, load, n = self.held, self.load, self.n
        for processor, packet in line.drops:
            copy = packet * n + processor
            if not 0 <= processor < n or not held.get(copy):
                self._violation(processor, f"{Rule.DROPS_WHAT_IT_HOLDS}, not packet {packet}")
                continue
            held[copy] -= 1
            load[processor] -= 1
        for processor, packet in line.keeps:
            if heard.pop(processor, None) != packet:
                self._violation(processor, f"{Rule.KEEPS_WHAT_IT_HEARD}, not packet {packet}")
                continue
            copy = packet * n + processor
            held[copy] = held.get(copy, 0) + 1
            load[processor] = load.get(processor, 0) + 1
            if load[processor] > buffers:
                self._violation(processor, f"{Rule.BUFFERS}, which is {buffers}")

    def _conclude(self, outcome: OutcomeLine | None) -> None:
        found = self.report
        for packet, destination in enumerate(self.destination):
            if not self.held.get(packet * self.n + destination):
                found.undelivered.append(packet)
        found.delivered = found.packets - len(found.undelivered)
        if self.buffers is not None:
            held = {copy // self.n for copy, copies in self.held.items() if copies}
            found.lost = [packet for packet in found.undelivered if packet not in held]
        if self.faults is not None:
            found.unreachable = self._unreachable(self.faults)
        if outcome is None:
            self._violation(None, "there is no outcome line: the trace ends too early")
        else:
            self._compare(outcome)
        if self.faults is not None:
            return
        gone = set(found.lost)
        for packet in found.undelivered:
            what = "is lost: no processor holds it" if packet in gone else "never reached it"
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
            packet not in alive or not faults.joins(last, *(one[packet] for one in ends))
            for packet in missing - gone
        )

    def _compare(self, outcome: OutcomeLine) -> None:
        found = self.report
        self._compare_slots(outcome)
        if outcome.delivered > found.delivered:
            self._violation(
                None,
                f"the outcome claims {outcome.delivered} delivered; the replay finds "
                f"{found.delivered}",
            )
        if outcome.delivered < found.packets and self.faults is None:
            self._violation(
                None, f"by its own outcome {outcome.delivered} of {found.packets} packets arrived"
            )
        if self.buffers is not None:
            self._compare_lost(outcome)
        if self.faults is not None and outcome.unreachable not in (None, found.unreachable):
            self._violation(
                None,
                f"the outcome claims {outcome.unreachable} unreachable; the replay finds "
                f"{found.unreachable}",
            )
        if not 0 <= outcome.lost <= found.packets - outcome.delivered:
            self._violation(
                None,
                f"the outcome claims {outcome.lost} lost and {outcome.delivered} delivered of "
                f"{found.packets}",
            )
