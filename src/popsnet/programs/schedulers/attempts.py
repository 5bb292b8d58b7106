"""Attempts that may collide: packets that sources try to send, and with what probability."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from popsnet.model.coins import Coins
from popsnet.model.slot import NO_PACKET, Inbox, Ints
from popsnet.programs.queues import Queues


class Patience(NamedTuple):
    """The packets that sources try, and how seldom they try those that failed."""

    window: int
    """A source looks at this many of its oldest packets."""
    most: int
    """A packet is tried with probability 2^-most at least."""
    fixed: int = -1
    """The probability of every attempt, times 2^32, or -1."""


def one_coin(probability: float) -> Patience:
    """Let a source try its oldest packet with a fixed probability."""
    return Patience(1, 0, round(probability * 2**32))


class Attempt(NamedTuple):
    """Packets that sources try to send."""

    senders: Ints
    keys: Ints
    """The queue of each packet."""
    packets: Ints


class Attempts:
    """The choice of packets to try at all sources: those that failed, less and less often.

    A source looks at some of its oldest packets in order and tries the first that passes a coin:
    probability 2^-f for a packet that failed f times, at least 2^-most.
    """

    def __init__(self, coins: Coins, patience: Patience) -> None:
        self._coins, self._patience = coins, patience
        self._fails: dict[int, int] = {}

    def choose(
        self, queues: Queues, senders: Ints, keys: Ints, step: int, may: Callable[[Ints, Ints], Any]
    ) -> Attempt:
        """Return what sources try, of the packets for which ``may(senders, packets)`` is true."""
        rows, places, packets = queues.oldest(senders, keys, self._patience.window)
        open_ = may(senders[rows], packets)
        rows, places, packets = rows[open_], places[open_], packets[open_]
        words = np.empty(len(rows), dtype=np.uint64)
        for place in range(1 + int(np.maximum.reduce(places, initial=-1))):
            at = places == place
            words[at] = self._coins.words(f"retry {place}", step, senders[rows[at]])
        passes = (words & np.uint64(0xFFFFFFFF)) < self._thresholds(packets)
        chosen = np.full(len(senders), NO_PACKET, dtype=np.int64)
        chosen[rows[passes][::-1]] = packets[passes][::-1]  # of several, the oldest is written last
        tries = chosen >= 0
        return Attempt(senders[tries], keys[tries], chosen[tries])

    def _thresholds(self, packets: Ints) -> Ints:
        if self._patience.fixed >= 0:
            return np.full(len(packets), self._patience.fixed, dtype=np.uint64)
        fails, most = self._fails.get, self._patience.most
        shifts = [min(fails(packet, 0), most) for packet in packets.tolist()]
        return np.uint64(2**32) >> np.array(shifts, dtype=np.uint64)

    def conclude(self, attempt: Attempt, acks: Inbox, queues: Queues) -> tuple[Ints, Ints]:
        """Note failures, and return which senders drop which packets.

        ``acks`` are the acknowledgements that senders heard. Each names its packet.
        """
        named = dict(zip(acks.receivers.tolist(), acks.packets.tolist(), strict=True))
        tried = zip(attempt.senders.tolist(), attempt.packets.tolist(), strict=True)
        done = np.array([named.get(sender) == packet for sender, packet in tried], dtype=np.bool_)
        for packet in attempt.packets[~done].tolist():
            self._fails[packet] = self._fails.get(packet, 0) + 1
        for packet in attempt.packets[done].tolist():
            self._fails.pop(packet, None)
        queues.remove(attempt.senders[done], attempt.keys[done], attempt.packets[done])
        return attempt.senders[done], attempt.packets[done]
