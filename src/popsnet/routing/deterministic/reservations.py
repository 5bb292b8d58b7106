"""Reservations: slots and couplers by which packets of a class come to the group of the class."""

from __future__ import annotations

from collections.abc import Generator

import numpy as np
import numpy.typing as npt

from popsnet.network import Network
from popsnet.routing.facts import Phases
from popsnet.slot import Inbox, Ints, Slot, SlotOptions

PHASES: Phases = {
    "reserve: *": "Processors tell each other how many sorted packets of each class there are, to "
    "agree in which slot each packet is sent."
}

I64 = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


def delivery_slots(network: Network) -> int:
    """Return ⌊(d + kg - k)/g⌋, the slots in which all packets go to the groups of their classes.

    A class has d packets, c_s of them in strip s, and ⌈c_s/g⌉ ≤ (c_s + g - 1)/g slots for them.
    """
    d, g, k = network.d, network.g, network.blocks
    return (d + k * g - k) // g


class Reservations:
    """What processors remember of the reservations, strip after strip.

    Every processor of group c knows R, the packets of class c that were announced, and B, the slots
    reserved for them. Its member number l takes packet l of the class: it learns when to listen,
    and to which group. The holder of a packet learns when to send it.
    """

    def __init__(self, network: Network) -> None:
        self.network = network
        self.sends_in = np.full(network.n, -1, dtype=np.int64)
        self.hears_in = np.full(network.n, -1, dtype=np.int64)
        self.hears_from = np.zeros(network.n, dtype=np.int64)
        self._announced = np.zeros(network.n, dtype=np.int64)
        self._reserved = np.zeros(network.n, dtype=np.int64)
        self._bits = 2 * max(network.n, delivery_slots(network)).bit_length()

    def make(self, place: Ints, classes: I64) -> Generator[Slot, Inbox, None]:
        """Reserve slots for a strip, in 2⌈g/d⌉ + 2 slots with two numbers up to n per message.

        ``place`` has the processor at each position of the sorted strip, ``classes`` the class of
        its packet: each processor knows whether it is the first or the last of its class.
        """
        g = self.network.g
        begins = np.ones(len(classes) + 1, dtype=np.bool_)
        begins[1:-1] = classes[1:] != classes[:-1]
        leads, trails = begins[:-1], begins[1:]
        position = np.arange(len(place), dtype=np.int64)
        first = np.column_stack((position, np.zeros_like(position)))
        heard_by, starts = yield from self._report(
            "leaders", place[leads], classes[leads], first[leads]
        )
        start, base = yield from self._answer(place, classes, heard_by, starts[:, 0])
        self.sends_in[place] = np.where(base < 0, -1, base + (position - start) // g)
        count = np.column_stack((start, position + 1 - start))
        trails &= (base >= 0) & (start <= position)  # others heard no answer, because of a fault
        heard_by, runs = yield from self._report(
            "trailers", place[trails], classes[trails], count[trails]
        )
        yield from self._repeat(heard_by, runs)

    def _report(
        self, who: str, speakers: Ints, classes: I64, said: I64
    ) -> Generator[Slot, Inbox, tuple[Ints, I64]]:
        """Let one holder of every class tell the group of the class, where (c, a) listens to a.

        If d < g the processors of group c listen to d groups at a time.
        """
        network, d, g = self.network, self.network.d, self.network.g
        processors = network.processors
        heard_by, heard = [], []
        for turn in range(-(-g // d)):
            listened = network.index(processors) + turn * d
            listens = listened < g
            now = network.group(speakers) // d == turn
            told = speakers[now], classes[now], (processors[listens], listened[listens])
            phase = f"reserve: {who}" + (f", part {turn + 1}" if d < g else "")
            inbox = yield Slot.send_control(
                *told, contents=said[now], bits=self._bits, phase=phase, conflict_free=True
            )
            assert inbox.contents is not None
            heard_by.append(inbox.receivers)
            heard.append(inbox.contents)
        at, first = np.unique(np.concatenate(heard_by), return_index=True)
        return at, np.concatenate(heard)[first]

    def _answer(
        self, place: Ints, classes: I64, speakers: Ints, starts: I64
    ) -> Generator[Slot, Inbox, tuple[I64, I64]]:
        """Let processors that heard a leader tell where the class begins, and its first slot."""
        said = np.column_stack((starts, self._reserved[speakers]))
        options = SlotOptions(phase="reserve: answers", conflict_free=True)
        inbox = yield Slot.broadcast(
            speakers, self.network.g, (place, classes), contents=said, bits=self._bits, **options
        )
        assert inbox.contents is not None
        told = np.full((self.network.n, 2), -1, dtype=np.int64)
        told[inbox.receivers] = inbox.contents
        return told[place, 0], told[place, 1]

    def _repeat(self, speakers: Ints, runs: I64) -> Generator[Slot, Inbox, None]:
        """Let a processor that heard a trailer tell its own group, which keeps the reservations."""
        network, g = self.network, self.network.g
        own, listened = network.group(speakers), network.group(network.processors)
        options = SlotOptions(phase="reserve: totals", conflict_free=True)
        inbox = yield Slot.send_control(
            speakers, own, listened, contents=runs, bits=self._bits, **options
        )
        assert inbox.contents is not None
        at, (start, count) = inbox.receivers, inbox.contents.T
        number = network.index(at) - self._announced[at]
        mine = (number >= 0) & (number < count)
        self.hears_in[at[mine]] = (self._reserved[at] + number // g)[mine]
        self.hears_from[at[mine]] = ((start + number) % g)[mine]
        self._announced[at] += count
        self._reserved[at] += -(-count // g)
