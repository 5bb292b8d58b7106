"""A slot: what all processors send and listen to at once, and what they receive."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from enum import IntEnum
from math import prod
from operator import index
from typing import Any, TypeAlias, TypedDict, Unpack

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.integer[Any]]

Listening: TypeAlias = Ints | tuple[Ints, Ints] | tuple[()]
"""The group that every processor listens to; or those that listen, and the group of each."""

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
        raise ValueError(f"{name} holds {array.max()}, which does not fit in 64 bits.")
    return array.astype(np.int64)


def _nobody() -> Ints:
    return np.empty(0, dtype=np.int32)


class SlotOptions(TypedDict, total=False):
    """Fields of a :class:`Slot` that all of its constructors accept as keywords."""

    fanout: Ints | None
    phase: str
    step: int
    conflict_free: bool


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
    ``conflict_free`` the router promises that no two messages meet; the machine enforces this.

    The constructors :meth:`send_packets`, :meth:`forward`, :meth:`acknowledge`,
    :meth:`send_control` and :meth:`broadcast` write the common slots in fewer words. They take
    the listeners as one argument: an array with the group that every processor listens to, or
    a pair of arrays, ``(listeners, listened)``.
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
        for name in ("fanout", "kind", "packets", "contents"):
            self._require_length(name, messages)
        self._require_length("listened", len(self.listeners))
        if not isinstance(self.kind, Kind) and not np.isin(self.kind, list(Kind)).all():
            raise ValueError(f"kind holds values other than {[int(kind) for kind in Kind]}.")

    @classmethod
    def send_packets(
        cls,
        senders: Ints,
        groups: Ints,
        listening: Listening = (),
        *,
        packets: Ints | None = None,
        **options: Unpack[SlotOptions],
    ) -> Slot:
        """Let processors send packets, each sender its own unless ``packets`` says otherwise.

        Parameters
        ----------
        senders, groups : array of int
            Processor ``senders[i]`` sends to group ``groups[i]``.
        listening : array of int, or pair of arrays of int
            The group that every processor listens to, or ``(listeners, listened)``.
        packets : array of int, optional
            The packet that each sender sends, by default the packet with the sender's number.
        **options
            ``fanout``, ``phase``, ``step`` and ``conflict_free``, as in :class:`Slot`.

        Examples
        --------
        >>> slot = Slot.send_packets(np.array([0, 2]), np.array([1, 0]), np.array([1, 1, 0, 0]))
        >>> slot.packets, slot.listeners, slot.listened
        (array([0, 2]), array([0, 1, 2, 3], dtype=int32), array([1, 1, 0, 0]))
        """
        packets = senders if packets is None else packets
        heard = _listeners(listening)
        return cls(senders=senders, groups=groups, packets=packets, **heard, **options)

    @classmethod
    def forward(
        cls, inbox: Inbox, groups: Ints, listening: Listening = (), **options: Unpack[SlotOptions]
    ) -> Slot:
        """Let every processor that received a packet send it on.

        Parameters
        ----------
        inbox : Inbox
            What was received; ``inbox.at(rows)`` selects who forwards.
        groups : array of int
            The group that each row of the inbox goes to.
        listening : array of int, or pair of arrays of int
            The group that every processor listens to, or ``(listeners, listened)``.
        **options
            ``fanout``, ``phase``, ``step`` and ``conflict_free``, as in :class:`Slot`.

        Examples
        --------
        >>> two = np.array([4, 5])
        >>> kinds = np.array([Kind.PACKET, Kind.PACKET])
        >>> inbox = Inbox(receivers=two, groups=two - 4, kinds=kinds, packets=two - 3,
        ...               destinations=two + 2, contents=None)
        >>> slot = Slot.forward(inbox, np.array([1, 1]), phase="to destination")
        >>> slot.senders, slot.packets
        (array([4, 5]), array([1, 2]))
        """
        return cls.send_packets(
            inbox.receivers, groups, listening, packets=inbox.packets, **options
        )

    @classmethod
    def acknowledge(
        cls, inbox: Inbox, groups: Ints, listening: Listening = (), **options: Unpack[SlotOptions]
    ) -> Slot:
        """Let every processor that heard of a packet, itself or an ack of it, send an ack.

        The parameters are those of :meth:`forward`.

        Examples
        --------
        >>> two = np.array([4, 5])
        >>> kinds = np.array([Kind.PACKET, Kind.PACKET])
        >>> inbox = Inbox(receivers=two, groups=two - 4, kinds=kinds, packets=two - 3,
        ...               destinations=two + 2, contents=None)
        >>> Slot.acknowledge(inbox, inbox.groups).kind
        <Kind.ACK: 1>
        """
        return cls(
            senders=inbox.receivers, groups=groups, kind=Kind.ACK, packets=inbox.packets,
            **_listeners(listening), **options,
        )  # fmt: skip

    @classmethod
    def send_control(
        cls,
        senders: Ints,
        groups: Ints,
        listening: Listening = (),
        *,
        contents: npt.NDArray[Any] | None = None,
        bits: int | None = None,
        **options: Unpack[SlotOptions],
    ) -> Slot:
        """Let processors send control messages.

        Parameters
        ----------
        senders, groups : array of int
            Processor ``senders[i]`` sends to group ``groups[i]``.
        listening : array of int, or pair of arrays of int
            The group that every processor listens to, or ``(listeners, listened)``.
        contents : array, optional
            One row per message.
        bits : int, optional
            The bits that each message carries, by default those of the type of its contents.
        **options
            ``fanout``, ``phase``, ``step`` and ``conflict_free``, as in :class:`Slot`.

        Examples
        --------
        >>> counts = np.array([7, 3])
        >>> slot = Slot.send_control(np.array([0, 1]), np.array([0, 1]), contents=counts, bits=3)
        >>> slot.kind, slot.control_bits
        (<Kind.CONTROL: 2>, 3)
        """
        return cls(
            senders=senders, groups=groups, kind=Kind.CONTROL, contents=contents, bits=bits,
            **_listeners(listening), **options,
        )  # fmt: skip

    @classmethod
    def broadcast(
        cls,
        senders: Ints,
        g: int,
        listening: Listening = (),
        *,
        contents: npt.NDArray[Any] | None = None,
        bits: int | None = None,
        **options: Unpack[SlotOptions],
    ) -> Slot:
        """Let processors send to all g groups: each its own packet, or a control message.

        Parameters
        ----------
        senders : array of int
            The processors that send.
        g : int
            Groups of the network.
        listening : array of int, or pair of arrays of int
            The group that every processor listens to, or ``(listeners, listened)``.
        contents : array, optional
            One row per control message. Without it the senders send their packets.
        bits : int, optional
            The bits that each control message carries.
        **options
            ``phase``, ``step`` and ``conflict_free``, as in :class:`Slot`.

        Examples
        --------
        >>> slot = Slot.broadcast(np.array([1]), 3, np.zeros(6, dtype=int), phase="one-to-all")
        >>> slot.groups, slot.fanout, slot.packets
        (array([0, 1, 2], dtype=int32), array([3], dtype=int32), array([1]))
        """
        groups = np.tile(np.arange(g, dtype=np.int32), len(senders))
        options["fanout"] = np.full(len(senders), g, dtype=np.int32)
        if contents is None:
            return cls.send_packets(senders, groups, listening, **options)
        return cls.send_control(senders, groups, listening, contents=contents, bits=bits, **options)

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


def _listeners(listening: Listening) -> dict[str, Any]:
    """The processors that listen, and the group that each listens to, as fields of a slot."""
    if not isinstance(listening, tuple):
        listening = np.arange(len(listening), dtype=np.int32), listening
    if not listening:
        return {}
    listeners, listened = listening
    return {"listeners": listeners, "listened": listened}


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


Slots: TypeAlias = Generator[Slot, Inbox, None]
"""What a router is when it runs: it yields slots and is sent inboxes."""
