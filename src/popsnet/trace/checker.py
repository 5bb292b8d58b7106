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
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from msgspec import UNSET

from popsnet.errors import InputError, Rule
from popsnet.network import Network
from popsnet.trace.event import Listen, Send
from popsnet.trace.reader import OutcomeLine, SlotLine, TraceReader, read_trace

_MOST_SHOWN = 20
_FEW = 8
_KINDS = ("packet", "ack", "control")


@dataclass(frozen=True, slots=True)
class Violation:
    """A place in a trace where a rule is broken."""

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
    """The result of a replay, as :func:`check_trace` returns it.

    The counts ``packets``, ``slots``, ``messages``, ``collisions``, ``destroyed`` and ``delivered``
    are those of the replay, not those that the trace claims. ``delivered`` counts the packets that
    their destinations hold at the end; a run that was stopped early may have delivered fewer.
    """

    network: Network
    router: str
    variant: str
    packets: int = 0
    slots: int = 0
    messages: int = 0
    collisions: int = 0
    destroyed: int = 0
    delivered: int = 0
    undelivered: list[int] = field(default_factory=list)
    """The packets that did not reach their destinations."""
    lost: list[int] = field(default_factory=list)
    """The undelivered packets that no processor holds any more."""
    tells_holdings: bool = True
    """Whether the trace says which packets are held. Without that, losses are not known."""
    violations: list[Violation] = field(default_factory=list)
    """The first 20 violations."""
    violation_count: int = 0

    @property
    def ok(self) -> bool:
        """Whether the trace breaks no rule."""
        return self.violation_count == 0


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
    return _Replay(read_trace(path, progress)).run()


