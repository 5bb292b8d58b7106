"""Writing of traces."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from operator import itemgetter
from typing import TextIO

import numpy as np

from popsnet.model.network import Network
from popsnet.model.slot import NO_PACKET, Ints, Kind, Slot
from popsnet.trace.event import FORMAT, VERSION, Arrival, Event, Hold, Listen, Send, TraceWords

_KINDS = {int(kind): kind.name.lower() for kind in Kind}


def records(slot: Slot) -> tuple[list[Send], list[Listen]]:
    """Return what was sent and listened to in a slot, as a trace has it.

    Parameters
    ----------
    slot : Slot
        The slot.

    Returns
    -------
    sends, listens : list
        A tuple (processor, groups, kind, packet) per message and (processor, group) per listener,
        ordered by processor.

    Examples
    --------
    >>> from popsnet import Slot
    >>> from popsnet.trace import records
    >>> records(Slot.broadcast(np.array([1]), 2, np.array([0, 0])))
    ([(1, [0, 1], 'packet', 1)], [(0, 0), (1, 0)])
    """
    groups = slot.groups.tolist()
    if slot.fanout is None:
        targets = [[group] for group in groups]
    else:
        ends = np.cumsum(slot.fanout).tolist()
        targets = [sorted(groups[a:b]) for a, b in pairwise([0, *ends])]
    kinds = [_KINDS[kind] for kind in slot.kinds.tolist()]
    packets = [None if packet == NO_PACKET else packet for packet in slot.packet_numbers.tolist()]
    sends = zip(slot.senders.tolist(), targets, kinds, packets, strict=True)
    listens = zip(slot.listeners.tolist(), slot.listened.tolist(), strict=True)
    return sorted(sends, key=itemgetter(0)), sorted(listens)


def wavelengths(slot: Slot) -> tuple[list[int], list[int]]:
    """Return the wavelengths of messages and of listeners, in the order of :func:`records`.

    Parameters
    ----------
    slot : Slot
        The slot.

    Returns
    -------
    sends, listens : list of int
        A wavelength per message and one per listener, ordered by processor.

    Examples
    --------
    >>> from popsnet import Slot
    >>> from popsnet.trace import wavelengths
    >>> both = np.array([1, 0])
    >>> wavelengths(Slot.send_packets(both, both, send_wavelengths=np.array([0, 3])))
    ([3, 0], [])
    """
    sends = _by_processor(slot.senders, slot.send_wavelengths)
    return sends, _by_processor(slot.listeners, slot.listen_wavelengths)


def _by_processor(processors: Ints, values: Ints | None) -> list[int]:
    """Return the values, zeros if there are none, in the order of their processors."""
    if values is None:
        return [0] * len(processors)
    ordered: list[int] = values[np.argsort(processors, kind="stable")].tolist()
    return ordered


class TraceWriter:
    """An observer that writes every slot to a file as it happens.

    :meth:`begin` and :meth:`end` write the first and the last line. ``route(..., trace=path)`` and
    ``run.write_trace(path)`` do all of this.

    Parameters
    ----------
    file : text file
        The file to write to.

    Examples
    --------
    >>> import io
    >>> from popsnet.trace import TraceWriter
    >>> file = io.StringIO()
    >>> trace = TraceWriter(file)
    >>> trace.begin(Network(1, 2), "mine", "standard", 0, np.array([0, 1]), buffers=1)
    >>> trace.end(slots=0, delivered=2, lost_packets=[])
    >>> file.getvalue().splitlines()[-1]
    '{"outcome":{"slots":0,"delivered":2,"lost":0,"lost_packets":[]}}'
    """

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._line: dict[str, object] = {}
        self._traffic = False
        self._arrivals: Sequence[Arrival] = ()
        self._faulty = False

    def begin(
        self,
        network: Network,
        router: str,
        variant: str,
        seed: int,
        destination: Ints,
        buffers: int,
        start: Ints | None = None,
        words: TraceWords | None = None,
        faults: Mapping[str, object] | None = None,
    ) -> None:
        """Write the header.

        Parameters
        ----------
        network : Network
            The network.
        router, variant : str
            Their names.
        seed : int
            The seed of the experiment.
        destination : array of int
            The destination of each packet.
        buffers : int
            The number of packets that a processor may hold.
        start : array of int, optional
            The processor at which each packet starts, if packet i does not start at processor i.
        words : TraceWords, optional
            Texts that explain the run to readers.
        faults : mapping, optional
            The dead parts and the loss, as :meth:`popsnet.Faults.to_dict` gives them.
        """
        fields = {"destination": destination.tolist(), "buffers": buffers}
        if start is not None:
            fields["start"] = start.tolist()
        self._open(network, router, variant, seed, fields, words, faults)

    def begin_traffic(
        self,
        network: Network,
        scheduler: str,
        variant: str,
        seed: int,
        buffers: int | None = None,
        words: TraceWords | None = None,
        faults: Mapping[str, object] | None = None,
    ) -> None:
        """Write the header of a run in which packets arrive and leave.

        Parameters
        ----------
        network : Network
            The network.
        scheduler, variant : str
            Their names.
        seed : int
            The seed of the scheduler's coins.
        buffers : int, optional
            The number of its own packets that a source may hold, and of packets that a processor
            may keep for others. By default there is no limit.
        words : TraceWords, optional
            Texts that explain the run to readers.
        faults : mapping, optional
            The dead parts and the loss, as :meth:`popsnet.Faults.to_dict` gives them.

        Examples
        --------
        >>> import io
        >>> from popsnet import Network
        >>> from popsnet.trace import Event, TraceWriter
        >>> file = io.StringIO()
        >>> trace = TraceWriter(file)
        >>> trace.begin_traffic(Network(1, 2), "tdm", "", 0)
        >>> trace.arrive([(0, 0, 1)])
        >>> trace(Event(1, "frame", 0, 1, lambda: ([(0, [1], "packet", 0)], [(1, 0)])))
        >>> trace.settle(keeps=[], drops=[(0, 0)], delivers=[(1, 0)])
        >>> trace.end(slots=1, delivered=1, lost_packets=[], held=0, refused=0)
        >>> file.getvalue().splitlines()[-1]
        '{"outcome":{"slots":1,"delivered":1,"lost":0,"lost_packets":[],"held":0,"refused":0}}'
        """
        self._traffic = True
        fields: dict[str, object] = {"traffic": True, "destination": []}
        if buffers is not None:
            fields["buffers"] = buffers
        self._open(network, scheduler, variant, seed, fields, words, faults)

    def arrive(self, arrivals: Sequence[Arrival]) -> None:
        """Take the packets that arrive at the beginning of the next slot.

        Parameters
        ----------
        arrivals : sequence of tuple
            Triples (processor, packet, destination). Packets are numbered 0, 1, 2, … in order over
            the whole run; those that a full buffer refuses have no number.
        """
        self._arrivals = arrivals

    def __call__(self, event: Event) -> None:
        """Take the event of a slot, which :meth:`settle` writes."""
        sends, listens = event.records()
        from msgspec import Raw

        self._line = {
            "slot": event.slot,
            "phase": Raw(json.dumps(event.phase)),  # the one text, which may not be ASCII
            **({} if self._traffic else {"step": event.step}),
            **({"arrives": self._arrivals} if self._arrivals else {}),
            "sends": sends,
            "listens": listens,
        }
        if event.wavelengths is not None:
            names = ("send_wavelengths", "listen_wavelengths")
            self._line |= zip(names, event.wavelengths(), strict=True)
        self._arrivals = ()

    def miss(self, processors: list[int]) -> None:
        """Take the processors for which the message that they would have heard was lost.

        Parameters
        ----------
        processors : list of int
            The processors. It is called between the event of a slot and :meth:`settle`.
        """
        if processors:
            self._line["misses"] = sorted(processors)

    def settle(self, keeps: list[Hold], drops: list[Hold], delivers: Sequence[Hold] = ()) -> None:
        """Write the line of the slot, with the packets that were kept and dropped after it.

        Parameters
        ----------
        keeps, drops : list of tuple
            Pairs (processor, packet), in order.
        delivers : sequence of tuple, optional
            The packets that left at their destinations, in a run in which packets leave.
        """
        from msgspec.json import encode

        line = {**self._line, "keeps": keeps, "drops": drops}
        if delivers:
            line["delivers"] = delivers
        self._file.write(encode(line).decode() + "\n")

    def end(
        self,
        slots: int,
        delivered: int,
        lost_packets: Sequence[int],
        held: int = 0,
        refused: int = 0,
        unreachable: int = 0,
    ) -> None:
        """Write the outcome.

        Parameters
        ----------
        slots, delivered : int
            The slots of the run, and the packets that were delivered.
        lost_packets : sequence of int
            The packets that no processor holds any more.
        held, refused : int
            In a run in which packets arrive and leave: the packets that are neither delivered nor
            lost, and those that found the buffer of their source full.
        unreachable : int
            In a run of a router with faults: the packets that are held and have no live path.
        """
        outcome: dict[str, object] = {
            "slots": slots,
            "delivered": delivered,
            "lost": len(lost_packets),
            "lost_packets": list(lost_packets),
        }
        if self._traffic:
            outcome |= {"held": held, "refused": refused}
        elif self._faulty:
            outcome |= {"unreachable": unreachable}
        self._write({"outcome": outcome})

    def _open(
        self, network: Network, router: str, variant: str, seed: int,
        fields: Mapping[str, object], words: TraceWords | None, faults: Mapping[str, object] | None,
    ) -> None:  # fmt: skip
        self._faulty = bool(faults)
        several = {"wavelengths": network.wavelengths} if network.wavelengths > 1 else {}
        names = {"router": router, "variant": variant, "seed": seed}
        shape = {"format": FORMAT, "version": VERSION, "d": network.d, "g": network.g}
        fault_fields = {"faults": faults} if faults else {}
        self._write({**shape, **several, **names, **fields, **fault_fields, **(words or {})})

    def _write(self, line: dict[str, object]) -> None:
        self._file.write(json.dumps(line, separators=(",", ":")) + "\n")
