"""When and by which coupler packets of a class come to the group of the class: agreed in slots."""

from __future__ import annotations

from collections.abc import Generator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from popsnet.network import Network
from popsnet.slot import Inbox, Ints, Kind, Slot
from popsnet.theory.formulas import delivery_slots

__all__ = ["Reservations", "Run"]

I64 = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


class Run(NamedTuple):
    """The packets of a strip in order of their classes, as far as each processor knows it."""

    place: Ints
    """The processor at each position."""
    classes: I64
    """The class of the packet at each position."""
    leads: Bools
    """Whether it is the first of its class."""
    trails: Bools
    """Whether it is the last of its class."""


class Reservations:
    """What the processors remember, strip after strip.

    Every processor of group c knows R, the packets of class c that were announced, and B, the slots
    reserved for them. Its member number l takes packet l of the class: it learns when to listen,
    and to which group. The holder of a packet learns when to send it.
    """

    def __init__(self, network: Network) -> None:
        self.network = network
        self.sends_in = np.full(network.n, -1, dtype=np.int64)
        self.hears_in = np.full(network.n, -1, dtype=np.int64)
        self.hears_from = np.zeros(network.n, dtype=np.int64)
        self._announced = np.zeros(network.g, dtype=np.int64)
        self._reserved = np.zeros(network.g, dtype=np.int64)
        self._bits = 2 * max(network.n, delivery_slots(network)).bit_length()

    def make(self, run: Run) -> Generator[Slot, Inbox, None]:
        """Reserve for a strip: 2⌈g/d⌉ + 2 slots, of two numbers up to n a message."""
        g = self.network.g
        position = np.arange(len(run.place), dtype=np.int64)
        first = np.column_stack((position, np.zeros_like(position)))
        heard_by, starts = yield from self._report("leaders", run, run.leads, first)
        start, base = yield from self._answer(run, heard_by, starts[:, 0])
        self.sends_in[run.place] = base + (position - start) // g
        count = np.column_stack((start, position + 1 - start))
        heard_by, runs = yield from self._report("trailers", run, run.trails, count)
        yield from self._repeat(heard_by, runs)

    def _report(
        self, who: str, run: Run, speaks: Bools, said: I64
    ) -> Generator[Slot, Inbox, tuple[Ints, I64]]:
        """One packet of every class tells the group of its class, where (c, a) listens to a.

        If d < g the processors of group c listen to d groups at a time.
        """
        d, g, n = self.network.d, self.network.g, self.network.n
        everybody = np.arange(n, dtype=np.int32)
        heard_by, heard = [], []
        for turn in range(-(-g // d)):
            listened = everybody % d + turn * d
            listens = listened < g
            now = speaks & (run.place // d // d == turn)
            inbox = yield Slot(
                phase=f"reserve: {who}" + (f", part {turn + 1}" if d < g else ""),
                senders=run.place[now],
                groups=run.classes[now],
                kind=Kind.CONTROL,
                contents=said[now],
                bits=self._bits,
                listeners=everybody[listens],
                listened=listened[listens],
                conflict_free=True,
            )
            assert inbox.contents is not None
            heard_by.append(inbox.receivers)
            heard.append(inbox.contents)
        return np.concatenate(heard_by), np.concatenate(heard)

    def _answer(
        self, run: Run, speakers: Ints, starts: I64
    ) -> Generator[Slot, Inbox, tuple[I64, I64]]:
        """Who heard a leader tells everybody where the class begins, and its first slot."""
        g, d = self.network.g, self.network.d
        inbox = yield Slot(
            phase="reserve: answers",
            senders=speakers,
            groups=np.tile(np.arange(g, dtype=np.int32), len(speakers)),
            fanout=np.full(len(speakers), g, dtype=np.int32),
            kind=Kind.CONTROL,
            contents=np.column_stack((starts, self._reserved[speakers // d])),
            bits=self._bits,
            listeners=run.place,
            listened=run.classes,
            conflict_free=True,
        )
        assert inbox.contents is not None
        told = np.empty((self.network.n, 2), dtype=np.int64)
        told[inbox.receivers] = inbox.contents
        return told[run.place, 0], told[run.place, 1]

    def _repeat(self, speakers: Ints, runs: I64) -> Generator[Slot, Inbox, None]:
        """Who heard a trailer tells its own group, where everybody keeps the books."""
        d, g = self.network.d, self.network.g
        everybody = np.arange(self.network.n, dtype=np.int32)
        inbox = yield Slot(
            phase="reserve: books",
            senders=speakers,
            groups=speakers // d,
            kind=Kind.CONTROL,
            contents=runs,
            bits=self._bits,
            listeners=everybody,
            listened=everybody // d,
            conflict_free=True,
        )
        assert inbox.contents is not None
        at, (start, count) = inbox.receivers, inbox.contents.T
        number = at % d - self._announced[at // d]
        mine = (number >= 0) & (number < count)
        self.hears_in[at[mine]] = (self._reserved[at // d] + number // g)[mine]
        self.hears_from[at[mine]] = ((start + number) % g)[mine]
        groups, one = np.unique(at // d, return_index=True)  # all of a group have the same books
        self._announced[groups] += count[one]
        self._reserved[groups] += -(-count[one] // g)
