"""An animated run: a small SVG that plays a run slot by slot, with CSS alone.

It is part of a page and takes its colours from there. It has no script and loads nothing. Readers
who prefer reduced motion see one slot that does not move. A checked box of the class ``pause``
before it holds it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

from popsnet.experiment import Experiment
from popsnet.network import Network
from popsnet.runs.route import route
from popsnet.trace import Event, Send

_LEFT, _MIDDLE, _RIGHT, _WIDTH = 70, 235, 400, 470
_ROW, _GAP, _TOP = 22, 12, 78
_RADIUS, _HALF = 9, 15
_SECONDS = 0.9
"""How long a slot is shown."""

_HELD = 3
"""The last state is held for this many slots."""


class Line(NamedTuple):
    """The line of a message: between which heights, and what becomes of it."""

    processor: int
    coupler: tuple[int, int]
    collides: bool


@dataclass(frozen=True)
class Frame:
    """What one slot shows."""

    title: str
    sent: tuple[Line, ...]
    heard: tuple[Line, ...]
    delivered: int
    """Packets delivered by the end of the slot."""


@dataclass(frozen=True)
class AnimatedRun:
    """A run as frames, and when each processor has its packet.

    Attributes
    ----------
    arrivals : dict
        The slot in which a processor receives the packet addressed to it.
    """

    network: Network
    router: str
    frames: tuple[Frame, ...]
    arrivals: dict[int, int]

    @classmethod
    def of(cls, experiment: Experiment) -> AnimatedRun:
        """Run an experiment once and keep what every slot shows.

        Examples
        --------
        >>> run = AnimatedRun.of(Experiment(2, 2, router="direct"))
        >>> len(run.frames), run.frames[-1].delivered
        (2, 4)
        """
        events: list[Event] = []
        route(experiment, observers=[events.append])
        network, destination = experiment.network, experiment.destination(0)
        slots = [_messages(network, event) for event in events]
        arrivals = {
            listener: number
            for number, (_, _, packets) in enumerate(slots)
            for listener, packet in packets
            if destination[packet] == listener
        }
        frames = tuple(
            Frame(event.phase, sent, heard, sum(at <= number for at in arrivals.values()))
            for number, (event, (sent, heard, _)) in enumerate(zip(events, slots, strict=True))
        )
        return cls(network, experiment.router, frames, arrivals)

    @property
    def words(self) -> str:
        """What is seen, for readers who do not see it."""
        return (
            f"Animation of {self.router} on {self.network}: {self.network.n} packets are "
            f"delivered in {len(self.frames)} slots. Messages that meet on a coupler are lost."
        )

    def svg(self) -> str:
        """Return the animation as an ``<svg>`` element with its own style."""
        height = _TOP + self.network.g * (_tall(self.network) + _GAP)
        parts = (
            f'<svg class="run" viewBox="0 0 {_WIDTH} {height}" role="img" '
            f'aria-label="{self.words}">',
            f"<style>{''.join(self._style())}</style>",
            *_still(self.network),
            *self._fill(),
            *self._frames(),
            "</svg>",
        )
        return "\n".join(parts)

    @property
    def _cycle(self) -> int:
        return len(self.frames) + _HELD

    def _part(self, slots: float) -> str:
        """Return a time, in slots, as a part of the cycle."""
        return f"{100 * slots / self._cycle:.2f}%"

    def _style(self) -> Iterator[str]:
        seconds = _SECONDS * self._cycle
        yield (
            ".run .slot,.run .got{opacity:0}"
            ".run .sent path,.run .heard path{fill:none;stroke:var(--sent);stroke-width:1.8;"
            "stroke-dasharray:1}"
            ".run .lost path{stroke:var(--lost)}"
            f".run .slot{{animation:show {seconds:.1f}s infinite step-end}}"
            f".run .sent path{{animation:send {seconds:.1f}s infinite linear}}"
            f".run .heard path{{animation:hear {seconds:.1f}s infinite linear}}"
            f"@keyframes show{{0%{{opacity:1}}{self._part(1)},to{{opacity:0}}}}"
            f"@keyframes last{{0%{{opacity:1}}{self._part(1 + _HELD)},to{{opacity:0}}}}"
            "@keyframes send{0%{stroke-dashoffset:1}"
            f"{self._part(0.4)},to{{stroke-dashoffset:0}}}}"
            f"@keyframes hear{{0%,{self._part(0.4)}{{stroke-dashoffset:1}}"
            f"{self._part(0.75)},to{{stroke-dashoffset:0}}}}"
        )
        for slot in sorted(set(self.arrivals.values())):
            at = self._part(slot + 0.75)
            yield (
                f".run .at{slot}{{animation:at{slot} {seconds:.1f}s infinite step-end}}"
                f"@keyframes at{slot}{{0%{{opacity:0}}{at},to{{opacity:1}}}}"
            )
        for number in range(len(self.frames)):
            late = number * _SECONDS
            yield f".run .n{number},.run .n{number} path{{animation-delay:{late:.1f}s}}"
        yield (
            f".run .n{len(self.frames) - 1}{{animation-name:last}}"
            ".pause:checked~.run *{animation-play-state:paused!important}"
            "@media (prefers-reduced-motion:reduce),print{.run *{animation:none!important}"
            ".run .n0{opacity:1}.run .got{opacity:0}}"
        )

    def _fill(self) -> Iterator[str]:
        """Mark the destinations that have their packets, and the sources that no longer do."""
        for processor, slot in sorted(self.arrivals.items()):
            y = _height_of(self.network, processor)
            yield (
                f'<g class="got at{slot}"><circle cx="{_RIGHT}" cy="{y}" r="{_RADIUS}"/>'
                f'<text x="{_RIGHT}" y="{y + 4}">✓</text></g>'
            )

    def _frames(self) -> Iterator[str]:
        for number, frame in enumerate(self.frames):
            yield f'<g class="slot n{number}">'
            yield (
                f'<text class="title" x="{_WIDTH / 2:g}" y="20">Slot {number + 1} of '
                f"{len(self.frames)}: {frame.delivered} of {self.network.n} delivered</text>"
                f'<text class="phase" x="{_WIDTH / 2:g}" y="40">{frame.title}</text>'
            )
            yield from self._paths("sent", _LEFT, [one for one in frame.sent if not one.collides])
            yield from self._paths("sent lost", _LEFT, [one for one in frame.sent if one.collides])
            yield from self._paths("heard", _RIGHT, frame.heard)
            for coupler in sorted({one.coupler for one in frame.sent if one.collides}):
                y = _coupler_height(self.network, coupler)
                yield f'<text class="cross" x="{_MIDDLE}" y="{y + 5}">✕</text>'
            yield "</g>"

    def _paths(self, kind: str, x: int, lines: Sequence[Line]) -> Iterator[str]:
        if not lines:
            return
        side = 1 if x < _MIDDLE else -1
        yield f'<g class="{kind}">'
        for line in lines:
            near = f"{x + side * _RADIUS} {_height_of(self.network, line.processor)}"
            far = f"{_MIDDLE - side * _HALF} {_coupler_height(self.network, line.coupler)}"
            ends = (near, far) if side == 1 else (far, near)
            yield f'<path pathLength="1" d="M{ends[0]}L{ends[1]}"/>'
        yield "</g>"


def _messages(
    network: Network, event: Event
) -> tuple[tuple[Line, ...], tuple[Line, ...], list[tuple[int, int]]]:
    """Return the lines that are sent, those that are heard, and the packets that are heard."""
    sends, listens = event.records()
    load = Counter(coupler for coupler, _ in _couplers(network, sends))
    sent = tuple(
        Line(sender, coupler, load[coupler] > 1)
        for coupler, (sender, *_) in _couplers(network, sends)
    )
    alone = {coupler: send for coupler, send in _couplers(network, sends) if load[coupler] == 1}
    pairs = [(listener, (network.group(listener), group)) for listener, group in listens]
    heard = tuple(Line(listener, coupler, False) for listener, coupler in pairs if coupler in alone)
    packets = [
        (listener, packet)
        for listener, coupler in pairs
        if coupler in alone
        and alone[coupler][2] == "packet"
        and (packet := alone[coupler][3]) is not None
    ]
    return sent, heard, packets


def _couplers(network: Network, sends: Sequence[Send]) -> Iterator[tuple[tuple[int, int], Send]]:
    for send in sends:
        for group in send[1]:
            yield (group, network.group(send[0])), send


def _tall(network: Network) -> int:
    return max(network.d, network.g) * _ROW


def _height(network: Network, group: int, place: int, places: int) -> int:
    tall = _tall(network)
    return round(_TOP + group * (tall + _GAP) + (place + 0.5) / places * tall)


def _height_of(network: Network, processor: int) -> int:
    return _height(network, network.group(processor), network.index(processor), network.d)


def _coupler_height(network: Network, coupler: tuple[int, int]) -> int:
    return _height(network, *coupler, network.g)


def _still(network: Network) -> Iterator[str]:
    """Yield processors on both sides, couplers between them, and the names of the columns."""
    for x, text in ((_LEFT, "senders"), (_MIDDLE, "couplers"), (_RIGHT, "receivers")):
        yield f'<text class="name" x="{x}" y="{_TOP - 8}">{text}</text>'
    for group in range(network.g):
        y = _TOP + group * (_tall(network) + _GAP) + _tall(network) // 2 + 4
        yield f'<text class="name" x="{(_LEFT - _RADIUS) / 2:g}" y="{y}">group {group}</text>'
    for coupler in product(range(network.g), range(network.g)):
        y = _coupler_height(network, coupler)
        yield (f'<rect x="{_MIDDLE - _HALF}" y="{y - 7}" width="{2 * _HALF}" height="14" rx="3"/>')
    for processor in range(network.n):
        y = _height_of(network, processor)
        for x in (_LEFT, _RIGHT):
            yield f'<circle cx="{x}" cy="{y}" r="{_RADIUS}"/>'
            yield f'<text class="label" x="{x}" y="{y + 4}">{processor}</text>'
