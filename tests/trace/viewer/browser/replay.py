"""Replays a trace as its format is documented, to hold the page against; popsnet has no part."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any, NamedTuple

__all__ = ["Message", "Replay", "Slot"]


class Message(NamedTuple):
    sender: int
    kind: str
    packet: int | None


@dataclass
class Slot:
    """What came of a slot."""

    phase: str
    step: int | None
    sends: list[Any]
    couplers: dict[int, list[Message]]
    """On each coupler that is not idle; c(b, a) is b·g + a."""
    listens: dict[int, int]
    heard: dict[int, Message]
    keeps: list[tuple[int, int]]
    drops: list[tuple[int, int]]
    held: dict[int, Counter[int]]
    """After the slot, by processor."""
    home: set[int] = field(default_factory=set)
    lost: set[int] = field(default_factory=set)
    arrivals: list[int] = field(default_factory=list)
    gone: list[int] = field(default_factory=list)

    def used(self) -> dict[int, Message]:
        return {c: there[0] for c, there in self.couplers.items() if len(there) == 1}

    def collided(self) -> dict[int, list[Message]]:
        return {c: there for c, there in self.couplers.items() if len(there) > 1}

    def signals(self) -> int:
        """Messages, each counted on every coupler that it is sent to."""
        return sum(len(groups) for _, groups, _, _ in self.sends)

    def destroyed(self) -> int:
        return sum(map(len, self.collided().values()))


class Replay:
    """A run: ``states[0]`` is the start, ``states[t]`` what slot t came to."""

    def __init__(self, text: str) -> None:
        header, *lines = map(json.loads, text.splitlines())
        self.d, self.g = header["d"], header["g"]
        self.n = self.d * self.g
        self.destination = header["destination"]
        self.packets = len(self.destination)
        self.start = header.get("start", list(range(self.n)))
        self.told = "buffers" in header
        holds: defaultdict[int, Counter[int]] = defaultdict(Counter)
        for packet, processor in enumerate(self.start):
            holds[processor][packet] += 1
        self.states = [Slot("", None, [], {}, {}, {}, [], [], _copy(holds))]
        for line in lines:
            if "outcome" not in line:
                self.states.append(self._slot(line, holds))
        self._conclude()

    @property
    def slots(self) -> int:
        return len(self.states) - 1

    def _slot(self, line: dict[str, Any], holds: defaultdict[int, Counter[int]]) -> Slot:
        couplers: defaultdict[int, list[Message]] = defaultdict(list)
        for sender, groups, kind, packet in line["sends"]:
            for group in groups:
                couplers[group * self.g + sender // self.d].append(Message(sender, kind, packet))
        listens = dict(line["listens"])
        heard = {}
        for processor, group in listens.items():
            there = couplers.get(processor // self.d * self.g + group, [])
            if len(there) == 1:
                heard[processor] = there[0]
        drops = [(who, packet) for who, packet in line.get("drops", [])]
        keeps = [(who, packet) for who, packet in line.get("keeps", [])]
        if not self.told:
            keeps = [
                (who, message.packet)
                for who, message in heard.items()
                if message.kind == "packet" and message.packet is not None
                and not holds[who][message.packet]
            ]  # fmt: skip
        for who, packet in drops:
            holds[who][packet] -= 1
        for who, packet in keeps:
            holds[who][packet] += 1
        return Slot(
            line["phase"], line.get("step"), line["sends"], dict(couplers), listens, heard,
            keeps, drops, _copy(holds),
        )  # fmt: skip

    def _conclude(self) -> None:
        """Find packets that are at their destination to stay, and those that no processor holds."""
        home = set(range(self.packets))
        for state in reversed(self.states):
            home = {p for p in home if state.held.get(self.destination[p], Counter())[p] > 0}
            state.home = home
        before: Slot | None = None
        for state in self.states:
            held = {packet for packets in state.held.values() for packet in packets}
            state.lost = set(range(self.packets)) - held
            if before is not None:
                state.arrivals = sorted(state.home - before.home)
                state.gone = sorted(state.lost - before.lost)
            before = state

    def step_of(self, t: int) -> tuple[int, int]:
        """The first and last slot with the step of slot t."""
        first = last = t
        while first > 1 and self.states[first - 1].step == self.states[t].step:
            first -= 1
        while last < self.slots and self.states[last + 1].step == self.states[t].step:
            last += 1
        return first, last

    def history(self, packet: int) -> list[tuple[int, str]]:
        """What happens to a packet, slot by slot, in the page's words."""
        start, end = self.start[packet], self.destination[packet]
        told = [
            (
                0,
                f"Starts at processor {start} (group {start // self.d}); "
                f"it must reach processor {end} (group {end // self.d}).",
            )
        ]
        if start == end:
            told.append((0, "It is already there."))
        for t, state in enumerate(self.states[1:], start=1):
            for sender, groups, kind, carried in state.sends:
                if carried == packet:
                    told += [
                        (t, self._tell(state, sender, group, kind, packet)) for group in groups
                    ]
            told += [
                (t, f"Processor {who} drops its copy.") for who, given in state.drops
                if given == packet
            ]  # fmt: skip
            if packet in state.arrivals:
                told.append((t, f"It is delivered to processor {end}."))
            if packet in state.gone:
                told.append((t, "No processor holds it any more: it is lost."))
        last = self.states[-1]
        if packet not in last.home and packet not in last.lost:
            told.append((self.slots, "The run ends before it is delivered."))
        return told

    def _tell(self, state: Slot, sender: int, group: int, kind: str, packet: int) -> str:
        source = sender // self.d
        what = {"packet": "sends it", "ack": "sends an ack of it"}.get(
            kind, "sends a control message about it"
        )
        way = f"Processor {sender} {what} to group {group} on coupler {source}→{group}"
        met = [
            message
            for message in state.couplers[group * self.g + source]
            if message.sender != sender
        ]
        if met:
            both = "both" if len(met) == 1 else "all"
            return f"{way}, where it meets {listed(map(name_of, met))}: {both} are destroyed."
        hearers = [
            who for who, message in state.heard.items()
            if message.sender == sender and who // self.d == group
        ]  # fmt: skip
        if not hearers:
            return f"{way}; no processor listens."
        plural = "" if len(hearers) == 1 else "s"
        way += f"; processor{plural} {listed(hearers)} hear{'' if plural else 's'} it"
        if kind != "packet" or not self.told:
            return f"{way}."
        keepers = [who for who in hearers if (who, packet) in state.keeps]
        if not keepers:
            return f"{way}, and no processor keeps it."
        if not plural:
            return f"{way} and keeps it."
        verb = "keeps" if len(keepers) == 1 else "keep"
        return f"{way}, and {listed(f'processor {who}' for who in keepers)} {verb} it."

    def words(self, t: int) -> str:
        """The sentences of slot t, the first with its name."""
        state = self.states[t]
        if t == 0:
            if self.packets == 0:
                return "Start. There is nothing to send."
            ends = zip(self.start, self.destination, strict=True)
            there = sum(start == end for start, end in ends)
            verb = "is" if there == 1 else "are"
            already = f"; {there} of {self.packets} {verb} already at the destination"
            return f"Start. Every packet is at its source{already if there else ''}."
        step = "" if state.step is None else f", step {state.step + 1}"
        phase = (
            state.phase.lstrip("0123456789").strip() if state.phase[0].isdigit() else state.phase
        )
        parts = [plural(len(state.sends), "message") + " sent"]
        if state.collided():
            copies = f" of {state.signals()} copies" if state.signals() > len(state.sends) else ""
            parts.append(
                f"{plural(len(state.collided()), 'collision')} "
                f"({state.destroyed()}{copies} destroyed)"
            )
        elif state.sends:
            parts.append("no collision")
        for packets, singular, several in (
            (state.arrivals, "is delivered", "are delivered"),
            (
                state.gone,
                "is lost: no processor holds a copy any more",
                "are lost: no processor holds a copy any more",
            ),
        ):
            if packets:
                who = "packet" if len(packets) == 1 else "packets"
                parts.append(
                    f"{who} {listed(packets)} {singular if len(packets) == 1 else several}"
                )
        return f"Slot {t}{step}: {phase}. {', '.join(parts)}."

    def standing(self, t: int) -> str:
        state = self.states[min(t, self.slots)]
        lost = f", {len(state.lost)} lost" if self.told and state.lost else ""
        return f"{len(state.home)} of {self.packets} delivered{lost}"


def name_of(message: Message) -> str:
    if message.kind == "packet":
        return f"packet {message.packet}"
    if message.kind == "ack":
        return "an ack" if message.packet is None else f"the ack of packet {message.packet}"
    return f"a control message from processor {message.sender}"


def plural(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def listed(items: Any) -> str:
    """As in a sentence; of many the first six."""
    texts = [str(item) for item in items]
    if len(texts) > 6:
        return f"{', '.join(texts[:6])} and {len(texts) - 6} more"
    return " and ".join([", ".join(texts[:-1]), texts[-1]]) if len(texts) > 1 else "".join(texts)


def _copy(holds: dict[int, Counter[int]]) -> dict[int, Counter[int]]:
    return {who: +packets for who, packets in holds.items() if +packets}
