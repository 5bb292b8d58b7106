"""Writes traces."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from operator import itemgetter
from typing import TextIO

import numpy as np

from popsnet.network import Network
from popsnet.slot import NO_PACKET, Ints, Kind, Slot
from popsnet.trace.event import FORMAT, VERSION, Event, Hold, Listen, Send, TraceWords

_KINDS = {int(kind): kind.name.lower() for kind in Kind}


def records(slot: Slot) -> tuple[list[Send], list[Listen]]:
    """What was sent and listened to in a slot of the array machine."""
    groups = slot.groups.tolist()
    if slot.fanout is None:
        targets = [[group] for group in groups]
    else:
        ends = np.cumsum(slot.fanout).tolist()
        targets = [sorted(groups[a:b]) for a, b in pairwise([0, *ends])]
    kinds = [_KINDS[kind] for kind in slot.kinds.tolist()]
    packets = [None if one == NO_PACKET else one for one in slot.packet_numbers.tolist()]
    sends = zip(slot.senders.tolist(), targets, kinds, packets, strict=True)
    listens = zip(slot.listeners.tolist(), slot.listened.tolist(), strict=True)
    return sorted(sends, key=itemgetter(0)), sorted(listens)


class TraceWriter:
    """An observer that writes every slot to a file as it happens."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._line: dict[str, object] = {}

    def begin(
        self,
        network: Network,
        router: str,
        variant: str,
        seed: int,
        destination: Ints,
        buffers: int,
        start: Ints | None = None,
        words: TraceWords | None = None,
    ) -> None:
        """Write the header; ``start`` if it is not packet i that starts at processor i.

        ``words`` explain the run to readers.
        """
        header = {
            "format": FORMAT,
            "version": VERSION,
            "d": network.d,
            "g": network.g,
            "router": router,
            "variant": variant,
            "seed": seed,
            "destination": destination.tolist(),
            "buffers": buffers,
            **({} if start is None else {"start": start.tolist()}),
            **(words or {}),
        }
        self._write(header)

    def __call__(self, event: Event) -> None:
        sends, listens = event.records()
        from msgspec import Raw

        self._line = {
            "slot": event.slot,
            "phase": Raw(json.dumps(event.phase)),  # the one text, which may not be ASCII
            "step": event.step,
            "sends": sends,
            "listens": listens,
        }

    def settle(self, keeps: list[Hold], drops: list[Hold]) -> None:
        """After the slot: what was kept of what was heard, and what was given up."""
        from msgspec.json import encode

        self._file.write(encode({**self._line, "keeps": keeps, "drops": drops}).decode() + "\n")

    def end(self, slots: int, delivered: int, lost_packets: Sequence[int]) -> None:
        """Write the outcome."""
        self._write(
            {
                "outcome": {
                    "slots": slots,
                    "delivered": delivered,
                    "lost": len(lost_packets),
                    "lost_packets": list(lost_packets),
                }
            }
        )

    def _write(self, line: dict[str, object]) -> None:
        self._file.write(json.dumps(line, separators=(",", ":")) + "\n")
