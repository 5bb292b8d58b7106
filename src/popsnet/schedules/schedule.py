"""Schedules: senders, listeners and packets of every slot, as arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from popsnet.coins import Coins
from popsnet.compiled import compiled
from popsnet.memory import Memory
from popsnet.network import Network
from popsnet.slot import Ints, Slot, Slots

I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Schedule:
    """A collision-free schedule of rounds, each of which delivers its packets.

    A packet takes one slot to its destination, or two through a relay. Row i says that
    ``packets[i]`` goes from ``sources[i]`` through ``relays[i]`` to ``destinations[i]``; round r
    has the rows from ``bounds[r]`` to ``bounds[r + 1]``. Every message has one listener, so the
    coupler follows: it leads from the sender's group to the listener's.

    The arrays are read-only, since a schedule may be shared.

    Examples
    --------
    >>> import numpy as np
    >>> from popsnet import Network
    >>> from popsnet.schedules import schedule_permutation
    >>> schedule = schedule_permutation(Network(1, 3), np.array([1, 2, 0]))
    >>> senders, listeners, packets = schedule.transmissions(0)
    >>> listeners[np.argsort(senders)].tolist()
    [1, 2, 0]
    """

    network: Network
    bounds: I64
    packets: I32
    sources: I32
    relays: I32 | None
    """The relay of each packet; None if every packet takes one hop."""
    destinations: I32

    def __post_init__(self) -> None:
        for array in self._arrays():
            array.flags.writeable = False

    def _arrays(self) -> list[npt.NDArray[np.integer]]:
        every = (self.bounds, self.packets, self.sources, self.relays, self.destinations)
        return [array for array in every if array is not None]

    @property
    def hops(self) -> int:
        """The slots of a round."""
        return 1 if self.relays is None else 2

    @property
    def slots(self) -> int:
        """The number of slots."""
        return self.hops * (len(self.bounds) - 1)

    @property
    def nbytes(self) -> int:
        """The memory of the arrays in bytes."""
        return sum(array.nbytes for array in self._arrays())

    def transmissions(self, slot: int) -> tuple[I32, I32, I32]:
        """Return senders, listeners and packets of a slot, counted from 0."""
        turn, hop = divmod(slot, self.hops)
        rows = slice(self.bounds[turn], self.bounds[turn + 1])
        senders, listeners = self.sources, self.destinations
        if self.relays is not None:
            senders, listeners = (senders, self.relays) if hop == 0 else (self.relays, listeners)
        return senders[rows], listeners[rows], self.packets[rows]

    def slot(self, number: int, held: Ints | None = None, of: str = "", step: int = 0) -> Slot:
        """Return a slot, counted from 0, as the machine executes it.

        A schedule made for one permutation can carry other packets: ``held[i]`` is the packet to
        send in place of packet i. ``of`` is put before the name of the phase, and ``step`` is the
        step that the slot belongs to.
        """
        senders, listeners, packets = self.transmissions(number)
        last = number % self.hops == self.hops - 1
        return Slot.send_packets(
            senders,
            self.network.group(listeners),
            (listeners, self.network.group(senders)),
            packets=packets if held is None else held[packets],
            phase=of + ("to destination" if last else "to relay"),
            step=step,
            conflict_free=True,
        )

    def follow(self, memory: Memory) -> Slots:
        """Yield all slots in turn; senders drop their packets and listeners store them."""
        for number in range(self.slots):
            yield self.slot(number)
            senders, listeners, packets = self.transmissions(number)
            memory.drop(senders, packets)
            last = number % self.hops == self.hops - 1
            (memory.deliver if last else memory.store)(listeners, packets)

    def route(self, network: Network, destination: Ints, coins: Coins, memory: Memory) -> Slots:
        """Run the schedule as a router."""
        return self.follow(memory)

    def peak_buffers(self) -> int:
        """Return the largest number of packets that a processor holds at once."""
        held = np.bincount(self.sources, minlength=self.network.n)
        peak = int(held.max())
        for number in range(self.slots):
            senders, listeners, _ = self.transmissions(number)
            peak = max(peak, _move(held, senders, listeners))
        return peak


@compiled
def _move(held: I64, senders: I32, listeners: I32) -> int:
    """Move the packets of a slot and return the most that a listener then holds."""
    peak = 0
    for k in range(len(senders)):
        held[senders[k]] -= 1
    for k in range(len(listeners)):
        held[listeners[k]] += 1
        peak = max(peak, held[listeners[k]])
    return peak
