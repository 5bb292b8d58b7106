"""The replay of slots by the rules of the network, for the checkers of all kinds of traces.

It shares no code with the machine. It follows which processors have heard which packet, and lets
messages that meet on a coupler and wavelength destroy each other. A channel is a coupler with a
wavelength; channel w of coupler to·g + from has the number (to·g + from)·W + w.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import ClassVar, TypeAlias

from msgspec import UNSET

from popsnet.base.errors import Rule
from popsnet.model.network import Network
from popsnet.trace.event import Send
from popsnet.trace.reader import FaultsOfTrace, OutcomeLine, SlotLine, TraceReader

Tuned: TypeAlias = tuple[int, int, int]
"""A listener: processor, group, wavelength."""


class FaultyParts:
    """The parts that do not work, by the header of a trace."""

    def __init__(self, network: Network, faults: FaultsOfTrace) -> None:
        self._network, self._faults = network, faults
        d, g = network.d, network.g
        self._couplers = _earliest(((to * g + by, slot) for to, by, slot in faults.couplers))
        self._senders = _earliest([*faults.transmitters, *faults.processors])
        self._hearers = _earliest([*faults.receivers, *faults.processors])
        self._processors = _earliest(faults.processors)
        self._alike = -(-g // d)

    def sends(self, slot: int, processor: int) -> bool:
        """Return whether the transmitter of a processor works in a slot."""
        return not self._is_dead(self._senders, processor, slot)

    def silence(
        self, line: SlotLine, listens: list[Tuned], channels: dict[int, Send | None]
    ) -> tuple[list[Tuned], list[tuple[int, str]]]:
        """Return the listeners that no fault keeps from hearing, and what is wrong with losses."""
        hears: list[Tuned] = []
        misses, seen = set(line.misses), set[int]()
        lost: dict[int, bool] = {}
        wrong: list[tuple[int, str]] = []
        if misses and not self._faults.loss:
            wrong.append((min(misses), "messages are lost only if the header has a loss"))
        for processor, group, wavelength in listens:
            coupler = processor // self._network.d * self._network.g + group
            channel = coupler * self._network.wavelengths + wavelength
            if self._is_dead(self._hearers, processor, line.slot):
                continue
            if self._is_dead(self._couplers, coupler, line.slot) or not channels.get(channel):
                continue
            seen.add(processor)
            missed = processor in misses
            if self._faults.loss_per == "coupler" and lost.setdefault(channel, missed) != missed:
                wrong.append((processor, "a lost message is lost for all listeners of its coupler"))
            if not missed:
                hears.append((processor, group, wavelength))
        nothing = "a message is lost only where there is one to hear"
        wrong.extend((processor, nothing) for processor in sorted(misses - seen))
        return hears, wrong

    def acts(self, slot: int, processor: int) -> bool:
        """Return whether a processor is not dead in a slot."""
        return not self._is_dead(self._processors, processor, slot)

    def joins(self, slot: int, source: int, destination: int) -> bool:
        """Return whether there is a live path of two hops both ways in a slot."""
        d, g = self._network.d, self._network.g
        if not (self._works(slot, source) and self._works(slot, destination)):
            return False
        a, b = source // d, destination // d
        for via in range(g):
            relays = range(via * d + a // self._alike, via * d + d, g)
            needed = (via * g + a, b * g + via, via * g + b, a * g + via)
            dead = any(self._is_dead(self._couplers, coupler, slot) for coupler in needed)
            if not dead and any(self._works(slot, relay) for relay in relays):
                return True
        return False

    def _works(self, slot: int, processor: int) -> bool:
        """Return whether a processor can send and hear in a slot."""
        hears = not self._is_dead(self._hearers, processor, slot)
        return hears and self.sends(slot, processor)

    def _is_dead(self, parts: dict[int, int], part: int, slot: int) -> bool:
        return part in parts and slot >= parts[part]


def _earliest(parts: Iterable[tuple[int, int]]) -> dict[int, int]:
    return dict(sorted(parts, key=itemgetter(1), reverse=True))


_MOST_SHOWN = 20
_FEW = 8
_KINDS = ("packet", "ack", "control")


@dataclass(frozen=True, slots=True)
class Violation:
    """A place in a trace where a rule is broken."""

    line: int | None
    slot: int | None
    processor: int | None
    rule: str

    def __str__(self) -> str:
        values = ((name, getattr(self, name)) for name in ("line", "slot", "processor"))
        where = ", ".join(f"{name} {value}" for name, value in values if value is not None)
        return f"{where}: {self.rule}" if where else self.rule


@dataclass(slots=True)
class TraceCheck:
    """The result of a replay, as :func:`check_trace` returns it.

    The counts ``packets``, ``slots``, ``messages``, ``collisions``, ``destroyed`` and ``delivered``
    are those of the replay, not those that the trace claims. ``delivered`` counts the packets that
    their destinations hold at the end; a run that was stopped early may have delivered fewer. In a
    trace of continuous traffic ``packets`` counts those that arrived, and ``delivered`` those that
    their destinations took out of the network.
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
    traffic: bool = False
    """Whether packets arrive and leave during the run. The counts below are 0 if they do not."""
    held: int = 0
    """The packets that are inside at the end: neither delivered nor lost."""
    refused: int = 0
    """The packets that found the buffer of their source full, as the trace claims."""
    faulty: bool = False
    """Whether the trace has faults. Packets that do not arrive are then not a violation."""
    unreachable: int = 0
    """Undelivered packets that are held and have no live path of two hops both ways, or only
    copies at dead processors."""
    violations: list[Violation] = field(default_factory=list)
    """The first 20 violations."""
    violation_count: int = 0

    @property
    def name(self) -> str:
        """The router or scheduler, and its variant if it has one."""
        return f"{self.router} ({self.variant})" if self.variant else self.router

    @property
    def ok(self) -> bool:
        """Whether the trace breaks no rule."""
        return self.violation_count == 0


