"""The independent checker: replays a trace from the rules alone.

It shares no code with the machine or any router. It follows who has heard which packet, lets
messages that meet on a coupler destroy each other, and at the end asks whether every packet
reached its destination and whether the outcome the trace claims is the one it found.

An ack names a packet that its sender has heard of, from the packet itself or from another ack.

A trace with ``buffers`` says what each processor keeps and gives up. The replay then knows who
holds what: nobody keeps what it did not just hear, sends or gives up what it does not hold, or
holds more than the router claims. At the end a packet is delivered if its destination holds it,
and lost if nobody does.

Without ``buffers`` a processor has all it ever heard, and a packet counts as delivered once its
destination had it, be it only as a relay. In either case a run that was ended before its time
may have delivered fewer than that, never more.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from popsnet.errors import InputError, Rule
from popsnet.network import Network
from popsnet.trace.reader import Header, Line, OutcomeLine, SlotLine, read_trace

__all__ = ["TraceCheck", "Violation", "check_trace"]

_MOST_SHOWN = 20
_FEW = 8
_KINDS = ("packet", "ack", "control")

Message: TypeAlias = tuple[str, int | None]
"""Kind, packet."""


@dataclass(frozen=True, slots=True)
class Violation:
    """Something in a trace that cannot have happened, or should not have."""

    line: int
    slot: int | None
    processor: int | None
    rule: str

    def __str__(self) -> str:
        where = f"line {self.line}"
        where += "" if self.slot is None else f", slot {self.slot}"
        where += "" if self.processor is None else f", processor {self.processor}"
        return f"{where}: {self.rule}"


@dataclass(slots=True)
class TraceCheck:
    """What the replay found."""

    network: Network
    router: str
    variant: str
    packets: int = 0
    slots: int = 0
    messages: int = 0
    collisions: int = 0
    delivered: int = 0
    undelivered: list[int] = field(default_factory=list)
    """Packets that did not reach their destination."""
    lost: list[int] = field(default_factory=list)
    """Those of them that nobody holds any more."""
    tells_holdings: bool = True
    """Whether the trace says who holds what; if not, nothing is known about losses."""
    violations: list[Violation] = field(default_factory=list)
    """The first of them."""
    violation_count: int = 0

    @property
    def ok(self) -> bool:
        """Whether the trace holds in every respect."""
        return self.violation_count == 0


def check_trace(path: str | Path, progress: Callable[[int], None] | None = None) -> TraceCheck:
    """Replay a trace by the rules of the machine alone.

    Parameters
    ----------
    path : str or Path
        The trace.
    progress : function, optional
        Called with the number of bytes read so far.

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
            f"A trace is checked in a file, not as {type(path).__name__}; run.write_trace(path) "
            "writes one."
        )
    lines = read_trace(Path(path), progress)
    header = next(lines)
    assert isinstance(header, Header)
    return _Replay(header).run(lines)


