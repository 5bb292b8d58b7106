"""A slot: what all processors send and listen to at once, and what they receive."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field, replace
from enum import IntEnum
from math import prod
from operator import index
from typing import Any, TypeAlias, TypedDict, TypeVar, Unpack

import numpy as np
import numpy.typing as npt

from popsnet.model.contents import RaggedArray

Ints = npt.NDArray[np.integer[Any]]
Result = TypeVar("Result")

Listening: TypeAlias = Ints | tuple[Ints, Ints] | tuple[()]
"""The group that every processor listens to, or the listeners and the group of each."""

Contents: TypeAlias = npt.NDArray[Any] | Any
"""An array with a row per message, or a :class:`RaggedArray`; a router knows what it sends."""

Bits: TypeAlias = int | tuple[int, ...] | None
"""The bits of a message, or of each number of a list, or of each field of its items."""

NO_PACKET = -1
"""The packet number of a message that concerns no packet."""


class Kind(IntEnum):
    """The kind of a message: a packet, an acknowledgement of one, or any other message.

    Examples
    --------
    >>> from popsnet import Kind
    >>> list(Kind)
    [<Kind.PACKET: 0>, <Kind.ACK: 1>, <Kind.CONTROL: 2>]
    """

    PACKET = 0
    ACK = 1
    CONTROL = 2


PACKET = Kind.PACKET  # members of an Enum are slow to look up


def _integers(name: str, values: npt.ArrayLike) -> Ints:
    array = np.asarray(values)
    if array.size == 0:
        array = array.astype(np.int32)
    if array.ndim != 1:
        raise ValueError(
            f"{name} has shape {array.shape}; it must be a one-dimensional array of integers."
        )
    if array.dtype.kind not in "iu":
        cure = " Divide with // instead of /." if array.dtype.kind == "f" else ""
        raise ValueError(f"{name} has dtype {array.dtype}; it must be an array of integers.{cure}")
    if array.dtype in (np.int32, np.int64):
        return array
    if array.max() > np.iinfo(np.int64).max:
        raise ValueError(f"{name} contains {array.max()}, which does not fit in 64 bits.")
    return array.astype(np.int64)


def _empty() -> Ints:
    return np.empty(0, dtype=np.int32)


_INTEGERS = (
    "senders", "groups", "fanout", "kind", "packets", "listeners", "listened",
    "send_wavelengths", "listen_wavelengths",
)  # fmt: skip
"""The fields of a slot that are arrays of integers."""

_LISTENING = "listeners", "listened", "listen_wavelengths"
"""Those of listeners."""

_TYPES = (np.dtype(np.int32),), (np.dtype(np.int32), np.dtype(np.int64))
"""The types of arrays that are taken as they are, first if they are empty."""


class SlotOptions(TypedDict, total=False):
    """Fields of a :class:`Slot` that all of its constructors accept as keywords."""

    fanout: Ints | None
    send_wavelengths: Ints | None
    listen_wavelengths: Ints | None
    phase: str
    step: int
    conflict_free: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Slot:
    """What all processors send and listen to in one slot, as flat arrays.

    The constructors :meth:`send_packets`, :meth:`forward`, :meth:`acknowledge`,
    :meth:`send_control` and :meth:`broadcast` write the common slots in fewer words. They take
    the listeners as one argument: an array with the group that every processor listens to, or
    a pair of arrays, ``(listeners, listened)``.

    Parameters
    ----------
    senders : array of int
        Message i is sent by processor ``senders[i]``.
    groups : array of int
        Message i goes to group ``groups[i]``, or with ``fanout`` to several groups.
    fanout : array of int, optional
        For multicasts: message i goes to the next ``fanout[i]`` entries of ``groups``, which
        lists the target groups of all messages in turn.
    kind : Kind or array of int
        The kind of all messages, or of each of them.
    packets : array of int, optional
        The packet that each message concerns, numbered by its source, or ``NO_PACKET``. A packet
        message also carries the packet's destination.
    contents : array or RaggedArray, optional
        What control messages carry: ``contents[i]`` is a number or a row of any shape. Rows of
        different lengths are a :class:`RaggedArray`.
    bits : int or tuple of int, optional
        The number of bits in each control message. Contents must then be integers of at least 0
        that fit; several numbers in a row share the bits evenly. Without ``bits``, contents
        count with all bits of their type. For a :class:`RaggedArray`, the number of bits in each
        number of a list, or a tuple with those in each field of an item: a message has as many
        bits as its items together.
    listeners, listened : array of int
        Processor ``listeners[i]`` listens to group ``listened[i]``.
    send_wavelengths : array of int, optional
        The wavelength of each message, on all of its couplers. By default it is 0.
    listen_wavelengths : array of int, optional
        The wavelength that each listener listens to. By default it is 0.
    phase : str
        The name of the slot, for people and traces.
    step : int
        The step of the router, counting from 0. Runs are capped by it.
    conflict_free : bool
        Whether the router promises that no two messages meet on a coupler and wavelength. The
        machine enforces this.

    Raises
    ------
    ValueError
        If the arrays are not integers, or their lengths do not match. Whether the slot obeys the
        rules of the network is checked by :class:`Machine`.

    Examples
    --------
    Processor 0 sends packet 0 to group 1, where processor 3 listens to group 0.

    >>> import numpy as np
    >>> from popsnet import Slot
    >>> one = lambda number: np.array([number])
    >>> slot = Slot(senders=one(0), groups=one(1), packets=one(0), listeners=one(3),
    ...             listened=one(0), phase="to group 1")
    >>> slot.kind, slot.phase
    (<Kind.PACKET: 0>, 'to group 1')
    """

    senders: Ints = field(default_factory=_empty)
    groups: Ints = field(default_factory=_empty)
    fanout: Ints | None = None
    kind: Kind | Ints = Kind.PACKET
    packets: Ints | None = None
    contents: Contents = None
    bits: Bits = None
    listeners: Ints = field(default_factory=_empty)
    listened: Ints = field(default_factory=_empty)
    send_wavelengths: Ints | None = None
    listen_wavelengths: Ints | None = None
    phase: str = ""
    step: int = 0
    conflict_free: bool = False

    def __post_init__(self) -> None:
        for name in _INTEGERS:
            value = getattr(self, name)
            if value is None or isinstance(value, Kind):
                continue
            is_array = type(value) is np.ndarray and value.ndim == 1
            if not is_array or value.dtype not in _TYPES[len(value) > 0]:
                object.__setattr__(self, name, _integers(name, value))
        if not isinstance(self.phase, str):
            raise ValueError(f"phase = {self.phase!r}: it must be a string.")
        if not isinstance(self.contents, np.ndarray | RaggedArray | None):
            raise ValueError(
                f"contents is a {type(self.contents).__name__}; it must be an array with a row per "
                "message: numpy.array(…), or RaggedArray.of(…) if rows have different lengths."
            )
        if self.bits is not None:
            self._require_numbers(self.bits)
        if self.fanout is not None and self.fanout.min(initial=0) < 0:
            raise ValueError(
                f"fanout contains {self.fanout.min()}; every message must go to 1 or more groups."
            )
        messages = len(self.senders)
        targets = messages if self.fanout is None else int(self.fanout.sum())
        lengths = {"groups": targets, **dict.fromkeys(_LISTENING, len(self.listeners))}
        for name in (*_INTEGERS, "contents"):
            value, length = getattr(self, name), lengths.get(name, messages)
            if value is not None and not isinstance(value, Kind) and len(value) != length:
                raise ValueError(f"{name} has {len(value)} entries where this slot needs {length}.")
        if not isinstance(self.kind, Kind) and not np.isin(self.kind, list(Kind)).all():
            raise ValueError(f"kind contains values other than {[int(kind) for kind in Kind]}.")

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
        """Make a slot in which processors send packets, by default their own.

        Parameters
        ----------
        senders, groups : array of int
            Processor ``senders[i]`` sends to group ``groups[i]``.
        listening : array of int, or pair of arrays of int
            The group that every processor listens to, or ``(listeners, listened)``.
        packets : array of int, optional
            The packet that each sender sends, by default the packet with the sender's number.
        **options
            ``fanout``, ``send_wavelengths``, ``listen_wavelengths``, ``phase``, ``step`` and
            ``conflict_free``, as in :class:`Slot`.

        Returns
        -------
        Slot
            The slot.

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
        """Make a slot in which every processor that received a packet sends it on.

        Parameters
        ----------
        inbox : Inbox
            What was received. ``inbox.at(rows)`` selects the processors that forward.
        groups : array of int
            The group that each row of the inbox goes to.
        listening : array of int, or pair of arrays of int
            The group that every processor listens to, or ``(listeners, listened)``.
        **options
            ``fanout``, ``send_wavelengths``, ``listen_wavelengths``, ``phase``, ``step`` and
            ``conflict_free``, as in :class:`Slot`.

        Returns
        -------
        Slot
            The slot.

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
        """Make a slot in which every processor that heard a packet, or an ack of it, sends an ack.

        Parameters
        ----------
        inbox : Inbox
            What was received. ``inbox.at(rows)`` selects the processors that acknowledge.
        groups : array of int
            The group that each ack goes to, a row of the inbox each.
        listening : array of int, or pair of arrays of int
            The group that every processor listens to, or ``(listeners, listened)``.
        **options
            ``fanout``, ``send_wavelengths``, ``listen_wavelengths``, ``phase``, ``step`` and
            ``conflict_free``, as in :class:`Slot`.

        Returns
        -------
        Slot
            The slot.

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
        contents: Contents = None,
        bits: Bits = None,
        **options: Unpack[SlotOptions],
    ) -> Slot:
        """Make a slot in which processors send control messages.

        Parameters
        ----------
        senders, groups : array of int
            Processor ``senders[i]`` sends to group ``groups[i]``.
        listening : array of int, or pair of arrays of int
            The group that every processor listens to, or ``(listeners, listened)``.
        contents : array or RaggedArray, optional
            One row per message.
        bits : int or tuple of int, optional
            The bits that each message carries, by default those of the type of its contents. For a
            :class:`RaggedArray`, those of each number, or of each field.
        **options
            ``fanout``, ``send_wavelengths``, ``listen_wavelengths``, ``phase``, ``step`` and
            ``conflict_free``, as in :class:`Slot`.

        Returns
        -------
        Slot
            The slot.

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
        contents: Contents = None,
        bits: Bits = None,
        **options: Unpack[SlotOptions],
    ) -> Slot:
        """Make a slot in which processors send a packet or a control message to all g groups.

        Parameters
        ----------
        senders : array of int
            The processors that send.
        g : int
            Groups of the network.
        listening : array of int, or pair of arrays of int
            The group that every processor listens to, or ``(listeners, listened)``.
        contents : array or RaggedArray, optional
            One row per control message. Without it the senders send their packets.
        bits : int or tuple of int, optional
            The bits that each control message carries, as in :meth:`send_control`.
        **options
            ``send_wavelengths``, ``listen_wavelengths``, ``phase``, ``step`` and ``conflict_free``,
            as in :class:`Slot`.

        Returns
        -------
        Slot
            The slot.

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

    def only(
        self,
        sending: npt.NDArray[np.bool_] | None = None,
        listening: npt.NDArray[np.bool_] | None = None,
    ) -> Slot:
        """Return the slot with some of its messages and some of its listeners.

        Parameters
        ----------
        sending : array of bool, optional
            Which messages are sent, by default all.
        listening : array of bool, optional
            Which listeners listen, by default all.

        Returns
        -------
        Slot
            The slot.

        Examples
        --------
        >>> slot = Slot.send_packets(np.array([0, 2]), np.array([1, 0]), np.array([1, 1, 0, 0]))
        >>> slot.only(sending=slot.senders == 2).packets
        array([2])
        """
        rows_of = dict.fromkeys((*_INTEGERS, "contents"), sending)
        rows_of |= dict.fromkeys(_LISTENING, listening)
        rows_of |= {"groups": None if sending is None else sending[self.owners]}
        fewer: dict[str, Any] = {
            name: values[rows]
            for name, rows in rows_of.items()
            if isinstance(values := getattr(self, name), np.ndarray | RaggedArray)
            and rows is not None
        }
        return replace(self, **fewer)

    def _require_numbers(self, bits: int | tuple[int, ...]) -> None:
        contents = self.contents
        fields = contents.fields if isinstance(contents, RaggedArray) else 0
        numbers = bits if isinstance(bits, tuple) else (bits,)
        if not all(hasattr(number, "__index__") for number in numbers):
            raise ValueError(f"bits = {bits!r}: a number of bits must be an integer.")
        shares = tuple(map(index, numbers))
        if not isinstance(bits, tuple):
            shares *= max(fields, 1)
        elif not fields or (contents is not None and contents.size and len(bits) != fields):
            raise ValueError(
                f"bits = {bits}: it must be an integer, or an integer per field of the items "
                f"of a RaggedArray, which are {fields} here."
            )
        if min(shares, default=0) < 0:
            raise ValueError(f"bits = {bits}: it must be at least 0.")
        object.__setattr__(self, "bits", shares if fields else shares[0])
        if contents is not None and contents.size and (of := contents.dtype).kind not in "biu":
            raise ValueError(f"contents of {bits} bits must be integers, not of type {of}.")

    @property
    def numbers_per_message(self) -> int:
        """The number of numbers in the contents of a message."""
        return 0 if self.contents is None else prod(self.contents.shape[1:])

    numbers_a_message = numbers_per_message

    @property
    def control_bits(self) -> int:
        """The most bits in a message of this slot, not counting packets, 0 without messages."""
        if isinstance(self.contents, RaggedArray):
            return int(self._list_bits(self.contents).max(initial=0))
        if isinstance(self.kind, Kind):
            only_packets = self.kind is Kind.PACKET
        else:
            only_packets = bool((self.kind == Kind.PACKET).all())
        if not len(self.senders) or (only_packets and self.contents is None):
            return 0
        if isinstance(self.bits, int):
            return self.bits
        if self.contents is None:
            return 1
        return 8 * self.contents.dtype.itemsize * self.numbers_per_message

    @property
    def total_control_bits(self) -> int:
        """The bits in all messages of this slot together, not counting packets."""
        if isinstance(self.contents, RaggedArray):
            return int(self._list_bits(self.contents).sum())
        carry = self.kinds != Kind.PACKET if self.contents is None else self.senders >= 0
        return self.control_bits * int(np.count_nonzero(carry))

    def _list_bits(self, lists: RaggedArray) -> npt.NDArray[np.int64]:
        """Return the bits in each message."""
        all_bits = 8 * lists.dtype.itemsize * lists.fields
        return lists.lengths * (sum(self.bits) if isinstance(self.bits, tuple) else all_bits)

    @property
    def kinds(self) -> Ints:
        """The kind of every message."""
        if isinstance(self.kind, Kind):
            return np.broadcast_to(np.int8(self.kind), self.senders.shape)
        return self.kind

    @property
    def packet_numbers(self) -> Ints:
        """The packet that every message concerns, or ``NO_PACKET``."""
        if self.packets is None:
            return np.broadcast_to(np.int32(NO_PACKET), self.senders.shape)
        return self.packets

    @property
    def owners(self) -> Ints:
        """For every entry of ``groups``, the position of its message."""
        messages = np.arange(len(self.senders), dtype=np.int32)
        return messages if self.fanout is None else np.repeat(messages, self.fanout)


