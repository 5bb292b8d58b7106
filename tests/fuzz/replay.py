"""A second checker of traces, for comparison: it is short and shares no code with popsnet.

It follows docs/reference/trace-format.md and reads plain JSON.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple


class Broken(Exception):
    """A rule is broken, or a packet is missing."""


class Counts(NamedTuple):
    slots: int
    messages: int
    collisions: int
    packets: int


def replay(data: bytes) -> Counts:
    """Return the counts of a trace that keeps all rules; otherwise raise ``Broken``."""
    lines = (json.loads(line) for line in data.split(b"\n") if line.strip())
    header = next(lines)
    replaying = (_Traffic if header.get("traffic") else _Replay)(header)
    return replaying.run(lines)  # a line is read only if those before it are right


def _require(holds: bool) -> None:
    if not holds:
        raise Broken


class _Replay:
    def __init__(self, header: dict[str, Any]) -> None:
        self.d, self.g = header["d"], header["g"]
        self.n = self.d * self.g
        self.destination = header["destination"]
        self.buffers = header.get("buffers")
        m = len(self.destination)
        if "start" in header:
            self.start = header["start"]
            _require(len(self.start) == m)
            _require(all(0 <= one < self.n for one in (*self.start, *self.destination)))
        else:
            _require(m == self.n and set(self.destination) == set(range(m)))
            self.start = list(range(m))
        self.held = Counter(zip(self.start, range(m), strict=True))  # copies: (processor, packet)
        self.heard_of = set(self.held)
        self.messages = self.collisions = 0
        self._require_room()

    def run(self, lines: Iterator[dict[str, Any]]) -> Counts:
        first = step = 0
        for slots, line in enumerate(lines):
            if "outcome" in line:
                _require(next(lines, None) is None)
                return self._conclude(slots, line["outcome"])
            first = first if slots else int(line["slot"] != 0)
            _require(line["slot"] == first + slots)
            _require(line.get("step", step) >= step)
            step = line.get("step", step)
            self._slot(line)
        raise Broken  # there is no outcome

    def _conclude(self, slots: int, outcome: dict[str, Any]) -> Counts:
        m = len(self.destination)
        _require(all(self.held[where, packet] for packet, where in enumerate(self.destination)))
        _require((outcome["slots"], outcome["delivered"], outcome["lost"]) == (slots, m, 0))
        _require(not outcome.get("lost_packets"))
        return Counts(slots, self.messages, self.collisions, m)

    def _arrive(self, line: dict[str, Any]) -> None:
        """Let packets arrive, of which there are none here."""

    def _slot(self, line: dict[str, Any]) -> None:
        self._arrive(line)
        carried: dict[tuple[int, int], list[tuple[str, int | None]]] = {}
        senders = [send[0] for send in line["sends"]]
        _require(len(set(senders)) == len(senders))
        for processor, groups, kind, packet in line["sends"]:
            self._require_send(processor, groups, kind, packet)
            for group in groups:
                carried.setdefault((group, processor // self.d), []).append((kind, packet))
        self.messages += len(senders)
        self.collisions += sum(len(messages) > 1 for messages in carried.values())
        listeners = [listen[0] for listen in line["listens"]]
        _require(len(set(listeners)) == len(listeners))
        heard = dict(self._heard(line["listens"], carried))
        self._settle(line, heard)

    def _settle(self, line: dict[str, Any], heard: dict[int, int]) -> None:
        if self.buffers is None:
            self.held.update(heard.items())
        else:
            self._hold(line, heard)

    def _require_send(self, processor: int, groups: list[int], kind: str, packet: Any) -> None:
        _require(0 <= processor < self.n)
        _require(0 < len(groups) == len(set(groups)))
        _require(all(0 <= group < self.g for group in groups))
        _require(kind in ("packet", "ack", "control"))
        _require(packet is None or 0 <= packet < len(self.destination))
        if kind == "packet":
            _require(packet is not None and self.held[processor, packet] > 0)
        if kind == "ack" and packet is not None:
            _require((processor, packet) in self.heard_of or self._has_left(packet))

    def _has_left(self, packet: int) -> bool:
        return False

    def _heard(self, listens: list[list[int]], carried: Any) -> Iterator[tuple[int, int]]:
        for processor, group in listens:
            _require(0 <= processor < self.n and 0 <= group < self.g)
            messages = carried.get((processor // self.d, group), [])
            if len(messages) == 1 and messages[0][1] is not None:
                kind, packet = messages[0]
                self.heard_of.add((processor, packet))
                if kind == "packet":
                    yield processor, packet

    def _hold(self, line: dict[str, Any], heard: dict[int, int]) -> None:
        for processor, packet in line["drops"]:
            _require(self.held[processor, packet] > 0)
            self.held[processor, packet] -= 1
        for processor, packet in line["keeps"]:
            _require(heard.pop(processor, None) == packet)
            self.held[processor, packet] += 1
        self._require_room()

    def _require_room(self) -> None:
        if self.buffers is not None:
            load: Counter[int] = Counter()
            for (processor, _), copies in self.held.items():
                load[processor] += copies
            _require(max(load.values(), default=0) <= self.buffers)


class _Traffic(_Replay):
    """Packets that arrive and leave."""

    def __init__(self, header: dict[str, Any]) -> None:
        _require(not header["destination"] and not header.get("start"))
        super().__init__({**header, "start": []})
        self.own: set[tuple[int, int]] = set()
        self.delivered: set[int] = set()

    def _arrive(self, line: dict[str, Any]) -> None:
        for processor, packet, destination in line.get("arrives", []):
            _require(packet == len(self.destination))
            _require(0 <= processor < self.n and 0 <= destination < self.n)
            self.destination.append(destination)
            self.held[processor, packet] = 1
            self.heard_of.add((processor, packet))
            self.own.add((processor, packet))
        self._require_room()

    def _settle(self, line: dict[str, Any], heard: dict[int, int]) -> None:
        for processor, packet in line.get("delivers", []):
            _require(0 <= packet < len(self.destination) and packet not in self.delivered)
            _require(self.destination[packet] == processor)
            _require(heard.get(processor) == packet or self.held[processor, packet] > 0)
            self.delivered.add(packet)
        self._hold(line, heard)
        self.held += Counter()  # without those that are 0
        self.own &= set(self.held)

    def _hold(self, line: dict[str, Any], heard: dict[int, int]) -> None:
        for processor, packet in line["drops"]:
            _require(self.held[processor, packet] > 0)
            self.held[processor, packet] -= 1
            if self.held[processor, packet] == 0:
                self.own.discard((processor, packet))
        super()._hold({**line, "drops": []}, heard)

    def _has_left(self, packet: int) -> bool:
        return all(self.held[processor, packet] == 0 for processor in range(self.n))

    def _require_room(self) -> None:
        if self.buffers is not None and hasattr(self, "own"):
            kept = self.held - Counter(self.own)
            for copies in (Counter(self.own), kept):
                load = Counter(processor for processor, _ in copies.elements())
                _require(max(load.values(), default=0) <= self.buffers)

    def _conclude(self, slots: int, outcome: dict[str, Any]) -> Counts:
        there = {packet for (_, packet), copies in self.held.items() if copies}
        left = set(range(len(self.destination))) - self.delivered
        lost = sorted(left - there)
        _require((outcome["slots"], outcome["delivered"]) == (slots, len(self.delivered)))
        _require((outcome["held"], outcome["lost"]) == (len(left & there), len(lost)))
        _require(sorted(outcome["lost_packets"]) == lost)
        _require(outcome["refused"] == 0 or (self.buffers is not None and outcome["refused"] > 0))
        return Counts(slots, self.messages, self.collisions, len(self.destination))
