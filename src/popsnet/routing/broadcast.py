"""One-to-all in one slot: the speaker uses all its couplers, and everybody listens to its group."""

from __future__ import annotations

from collections.abc import Generator

import numpy as np

from popsnet.network import Network
from popsnet.slot import Inbox, Kind, Slot

__all__ = ["broadcast"]


def broadcast(
    network: Network, word: int, *, phase: str, step: int = 0
) -> Generator[Slot, Inbox, int]:
    """Processor 0 tells everybody a word of 64 bits; returns what was heard."""
    everybody = np.arange(network.n, dtype=np.int32)
    inbox = yield Slot(
        phase=phase,
        step=step,
        senders=everybody[:1],
        groups=np.arange(network.g, dtype=np.int32),
        fanout=np.array([network.g], dtype=np.int32),
        kind=Kind.CONTROL,
        contents=np.array([word], dtype=np.uint64),
        bits=64,
        listeners=everybody,
        listened=np.zeros(network.n, dtype=np.int32),
        conflict_free=True,
    )
    assert inbox.contents is not None
    return int(inbox.contents[0])  # everybody heard the same
