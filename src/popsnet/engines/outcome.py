"""What a run comes to, whichever engine executed it."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Outcome"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of routing one permutation."""

    slots: int
    steps: int
    delivered: int
    """Packets delivered to their destinations."""
    lost: int
    """Packets that no processor holds any more."""
    collisions: int
    """Couplers hit by two or more messages, summed over slots."""
    destroyed: int
    """Arrivals of messages at such couplers."""
    messages: int
    """Messages sent; a multicast is one."""
    peak_buffers: int
    """The most packets any processor held at once."""
    capped: bool
    """Whether the run was stopped at its largest number of steps."""
    survivors: tuple[int, ...]
    """Packets not delivered after each step."""
