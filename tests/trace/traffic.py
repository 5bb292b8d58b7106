"""A trace of continuous traffic, made by hand."""

from __future__ import annotations

import copy
from typing import Any

__all__ = ["HEADER", "OUTCOME", "SLOTS", "traffic_lines"]

HEADER: dict[str, Any] = {
    "format": "popsnet-trace", "version": 1, "d": 2, "g": 2, "router": "by-hand", "variant": "",
    "seed": 0, "traffic": True, "destination": [],
}  # fmt: skip

SLOTS: list[dict[str, Any]] = [
    {  # packet 0 is delivered, and packet 2 is kept by a relay
        "slot": 1, "phase": "first", "arrives": [[0, 0, 3], [1, 1, 2], [2, 2, 1]],
        "sends": [[0, [1], "packet", 0], [2, [0], "packet", 2]], "listens": [[0, 1], [3, 0]],
        "keeps": [[0, 2]], "drops": [[0, 0], [2, 2]], "delivers": [[3, 0]],
    },
    {  # packets 1 and 2 are delivered; the source of packet 1 waits for an ack
        "slot": 2, "phase": "second", "arrives": [[3, 3, 3]],
        "sends": [[0, [0], "packet", 2], [1, [1], "packet", 1]], "listens": [[1, 0], [2, 0]],
        "keeps": [], "drops": [[0, 2]], "delivers": [[1, 2], [2, 1]],
    },
    {  # packet 3 was at its destination from the beginning
        "slot": 3, "phase": "ack", "arrives": [[0, 4, 2], [1, 5, 0]],
        "sends": [[2, [0], "ack", 1]], "listens": [[1, 1]],
        "keeps": [], "drops": [[1, 1], [3, 3]], "delivers": [[3, 3]],
    },
    {  # a collision: packet 4 is lost, and packet 5 is still inside
        "slot": 4, "phase": "last",
        "sends": [[0, [1], "packet", 4], [1, [1], "packet", 5]], "listens": [[2, 0]],
        "keeps": [], "drops": [[0, 4]],
    },
]  # fmt: skip

OUTCOME: dict[str, Any] = {
    "outcome": {
        "slots": 4, "delivered": 4, "lost": 1, "lost_packets": [4], "held": 1, "refused": 0,
    }
}  # fmt: skip


def traffic_lines() -> list[dict[str, Any]]:
    """A copy of all lines, which may be changed."""
    return copy.deepcopy([HEADER, *SLOTS, OUTCOME])
