"""One-to-all in one slot: one processor sends on all its couplers, all listen to its group."""

from __future__ import annotations

from collections.abc import Generator

import numpy as np

from popsnet.network import Network
from popsnet.slot import Inbox, Slot


def broadcast(
    network: Network, word: int, *, phase: str, step: int = 0
) -> Generator[Slot, Inbox, int]:
    """Let processor 0 tell every processor a word of 64 bits; return the word that was heard."""
    inbox = yield Slot.broadcast(
        np.zeros(1, dtype=np.int32),
        network.g,
        np.zeros(network.n, dtype=np.int32),
        contents=np.array([word], dtype=np.uint64),
        bits=64,
        phase=phase,
        step=step,
        conflict_free=True,
    )
    assert inbox.contents is not None
    return int(inbox.contents[0])  # every processor heard the same
