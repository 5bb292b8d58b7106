"""What an engine tells its observers about each slot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias, TypedDict

FORMAT = "popsnet-trace"
VERSION = 1

Send: TypeAlias = tuple[int, Sequence[int], str, int | None]
"""Processor, groups, kind, packet."""

Listen: TypeAlias = tuple[int, int]
"""Processor, group."""


Hold: TypeAlias = tuple[int, int]
"""Processor, packet: something it keeps, or gives up."""


class TraceWords(TypedDict, total=False):
    """What a header may say to explain a run."""

    explanation: str
    """What the router does."""
    phases: dict[str, str]
    """What happens in a phase, by pattern; the first that matches counts."""
    conflict_graph: str
    """By what the conflict graph of a step has destinations: ``group`` or ``residue``."""


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