class Replay:
    """The state of the network, as far as the trace gives it.

    Pairs of a processor and a packet are kept as single numbers, packet * n + processor. A subclass
    says where packets come from, what processors hold, and what the outcome must be.
    """

    def __init__(self, trace: TraceReader) -> None:
        header = trace.header
        self.trace = trace
        self.network = header.network
        self.n, self.g = self.network.n, self.network.g
        self.packets = len(header.destination)  # packets are numbered 0 to packets - 1
        self.buffers = header.buffers
        self.report = TraceCheck(self.network, header.router, header.variant, self.packets)
        self.report.tells_holdings = header.tells_holdings
        self.report.traffic = header.traffic
        self.report.faulty = header.faults is not None
        self.faults = None if header.faults is None else FaultyParts(self.network, header.faults)
        self.held: dict[int, int] = {}  # copies, and how many; without holdings all ever heard
        self.known: set[int] = set()  # what processors started with or heard of, also from acks
        self.slot: int | None = None
        self.step = 0
        self.first = 1  # number of the first slot; a trace may also count from 0

    def run(self) -> TraceCheck:
        """Replay the trace and return what was found."""
        if wrong := self._wrong_header():
            self._violation(None, wrong)
            return self.report
        self._begin()
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
        self.slot = None
        self._conclude(outcome)
        return self.report

    def _wrong_header(self) -> str | None:
        """Return what is wrong with the header."""
        raise NotImplementedError

    def _begin(self) -> None:
        """Put packets where they start."""

    def _arrive(self, line: SlotLine) -> None:
        """Let the packets arrive that do so at the beginning of the slot."""

    def _settle(self, line: SlotLine, heard: dict[int, int]) -> None:
        """Update what every processor holds, after it heard these packets."""
        for processor, packet in line.drops:
            if 0 <= processor < self.n and self.held.get(packet * self.n + processor):
                self._drop(processor, packet)
            else:
                self._violation(processor, f"{self.drops_rule} {packet}")
        for processor, packet in line.keeps:
            if heard.pop(processor, None) == packet:
                self._keep(processor, packet)
            else:
                self._violation(processor, f"{Rule.KEEPS_WHAT_IT_HEARD}, not packet {packet}")

    drops_rule: ClassVar[str]
    """What a drop breaks, up to the number of the packet."""

    def _drop(self, processor: int, packet: int) -> None:
        """Remove a copy that is held."""
        raise NotImplementedError

    def _keep(self, processor: int, packet: int) -> None:
        """Let a processor hold a copy that it has heard."""
        raise NotImplementedError

    def _hold(self, load: dict[int, int], processor: int, packet: int, rule: str) -> None:
        """Let a processor hold one more copy, as far as this load leaves room."""
        copy = packet * self.n + processor
        self.held[copy] = self.held.get(copy, 0) + 1
        load[processor] = load.get(processor, 0) + 1
        if self.buffers is not None and load[processor] > self.buffers:
            self._violation(processor, f"{rule}, which is {self.buffers}")

    def _conclude(self, outcome: OutcomeLine | None) -> None:
        """Check the outcome, when packets are counted at the end of the trace."""
        if outcome is None:
            self._violation(None, "there is no outcome line: the trace ends too early")
        else:
            self._compare(outcome)

    def _no_packet(self, packet: int) -> str:
        """Say that there is no packet of this number."""
        return Rule.PACKET_EXISTS

    def _has_left(self, packet: int) -> bool:
        """Return whether the replay has forgotten a packet because it left the network."""
        return False

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
        self._arrive(line)
        self.report.messages += len(line.sends)
        channels = self._send(line.sends, line.send_wavelengths or [0] * len(line.sends))
        hears = self._silence(line, channels)
        self._settle(line, self._listen(hears, channels))

    def _silence(self, line: SlotLine, channels: dict[int, Send | None]) -> list[Tuned]:
        """Return the listeners that no fault keeps from hearing."""
        tuned = line.listen_wavelengths or [0] * len(line.listens)
        listens = [(*listen, w) for listen, w in zip(line.listens, tuned, strict=True)]
        if self.faults is None:
            if line.misses:
                self._violation(line.misses[0], "messages are lost only if the header has a loss")
            return listens
        hears, wrong = self.faults.silence(line, listens, channels)
        for processor, rule in wrong:
            self._violation(processor, rule)
        return hears

    def _send(self, sends: Sequence[Send], tuned: Sequence[int]) -> dict[int, Send | None]:
        """Return the message on each channel, None where several meet."""
        d, g, several = self.network.d, self.network.g, self.network.wavelengths
        channels: dict[int, Send | None] = {}
        met = 0
        repeated = _repeated([send[0] for send in sends])
        for send, wavelength in zip(sends, tuned, strict=True):
            processor, groups, kind, packet = send
            wrong = self._wrong_send(processor, groups, kind, packet)
            if not 0 <= wavelength < several:
                wrong = f"{Rule.WAVELENGTH_EXISTS}, and it sends on {wavelength}"
            if processor in repeated:
                wrong = Rule.ONE_MESSAGE
            if wrong is not None:
                self._violation(processor, wrong)
                continue
            if self.faults is not None and not self.faults.sends(self.slot or 0, processor):
                continue
            for group in groups:
                channel = (group * g + processor // d) * several + wavelength
                met += channel in channels
                channels[channel] = None if channel in channels else send
        collided = list(channels.values()).count(None)
        self.report.collisions += collided
        self.report.destroyed += met + collided
        return channels

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
            return self._no_packet(packet)
        copy = packet * self.n + processor
        if kind == "packet" and not self.held.get(copy):
            had = "does not hold" if self.report.tells_holdings else "never had"
            return f"{Rule.SENDS_WHAT_IT_HOLDS}, and it {had} packet {packet}"
        if kind == "ack" and copy not in self.known and not self._has_left(packet):
            return f"it acknowledges packet {packet}, of which it never heard"
        return None

    def _listen(self, listens: list[Tuned], channels: dict[int, Send | None]) -> dict[int, int]:
        """Return the packet that each processor hears, and note what it hears of."""
        n, d, g, several = self.n, self.network.d, self.g, self.network.wavelengths
        heard: dict[int, int] = {}
        know = self.known.add
        repeated = _repeated([processor for processor, _, _ in listens])
        for processor, group, wavelength in listens:
            if not 0 <= processor < n:
                self._violation(processor, Rule.PROCESSOR_EXISTS)
            elif not 0 <= group < g:
                self._violation(processor, f"{Rule.GROUP_EXISTS}, and it listens to {group}")
            elif not 0 <= wavelength < several:
                wrong = f"{Rule.WAVELENGTH_EXISTS}, and it listens to {wavelength}"
                self._violation(processor, wrong)
            elif processor in repeated:
                self._violation(processor, Rule.ONE_LISTENED)
            elif message := channels.get((processor // d * g + group) * several + wavelength):
                _, _, kind, packet = message
                if packet is not None:
                    know(packet * n + processor)
                    if kind == "packet":
                        heard[processor] = packet
        return heard

    def _compare(self, outcome: OutcomeLine) -> None:
        """Compare what the trace claims with what was found."""
        if outcome.slots != self.report.slots:
            self._violation(
                None, f"the outcome claims {outcome.slots} slots; the trace has {self.report.slots}"
            )

    def _compare_lost(self, outcome: OutcomeLine) -> None:
        lost, claimed = self.report.lost, sorted(outcome.lost_packets)
        if (claimed, outcome.lost) != (lost, len(lost)):
            result = f"{len(lost)} ({_some(lost)})"
            self._refute(f"{outcome.lost} lost ({_some(claimed)})", result)

    def _refute(self, claimed: str, result: object) -> None:
        self._violation(None, f"the outcome claims {claimed}; the replay finds {result}")

    def _violation(self, processor: int | None, rule: str) -> None:
        self.report.violation_count += 1
        if len(self.report.violations) < _MOST_SHOWN:
            self.report.violations.append(
                Violation(self._line(processor), self.slot, processor, str(rule))
            )

    def _line(self, processor: int | None) -> int | None:
        """Return the line at which a rule is broken."""
        return self.trace.number


def _repeated(processors: list[int]) -> set[int]:
    """Return the processors that occur more than once."""
    if len(set(processors)) == len(processors):
        return set()
    return {processor for processor, times in Counter(processors).items() if times > 1}


def _some(packets: list[int]) -> str:
    """Return the first few packets as text."""
    shown = ", ".join(map(str, packets[:_FEW]))
    return f"packets {shown}{', …' if len(packets) > _FEW else ''}" if packets else "none"
