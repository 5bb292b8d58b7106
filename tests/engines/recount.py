"""The counts of a run, computed from its trace by the definitions of docs/reference/measures.md.

Only the trace is used: what is sent, listened to, kept and dropped. A trace does not say when a
destination takes its packet, so that is stated here once more, by the phases of the routers.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

TAKES_WHAT_IT_HEARS = re.compile(
    r"(5 )?to destination|.*: delivery.*|team: arrival.*|roll call: hand out"
)
"""The phases in which a destination takes its packet when it hears it."""

ASKING = "all delivered?"
"""Phases after the router's own, in variants with termination detection."""


def recounted(trace: str, router: str, variant: str, ended: bool) -> dict[str, Any]:
    """The counts by name; ``ended`` is whether the router ended, or else the run was capped."""
    header, *slots, outcome = map(json.loads, trace.splitlines())
    assert "outcome" in outcome
    d, destination = header["d"], header["destination"]
    held = Counter((start, start) for start in range(len(destination)))
    peak = most_held(held)
    load: Counter[tuple[int, int, int]] = Counter()  # messages on (slot, to, from)
    taken: dict[int, int] = {}  # packets and slots
    left: dict[int, int] = {}  # packets after each step
    if router == "relay" and variant.partition("+")[0] not in ("direct", "roll-call"):
        at_home = [packet for packet, home in enumerate(destination) if packet == home]
        taken = dict.fromkeys(at_home, 1)  # after the slot of the seed
    for line in slots:
        slot, carried = line["slot"], {}
        for sender, groups, kind, packet in line["sends"]:
            for group in groups:
                load[slot, group, sender // d] += 1
                carried[group, sender // d] = packet if kind == "packet" else None
        for listener, group in line["listens"]:
            packet = carried.get((listener // d, group))
            if packet is None or load[slot, listener // d, group] > 1:
                continue
            if destination[packet] == listener and TAKES_WHAT_IT_HEARS.fullmatch(line["phase"]):
                taken.setdefault(packet, slot)
        held.subtract(map(tuple, line["drops"]))
        held.update(map(tuple, line["keeps"]))
        assert min(held.values()) >= 0
        peak = max(peak, most_held(held))
        left[line["step"]] = len(destination) - len(taken)
    if router in ("aks", "batcher") and ended:
        own = [line["slot"] for line in slots if not line["phase"].startswith(ASKING)]
        taken = dict.fromkeys(range(len(destination)), max(own, default=0))
        left |= dict.fromkeys(list(left)[-1:], 0)
    collided = [messages for messages in load.values() if messages > 1]
    somewhere = {packet for (_, packet), copies in held.items() if copies}
    lost = tuple(p for p in range(len(destination)) if p not in somewhere and p not in taken)
    return {
        "slots": len(slots),
        "slots_delivered": max(taken.values(), default=0),
        "steps": len(left),
        "delivered": len(taken),
        "lost": len(lost),
        "collisions": len(collided),
        "destroyed": sum(collided),
        "messages": sum(len(line["sends"]) for line in slots),
        "peak_buffers": peak,
        "capped": not ended,
        "survivors": tuple(left.values()),
        "lost_packets": lost,
    }


def most_held(held: Counter[tuple[int, int]]) -> int:
    load: Counter[int] = Counter()
    for (processor, _), copies in held.items():
        load[processor] += copies
    return max(load.values(), default=0)
