"""How runs are spread over threads: small ones several at a time, large ones each on all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from popsnet.network import Network
from popsnet.trace import Event, Observer

RESIDENT = 2**20
"""The most packets of a run that is done by one thread."""

STEPS_EXPECTED = 16
"""A log has room for this many steps per run; when it is full it is emptied."""

_PACKETS_AT_A_TIME = 2**22
_MOST_RUNS_AT_A_TIME = 2**14


def runs_at_a_time(network: Network) -> int:
    """Return how many small runs a thread does before it reports."""
    return min(max(_PACKETS_AT_A_TIME // network.n, 1), _MOST_RUNS_AT_A_TIME)


def tell(observers: Sequence[Observer], step: int, slots: int, pending: int) -> None:
    """Let observers know how far a run has come."""
    event = Event(slots, "step", step, pending, _no_records)
    for observe in observers:
        observe(event)


def _no_records() -> NoReturn:
    raise ValueError("The fused engine has no messages to record; use the slots engine.")
