"""The pattern language of traces, written a second time."""

from __future__ import annotations

import re

__all__ = ["explains"]


def explains(pattern: str, phase: str) -> bool:
    """Whether a pattern matches all of a phase; ``*`` stands for any characters."""
    pieces = (re.escape(piece) for piece in pattern.split("*"))
    return re.fullmatch(".*".join(pieces), phase, re.DOTALL) is not None
