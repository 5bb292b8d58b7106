"""What an engine tells its observers about each slot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

__all__ = ["FORMAT", "VERSION", "Event", "Hold", "Listen", "Observer", "Send"]

FORMAT = "popsnet-trace"
VERSION = 1

Send: TypeAlias = tuple[int, Sequence[int], str, int | None]
"""Processor, groups, kind, packet."""

Listen: TypeAlias = tuple[int, int]
"""Processor, group."""


Hold: TypeAlias = tuple[int, int]
"""Processor, packet: something it keeps, or gives up."""


class Event(NamedTuple):
    """One executed slot."""

    slot: int
    phase: str
    step: int
    pending: int
    """Packets not delivered when the slot began."""
    records: Callable[[], tuple[list[Send], list[Listen]]]
    """What was sent and listened to; worked out only for those who ask."""


Observer: TypeAlias = Callable[[Event], None]
