"""A slot: what everybody sends and listens to at once, and what is heard of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from math import prod
from operator import index
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["NO_PACKET", "Inbox", "Ints", "Kind", "Slot"]

Ints = npt.NDArray[np.integer[Any]]

NO_PACKET = -1
"""Stands for "no packet" wherever a packet's number is expected."""


class Kind(IntEnum):
    """What a message is: a packet, the acknowledgement of one, or anything else."""

    PACKET = 0
    ACK = 1
    CONTROL = 2


def _whole_numbers(name: str, values: npt.ArrayLike) -> Ints:
    array = np.asarray(values)
    if array.size == 0:
        array = array.astype(np.int32)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ValueError(f"{name} is not a row of whole numbers.")
    if array.dtype in (np.int32, np.int64):
        return array
    if array.max() > np.iinfo(np.int64).max:
        raise ValueError(f"{name} holds {array.max()}, which is no number of anything here.")
    return array.astype(np.int64)


def _nobody() -> Ints:
    return np.empty(0, dtype=np.int32)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Slot:
    """What all processors do in one slot, as flat arrays.

    Message i is sent by processor ``senders[i]``. It concerns packet ``packets[i]`` (numbered
    by its source; ``NO_PACKET`` for none) and a control message may carry ``contents[i]``, one
    row of any shape. A packet message always carries the packet's destination.

    Message i goes to group ``groups[i]``. A multicast gives ``fanout``: message i then goes to
    the next ``fanout[i]`` entries of ``groups``, which lists the targets of all messages in turn.

    ``bits`` is how many bits each control message of this slot carries; its contents must fit.
    Contents are whole numbers then, from 0 on. If a row has several they share the bits evenly.
    Without ``bits`` contents count with all bits of their type.

    Processor ``listeners[i]`` listens to group ``listened[i]``.

    ``phase`` and ``step`` name the slot for people and traces and change nothing. With
    ``conflict_free`` the router promises that no two messages meet; the machine holds it to it.
    """

    senders: Ints = field(default_factory=_nobody)
    groups: Ints = field(default_factory=_nobody)
    fanout: Ints | None = None
    kind: Kind | Ints = Kind.PACKET
    packets: Ints | None = None
    contents: npt.NDArray[Any] | None = None
    bits: int | None = None
    listeners: Ints = field(default_factory=_nobody)
    listened: Ints = field(default_factory=_nobody)
    phase: str = ""
    step: int = 0
    conflict_free: bool = False

    def __post_init__(self) -> None:
        for name in ("senders", "groups", "fanout", "kind", "packets", "listeners", "listened"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, Kind):
                object.__setattr__(self, name, _whole_numbers(name, value))
        if not isinstance(self.phase, str):
            raise ValueError(f"phase is {self.phase!r}, not a text.")
        if self.bits is not None:
            self._require_numbers(self.bits)
        if self.fanout is not None and self.fanout.min(initial=0) < 0:
            raise ValueError(f"fanout holds {self.fanout.min()}; a message goes to 1 or more.")
        messages = len(self.senders)
        targets = messages if self.fanout is None else int(self.fanout.sum())
        self._require_length("groups", targets)
        self._require_length("fanout", messages)
        self._require_length("kind", messages)
        self._require_length("packets", messages)
        self._require_length("contents", messages)
        self._require_length("listened", len(self.listeners))
        if not isinstance(self.kind, Kind) and not np.isin(self.kind, list(Kind)).all():
            raise ValueError(f"kind holds values other than {[int(kind) for kind in Kind]}.")

    def _require_length(self, name: str, length: int) -> None:
        value = getattr(self, name)
        if value is not None and not isinstance(value, Kind) and len(value) != length:
            raise ValueError(f"{name} has {len(value)} entries where this slot needs {length}.")

    def _require_numbers(self, bits: int) -> None:
        object.__setattr__(self, "bits", index(bits))
        if bits < 0:
            raise ValueError(f"bits is {bits}; a message carries 0 or more.")
        if self.contents is None or not self.contents.size:
            return
        if (of := self.contents.dtype).kind not in "biu":
            raise ValueError(f"contents of {bits} bits are whole numbers, not of type {of}.")

    @property
    def numbers_a_message(self) -> int:
        """How many numbers the contents of a message are."""
        return 0 if self.contents is None else prod(self.contents.shape[1:])

    @property
    def control_bits(self) -> int:
        """The bits that a message of this slot carries, besides packets; 0 if there is none."""
        if isinstance(self.kind, Kind):
            only_packets = self.kind is Kind.PACKET
        else:
            only_packets = bool((self.kind == Kind.PACKET).all())
        if not len(self.senders) or (only_packets and self.contents is None):
            return 0
        if self.bits is not None:
            return self.bits
        if self.contents is None:
            return 1
        return 8 * self.contents.dtype.itemsize * self.numbers_a_message

    @property
    def kinds(self) -> Ints:
        """The kind of every message."""
        if isinstance(self.kind, Kind):
            return np.broadcast_to(np.int8(self.kind), self.senders.shape)
        return self.kind

    @property
    def packet_numbers(self) -> Ints:
        """The packet every message concerns."""
        if self.packets is None:
            return np.broadcast_to(np.int32(NO_PACKET), self.senders.shape)
        return self.packets

    @property
    def owners(self) -> Ints:
        """For every entry of ``groups``, the position of its message."""
        messages = np.arange(len(self.senders), dtype=np.int32)
        return messages if self.fanout is None else np.repeat(messages, self.fanout)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Inbox:
    """What was heard in one slot: one row for every processor that received a message.

    A processor that heard nothing has no row, whether its coupler was silent or two messages
    destroyed each other on it: nobody can tell the two apart. ``groups`` is where the receiver
    listened; ``destinations`` comes with packets and is ``NO_PACKET`` for other messages. A
    message does not name its sender.
    """

    receivers: Ints
    groups: Ints
    kinds: Ints
    packets: Ints
    destinations: Ints
    contents: npt.NDArray[Any] | None

    def at(self, rows: Ints | npt.NDArray[np.bool_]) -> Inbox:
        """Only these rows: given by a mask, or by position."""
        return Inbox(
            receivers=self.receivers[rows],
            groups=self.groups[rows],
            kinds=self.kinds[rows],
            packets=self.packets[rows],
            destinations=self.destinations[rows],
            contents=None if self.contents is None else self.contents[rows],
        )