class _Replay:
    """The state of the network, as far as the trace tells."""

    def __init__(self, header: Header) -> None:
        self.network = Network(header.d, header.g)
        self.destination = header.destination
        self.report = TraceCheck(
            self.network, header.router, header.variant, len(header.destination)
        )
        self.start = header.start
        self.starts: defaultdict[int, list[int]] = defaultdict(list)  # packets, by processor
        for packet, processor in enumerate(header.start or ()):
            self.starts[processor].append(packet)
        self.has: defaultdict[int, set[int]] = defaultdict(set)  # packets heard, by processor
        self.heard_of: defaultdict[int, set[int]] = defaultdict(set)  # and acks and so on
        self.arrived: set[int] = set()
        self.buffers = header.buffers
        self.report.tells_holdings = header.buffers is not None
        self.held: dict[int, Counter[int]] = {}  # what processors hold, if it is not just their own
        self.line = header.number
        self.slot: int | None = None
        self.step = 0
        self.first = 1  # number of the first slot; a trace that counts from 0 is as good

    def run(self, lines: Iterator[Line]) -> TraceCheck:
        if wrong := self._wrong_header():
            self._violation(None, wrong)
            return self.report
        outcome: OutcomeLine | None = None
        for line in lines:
            self.line = line.number
            self.slot = None
            if outcome is not None:
                self._violation(None, "nothing may follow the outcome")
                break
            if isinstance(line, OutcomeLine):
                outcome = line
            elif isinstance(line, SlotLine):
                self._replay(line)
        self._conclude(outcome)
        return self.report

    def _wrong_header(self) -> str | None:
        """Without ``start`` it is a permutation; with it any packets that have both ends."""
        n, m = self.network.n, len(self.destination)
        if self.start is None:
            whole = m == n and sorted(self.destination) == list(range(n))
            return None if whole else f"the destinations are not a permutation of 0 to {n - 1}"
        if len(self.start) != m:
            return f"there are {len(self.start)} starts and {m} destinations"
        for name, ends in (("starts at", self.start), ("is for", self.destination)):
            for packet, processor in enumerate(ends):
                if not 0 <= processor < n:
                    return f"{Rule.PROCESSOR_EXISTS}, and packet {packet} {name} {processor}"
        crowd = max((len(packets) for packets in self.starts.values()), default=0)
        if self.buffers is not None and crowd > self.buffers:
            return f"{Rule.BUFFERS}, which is {self.buffers}, and one starts with {crowd}"
        return None

    def _own(self, processor: int) -> list[int]:
        """The packets that a processor starts with."""
        return [processor] if self.start is None else self.starts.get(processor, [])

    def _starts_at(self, packet: int) -> int:
        return packet if self.start is None else self.start[packet]

    def _replay(self, line: SlotLine) -> None:
        self.slot = line.slot
        if self.report.slots == 0 and line.slot in (0, 1):
            self.first = line.slot
        expected = self.first + self.report.slots
        if line.slot != expected:
            self._violation(None, f"slots are numbered in turn: {expected} comes here")
        self.report.slots += 1
        if line.step is not None:
            if line.step < self.step:
                self._violation(None, f"steps never go back, and {self.step} was before this")
            self.step = line.step
        couplers = self._send(line)
        self.report.collisions += sum(len(messages) > 1 for messages in couplers.values())
        heard: dict[int, int] = {}
        for processor, (kind, packet) in self._listen(line, couplers):
            if packet is not None:
                self.heard_of[processor].add(packet)
                if kind == "packet":
                    heard[processor] = packet
        if self.buffers is None:
            self._have(heard)
        else:
            self._hold(line, heard, self.buffers)

    def _have(self, heard: dict[int, int]) -> None:
        """Everybody has what it heard."""
        for processor, packet in heard.items():
            self.has[processor].add(packet)
            if self.destination[packet] == processor:
                self.arrived.add(packet)

    def _hold(self, line: SlotLine, heard: dict[int, int], buffers: int) -> None:
        """Everybody holds what it keeps."""
        for processor, packet in line.drops:
            if not self._holds(processor, packet):
                self._violation(processor, f"{Rule.DROPS_WHAT_IT_HOLDS}, not packet {packet}")
                continue
            self.held[processor][packet] -= 1
        for processor, packet in line.keeps:
            if heard.pop(processor, None) != packet:
                self._violation(processor, f"{Rule.KEEPS_WHAT_IT_HEARD}, not packet {packet}")
                continue
            holds = self.held.setdefault(processor, Counter(self._own(processor)))
            holds[packet] += 1
            if holds.total() > buffers:
                self._violation(processor, f"{Rule.BUFFERS}, which is {buffers}")

    def _holds(self, processor: int, packet: int) -> bool:
        if not 0 <= processor < self.network.n:
            return False
        return self.held.setdefault(processor, Counter(self._own(processor)))[packet] > 0

    def _send(self, line: SlotLine) -> dict[tuple[int, int], list[Message]]:
        """The messages on each coupler (to, from)."""
        couplers: defaultdict[tuple[int, int], list[Message]] = defaultdict(list)
        senders = Counter(send[0] for send in line.sends)
        for processor, groups, kind, packet in line.sends:
            self.report.messages += 1
            wrong = self._wrong_send(processor, groups, kind, packet)
            if senders[processor] > 1:
                wrong = Rule.ONE_MESSAGE
            if wrong is not None:
                self._violation(processor, wrong)
                continue
            for group in groups:
                couplers[group, processor // self.network.d].append((kind, packet))
        return couplers

    def _wrong_send(
        self, processor: int, groups: list[int], kind: str, packet: int | None
    ) -> str | None:
        n, g = self.network.n, self.network.g
        if not 0 <= processor < n:
            return Rule.PROCESSOR_EXISTS
        if not groups or len(set(groups)) != len(groups):
            return Rule.COUPLER_SET
        if not all(0 <= group < g for group in groups):
            return f"{Rule.GROUP_EXISTS}, and it sends to {groups}"
        if kind not in _KINDS:
            return f"a message is a {', '.join(_KINDS)}, not {kind!r}"
        if packet is None:
            return Rule.PACKET_EXISTS if kind == "packet" else None
        if not 0 <= packet < len(self.destination):
            return Rule.PACKET_EXISTS
        if kind == "packet" and self.buffers is not None and not self._holds(processor, packet):
            return f"{Rule.SENDS_WHAT_IT_HOLDS}, and it does not hold packet {packet}"
        if kind == "packet" and self.buffers is None and packet not in self._had(processor):
            return f"{Rule.SENDS_WHAT_IT_HOLDS}, and it never had packet {packet}"
        knows = self._starts_at(packet) == processor or packet in self.heard_of[processor]
        if kind == "ack" and not knows:
            return f"it acknowledges packet {packet}, of which it never heard"
        return None

    def _had(self, processor: int) -> set[int]:
        return self.has[processor].union(self._own(processor))

    def _listen(
        self, line: SlotLine, couplers: dict[tuple[int, int], list[Message]]
    ) -> Iterator[tuple[int, Message]]:
        """Who hears what."""
        n, g = self.network.n, self.network.g
        listeners = Counter(processor for processor, _ in line.listens)
        for processor, group in line.listens:
            if not 0 <= processor < n:
                self._violation(processor, Rule.PROCESSOR_EXISTS)
            elif not 0 <= group < g:
                self._violation(processor, f"{Rule.GROUP_EXISTS}, and it listens to {group}")
            elif listeners[processor] > 1:
                self._violation(processor, Rule.ONE_LISTENED)
            else:
                messages = couplers.get((processor // self.network.d, group), [])
                if len(messages) == 1:
                    yield processor, messages[0]

    def _conclude(self, outcome: OutcomeLine | None) -> None:
        self.slot = None
        packets = self.report.packets
        self.report.undelivered = [i for i in range(packets) if not self._is_home(i)]
        self.report.delivered = packets - len(self.report.undelivered)
        self.report.lost = self._lost()
        if outcome is None:
            self._violation(None, "there is no outcome line: the trace ends too early")
        else:
            self._compare(outcome)
        gone = set(self.report.lost)
        for packet in self.report.undelivered:
            what = "is lost: nobody holds it" if packet in gone else "never reached it"
            self._violation(self.destination[packet], f"its packet {packet} {what}")

    def _is_home(self, packet: int) -> bool:
        destination = self.destination[packet]
        if self.buffers is not None:
            return self._holds(destination, packet)
        return destination == self._starts_at(packet) or packet in self.arrived

    def _lost(self) -> list[int]:
        """Packets that nobody holds; none are known to be if the trace does not say who does."""
        if self.buffers is None:
            return []
        held = {packet for holds in self.held.values() for packet in (+holds)}
        moved = (i for i in self.report.undelivered if self._starts_at(i) in self.held)
        return [i for i in moved if i not in held]

    def _compare(self, outcome: OutcomeLine) -> None:
        found = self.report
        if outcome.slots != found.slots:
            self._violation(None, f"the outcome claims {outcome.slots} slots; it has {found.slots}")
        if outcome.delivered > found.delivered:
            self._violation(
                None, f"the outcome claims {outcome.delivered} delivered; it was {found.delivered}"
            )
        if outcome.delivered < found.packets:
            self._violation(
                None, f"by its own outcome {outcome.delivered} of {found.packets} packets arrived"
            )
        claimed = sorted(outcome.lost_packets)
        if self.buffers is not None and (claimed, outcome.lost) != (found.lost, len(found.lost)):
            self._violation(
                None,
                f"the outcome claims {outcome.lost} lost ({_some(claimed)}); nobody holds "
                f"{len(found.lost)} ({_some(found.lost)})",
            )
        if not 0 <= outcome.lost <= found.packets - outcome.delivered:
            self._violation(
                None,
                f"the outcome claims {outcome.lost} lost and {outcome.delivered} delivered of "
                f"{found.packets}",
            )

    def _violation(self, processor: int | None, rule: str) -> None:
        self.report.violation_count += 1
        if len(self.report.violations) < _MOST_SHOWN:
            self.report.violations.append(Violation(self.line, self.slot, processor, str(rule)))


def _some(packets: list[int]) -> str:
    """The first few of them."""
    shown = ", ".join(map(str, packets[:_FEW]))
    return f"packets {shown}{', …' if len(packets) > _FEW else ''}" if packets else "none"
