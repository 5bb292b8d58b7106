"""Who holds which packet: the buffers of all processors, kept by the machine."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from popsnet.compiled import compiled
from popsnet.errors import Rule, RuleViolation
from popsnet.network import Network
from popsnet.slot import NO_PACKET, Inbox, Ints, Kind, first_repeat

__all__ = ["Memory"]

I32 = npt.NDArray[np.int32]

_FREE = -2  # never a packet's number, nor NO_PACKET


class Memory:
    """The packet buffers of all processors.

    At the start processor i holds packet i. What a processor hears is gone after the slot
    unless it is stored; storing, dropping and delivering are the router's to say and the
    machine's to check. A delivered packet stays in a buffer of its destination.

    All methods take arrays of equal length: ``processors[k]`` does it with ``packets[k]``.
    """

    def __init__(self, network: Network, destination: Ints, buffers: int) -> None:
        self._slot = 0
        self._peak = 1
        self._delivered = 0
        self._network = network
        self._destination = destination
        self._cells = np.full((buffers, network.n), _FREE, dtype=np.int32)
        self._cells[0] = np.arange(network.n, dtype=np.int32)
        self._heard = np.full(network.n, NO_PACKET, dtype=np.int32)
        self._receivers: Ints = np.empty(0, dtype=np.int32)
        self._home = np.zeros(network.n, dtype=np.bool_)

    @property
    def peak(self) -> int:
        """The most packets any processor has held at once."""
        return self._peak

    @property
    def delivered(self) -> int:
        """Packets delivered so far."""
        return self._delivered

    def store(self, processors: Ints, packets: Ints) -> None:
        """Keep packets heard in the slot just past, one buffer each."""
        self._require_numbers(processors, packets)
        self._refuse(
            self._heard[processors] != packets,
            processors,
            packets,
            Rule.KEEPS_WHAT_IT_HEARD,
            "stores packet {packet}, which it has not just heard",
        )
        self._require_once(processors, Rule.KEEPS_WHAT_IT_HEARD, "stores what it heard twice")
        self._heard[processors] = NO_PACKET
        self._place(processors, packets)

    def drop(self, processors: Ints, packets: Ints) -> None:
        """Free the buffers of packets that are held."""
        self._require_numbers(processors, packets)
        self._refuse(
            self._home[packets] & (self._destination[packets] == processors),
            processors,
            packets,
            Rule.DROPS_WHAT_IT_HOLDS,
            "drops packet {packet}, which was delivered to it",
        )
        missing = _take_out(self._cells, _plain(processors), _plain(packets))
        if missing >= 0:
            detail = f"drops packet {packets[missing]}, which it does not hold"
            processor = int(processors[missing])
            raise RuleViolation(self._slot, processor, Rule.DROPS_WHAT_IT_HOLDS, detail)

    def deliver(self, processors: Ints, packets: Ints) -> None:
        """Hand packets to their destinations for good: just heard there, or held there."""
        self._require_numbers(processors, packets)
        self._refuse(
            (self._destination[packets] != processors) | self._home[packets],
            processors,
            packets,
            Rule.DELIVERS_HOME,
            "delivers packet {packet}, which is not for it or was delivered before",
        )
        self._require_once(processors, Rule.DELIVERS_HOME, "delivers its packet twice")
        absent = ~self.holds(processors, packets)
        self.store(processors[absent], packets[absent])
        self._home[packets] = True
        self._delivered += len(packets)

    def assume_delivered(self, packets: Ints) -> None:
        """For idealized variants: count packets as delivered that were not; see there."""
        self.drop(packets, packets)
        self._home[packets] = True
        self._delivered += len(packets)

    def holds(self, processors: Ints, packets: Ints) -> npt.NDArray[np.bool_]:
        """Whether each processor holds the packet."""
        wrong = (processors < 0) | (processors >= self._network.n)
        self._refuse(wrong, processors, packets, Rule.PROCESSOR_EXISTS, "is asked for {packet}")
        held = np.empty(len(processors), dtype=np.bool_)
        _find(self._cells, _plain(processors), _plain(packets), held)
        return held

    def lost(self) -> npt.NDArray[np.intp]:
        """The packets that no processor holds any more."""
        held = self._home.copy()
        for cell in self._cells:
            held[cell[cell != _FREE]] = True
        return np.flatnonzero(~held)

    def _hear(self, slot: int, inbox: Inbox) -> None:
        """For the machine alone: these packets may be stored until the next slot."""
        self._slot = slot
        self._heard[self._receivers] = NO_PACKET
        heard = inbox.kinds == Kind.PACKET
        self._receivers = inbox.receivers[heard]
        self._heard[self._receivers] = inbox.packets[heard]

    def _place(self, processors: Ints, packets: Ints) -> None:
        full, peak = _put_in(self._cells, _plain(processors), _plain(packets))
        if full >= 0:
            detail = (
                f"stores packet {packets[full]} with all its buffers full "
                f"({len(self._cells)} claimed)"
            )
            raise RuleViolation(self._slot, int(processors[full]), Rule.BUFFERS, detail)
        self._peak = max(self._peak, peak)

    def _require_numbers(self, processors: Ints, packets: Ints) -> None:
        if len(processors) != len(packets):
            raise ValueError(f"{len(processors)} processors cannot act on {len(packets)} packets.")
        for numbers, rule in ((processors, Rule.PROCESSOR_EXISTS), (packets, Rule.PACKET_EXISTS)):
            wrong = (numbers < 0) | (numbers >= self._network.n)
            self._refuse(wrong, processors, packets, rule, "names packet {packet}")

    def _require_once(self, processors: Ints, rule: Rule, detail: str) -> None:
        twice = first_repeat(processors, self._network.n)
        if twice is not None:
            raise RuleViolation(self._slot, twice, rule, detail)

    def _refuse(
        self,
        wrong: npt.NDArray[np.bool_],
        processors: Ints,
        packets: Ints,
        rule: Rule,
        detail: str,
    ) -> None:
        if wrong.any():
            first = int(np.argmax(wrong))
            text = detail.format(packet=int(packets[first]))
            raise RuleViolation(self._slot, int(processors[first]), rule, text)


def _plain(numbers: Ints) -> I32:
    """Of the one type that the loops below are compiled for."""
    return np.ascontiguousarray(numbers, dtype=np.int32)


@compiled
def _put_in(cells: I32, processors: I32, packets: I32) -> tuple[int, int]:
    """Use a free buffer each. The first that has none, or -1; and the most packets held now."""
    peak = 0
    for k in range(len(processors)):
        j, free, held = processors[k], -1, 1
        for b in range(len(cells)):
            if cells[b, j] == _FREE:
                free = b
            else:
                held += 1
        if free < 0:
            return k, peak
        cells[free, j] = packets[k]
        peak = max(peak, held)
    return -1, peak


@compiled
def _take_out(cells: I32, processors: I32, packets: I32) -> int:
    """Free the buffer of each packet. The first that is not there, or -1."""
    for k in range(len(processors)):
        j, at = processors[k], -1
        for b in range(len(cells)):
            if cells[b, j] == packets[k]:
                at = b
        if at < 0:
            return k
        cells[at, j] = _FREE
    return -1


@compiled
def _find(cells: I32, processors: I32, packets: I32, held: npt.NDArray[np.bool_]) -> None:
    """Whether each packet is in a buffer of its processor."""
    for k in range(len(processors)):
        j, found = processors[k], False
        for b in range(len(cells)):
            found |= cells[b, j] == packets[k]
        held[k] = found
