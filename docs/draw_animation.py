"""Draws a run as an SVG that moves: by its style sheet alone, so that it plays in an ``<img>``."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import popsnet
from popsnet import Experiment, Network, route
from popsnet.trace.reader import SlotLine, read_trace

IMAGES = Path(__file__).parent / "images"
RUN = Experiment(4, 4, router="relay", variant="S", seed=7, permutation_seed=7)
"""Ten slots, of which three have collisions; no packet starts at its destination."""

WORDS = {
    "seed": "Processor 0 sends one random number to every processor.",
    "sweep: attempt": "Waiting packets go to relays. Two on one coupler destroy each other (✕).",
    "sweep: delivery": "Relays send the packets on to their destinations. Nothing can collide.",
    "sweep: acks": "Relays acknowledge. A source that hears no acknowledgement tries again.",
}
STILL = 2
"""The slot that is seen where nothing may move."""

SECONDS, END = 2.2, 4.0
"""Per slot, and after the last one."""

GROWN, ARRIVES, HEARD, GOES = 0.34, 0.4, 0.72, 0.92
"""Parts of a slot: light is at the couplers, leaves them, is heard, and is switched off."""

AT_ONCE = "animation-timing-function: step-end;"

WIDTH, LEFT, MIDDLE, RIGHT = 760, 150, 392, 634
TOP, PITCH, GAP, RADIUS, HALF = 58, 25, 14, 10.5, 31

STYLE = """
svg { --paper: #fdfdfc; --ink: #1c2530; --soft: #5d6875; --line: #c3cad2; --band: #eef1f4;
  --packet: #0068a8; --held: #a9d3f2; --control: #007a55; --done: #9fdcb9; --hit: #c44a00;
  font-family: system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
@media (prefers-color-scheme: dark) { svg { --paper: #151a21; --ink: #eef2f6; --soft: #a3aebb;
  --line: #48525f; --band: #212832; --packet: #58b4f0; --held: #1c5f92; --control: #45cc98;
  --done: #1c7048; --hit: #ff9350; } }
text { fill: var(--ink); font-size: 12px; text-anchor: middle; dominant-baseline: central; }
.soft { fill: var(--soft); } .small { font-size: 10.5px; } .end { text-anchor: end; }
.start { text-anchor: start; } .large { font-size: 15px; } .bold { font-weight: 600; }
.band { fill: var(--band); } .paper { fill: var(--paper); }
circle, .box { fill: var(--paper); stroke: var(--line); stroke-width: 1.4; }
.in, .out { fill: none; stroke: var(--packet); stroke-width: 2.2; stroke-linecap: round;
  stroke-dasharray: 1.05; stroke-dashoffset: 1.05; opacity: 0; }
.control { stroke: var(--control); stroke-width: 1.8; } .hit { stroke: var(--hit); }
.use, .word { opacity: 0; }
.use .box { stroke: var(--packet); stroke-width: 2; } .use text { font-weight: 600; }
.use .box.control { stroke: var(--control); } .use .box.hit { stroke: var(--hit); }
.use text.hit { fill: var(--hit); stroke: none; } .use text.control { stroke: none; }
.held { fill: var(--held); } .got { fill: var(--paper); } .done { fill: var(--done); }
.tick { fill: var(--line); } .past { fill: var(--packet); }
.still.in, .still.out { stroke-dashoffset: 0; opacity: 1; } .still { opacity: 1; }
"""


class Moment(NamedTuple):
    """A slot and its place in the time of the whole, in percent."""

    line: SlotLine
    slots: int

    def at(self, part: float) -> str:
        """A moment of the slot, from 0 to 1, as a keyframe."""
        seconds = (self.line.slot - 1 + part) * SECONDS
        return f"{100 * seconds / (self.slots * SECONDS + END):.2f}%"

    @property
    def name(self) -> str:
        """The class of all that is seen in this slot only."""
        still = " still" if self.line.slot == STILL else ""
        return f"s{self.line.slot}{still}"


class Diagram(NamedTuple):
    """Where processors and couplers are."""

    network: Network

    @property
    def height(self) -> float:
        """Down to the last group."""
        return TOP + self.network.g * (self.tall + GAP)

    @property
    def tall(self) -> float:
        """The height of a group: as many as it has processors, and couplers that lead to it."""
        return max(self.network.d, self.network.g) * PITCH

    def top(self, group: int) -> float:
        """The upper edge of a group."""
        return TOP + group * (self.tall + GAP)

    def processor(self, number: int) -> float:
        """The height of a processor."""
        place = (self.network.index(number) + 0.5) / self.network.d
        return self.top(self.network.group(number)) + place * self.tall

    def coupler(self, to: int, source: int) -> float:
        """The height of a coupler, beside the group that it leads to."""
        return self.top(to) + (source + 0.5) / self.network.g * self.tall


def lines_of(experiment: Experiment) -> tuple[list[SlotLine], Sequence[int]]:
    """The slots of the first run, and the destinations of its packets."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "trace.jsonl"
        route(experiment, trace=path)
        trace = read_trace(path)
        return [line for line in trace if isinstance(line, SlotLine)], trace.header.destination


def drawn(experiment: Experiment) -> str:
    """The run as the text of an SVG file."""
    lines, destination = lines_of(experiment)
    diagram = Diagram(experiment.network)
    moments = [Moment(line, len(lines)) for line in lines]
    height = diagram.height + 66
    body = [
        f'<rect class="paper" width="{WIDTH}" height="{height:g}" rx="12"/>',
        *network_of(diagram, destination),
        *(part for moment in moments for part in light_of(diagram, moment)),
        *footer_of(diagram, moments, destination),
    ]
    rules = [*keyframes_of(moments), *states_of(moments, destination)]
    moving = "\n".join(rules)
    about = f"A run of {experiment.router} on {experiment.network}, {len(lines)} slots"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" role="img" '
        f'width="{WIDTH}" height="{height:g}" aria-labelledby="about">\n'
        f'<title id="about">{about}</title>\n<metadata>popsnet {popsnet.__version__}</metadata>\n'
        f"<style>{STYLE}"
        f"@media (prefers-reduced-motion: no-preference) {{\n{moving}\n}}\n</style>\n"
        + "\n".join(body)
        + "\n</svg>\n"
    )


def network_of(diagram: Diagram, destination: Sequence[int]) -> Iterator[str]:
    """What does not move: groups, couplers, processors, and where their packets go."""
    network = diagram.network
    headings = ((LEFT, "processors send"), (MIDDLE, "couplers"), (RIGHT, "processors listen"))
    for x, heading in headings:
        yield text(x, TOP - 26, heading, "bold")
    for group in range(network.g):
        top = diagram.top(group)
        for x in (LEFT, RIGHT):
            yield (
                f'<rect class="band" x="{x - 24}" y="{top:g}" width="48" '
                f'height="{diagram.tall:g}" rx="12"/>'
            )
        middle = top + diagram.tall / 2
        yield text(24, middle, f"group {group}", "soft start")
        yield text(RIGHT + 42, middle, f"group {group}", "soft start")
        for source in range(network.g):
            yield box(diagram, (group, source), f"{source}→{group}", "soft small")
    for number, goal in enumerate(destination):
        y = diagram.processor(number)
        yield text(LEFT - 32, y, f"to {goal}", "soft small end")
        for x, state in ((LEFT, f"held h{number}"), (RIGHT, f"got g{number}")):
            yield f'<circle class="{state}" cx="{x}" cy="{y:g}" r="{RADIUS}"/>'
            yield text(x, y, f"{number}")


def light_of(diagram: Diagram, moment: Moment) -> Iterator[str]:
    """The messages of a slot, the couplers they meet on, and who hears them."""
    network, line = diagram.network, moment.line
    sent = [
        (sender, (to, network.group(sender)), kind, packet)
        for sender, groups, kind, packet in line.sends
        for to in groups
    ]
    load = Counter(coupler for _, coupler, _, _ in sent)
    looks = {
        coupler: "hit" if load[coupler] > 1 else "" if kind == "packet" else "control"
        for _, coupler, kind, _ in sent
    }
    for sender, coupler, _, _ in sent:
        y, goal = diagram.processor(sender), diagram.coupler(*coupler)
        yield path((LEFT + RADIUS, y, MIDDLE - HALF, goal), f"in {looks[coupler]} {moment.name}")
    for listener, group in line.listens:
        coupler = (network.group(listener), group)
        if load[coupler] == 1:
            y, goal = diagram.coupler(*coupler), diagram.processor(listener)
            yield path(
                (MIDDLE + HALF, y, RIGHT - RADIUS, goal), f"out {looks[coupler]} {moment.name}"
            )
    for _, coupler, kind, packet in {message[1]: message for message in sent}.values():
        word = "✕" if load[coupler] > 1 else f"{packet}" if kind == "packet" else ack_or_seed(line)
        used = box(diagram, coupler, word, looks[coupler], looks[coupler])
        yield f'<g class="use {moment.name}">{used}</g>'


def ack_or_seed(line: SlotLine) -> str:
    """What a control message of this slot is called."""
    return "ack" if "ack" in line.phase else line.phase


def footer_of(
    diagram: Diagram, moments: Sequence[Moment], destination: Sequence[int]
) -> Iterator[str]:
    """The words of each slot, a count of deliveries, and a tick per slot."""
    y, n = diagram.height + 8, len(destination)
    arrived = 0
    for moment in moments:
        slot = moment.line.slot
        yield text(24, y, f"slot {slot}", f"word large bold start {moment.name}")
        yield text(94, y, WORDS[moment.line.phase], f"word large start {moment.name}")
        x = 24 + (slot - 1) * 26
        past = " past" if slot <= STILL else ""
        size = f'y="{y + 22:g}" width="22" height="7" rx="3"'
        yield f'<rect class="tick{past} t{slot}" x="{x}" {size}/>'
        yield text(WIDTH - 24, y + 26, f"{arrived} of {n} delivered", f"word end s{slot} before")
        arrived += len(deliveries(moment.line, destination))
        yield text(
            WIDTH - 24, y + 26, f"{arrived} of {n} delivered", f"word end {moment.name} after"
        )
    for x, looks, words in ((312, "held", "waits for an ack"), (450, "done", "has its packet")):
        yield f'<circle class="{looks}" cx="{x}" cy="{y + 26:g}" r="6"/>'
        yield text(x + 12, y + 26, words, "soft start")
    last = f"{len(moments)} slots: every packet is delivered, and every source knows it."
    yield text(24, y, last, "word large bold start last")
    yield text(WIDTH - 24, y + 26, f"{arrived} of {n} delivered", "word end last")


def deliveries(line: SlotLine, destination: Sequence[int]) -> Mapping[int, int]:
    """Processors that get their own packet in this slot, and the packets."""
    return {one: packet for one, packet in line.keeps if destination[packet] == one}


def keyframes_of(moments: Sequence[Moment]) -> Iterator[str]:
    """When the light of each slot is seen."""
    seconds = len(moments) * SECONDS + END
    moving = ".in, .out, .use, .word, .held, .got, .tick"
    yield f"{moving} {{ animation: {seconds:g}s linear infinite; }} .still {{ opacity: 0; }}"
    for moment in moments:
        slot, at = moment.line.slot, moment.at
        yield animated(f".in.s{slot}", f"in{slot}", growing(moment, 0, GROWN))
        yield animated(f".out.s{slot}", f"out{slot}", growing(moment, ARRIVES, HEARD))
        yield animated(f".use.s{slot}", f"use{slot}", seen(at(GROWN), at(1)))
        yield animated(f".word.s{slot}", f"word{slot}", seen(at(0), at(1)))
        yield animated(f".before.s{slot}", f"before{slot}", seen(at(0), at(HEARD)))
        yield animated(f".after.s{slot}", f"after{slot}", seen(at(HEARD), at(1)))
        yield animated(f".t{slot}", f"t{slot}", filled("line", at(0), "packet"))
    yield animated(".last", "last", seen(moments[-1].at(1), "100%"))


def states_of(moments: Sequence[Moment], destination: Sequence[int]) -> Iterator[str]:
    """When a source has an acknowledgement, and when a destination has its packet."""
    for moment in moments:
        slot, change = moment.line.slot, moment.at(HEARD)
        acknowledged = [f".h{one}" for one, packet in moment.line.drops if one == packet]
        received = [f".g{one}" for one in deliveries(moment.line, destination)]
        if acknowledged:
            yield animated(", ".join(acknowledged), f"h{slot}", filled("held", change, "paper"))
        if received:
            yield animated(", ".join(received), f"g{slot}", filled("paper", change, "done"))


def animated(selector: str, name: str, frames: str) -> str:
    """Keyframes, and what they move."""
    return f"@keyframes {name} {{ {frames} }} {selector} {{ animation-name: {name}; }}"


def growing(moment: Moment, start: float, end: float) -> str:
    """Light that leaves at one part of a slot and arrives at another, until the slot is over."""
    at, away = moment.at, "stroke-dashoffset: 1.05;"
    return (
        f"0%, {at(start)} {{ opacity: 0; {away} }} {at(start + 0.01)} {{ opacity: 1; {away} }} "
        f"{at(end)}, {at(GOES)} {{ opacity: 1; stroke-dashoffset: 0; }} "
        f"{at(1)}, 100% {{ opacity: 0; stroke-dashoffset: 0; }}"
    )


def seen(start: str, end: str) -> str:
    """Something that is there from one moment to another."""
    after = "" if end == "100%" else f"{end}, 100% {{ opacity: 0; }}"
    return f"0% {{ opacity: 0; {AT_ONCE} }} {start}, {end} {{ opacity: 1; {AT_ONCE} }} {after}"


def filled(before: str, change: str, after: str) -> str:
    """A colour that becomes another in one moment."""
    return f"0% {{ fill: var(--{before}); {AT_ONCE} }} {change}, 100% {{ fill: var(--{after}); }}"


def text(x: float, y: float, words: str, looks: str = "") -> str:
    """Words around a point, or from it on."""
    return f'<text x="{x:g}" y="{y:g}" class="{looks}">{words}</text>'


def box(diagram: Diagram, coupler: tuple[int, int], word: str, looks: str, frame: str = "") -> str:
    """A coupler with a word in it."""
    y = diagram.coupler(*coupler)
    return (
        f'<rect class="box {frame}" x="{MIDDLE - HALF}" y="{y - 10:g}" width="{2 * HALF}" '
        f'height="20" rx="6"/>{text(MIDDLE, y, word, looks)}'
    )


def path(ends: tuple[float, float, float, float], looks: str) -> str:
    """A curve from the left to the right."""
    x, y, right, goal = ends
    bend = (x + right) / 2
    return (
        f'<path class="{looks}" pathLength="1" '
        f'd="M{x:g} {y:g}C{bend:g} {y:g} {bend:g} {goal:g} {right:g} {goal:g}"/>'
    )


if __name__ == "__main__":
    (IMAGES / "pops-4-4.svg").write_text(drawn(RUN), encoding="utf-8")