def _listeners(listening: Listening) -> dict[str, Any]:
    """Return the processors that listen, and the group of each, as fields of a slot."""
    if not isinstance(listening, tuple):
        listening = np.arange(len(listening), dtype=np.int32), listening
    if not listening:
        return {}
    listeners, listened = listening
    return {"listeners": listeners, "listened": listened}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Inbox:
    """What was received in one slot: one row per processor that received a message.

    A processor that heard nothing has no row, whether its coupler was silent or two messages
    destroyed each other on it: a router cannot tell the two apart. A message does not name its
    sender.

    Parameters
    ----------
    receivers : array of int
        The processors that received a message.
    groups : array of int
        The group that each receiver listened to.
    kinds : array of int
        The kind of each message, as in :class:`Kind`.
    packets : array of int
        The packet that each message concerns, or ``NO_PACKET``.
    destinations : array of int
        The destination of each packet received, ``NO_PACKET`` for other messages.
    contents : array, RaggedArray or None
        The contents of the messages, if the slot had any. A :class:`RaggedArray` shares its values
        with the slot, and ``contents.numbers`` has the number of the message that was received.
    wavelengths : array of int or None
        The wavelength that each receiver listened to, None if all listened to wavelength 0.

    Examples
    --------
    >>> import numpy as np
    >>> from popsnet import Machine, Network, Slot
    >>> machine = Machine(Network(1, 3), np.array([1, 2, 0]), buffers=1)
    >>> listening = np.array([1, 2]), np.array([0, 0])
    >>> inbox = machine.execute(Slot.broadcast(np.array([0]), 3, listening))
    >>> inbox.receivers, inbox.packets, inbox.destinations
    (array([1, 2]), array([0, 0]), array([1, 1], dtype=int32))
    """

    receivers: Ints
    groups: Ints
    kinds: Ints
    packets: Ints
    destinations: Ints
    contents: Contents
    wavelengths: Ints | None = None

    def at(self, rows: Ints | npt.NDArray[np.bool_]) -> Inbox:
        """Return an inbox with some of the rows.

        Parameters
        ----------
        rows : array of bool or int
            A mask, or positions.

        Returns
        -------
        Inbox
            These rows alone.

        Examples
        --------
        >>> ids = np.array([4, 5])
        >>> inbox = Inbox(receivers=ids, groups=ids, kinds=ids * 0, packets=ids, destinations=ids,
        ...               contents=None)
        >>> inbox.at(inbox.receivers == 5).packets
        array([5])
        """
        return Inbox(
            receivers=self.receivers[rows],
            groups=self.groups[rows],
            kinds=self.kinds[rows],
            packets=self.packets[rows],
            destinations=self.destinations[rows],
            contents=None if self.contents is None else self.contents[rows],
            wavelengths=None if self.wavelengths is None else self.wavelengths[rows],
        )


Slots: TypeAlias = Generator[Slot, Inbox, None]
"""A running router: it yields slots and is sent inboxes."""

Exchange: TypeAlias = Generator["Slot", "Inbox", Result]
"""Slots of a router that end with a result."""