class _Replay:
    """The state of the network, as far as the trace gives it.

    Pairs of a processor and a packet are kept as single numbers, see :meth:`_copy`.
    """

    def __init__(self, trace: TraceReader) -> None:
        header = trace.header
        self.trace = trace
        self.network = Network(header.d, header.g)
        self.n, self.g = self.network.n, self.network.g
        self.destination = header.destination
        self.packets = len(header.destination)
        self.start = range(self.network.n) if header.start is None else header.start
        self.buffers = header.buffers
        self.report = TraceCheck(self.network, header.router, header.variant, self.packets)
        self.report.tells_holdings = header.buffers is not None
        self.held: dict[int, int] = {}  # copies, and how many; without buffers all ever heard
        self.known: set[int] = set()  # what processors started with or heard of, also from acks
        self.load: dict[int, int] = {}  # packets that a processor holds
        self.slot: int | None = None
        self.step = 0
        self.first = 1  # number of the first slot; a trace may also count from 0

    def run(self) -> TraceCheck:
        if wrong := self._wrong_header():
            self._violation(None, wrong)
            return self.report
        self.held = {self._copy(self.start[i], i): 1 for i in range(self.packets)}
        self.known = set(self.held)
        self.load = dict(Counter(self.start))
        outcome: OutcomeLine | None = None
        for line in self.trace:
            self.slot = None
            if outcome is not None:
                self._violation(None, "nothing may follow the outcome")
                break
            if isinstance(line, OutcomeLine):
                outcome = line
            else:
                self._replay(line)
        self._conclude(outcome)
        return self.report

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

    def _copy(self, processor: int, packet: int) -> int:
        """Return a number for a pair, different for each processor and packet that exists."""
        return processor * self.packets + packet

    def _replay(self, line: SlotLine) -> None:
        self.slot = line.slot
        if self.report.slots == 0 and line.slot in (0, 1):
            self.first = line.slot
        expected = self.first + self.report.slots
        if line.slot != expected:
            self._violation(None, f"slots are numbered in order: {expected} is next")
        self.report.slots += 1
        if line.step is not UNSET:
            if line.step < self.step:
                self._violation(None, f"steps never decrease, and the last one was {self.step}")
            self.step = line.step
        self.report.messages += len(line.sends)
        couplers = self._send(line.sends)
        heard = self._listen(line.listens, couplers)
        if self.buffers is None:
            self.held.update((self._copy(*pair), 1) for pair in heard.items())
        else:
            self._hold(line, heard, self.buffers)

    def _hold(self, line: SlotLine, heard: dict[int, int], buffers: int) -> None:
        """Update what every processor holds."""
        held, load, packets = self.held, self.load, self.packets
        for processor, packet in line.drops:
            copy = processor * packets + packet
            if not 0 <= packet < packets or not held.get(copy):
                self._violation(processor, f"{Rule.DROPS_WHAT_IT_HOLDS}, not packet {packet}")
                continue
            held[copy] -= 1
            load[processor] -= 1
        for processor, packet in line.keeps:
            if heard.pop(processor, None) != packet:
                self._violation(processor, f"{Rule.KEEPS_WHAT_IT_HEARD}, not packet {packet}")
                continue
            copy = processor * packets + packet
            held[copy] = held.get(copy, 0) + 1
            load[processor] = load.get(processor, 0) + 1
            if load[processor] > buffers:
                self._violation(processor, f"{Rule.BUFFERS}, which is {buffers}")

    def _send(self, sends: Sequence[Send]) -> dict[int, Send | None]:
        """Return the message on each coupler to·g + from, None where several meet."""
        d, g = self.network.d, self.network.g
        couplers: dict[int, Send | None] = {}
        met = 0
        repeated = _repeated([send[0] for send in sends])
        for send in sends:
            processor, groups, kind, packet = send
            wrong = self._wrong_send(processor, groups, kind, packet)
            if processor in repeated:
                wrong = Rule.ONE_MESSAGE
            if wrong is not None:
                self._violation(processor, wrong)
                continue
            for group in groups:
                coupler = group * g + processor // d
                met += coupler in couplers
                couplers[coupler] = None if coupler in couplers else send
        collided = list(couplers.values()).count(None)
        self.report.collisions += collided
        self.report.destroyed += met + collided
        return couplers

    def _wrong_send(
        self, processor: int, groups: Sequence[int], kind: str, packet: int | None
    ) -> str | None:
        if not 0 <= processor < self.n:
            return Rule.PROCESSOR_EXISTS
        if len(groups) != 1 and (not groups or len(set(groups)) < len(groups)):
            return Rule.COUPLER_SET
        for group in groups:
            if not 0 <= group < self.g:
                return f"{Rule.GROUP_EXISTS}, and it sends to {list(groups)}"
        if kind not in _KINDS:
            return f"the kind of a message is {', '.join(_KINDS)}, not {kind!r}"
        if packet is None:
            return Rule.PACKET_EXISTS if kind == "packet" else None
        if not 0 <= packet < self.packets:
            return Rule.PACKET_EXISTS
        copy = processor * self.packets + packet
        if kind == "packet" and not self.held.get(copy):
            had = "never had" if self.buffers is None else "does not hold"
            return f"{Rule.SENDS_WHAT_IT_HOLDS}, and it {had} packet {packet}"
        if kind == "ack" and copy not in self.known:
            return f"it acknowledges packet {packet}, of which it never heard"
        return None

    def _listen(self, listens: list[Listen], couplers: dict[int, Send | None]) -> dict[int, int]:
        """Return the packet that each processor hears, and note what it hears of."""
        n, d, g, packets = self.network.n, self.network.d, self.network.g, self.packets
        heard: dict[int, int] = {}
        know = self.known.add
        repeated = _repeated([processor for processor, _ in listens])
        for processor, group in listens:
            if not 0 <= processor < n:
                self._violation(processor, Rule.PROCESSOR_EXISTS)
            elif not 0 <= group < g:
                self._violation(processor, f"{Rule.GROUP_EXISTS}, and it listens to {group}")
            elif processor in repeated:
                self._violation(processor, Rule.ONE_LISTENED)
            elif message := couplers.get(processor // d * g + group):
                _, _, kind, packet = message
                if packet is not None:
                    know(processor * packets + packet)
                    if kind == "packet":
                        heard[processor] = packet
        return heard

    def _conclude(self, outcome: OutcomeLine | None) -> None:
        self.slot = None
        found = self.report
        for packet, destination in enumerate(self.destination):
            if not self.held.get(self._copy(destination, packet)):
                found.undelivered.append(packet)
        found.delivered = found.packets - len(found.undelivered)
        if self.buffers is not None:
            held = {copy % self.packets for copy, copies in self.held.items() if copies}
            found.lost = [packet for packet in found.undelivered if packet not in held]
        if outcome is None:
            self._violation(None, "there is no outcome line: the trace ends too early")
        else:
            self._compare(outcome)
        gone = set(found.lost)
        for packet in found.undelivered:
            what = "is lost: no processor holds it" if packet in gone else "never reached it"
            self._violation(self.destination[packet], f"its packet {packet} {what}")

    def _compare(self, outcome: OutcomeLine) -> None:
        found = self.report
        if outcome.slots != found.slots:
            self._violation(
                None, f"the outcome claims {outcome.slots} slots; the trace has {found.slots}"
            )
        if outcome.delivered > found.delivered:
            self._violation(
                None,
                f"the outcome claims {outcome.delivered} delivered; the replay finds "
                f"{found.delivered}",
            )
        if outcome.delivered < found.packets:
            self._violation(
                None, f"by its own outcome {outcome.delivered} of {found.packets} packets arrived"
            )
        claimed = sorted(outcome.lost_packets)
        if self.buffers is not None and (claimed, outcome.lost) != (found.lost, len(found.lost)):
            self._violation(
                None,
                f"the outcome claims {outcome.lost} lost ({_some(claimed)}); the replay finds "
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
            self.report.violations.append(
                Violation(self.trace.number, self.slot, processor, str(rule))
            )


def _repeated(processors: list[int]) -> set[int]:
    """Return the processors that occur more than once."""
    if len(set(processors)) == len(processors):
        return set()
    return {processor for processor, times in Counter(processors).items() if times > 1}


def _some(packets: list[int]) -> str:
    """Return the first few packets as text."""
    shown = ", ".join(map(str, packets[:_FEW]))
    return f"packets {shown}{', …' if len(packets) > _FEW else ''}" if packets else "none"
