"""Who holds which packet: the buffers of all processors, kept by the machine."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from popsnet.errors import Rule, RuleViolation
from popsnet.network import Network
from popsnet.slot import NO_PACKET, Inbox, Ints, Kind, first_repeat

__all__ = ["Memory"]

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
        for cell in self._cells:
            found = cell[processors] == packets
            self._require_once(processors[found], Rule.DROPS_WHAT_IT_HOLDS, "drops a packet twice")
            cell[processors[found]] = _FREE
            processors, packets = processors[~found], packets[~found]
        self._refuse(
            np.ones(len(processors), dtype=np.bool_),
            processors,
            packets,
            Rule.DROPS_WHAT_IT_HOLDS,
            "drops packet {packet}, which it does not hold",
        )

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
        held = np.zeros(len(processors), dtype=np.bool_)
        for cell in self._cells:
            held |= cell[processors] == packets
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
        waiting, load = processors, packets
        for cell in self._cells:
            free = cell[waiting] == _FREE
            cell[waiting[free]] = load[free]
            waiting, load = waiting[~free], load[~free]
        self._refuse(
            np.ones(len(waiting), dtype=np.bool_),
            waiting,
            load,
            Rule.BUFFERS,
            f"stores packet {{packet}} with all its buffers full ({len(self._cells)} claimed)",
        )
        held = np.zeros(len(processors), dtype=np.int32)
        for cell in self._cells:
            held += cell[processors] != _FREE
        self._peak = max(self._peak, int(held.max(initial=0)))

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
