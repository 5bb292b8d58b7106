"""Writes traces."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, TextIO

import numpy as np

from popsnet.network import Network
from popsnet.slot import NO_PACKET, Ints, Kind, Slot
from popsnet.trace.event import FORMAT, VERSION, Event, Hold, Listen, Send, TraceWords

__all__ = ["TraceWriter", "records"]


def records(slot: Slot) -> tuple[list[Send], list[Listen]]:
    """What was sent and listened to in a slot of the array machine."""
    sends: list[Send] = []
    ends = np.arange(1, len(slot.senders) + 1) if slot.fanout is None else np.cumsum(slot.fanout)
    groups = slot.groups.tolist()
    start = 0
    for sender, end, kind, packet in zip(
        slot.senders.tolist(),
        ends.tolist(),
        slot.kinds.tolist(),
        slot.packet_numbers.tolist(),
        strict=True,
    ):
        named = None if packet == NO_PACKET else packet
        sends.append((sender, sorted(groups[start:end]), Kind(kind).name.lower(), named))
        start = end
    listens = list(zip(slot.listeners.tolist(), slot.listened.tolist(), strict=True))
    return sorted(sends, key=lambda send: send[0]), sorted(listens)


class TraceWriter:
    """An observer that writes every slot to a file as it happens."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._line: dict[str, Any] = {}

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
        self._line = {
            "slot": event.slot,
            "phase": event.phase,
            "step": event.step,
            "sends": sends,
            "listens": listens,
        }

    def settle(self, keeps: list[Hold], drops: list[Hold]) -> None:
        """After the slot: what was kept of what was heard, and what was given up."""
        self._write({**self._line, "keeps": keeps, "drops": drops})

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

    def _write(self, line: dict[str, Any]) -> None:
        self._file.write(json.dumps(line, separators=(",", ":")) + "\n")
